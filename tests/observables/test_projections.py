"""Projections: every number against histograms that are filled one by one, and χ² against toys."""

from functools import cache

import numpy as np
import pytest
import torch
from scipy import stats

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.data.events import Events
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.model.spin_parity import spin_parity
from ctpwa.observables import projections as module
from ctpwa.observables.histograms import Chi2, Grid
from ctpwa.observables.projections import dalitz_pair, project, resonance_groups
from ctpwa.observe.variable import ProjectionSpec, default_projections, parse_variable
from fitting import cases

FOUR_PIONS = {
    "decay": "J/psi(1S) -> pi+ pi- pi+ pi-",
    "polarisation": "transverse",
    "resonances": {
        "a(1)(1260)": {"in": ["pi+ pi- pi+", "pi- pi+ pi-"], "JP": "1+", "mass": 1.230, "width": 0.420},
        "a(2)(1320)": {"in": ["pi+ pi- pi+", "pi- pi+ pi-"]},
        "rho(770)": {"in": "pi+ pi-"},
    },
}


@cache
def kk_eta():
    return cases.model("fixed")


@cache
def four_pions():
    return ctpwa.load_model(FOUR_PIONS)


def couplings(model):
    """Numbers that make all waves comparable."""
    rng = np.random.default_rng(3)
    flat = ctpwa.generate_phase_space(model, 300, seed=9)
    own = ModelIntensity(model, engine="reference")
    size = {name: float(own(flat, own.waves_of(name)).mean()) for name in own.couplings}
    return {name: np.exp(1j * rng.uniform(0, 6)) / np.sqrt(I) for name, I in size.items()}


@cache
def intensity(which, engine="reference"):
    model = {"kk eta": kk_eta, "four pions": four_pions}[which]()
    values = couplings(model) if which == "four pions" else None
    return ModelIntensity(model, couplings=values, engine=engine, device="cpu")


def with_weights(events, seed=0):
    """Weights of both signs, positive in sum."""
    return Events(events.momenta, torch.as_tensor(np.random.default_rng(seed).normal(0.7, 1.0, events.n_events)))


@cache
def samples(which, n=1500):
    model = intensity(which).model
    return tuple(ctpwa.generate_phase_space(model, size, seed=seed) for size, seed in ((300, 1), (n, 2), (120, 3)))


def axes_of(which, **options):
    return [ProjectionSpec(p.variable, **({"bins": 12} | options)) for p in default_projections(intensity(which).model.decay)]


@cache
def projected(which):
    """Weights of either sign everywhere, and background."""
    data, flat, background = samples(which)
    data = Events(data.momenta, torch.linspace(-0.2, 2.5, data.n_events, dtype=torch.float64))
    background = with_weights(background, 4)
    background = Events(background.momenta, 0.5 * background.weights)
    flat = with_weights(flat, 5)
    found = project(intensity(which), data, flat, background, axes=axes_of(which), progress=False)
    return found, data, flat, background


# the numbers


@pytest.mark.parametrize("which", ["kk eta", "four pions"])
def test_contributions_and_interference_add_up_to_the_intensity_of_all_waves(which):
    found = projected(which)[0]
    for p in found.projections:
        every = sum(p.component(name) for name in p.groups)
        pairs = sum(p.interference(a, b) for i, a in enumerate(p.groups) for b in p.groups[i + 1 :])
        np.testing.assert_allclose(every + pairs, p.total, rtol=1e-10, atol=1e-10 * np.abs(p.total).max())
        np.testing.assert_allclose(every + p.all_interference, p.total, rtol=1e-13)
        np.testing.assert_allclose(p.coherent(p.groups), p.total, rtol=1e-10, atol=1e-10 * np.abs(p.total).max())
        assert np.abs(pairs).max() > 1e-3 * np.abs(p.total).max()  # there is something to add up


