"""Angular moments against mpmath, against distributions whose moments are known, and against counting by hand."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.observables.moments import MomentSample, angular_moments, spherical_harmonic

Y00 = 1 / math.sqrt(4 * math.pi)


@pytest.mark.parametrize(("L", "M"), [(L, M) for L in range(7) for M in range(L + 1)])
def test_spherical_harmonics(L, M):
    for theta, phi in [(0.3, 0.0), (1.1, 2.0), (2.9, -1.3)]:
        expected = float(mpmath.re(mpmath.spherharm(L, M, theta, phi)))
        found = spherical_harmonic(L, M, np.array([math.cos(theta)]), np.array([phi]))
        assert found[0] == pytest.approx(expected, abs=1e-13)


def sphere(rng, n, weights=None):
    return MomentSample(rng.uniform(1, 2, n), rng.uniform(-1, 1, n), rng.uniform(-math.pi, math.pi, n), weights)


def test_sums_by_hand():
    data = MomentSample([1.1, 1.2, 1.7, 2.0], [0.5, -1.0, 0.0, 0.2], weights=[1.0, 2.0, -1.0, 3.0])
    model = MomentSample([1.1, 1.6, 1.7, 9.0], [0.1, 0.2, 0.3, 0.4], weights=[1.0, 1.0, 1.0, 7.0])
    background = MomentSample([1.3], [1.0], weights=[0.5])
    found = angular_moments(data, model, [1.0, 1.5, 2.0], max_L=1, background=background)
    Y10 = math.sqrt(3 / (4 * math.pi))
    assert found.indices == ((0, 0), (1, 0))
    np.testing.assert_allclose(found.data, [[2.5 * Y00, 2 * Y00], [(0.5 - 2 - 0.5) * Y10, 0.6 * Y10]])
    errors = np.array([[1 + 4 + 0.25, 1 + 9], [0.25 + 4 + 0.25, 0.36]])
    np.testing.assert_allclose(found.data_error, np.sqrt(errors) * [[Y00], [Y10]])
    scale = (5 - 0.5) / 10
    np.testing.assert_allclose(found.model, scale * np.array([[Y00, 2 * Y00], [0.1 * Y10, 0.5 * Y10]]))
    np.testing.assert_allclose(found.model_error, scale * np.array([[Y00, math.sqrt(2) * Y00], [0.1 * Y10, math.hypot(0.2, 0.3) * Y10]]))
    np.testing.assert_array_equal(found.ndf, [0, 0])  # no bin has ten events
    np.testing.assert_array_equal(found.p_values, [1, 1])


def test_moments_of_a_known_distribution(rng):
    """cos²θ: ⟨Y00⟩ = 1/√4π and ⟨Y20⟩ = (2/5) √(5/4π); all other moments vanish."""
    cosine = np.cbrt(rng.uniform(-1, 1, 200_000))
    n = len(cosine)
    data = MomentSample(np.full(n, 1.5), cosine, rng.uniform(-math.pi, math.pi, n))
    found = angular_moments(data, sphere(rng, 1000), [1.0, 2.0], max_L=4, max_M=2)
    expected = {(0, 0): Y00, (2, 0): 0.4 * math.sqrt(5 / (4 * math.pi))}
    for index, value, error in zip(found.indices, found.data[:, 0], found.data_error[:, 0], strict=True):
        tolerance = 1e-9 * n if index == (0, 0) else 4 * error
        assert abs(value - n * expected.get(index, 0.0)) < tolerance, index
    assert len(found.indices) == 5 + 4 + 3


def test_chi2_is_uniform_if_the_model_is_right():
    rng = np.random.default_rng(3)
    p_values = []
    for _ in range(100):
        model = sphere(rng, 4000)
        weights = 1 + model.cos_theta**2 + 0.5 * model.cos_theta * np.sin(6 * model.mass)
        flat = sphere(rng, 3000)
        keep = 2.5 * rng.random(3000) < 1 + flat.cos_theta**2 + 0.5 * flat.cos_theta * np.sin(6 * flat.mass)
        data = MomentSample(flat.mass[keep], flat.cos_theta[keep])
        model = MomentSample(model.mass, model.cos_theta, weights=weights)
        p_values.append(angular_moments(data, model, np.linspace(1, 2, 21), max_L=3).p_values)
    for k, values in enumerate(np.array(p_values).T):
        assert stats.kstest(values, "uniform").pvalue > 0.005, k


def test_a_missing_wave_is_seen(rng):
    flat, model = sphere(rng, 20000), sphere(rng, 40000)
    keep = 2 * rng.random(20000) < 1 + flat.cos_theta**2
    found = angular_moments(MomentSample(flat.mass[keep], flat.cos_theta[keep]), model, 20)
    by_index = dict(zip(found.indices, found.p_values, strict=True))
    assert by_index[2, 0] < 1e-10
    assert by_index[1, 0] > 0.001
    assert by_index[0, 0] > 0.001


def test_the_total_is_that_of_the_data(rng):
    found = angular_moments(sphere(rng, 500), sphere(rng, 3000), np.linspace(1, 2, 6), max_L=0)
    assert found.model.sum() == pytest.approx(found.data.sum())
    assert found.data.sum() == pytest.approx(500 * Y00)
    assert found.ndf.tolist() == [4]


def test_moments_of_a_decay(example):
    """J/psi -> phi(1020) eta alone: the helicity-1 phi gives sin²θ, so L = 2 is −1/√5 of L = 0, and L = 4 and odd L vanish."""
    model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}}})
    events = ctpwa.generate_phase_space(model, 100_000, seed=1)
    weights = ctpwa.ModelIntensity(model, device="cpu")(events).numpy()
    mass, cosine = (ctpwa.observe.parse_variable(text, model.decay)(events) for text in ("mass(K+, K-)", "cos_theta(K+; K+ K-)"))
    sample = MomentSample(mass, cosine, weights=weights)
    found = angular_moments(sample, sample, [mass.min(), mass.max()])
    ratios = found.data[:, 0] / found.data[0, 0]
    errors = found.data_error[:, 0] / found.data[0, 0]
    for k, expected in enumerate([1, 0, -1 / math.sqrt(5), 0, 0]):
        assert abs(ratios[k] - expected) < 4 * errors[k] + 1e-12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": [1, 1]}, "do not rise"),
        ({"edges": 0}, "0 bins"),
        ({"edges": 2.5}, "2.5 bins"),
        ({"max_L": 1, "max_M": 2}, "L = 1, M = 2"),
        ({"max_M": 1}, "need the azimuth of the data"),
        ({"data": MomentSample([1.0], [1.1])}, "a cosine of the data is 1.1"),
        ({"data": MomentSample([1.0, 2.0], [0.1])}, "different lengths"),
        ({"data": MomentSample([float("nan")], [0.1])}, "masses of the data are not a list of finite numbers"),
        ({"model": MomentSample([1.0], [0.1], weights=[0.0])}, "0 for the model"),
        ({"background": MomentSample([1.0], [0.1], weights=[5.0])}, "-4 for the data"),
    ],
)
def test_wrong_input(change, message):
    arguments = {"data": MomentSample([1.0], [0.1]), "model": MomentSample([1.0], [0.1]), "edges": [0.5, 1.5]} | change
    with pytest.raises(DataError, match=message) as caught:
        angular_moments(arguments.pop("data"), arguments.pop("model"), arguments.pop("edges"), **arguments)
    assert "fix:" in str(caught.value)
