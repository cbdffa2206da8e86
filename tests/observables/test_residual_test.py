"""Tests of functions of events after a fit: p-values are uniform whatever was fitted, and small where the model is wrong."""

import numpy as np
import pytest
from scipy import stats

from ctpwa.observables.residual_test import EventFunctions, residual_test

TOYS = 300


def events(rng, n, slope, wrong=0.0):
    """x, u in [−1, 1]² with density ∝ 1 + slope x + wrong u."""
    z = rng.uniform(-1, 1, (8 * n, 2))
    kept = rng.uniform(0, 2, len(z)) < 1 + slope * z[:, 0] + wrong * z[:, 1]
    return z[kept][:n]


def fitted(z, w, flat):
    """The slope with Σ w ∂ ln p = 0, normalised with finite simulation."""
    a = 0.0
    for _ in range(30):
        g, own = (x[:, 0] / (1 + a * x[:, 0]) for x in (z, flat))
        v = 1 + a * flat[:, 0]
        mean = (v * own).sum() / v.sum()
        a += w @ (g - mean) / (w @ g**2 - w.sum() * mean**2)
    return a


def functions(z):
    """Cells in x, and the slope of u in them."""
    x, u = z.T
    cells = np.stack([(x >= low) & (x < low + 0.25) for low in np.arange(-1, 1, 0.25)], axis=1).astype(float)
    return np.concatenate([cells, u[:, None], x[:, None] * u[:, None]], axis=1)


def outcome(z, w, flat, a):
    scores = [(x[:, 0] / (1 + a * x[:, 0]))[:, None] for x in (z, flat)]
    model = EventFunctions(functions(flat), scores[1], 1 + a * flat[:, 0])
    return residual_test((EventFunctions(functions(z), scores[0], w), model))


def toy(rng, subtracted=False, wrong=0.0, simulated=1500):
    """A toy with its own simulation, as many events as there are data or so, and background that is subtracted."""
    z, w, flat = events(rng, 800, 0.5, wrong), np.ones(800), rng.uniform(-1, 1, (simulated, 2))
    if subtracted:
        peaked = lambda n: np.stack([rng.uniform(0, 1, n) ** 2, rng.uniform(-1, 0, n)], axis=1)  # noqa: E731
        under, side = peaked(rng.poisson(200)), peaked(rng.poisson(400))
        z, w = np.concatenate([z, under, side]), np.concatenate([w, np.ones(len(under)), np.full(len(side), -0.5)])
    return outcome(z, w, flat, fitted(z, w, flat))


@pytest.mark.parametrize("subtracted", [False, True])
def test_p_values_are_uniform(subtracted):
    rng = np.random.default_rng(4)
    found = [toy(rng, subtracted) for _ in range(TOYS)]
    p = np.array([own.p_value for own in found])
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert (p < 0.01).mean() < 0.03
    assert {own.ndf for own in found} <= {7, 8, 9}  # eight cells of one sum, one of their combinations was fitted; two slopes


def test_a_simulation_that_is_finite_is_counted():
    """With hardly more simulated than measured events the test would see their fluctuations."""
    rng = np.random.default_rng(5)
    p = np.array([toy(rng, simulated=400).p_value for _ in range(TOYS)])
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_data_sets_that_are_fitted_together():
    """Each has a simulation of its own, of another size, and cells of its own; a slope is common to both."""
    rng, p = np.random.default_rng(7), []
    for _ in range(TOYS):
        z, flat = [events(rng, n, 0.5, 0.0) for n in (500, 900)], [rng.uniform(-1, 1, (n, 2)) for n in (2500, 3000)]
        a = fitted(np.concatenate(z), np.ones(sum(map(len, z))), np.concatenate(flat))
        samples = []
        for k in range(2):
            pair = []
            for x in (z[k], flat[k]):
                cells = functions(x)[:, :8]
                own = [cells if k == other else np.zeros_like(cells) for other in range(2)]
                pair.append((np.concatenate([*own, x[:, 1:]], axis=1), (x[:, 0] / (1 + a * x[:, 0]))[:, None]))
            data, model = pair
            samples.append((EventFunctions(*data, np.ones(len(z[k]))), EventFunctions(*model, 1 + a * flat[k][:, 0])))
        p.append(residual_test(*samples).p_value)
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_what_is_wrong_is_seen():
    rng = np.random.default_rng(6)
    p = [toy(rng, subtracted, wrong=0.4).p_value for subtracted in (False, True) for _ in range(20)]
    assert np.median(p) < 1e-4


def test_where_parameters_would_go():
    """A slope that depends on u, which is not around 0: the one that was fitted is too large, and where it would be without."""
    rng = np.random.default_rng(7)
    z = rng.uniform([-1, 0], [1, 1], (400_000, 2))
    data, flat = z[rng.uniform(0, 2, len(z)) < 1 + (0.2 + 0.3 * z[:, 1]) * z[:, 0]], rng.uniform([-1, 0], [1, 1], (400_000, 2))
    a = fitted(data, np.ones(len(data)), flat)
    scores = [(x[:, 0] / (1 + a * x[:, 0]))[:, None] for x in (data, flat)]
    h = [x[:, 1:] * g for x, g in zip((data, flat), scores, strict=True)]
    found = residual_test((EventFunctions(h[0], scores[0], np.ones(len(data))), EventFunctions(h[1], scores[1], 1 + a * flat[:, 0])))
    assert a == pytest.approx(0.35, abs=0.02)
    assert a + found.moves[0] == pytest.approx(0.2, abs=0.03)
    assert found.p_value < 1e-9


def test_functions_that_were_fitted_are_left_out():
    rng = np.random.default_rng(8)
    z, flat = events(rng, 800, 0.5), rng.uniform(-1, 1, (1500, 2))
    a = fitted(z, np.ones(800), flat)
    g = [(x[:, 0] / (1 + a * x[:, 0]))[:, None] for x in (z, flat)]
    found = residual_test((EventFunctions(g[0], g[0], np.ones(800)), EventFunctions(g[1], g[1], 1 + a * flat[:, 0])))
    assert (found.ndf, found.p_value, found.moves.tolist()) == (0, 1.0, [0.0])


def test_a_function_that_is_constant_is_none():
    """Its sum over events is rounding, and so is its error."""
    rng = np.random.default_rng(9)
    z, flat = events(rng, 48, 0.5), rng.uniform(-1, 1, (133, 2))
    a = fitted(z, np.ones(48), flat)
    g = [(x[:, 0] / (1 + a * x[:, 0]))[:, None] for x in (z, flat)]
    h = [np.full((len(x), 1), 0.1) for x in (z, flat)]
    assert residual_test((EventFunctions(h[0], g[0], np.ones(48)), EventFunctions(h[1], g[1], 1 + a * flat[:, 0]))).ndf == 0