@pytest.mark.parametrize("which", ["kk eta", "four pions"])
def test_all_numbers_are_those_of_histograms_filled_one_by_one(which):
    found, data, flat, background = projected(which)
    I, model = intensity(which), intensity(which).model
    w = flat.weights.numpy()
    scale = (data.weights.sum() - background.weights.sum()).item() / (w * I(flat).numpy()).sum()
    np.testing.assert_allclose(found.weights, scale * w * I(flat).numpy(), rtol=1e-12)
    assert found.weights.sum() == pytest.approx((data.weights.sum() - background.weights.sum()).item(), rel=1e-12)
    jp = {name: [wave.name for wave in model.waves if spin_parity(wave) == name] for name in {spin_parity(w) for w in model.waves}}
    waves = {wave.name: [wave.name] for wave in model.waves}
    groups = {name: [model.waves[i].name for i in members] for name, members in resonance_groups(model).items()}
    assert found.groups == {name: tuple(names) for name, names in groups.items()}
    alone = {name: scale * w * own.numpy() for name, own in I.components(flat, waves | jp | groups).items()}
    for p in found.projections:
        x = p.variable(flat)
        for name, weights in alone.items():
            slow, _ = np.histogram(x, bins=p.fine_edges, weights=weights)
            np.testing.assert_allclose(p.component(name), slow, rtol=1e-11, atol=1e-11 * np.abs(slow).max(), err_msg=name)
        total, _ = np.histogram(x, bins=p.fine_edges, weights=found.weights)
        np.testing.assert_allclose(p.total, total, rtol=1e-11, atol=1e-11 * np.abs(total).max())
        np.testing.assert_allclose(p.variance, np.histogram(x, bins=p.fine_edges, weights=found.weights**2)[0], rtol=1e-11)
        for events, sums, squares in ((data, p.data, p.data_variance), (background, p.background, p.background_variance)):
            weights = events.weights.numpy()
            np.testing.assert_allclose(sums, np.histogram(p.variable(events), bins=p.edges, weights=weights)[0], atol=1e-12)
            np.testing.assert_allclose(squares, np.histogram(p.variable(events), bins=p.edges, weights=weights**2)[0], rtol=1e-12)
        np.testing.assert_allclose(p.expected, p.rebinned(p.total) + p.background)
        assert p.outside == pytest.approx((0, 0), abs=1e-9)


def test_two_groups_together():
    found, data, flat, background = projected("kk eta")
    I = intensity("kk eta")
    first, second, *_ = found.groups
    members = [*found.groups[first], *found.groups[second]]
    scale = (data.weights.sum() - background.weights.sum()) / (flat.weights * I(flat)).sum()
    for p in found.projections:
        slow, _ = np.histogram(p.variable(flat), bins=p.fine_edges, weights=(scale * flat.weights * I(flat, members)).numpy())
        np.testing.assert_allclose(p.coherent([second, first]), slow, rtol=1e-11, atol=1e-11 * np.abs(slow).max())


def test_groups_of_four_pions_are_chains_of_resonances():
    assert list(resonance_groups(four_pions())) == ["a(1)(1260) rho(770)", "a(2)(1320) rho(770)"]


def test_own_groups():
    data, flat, _ = samples("kk eta")
    n = len(kk_eta().waves)
    (p,) = project(intensity("kk eta"), data, flat, axes=axes_of("kk eta")[:1], groups={"all": range(n)}).projections
    np.testing.assert_allclose(p.component("all"), p.total, rtol=1e-12)
    for groups in ({"some": [0]}, {"a": range(n), "twice": [0]}):
        with pytest.raises(DataError, match="some wave is in no group, or in several\n fix: "):
            project(intensity("kk eta"), data, flat, groups=groups)


def test_engines_agree():
    data, _, background = samples("kk eta")
    flat = ctpwa.generate_phase_space(kk_eta(), 5000, seed=4)  # more than the CPU engine takes at a time
    tiny = ModelIntensity(cases.model("tiny"), engine="cpu", device="cpu"), ModelIntensity(cases.model("tiny"), engine="reference")
    cpu, reference = (project(I, data, flat, background, axes=axes_of("kk eta"), grids=[dalitz_pair(kk_eta().decay, 300)]) for I in tiny)
    for a, b in zip((*cpu.projections, *cpu.grids), (*reference.projections, *reference.grids), strict=True):
        for name in ("matrix", "total", "variance") if hasattr(a, "matrix") else ("expected", "variance"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10, atol=1e-10 * np.abs(getattr(b, name)).max())


