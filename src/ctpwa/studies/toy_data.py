"""Toy data of a fit: events picked from its own phase-space samples in proportion to what was fitted.

What a fit is normalised with is then exactly what its data come from: the simulation's size moves no toy, efficiencies and event columns
are those of the samples, and nothing has to be generated. So fits of toys scatter as the measured events alone make them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ctpwa.analysis.reopen import LoadedSamples, OpenedFit
from ctpwa.base.errors import GenerationError
from ctpwa.data.density import checked_density
from ctpwa.data.events import Events, concatenate
from ctpwa.data.resolution import GivenPoints
from ctpwa.data.stream import Piece
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.fitting.fittable import Fittable
from ctpwa.observables.projections import event_weights
from ctpwa.observe.mass_resolution import measured_events
from ctpwa.studies.baseline import changed_terms

DATA, MEASURED, SIDEBAND = range(3)  # streams of random numbers
PHASE_SPACE, BACKGROUND = "phase space", "background"  # samples that are picked from


@dataclass(frozen=True)
class PickedData:
    """Toy data of one data set.

    Attributes:
        data:        measured events
        background:  events that are subtracted; None if there are none
    """

    data: Events
    background: Events | None


@dataclass(frozen=True)
class _Component:
    """Events that are picked with probabilities of their own: signal and densities from phase space, or a sideband.

    Attributes:
        sample:   which sample of the likelihood it is picked from, ``phase space`` or ``background``
        events:   its events
        sums:     Σ of the weights of all events up to each
        average:  how many are expected
    """

    sample: str
    events: Events
    sums: np.ndarray
    average: float

    @classmethod
    def of(cls, sample: str, events: Events, weights: np.ndarray, average: float, what: str) -> _Component:
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
            raise GenerationError(f"{what}: toy events cannot be picked in proportion to negative weights\n fix: use  ctpwa bootstrap")
        return cls(sample, Events(events.momenta, None, events.columns), np.cumsum(weights), max(average, 0.0))

    def pick(self, random: np.random.Generator) -> np.ndarray:
        """Numbers of events, ascending: as many as chance makes of the average, each as often as chance has it."""
        n = int(random.poisson(self.average))
        places = np.sort(random.random(n)) * self.sums[-1]  # in order, they are found several times as quickly
        chosen = np.searchsorted(self.sums, places, side="right")
        return np.minimum(chosen, len(self.sums) - 1)


class ToySource:
    """Makes toy data like those of a fit.

    Args:
        opened:     a fit; values of its result say how many events there are of signal and of every background
        intensity:  of the signal; default: as it was fitted
        seed:       of the random numbers

    Raises:
        GenerationError: if such data cannot be made up
    """

    def __init__(self, opened: OpenedFit, intensity: ModelIntensity | None = None, seed: int = 0) -> None:
        self._opened, self._seed = opened, seed
        self._intensity = opened.intensity(opened.analysis.settings.engine) if intensity is None else intensity
        self._samples: Sequence[LoadedSamples] = opened.read()
        for samples in self._samples:
            _check(samples)
        self._components = [self._of(samples) for samples in self._samples]  # signal and backgrounds of every data set

    def _of(self, samples: LoadedSamples) -> list[_Component]:
        opened, name = self._opened, f" of {samples.name}" if samples.name else ""
        v = event_weights(samples.phase_space)
        intensity = self._intensity.of(samples.conjugate)(samples.phase_space).cpu().numpy()
        found = [_Component.of(PHASE_SPACE, samples.phase_space, v * intensity, opened.signal(samples), f"phase space{name}")]
        piece = Piece([samples.phase_space[label] for label in samples.labels], None, dict(samples.phase_space.columns))
        for own, (density, average) in opened.added(samples).items():
            values: Tensor = checked_density(density(piece), own, "phase space", 0, positive=False)
            found.append(_Component.of(PHASE_SPACE, samples.phase_space, v * values.cpu().numpy(), average, own))
        if samples.background is not None:
            w = event_weights(samples.background)
            found.append(_Component.of(BACKGROUND, samples.background, w, float(w.sum()), f"background{name}"))
        return found

    def make(self, number: int) -> list[PickedData]:
        """Toy data of every data set; the same for the same number and seed.

        Args:
            number:  which toy
        """
        return [self._pick(i, samples, number) for i, samples in enumerate(self._samples)]

    def _chosen(self, i: int, number: int) -> list[np.ndarray]:
        """Numbers of measured events of every component."""
        random = np.random.default_rng([self._seed, number, i, DATA])
        return [component.pick(random) for component in self._components[i]]

    def _pick(self, i: int, samples: LoadedSamples, number: int) -> PickedData:
        chosen = zip(self._components[i], self._chosen(i, number), strict=True)
        data = concatenate([component.events.picked(torch.from_numpy(numbers)) for component, numbers in chosen])
        if samples.resolution is not None:
            seed = int(np.random.default_rng([self._seed, number, i, MEASURED]).integers(2**31))
            data = measured_events(samples.resolution, data, samples.labels, seed)
        again = self._again(i, number)
        return PickedData(data, None if again is None or samples.background is None else samples.background.picked(torch.from_numpy(again)))

    def _again(self, i: int, number: int) -> np.ndarray | None:
        """A sideband sample as another experiment would have it: numbers of its events, each as often as chance has it."""
        background = self._samples[i].background
        if background is None:
            return None
        often = np.random.default_rng([self._seed, number, i, SIDEBAND]).poisson(1.0, background.n_events)
        return np.repeat(np.arange(background.n_events), often)

    def _numbers(self, i: int, number: int) -> dict[str, np.ndarray]:
        """Numbers of measured events in the samples that they are picked from."""
        found: dict[str, np.ndarray] = {}
        for component, numbers in zip(self._components[i], self._chosen(i, number), strict=True):
            found[component.sample] = np.concatenate([found.get(component.sample, numbers[:0]), numbers])
        return found

    def likelihood(self, fitted: Fittable, number: int) -> Fittable:
        """The likelihood of a toy, on the same normalisation.

        Args:
            fitted:  of any model; its phase space and what it subtracts are the samples that toys are picked from
            number:  which toy
        """

        def of_toy(i: int, term: Likelihood) -> Likelihood:
            if term.picks_events:  # nothing has to be computed
                return term.with_picked(self._numbers(i, number), self._again(i, number))
            made = self._pick(i, self._samples[i], number)
            return term.with_data(made.data, made.background)

        return changed_terms(fitted, of_toy)


def _check(samples: LoadedSamples) -> None:
    """Refuse data of a kind that toys cannot have."""
    name = f"data of {samples.name}" if samples.name else "data"
    if samples.data.weights is not None and not bool((samples.data.weights == 1).all()):
        raise GenerationError(f"{name}: measured events have weights, and those of toys are not known\n fix: use  ctpwa bootstrap")
    if isinstance(samples.resolution, GivenPoints):
        raise GenerationError(
            f"{name}: each event has {samples.resolution.n_points} rows, and where those of toys lie is not known\n"
            " fix: use  ctpwa bootstrap, or give the resolution of masses instead"
        )
    if samples.n_phase_space != samples.phase_space.n_events:
        raise GenerationError("toys need the whole phase-space sample\n fix: read all of it")
