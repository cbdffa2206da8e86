"""The fitted density of every event of a bin, with its derivatives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ctpwa.analysis.sample_sets import SampleSet
from ctpwa.base.errors import DataError
from ctpwa.data.events import Events
from ctpwa.data.stream import Piece, picked_events
from ctpwa.engine.likelihood.collapsed import Collapsed
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.scores import score_chain
from ctpwa.observables.projections import event_weights

STEP = 1e-4  # of a parameter that belongs to no coupling
LEAST = 1e-300  # of a density that is divided by


@dataclass(frozen=True, eq=False)
class EventDensities:
    """p(x) = I + Σ β b of measured and of simulated events, up to a constant that depends on parameters alone.

    Attributes:
        likelihood:  what was fitted
        samples:     its events
    """

    likelihood: Likelihood
    samples: SampleSet

    def __post_init__(self) -> None:
        if self.samples.resolution is not None:
            raise DataError("events with a resolution have no test of goodness of fit in bins")

    @cached_property
    def measured(self) -> tuple[Events, ...]:
        """Measured events, and those that are subtracted."""
        own = [self.samples.data] if self.samples.background is None else [self.samples.data, self.samples.background]
        return tuple(picked_events(events, None) for events in own)

    @cached_property
    def simulated(self) -> Events:
        """Events of phase space."""
        return picked_events(self.samples.phase_space, None)

    @cached_property
    def weights(self) -> np.ndarray:
        """Of measured events; negative of those that are subtracted."""
        return np.concatenate([sign * event_weights(own) for sign, own in zip((1, -1), self.measured, strict=False)])

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The density p of measured and of simulated events.

        Args:
            x:  the free parameters
        """
        likelihood = self.likelihood
        kinds = ("data", "background")[: len(self.measured)]
        found = [likelihood.intensity(x, kind).cpu().numpy() for kind in kinds]
        of_model = self._of_simulated.intensity(x, self._kind).cpu().numpy()
        if not self.samples.backgrounds:
            return np.concatenate(found), of_model
        mixture, v = likelihood.mixture, event_weights(self.simulated)
        assert mixture is not None
        m = dict(zip(likelihood.parameters.theta_names, likelihood.parameters.native(x)[1].tolist(), strict=True))
        beta = mixture.beta(np.array([m[name] for name in mixture.parameters]), float(v @ of_model / v.sum()))
        data, model = (beta[: len(own)] @ own for own in self._added)
        return np.concatenate(found) + data, of_model + model

    def scores(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂ ln p of measured and of simulated events, [event, parameter], up to constants.

        Those over couplings are exact, others are differences.

        Args:
            x:  the free parameters
        """
        likelihood, here = self.likelihood, self.at(x)
        found = tuple(np.empty((len(p), len(x))) for p in here)
        couplings = likelihood.coupling_index
        for own, slopes in zip(found, self._over_couplings(x, couplings), strict=True):
            own[:, couplings] = slopes
        for k in np.setdiff1d(np.arange(len(x)), couplings):
            step = np.zeros(len(x))
            step[k] = STEP * max(1.0, abs(x[k]))
            for own, above, below in zip(found, self.at(x + step), self.at(x - step), strict=True):
                own[:, k] = (above - below) / (2 * step[k])
        for own, p in zip(found, here, strict=True):
            own /= np.maximum(p, LEAST)[:, None]
        return found[0], found[1]

    def _over_couplings(self, x: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂p of measured and of simulated events over parameters of couplings."""
        likelihood, n = self.likelihood, 2 * self.likelihood.plan.n_couplings
        J = score_chain(likelihood, x)[1][:, which]
        kinds = ("data", "background")[: len(self.measured)]
        found = [np.concatenate([likelihood.intensity_slopes(x, J[:n], kind).numpy() for kind in kinds])]
        found.append(self._of_simulated.intensity_slopes(x, J[:n], self._kind).numpy())
        if not self.samples.backgrounds:
            return found[0], found[1]
        added = J[len(J) - len(self.samples.backgrounds) :]
        data, model = (own + b.T @ added for own, b in zip(found, self._added, strict=True))
        return data, model

    @property
    def _kind(self) -> str:
        """As what the likelihood of simulated events knows them."""
        return "data" if isinstance(self.likelihood.phase_space, Collapsed) else "phase space"

    @cached_property
    def _of_simulated(self) -> Likelihood:
        """A likelihood that has their spin amplitudes; lineshapes that stand still need none for the normalisation."""
        return self.likelihood if self._kind != "data" else self.likelihood.with_data(replace(self.simulated, weights=None))

    @cached_property
    def _added(self) -> tuple[np.ndarray, np.ndarray]:
        """Densities of backgrounds at measured and at simulated events, [background, event]."""
        labels = self.likelihood.model.decay.labels

        def of(events: Events) -> np.ndarray:
            piece = Piece([events[label] for label in labels], None, dict(events.columns))
            return np.array([own.density(piece).cpu().numpy() for own in self.samples.backgrounds])

        return np.concatenate([of(own) for own in self.measured], axis=1), of(self.simulated)
