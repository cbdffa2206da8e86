"""Zeros of 1/F in the complex mass w = √s: which sheets touch the physical region, Newton's method, and proof that a zero is a pole.

Events are seen on the real axis above the threshold of the own channel. Between two thresholds the axis is the edge of one sheet: that on
which Im q < 0 for the open channels and Im q > 0 for the closed ones. Such a sheet is near; all others are reached around thresholds only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from ctpwa.model.lineshapes.continuation import Continuation

Sheet = tuple[int, ...]

MAX_ITERATIONS = 40
MAX_STEP = 0.1  # GeV
CONVERGED = 1e-12  # relative size of the last step
COARSE = 1e-3  # GeV; last step of a search that is worth going on with
SAME = 1e-8  # GeV; poles that are nearer are one
REAL = 1e-13  # GeV; an imaginary part below this is rounding
INSIDE = 1e-9  # GeV; how far from a threshold a piece of the axis is looked at
DEEPEST, FARTHEST = 1.5, 2.0  # of Im w in GeV, and of Re w over where the search began
SCANNED, SCAN_POINTS = 3.0, 120  # GeV above the own threshold, where a formula may change
CIRCLE = 48  # points around a pole
PATH = 64  # points between the axis and a pole
MAX_CHANNELS = 6  # all of whose sheets are looked at


@dataclass(frozen=True)
class SheetEdge:
    """A sheet and the part of the real axis that it touches.

    Attributes:
        sheet:       sign of Im q of every channel; 0 for a channel that the formula switches off there
        low, high:   ends of that part, GeV; both None for a sheet that touches it nowhere
    """

    sheet: Sheet
    low: float | None = None
    high: float | None = None

    def nearest(self, w: complex) -> float:
        """The point of the axis from which w is reached."""
        if self.low is None or self.high is None:
            return w.real
        inside = min(INSIDE, (self.high - self.low) / 2)
        return min(max(w.real, self.low + inside), self.high - inside)


@dataclass(frozen=True)
class Root:
    """A pole of first order.

    Attributes:
        w:         where it is, GeV
        edge:      its sheet
        at:        the point of the real axis from which it is reached, GeV
        residues:  of every function of F in w
        slopes:    ∂w/∂parameter, and ∂residue/∂parameter [function, parameter]
    """

    w: complex
    edge: SheetEdge
    at: float
    residues: np.ndarray
    slopes: np.ndarray
    residue_slopes: np.ndarray

    @property
    def distance(self) -> float:
        """From the physical region, GeV."""
        return abs(self.w - self.at)


def near_edges(F: Continuation, lowest: float) -> list[SheetEdge]:
    """The sheets that touch the physical axis, from low to high masses; channels that are switched off have sign 0.

    Args:
        F:       the lineshape
        lowest:  mass where the physical axis begins
    """
    thresholds = sorted({channel.threshold for channel in F.channels})
    ends = [lowest, *sorted(t for t in {*thresholds, *_turns(F, lowest)} if t > lowest + INSIDE), np.inf]
    edges: list[SheetEdge] = []
    for low, high in pairwise(ends):
        inside = low + min(1e-3, (min(high, low + 1.0) - low) / 2)
        sheet = _touching(F, inside)
        begin = low
        if edges and edges[-1].sheet == sheet:  # the channel that opens here is switched off
            begin = edges.pop().low or low
        edges.append(SheetEdge(sheet, begin, min(high, 1e3)))
    return edges


def below_threshold(F: Continuation, lowest: float) -> SheetEdge:
    """The sheet on which bound states of the own channel are, which touches the physical axis at its first point only."""
    sheet = tuple(
        1 if channel.own else sign for channel, sign in zip(F.channels, _touching(F, max(lowest - 1e-6, lowest / 2)), strict=True)
    )
    return SheetEdge(sheet, lowest, lowest)


def all_edges(F: Continuation, lowest: float) -> list[SheetEdge]:
    """Every sheet, those that touch the axis first."""
    near = near_edges(F, lowest)
    if len(F.channels) > MAX_CHANNELS:
        return near
    known = {edge.sheet for edge in near}
    return near + [SheetEdge(sheet) for sheet in product((-1, 1), repeat=len(F.channels)) if sheet not in known]


def _turns(F: Continuation, lowest: float) -> list[float]:
    """Masses, other than thresholds, where a formula switches channels on or off."""
    if not F.switches:
        return []
    from scipy.optimize import brentq

    grid = np.linspace(lowest, lowest + SCANNED, SCAN_POINTS)
    off = [F.switched_off(float(mass)) for mass in grid]
    found = []
    for (a, b), (one, other) in zip(pairwise(grid), pairwise(off), strict=True):
        if one != other:
            turn = brentq(lambda mass, one=one: 1.0 if F.switched_off(float(mass)) == one else -1.0, a, b, xtol=1e-13)
            if not any(abs(turn - channel.threshold) < INSIDE for channel in F.channels):
                found.append(float(turn))
    return found


def _touching(F: Continuation, mass: float) -> Sheet:
    off = F.switched_off(mass)
    return tuple(0 if o else (-1 if channel.threshold < mass else 1) for channel, o in zip(F.channels, off, strict=True))


def find_roots(F: Continuation, edge: SheetEdge, starts: Sequence[complex], enough: float = 0.0) -> list[Root]:
    """The poles on one sheet to which Newton's method leads, each once.

    Args:
        F:       the lineshape
        edge:    the sheet
        starts:  where to begin
        enough:  a pole as near as this to the first start ends the search, GeV
    """
    found: list[Root] = []
    first, *others = starts
    for start in (first, None):
        for near in _attracted(F, edge, others) if start is None else [start]:
            w = _settle(F, edge, near)
            if w is None or any(abs(w - root.w) < SAME for root in found):
                continue
            root = _prove(F, edge, w)
            if root is not None:
                found.append(root)
        if any(abs(root.w - first) <= enough for root in found):
            break
    return found


def _attracted(F: Continuation, edge: SheetEdge, starts: Sequence[complex]) -> list[complex]:
    """Where a few steps from many starts at once lead to, each place once."""
    pieces: dict[tuple[int, ...], list[complex]] = {}
    for start in starts:
        pieces.setdefault(F.piece(edge.nearest(start)), []).append(start)
    places: list[complex] = []
    for group in pieces.values():
        w, at = np.array(group), edge.nearest(group[0])
        with np.errstate(all="ignore"):
            for _ in range(MAX_ITERATIONS):
                g, slopes = F.inverse(w, edge.sheet, at)
                step = -g / slopes[0]
                step *= np.minimum(1.0, MAX_STEP / np.abs(step))
                step = np.where(np.isfinite(step), step, 0.0)  # on a pole, to the last digit
                w = w + step
        usable = (w.real > 0) & (np.abs(step) < COARSE) & (np.abs(w.imag) < DEEPEST)
        places += [complex(z) for z in w[usable]]
    distinct: list[complex] = []
    for z in places:
        if not any(abs(z - other) < 10 * COARSE for other in distinct):
            distinct.append(z)
    return distinct


def _settle(F: Continuation, edge: SheetEdge, start: complex) -> complex | None:
    """Newton's method in the piece of the formula that holds at the point of the axis from which its end is reached."""
    w, at = start, edge.nearest(start)
    for _ in range(4):
        end = _newton(F, edge.sheet, at, w)
        if end is not None and end.imag > 0:  # 1/F is real where all momenta are imaginary: poles come in pairs
            end = _newton(F, edge.sheet, at, end.conjugate())
        if end is None or end.imag > 0:
            return None
        nearest = edge.nearest(end)
        if F.piece(nearest) == F.piece(at):
            return end
        w, at = end, nearest
    return None


