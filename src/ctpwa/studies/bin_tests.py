"""Which bins are described by their fits: p-values of all bins, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ctpwa.base.words import counted
from ctpwa.studies.bin_axes import Bin
from ctpwa.studies.bin_records import DECAY, INSIDE, P_VALUE, goodness_key, moves_of
from ctpwa.studies.fit_record import FitRecord

TESTED = ("p decay", "p inside", "moves")  # columns of a table
FOOT = (
    "p decay: of masses and angles; p inside: of couplings that are constant in the bin;"
    " moves: by how many of their errors numbers of events are off, at most, where couplings have slopes"
)
FAILED = "not described", "couplings not constant"
FALSE_ALARM = 0.05  # how often any p-value of a study may be below the threshold by chance
LARGE = 0.5  # of an error: a number of events that moves by more is worth a name
NAMED = 6  # bins in a sentence


@dataclass(frozen=True, eq=False)
class BinTests:
    """Tests of the best solutions of all bins.

    Attributes:
        bins:     the bins
        records:  of the study, by their keys
    """

    bins: Sequence[Bin]
    records: Mapping[str, FitRecord]

    def p_values(self, kind: str) -> np.ndarray:
        """p-values in the order of the bins, NaN where there is none.

        Args:
            kind:  ``decay`` or ``inside``
        """
        return np.array([float(self._numbers(own).get(f"{P_VALUE} {kind}", np.nan)) for own in self.bins])

    @cached_property
    def moves(self) -> np.ndarray:
        """By how many errors numbers of events of a wave would differ if couplings had slopes, at most, in the order of the bins."""
        found = (self.records.get(goodness_key(own.key)) for own in self.bins)
        return np.array([max(map(abs, moves_of(own).values()), default=np.nan) if own is not None else np.nan for own in found])

    @property
    def known(self) -> bool:
        """Whether any bin was tested."""
        return self._count > 0

    @property
    def threshold(self) -> float:
        """Below this are all p-values of a study together by chance in one of twenty studies."""
        return FALSE_ALARM / max(self._count, 1)

    @cached_property
    def _count(self) -> int:
        return sum(int(np.isfinite(self.p_values(kind)).sum()) for kind in (DECAY, INSIDE))

    def _numbers(self, own: Bin) -> Mapping[str, float]:
        record = self.records.get(goodness_key(own.key))
        return {} if record is None else record.numbers

    def cells(self) -> list[tuple[str, str, str]]:
        """p-values, and how far numbers move, of every bin for a table."""
        columns = (self.p_values(DECAY), self.p_values(INSIDE), self.moves)
        return [(_p(a), _p(b), f"{c:.1f} σ" if np.isfinite(c) else "") for a, b, c in zip(*columns, strict=True)]

    def fails(self, kind: str) -> np.ndarray:
        """Which bins fail a test, in the order of the bins.

        Args:
            kind:  ``decay`` or ``inside``
        """
        return np.asarray(self.p_values(kind) < self.threshold)

    def remarks(self) -> list[str]:
        """What every bin fails, in few words; empty where it fails nothing."""
        pairs = zip(self.fails(DECAY), self.fails(INSIDE), strict=True)
        return [", ".join(words for words, one in zip(FAILED, own, strict=True) if one) for own in pairs]

    def warnings(self) -> tuple[str, ...]:
        """Which bins are not described, and what to do."""
        if not self.known:
            return ()
        decay, inside = (self.fails(kind) for kind in (DECAY, INSIDE))
        least, n, found = f"{self.threshold:.1e}", int(np.isfinite(self.p_values(INSIDE)).sum()), []
        if decay.any():
            found.append(
                f"the best fit does not describe the masses and angles of {counted(int(decay.sum()), 'bin')} (p decay below {least}):"
                f" {self._named(decay)}. More waves may be needed, or a better simulation"
            )
        if inside.any():
            large = inside & (self.moves > LARGE)
            where = f", most in {self._named(large)}" if large.any() else ""
            found.append(
                f"couplings are not constant within {inside.sum()} of {counted(n, 'bin')} (p inside below {least}: {self._named(inside)});"
                f" to first order numbers of events are off by up to {np.nan_to_num(self.moves[inside]).max():.1f} of their errors{where},"
                " and by more where resonances are narrower than bins. Compare with narrower bins, or give waves lineshapes"
            )
        return tuple(found)

    def _named(self, which: np.ndarray) -> str:
        names = [own.words for own, one in zip(self.bins, which, strict=True) if one]
        return "; ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _p(value: float) -> str:
    return f"{value:.2g}" if np.isfinite(value) else ""