def test_slices_of_any_size_give_the_same():
    data, flat, _ = samples("kk eta")
    options = {"axes": axes_of("kk eta")[:2], "grids": [dalitz_pair(kk_eta().decay, 300)]}
    whole = project(intensity("kk eta"), data, flat, **options)
    parts = project(intensity("kk eta"), data, flat, **options, at_once=97)
    np.testing.assert_allclose(parts.projections[1].matrix, whole.projections[1].matrix, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(parts.grids[0].expected, whole.grids[0].expected, rtol=1e-12, atol=1e-12)


# bins


def test_events_outside_a_range_are_counted():
    data, flat, background = samples("kk eta")
    variable = parse_variable("mass(K+, K-)", kk_eta().decay)
    (p,) = project(intensity("kk eta"), data, flat, background, axes=[ProjectionSpec(variable, 10, (1.5, 2.0))]).projections
    np.testing.assert_array_equal(p.edges, np.linspace(1.5, 2.0, 11))
    x = variable(data)
    assert p.data.sum() == ((x >= 1.5) & (x <= 2.0)).sum()
    assert p.outside[0] == ((x < 1.5) | (x > 2.0)).sum() > 0
    I, m, m_background = intensity("kk eta")(flat).numpy(), variable(flat), variable(background)
    beyond = 180 * I[(m < 1.5) | (m > 2.0)].sum() / I.sum() + ((m_background < 1.5) | (m_background > 2.0)).sum()
    assert p.outside[1] == pytest.approx(beyond, rel=1e-12)
    assert p.expected.sum() + p.outside[1] == pytest.approx(300, rel=1e-12)


def test_a_value_on_an_edge_belongs_to_the_bin_above_and_on_the_last_edge_to_the_last():
    decay = kk_eta().decay
    edges = np.linspace(0.1, 0.7, 7)
    rng = np.random.default_rng(1)
    values = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1), rng.uniform(0, 1, 1000), [np.nan]])
    found = module._bin(values, edges)
    counts = np.bincount(found, minlength=7)
    np.testing.assert_array_equal(counts[:6], np.histogram(values[:-1], bins=edges)[0])
    assert counts[6] == (~((values >= edges[0]) & (values <= edges[-1]))).sum()
    # and in a whole projection, whose range ends at the largest measured mass
    data, flat, _ = samples("kk eta")
    variable = parse_variable("mass(K+, K-)", decay)
    x = variable(data)
    (p,) = project(intensity("kk eta"), data, flat, axes=[ProjectionSpec(variable, 7, (x.min(), x.max()))]).projections
    assert p.data.sum() == 300
    assert p.outside[0] == 0


def test_bins_of_the_data_and_of_the_model_have_common_edges():
    for low, high in ((0.1, 2.7), (0.987, 2.549), (1 / 3, 7 / 3)):
        for bins in (7, 60):
            axis = ProjectionSpec(parse_variable("mass(K+, K-)", kk_eta().decay), bins, (low, high), fine_events=1)
            data, flat, _ = samples("kk eta")
            (p,) = project(intensity("kk eta"), data, flat, axes=[axis]).projections
            assert p.fine == 5
            assert set(p.edges) <= set(p.fine_edges)
            assert len(p.total) == bins * p.fine


def test_a_bin_with_no_events():
    data, flat, _ = samples("kk eta")
    variable = parse_variable("mass(K+, K-)", kk_eta().decay)
    (p,) = project(intensity("kk eta"), data, flat, axes=[ProjectionSpec(variable, 20, (0.5, 2.5))]).projections
    empty = p.edges[1:] < 0.98
    assert empty.sum() == 4
    assert (p.data[empty] == 0).all()
    assert (p.expected[empty] == 0).all()
    assert np.isnan(p.pulls[empty]).all()
    assert np.isfinite(p.pulls[~empty]).all()
    assert np.isfinite(p.chi2.value)


def test_an_event_where_nothing_is_expected_has_a_pull():
    """The phase-space sample may have no event in a bin with one measured event."""
    data, flat, _ = samples("kk eta")
    variable = parse_variable("mass(K+, K-)", kk_eta().decay)
    low = flat_part(flat, variable(flat) < 2.0)
    (p,) = project(intensity("kk eta"), data, low, axes=[ProjectionSpec(variable, 20)]).projections
    lonely = (p.data > 0) & (p.expected == 0)
    assert lonely.any()
    np.testing.assert_allclose(p.pulls[lonely], np.sqrt(p.data[lonely]))


