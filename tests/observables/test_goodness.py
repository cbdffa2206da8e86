"""Tests of fits keep their promise: p-values are uniform if the model is right, and small if it is not."""

import math

import numpy as np
import pytest
from scipy import stats

from ctpwa.base.errors import DataError
from ctpwa.observables import goodness
from ctpwa.observables.goodness import adaptive_chi2, mixed_sample_test, point_to_point, unweighted


def intensity(x):
    """A peak and a slow wave over the unit square, between 0.2 and 4."""
    return 1.2 + 0.8 * np.cos(5 * x[:, 0]) * np.sin(4 * x[:, 1]) + 2 * np.exp(-(((x[:, 0] - 0.4) / 0.05) ** 2))


def without_peak(x):
    return 1.2 + 0.8 * np.cos(5 * x[:, 0]) * np.sin(4 * x[:, 1])


def toy(rng, n):
    x = rng.random((10 * n, 2))
    return x[4 * rng.random(len(x)) < intensity(x)][:n]


def is_uniform(p_values):
    return stats.kstest(p_values, "uniform").pvalue > 0.01


# chi2 in adaptive bins


def test_cells_have_equal_content_and_fill_the_plane(rng):
    data, model = rng.random((3000, 2)), rng.random((20000, 2))
    weights = intensity(model)
    found = adaptive_chi2(data, None, model, weights, per_bin=40)
    assert len(found.pull) == 64  # 3000 / 64 = 47
    np.testing.assert_allclose(found.expected, 3000 / 64, rtol=0.02)
    assert found.observed.sum() == 3000
    assert found.expected.sum() == pytest.approx(3000, rel=1e-12)
    areas = np.prod(found.edges[..., 1] - found.edges[..., 0], axis=1)
    everything = np.concatenate([data, model])
    assert areas.sum() == pytest.approx(np.prod(np.ptp(everything, axis=0)), rel=1e-12)
    for cell in range(64):
        low, high = found.edges[cell].T
        inside = ((data >= low) & (data < high)).all(axis=1)
        assert abs(inside.sum() - found.observed[cell]) <= 1  # the largest value is on an edge


def test_chi2_by_hand(rng):
    data, model = rng.random(400), rng.random(5000)
    found = adaptive_chi2(data, None, model, None, per_bin=100, n_parameters=2)
    cuts = np.quantile(model, [0.25, 0.5, 0.75], method="hazen")
    observed, expected = (np.histogram(x, [-1, *cuts, 2])[0] for x in (data, model))
    expected = expected * 400 / 5000
    np.testing.assert_array_equal(found.observed, observed)
    np.testing.assert_allclose(found.expected, expected)
    np.testing.assert_allclose(found.error**2, expected + expected * 400 / 5000)
    assert found.chi2 == pytest.approx(((observed - expected) ** 2 / (expected * 1.08)).sum())
    assert found.ndf == (1, 3)
    assert found.p_values == pytest.approx((stats.chi2.sf(found.chi2, 1), stats.chi2.sf(found.chi2, 3)))
    assert str(found).startswith("χ² = ")
    assert "in 4 cells, ndf = 1 … 3" in str(found)


def test_weights_of_the_data_enter_as_squares(rng):
    data, model = rng.random(1000), rng.random(50000)
    once, thrice = (adaptive_chi2(data, np.full(1000, w), model, None, per_bin=100) for w in (1.0, 3.0))
    np.testing.assert_allclose(thrice.error[0] ** 2 - 0, 9 * (once.error[0] ** 2), rtol=1e-12)
    np.testing.assert_allclose(thrice.pull, once.pull, rtol=1e-10)
    assert once.ndf == thrice.ndf


def test_chi2_is_uniform_with_few_model_events():
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(150):
        model = rng.random((3000, 2))
        p_values.append(adaptive_chi2(toy(rng, 1000), None, model, intensity(model), per_bin=20).p_values[0])
    assert is_uniform(p_values)


def test_chi2_is_uniform_with_subtracted_background():
    rng = np.random.default_rng(6)
    p_values = []
    for _ in range(150):
        model = rng.random((10000, 2))
        data = np.concatenate([toy(rng, 1000), rng.random((600, 2)), rng.random((1200, 2))])
        weights = np.repeat([1.0, -0.5], [1600, 1200])
        p_values.append(adaptive_chi2(data, weights, model, intensity(model), per_bin=12).p_values[0])
    assert is_uniform(p_values)


