"""Colours and line styles that the page and the figures share, and which contribution has which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctpwa.observables.histograms import Projection

DRAWN = 6  # contributions, the strongest
FIT_COLOUR = "#B2182B"
FILLS = ("#C9D3DF", "#E4D6BE", "#CDE0C9", "#E3CBD6", "#D6CFE3", "#C8E0E0")  # of backgrounds, behind everything else
# distinguishable with any colour vision: Okabe–Ito
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A5195", "#666666")
STYLES = ("-", "--", ":", "-.")
SHADES = (0.0, -0.38, 0.42, -0.6)  # towards black or white


def line_style(k: int) -> tuple[str, str]:
    """Colour and style of the k-th line: eight colours, then the same ones darker and dashed, lighter and dotted, …: no two are alike.

    Args:
        k:  from 0; the first 128 differ
    """
    turn, index = divmod(k, len(COLOURS))
    again = turn // len(STYLES)
    return _shaded(COLOURS[index], SHADES[turn % len(SHADES)]), STYLES[(turn + again) % len(STYLES)]


def _shaded(colour: str, by: float) -> str:
    parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    end = 255 if by > 0 else 0
    return "#" + "".join(f"{round(part + (end - part) * abs(by)):02X}" for part in parts)


def strongest(projections: Sequence[Projection], n: int | None = None) -> tuple[str, ...]:
    """Names of the groups that contribute most in any projection, at most ``n``: their lines are in this order."""
    if not projections:
        return ()
    size = np.max([np.einsum("bgg->g", projection.matrix) for projection in projections], axis=0)
    return tuple(projections[0].groups[k] for k in np.argsort(-size, kind="stable")[:n])
