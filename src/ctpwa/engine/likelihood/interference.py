"""Which couplings interfere: waves of different rows, or whose product vanishes in every event when rows are added up, do not.

I(x) = Σ_ab c_a c̄_b Σ_rows A_a,row(x) Ā_b,row(x) ,   A_a = Σ_{channels of a} factor · Π F · K
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ctpwa.data.events import Events
from ctpwa.engine.plan.channels import ModelChannels
from ctpwa.engine.plan.plan import Propagator
from ctpwa.kinematics.sequential_decays import SequentialDecays
from ctpwa.model.lineshapes.formula import Formula, event_variables
from ctpwa.model.model import Model

PROBE_EVENTS = 48
ROUNDING = 1e-10  # of the typical size of both couplings; what is really zero stays below 1e-13


@dataclass(frozen=True, eq=False)
class ProbedAmplitudes:
    """Amplitudes of all channels in some events, which show what interferes.

    Events are anywhere in phase space, always the same ones. Every propagator is a random number in each of them, the same for all channels
    that have it: a lineshape may be 0 or too narrow to be seen there, and must not matter. So are the factors of feeds that follow from
    parameters.

    Attributes:
        A:          factor · Π F · K, [event, channel, row]
        couplings:  name of the coupling of each channel
        waves:      number of its wave
    """

    A: np.ndarray
    couplings: tuple[str, ...]
    waves: tuple[int, ...]

    @classmethod
    def of(cls, model: Model, channels: ModelChannels) -> ProbedAmplitudes:
        """Of a model; this takes milliseconds."""
        probed, events = probed_events(model)
        K = probed.spin_amplitudes(events, barrier=True, progress=False).K.numpy()
        rng = np.random.default_rng(0)
        values: dict[object, np.ndarray] = {}
        A = np.zeros((PROBE_EVENTS, len(channels.specs), K.shape[1]), dtype=complex)
        factors = model.production.rows(model.decay).factors
        V = rng.normal(size=factors.n_feeds) + 1j * rng.normal(size=factors.n_feeds) if factors is not None else np.ones(1)
        for channel, spec in enumerate(channels.specs):
            F = np.full(PROBE_EVENTS, spec.factor * V[spec.coupling % len(V)], dtype=complex)
            for key in map(_key, spec.propagators):
                if key not in values:
                    values[key] = rng.normal(size=PROBE_EVENTS) + 1j * rng.normal(size=PROBE_EVENTS)
                F = F * values[key]
            A[:, channel] = (F * K[spec.structure]).T
        A = A[np.isfinite(A).all(axis=(1, 2))]  # rows may not exist for every value of an event column
        names = tuple(channels.couplings[spec.coupling // len(V)] for spec in channels.specs)
        return cls(A, names, tuple(spec.wave for spec in channels.specs))

    def of_waves(self, kept: Sequence[int]) -> ProbedAmplitudes:
        """The same with some of the waves, which are numbered anew."""
        own = [k for k, wave in enumerate(self.waves) if wave in kept]
        return ProbedAmplitudes(self.A[:, own], tuple(self.couplings[k] for k in own), tuple(kept.index(self.waves[k]) for k in own))

    def interfering(self, couplings: Sequence[str]) -> np.ndarray:
        """Whether each pair of couplings interferes, [coupling, coupling]; one that is 0 in all events counts as interfering with all."""
        A = np.zeros((len(self.A), len(couplings), self.A.shape[2]), dtype=complex)
        for channel, name in enumerate(self.couplings):
            A[:, couplings.index(name)] += self.A[:, channel]
        size = np.sqrt((np.abs(A) ** 2).sum(axis=2).sum(axis=0) / PROBE_EVENTS)
        largest = np.zeros((len(size), len(size)))
        for own in A:
            np.maximum(largest, np.abs(own @ own.conj().T), out=largest)
        return (largest > ROUNDING * np.outer(size, size)) | (size == 0)[:, None] | (size == 0)[None, :]

    def coherent_sets(self, couplings: Sequence[str]) -> tuple[int, ...]:
        """For each coupling the number of its coherent set: couplings that interfere, directly or through others, are in one.

        Sets are numbered in the order of their first couplings.
        """
        interfering = self.interfering(couplings)
        sets = [-1] * len(interfering)
        for first in range(len(sets)):
            waiting, number = [first] if sets[first] < 0 else [], max(sets) + 1
            while waiting:
                a = waiting.pop()
                sets[a] = number
                waiting += [b for b in np.flatnonzero(interfering[a]).tolist() if sets[b] < 0]
        return tuple(sets)


def _key(propagator: Propagator) -> object:
    """What makes a propagator another function; one that is the same in every event does not know its place."""
    lineshape = propagator.lineshape
    if isinstance(lineshape, Formula) and not event_variables(lineshape.expression):
        return lineshape.expression, propagator.names
    return propagator


def probed_events(model: Model, n_events: int = PROBE_EVENTS) -> tuple[Model, Events]:
    """Events anywhere in phase space with a parent at rest, and the model for these.

    Where a mass is not known, or the parent too light, any other does.
    """
    decay = model.decay
    masses = [0.0 if p.massless else (p.mass or 1.0) for p in decay.final]
    known, total = decay.parent.mass, sum(masses)
    parent = known if known is not None and known > total else 1.5 * total + 1.0
    p4 = SequentialDecays(parent, masses, torch.device("cpu"), seed=0).momenta(n_events)
    momenta = {label: p4[i].T.contiguous() for i, label in enumerate(decay.labels)}
    production, own = model.production.probed(n_events)
    columns = {column.name: column.probe(n_events) for column in model.columns} | {column.name: values for column, values in own.items()}
    declared = {column.name: column for column in (*model.columns, *own)}
    return replace(model, production=production, columns=tuple(declared.values())), Events(momenta, None, columns)
