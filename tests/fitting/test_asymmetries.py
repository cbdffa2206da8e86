"""CP asymmetries as results of fits of a decay and its charge conjugate."""

import json
from dataclasses import replace

import numpy as np
import pytest

import ctpwa
from ctpwa.fitting.asymmetries import asymmetry, coupling_asymmetries, fraction_asymmetries
from ctpwa.fitting.fractions import FractionCalculator, wave_groups
from ctpwa.fitting.result import FitResult, checksum
from ctpwa.generate import ToyGenerator, ToySettings

DECAY = {
    "decay": "D0 -> K_S0 pi+ pi-",
    "resonances": {"rho(770)": {"in": "pi+ pi-"}, "K*(892)": {"in": ["K_S0 pi+", "K_S0 pi-"]}},
    "couplings": {"K*(892)+[K_S0 pi+] (1,1)(1,0)": "0.5j", "K*(892)-[K_S0 pi-] (1,1)(1,0)": {"abs": 1.5, "phase": 2.3}},
}
TRUTH = 0.15 - 0.1j
SHORT = ToySettings(pilot_rounds=3, pilot_events=1 << 10, maximum_events=1 << 12)
N, N_PHASE_SPACE, TOYS = 500, 4000, 12


@pytest.fixture(scope="module")
def model():
    return ctpwa.load_model(DECAY | {"cp": {"K*(892)-": str(TRUTH)}})


@pytest.fixture(scope="module")
def toys(model):
    """Likelihoods of pairs of toys, on one normalisation."""
    phase_space = ctpwa.generate_phase_space(model, N_PHASE_SPACE, seed=1)
    generators = [ToyGenerator(model, engine="reference", settings=SHORT, conjugate=conjugate) for conjugate in (False, True)]

    def data(k, seed):
        return generators[k].generate(N, seed, progress=False).events

    terms = [ctpwa.build_likelihood(model, data(k, k), phase_space, engine="reference", conjugate=bool(k)) for k in (0, 1)]
    return [terms[0].with_data(data(0, 2 * i)) + terms[1].with_data(data(1, 2 * i + 1)) for i in range(TOYS)]


@pytest.fixture(scope="module")
def results(toys):
    return [ctpwa.fit(likelihood, simulation=False, progress=False) for likelihood in toys]


def test_toys_give_the_truth_back(model, results):
    """Pulls of Δ, A and arg(c̄/c) over toys: Σ of squares is a χ², and their mean is 0; 5 σ are one in a million."""
    true_value, true_phase = asymmetry(TRUTH)
    assert true_value == pytest.approx((abs(1 - TRUTH) ** 2 - abs(1 + TRUTH) ** 2) / (abs(1 - TRUTH) ** 2 + abs(1 + TRUTH) ** 2), rel=1e-14)
    assert true_phase == pytest.approx(np.angle((1 - TRUTH) / (1 + TRUTH)), rel=1e-14)
    for result in results:
        assert result.verdict.good
    found = [result.asymmetries.couplings[0] for result in results]
    pulls = {
        "re": [(r.value("K*(892)-.delta.re") - TRUTH.real) / r["K*(892)-.delta.re"].error for r in results],
        "im": [(r.value("K*(892)-.delta.im") - TRUTH.imag) / r["K*(892)-.delta.im"].error for r in results],
        "A": [(own.value - true_value) / own.error for own in found],
        "phase": [(own.phase - true_phase) / own.phase_error for own in found],
    }
    for own in pulls.values():
        assert abs(np.mean(own)) < 4 / np.sqrt(TOYS)
        assert 0.15 < np.mean(np.square(own)) < 3


def test_errors_are_propagated_from_the_covariance(toys, results):
    likelihood, result = toys[0], results[0]
    term, step = likelihood.terms[1], 1e-5  # whichever of the two
    C, groups = result.covariance, wave_groups(term.model)["resonances"]

    def at(x):
        (own,) = coupling_asymmetries(term.parameters, x, C)
        calculator = FractionCalculator(term, x)
        f, g = (calculator.signed(sign).values_and_slopes(groups)[0] for sign in (1, -1))
        return np.array([own.value, own.phase, *((g - f) / (g + f))])

    slopes = np.array([(at(result.x + d) - at(result.x - d)) / (2 * step) for d in step * np.eye(len(result.x))])
    errors = np.sqrt(np.diag(slopes.T @ C @ slopes))
    (own,) = coupling_asymmetries(term.parameters, result.x, C)
    fractions = fraction_asymmetries(FractionCalculator(term, result.x), groups, C)
    np.testing.assert_allclose([own.value, own.phase, *(value for value, _ in fractions.values())], at(result.x), rtol=1e-12)
    np.testing.assert_allclose([own.error, own.phase_error, *(error for _, error in fractions.values())], errors, rtol=1e-6)


