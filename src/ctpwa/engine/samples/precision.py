"""Mixed precision: spin amplitudes stored in single precision, everything computed and added up in double.

Kernels are the same: they multiply what they read of K with numbers in double precision, and the product of a single and a double is a
double in all of them (torch, LLVM, Triton).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial

from ctpwa.base.errors import CtpwaError, suggest
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.sample import Sample
from ctpwa.spin.rotate import RowRotation
from ctpwa.spin.storage import exponents_near

DOUBLE, MIXED = "double", "mixed"
PRECISIONS = (DOUBLE, MIXED)


@dataclass(frozen=True)
class Rebuilt:
    """A sample that is rebuilt, piece by piece, whenever it is read.

    Attributes:
        build:  gives its pieces; of one of every so many events if it is given a ``step``
    """

    build: Callable[..., Generator[Sample]]

    def thinned(self, step: int) -> Rebuilt:
        """One of every so many of its events; nothing is computed of the others."""
        return Rebuilt(partial(self.build, step=step))

    @property
    def resident(self) -> tuple[Sample, ...]:
        """Nothing stays on the device."""
        return ()

    @property
    def streams(self) -> bool:
        """All of its events come one piece after the other."""
        return True

    def passing(self) -> Generator[Sample]:
        """All events, each piece on the device until the next is asked for."""
        return self.build()


def checked_precision(precision: str) -> str:
    """The precision, if it is one."""
    if precision not in PRECISIONS:
        raise CtpwaError(f"unknown precision {precision!r}\n fix: {suggest(str(precision), PRECISIONS)}")
    return precision


def planned(plan: Plan, rotation: RowRotation, precision: str) -> Plan:
    """The tables in the given precision; the sizes of structures are those that ``rotation`` has seen."""
    return plan if precision == DOUBLE else plan.in_mixed_precision(exponents_near(rotation.scale.tolist()))
