"""Events that count negatively: background that is subtracted, and negative weights.

−ln I of an event that counts negatively has no lower limit: a fit gains without end where it moves a zero of ψ to such an event. Bounded
subtraction takes logarithms of I/σ + r instead, and adds r W events of phase space to the data, W = Σ w. Both sides of

    Σ_data w g − Σ_background w g + Σ_flat w g = W ∫ (I/σ + r) g,    g = ∂ ln (I/σ + r)

agree on average at the true parameters, whatever r is and whatever the background looks like, so that the estimate stays right; and no
event gains more than w ln(1/r). r is the part of the data that is subtracted: there I/σ + r is about the density of all measured events.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

import numpy as np

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.base.ranks import Ranks
from ctpwa.engine.likelihood.parts import Floor
from ctpwa.engine.samples.own_events import Share
from ctpwa.engine.samples.stored_sample import StoredSample

BOUNDED, PLAIN = "bounded", "plain"
FLOOR = "floor"
MOST_EVENTS = 10  # of the floor, for each event of data and background
PIECE = 1 << 18


def checked_subtraction(subtraction: str) -> str:
    """``bounded`` or ``plain``."""
    if subtraction not in (BOUNDED, PLAIN):
        raise PhysicsError(f"unknown subtraction {subtraction!r}", suggest(subtraction, (BOUNDED, PLAIN)))
    return subtraction


def floor_ratio(shares: Mapping[str, Share], ranks: Ranks) -> float:
    """r: what counts negatively, divided by what is left; 0 if nothing does."""
    positive, negative = _counted(shares, ranks)
    return negative / (positive - negative) if 0 < negative < positive else 0.0


def own_weight(shares: Mapping[str, Share], ranks: Ranks) -> float:
    """Σ w of data minus background."""
    positive, negative = _counted(shares, ranks)
    return positive - negative


def make_floor(stored: StoredSample, ratio: float, ranks: Ranks) -> Floor:
    """The events of the floor, with the sum of their weights."""
    (total,) = ranks.sum(1, lambda: np.array([stored.weights.total]), b"floor")
    return Floor(stored, float(total), ratio)


def _counted(shares: Mapping[str, Share], ranks: Ranks) -> tuple[float, float]:
    """Σ |w| of events of data and background that count positively, and of those that count negatively."""

    def local() -> np.ndarray:
        sums = np.array(_weights(shares["data"]))
        return sums + np.array(_weights(shares["background"])[::-1]) if "background" in shares else sums

    found = ranks.together(local)
    positive, negative = ranks.sum(2, lambda: found, b"counted")
    return float(positive), float(negative)


def _weights(share: Share) -> tuple[float, float]:
    """Sums of positive and of negative weights."""
    if share.stream is None and share.weights is None:
        return float(share.part.count), 0.0
    plus = minus = 0.0
    with closing(share.pieces(PIECE)) as pieces:
        for piece in pieces:
            if piece.weights is None:
                plus += piece.n_events
            else:
                plus += float(piece.weights.clamp(min=0).sum())
                minus -= float(piece.weights.clamp(max=0).sum())
    return plus, minus


def floor_share(shares: Mapping[str, Share], ranks: Ranks) -> Share:
    """The events of the floor: phase space, or evenly picked events of it if there are many more than of data and background."""
    phase_space = shares["phase space"]
    counted = sum(shares[name].part.total for name in ("data", "background") if name in shares)
    step = max(phase_space.part.total // max(MOST_EVENTS * counted, 1), 1)
    return replace(phase_space.thinned(step, ranks), name=FLOOR)