def _newton(F: Continuation, sheet: Sheet, at: float, start: complex) -> complex | None:
    w, last = complex(start), np.inf
    with np.errstate(all="ignore"):
        for _ in range(MAX_ITERATIONS):
            g, slopes = F.inverse(w, sheet, at)
            if not np.isfinite(g) or not np.isfinite(slopes[0]):  # on the pole itself, to the last digit
                w *= 1 + 4e-16
                g, slopes = F.inverse(w, sheet, at)
            if not np.isfinite(g) or slopes[0] == 0 or not np.isfinite(slopes[0]):
                return None
            step = complex(-g / slopes[0])
            size = abs(step)
            if size > MAX_STEP:
                step *= MAX_STEP / size
            w += step
            if not 0 < w.real < FARTHEST + start.real or abs(w.imag) > DEEPEST:
                return None
            if size <= CONVERGED * abs(w) and size >= last / 2:  # as good as rounding allows
                return complex(w.real, 0.0) if abs(w.imag) < REAL else w
            last = size
    return None


def _prove(F: Continuation, edge: SheetEdge, w: complex) -> Root | None:
    """The residue of a pole of first order; None if 1/F has no simple zero there, or the way to it from the axis crosses a cut.

    Res F = (1/2πi) ∮ F dw, and its derivatives are those of F under the integral. The winding number of 1/F is 1.
    """
    at = edge.nearest(w)
    turn = np.exp(2j * np.pi * np.arange(CIRCLE) / CIRCLE)
    largest = 0.2 * min([0.1, *(abs(w - channel.threshold) for channel in F.channels), *([abs(w.imag)] if w.imag else [])])
    for radius in (largest, largest / 30, largest / 1000):  # another pole may be near
        with np.errstate(all="ignore"):
            g = F.inverse(w + radius * turn, edge.sheet, at)[0]
        if np.isfinite(g).all() and (g != 0).all() and abs(np.angle(np.roll(g, -1) / g).sum() / (2 * np.pi) - 1) < 1e-6:
            break
    else:
        return None
    if _crosses(F, edge, w, at):
        return None
    with np.errstate(all="ignore"):
        values, slopes = F.values(w + radius * turn, edge.sheet, at)
        derivatives = F.inverse(w * (1 + 4e-16), edge.sheet, at)[1]
    residues = (values * turn).mean(axis=1) * radius
    residue_slopes = (slopes[:, 1:] * turn).mean(axis=2) * radius
    return Root(w, edge, at, residues, -derivatives[1:] / derivatives[0], residue_slopes)


