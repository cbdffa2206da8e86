"""Couplings c(1 + Δ) of a decay and c(1 − Δ) of its charge conjugate."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.engine import free_parameters, model_values
from ctpwa.engine.likelihood.relatives import without

DECAY = {
    "decay": "D0 -> K_S0 pi+ pi-",
    "resonances": {
        "K*(892)": {"in": ["K_S0 pi+", "K_S0 pi-"]},
        "rho(770)": {"in": "pi+ pi-"},
        "K(2)*(1430)": {"in": "K_S0 pi-", "float": "mass"},
    },
}
PLUS, MINUS, RHO, K2 = (
    "K*(892)+[K_S0 pi+] (1,1)(1,0)",
    "K*(892)-[K_S0 pi-] (1,1)(1,0)",
    "rho(770)0[pi+ pi-] (1,1)(1,0)",
    "K(2)*(1430)-[K_S0 pi-] (2,2)(2,0)",
)
DELTA = {"K*(892)": 0.2 - 0.3j, RHO: -0.15 + 0.1j}


def build(model, *, conjugate=False, **arguments):
    data, phase_space = (ctpwa.generate_phase_space(model, n, seed=seed) for n, seed in ((50, 3 + conjugate), (80, 5 + conjugate)))
    return ctpwa.build_likelihood(model, data, phase_space, engine="reference", conjugate=conjugate, **arguments)


@pytest.fixture(scope="module")
def model():
    return ctpwa.load_model(DECAY | {"cp": DELTA})


def both(model, **arguments):
    return build(model, **arguments) + build(model, conjugate=True, **arguments)


def anywhere(likelihood, seed=1):
    return likelihood.start + 0.2 * np.random.default_rng(seed).normal(size=len(likelihood.names)) * (np.abs(likelihood.start) < 1.2)


def test_names_and_couplings_that_have_an_asymmetry(model):
    assert dict(model.asymmetries) == {PLUS: "K*(892).delta", MINUS: "K*(892).delta", RHO: f"{RHO}.delta"}
    assert both(model).names[-4:] == ("K*(892).delta.re", "K*(892).delta.im", f"{RHO}.delta.re", f"{RHO}.delta.im")


@pytest.mark.parametrize("conjugate", [False, True])
def test_it_is_the_likelihood_at_other_couplings(model, conjugate):
    """Of a model that knows nothing of CP."""
    own, plain = build(model, conjugate=conjugate), build(ctpwa.load_model(DECAY), conjugate=conjugate)
    x = anywhere(own)
    values = model_values(own, x)
    delta = {name: complex(*(values.parameters[f"{key}.{part}"] for part in ("re", "im"))) for name, key in model.asymmetries.items()}
    sign = -1 if conjugate else 1
    effective = {name: c * (1 + sign * delta.get(name, 0)) for name, c in values.couplings.items()}
    masses = {name: value for name, value in values.parameters.items() if "delta" not in name}
    there = free_parameters(plain, effective, masses)
    assert own.value(x) == pytest.approx(plain.value(there), rel=1e-13)
    events = ctpwa.generate_phase_space(model, 20, seed=9)
    found = ctpwa.ModelIntensity(model, couplings=values.couplings, parameters=values.parameters, engine="reference", conjugate=conjugate)
    expected = ctpwa.ModelIntensity(plain.model, couplings=effective, parameters=masses, engine="reference")
    torch.testing.assert_close(found(events), expected(events), rtol=1e-13, atol=0)
    torch.testing.assert_close(found.of(not conjugate).of(conjugate)(events), found(events), rtol=0, atol=0)


@pytest.mark.parametrize("arguments", [{}, {"representation": "polar"}, {"couplings": "vertex", "representation": "polar"}])
def test_gradient_and_hessian(model, arguments):
    likelihood = both(model, **arguments)
    x, step = anywhere(likelihood), 1e-5
    shifts = step * np.eye(len(x))
    _, grad, H = likelihood.value_grad_hessian(x)
    slope = [(likelihood.value(x + d) - likelihood.value(x - d)) / (2 * step) for d in shifts]
    bend = [(likelihood.value_and_grad(x + d)[1] - likelihood.value_and_grad(x - d)[1]) / (2 * step) for d in shifts]
    np.testing.assert_allclose(grad, slope, rtol=0, atol=1e-7 * np.abs(grad).max())
    np.testing.assert_allclose(H, bend, rtol=0, atol=1e-7 * np.abs(H).max())


def test_formulas_between_asymmetries_and_fixed_ones(model):
    likelihood = both(ctpwa.load_model(DECAY | {"cp": DELTA, "fit": {"relations": {f"{RHO}.delta.re": "-K*(892).delta.re**2"}}}))
    x, step = anywhere(likelihood), 1e-5
    assert f"{RHO}.delta.re" not in likelihood.names
    bend = [(likelihood.value_and_grad(x + d)[1] - likelihood.value_and_grad(x - d)[1]) / (2 * step) for d in step * np.eye(len(x))]
    H = likelihood.hessian(x)
    np.testing.assert_allclose(H, bend, rtol=0, atol=1e-7 * np.abs(H).max())
    held = likelihood.fixed({"K*(892).delta.im": x[likelihood.names.index("K*(892).delta.im")]})
    rest = np.array([value for name, value in zip(likelihood.names, x, strict=True) if name in held.names])
    assert held.value(rest) == pytest.approx(likelihood.value(x), rel=1e-14)


def test_a_batch_is_many_points():
    """Without floating lineshapes vectors share their passes."""
    fixed = {name: own for name, own in DECAY["resonances"].items() if "float" not in own}
    model = ctpwa.load_model({"decay": DECAY["decay"], "resonances": fixed, "cp": "K*(892)-"})
    likelihood = both(model)
    x = np.array([anywhere(likelihood, seed) for seed in (1, 2)])
    values, grads, H = likelihood.value_grad_hessian(x)
    for k, row in enumerate(x):
        value, grad, own = likelihood.value_grad_hessian(row)
        assert values[k] == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose(grads[k], grad, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(H[k], own, rtol=1e-10, atol=1e-9)


def test_fewer_waves_keep_the_asymmetries_that_are_left(model):
    own = build(model, conjugate=True)
    rest = without(own, [K2])
    assert [name for name in rest.names if "delta" in name] == [f"{RHO}.delta.re", f"{RHO}.delta.im"]  # the reference has one: it is fixed
    values = model_values(rest, rest.start)
    few = without(build(ctpwa.load_model(DECAY), conjugate=True), [K2])
    delta = {name: complex(*(values.parameters[f"{key}.{part}"] for part in ("re", "im"))) for name, key in model.asymmetries.items()}
    effective = {name: c * (1 - delta[name]) for name, c in values.couplings.items()}
    assert rest.value(rest.start) == pytest.approx(few.value(free_parameters(few, effective)), rel=1e-13)
    assert rest.parameters.sign == -1


# the conjugate decay, described by a model of its own


def test_events_of_the_conjugate_decay_have_the_intensity_of_a_model_of_it(tmp_path):
    """Ā(p) = A(−p), and A_w(−p) = (−1)^ΣL A_w(p): of a polarised baryon, whose angular distribution is not symmetric under parity."""
    rho = [[0.8, "0.1+0.2j"], ["0.1-0.2j", 0.2]]
    model = ctpwa.load_model(
        {
            "decay": "Lambda_c+ -> p K- pi+",
            "polarisation": rho,
            "resonances": {"K*(892)": {"in": "K- pi+"}, "Lambda(1520)": {"in": "p K-"}, "Delta(1232)++": {"in": "p pi+"}},
        }
    )
    mirror = ctpwa.load_model(
        {
            "decay": "Lambda_c~- -> p~ K+ pi-",
            "polarisation": rho,
            "resonances": {"K*(892)": {"in": "K+ pi-"}, "Lambda(1520)": {"in": "p~ K+"}, "Delta(1232)++": {"in": "p~ pi-"}},
        }
    )
    rng = np.random.default_rng(4)
    couplings = {name: complex(*rng.normal(size=2)) for name in model.couplings}
    pairs = zip(model.waves, mirror.waves, strict=True)
    mirrored = {theirs.coupling: couplings[ours.coupling] * (-1) ** sum(ls.L for ls in ours.ls) for ours, theirs in pairs}
    assert [wave.ls for wave in model.waves] == [wave.ls for wave in mirror.waves]
    ctpwa.write_events(tmp_path / "conjugate.npz", ctpwa.generate_phase_space(mirror, 30, seed=1), model=mirror)
    read = ctpwa.read_events(model, tmp_path / "conjugate.npz", conjugate=True)
    raw = ctpwa.read_events(mirror, tmp_path / "conjugate.npz")
    ours = ctpwa.ModelIntensity(model, couplings=couplings, engine="reference", conjugate=True)(read)
    theirs = ctpwa.ModelIntensity(mirror, couplings=mirrored, engine="reference")(raw)
    torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=0)
    not_reversed = dict(zip(model.decay.labels, raw.values(), strict=True))
    assert float((ctpwa.ModelIntensity(model, couplings=couplings, engine="reference")(not_reversed) / theirs - 1).abs().max()) > 0.1
