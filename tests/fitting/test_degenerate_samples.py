"""Samples that cannot determine the parameters are refused before a fit begins: it would have no minimum to find, and no end."""

import pytest
import torch

import ctpwa
from fitting import cases


@pytest.fixture
def model():
    return cases.model("phi and K2")


@pytest.fixture
def flat():
    return cases.phase_space("phi and K2", 60, seed=3)


def first(events, n):
    return ctpwa.Events({name: p[:n] for name, p in events.items()})


def repeated(events, n, times):
    return ctpwa.Events({name: p[:n].repeat(times, 1) for name, p in events.items()})


def fit(model, data, phase_space, starts=1):
    return ctpwa.fit(ctpwa.build_likelihood(model, data, phase_space, engine="reference", device="cpu"), starts)


@pytest.mark.parametrize("starts", [1, 5])
@pytest.mark.parametrize("times", [1, 2000])
@pytest.mark.parametrize("n", [1, 3])
def test_few_different_measured_events(model, flat, n, times, starts):
    with pytest.raises(ctpwa.base.DataError, match=f"data: only {n} different events for 4 free parameters\n fix: give more events"):
        fit(model, repeated(flat, n, times), flat, starts)


@pytest.mark.parametrize("times", [1, 2000])
@pytest.mark.parametrize("n", [1, 3])
def test_few_different_phase_space_events(model, flat, n, times):
    with pytest.raises(ctpwa.base.DataError, match=f"phase space: only {n} different events for 4 free parameters\n fix: give more"):
        fit(model, flat, repeated(flat, n, times))


def test_events_without_weight_do_not_count(model, flat):
    weights = torch.zeros(60, dtype=torch.float64)
    weights[:2] = 1.0
    with pytest.raises(ctpwa.base.DataError, match="data: only 2 different events for 4 free parameters"):
        fit(model, ctpwa.Events(flat.momenta, weights), flat)


def test_two_data_sets_determine_their_parameters_together(model, flat):
    """Each alone has too few events; their phase space must do for each alone."""
    parts = [ctpwa.Events({name: p[i : i + 3] for name, p in flat.items()}) for i in (0, 3)]
    terms = [ctpwa.build_likelihood(model, part, flat, engine="reference", device="cpu") for part in parts]
    assert ctpwa.fit(terms[0] + terms[1], max_iterations=1).n_events == 6
    few = ctpwa.build_likelihood(model, flat, first(flat, 2), engine="reference", device="cpu")
    with pytest.raises(ctpwa.base.DataError, match="phase space: only 2 different events"):
        ctpwa.fit(terms[0] + few)


def test_files_that_are_read_in_pieces(model, flat, tmp_path):
    ctpwa.write_events(tmp_path / "a.npz", repeated(flat, 2, 2000))
    data = ctpwa.open_events(model, tmp_path / "a.npz")
    with pytest.raises(ctpwa.base.DataError, match="data: only 2 different events for 4 free parameters"):
        fit(model, data, flat)
