"""Couplings as single numbers, tied to each other, and as products over vertices."""

import numpy as np
import pytest

import ctpwa

FOUR_PIONS = {
    "decay": "J/psi(1S) -> pi+ pi- pi+ pi-",
    "chains": [
        "J/psi(1S) -> a(1)(1260)+ pi- ; a(1)(1260)+ -> rho(770)0 pi+ ; rho(770)0 -> pi+ pi-",
        "J/psi(1S) -> a(1)(1260)- pi+ ; a(1)(1260)- -> rho(770)0 pi- ; rho(770)0 -> pi+ pi-",
    ],
}
A1 = "a(1)(1260)+[pi+_1 pi-_1 pi+_2] rho(770)0[pi+_1 pi-_1] "
SS, SD, DS, DD = (A1 + ls for ls in ("(0,1)(0,1)(1,0)", "(0,1)(2,1)(1,0)", "(2,1)(0,1)(1,0)", "(2,1)(2,1)(1,0)"))


@pytest.fixture(scope="module")
def samples():
    model = ctpwa.load_model(FOUR_PIONS)
    return model, ctpwa.generate_phase_space(model, 60, seed=1), ctpwa.generate_phase_space(model, 90, seed=2)


def likelihood(samples, **arguments):
    return ctpwa.build_likelihood(*samples, engine="reference", **arguments)


def point(own, **values):
    x = own.start
    for name, value in values.items():
        x[own.names.index(f"{name}.re")], x[own.names.index(f"{name}.im")] = value.real, value.imag
    return x


def test_vertex_couplings_factorise(samples):
    plain, vertex = likelihood(samples), likelihood(samples, couplings="vertex")
    assert [name for name in vertex.names if name.endswith(".re")] == [
        "a(1)(1260)+ -> rho(770)0 pi+_2 (2,1).re",
        "J/psi(1S) -> a(1)(1260)+ pi-_2 (2,1).re",
    ]
    g, h = 0.3 - 0.8j, -1.1 + 0.4j
    x = point(vertex, **{"J/psi(1S) -> a(1)(1260)+ pi-_2 (2,1)": g, "a(1)(1260)+ -> rho(770)0 pi+_2 (2,1)": h})
    same = point(plain, **{SD: h, DS: g, DD: g * h})
    assert vertex.value(x) == pytest.approx(plain.value(same), rel=1e-13)


def test_vertex_couplings_have_the_gradient_and_hessian_of_the_product(samples):
    vertex = likelihood(samples, couplings="vertex")
    x = np.array([0.4, -0.7, 0.9, 0.2])
    step = 1e-5
    shifts = step * np.eye(4)
    slope = [(vertex.value(x + d) - vertex.value(x - d)) / (2 * step) for d in shifts]
    bend = [(vertex.value_and_grad(x + d)[1] - vertex.value_and_grad(x - d)[1]) / (2 * step) for d in shifts]
    np.testing.assert_allclose(vertex.value_and_grad(x)[1], slope, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(vertex.hessian(x), bend, rtol=1e-7, atol=1e-7)


def test_ties_with_complex_factors_follow_each_other(samples):
    plain = likelihood(samples)
    tied = likelihood(samples, ties={DD: (DS, 0.5j), DS: (SD, -2.0)})
    assert tied.names == (f"{SD}.re", f"{SD}.im")
    c = 0.7 + 0.2j
    assert tied.value(point(tied, **{SD: c})) == pytest.approx(plain.value(point(plain, **{SD: c, DS: -2 * c, DD: -1j * c})), rel=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"couplings": "vertx"}, "unknown kind of couplings 'vertx'\n fix: did you mean 'vertex'"),
        ({"couplings": "vertex", "ties": {DD: (DS, 1.0)}}, "cannot be tied one by one"),
        ({"ties": {"DD": (DS, 1.0)}}, "tie of 'DD', which is not a coupling"),
        ({"ties": {DD: (DS, 1.0), DS: (DD, 1.0)}}, "tied in a circle"),
        ({"ties": {SS: (DS, 1.0)}, "reference_wave": SS}, "is tied to"),
    ],
)
def test_wrong_couplings_are_refused(samples, arguments, message):
    with pytest.raises(ctpwa.base.PhysicsError) as error:
        likelihood(samples, **arguments)
    assert message in str(error.value)


def test_a_constraint_cannot_be_counted_twice(samples):
    once = likelihood(samples, constraints={f"{SD}.re": (0.0, 1.0)})
    with pytest.raises(ctpwa.base.PhysicsError, match="constrained in more than one likelihood"):
        once + once
