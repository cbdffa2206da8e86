"""The kinematic boundary, and Dalitz plots that show what they are given."""

import numpy as np
import pytest
from matplotlib.path import Path

from ctpwa import generate_phase_space, load_model
from ctpwa.observables.projections import dalitz_order, dalitz_pair
from ctpwa.report.dalitz_plane import dalitz_boundary, decay_boundary, folded
from ctpwa.report.figures.dalitz import draw_dalitz
from unit.report.made_up import grid, model

MASSES = (0.493677, 0.139570, 0.547862)
PARENT = 3.0969


def pair_masses(n, masses=MASSES):
    events = generate_phase_space([PARENT, *masses], n, seed=1)
    p = [events[name].numpy() for name in ("p1", "p2", "p3")]
    return tuple((q := p[i] + p[j])[:, 0] ** 2 - (q[:, 1:] ** 2).sum(axis=1) for i, j in ((0, 1), (0, 2), (1, 2)))


@pytest.mark.parametrize("masses", [MASSES, (0.0, 0.135, 0.135), (0.0, 0.0, 0.5), (0.0, 0.0, 0.0)])
def test_boundary_touches_the_extreme_masses(masses):
    s13, s23 = dalitz_boundary(PARENT, masses, n=4001)
    m1, m2, m3 = masses
    for s, low, high in ((s13, m1 + m3, PARENT - m2), (s23, m2 + m3, PARENT - m1)):
        assert s.min() == pytest.approx(low**2, rel=1e-6, abs=1e-6)
        assert s.max() == pytest.approx(high**2, rel=1e-6)


def test_all_events_are_inside_the_boundary_and_fill_it():
    from matplotlib.path import Path

    _, s13, s23 = pair_masses(20_000)
    curve = np.column_stack(dalitz_boundary(PARENT, MASSES, n=4001))
    assert Path(curve).contains_points(np.column_stack([s13, s23]), radius=1e-3).all()
    area = 0.5 * abs(np.sum(curve[:-1, 0] * curve[1:, 1] - curve[1:, 0] * curve[:-1, 1]))
    inside = np.histogram2d(s13, s23, bins=20)[0] > 0
    cell = np.ptp(s13) * np.ptp(s23) / 400
    assert inside.sum() * cell == pytest.approx(area, rel=0.2)


def test_boundary_of_a_decay(example):
    expected = dalitz_boundary(3.0969, [particle.mass for particle in model().decay.final])
    np.testing.assert_array_equal(decay_boundary(model().decay), expected)
    assert decay_boundary(load_model(example("jpsi_4pi")).decay) is None


def panels(cells, boundary):
    figure = draw_dalitz(cells, boundary, "title")
    return {panel.get_title(): panel for panel in figure.axes[:3]}, figure


@pytest.mark.parametrize("bounded", [True, False])
def test_data_fit_and_pulls(bounded):
    cells = grid()
    found, figure = panels(cells, decay_boundary(model().decay) if bounded else None)
    assert list(found) == ["data", "fit", "pull"]
    for name, numbers in (("data", cells.data), ("fit", cells.expected)):
        drawn = np.ma.filled(found[name].collections[0].get_array(), 0.0).reshape(20, 20)
        np.testing.assert_allclose(drawn, numbers.T)  # the row is m²_23, the column m²_13
    pulls = found["pull"].collections[0].get_array().reshape(20, 20)
    np.testing.assert_array_equal(np.ma.filled(pulls, np.nan), cells.pulls.T)
    np.testing.assert_array_equal(np.ma.getmaskarray(pulls), (cells.expected < 1).T)
    assert len(found["pull"].lines) == bounded
    assert figure.get_suptitle() == "title"


def test_scales():
    found, _ = panels(grid(), None)
    assert found["data"].collections[0].norm is found["fit"].collections[0].norm
    pulls = found["pull"].collections[0]
    assert pulls.norm.vmin == -pulls.norm.vmax
    white = pulls.cmap(pulls.norm(0.0))[:3]
    assert min(white) > 0.94
    red, blue = pulls.cmap(pulls.norm(3.0)), pulls.cmap(pulls.norm(-3.0))
    assert red[0] > red[2]
    assert blue[2] > blue[0]


def test_labels():
    found, figure = panels(grid(), None)
    assert found["data"].get_ylabel() == "$M^{2}(K^{-}\\eta)$  [GeV$^{2}$]"
    assert {panel.get_xlabel() for panel in found.values()} == {"$M^{2}(K^{+}\\eta)$  [GeV$^{2}$]"}
    assert [axes.get_xlabel() for axes in figure.axes[3:]] == ["Events / cell", r"(data $-$ fit) / $\sigma$"]


def test_no_events_at_all():
    cells = grid()
    empty = type(cells)(cells.variables, cells.edges, *(np.zeros((20, 20)) for _ in range(4)), True)
    found, _ = panels(empty, None)
    assert np.ma.getmaskarray(found["data"].collections[0].get_array()).all()


def area(curve):
    x, y = curve
    return abs(float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum())) / 2


@pytest.mark.parametrize(("n_identical", "parts"), [(1, 1), (2, 2), (3, 6)])
def test_a_folded_plot_is_one_of_equal_parts(n_identical, parts):
    masses = (1.0, 0.14, 0.14, 0.14)
    whole = dalitz_boundary(masses[0], masses[1:], n=20001)
    x, y = folded(whole, masses, n_identical)
    assert area((x, y)) == pytest.approx(area(whole) / parts, rel=1e-3)
    assert n_identical == 1 or (x <= y + 1e-12).all()


@pytest.mark.parametrize(
    ("decay", "inside", "n_identical"),
    [("J/psi(1S) -> gamma pi0 pi0", "pi0 pi0", 2), ("eta -> pi0 pi0 pi0", "pi0 pi0", 3), ("D+ -> pi+ pi+ K-", "pi+ K-", 2)],
)
def test_identical_particles_are_folded(decay, inside, n_identical):
    model = load_model({"decay": decay, "resonances": {"flat": {"in": inside, "JP": "0+", "lineshape": "constant"}}})
    pair = dalitz_pair(model.decay, 1000)
    events = generate_phase_space(model, 200, seed=3)
    x, y = (spec.variable(events) for spec in pair)
    assert (x <= y).all()
    assert np.ptp(y - x) > 0.01
    order, found = dalitz_order(model.decay)
    assert found == n_identical
    swapped = dict(events.momenta)
    first, second = (model.decay.labels[i] for i in order[:2])
    swapped[first], swapped[second] = swapped[second], swapped[first]
    np.testing.assert_allclose(np.stack([spec.variable(swapped) for spec in pair]), np.stack([x, y]), rtol=1e-12)
    within = Path(np.column_stack(decay_boundary(model.decay, 4000))).contains_points(np.column_stack([x, y]), radius=1e-6)
    assert within.mean() > 0.97
