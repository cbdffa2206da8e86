"""Values of couplings and parameters from a vector of free parameters, and back; where a fit starts."""

import numpy as np
import pytest
import torch

import ctpwa
from fitting.cases import FLOATING

MODEL = {key: value for key, value in FLOATING.items() if key != "couplings"}
A, B, C = "phi(1680)[K+ K-] (1,1)(1,0)", "phi(3)(1850)[K+ K-] (3,3)(3,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"
TRUTH = {A: 2 - 1j, B: 0.5 + 0.25j, C: -1j}
FOUR_PIONS = {
    "decay": "J/psi(1S) -> pi+ pi- pi+ pi-",
    "resonances": {"a(1)(1260)": {"in": ["pi+ pi- pi+", "pi- pi+ pi-"], "mass": 1.23, "width": 0.42}, "rho(770)": {"in": "pi+ pi-"}},
}
A1 = "a(1)(1260)+[pi+_1 pi-_1 pi+_2] rho(770)0[pi+_1 pi-_1] "
SS, SD, DS, DD = (A1 + ls for ls in ("(0,1)(0,1)(1,0)", "(0,1)(2,1)(1,0)", "(2,1)(0,1)(1,0)", "(2,1)(2,1)(1,0)"))


def likelihood(content=MODEL, **arguments):
    model = ctpwa.load_model(content)
    data, phase_space = (ctpwa.generate_phase_space(model, n, seed=n) for n in (20, 30))
    return ctpwa.build_likelihood(model, data, phase_space, engine="reference", **arguments)


def written(values):
    return {name: [value.real, value.imag] for name, value in values.items()}


@pytest.mark.parametrize("representation", ["cartesian", "polar"])
@pytest.mark.parametrize("reference", [A, C])
def test_there_and_back(representation, reference, rng):
    own = likelihood(representation=representation, reference_wave=reference)
    x = np.abs(rng.normal(size=len(own.names)))
    values = ctpwa.engine.model_values(own, x)
    assert values.couplings[reference] == 1
    assert values.parameters["phi(1680).mass"] == x[own.names.index("phi(1680).mass")]
    assert "phi(3)(1850).mass" in values.parameters
    np.testing.assert_allclose(ctpwa.engine.free_parameters(own, values.couplings, values.parameters), x, rtol=1e-14)


def test_couplings_are_divided_by_that_of_the_reference_wave():
    own = likelihood(reference_wave=B)
    values = ctpwa.engine.model_values(own, ctpwa.engine.free_parameters(own, TRUTH, {"phi(1680).mass": 1.7}))
    assert values.couplings == {name: pytest.approx(value / TRUTH[B]) for name, value in TRUTH.items()}
    assert values.parameters["phi(1680).mass"] == 1.7


@pytest.mark.parametrize("arguments", [{}, {"reference_wave": C}, {"representation": "polar"}])
def test_a_fit_starts_at_the_couplings_of_the_model(arguments):
    """The intensity at the start is that of the model file, up to a constant."""
    own = likelihood(MODEL | {"couplings": written(TRUTH)}, **arguments)
    events = ctpwa.generate_phase_space(own.model, 20, seed=20)
    ratio = own.intensity(own.start) / ctpwa.ModelIntensity(own.model, engine="reference")(events)
    torch.testing.assert_close(ratio, ratio[0].expand_as(ratio), rtol=1e-12, atol=0)
    assert own.start[own.names.index("phi(1680).mass")] == 1.659


def test_couplings_that_the_model_does_not_name_are_one():
    own = likelihood(MODEL | {"couplings": written({C: TRUTH[C]})})
    assert ctpwa.engine.model_values(own, own.start).couplings == {A: 1, B: 1, C: TRUTH[C]}


def test_without_couplings_a_fit_starts_at_one():
    own = likelihood()
    assert ctpwa.engine.model_values(own, own.start).couplings == {A: 1, B: 1, C: 1}
    assert np.array_equal(ctpwa.engine.free_parameters(own), own.start)


