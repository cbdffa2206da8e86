"""Argand diagrams show the numbers that they are given."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.patches import Ellipse

import ctpwa
from ctpwa.observables.argand import ArgandCurve
from ctpwa.report.figures.argand import band_edges, draw_argand
from ctpwa.report.figures.style import save_figure
from ctpwa.report.round_masses import round_masses


def resonance(errors=True, knots=False, n=301, name="X", m0=1.5, width=0.1, c=2.0):
    m = np.linspace(1.0, 2.0, n)
    z = c * m0 * width / (m0**2 - m**2 - 1j * m0 * width)
    covariance = np.einsum("k,ij->kij", 0.01 + 0.02 * np.abs(z), np.array([[2.0, 0.5], [0.5, 1.0]])) if errors else None
    return ArgandCurve(
        name, name + r"[K^{+}K^{-}]\,(1,1)", "K+ K-", "K^{+}K^{-}", "1⁻", (name,), (name,), (m0,), m, z, covariance, knots=knots
    )


def line(axes, values):
    """A line of the panel with these ordinates."""
    found = [drawn for drawn in axes.lines if len(drawn.get_ydata()) == len(values) and np.allclose(drawn.get_ydata(), values)]
    assert found, "no such line"
    return found[0]


def test_curve_intensity_and_phase():
    curve = resonance()
    plane, above, below = draw_argand(curve).axes
    drawn = line(plane, curve.amplitude.imag)
    assert drawn.get_xdata() == pytest.approx(curve.amplitude.real)
    assert line(above, np.abs(curve.amplitude) ** 2).get_xdata() == pytest.approx(curve.mass)
    assert line(below, np.degrees(curve.phase)).get_xdata() == pytest.approx(curve.mass)
    assert plane.get_aspect() == 1
    assert below.get_xlabel() == "$M(K^{+}K^{-})$  [GeV]"


def test_bands_are_one_standard_deviation_wide():
    curve = resonance()
    plane, above, below = draw_argand(curve).axes
    left, right = band_edges(curve)
    tangent = np.gradient(curve.amplitude, curve.mass)
    assert ((left - right) * tangent.conj()).real == pytest.approx(0, abs=1e-12)
    n = (left - right) / np.abs(left - right)
    sigma = np.sqrt([np.array([z.real, z.imag]) @ C @ np.array([z.real, z.imag]) for z, C in zip(n, curve.covariance, strict=True)])
    assert np.abs(left - right) == pytest.approx(2 * sigma)
    (band,) = (c for c in plane.collections if isinstance(c, PolyCollection))
    assert len(band.get_paths()) == len(curve.mass) - 1
    corner = band.get_paths()[10].vertices[0]
    assert complex(*corner) == pytest.approx(left[10])
    for axes, values, error in (
        (above, curve.intensity, curve.intensity_error),
        (below, np.degrees(curve.phase), np.degrees(curve.phase_error)),
    ):
        (area,) = axes.collections
        edges = area.get_paths()[0].vertices
        k = 150
        heights = np.sort(edges[np.isclose(edges[:, 0], curve.mass[k]), 1])
        assert heights == pytest.approx([values[k] - error[k], values[k] + error[k]])


def test_masses_beside_the_curve_are_where_they_say():
    curve = resonance()
    plane = draw_argand(curve).axes[0]
    texts = [text for text in plane.texts if text.get_text()]
    assert len(texts) >= 5
    for text in texts:
        m = float(text.get_text())
        exact = 2.0 * 0.15 / (2.25 - m**2 - 0.15j)
        assert complex(*text.xy) == pytest.approx(exact, abs=2e-3)
    masses = round_masses(curve)
    assert masses == sorted(masses)
    assert {1.0, 1.5} <= set(masses)


def test_knots_are_points_with_ellipses():
    curve = resonance(knots=True, n=7)
    plane, above, below = draw_argand(curve).axes
    ellipses = [patch for patch in plane.patches if isinstance(patch, Ellipse)]
    assert [complex(*e.center) for e in ellipses] == pytest.approx(curve.amplitude.tolist())
    values = np.linalg.eigvalsh(curve.covariance[3])
    assert sorted([ellipses[3].width, ellipses[3].height]) == pytest.approx(sorted(2 * np.sqrt(values)))
    # along the axis of an ellipse its half axis is one standard deviation
    angle = np.radians(ellipses[3].angle)
    u = np.array([np.cos(angle), np.sin(angle)])
    assert np.sqrt(u @ curve.covariance[3] @ u) == pytest.approx(ellipses[3].width / 2)
    assert next(text.get_text() for text in plane.texts) == "1"
    assert len(above.containers) == len(below.containers) == 1


def test_members_and_part_of_the_range():
    curve, other = resonance(), resonance(errors=False, name="Y", m0=1.3)
    part = curve.between(1.2, 1.6)
    figure = draw_argand(part, [other], title="sum")
    _plane, above, _ = figure.axes
    inside = (other.mass >= 1.2) & (other.mass <= 1.6)
    assert line(above, other.intensity[inside]).get_label() == "$Y$"
    assert above.get_xlim() == pytest.approx((1.2, 1.6), abs=0.01)
    assert figure.get_suptitle() == "sum"
    assert part.covariance.shape == (len(part.mass), 2, 2)
    with pytest.raises(ctpwa.base.PhysicsError, match="no point from 3 to 4 GeV"):
        curve.between(3, 4)


def test_without_errors_there_are_no_bands(tmp_path):
    figure = draw_argand(resonance(errors=False))
    assert not any(axes.collections for axes in figure.axes)
    files = save_figure(figure, tmp_path / "argand")
    assert all(file.stat().st_size > 5000 for file in files)
    with pytest.raises(ValueError, match="has no errors"):
        band_edges(resonance(errors=False))
