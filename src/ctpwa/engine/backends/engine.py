"""What a likelihood needs from the engine of a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import torch

from ctpwa.engine.backends.expansion import Expansion
from ctpwa.engine.backends.gram import Gram
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import PLAIN
from ctpwa.engine.samples.sample import Sample

Task = tuple[Sample, int]  # a sample, and LOG or PLAIN


class Engine(Protocol):
    """Computes sums over samples for one plan, on one device."""

    name: str  # of its backend
    plan: Plan
    device: torch.device
    shares_passes: bool  # between the vectors of a batch
    most_together: float  # events up to which that is worth it for Hessians
    quick_hessians: float  # events up to which a Hessian hardly takes longer than a gradient

    @property
    def takes_many(self) -> bool:
        """Whether its ``begin_many`` shares passes between values of all parameters, those of lineshapes as well."""

    def prepare(self) -> None:
        """Do now what would otherwise make the first evaluations slow."""

    def expect(self, n_points: int, modes: Mapping[int, int]) -> None:
        """Get ready for samples of so many points, while these are prepared.

        Args:
            n_points:  of the largest sample
            modes:     LOG, PLAIN or both: what is summed over samples, and how many points an event has there
        """

    def evaluate(self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int) -> list[Expansion]:
        """Expansions of all tasks to the given order."""

    def begin(
        self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int, *, relative: bool = False
    ) -> Callable[[], list[Expansion]]:
        """Begin ``evaluate``; what is returned waits for the result.

        Args:
            tasks:     samples
            c, p:      couplings and iteration numbers
            order:     highest derivative
            relative:  β of the added densities is that times Σ w I of the PLAIN tasks, which come first
        """

    def intensity(self, sample: Sample, c: np.ndarray, p: np.ndarray) -> torch.Tensor:
        """I of every point."""

    # for samples in many chunks: numbers are set once, results stay on the device until they are all added up

    def set_numbers(self, c: np.ndarray, p: np.ndarray) -> None:
        """The couplings and iteration numbers of what follows."""

    def sum_row(self, sample: Sample, mode: int, order: int) -> torch.Tensor:
        """What an expansion is made of, on the device; rows of several samples add up."""

    def expansion(self, row: np.ndarray, mode: int, order: int) -> Expansion:
        """The expansion of a row of sums."""

    def gram_row(self, sample: Sample, mode: int) -> torch.Tensor:
        """What Gram matrices are made of, on the device; rows of several samples add up."""

    def gram_of(self, row: np.ndarray) -> Gram:
        """The Gram matrices of a row of sums."""

    def intensities(self, sample: Sample) -> torch.Tensor:
        """I of every point, on the device."""

    def raw_columns(self, sample: Sample, p: np.ndarray, beside: int) -> Iterator[tuple[int, int, torch.Tensor]]:
        """First and last event of a chunk, and ∂ψ/∂(c, floating p) of it [re | im · column, row · event], at the numbers used last."""


def evaluate_relative(engine: Engine, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int) -> list[Expansion]:
    """``evaluate`` with β relative to Σ w I of the PLAIN tasks, as in ``begin``, one after the other."""
    first = [task for task in tasks if task[1] == PLAIN]
    found = engine.evaluate(first, c, p, order)
    scaled, n = p.copy(), len(p) - engine.plan.n_added
    scaled[n:] *= sum(own.value for own in found)
    return [*found, *engine.evaluate(tasks[len(first) :], c, scaled, order)]
