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


NAMES = ("K^+", r"\pi^-", r"\eta")


def test_figure(tmp_path):
    _, s13, s23 = pair_masses(2_000)
    samples = {"data": DalitzSample(s13[:500], s23[:500]), "fit": DalitzSample(s13, s23, np.full(2_000, 7.0))}
    figure = draw_dalitz(DalitzAxes(PARENT, MASSES, NAMES), samples, "title")
    files = save_figure(figure, tmp_path / "new" / "K.eta")
    assert [file.name for file in files] == ["K.eta.png", "K.eta.pdf"]
    assert all(file.stat().st_size > 10_000 for file in files)
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == ["K.eta.pdf", "K.eta.png"]  # and no temporary files
    data, fit, bar = figure.axes
    assert (data.get_xlabel(), data.get_ylabel()) == (r"$M^2(K^+\eta)$  [GeV$^2$]", r"$M^2(\pi^-\eta)$  [GeV$^2$]")
    assert bar.get_ylabel() == "Events / cell"
    assert [text.get_text() for text in (*data.texts, *fit.texts)] == ["data", "title", "fit"]


def test_all_panels_have_as_many_events_as_the_first_and_one_scale():
    _, s13, s23 = pair_masses(2_000)
    weights = np.random.default_rng(1).random(2_000)
    samples = {"data": DalitzSample(s13[:500], s23[:500]), "fit": DalitzSample(s13, s23, weights)}
    data, fit, _ = draw_dalitz(DalitzAxes(PARENT, MASSES, NAMES), samples).axes
    for panel in (data, fit):
        assert panel.collections[0].get_array().sum() == pytest.approx(500)
    assert data.collections[0].norm is fit.collections[0].norm
    # events are where they belong: the row is m²_23, the column m²_13
    counts = np.asarray(data.collections[0].get_array())
    assert counts.sum(axis=0) @ np.arange(60) == pytest.approx(np.sum((s13[:500] - s13_edges()[0]) // s13_edges()[1]), abs=1)


def s13_edges():
    """Where the cells of m²_13 begin, and how wide they are."""
    curve, _ = dalitz_boundary(PARENT, MASSES)
    return curve.min(), (curve.max() - curve.min()) / 60