def test_chi2_sees_a_missing_peak(rng):
    data, model = toy(rng, 3000), rng.random((20000, 2))
    assert adaptive_chi2(data, None, model, intensity(model)).p_values[0] > 0.01
    wrong = adaptive_chi2(data, None, model, without_peak(model))
    assert wrong.p_values[1] < 1e-6
    worst = wrong.edges[np.argmax(wrong.pull), 0]
    assert worst[0] < 0.45
    assert worst[1] > 0.35


def test_equal_values_are_not_separated(rng):
    data, model = rng.integers(0, 3, 1000).astype(float), rng.integers(0, 3, 9000).astype(float)
    found = adaptive_chi2(data, None, model, None, per_bin=10)
    assert len(found.pull) == 3
    np.testing.assert_array_equal(found.observed, np.bincount(data.astype(int)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((5, 2)), None, np.zeros((5, 3)), None), "2 variables of the data but 3 of the model"),
        ((np.zeros(5), np.ones(4), np.zeros(5), None), r"weights of the data have shape \(4,\) for 5 events"),
        ((np.zeros(0), None, np.zeros(5), None), "fix: give"),
        ((np.array([0, np.nan]), None, np.zeros(5), None), "not finite, in event 1"),
        ((np.zeros(5), None, np.zeros(2), np.array([1.0, -1.0])), "1 weight of the model is negative"),
        ((np.zeros(5), None, np.zeros(2), np.zeros(2)), "all weights of the model are 0"),
        ((np.zeros(2), np.array([1.0, np.inf]), np.zeros(2), None), "a weight of the data is not finite, in event 1"),
        ((np.zeros(2), -np.ones(2), np.zeros(2), None), "add up to -2"),
        ((np.arange(60.0), None, np.arange(99.0), None), "1 cell is too few"),
    ],
)
def test_wrong_input_of_chi2(arguments, message):
    with pytest.raises(DataError, match=message) as caught:
        adaptive_chi2(*arguments)
    assert "fix:" in str(caught.value)


def test_more_parameters_than_cells(rng):
    with pytest.raises(DataError, match="16 cells are too few for 15 parameters"):
        adaptive_chi2(rng.random(1000), None, rng.random(1000), None, n_parameters=15)


# mixed samples


def test_moments_of_the_mixed_sample_test_are_those_of_all_permutations(rng):
    points = rng.random((60, 2))
    near = goodness._nearest(points, 4)
    mean, variance = goodness._permutation_moments(near, 20)
    counts = []
    for _ in range(20000):
        first = np.zeros(60, dtype=bool)
        first[rng.permutation(60)[:20]] = True
        counts.append((first[near] == first[:, None]).sum())
    assert np.mean(counts) == pytest.approx(mean, abs=4 * math.sqrt(variance / 20000))
    assert np.var(counts) == pytest.approx(variance, rel=0.06)


def test_exact_moments_of_a_tiny_graph():
    """Four points in two pairs, one neighbour each: all six choices of two points written out."""
    near = goodness._nearest(np.array([[0.0], [0.1], [5.0], [5.1]]), 1)
    np.testing.assert_array_equal(near.ravel(), [1, 0, 3, 2])
    counts = np.array([4, 0, 0, 0, 0, 4])  # {0,1} {0,2} {0,3} {1,2} {1,3} {2,3}
    assert goodness._permutation_moments(near, 2) == pytest.approx((counts.mean(), counts.var()))


def test_mixed_sample_variance_is_near_the_limit_of_many_dimensions(rng):
    """σ² → (1/nk) (ab + 4 a²b²) with a, b the shares of the samples."""
    x, y = rng.normal(size=(2000, 6)), rng.normal(size=(2000, 6))
    found = mixed_sample_test(x, y)
    n, a = found.n_data + found.n_model, found.n_data / (found.n_data + found.n_model)
    assert found.mean == pytest.approx(a * a + (1 - a) ** 2, rel=1e-3)
    limit = (a * (1 - a) + 4 * a**2 * (1 - a) ** 2) / (n * found.neighbours)
    assert found.error**2 == pytest.approx(limit, rel=0.25)


def test_points_at_one_place_are_neighbours_of_each_other():
    near = goodness._nearest(np.zeros((6, 1)), 2)
    assert near.shape == (6, 2)
    assert (near != np.arange(6)[:, None]).all()


