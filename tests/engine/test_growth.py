"""Large models: 217 waves, six particles with 36 exchanges, spin 5. Kernels against the reference, numbers per iteration against sympy."""

from functools import cache

import numpy as np
import pytest
import sympy as sp
import yaml

import ctpwa
from conftest import ROOT
from ctpwa.engine.backends.reference.engine import ReferenceEngine
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.plan import iteration
from ctpwa.engine.plan.channels import model_channels
from engine.cases import CUDA, GPU, assert_close, point

MANY_WAVES = ROOT / "benchmarks" / "models" / "d0_k3pi_many.yml"
SIX_PIONS = {
    "decay": "J/psi(1S) -> pi+ pi- pi+ pi- pi+ pi-",
    "resonances": {"rho(770)": {"in": "pi+ pi-"}, "a(1)(1260)": {"in": ["pi+ pi- pi+", "pi- pi+ pi-"]}},
    "max_L": 1,
}
SPIN_5 = {
    "decay": "B+ -> K+ pi- pi+ eta",
    "resonances": {
        "above": {"in": "K+ pi- pi+", "JP": "5+", "mass": 2.6, "width": 0.3},
        "below": {"in": "K+ pi-", "JP": "5-", "mass": 1.8, "width": 0.2},
    },
}
DATA, PHASE_SPACE = 4, 5
ON_HARDWARE = ["cpu", *([CUDA] if GPU else [])]  # interpreted Triton takes too long for so many channels


@cache
def large_model(name):
    """All masses and widths float."""
    description = {"six pions": SIX_PIONS, "spin 5": SPIN_5}.get(name) or yaml.safe_load(MANY_WAVES.read_text(encoding="utf-8"))
    resonances = {key: resonance | {"float": ["mass", "width"]} for key, resonance in description["resonances"].items()}
    return ctpwa.load_model(description | {"resonances": resonances})


@cache
def large_plan(name):
    model = large_model(name)
    return model_channels(model).plan(model)


def large_likelihood(name, engine):
    model = large_model(name)
    data, phase_space = (ctpwa.generate_phase_space(model, n, seed=seed) for seed, n in enumerate((DATA, PHASE_SPACE)))
    return build_likelihood(model, data, phase_space, engine=engine)


@pytest.mark.parametrize("engine", ON_HARDWARE)
@pytest.mark.parametrize("name", ["217 waves", "six pions", "spin 5"])
def test_gradient_of_a_large_model_equals_the_reference(name, engine):
    like = large_likelihood(name, engine)
    value, gradient = like.value_and_grad(point(like))
    reference = like.with_engine(ReferenceEngine(like.plan, like.engine.device))
    expected_value, expected = reference.value_and_grad(point(like))
    assert_close(value, expected_value, 1e-10, scale=DATA)
    assert_close(gradient, expected, 1e-10)


def test_a_model_of_more_than_200_waves_has_them_all():
    model, plan = large_model("217 waves"), large_plan("217 waves")
    assert len(model.waves) == len(model.couplings) == 217
    assert len(plan.channels) == 2 * 217  # the two pi+ exchanged
    assert len(plan.kinds) == 1  # one loop in the kernels, however many waves
    assert set(plan.parameters) == {f"{name}.{which}" for name in model.resonances for which in ("mass", "width")}


def test_36_exchanges_have_a_term_each():
    for wave in large_model("six pions").waves:
        assert len(wave.terms) == 36
        rhos = {frozenset(system) for term in wave.terms for system in term.systems if len(system) == 2}
        assert rhos == {frozenset((plus, minus)) for plus in (0, 2, 4) for minus in (1, 3, 5)}


def test_resonances_share_the_formulas_of_their_numbers():
    """24 resonances in several systems have more than a hundred floating numbers; their formulas are compiled once each."""
    plan = large_plan("217 waves")
    numbers = iteration.IterationNumbers(plan.p, plan.n_floating, plan.parameters, plan.fixed)
    assert plan.n_floating > 100
    assert len({use.template for use in numbers._floating}) <= 10

    theta = np.array([1.05 * p.value for p in model_channels(large_model("217 waves")).theta])
    values, jacobian = numbers.values(theta), numbers.jacobian(theta)
    known = dict(zip(plan.parameters, theta, strict=True))
    for j in (0, 1, 17, 60, plan.n_floating - 1):
        number = plan.p[j]
        at = {symbol: sp.Float(known[name], 30) for symbol, name in number.names}
        assert_close(values[j], float(number.expression.subs(at)), 1e-14)
        for symbol, name in number.names:
            expected = float(sp.diff(number.expression, symbol).subs(at))
            assert_close(jacobian[j, plan.parameters.index(name)], expected, 1e-12)
        assert (jacobian[j] != 0).sum() <= len(number.names)


def test_memory_grows_with_the_number_of_events():
    model = large_model("spin 5")
    planned = []
    for n in (10, 20, 40):
        data, phase_space = (ctpwa.generate_phase_space(model, n, seed=seed) for seed in (1, 2))
        like = build_likelihood(model, data, phase_space, engine="reference")
        planned.append(like.memory().total)
        assert planned[-1] == 2 * n * like.plan.bytes_per_event
    assert planned == [planned[0], 2 * planned[0], 4 * planned[0]]
