"""Which couplings interfere: waves of different rows, or whose product vanishes in every event when rows are added up, do not.

I(x) = Σ_ab c_a c̄_b Σ_rows A_a,row(x) Ā_b,row(x) ,   A_a = Σ_{channels of a} factor · Π F · K
"""

from __future__ import annotations

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


def coherent_sets(model: Model, channels: ModelChannels) -> tuple[int, ...]:
    """For each coupling the number of its coherent set: couplings that interfere, directly or through others, are in one.

    Sets are numbered in the order of their first couplings.
    """
    interfering = interfering_couplings(model, channels)
    sets = [-1] * len(interfering)
    for first in range(len(sets)):
        waiting = [first] if sets[first] < 0 else []
        number = max(sets) + 1
        while waiting:
            a = waiting.pop()
            sets[a] = number
            waiting += [b for b in np.flatnonzero(interfering[a]).tolist() if sets[b] < 0]
    return tuple(sets)


def interfering_couplings(model: Model, channels: ModelChannels) -> np.ndarray:
    """Whether each pair of couplings interferes, [coupling, coupling].

    Some events anywhere in phase space decide, always the same ones. Every propagator is a random number in each of them, the same for all
    channels that have it: a lineshape may be 0 or too narrow to be seen there, and must not matter. A coupling that is 0 in all events
    counts as one that interferes with all.
    """
    A = _amplitudes(model, channels)
    size = np.sqrt((np.abs(A) ** 2).sum(axis=2).mean(axis=0))  # [coupling]
    largest = np.zeros((len(size), len(size)))
    for own in A:
        np.maximum(largest, np.abs(own @ own.conj().T), out=largest)
    return (largest > ROUNDING * np.outer(size, size)) | (size == 0)[:, None] | (size == 0)[None, :]


def _amplitudes(model: Model, channels: ModelChannels) -> np.ndarray:
    """A of every coupling in events anywhere in phase space, [event, coupling, row]."""
    K = model.spin_amplitudes(_events(model), barrier=True, progress=False).K.numpy()
    rng = np.random.default_rng(0)
    values: dict[object, np.ndarray] = {}
    A = np.zeros((PROBE_EVENTS, len(channels.couplings), K.shape[1]), dtype=complex)
    for spec in channels.specs:
        F = np.full(PROBE_EVENTS, spec.factor, dtype=complex)
        for propagator in spec.propagators:
            key = _key(propagator)
            if key not in values:
                values[key] = rng.normal(size=PROBE_EVENTS) + 1j * rng.normal(size=PROBE_EVENTS)
            F = F * values[key]
        A[:, spec.coupling] += (F * K[spec.structure]).T
    return A


def _key(propagator: Propagator) -> object:
    """What makes a propagator another function; one that is the same in every event does not know its place."""
    lineshape = propagator.lineshape
    if isinstance(lineshape, Formula) and not event_variables(lineshape.expression):
        return lineshape.expression, propagator.names
    return propagator


def _events(model: Model) -> Events:
    """Events anywhere in phase space; where a mass is not known, or the parent too light, any other does."""
    decay = model.decay
    masses = [0.0 if p.massless else (p.mass or 1.0) for p in decay.final]
    known, total = decay.parent.mass, sum(masses)
    parent = known if known is not None and known > total else 1.5 * total + 1.0
    p4 = SequentialDecays(parent, masses, torch.device("cpu"), seed=0).momenta(PROBE_EVENTS)
    momenta = {label: p4[i].T.contiguous() for i, label in enumerate(decay.labels)}
    return Events(momenta, None, {column.name: column.probe(PROBE_EVENTS) for column in model.columns})