def test_tied_couplings_follow():
    own = likelihood(MODEL | {"couplings": written({A: TRUTH[A], B: TRUTH[B]})}, ties={C: (B, 0.5j)})
    assert ctpwa.engine.model_values(own, own.start).couplings[C] == pytest.approx(0.5j * TRUTH[B] / TRUTH[A])
    same = ctpwa.engine.free_parameters(own, {A: 1, B: 2, C: 1j})
    assert ctpwa.engine.model_values(own, same).couplings == {A: 1, B: 2, C: 1j}


def test_products_over_vertices_are_found():
    g, h, scale = 0.3 - 0.8j, -1.1 + 0.4j, 2j
    truth = {SS: scale, SD: scale * h, DS: scale * g, DD: scale * g * h}
    own = likelihood(FOUR_PIONS | {"couplings": written(truth)}, couplings="vertex")
    found = ctpwa.engine.model_values(own, own.start).couplings
    assert found == {name: pytest.approx(value / scale) for name, value in truth.items()}


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (MODEL | {"couplings": written(TRUTH)}, {"ties": {C: (B, 0.5j)}}, f"coupling {C!r} does not follow from the others"),
        (MODEL | {"couplings": {A: 0}}, {}, f"the reference wave {A!r} has coupling 0\n fix: choose another reference wave"),
        (FOUR_PIONS | {"couplings": {SD: 2, DS: 3, DD: 5}}, {"couplings": "vertex"}, f"{DD!r} does not follow from the others"),
        (FOUR_PIONS | {"couplings": {DD: 0}}, {"couplings": "vertex"}, f"{DD!r} is 0"),
    ],
)
def test_start_values_that_do_not_fit_are_refused(content, arguments, message):
    with pytest.raises(ctpwa.base.PhysicsError) as error:
        likelihood(content, **arguments)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("couplings", "parameters", "message"),
    [
        ({"phi": 1}, {}, "no coupling is called 'phi'"),
        ({}, {"phi(1680).mas": 1}, "no lineshape parameter is called 'phi(1680).mas'\n fix: did you mean 'phi(1680).mass'"),
        ({}, {"phi(3)(1850).mass": 1.9}, "'phi(3)(1850).mass' is fixed in this fit"),
    ],
)
def test_wrong_values_are_refused(couplings, parameters, message):
    with pytest.raises(ctpwa.base.PhysicsError) as error:
        ctpwa.engine.free_parameters(likelihood(), couplings, parameters)
    assert message in str(error.value)


def test_a_sum_of_likelihoods():
    own = likelihood() + likelihood(MODEL | {"resonances": {**MODEL["resonances"], "phi(1680)": {"in": "K+ K-", "float": "mass"}}})
    x = ctpwa.engine.free_parameters(own, TRUTH, {"phi(1680).mass": 1.7})
    assert x.shape == (len(own.names),)
    values = ctpwa.engine.model_values(own.terms[0], x[[own.names.index(name) for name in own.terms[0].names]])
    assert values.couplings[C] == pytest.approx(TRUTH[C] / TRUTH[A])


def test_a_sum_whose_terms_disagree_is_refused():
    own = likelihood() + likelihood(reference_wave=C)
    with pytest.raises(ctpwa.base.PhysicsError, match="in one likelihood of the sum"):
        ctpwa.engine.free_parameters(own, TRUTH)


def test_a_vector_of_wrong_length_is_refused():
    with pytest.raises(ctpwa.base.PhysicsError, match="this likelihood has 6"):
        ctpwa.engine.model_values(likelihood(), [1.0])


@pytest.mark.parametrize("representation", ["cartesian", "polar"])
def test_the_reference_wave_divided_by_itself_may_be_off_by_rounding(representation):
    """Z/z is not exactly 1 for every complex number z."""
    own = likelihood(representation=representation, reference_wave=C)
    rng = np.random.default_rng(1)
    for z in rng.normal(size=200) + 1j * rng.normal(size=200):
        assert np.isfinite(ctpwa.engine.free_parameters(own, TRUTH | {C: z})).all()
    parameters = own.parameters
    with pytest.raises(ctpwa.base.PhysicsError, match="is fixed in this fit"):
        parameters.free_from({C: 1 + 1e-7j}, {})
    assert len(parameters.free_from({C: 1 + 1e-14j}, {})) == len(own.names)