@pytest.mark.parametrize("weight", [1.0, 0.02])
def test_cells_with_less_than_one_expected_event_have_no_pull(weight):
    """As many events, whatever their weights are."""
    variable = parse_variable("mass2(K+, K-)", kk_eta().decay)
    data, expected = np.array([[0.0, 5.0, 2.0, 0.0]]), np.array([[0.0, 0.99, 1.01, 1.01]])
    edges = np.array([0.0, 1.0]), np.arange(5.0)
    grid = Grid((variable, variable), edges, weight * data, weight**2 * data, weight * expected, 0 * data, weight == 1)
    assert np.isnan(grid.pulls).tolist() == [[True, True, False, False]]
    assert grid.pulls[0, 2] == pytest.approx(0.99 / np.sqrt(1.01 if weight == 1 else 2.0))
    assert grid.empty.tolist() == [[True, False, False, False]]


def flat_part(events, chosen):
    return cases.part(events, np.flatnonzero(chosen))


@pytest.mark.parametrize(
    ("axis", "message"), [({"bins": 0}, "mass.*: 0 bins\n fix: give at least 1"), ({"range": (2.0, 2.0)}, "nothing between 2 and 2\n fix")]
)
def test_bins_that_cannot_be(axis, message):
    data, flat, _ = samples("kk eta")
    variable = parse_variable("mass(K+, K-)", kk_eta().decay)
    with pytest.raises(DataError, match=message):
        project(intensity("kk eta"), data, flat, axes=[ProjectionSpec(variable, **axis)])
    with pytest.raises(DataError, match=message):
        project(intensity("kk eta"), data, flat, grids=[(ProjectionSpec(variable), ProjectionSpec(variable, **axis))])


def test_more_background_than_data_is_refused():
    data, flat, background = samples("kk eta")
    with pytest.raises(DataError, match="weights of the data minus the background add up to -180\n fix"):
        project(intensity("kk eta"), background, flat, data)


def test_names_that_are_not_there():
    (p, *_) = projected("kk eta")[0].projections
    with pytest.raises(DataError, match="did you mean 'phi\\(1680\\)'"):
        p.component("phi(1860)")
    with pytest.raises(DataError, match="no group is called 'f0'"):
        p.interference("phi(1680)", "f0")


