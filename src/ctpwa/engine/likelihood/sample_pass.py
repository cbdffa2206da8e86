"""A pass over the phase-space sample of a likelihood: sums over its events at one point, of this process and of all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.turns import in_turn
from ctpwa.engine.samples.build import CallbackValues
from ctpwa.engine.samples.sample import CHUNK_EVENTS, Sample
from ctpwa.engine.samples.stored_sample import SampleSource

if TYPE_CHECKING:
    from ctpwa.engine.likelihood.likelihood import Likelihood


@dataclass(frozen=True)
class SamplePass:
    """A pass over the phase-space sample of a likelihood at one point.

    Attributes:
        likelihood:  whose events are summed over
        x:           its free parameters
        c:           couplings
        feeds:       factors of the feeds of the production
        floating:    floating lineshape parameters
        numbers:     iteration numbers
    """

    likelihood: Likelihood
    x: np.ndarray
    c: np.ndarray
    feeds: np.ndarray
    floating: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, likelihood: Likelihood, x: np.ndarray) -> SamplePass:
        """Events that are computed again are so in double precision."""
        if likelihood.norm.events is None:
            raise DataError(
                "a likelihood whose lineshapes stand still does not know its phase-space sample\n"
                " fix: ask the one it was made from, or fit it with simulation=False, effective_sizes=False"
            )
        own = likelihood.in_double() if likelihood.norm.exact else likelihood
        c, theta = own.parameters.native(x)
        floating = theta[own.evaluation.theta_order]
        return cls(own, x, c, own.parameters.feed_factors(x), floating, own.plan.numbers(floating))

    @property
    def n_names(self) -> int:
        """Couplings without what feeds make of them."""
        return len(self.likelihood.coupling_names)

    def summed(
        self,
        rows_of: Callable[[SamplePass, Sample], list[Tensor]],
        source: SampleSource | None = None,
        most_events: int | None = CHUNK_EVENTS,
    ) -> list[np.ndarray] | None:
        """Rows of numbers of all events of this process, those of phase space if no other sample is given, added up; None without any.

        Args:
            rows_of:      the rows of some events
            source:       the sample
            most_events:  at a time, so that what is made of them takes little memory; None: all of a sample
        """
        likelihood, engine = self.likelihood, self.likelihood.engine
        source = likelihood.norm.events if source is None else source
        assert source is not None
        refresh = CallbackValues(likelihood.plan, self.floating, engine.device)
        rows: list[Tensor] | None = None
        with closing(source.passing()) as passing:
            for sample in chain(source.resident, passing):
                refresh(sample, 1)
                for piece in sample.in_pieces(most_events or sample.n_events):
                    engine.set_numbers(self.c, self.numbers)
                    own = rows_of(self, piece)
                    rows = own if rows is None else [row.add_(more) for row, more in zip(rows, own, strict=True)]
                    del piece  # before the next one takes as much again
                del sample
        engine.set_numbers(self.c, self.numbers)
        return None if rows is None else [row.cpu().numpy() for row in rows]

    def over_all_ranks(self, size: int, local: Callable[[], np.ndarray], key: bytes) -> np.ndarray:
        """The sum of what all processes have found."""
        found = self.likelihood.ranks.sum(size, in_turn(local), key + self.x.tobytes(), self.likelihood.engine.device)
        if self.likelihood.norm.exact:
            self.likelihood.resources.preparation.stage.release()
        return found


def densities(one: SamplePass, sample: Sample) -> tuple[Tensor, Tensor]:
    """I and p = I + Σ β b of every event; of the sum over its points, with their weights, if it has several."""
    engine, plan = one.likelihood.engine, one.likelihood.plan
    beta = torch.from_numpy(plan.beta(one.numbers)).to(engine.device)
    I = engine.intensities(sample)
    p = I + beta @ sample.E[plan.added_row : plan.added_row + plan.n_added]
    if sample.v is None:
        return I, p
    smeared_I, smeared_p = ((own.view(sample.v.shape) * sample.v).sum(dim=1) for own in (I, p))
    return smeared_I, smeared_p
