"""What Dalitz plots of the page and of figures share: the boundary that kinematics sets, and which cells are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctpwa.decay.chain import Decay
from ctpwa.observables.histograms import Grid
from ctpwa.observables.projections import dalitz_order

Curve = tuple[np.ndarray, np.ndarray]


def dalitz_boundary(parent: float, masses: Sequence[float], n: int = 400) -> Curve:
    """The closed curve of (m²_13, m²_23) that three-body kinematics cannot leave.

    For each m_12 particle 3 flies along or against particle 1 in the rest frame of the pair:

        m²_13 = m1² + m3² + 2 (E1 E3 ∓ p1 p3),    m²_13 + m²_23 = M² + m1² + m2² + m3² − m²_12

    Args:
        parent:  mass of the parent M, GeV
        masses:  m1, m2, m3, GeV
        n:       points on each half of the curve
    """
    m1, m2, m3 = masses
    # dense at both ends, where the curve is steep
    m12 = (m1 + m2) + (parent - m1 - m2 - m3) * (1 - np.cos(np.linspace(0, np.pi, n))) / 2
    s12 = m12**2
    with np.errstate(invalid="ignore", divide="ignore"):  # two massless particles at rest
        E1 = np.where(m12 > 0, (s12 + m1**2 - m2**2) / (2 * m12), 0.0)
        E3 = np.where(m12 > 0, (parent**2 - s12 - m3**2) / (2 * m12), 0.0)
    p1, p3 = (np.sqrt(np.clip(E**2 - m**2, 0, None)) for E, m in ((E1, m1), (E3, m3)))
    low, high = (m1**2 + m3**2 + 2 * (E1 * E3 + sign * p1 * p3) for sign in (-1, 1))
    if m12[0] == 0:  # the limit m12 → 0
        low[0], high[0] = m3**2, parent**2
    total = parent**2 + m1**2 + m2**2 + m3**2 - s12
    s13 = np.concatenate([low, high[::-1]])
    return s13, np.concatenate([total, total[::-1]]) - s13


def decay_boundary(decay: Decay, n: int = 400) -> Curve | None:
    """That of a decay to three particles whose masses are known, folded as the plot is where particles are identical."""
    outer = decay.outer
    if len(outer.final) != 3:
        return None
    order, n_identical = dalitz_order(outer)
    particles = (outer.parent, *(outer.final[index] for index in order))
    masses = [0.0 if particle.massless else particle.mass for particle in particles]
    known = [mass for mass in masses if mass is not None]
    return folded(dalitz_boundary(known[0], known[1:], n), known, n_identical) if len(known) == 4 else None


def folded(curve: Curve, masses: Sequence[float], n_identical: int) -> Curve:
    """The boundary of the part with m²_13 ≤ m²_23, or m²_13 ≤ m²_12 ≤ m²_23, of a plot of identical particles.

    Args:
        curve:        the whole boundary, (m²_13, m²_23)
        masses:       of the parent and the particles, GeV
        n_identical:  how many of the particles are identical
    """
    if n_identical == 1:
        return curve
    total = sum(mass**2 for mass in masses)
    x, y = curve
    z = total - x - y
    kept = (x <= y) if n_identical == 2 else (x <= z) & (z <= y)
    start = int(np.flatnonzero(kept & ~np.roll(kept, 1))[0]) if not kept.all() else 0
    x, y, kept = (np.roll(own, -start) for own in (x, y, kept))
    corner = [] if n_identical == 2 else [total / 3]  # where all three are equal
    x, y = (np.concatenate([own[kept], corner]) for own in (x, y))
    return np.append(x, x[0]), np.append(y, y[0])


def drawn_cells(grid: Grid, numbers: np.ndarray, boundary: Curve | None) -> np.ndarray:
    """Events in cells as they are drawn: within a boundary all of them, else none where nothing was measured nor expected."""
    return numbers if boundary is not None else np.where(grid.empty, np.nan, numbers)
