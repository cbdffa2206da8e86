"""Parameters that follow from others, and parameters that are fixed: exact derivatives in every engine."""

from functools import cache

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import CtpwaError, PhysicsError
from ctpwa.data.density import Flat
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.engine.likelihood.values import free_parameters, model_values
from ctpwa.engine.plan.channels import model_channels
from engine.cases import ENGINES, assert_close
from engine.oracle import Oracle
from ranks.threads import on_ranks

DESCRIPTION = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "polarisation": "transverse",
    "parameters": {"delta": {"value": 0.1, "float": True, "limits": [0, 0.5]}, "scale": 1.2},
    "resonances": {
        "phi(1020)": {"in": "K+ K-"},
        "phi(1680)": {"in": "K+ K-", "mass": 1.659, "width": 0.164, "float": ["mass", "width"]},
        "X(1750)": {"in": "K+ K-", "JP": "1--", "mass": "sqrt(phi(1680).mass**2 + delta**2)", "width": "scale*phi(1680).width"},
        "Y(1900)": {"in": "K+ K-", "JP": "1--", "mass": "X(1750).mass + 2*delta", "width": "phi(1020).width + 0.2"},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"], "float": "pdg"},
    },
}
A, B, C = (f"{name}[K+ K-] (1,1)(1,0)" for name in ("phi(1680)", "X(1750)", "Y(1900)"))
POLAR = {
    "representation": "polar",
    "relations": {f"{B}.phase": f"{A}.phase + delta", f"{C}.abs": f"{A}.abs*exp({B}.phase)"},
    "fix": {f"{C}.phase": 0.4},
}
CARTESIAN = {"relations": {f"{B}.re": f"2*{A}.re"}, "fix": {f"{C}.im": -0.3, "K(2)*(1430).width": None}}
KINDS = {"cartesian": CARTESIAN, "polar": POLAR}
LINESHAPES = {
    "X(1750).mass": lambda v: (v["phi(1680).mass"] ** 2 + v["delta"] ** 2).sqrt(),
    "X(1750).width": lambda v: 1.2 * v["phi(1680).width"],
    "Y(1900).mass": lambda v: v["X(1750).mass"] + 2 * v["delta"],
}
DERIVED = {
    "polar": LINESHAPES
    | {
        f"{B}.phase": lambda v: v[f"{A}.phase"] + v["delta"],
        f"{C}.abs": lambda v: v[f"{A}.abs"] * torch.exp(v[f"{B}.phase"]),
        f"{C}.phase": lambda v: 0.4,
    },
    "cartesian": LINESHAPES | {f"{B}.re": lambda v: 2 * v[f"{A}.re"], f"{C}.im": lambda v: -0.3},
}


@cache
def model():
    return ctpwa.load_model(DESCRIPTION)


@cache
def samples():
    return {key: ctpwa.generate_phase_space(model(), n, seed=n) for key, n in (("data", 40), ("phase_space", 50), ("background", 11))}


def make(kind, engine="reference", own=None, **changes):
    return build_likelihood(own or model(), **(samples() | KINDS.get(kind, {}) | {"subtraction": "plain"} | changes), engine=engine)


def point(like, seed=0):
    """Parameters near the start."""
    step = np.random.default_rng(seed).normal(size=len(like.names))
    of_couplings = np.isin(np.arange(len(step)), like.coupling_index)
    return np.where(of_couplings, like.start + 0.7 * step, like.start * (1 + 0.03 * step))


