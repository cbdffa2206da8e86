"""The events that a fitted model expects: phase space with weights, of which averages over the model are sums."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ctpwa.analysis.reopen import LoadedSamples, OpenedFit
from ctpwa.data.density import checked_density
from ctpwa.data.events import Events
from ctpwa.data.resolution import GivenPoints
from ctpwa.data.stream import Piece, evenly
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.values import model_values
from ctpwa.engine.samples.precision import DOUBLE
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.observables.projections import event_weights
from ctpwa.studies.removal import intensity_at

MOST = 50_000  # phase-space events: what they say to a per cent is enough


@dataclass(frozen=True)
class ExpectedEvents:
    """Phase space of a data set as its data would be on average.

    Attributes:
        events:   with weights that add up to the number of events
        numbers:  which events of the phase-space sample they are; None if they are other ones, such as those that were measured
    """

    events: Events
    numbers: np.ndarray | None

    def likelihood(self, term: Likelihood) -> Likelihood:
        """A likelihood with these as its measured events, whose weights are roots: products of scores count squares of weights.

        Args:
            term:  of the data set, with any model and the same phase space
        """
        assert self.events.weights is not None
        roots = torch.sqrt(self.events.weights)
        if self.numbers is not None and term.picks_events:  # nothing has to be computed
            return term.with_picked({"phase space": self.numbers}).with_weights(roots)
        return term.with_data(replace(self.events, weights=roots))


def expected_events(
    opened: OpenedFit, likelihood: Fittable, x: np.ndarray, engine: str, device: str | None, most: int = MOST
) -> list[ExpectedEvents] | None:
    """Phase space of every data set as the data would be on average.

    Args:
        opened:      the fit, whose backgrounds are taken
        likelihood:  of its data, with any model
        x:           its free parameters
        engine:      ``auto``, or a backend
        device:      where to compute
        most:        phase-space events that are used, evenly picked

    Returns:
        None if data have weights or points of their own, or spin amplitudes are in single precision: then nobody knows
    """
    samples, terms = opened.read(most), terms_of(likelihood)
    given = any(isinstance(own.resolution, GivenPoints) for own in samples)
    if likelihood.weighted or given or any(term.precision != DOUBLE for term in terms):
        return None
    values = model_values(likelihood, x)
    found = []
    for own, term in zip(samples, terms, strict=True):
        if term.picks_events:
            numbers = evenly(own.n_phase_space, most)
            at = x[[likelihood.names.index(name) for name in term.names]]
            found.append(ExpectedEvents(_expected(opened, own, term.intensity(at, "phase space").cpu()[numbers]), numbers.numpy()))
        else:
            signal = intensity_at(term.model, values.couplings, values.parameters, engine, device).of(own.conjugate)
            found.append(ExpectedEvents(_expected(opened, own, signal(own.phase_space).cpu()), None))
    return found


def _expected(opened: OpenedFit, samples: LoadedSamples, intensity: Tensor) -> Events:
    v = torch.from_numpy(event_weights(samples.phase_space))
    parts = [(intensity, opened.signal(samples))]
    piece = Piece([samples.phase_space[label] for label in samples.labels], None, dict(samples.phase_space.columns))
    for name, (density, number) in opened.added(samples).items():
        parts.append((checked_density(density(piece), name, "phase space", 0, positive=False).cpu(), number))
    weights = sum((number * v * own / (v * own).sum() for own, number in parts), torch.zeros_like(v))
    return replace(samples.measured, weights=weights, summary=None)
