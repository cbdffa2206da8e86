"""The kinematic boundary, and figures that show what they are given."""

import numpy as np
import pytest

from ctpwa import generate_phase_space
from ctpwa.report.dalitz import DalitzAxes, DalitzSample, dalitz_boundary, draw_dalitz
from ctpwa.report.style import save_figure

MASSES = (0.493677, 0.139570, 0.547862)
PARENT = 3.0969


def pair_masses(n):
    events = generate_phase_space([PARENT, *MASSES], n, seed=1)
    p = [events[name].numpy() for name in ("p1", "p2", "p3")]
    return tuple((q := p[i] + p[j])[:, 0] ** 2 - (q[:, 1:] ** 2).sum(axis=1) for i, j in ((0, 1), (0, 2), (1, 2)))


def test_boundary_touches_the_extreme_masses():
    s13, s23 = dalitz_boundary(PARENT, MASSES, n=4001)
    m1, m2, m3 = MASSES
    assert s13.min() == pytest.approx((m1 + m3) ** 2, rel=1e-6)
    assert s13.max() == pytest.approx((PARENT - m2) ** 2, rel=1e-6)
    assert s23.min() == pytest.approx((m2 + m3) ** 2, rel=1e-6)
    assert s23.max() == pytest.approx((PARENT - m1) ** 2, rel=1e-6)


def test_all_events_are_inside_the_boundary_and_fill_it():
    from matplotlib.path import Path

    _, s13, s23 = pair_masses(20_000)
    curve = np.column_stack(dalitz_boundary(PARENT, MASSES, n=4001))
    assert Path(curve).contains_points(np.column_stack([s13, s23]), radius=1e-3).all()
    area = 0.5 * abs(np.sum(curve[:-1, 0] * curve[1:, 1] - curve[1:, 0] * curve[:-1, 1]))
    inside = np.histogram2d(s13, s23, bins=20)[0] > 0
    cell = np.ptp(s13) * np.ptp(s23) / 400
    assert inside.sum() * cell == pytest.approx(area, rel=0.2)


def panels(weights):
    _, s13, s23 = pair_masses(2_000)
    axes = DalitzAxes(PARENT, MASSES, ("K^+", r"\pi^-", r"\eta"))
    return draw_dalitz(axes, {"data": DalitzSample(s13, s23), "fit": DalitzSample(s13, s23, weights)}, "title")


def test_figure(tmp_path):
    figure = panels(np.ones(2_000))
    files = save_figure(figure, tmp_path / "new" / "dalitz")
    assert [file.name for file in files] == ["dalitz.png", "dalitz.pdf"]
    assert all(file.stat().st_size > 10_000 for file in files)
    assert {axes.get_xlabel() for axes in figure.axes[:2]} == {r"$M^2(K^+\eta)$  [GeV$^2$]"}
    assert {axes.get_ylabel() for axes in figure.axes[:2]} == {r"$M^2(\pi^-\eta)$  [GeV$^2$]"}
    texts = [text.get_text() for axes in figure.axes[:2] for text in axes.texts]
    assert {"data", "fit", "title"} <= set(texts)


def test_every_panel_has_as_many_events_as_the_first():
    weights = np.random.default_rng(1).random(2_000)
    data, fit = (axes.collections[0].get_array().sum() for axes in panels(weights).axes[:2])
    assert data == pytest.approx(2_000)
    assert fit == pytest.approx(2_000)