def test_without_asymmetry_fractions_have_none(toys, model):
    likelihood = toys[0].terms[1]
    x = likelihood.start
    for part in ("re", "im"):
        x[likelihood.names.index(f"K*(892)-.delta.{part}")] = 0.0
    found = fraction_asymmetries(FractionCalculator(likelihood, x), wave_groups(model)["waves"], np.eye(len(x)))
    assert [value for value, _ in found.values()] == [0.0] * 3


def test_couplings_of_a_result_have_no_asymmetry(results):
    result = results[0]
    name = "K*(892)-[K_S0 pi-] (1,1)(1,0)"
    (own,) = [c for c in result.couplings if c.name == name]
    assert (own.re, own.im) == (result.value(f"{name}.re"), result.value(f"{name}.im"))


def test_a_file_holds_them(results, tmp_path):
    results[0].save(tmp_path / "a.json")
    assert FitResult.load(tmp_path / "a.json").asymmetries == results[0].asymmetries


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("value", 0.3, "does not follow from its Δ"),
        ("re", 0.3, "has another Δ than the parameter"),
        ("error", -1.0, "less than 0"),
    ],
)
def test_contradictions_in_a_file_are_refused(results, tmp_path, key, value, message):
    results[0].save(tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text())
    content["asymmetries"]["couplings"][0][key] = value
    content["sha256"] = checksum(content)
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(ctpwa.CtpwaError, match=message):
        FitResult.load(tmp_path / "a.json")


def test_they_are_printed(results):
    text = str(results[0])
    assert "CP asymmetries of couplings: (|c̄|² - |c|²)/(|c̄|² + |c|²), arg(c̄/c) in degrees\n  K*(892)-  " in text
    assert "CP asymmetries of fractions over phase space: (f̄ - f)/(f̄ + f), resonances\n  rho(770)  " in text


def test_one_kind_of_sample_does_not_determine_them(toys):
    with pytest.raises(ctpwa.base.PhysicsError, match=r"'K\*\(892\)-.delta.im' is free, and all samples are of the decay"):
        ctpwa.fit(toys[0].terms[0])


def test_a_common_asymmetry_is_not_determined():
    """Why one is fixed: couplings c(1 − Δ) of all waves times a factor are the same shape."""
    every = ctpwa.load_model(DECAY | {"cp": "all"})
    free = replace(every, parameters=tuple(replace(p, fixed=False) for p in every.parameters))
    data, phase_space = ctpwa.generate_phase_space(every, 50, seed=2), ctpwa.generate_phase_space(every, 90, seed=3)
    plus, minus = (ctpwa.build_likelihood(free, data, phase_space, engine="reference", conjugate=conjugate) for conjugate in (False, True))
    together = plus + minus
    x = together.start + 0.2 * np.random.default_rng(1).normal(size=len(together.names))
    ahead, behind = (term.parameters.native(x)[0] for term in (plus, minus))
    behind = behind * (1.3 - 0.4j)
    c, delta = (ahead + behind) / 2, (ahead - behind) / (ahead + behind)
    c = c / c[0]
    values = {f"{name}.delta": own for name, own in zip(plus.coupling_names, delta, strict=True)}
    values |= dict(zip(plus.coupling_names[1:], c[1:], strict=True))
    moved = np.array([getattr(values[name.rpartition(".")[0]], {"re": "real", "im": "imag"}[name[-2:]]) for name in together.names])
    assert np.abs(moved - x).max() > 0.1
    assert together.value(moved) == pytest.approx(together.value(x), rel=1e-12)
    with_reference = ctpwa.build_likelihood(every, data, phase_space, engine="reference")
    assert set(together.names) - set(with_reference.names) == {f"rho(770)0[pi+ pi-] (1,1)(1,0).delta.{part}" for part in ("re", "im")}
