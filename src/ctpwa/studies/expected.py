"""The events that a fitted model expects: phase space with weights, of which averages over the model are sums."""

from __future__ import annotations

from dataclasses import replace

import torch

from ctpwa.analysis.reopen import LoadedSamples, OpenedFit
from ctpwa.data.density import checked_density
from ctpwa.data.events import Events
from ctpwa.data.resolution import GivenPoints
from ctpwa.data.stream import Piece
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.engine.likelihood.values import ModelValues
from ctpwa.engine.samples.precision import DOUBLE
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.model.model import Model
from ctpwa.observables.projections import event_weights

MOST = 50_000  # phase-space events: what they say to a per cent is enough


def expected_events(
    opened: OpenedFit, likelihood: Fittable, model: Model, values: ModelValues, engine: str, device: str | None, most: int = MOST
) -> list[Events] | None:
    """Phase space of every data set as the data would be on average: weights add up to the number of events.

    Args:
        opened:      the fit, whose backgrounds are taken
        likelihood:  of its data
        model:       what the signal is
        values:      couplings and parameters of it
        engine:      ``auto``, or a backend
        device:      where to compute
        most:        phase-space events that are used, evenly picked

    Returns:
        None if data have weights or points of their own, or spin amplitudes are in single precision: then nobody knows
    """
    samples = opened.read(most)
    given = any(isinstance(own.resolution, GivenPoints) for own in samples)
    if likelihood.weighted or given or any(term.precision != DOUBLE for term in terms_of(likelihood)):
        return None
    intensity = ModelIntensity(model, couplings=values.couplings, parameters=values.parameters, engine=engine, device=device)
    return [_expected(opened, own, intensity) for own in samples]


def _expected(opened: OpenedFit, samples: LoadedSamples, intensity: ModelIntensity) -> Events:
    v = torch.from_numpy(event_weights(samples.phase_space))
    parts = [(intensity.of(samples.conjugate)(samples.phase_space).cpu(), opened.signal(samples))]
    piece = Piece([samples.phase_space[label] for label in samples.labels], None, dict(samples.phase_space.columns))
    for name, (density, number) in opened.added(samples).items():
        parts.append((checked_density(density(piece), name, "phase space", 0, positive=False).cpu(), number))
    weights = sum((number * v * own / (v * own).sum() for own, number in parts), torch.zeros_like(v))
    return replace(samples.measured, weights=weights, summary=None)