@cache
def of_torch(kind):
    """Value, gradient and Hessian by torch."""
    like = make(kind)
    assert set(like.constraints) == {"K(2)*(1430).mass", "K(2)*(1430).width"}
    free = {name: pair for name, pair in like.constraints.items() if name in like.names}  # that of a fixed width at its mean is 0
    return Oracle(model(), like.names, samples(), derived=DERIVED[kind], representation=kind, constraints=free).expand(point(like, 3))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_torch(kind, engine):
    like = make(kind, engine)
    x = point(like, 3)
    found, batch = like.value_grad_hessian(x), like.value_grad_hessian(np.array([x, x]))
    expected = of_torch(kind)
    assert_close(found[0], expected[0], 1e-12)
    assert_close(found[1], expected[1], 1e-10)
    assert_close(found[2], expected[2], 1e-10)
    assert_close(batch[2][1], expected[2], 1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_differences(kind):
    like = make(kind)
    x = point(like, 1)
    _, grad, H = like.value_grad_hessian(x)
    for k in range(len(x)):
        step = np.zeros(len(x))
        step[k] = 1e-5 * max(abs(x[k]), 0.1)
        (low, below), (high, above) = like.value_and_grad(x - step), like.value_and_grad(x + step)
        assert abs((high - low) / (2 * step[k]) - grad[k]) < 1e-6 * np.abs(grad).max()
        assert_close((above - below) / (2 * step[k]), H[k], 1e-5, np.abs(H).max())


def test_what_floats_for_the_engine():
    own = model_channels(model())
    free = [p.name for p in own.theta if not p.fixed]
    mass = "K(2)*(1430).mass"
    assert free == ["phi(1680).mass", "phi(1680).width", mass, "K(2)*(1430).width", "delta"]
    assert own.floating == [*free[:2], "X(1750).mass", "X(1750).width", "Y(1900).mass", mass, "K(2)*(1430).width"]
    fixed = make("", fix=dict.fromkeys(free))
    assert fixed.plan.parameters == ()  # nothing moves: the normalisation is one matrix
    assert fixed.norm.integrals is not None


def test_a_shared_mass_is_one_mass():
    """mass: other.mass is the likelihood of both masses, on the line where they are equal."""
    own = {name: dict(DESCRIPTION["resonances"][name]) for name in ("phi(1020)", "phi(1680)")}
    twin = {"in": "K+ K-", "JP": "1--", "width": 0.3}
    shared, apart = (
        ctpwa.load_model({**DESCRIPTION, "parameters": {}, "resonances": own | {"X(1750)": twin | changes}})
        for changes in ({"mass": "phi(1680).mass"}, {"mass": 1.659, "float": "mass"})
    )
    one, two = make("", own=shared), make("", own=apart)
    x = point(one)
    at = dict(zip(one.names, x, strict=True))
    J = np.array([[float(name == (other if other != "X(1750).mass" else "phi(1680).mass")) for name in one.names] for other in two.names])
    value, grad, H = two.value_grad_hessian(np.array([at.get(name, at["phi(1680).mass"]) for name in two.names]))
    found = one.value_grad_hessian(x)
    assert_close(found[0], value, 1e-13)
    assert_close(found[1], grad @ J, 1e-11)
    assert_close(found[2], J.T @ H @ J, 1e-11)


def test_one_resonance_object():
    """A second resonance with all parameters of the first, and couplings that add: the same as one resonance."""
    resonances = {name: DESCRIPTION["resonances"][name] for name in ("phi(1020)", "phi(1680)")}
    twin = {"in": "K+ K-", "particle": "phi(1680)", "mass": "phi(1680).mass", "width": "phi(1680).width"}
    one = make("", own=ctpwa.load_model({**DESCRIPTION, "parameters": {}, "resonances": resonances}))
    two = make("", own=ctpwa.load_model({**DESCRIPTION, "parameters": {}, "resonances": resonances | {"twin": twin}}))
    x = np.array([0.3, -0.2, 1.7, 0.2])
    assert one.names == (f"{A}.re", f"{A}.im", "phi(1680).mass", "phi(1680).width")
    assert_close(two.value(np.array([0.1, -0.4, 0.2, 0.2, 1.7, 0.2])), one.value(x), 1e-13)


def test_scores_are_the_sum_over_events():
    """Σ (∂ln(I/σ))(∂ln(I/σ)) from likelihoods of one event each."""
    like = make("polar", constraints={}, background=None)
    x = point(like, 2)
    one = [like.with_data({name: p[i : i + 1] for name, p in samples()["data"].items()}).value_and_grad(x)[1] for i in range(40)]
    assert_close(like.score_products(x), np.array(one).T @ np.array(one), 1e-10)


def test_ranks():
    like = make("polar")
    x = point(like)
    for found in on_ranks(2, lambda ranks: make("polar", ranks=ranks).value_grad_hessian(x)):
        for own, expected in zip(found, like.value_grad_hessian(x), strict=True):
            assert_close(own, expected, 1e-12)


def test_ranks_with_other_formulas_do_not_wait_for_each_other():
    with pytest.raises(CtpwaError, match="use the same model, samples and options on all ranks"):
        on_ranks(2, lambda ranks: make("", ranks=ranks, relations={"phi(1020).width": f"0.0{ranks.rank + 4}"}))


# relatives and values


@pytest.mark.parametrize("kind", KINDS)
def test_fixed_parameters_move_what_follows_from_them(kind):
    like = make(kind)
    x = point(like)
    index = like.names.index("delta")
    held = like.fixed({"delta": float(x[index])})
    rest = np.delete(np.arange(len(x)), index)
    assert_close(held.value_grad_hessian(x[rest])[0], like.value(x), 1e-13)
    assert_close(held.value_grad_hessian(x[rest])[2], like.hessian(x)[np.ix_(rest, rest)], 1e-11)
    assert {p.name: p.value for p in held.parameters.all}["Y(1900).mass"] == held.parameters.native(held.start)[1][
        held.parameters.theta_names.index("Y(1900).mass")
    ]


@pytest.mark.parametrize("gone", [["phi(1680)"], ["X(1750)"], ["phi(1680)", "X(1750)"]])
def test_waves_that_others_follow_from_may_be_left_out(gone):
    """Y's mass and magnitude still follow from parameters of resonances that are no more."""
    like = make("polar")
    less = like.without(gone)
    x = point(like)
    at = dict(zip(like.names, x, strict=True))
    assert {"phi(1680).mass", "delta", f"{A}.phase"} <= set(less.names) or "phi(1680)" not in gone
    values = model_values(like, x)
    rest = [wave.name for wave in model().waves if not {r.name for r in wave.resonances} & set(gone)]
    intensity = ModelIntensity(model(), couplings=values.couplings, parameters=values.parameters, engine="reference")
    own = np.array([at[name] for name in less.names])
    assert_close(less.intensity(own), intensity(samples()["data"], rest), 1e-11)
    _, grad, _ = less.value_grad_hessian(own)
    step = 1e-6 * np.eye(len(own))
    assert_close(grad, [(less.value(own + h) - less.value(own - h)) / 2e-6 for h in step], 1e-5)


def test_values_by_name():
    like = make("polar")
    x = point(like)
    values = model_values(like, x)
    delta = x[like.names.index("delta")]
    assert values.parameters["Y(1900).mass"] == pytest.approx(values.parameters["X(1750).mass"] + 2 * delta, rel=1e-14)
    back = free_parameters(like, values.couplings, values.parameters)
    assert_close(np.cos(back), np.cos(x), 1e-9)
    with pytest.raises(PhysicsError, match=r"'X\(1750\).width' is scale\*phi\(1680\).width in this fit, and its value differs"):
        free_parameters(like, parameters={"X(1750).width": 0.5})
    assert_close(free_parameters(like, parameters={"X(1750).width": 0.5}, strict=False), like.start, 0)


def test_intensities_follow_as_well():
    given = ModelIntensity(model(), parameters={"phi(1680).mass": 1.7}, engine="reference")
    assert given.parameters["Y(1900).mass"] == pytest.approx(np.sqrt(1.7**2 + 0.01) + 0.2, rel=1e-14)
    with pytest.raises(PhysicsError, match="give what it is made of"):
        ModelIntensity(model(), parameters={"X(1750).mass": 1.9})


def test_outside_the_limits_of_a_formula_there_is_no_likelihood():
    Y = {"in": "K+ K-", "JP": "1--", "mass": 1.9, "width": "0.3 - delta"}
    like = make("", own=ctpwa.load_model({**DESCRIPTION, "resonances": DESCRIPTION["resonances"] | {"Y(1900)": Y}}))
    x = like.start
    x[like.names.index("delta")] = 0.4
    assert np.isnan(like.value(x))


def test_equal_parameters_have_the_limits_of_both():
    resonances = DESCRIPTION["resonances"] | {"X(1750)": {"in": "K+ K-", "JP": "1--", "mass": "near", "width": 0.1}}
    description = {**DESCRIPTION, "parameters": {"near": {"value": 1.7, "float": True}}, "resonances": resonances}
    description["resonances"]["Y(1900)"] = {"in": "K+ K-", "JP": "1--", "mass": 1.9, "width": 0.1}
    like = make("", own=ctpwa.load_model(description))
    assert like.bounds[like.names.index("near")].tolist() == [0.0, np.inf]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fix": {"K(2)*(1430).width": -0.1}}, "'K(2)*(1430).width' cannot be fixed at -0.1"),
        ({"fix": {"X(1750).mass": 1.7}}, "'X(1750).mass' cannot be fixed: it is sqrt(phi(1680).mass**2 + delta**2)"),
        ({"fix": {"phi(1020)[K+ K-] (1,1)(1,0).re": 2.0}}, "is fixed anyway"),
        ({"fix": {f"{A}.abs": 2.0}}, "couplings are cartesian\n fix: write  representation: polar"),
        ({"fix": {f"{A}.rf": 2.0}}, "unknown parameter"),
        ({"relations": {f"{A}.phase": f"{B}.phase"}}, "couplings are cartesian"),
        ({"relations": {f"{A}.re": f"{B}.re + {A}.im*{A}.re"}}, "depends on itself"),
        ({"relations": {f"{A}.re": f"{B}.real"}}, "is not a parameter"),
        ({"relations": {f"{A}.re": "1"}, "fix": {f"{A}.re": None}}, "cannot be fixed: it is 1"),
        ({"relations": {"phi(1020)[K+ K-] (1,1)(1,0).im": "1"}}, "is fixed, and cannot be a formula as well"),
        ({"relations": {"phi(1680).mass": "1.7"}}, "floats, and cannot be a formula as well"),
        ({"relations": {"phi(1020).mass": f"{A}.re"}}, "is not a parameter"),
        ({"constraints": {"X(1750).mass": (1.7, 0.1)}}, "it follows from others, sqrt(phi(1680).mass**2 + delta**2): name one of those"),
        ({"limits": {"X(1750).mass": (1.7, 1.8)}}, "which is not a free parameter"),
    ],
)
def test_mistakes(arguments, message):
    with pytest.raises(PhysicsError) as error:
        make("", **arguments)
    assert message in str(error.value)


