"""How to search from many starts."""

from __future__ import annotations

from dataclasses import dataclass

from ctpwa.minimise.minima import SAME_VALUE

DISTANCE = 12.5  # that minima are usually kept within: five standard deviations of one parameter


@dataclass(frozen=True)
class SearchSettings:
    """How to search from many starts.

    Attributes:
        events, per_parameter:  events of the data that are used, at least, and for every parameter
        random:                 at least this many starts are random in all couplings
        at_once:                starts at a time: with more, later ones learn less; with fewer, more passes over the events
        same_value:             of −ln L: ends that differ by more are different minima
        distance:               keep all minima that are less than this above the best one, in units in which one standard deviation adds
                                ½ to −ln L, those with the same −ln L and other couplings as well; None: the best is what is looked for
    """

    events: int = 10_000
    per_parameter: int = 100
    random: int = 16
    at_once: int = 24
    same_value: float = SAME_VALUE
    distance: float | None = None


USUAL = SearchSettings()
