"""The demonstration runs and does what it says."""

import math

import pytest

import ctpwa
from ctpwa.demo import main

WRITTEN = ["model.yml", "toy.root", "result.json", "projections.png", "projections.pdf", "dalitz.png", "dalitz.pdf"]


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    """A small run."""
    folder = tmp_path_factory.mktemp("demo")
    return folder, main(n_events=2_000, n_phase_space=10_000, n_starts=2, output=folder)


def test_everything_is_written(demonstration):
    folder, result = demonstration
    assert [name for name in WRITTEN if not (folder / name).stat().st_size > 1_000] == []
    assert (folder / "projections.png").stat().st_size > 30_000
    assert ctpwa.FitResult.load(folder / "result.json").as_dict() == result.as_dict()


def test_ten_resonance_parameters_float(demonstration):
    _, result = demonstration
    assert sum(name.endswith((".mass", ".width")) for name in result.names) == 10
    assert result.n_events == 2_000
    assert result.n_starts == 2


def test_the_fit_is_at_least_as_good_as_the_truth(demonstration):
    folder, result = demonstration
    analysis = ctpwa.load_analysis(folder / "model.yml")
    likelihood = analysis.likelihood()
    truth = likelihood.start  # the values of the model, which made the toy
    assert math.isfinite(result.nll)
    assert likelihood.value(result.x) == pytest.approx(result.nll, rel=1e-10)
    if result.verdict.good and result.minima[0].starts:
        assert result.nll < likelihood.value(truth) + 50  # another minimum may be found with so few events and two starts