def test_fractions_of_backgrounds_are_fixed_and_related_as_well():
    backgrounds = [Background("flat", Flat(), 0.2, floating=True), Background("more", Flat(), 0.1, floating=True)]
    related = make("", background=None, backgrounds=backgrounds, relations={"more.fraction": "flat.fraction**2"})
    free = make("", background=None, backgrounds=backgrounds)
    x = point(related)
    at = dict(zip(related.names, x, strict=True))
    y = np.array([at.get(name, at["flat.fraction"] ** 2) for name in free.names])
    J = np.array([[float(name == other) for other in related.names] for name in free.names])
    J[free.names.index("more.fraction"), related.names.index("flat.fraction")] = 2 * at["flat.fraction"]
    value, grad, H = free.value_grad_hessian(y)
    found = related.value_grad_hessian(x)
    expected = J.T @ H @ J
    k = related.names.index("flat.fraction")
    expected[k, k] += 2 * grad[free.names.index("more.fraction")]
    assert_close(found[0], value, 1e-13)
    assert_close(found[1], grad @ J, 1e-11)
    assert_close(found[2], expected, 1e-11)
    fixed = make("", background=None, backgrounds=backgrounds, fix={"more.fraction": at["flat.fraction"] ** 2})
    assert fixed.value(x) == pytest.approx(value, rel=1e-13)


def test_a_formula_that_is_a_number():
    """The same as a fixed parameter, to second order."""
    formula = make("", representation="polar", relations={f"{C}.abs": "pi/2 + 0*delta"})
    fixed = make("", representation="polar", fix={f"{C}.abs": np.pi / 2})
    assert formula.names == fixed.names
    x = point(fixed)
    for one, other in zip(formula.value_grad_hessian(x), fixed.value_grad_hessian(x), strict=True):
        assert_close(one, other, 1e-13)
