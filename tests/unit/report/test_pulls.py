"""Histograms of pulls."""

import numpy as np
import pytest

from ctpwa.report.figures.pulls import draw_pulls
from ctpwa.report.figures.style import save_figure

PULLS = np.random.default_rng(1).normal(size=(50, 4))


def test_all_pulls_are_counted_and_the_curve_has_as_many(tmp_path):
    values = PULLS.copy()
    values[0] = 17, -17, 4.6, -4.6  # beyond the axis
    figure = draw_pulls({"couplings": PULLS, "fractions": values}, "title")
    for axes in figure.axes:
        _, counts = axes.containers[0].lines[0].get_data()
        assert counts.sum() == 200
        x, y = axes.lines[0].get_data()
        assert np.trapezoid(y, x) == pytest.approx(200 * 0.25, rel=1e-3)
    assert "couplings\n200 pulls" in figure.axes[0].texts[0].get_text()
    assert all(file.stat().st_size > 5_000 for file in save_figure(figure, tmp_path / "pulls"))


def test_mean_and_width_are_said():
    (axes,) = draw_pulls({"x": [1.0, 3.0]}).axes
    assert axes.texts[0].get_text() == "x\n2 pulls\nmean $+2.000$\nwidth $1.000$"