def test_grid():
    found, data, flat, background = projected("kk eta")
    pair = dalitz_pair(kk_eta().decay, 1440)
    assert [axis.variable.name for axis in pair] == ["mass2(K+, eta)", "mass2(K-, eta)"]
    assert pair[0].bins == 12
    (grid,) = project(intensity("kk eta"), data, flat, background, grids=[pair]).grids
    x, y, w = (*(axis.variable(flat) for axis in pair), found.weights)
    both = [(axis.variable(data), axis.variable(background)) for axis in pair]
    histogram = [np.histogram2d(both[0][k], both[1][k], bins=grid.edges, weights=e.weights)[0] for k, e in enumerate((data, background))]
    np.testing.assert_allclose(grid.data, histogram[0], atol=1e-12)
    expected = np.histogram2d(x, y, bins=grid.edges, weights=w)[0] + histogram[1]
    np.testing.assert_allclose(grid.expected, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    assert dalitz_pair(four_pions().decay, 1000) is None


# χ²


def test_chi2_by_hand():
    """Bins are put together until ten are expected; the rest joins the last."""
    data, flat, _ = samples("kk eta")
    (p,) = project(intensity("kk eta"), data, flat, axes=axes_of("kk eta", bins=40)[:1]).projections
    value, ndf, n, mu, v = 0.0, -1, 0.0, 0.0, 0.0
    terms = []
    for k in range(40):
        n, mu, v = n + p.data[k], mu + p.expected[k], v + p.rebinned(p.variance)[k]
        if mu >= 10:
            terms.append([n, mu, v])
            n = mu = v = 0.0
    terms[-1] = [a + b for a, b in zip(terms[-1], (n, mu, v), strict=True)]
    for n, mu, v in terms:
        value, ndf = value + (n - mu) ** 2 / (mu + v), ndf + 1
    assert p.chi2.value == pytest.approx(value, rel=1e-12)
    assert p.chi2.ndf == ndf
    assert p.chi2.p_value == pytest.approx(stats.chi2.sf(value, ndf), rel=1e-10)
    assert str(Chi2(12.34, 5)) == "12.3/5"
    assert np.isnan(Chi2(0.0, 0).p_value)


def test_weights_of_one_size_do_not_change_chi2():
    """Events that count 0.25 each, or 400: only errors know of it."""
    data, flat, _ = samples("kk eta")
    (p,) = project(intensity("kk eta"), data, flat, axes=axes_of("kk eta", bins=6)[:1]).projections
    for weight in (0.25, 400.0):
        scaled = Events(data.momenta, torch.full((300,), weight, dtype=torch.float64))
        (q,) = project(intensity("kk eta"), scaled, flat, axes=axes_of("kk eta", bins=6)[:1]).projections
        assert q.typical_weight == pytest.approx(weight)
        assert q.chi2.ndf == p.chi2.ndf
        seen = p.data + p.rebinned(p.variance)
        assert q.pulls == pytest.approx((p.data - p.expected) / np.sqrt(seen), rel=1e-9)


@cache
def toy_pool():
    """Events of the model, and phase space to compare them with."""
    pool, flat = (ctpwa.generate_phase_space(kk_eta(), n, seed=seed) for n, seed in ((200_000, 11), (20_000, 12)))
    I = intensity("kk eta")(pool).numpy()
    return cases.part(pool, np.flatnonzero(np.random.default_rng(5).random(len(I)) * I.max() < I)), flat


class Remembered:
    """An intensity that is computed once for all toys."""

    def __init__(self, own, flat):
        self.model = own.model
        self._sums = list(own.sums(flat, {wave.name: [wave.name] for wave in own.model.waves}))

    def sums(self, *_, **__):
        return self._sums


@cache
def remembered():
    return Remembered(intensity("kk eta"), toy_pool()[1])


def toys(n, size=300):
    """Toys with no event in common."""
    for k in range(n):
        yield cases.part(toy_pool()[0], np.arange(k * size, (k + 1) * size))


AXES = ("mass(K+, K-)", "mass(K+, eta)", "cos_theta(K+; K+ K-)")


def toy_axes(**options):
    return [ProjectionSpec(parse_variable(text, kk_eta().decay), 15, **options) for text in AXES]


@pytest.mark.parametrize("limits", [None, (1.1, 1.8)])
def test_chi2_of_toys_of_the_model_is_distributed_as_it_should(limits):
    """Also in a part of the range, where the number of events is free."""
    _, flat = toy_pool()
    axes = toy_axes() if limits is None else toy_axes()[:2]
    if limits is not None:
        axes = [ProjectionSpec(axis.variable, 8, limits) for axis in axes]
    found = [project(remembered(), toy, flat, axes=axes).projections for toy in toys(40)]
    for k in range(len(axes)):
        p_values = [projections[k].chi2.p_value for projections in found]
        assert stats.kstest(p_values, "uniform").pvalue > 0.01, axes[k].variable.name
        pulls = np.concatenate([projections[k].pulls[projections[k].expected > 5] for projections in found])
        assert pulls.std() == pytest.approx(1, abs=0.12)
        assert pulls.mean() == pytest.approx(0, abs=0.12)


def test_chi2_of_weighted_toys():
    """Weights that have nothing to do with the variable."""
    _, flat = toy_pool()
    rng = np.random.default_rng(8)
    p_values = []
    for toy in toys(40):
        weighted = Events(toy.momenta, torch.as_tensor(rng.uniform(0.2, 1.8, toy.n_events)))
        p_values.append(project(remembered(), weighted, flat, axes=toy_axes()[:1]).projections[0].chi2.p_value)
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


def test_a_missing_resonance_is_seen():
    _, flat = toy_pool()
    wrong = ModelIntensity(kk_eta(), couplings={cases.PHI: 0.0}, engine="reference")
    (toy,) = toys(1, 3000)
    right_ones, wrong_ones = (project(I, toy, flat, axes=toy_axes()).projections for I in (remembered(), wrong))
    for right, other in zip(right_ones, wrong_ones, strict=True):
        assert right.chi2.p_value > 0.01
        assert other.chi2.p_value < 1e-8
        assert other.chi2.value > 3 * right.chi2.value
