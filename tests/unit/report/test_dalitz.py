"""The kinematic boundary, and figures that show what they are given."""

import numpy as np
import pytest

from ctpwa import generate_phase_space
from ctpwa.report.dalitz import DalitzSample, dalitz_boundary, draw_dalitz, save_figure

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


def test_figure(tmp_path):
    s = pair_masses(2_000)
    ones = np.ones(2_000)
    sample = DalitzSample(PARENT, MASSES, ("K^+", r"\pi^-", r"\eta"), s, ones, ones > 0, {"$R$": 0.5 * ones})
    figure = draw_dalitz(sample, "title")
    files = save_figure(figure, tmp_path / "new" / "dalitz")
    assert [file.name for file in files] == ["dalitz.png", "dalitz.pdf"]
    assert all(file.stat().st_size > 10_000 for file in files)
    labels = {axes.get_xlabel() for axes in figure.axes}
    assert {r"$m(K^+\pi^-)$  [GeV]", r"$m^2(K^+\eta)$  [GeV$^2$]"} <= labels
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["toy data", "model", "$R$"]


def test_projections_are_normalised_to_the_toy_data():
    s = pair_masses(2_000)
    rng = np.random.default_rng(1)
    intensity = rng.random(2_000)
    accepted = rng.random(2_000) < intensity
    sample = DalitzSample(PARENT, MASSES, ("a", "b", "c"), s, intensity, accepted, {"half": 0.5 * intensity})
    panel = draw_dalitz(sample, "").axes[1]
    model, half = (patch.get_data().values.sum() for patch in panel.patches)
    assert model == pytest.approx(accepted.sum())
    assert half == pytest.approx(accepted.sum() / 2)