def test_mixed_sample_is_uniform():
    rng = np.random.default_rng(7)
    p_values = []
    for k in range(150):
        model = rng.random((3000, 2))
        p_values.append(mixed_sample_test(toy(rng, 200), model, intensity(model), seed=k).p_value)
    assert is_uniform(p_values)


def test_mixed_sample_sees_a_missing_peak(rng):
    data, model = toy(rng, 4000), rng.random((20000, 2))
    right, wrong = (mixed_sample_test(data, model, weights(model)) for weights in (intensity, without_peak))
    assert right.p_value > 0.01
    assert wrong.p_value < 1e-6
    assert "pull" in str(wrong)


# point to point


def test_energy_by_hand(rng):
    x, y = rng.normal(size=(60, 2)), rng.normal(size=(80, 2))
    found = point_to_point(x, y, permutations=10, max_events=100)
    assert (found.n_data, found.n_model) == (60, 60)
    x, y = x, y[np.sort(_kept(80, 60))]
    points = np.concatenate([x, y])
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    energy = 0.0
    for i in range(120):
        for j in range(i):
            sign = 1 if (i < 60) == (j < 60) else -1
            energy -= sign * 0.5 * math.log(((points[i] - points[j]) ** 2).sum() + 1e-6) / 3600
    assert found.statistic == pytest.approx(energy, rel=1e-9)


def _kept(n, most):
    """Which model events a test with seed 0 keeps."""
    return unweighted(np.ones(n), most, np.random.default_rng([0, 0]))


def test_energies_do_not_depend_on_blocks(rng):
    points, charges = rng.normal(size=(50, 3)), rng.normal(size=(50, 4))
    whole = goodness._energies(points, charges)
    np.testing.assert_allclose(goodness._energies(points, charges, block=7 * 50), whole, rtol=1e-12)


def test_point_to_point_is_uniform():
    rng = np.random.default_rng(8)
    p_values = []
    for k in range(120):
        model = rng.random((2000, 2))
        p_values.append(point_to_point(toy(rng, 150), model, intensity(model), permutations=99, seed=k).p_value)
    assert is_uniform(p_values)


def test_point_to_point_sees_a_missing_peak(rng):
    data, model = toy(rng, 3000), rng.random((20000, 2))
    right, wrong = (point_to_point(data, model, weights(model), permutations=199) for weights in (intensity, without_peak))
    assert right.p_value > 0.01
    assert wrong.p_value == 1 / 200
    assert "p < 0.005" in str(wrong)
    assert wrong == point_to_point(data, model, without_peak(model), permutations=199)  # the same seed, the same result


def test_large_samples_are_cut_down(rng):
    found = point_to_point(rng.random(5000), rng.random(6000), permutations=5, max_events=300)
    assert (found.n_data, found.n_model) == (300, 300)


# unweighting


def test_unweighted_events_follow_the_weights(rng):
    weights = np.repeat([1.0, 2.0, 0.0, 4.0], 20000)
    chosen = unweighted(weights, 10**6, rng)
    assert len(np.unique(chosen)) == len(chosen)
    counts = np.bincount(chosen // 20000, minlength=4)
    assert counts[2] == 0
    assert counts[3] == 20000
    np.testing.assert_allclose(counts[:2] / 20000, [0.25, 0.5], atol=0.02)
    fewer = unweighted(weights, 1000, rng)
    assert len(np.unique(fewer)) == 1000


@pytest.mark.parametrize("test", [mixed_sample_test, point_to_point])
def test_wrong_input_of_tests_without_bins(test, rng):
    x = rng.random((100, 2))
    with pytest.raises(DataError, match="30 events of the data\n fix: at least 50"):
        test(x[:30], x)
    steep = np.zeros(100)
    steep[:5] = 1
    with pytest.raises(DataError, match="5 events of the model are left when they are chosen in proportion to their weights") as caught:
        test(x, x, steep)
    assert "generate more phase space" in str(caught.value)
    with pytest.raises(DataError, match="variable 2 has one value"):
        test(x * [1, 0], x * [1, 0])
    with pytest.raises(DataError, match="negative"):
        test(x, x, steep - 0.5)


def test_options_are_checked(rng):
    x = rng.random((100, 2))
    with pytest.raises(DataError, match="0 neighbours of 200 events"):
        mixed_sample_test(x, x[::-1], neighbours=0)
    with pytest.raises(DataError, match="permutations = 0"):
        point_to_point(x, x, permutations=0)
    with pytest.raises(DataError, match="per_bin = 0"):
        adaptive_chi2(x, None, x, None, per_bin=0)
