"""Projections show the data they are given, and a fit with as many events."""

import numpy as np
import pytest

from ctpwa.report.projections import FitWeights, Projection, draw_projections

RNG = np.random.default_rng(1)
FIT = RNG.uniform(1.0, 2.0, 5_000)
WEIGHTS = RNG.random(5_000)
DATA = RNG.choice(FIT, 300, p=WEIGHTS / WEIGHTS.sum())


def panel(weights, **options):
    (axes,) = draw_projections([Projection("$M(ab)$", DATA, FIT, **options)], weights).axes
    return axes


def points(axes):
    return axes.containers[0].lines[0].get_data()


def test_the_fit_has_as_many_events_as_the_data_and_a_component_its_share():
    axes = panel(FitWeights(WEIGHTS, {"half": WEIGHTS / 2}))
    half, fit = (patch.get_data().values for patch in axes.patches)
    assert fit.sum() == pytest.approx(300)
    assert half == pytest.approx(fit / 2)
    assert points(axes)[1].sum() == 300


def test_error_bars_are_those_of_counts():
    axes = panel(FitWeights(WEIGHTS), bins=20)
    x, counts = points(axes)
    expected, edges = np.histogram(DATA, bins=np.linspace(FIT.min(), FIT.max(), 21))
    np.testing.assert_array_equal(counts, expected[expected > 0])
    np.testing.assert_allclose(x, ((edges[1:] + edges[:-1]) / 2)[expected > 0])
    bars = np.array([segment[1, 1] - segment[0, 1] for segment in axes.containers[0].lines[2][0].get_segments()])
    np.testing.assert_allclose(bars, 2 * np.sqrt(counts))


def test_weighted_data():
    w = np.full(300, 0.5)
    axes = panel(FitWeights(WEIGHTS, data=w), bins=20)
    (fit,) = (patch.get_data().values for patch in axes.patches)
    assert fit.sum() == pytest.approx(150)
    counts = points(axes)[1]
    assert counts.sum() == pytest.approx(150)
    bars = np.array([segment[1, 1] - segment[0, 1] for segment in axes.containers[0].lines[2][0].get_segments()])
    np.testing.assert_allclose(bars, 2 * np.sqrt(0.5 * counts))


def test_labels_and_legend():
    figure = draw_projections(
        [Projection("$M(ab)$", DATA, FIT, bins=50), Projection(r"$\cos\theta$", DATA, FIT, unit="", bins=50)],
        FitWeights(WEIGHTS, {"$R$": WEIGHTS / 2}),
        "title",
    )
    first, second = figure.axes
    assert first.get_xlabel() == "$M(ab)$  [GeV]"
    assert first.get_ylabel() == "Events / 20 MeV"
    assert second.get_xlabel() == r"$\cos\theta$"
    assert second.get_ylabel() == "Events / 0.02"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["data", "fit", "$R$"]
