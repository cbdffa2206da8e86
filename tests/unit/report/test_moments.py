"""Figures of angular moments show what they were given."""

import numpy as np
import pytest

from ctpwa.observables.moments import MomentSample, angular_moments
from ctpwa.report.figures.moments import draw_moments
from ctpwa.report.figures.style import save_figure


@pytest.fixture
def moments(rng):
    data, model = (MomentSample(rng.uniform(1, 2, n), rng.uniform(-1, 1, n)) for n in (500, 3000))
    return angular_moments(data, model, np.linspace(1, 2, 11))


def test_points_and_line_are_the_moments(moments, tmp_path):
    figure = draw_moments(moments, "$M(K^{+}K^{-})$", title="toy")
    *panels, legend = figure.axes
    assert len(panels) == 5
    assert [text.get_text() for text in legend.get_legend().get_texts()] == ["data", "fit"]
    for k, axes in enumerate(panels):
        (points, *_) = [line for line in axes.lines if line.get_marker() == "."]
        np.testing.assert_allclose(points.get_ydata(), moments.data[k])
        (stairs,) = [patch for patch in axes.patches if hasattr(patch, "get_data")]
        np.testing.assert_allclose(stairs.get_data().values, moments.model[k])
        low, high = axes.get_ylim()
        assert low < (moments.data[k] - moments.data_error[k]).min()
        assert high > (moments.data[k] + moments.data_error[k]).max()
        words = [text.get_text() for text in axes.texts]
        assert words[0] == rf"$N\,\langle Y_{{{k}0}}\rangle$"
        assert f"{moments.chi2[k]:.1f}/{moments.ndf[k]}" in words[1]
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("$M(K^{+}K^{-})$  [GeV]", "Sum / 100 MeV")
    assert all(file.stat().st_size > 5000 for file in save_figure(figure, tmp_path / "moments"))


def test_uneven_bins_and_one_panel(rng):
    sample = MomentSample(rng.uniform(1, 2, 100), rng.uniform(-1, 1, 100))
    figure = draw_moments(angular_moments(sample, sample, [1, 1.2, 2], max_L=0), "$x$", "")
    assert len(figure.axes) == 1
    assert (figure.get_supylabel(), figure.get_supxlabel()) == ("Sum / bin", "$x$")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["data", "fit"]
