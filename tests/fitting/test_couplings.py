"""Magnitudes and phases of couplings after a fit, and their errors against numerical derivatives."""

import numpy as np
import pytest

import ctpwa
from fitting.cases import K2, PHI, PHI3, TRUTH, along, likelihood, make, result

OPTIONS = {
    "cartesian": {},
    "polar": {"representation": "polar"},
    "another reference": {"reference_wave": K2},
    "tied": {"ties": {PHI3: (K2, TRUTH[PHI3] / TRUTH[K2])}},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_errors_of_magnitude_and_phase(name):
    like = make("fixed", **OPTIONS[name])
    found = ctpwa.fit(like)
    assert found.verdict.good

    def sizes(x):
        c = like.parameters.native(x)[0]
        return np.concatenate([np.abs(c), np.angle(c)])

    c = like.parameters.native(found.x)[0]
    assert tuple(entry.name for entry in found.couplings) == like.coupling_names
    np.testing.assert_allclose([entry.magnitude for entry in found.couplings], np.abs(c), rtol=1e-14)
    np.testing.assert_allclose([entry.phase for entry in found.couplings], np.angle(c), rtol=1e-14)
    np.testing.assert_allclose([complex(entry.re, entry.im) for entry in found.couplings], c, rtol=1e-14)
    values, vectors = np.linalg.eigh(found.covariance / np.outer(found.errors, found.errors))
    directions = (vectors * np.sqrt(values)).T * found.errors  # covariance = Σ v vᵀ
    slopes = np.array([along(sizes, found.x, v, 0.01) for v in directions])
    errors = [entry.magnitude_error for entry in found.couplings] + [entry.phase_error for entry in found.couplings]
    np.testing.assert_allclose(errors, np.sqrt((slopes**2).sum(axis=0)), rtol=1e-6, atol=1e-12)


def test_the_reference_wave_has_no_error():
    first = result("floating").couplings[0]
    assert (first.name, first.magnitude, first.magnitude_error, first.phase, first.phase_error) == (PHI, 1.0, 0.0, 0.0, 0.0)


def test_both_representations_are_one_fit():
    """The same minimum, and the same errors of magnitudes, phases and fractions."""
    cartesian, polar = result("fixed"), ctpwa.fit(make("fixed", representation="polar"))
    assert polar.nll == pytest.approx(cartesian.nll, abs=1e-7)
    for one, other in zip(cartesian.couplings, polar.couplings, strict=True):
        assert other.magnitude == pytest.approx(one.magnitude, rel=1e-5)
        assert other.magnitude_error == pytest.approx(one.magnitude_error, rel=1e-3, abs=1e-12)
        assert other.phase_error == pytest.approx(one.phase_error, rel=1e-3, abs=1e-12)
        assert other.phase == pytest.approx(one.phase, abs=1e-4)
    for kind in ("waves", "resonances", "jp"):
        one, other = cartesian.fractions[0].groups[kind], polar.fractions[0].groups[kind]
        np.testing.assert_allclose(other.values, one.values, rtol=1e-4)
        np.testing.assert_allclose(other.errors, one.errors, rtol=1e-3)


def test_a_tied_coupling_follows():
    factor = TRUTH[PHI3] / TRUTH[K2]
    found = {entry.name: entry for entry in ctpwa.fit(make("fixed", ties={PHI3: (K2, factor)})).couplings}
    one, other = found[K2], found[PHI3]
    assert complex(other.re, other.im) == pytest.approx(factor * complex(one.re, one.im))
    assert other.magnitude_error / other.magnitude == pytest.approx(one.magnitude_error / one.magnitude)
    assert other.phase_error == pytest.approx(one.phase_error)


def test_a_coupling_of_zero_has_no_phase():
    like = likelihood("fixed")
    start = np.array([0.0, 0.0, *like.start[2:]])
    found = ctpwa.fit(like, start=start, max_iterations=1)
    assert all(np.isfinite(entry.magnitude) for entry in found.couplings)
    stuck = ctpwa.fit(make("fixed", ties={PHI3: (K2, TRUTH[PHI3] / TRUTH[K2])}), start=[0.0, 0.0], max_iterations=1)
    assert np.isfinite(stuck.nll)
