"""Minima with the same intensity in every event are found, kept and named; others are not called so."""

import numpy as np
import pytest

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.fitting.ambiguities import ambiguities, separation
from ctpwa.fitting.result import FoundMinimum
from ctpwa.fitting.search_settings import SearchSettings

# two waves without lineshapes and with real spin amplitudes: c → c* leaves every intensity as it is
NR1, NR3 = "NR1[K+ K-] (1,1)(1,0)", "NR3[K+ K-] (3,3)(3,0)"
CONJUGATE = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "polarisation": "transverse",
    "resonances": {name: {"in": "K+ K-", "JP": jp, "lineshape": "constant"} for name, jp in (("NR1", "1-"), ("NR3", "3-"))},
    "couplings": {NR1: 1, NR3: [60, 80]},
}


@pytest.fixture(scope="module")
def conjugate():
    """The likelihood of its own toy data."""
    model = ctpwa.load_model(CONJUGATE)
    events = ctpwa.generate_phase_space(model, 4000, seed=3)
    I = ctpwa.ModelIntensity(model, engine="reference")(events).numpy()
    kept = np.flatnonzero(np.random.default_rng(3).random(len(I)) * I.max() < I)[:300]
    data = ctpwa.Events({name: p[kept] for name, p in events.items()})
    return ctpwa.build_likelihood(model, data, ctpwa.generate_phase_space(model, 1500, seed=4), engine="reference")


def test_conjugate_couplings_are_found_and_named(conjugate):
    found = ctpwa.fit(conjugate, starts=8, seed=1, search=SearchSettings(distance=12.5))
    best, other = found.minima[:2]
    assert other.refined
    assert other.nll - best.nll == pytest.approx(0, abs=1e-6)
    assert np.array(other.values) == pytest.approx(np.array(best.values) * [1, -1], rel=1e-3)
    assert best.starts + other.starts == 8
    assert found.settings["minima"] == pytest.approx(12.5 * conjugate.unit)
    text = next(reason for reason in found.verdict.reasons if "ambiguity" in reason)
    assert "minimum 2" in text
    assert "complex conjugate" in text
    assert not any("hardly tell them apart" in reason for reason in found.verdict.reasons)
    assert "minima within 12.5 of the best" in str(found)
    assert found.verdict.good


def test_without_a_distance_the_best_is_enough(conjugate):
    found = ctpwa.fit(conjugate, starts=8, seed=1)
    assert len(found.minima) == 1
    assert "minima" not in found.settings


def test_other_points_are_told_apart(conjugate):
    x = np.array([60.0, 80.0])
    assert separation(conjugate, x, x * [1, -1]) == pytest.approx(0, abs=1e-10)
    apart = separation(conjugate, x, x * 1.1)
    assert apart > 1e-2
    minima = [FoundMinimum(0.1 * k, 1, True, point) for k, point in enumerate([(60.0, 80.0), (66.0, 88.0), (60.0, -80.0)])]
    assert list(ambiguities(conjugate, minima, 1.0)) == [2]
    assert ambiguities(conjugate, minima, 0.15) == {}
    assert ambiguities(conjugate, minima, None) == {}


@pytest.mark.parametrize(("distance", "starts", "message"), [(12.5, 1, "one start"), (0.0, 3, "above 0"), (np.nan, 3, "above 0")])
def test_what_makes_no_sense(conjugate, distance, starts, message):
    with pytest.raises(DataError, match=message):
        ctpwa.fit(conjugate, starts=starts, search=SearchSettings(distance=distance))
