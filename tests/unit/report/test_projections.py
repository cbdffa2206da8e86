"""Figures of projections show the numbers they are given."""

import numpy as np
import pytest

from ctpwa.base.errors import DataError
from ctpwa.report.figures.projections import draw_projections
from ctpwa.report.palette import strongest
from unit.report.made_up import NAMES, model, projection


def axes_of(*projections, **options):
    (figure,) = draw_projections(projections, model(), **options)
    return figure.axes


def stairs(axes):
    return {patch.get_label(): patch.get_data() for patch in axes.patches if hasattr(patch, "get_data")}


def points(axes):
    return axes.containers[0].lines[0].get_data()


def test_curves_are_events_in_a_bin_of_the_data():
    p = projection(fine=4, background=7.0)
    upper, _ = axes_of(p)
    curves = stairs(upper)
    for patch in curves.values():
        np.testing.assert_allclose(patch.edges, np.linspace(1.0, 2.5, 41))
    fit = curves["fit"].values
    np.testing.assert_allclose(fit.reshape(10, 4).mean(axis=1), p.expected)
    np.testing.assert_allclose(curves["background"].values, 7.0)
    np.testing.assert_allclose(curves[r"$\phi(1680)$"].values, 4 * p.matrix[:, 0, 0])
    assert set(curves) == {"fit", "background", r"$\phi(1680)$", r"$\phi_{3}(1850)$", "$K_{2}^{*}(1430)$"}


def test_points_have_the_errors_of_weights_and_empty_bins_have_none():
    p = projection()
    data, variance = p.data.copy(), 4 * p.data
    data[3] = variance[3] = 0
    upper, _ = axes_of(projection(data=data, data_variance=variance, poisson=False))
    x, y = points(upper)
    seen = data > 0
    np.testing.assert_allclose(x, ((p.edges[1:] + p.edges[:-1]) / 2)[seen])
    np.testing.assert_array_equal(y, data[seen])
    bars = [segment[1, 1] - segment[0, 1] for segment in upper.containers[0].lines[2][0].get_segments()]
    np.testing.assert_allclose(bars, 2 * np.sqrt(variance[seen]))


def test_pulls_and_chi2():
    p = projection(background=7.0)
    upper, lower = axes_of(p)
    bars = lower.containers[0].patches
    np.testing.assert_allclose([bar.get_height() for bar in bars], p.pulls)
    np.testing.assert_allclose([bar.get_x() for bar in bars], p.edges[:-1])
    assert upper.get_title(loc="right") == rf"$\chi^2/\mathrm{{ndf}} = {p.chi2.value:.1f}/{p.chi2.ndf}$"
    guides = {line.get_ydata()[0] for line in lower.lines}
    assert guides == {-2, 0, 2}
    assert lower.get_ylim()[1] == -lower.get_ylim()[0] >= np.abs(p.pulls).max()


def test_a_large_pull_is_not_cut():
    p = projection()
    data = p.data.copy()
    data[2] *= 9
    _, lower = axes_of(projection(data=data))
    assert lower.get_ylim()[1] > np.abs(projection(data=data).pulls).max() > 10


def test_bins_where_nothing_is_expected_and_nothing_measured():
    p = projection()
    empty = np.arange(10) < 2
    fine = np.repeat(empty, 2)
    cut = {"total": p.total, "variance": p.variance, "matrix": p.matrix}
    cut = {name: np.where(fine.reshape(-1, *[1] * (numbers.ndim - 1)), 0, numbers) for name, numbers in cut.items()}
    _, lower = axes_of(projection(data=np.where(empty, 0, p.data), data_variance=np.where(empty, 0, p.data), **cut))
    assert len(lower.containers[0].patches) == 8


def test_interference_is_drawn_on_request_and_may_be_negative():
    p = projection()
    matrix = p.matrix.copy()
    matrix[:, 0, 0] += 400  # more than the whole
    q = projection(matrix=matrix)
    upper, _ = axes_of(q, interference=True)
    values = stairs(upper)["interference"].values
    np.testing.assert_allclose(values, 2 * (q.total - np.einsum("bgg->b", matrix)))
    assert upper.get_ylim()[0] < values.min() < 0
    assert "interference" not in stairs(axes_of(q)[0])


def test_chosen_components():
    upper, _ = axes_of(projection(), components=["1⁻", NAMES[2]])
    assert set(stairs(upper)) == {"fit", "$1^{-}$", "$K_{2}^{*}(1430)$"}
    with pytest.raises(DataError, match="nothing that is drawn is called 'f0'"):
        axes_of(projection(), components=["f0"])


def test_the_strongest_are_drawn_first():
    p = projection()
    strength = np.einsum("bgg->g", p.matrix)
    assert strongest([p], 2) == tuple(NAMES[k] for k in np.argsort(-strength)[:2])
    assert strongest([]) == ()


def test_labels_and_legend():
    (figure,) = draw_projections(
        [projection(bins=15), projection("cos_theta(K+; K+ K-)", edges=np.linspace(-1, 1, 11))], model(), title="title"
    )
    mass, mass_pulls, cosine, cosine_pulls = figure.axes
    assert mass_pulls.get_xlabel() == "$M(K^{+}K^{-})$  [GeV]"
    assert mass.get_ylabel() == "Events / 100 MeV"
    assert cosine.get_ylabel() == "Events / 0.2"
    assert "theta" in cosine_pulls.get_xlabel()
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["data", "fit"]
    assert figure.get_suptitle() == "title"


@pytest.mark.parametrize(("n", "pages"), [(0, []), (1, [1]), (4, [4]), (9, [9]), (11, [9, 2])])
def test_pages(n, pages):
    figures = draw_projections([projection()] * n, model())
    assert [len(figure.axes) // 2 for figure in figures] == pages
    assert all(len(figure.legends) == 1 for figure in figures)
