"""The intensity of a model at given couplings and lineshape parameters, event by event, of all waves or of some."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.base.progress import Progress
from ctpwa.base.turns import TURN, in_turn
from ctpwa.data.event_column import checked_columns
from ctpwa.data.momenta import read_momenta
from ctpwa.data.stream import Piece
from ctpwa.engine.backends.batch import coupling_mix
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.backends.registry import make_engine
from ctpwa.engine.plan.channels import ModelChannels, model_channels
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.build import CallbackValues, find_rotation, in_pieces, sample_of, spin_stage
from ctpwa.engine.samples.sample import Sample
from ctpwa.model.model import Model, Wave
from ctpwa.model.parameter import Parameter, asymmetry_parts, with_formulas
from ctpwa.spin.rotate import RowRotation, RowsNeeded
from ctpwa.spin.stage import SpinStage

Selection = Sequence[str] | Callable[[Wave], bool]
AGREEMENT = 1e-9  # relative difference between a parameter that is given and its formula
CHUNK_BYTES = {"cpu": 64 << 20, "cuda": 256 << 20}  # by device


@dataclass(frozen=True)
class Sums:
    """Some of the events.

    Attributes:
        start, stop:  the first of them, and the one after the last
        intensity:    I of all waves, [event]
        psi:          coherent sum ψ of every group of waves, [group, row, event]
    """

    start: int
    stop: int
    intensity: Tensor
    psi: Tensor


class ModelIntensity:
    """I(x) = Σ_rows |Σ_waves c F K|² of events, in double precision.

    Args:
        model:        the model
        couplings:    complex couplings by name; those left out have the model's value, or are 1
        parameters:   lineshape parameters by name, such as ``phi(1680).mass``; those left out have the model's value
        engine:       ``auto``, ``cuda``, ``cpu`` or ``reference``
        device:       where to compute; default: a GPU if there is one
        chunk_bytes:  K and event table of the events that are in memory at a time; default: what suits the device
        conjugate:    of events of the charge-conjugate decay, read with ``conjugate``: couplings are c(1 − Δ) instead of c(1 + Δ)
    """

    def __init__(
        self,
        model: Model,
        *,
        couplings: Mapping[str, complex] | None = None,
        parameters: Mapping[str, float] | None = None,
        engine: str = "auto",
        device: str | torch.device | None = None,
        chunk_bytes: int | None = None,
        conjugate: bool = False,
    ) -> None:
        self.model, self.conjugate = model, conjugate
        # every wave has a coupling of its own here, so that waves can be left out one by one
        self.untied = replace(model, waves=tuple(replace(wave, coupling=wave.name) for wave in model.waves))
        own = model_channels(self.untied)
        self._wave_of = _waves_of(own.couplings, model.waves)
        self._coupling_of = [w.coupling + name.removeprefix(w.name) for name, w in zip(own.couplings, self._wave_of, strict=True)]
        self.couplings = _coupling_values(tuple(dict.fromkeys(self._coupling_of)), model.coupling_values, couplings or {})
        theta = _parameter_values(own.theta, parameters or {})
        self.parameters = {p.name: p.value for p in theta}
        self._channels = ModelChannels(own.couplings, own.specs, theta)
        self._c = self._effective()
        self._engine_name, self._device, self._chunk_bytes = engine, device, chunk_bytes
        self._ready: tuple[Plan, SpinStage, Engine] | None = None

    def of(self, conjugate: bool) -> ModelIntensity:
        """The same of the decay, or of its charge conjugate."""
        if conjugate == self.conjugate:
            return self
        other = copy(self)
        other.conjugate = conjugate
        other._c = other._effective()
        return other

    def _effective(self) -> np.ndarray:
        """Couplings with their asymmetries."""
        return np.array([self.couplings[name] * self._split(name) for name in self._coupling_of])

    def _of_engine(self, c: np.ndarray) -> np.ndarray:
        """Couplings of the engine, the last index: with one for every feed whose factors follow from parameters."""
        factors = self.model.production.rows(self.model.decay).factors
        if factors is None:
            return c
        V = factors.values(np.array([self.parameters[name] for name in factors.names]))
        if not np.isfinite(V).all():
            at = ", ".join(f"{name} = {self.parameters[name]:g}" for name in factors.names)
            raise PhysicsError(f"the density matrix of the parent is not positive at {at}", "give values that are physical")
        return (c[..., None] * V).reshape(*c.shape[:-1], -1)

    def _split(self, coupling: str) -> complex:
        """1 ± Δ of a coupling."""
        name = self.model.asymmetries.get(coupling)
        if name is None:
            return 1.0
        delta = complex(*(self.parameters[part] for part in asymmetry_parts(name)))
        return 1 - delta if self.conjugate else 1 + delta

    def __call__(self, events: Mapping[str, Any], waves: Selection | None = None, *, progress: bool | None = False) -> Tensor:
        """I of every event, [event].

        Args:
            events:    momenta by name, [event, 4] each
            waves:     the coherent sum of these only: their names, or a function that says for a wave whether it belongs to it
            progress:  show a progress bar; None: on a terminal when it takes more than two seconds
        """
        return self.components(events, {"": waves}, progress=progress)[""]

    def components(
        self, events: Mapping[str, Any], groups: Mapping[str, Selection | None], *, progress: bool | None = False
    ) -> dict[str, Tensor]:
        """I of several coherent sums of waves; spin amplitudes are computed once for all of them.

        Args:
            events:    momenta by name, [event, 4] each
            groups:    the waves of each sum: names, a function of a wave, or None for all
            progress:  show a progress bar; None: on a terminal when it takes more than two seconds
        """
        masked = {name: self._of_engine(np.where(self._selected(waves), self._c, 0)) for name, waves in groups.items()}
        piece = self._piece(events)
        found: dict[str, list[Tensor]] = {name: [] for name in groups}
        n_events = piece.n_events
        with Progress("intensities", n_events, show=progress) as bar:
            for start, sample, plan, engine in self._samples(piece):
                with TURN:
                    numbers = self._numbers(sample, plan, engine)
                    for name, c in masked.items():
                        found[name].append(engine.intensity(sample, c, numbers))
                bar.advance(min(start + sample.n_events, n_events) - start)
        return {name: torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64) for name, parts in found.items()}

    def sums(self, events: Mapping[str, Any], groups: Mapping[str, Selection | None], *, progress: bool | None = False) -> Iterator[Sums]:
        """I of all waves and coherent sums of groups of them, chunk by chunk; spin amplitudes and lineshapes are computed once.

        Args:
            events:    momenta by name, [event, 4] each
            groups:    the waves of each sum: names, a function of a wave, or None for all
            progress:  show a progress bar; None: on a terminal when it takes more than two seconds
        """
        masked = np.array([np.where(self._selected(waves), self._c, 0) for waves in groups.values()]).reshape(-1, len(self._c))
        mix, c = coupling_mix(self._of_engine(masked)), self._of_engine(self._c)
        piece = self._piece(events)
        n_events, n_c = piece.n_events, len(c)
        with Progress("amplitudes", n_events, show=progress) as bar:
            for first, sample, plan, engine in self._samples(piece):
                with TURN:
                    numbers = self._numbers(sample, plan, engine)
                    I, rows = engine.intensity(sample, c, numbers), torch.from_numpy(mix).to(engine.device)
                    pieces = engine.raw_columns(sample, numbers, 2 * len(groups) * plan.n_rows)
                while True:
                    with TURN:  # not while the caller works with what it gets
                        engine.set_numbers(c, numbers)
                        found = next(pieces, None)
                        if found is None:
                            break
                        start, stop, columns = found
                        D = columns.view(2, -1, columns.shape[1])[:, :n_c].reshape(2 * n_c, -1)  # without those of floating numbers
                        psi = (rows @ D).view(2, len(groups), D.shape[1] // (stop - start), stop - start)
                    yield Sums(first + start, first + stop, I[start:stop], torch.complex(psi[0], psi[1]))
                    bar.advance(stop - start)

    def coupling_of(self, wave: str) -> complex:
        """The coupling of a wave, or of one function of a wave whose lineshape has several, with its asymmetry."""
        return complex(self._c[self._channels.couplings.index(wave)])

    def waves_of(self, coupling: str) -> list[str]:
        """Names by which all waves with one coupling can be selected."""
        if coupling not in self.couplings:
            raise PhysicsError(f"no coupling is called {coupling!r}", suggest(coupling, self.couplings))
        return [name for name, own in zip(self._channels.couplings, self._coupling_of, strict=True) if own == coupling]

    def _numbers(self, sample: Sample, plan: Plan, engine: Engine) -> np.ndarray:
        """The iteration numbers; callbacks of the sample are filled in."""
        theta = np.array([self.parameters[name] for name in plan.parameters])
        CallbackValues(plan, theta, engine.device)(sample, 0)
        return plan.iteration.values(theta)

    def _piece(self, events: Mapping[str, Any]) -> Piece:
        """Events as the engine takes them."""
        p4 = read_momenta(dict(events), self.model.decay.labels)
        return Piece(p4, None, checked_columns(getattr(events, "columns", {}), self.model.columns, len(p4[0]), "events"))

    def _samples(self, events: Piece) -> Iterator[tuple[int, Sample, Plan, Engine]]:
        """Chunks of the events, ready for the engine."""
        start = 0
        while start < events.n_events:
            sample, plan, engine = self._sample(events, start)
            yield start, sample, plan, engine
            start += sample.n_events

    @in_turn
    def _sample(self, events: Piece, start: int) -> tuple[Sample, Plan, Engine]:
        """A chunk that begins with a given event."""
        if self._ready is None:
            self._prepare(find_rotation(self.model, [events]))
        assert self._ready is not None
        plan, stage, engine = self._ready
        chunk_bytes = self._chunk_bytes or CHUNK_BYTES.get(engine.device.type, CHUNK_BYTES["cuda"])
        size = max(chunk_bytes // plan.bytes_per_event, 1024)
        try:
            chunk = events.part(start, start + size)
            return sample_of(stage, plan, chunk.n_events, in_pieces(chunk)), plan, engine
        except RowsNeeded:  # the first events were not typical: keep all rows from now on
            rows = self.model.production.rows(self.model.decay)
            self._prepare(RowRotation(rows.n_rows, torch.ones(plan.n_structures)))
            return self._sample(events, start)

    def _prepare(self, rotation: RowRotation) -> None:
        plan = self._channels.plan(self.untied, rotation.n_rows)
        engine = make_engine(self._engine_name, plan, self._device)
        self._ready = engine.plan, spin_stage(self.untied, rotation, engine.device), engine

    def _selected(self, waves: Selection | None) -> np.ndarray:
        """Which of the untied couplings belong to a selection."""
        if waves is None:
            return np.ones(len(self._c), dtype=bool)
        if callable(waves):
            return np.array([bool(waves(wave)) for wave in self._wave_of])
        if isinstance(waves, str):
            raise PhysicsError(f"waves={waves!r} is one text, not a list of names", f"write waves=[{waves!r}]")
        names = self._channels.couplings
        known = {*names, *(wave.name for wave in self.model.waves)}
        for name in waves:
            if name not in known:
                raise PhysicsError(f"no wave is called {name!r}", suggest(name, known))
        return np.array([wave.name in waves or name in waves for wave, name in zip(self._wave_of, names, strict=True)])


def _waves_of(names: Sequence[str], waves: Sequence[Wave]) -> list[Wave]:
    """The wave of every coupling: names are those of waves, followed by :LABEL for each lineshape that is a basis."""
    by_name = {wave.name: wave for wave in waves}
    result = []
    for name in names:
        beginning = name
        while beginning not in by_name:
            beginning = beginning.rpartition(":")[0]
        result.append(by_name[beginning])
    return result


def _coupling_values(names: Sequence[str], defaults: Mapping[str, complex], given: Mapping[str, complex]) -> dict[str, complex]:
    for name, value in given.items():
        if name not in names:
            raise PhysicsError(f"no coupling is called {name!r}", suggest(name, names))
        if not np.isfinite(value):
            raise PhysicsError(f"the coupling {name!r} is {value}", "give a finite number")
    return {name: complex(given[name] if name in given else defaults.get(name, 1.0)) for name in names}


def _parameter_values(theta: Sequence[Parameter], given: Mapping[str, float]) -> tuple[Parameter, ...]:
    known = {p.name: p for p in theta}
    for name, value in given.items():
        if name not in known:
            raise PhysicsError(f"no lineshape parameter is called {name!r}", suggest(name, known))
        if not known[name].lower <= value <= known[name].upper:
            raise PhysicsError(f"{name!r} is {value}", f"give a number from {known[name].lower:g} to {known[name].upper:g}")
    found = with_formulas([replace(p, value=float(given.get(p.name, p.value))) for p in theta])
    for p in found:
        if p.formula and p.name in given and not np.isclose(p.value, given[p.name], rtol=AGREEMENT, atol=0):
            raise PhysicsError(f"{p.name!r} is {given[p.name]}, and {p.formula} is {p.value}", "give what it is made of")
    return found
