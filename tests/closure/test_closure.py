"""Toys of a model are fitted back: what was put in comes out, with the right errors. benchmarks/closure.py does it at length."""

import re

import numpy as np
import pytest
from scipy.stats import chi2, kstest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings
from ctpwa.generate.toys import ToySettings
from ctpwa.observables.closure import Closure
from ctpwa.observables.pulls import summarise_pulls

# example → toy events, phase-space events
SIZES = {
    "jpsi_4pi": (300, 2_000),
    "jpsi_gamma_pi0_pi0": (1_000, 3_000),
    "jpsi_kk_eta": (2_000, 6_000),
    "jpsi_p_pbar_eta": (1_000, 5_000),
    "jpsi_phi_pi_pi": (500, 20_000),
    "lambdac_p_k_pi": (2_000, 15_000),
}
SHORT = ToySettings(pilot_events=1 << 10, maximum_events=1 << 12)  # that costs acceptance, but not correctness
STAND_STILL = ("jpsi_kk_eta", "jpsi_p_pbar_eta")  # masses and widths do not float here, to save time
TINY = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "polarisation": "transverse",
    "resonances": {
        "phi(1680)": {"in": "K+ K-", "mass": 1.659, "width": 0.164, "float": ["mass", "width"]},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"], "mass": 1.427, "width": 0.100},
    },
    "couplings": {"K(2)*(1430)+[K+ eta] (2,2)(2,0)": {"abs": 8.0, "phase": -1.2}},
}


def run(*words, codes=(0,)):
    result = CliRunner().invoke(app, [str(word) for word in words], obj=CommandSettings(toys=SHORT, toy_engine="reference"))
    assert result.exit_code in codes, result.output
    return result.stdout


@pytest.mark.parametrize("name", SIZES)
def test_an_example_runs_and_its_fit_finds_the_truth(tmp_path, example, name):
    """The two commands of ``make example``, at a small size."""
    n_events, n_phase_space = SIZES[name]
    text, replaced = re.subn(r"generate: \d+", f"generate: {n_phase_space}", example(name).read_text(encoding="utf-8"))
    assert replaced == 1
    if name in STAND_STILL:
        text, replaced = re.subn(r", float: \[mass, width\]", "", text)
        assert replaced >= 1
    file = tmp_path / "model.yml"
    file.write_text(text, encoding="utf-8")
    run("generate", file, "-n", n_events, "--seed", 1, "-o", tmp_path / "toy.root")
    run("fit", file, "--starts", 1, "--engine", "reference")
    result = ctpwa.FitResult.load(tmp_path / "model.result.json")
    assert result.verdict.good, result.verdict
    assert result.n_events == n_events
    closure = Closure(ctpwa.load_model(file), n_events, n_phase_space, n_reference=2_000, engine="reference", toys=SHORT)
    np.testing.assert_allclose([p.start for p in result.parameters], closure.truth)
    toy = closure.compare(result, result.record.history[0])
    # the likelihood itself: with so few events it is no parabola
    assert toy.ratio_p_value > 1e-4, f"2 ln(L/L_truth) = {toy.likelihood_ratio:.1f} for {len(closure.truth)} parameters"


N_TOYS = 32


@pytest.fixture(scope="module")
def tiny():
    """Toys of a small model, fitted back."""
    closure = Closure(ctpwa.load_model(TINY), 300, 3_000, n_reference=5_000, seed=1, engine="reference", toys=SHORT)
    return closure, [closure.run(k) for k in range(N_TOYS)]


def test_pulls_of_couplings_masses_widths_and_fractions_are_normal(tiny):
    closure, toys = tiny
    values, errors = (np.array([getattr(toy, what) for toy in toys]) for what in ("values", "errors"))
    assert closure.names[-4:] == ("phi(1680).mass", "phi(1680).width", "phi(1680)", "K(2)*(1430)")
    for summary in summarise_pulls(closure.names, values, errors, closure.true_values):
        assert abs(summary.mean) < 3.5 * summary.mean_error, summary
        assert abs(summary.width - 1) < 3.5 * summary.width_error, summary
        assert summary.spread == pytest.approx(summary.error, rel=3.5 / np.sqrt(2 * N_TOYS)), summary


def test_the_distance_to_the_truth_is_a_chi_squared(tiny):
    """Σ χ² over all toys: errors that are wrong by a quarter would be noticed."""
    closure, toys = tiny
    assert all(toy.result.verdict.good for toy in toys)
    n = N_TOYS * len(closure.truth)
    total = sum(toy.chi2 for toy in toys)
    assert min(chi2.cdf(total, n), chi2.sf(total, n)) > 1e-3, f"{total:.1f} for {n} degrees of freedom"
    assert kstest([toy.ratio_p_value for toy in toys], "uniform").pvalue > 1e-3