def _crosses(F: Continuation, edge: SheetEdge, w: complex, at: float) -> bool:
    """Whether a logarithm or a root that belongs to no channel leaves its branch between the axis and w."""
    if edge.low is None:
        return False
    t = np.linspace(1 / PATH, 1, PATH)
    with np.errstate(all="ignore"):
        arguments = F.cuts(at + (w - at) * t, edge.sheet, at)
    for z in arguments:
        if np.ndim(z) == 0:
            continue
        a, b = z[:-1], z[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = a.real - a.imag * (b.real - a.real) / (b.imag - a.imag)
        if np.any((a.imag * b.imag < 0) & (crossing < 0)):
            return True
    return False


def starts_around(mass: float, width: float | None) -> list[complex]:
    """Where to begin: at m − iΓ/2, then at points around it."""
    half = [max(width / 2, 1e-5), max(width / 5, 1e-4), max(width, 0.01)] if width else [0.02, 0.1, 0.25, 0.45]
    return [mass * factor - 1j * h for factor in (1.0, 0.93, 1.07, 0.8, 1.25, 0.6, 0.45) for h in half]


def starts_everywhere(low: float, high: float, n: int = 16) -> list[complex]:
    """A grid over a range of masses."""
    masses: Sequence[float] = np.linspace(low, high, n + 2)[1:-1].tolist()
    return [mass - 1j * half for mass in masses for half in (0.02, 0.1, 0.25, 0.45)]
