"""Toy data: events distributed like the intensity of a model, by accept–reject."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ctpwa.base.errors import GenerationError
from ctpwa.base.progress import Progress
from ctpwa.data.density import Density
from ctpwa.data.events import Events, concatenate
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.generate.accepted import SAFETY, Accepted
from ctpwa.generate.background_toys import generate_background, parts_of
from ctpwa.generate.masses import checked_device
from ctpwa.generate.proposal import EventProposal
from ctpwa.generate.reactions import generated_events
from ctpwa.generate.room import check_count
from ctpwa.model.model import Model

Efficiency = Callable[[Events], Any]
PILOT_SEED = 0x70C1_70C1  # the proposal is part of the generator: it does not depend on the seed of the toy
MIN_BLOCK, BLOCK, GPU_BLOCK = 1 << 10, 1 << 15, 1 << 19  # events tried at a time; a GPU is idle with few of them


@dataclass(frozen=True)
class ToySettings:
    """What a generator does before the first toy, and how long it goes on. How events are distributed does not depend on it; which ones a
    seed gives does.

    Attributes:
        pilot_rounds, pilot_events:  to find out where the model has its peaks
        maximum_events:              to find the largest weight
        block:                       events tried at a time; None: as many as suit the device
        max_tries:                   for one accepted event
    """

    pilot_rounds: int = 10
    pilot_events: int = 1 << 12
    maximum_events: int = 1 << 14
    block: int | None = None
    max_tries: int = 10_000_000


USUAL = ToySettings()


def generate_toy(
    model: Model,
    n: int,
    seed: int = 0,
    *,
    couplings: Mapping[str, complex] | None = None,
    parameters: Mapping[str, float] | None = None,
    efficiency: Efficiency | None = None,
    columns: Mapping[str, float | Sequence[float]] | None = None,
    backgrounds: Sequence[tuple[Density, float]] = (),
    device: str | torch.device = "cpu",
    engine: str = "auto",
    progress: bool | None = None,
    conjugate: bool = False,
) -> Events:
    """Unweighted events distributed like the intensity of a model, in the rest frame of the parent, or where the beam of a production is.

    The same arguments give the same events; CPU and GPU have different random streams. For many toys of one model make a ``ToyGenerator``
    once.

    Args:
        model:       the model
        n:           number of events
        seed:        seed of the random numbers
        couplings:   true values of the complex couplings by name; those left out have the model's value, or are 1
        parameters:  true values of lineshape parameters by name; those left out have the model's value
        efficiency:  function of events: the probability in [0, 1] of keeping each; default: all are kept
        columns:     event columns of the model by name, with the numbers that all events get
        backgrounds: densities of background, each with the fraction of all events that it has on average; the order of events is random
        device:      where to generate
        engine:      engine that computes intensities
        progress:    show a progress bar; default: on a terminal when it takes more than two seconds
        conjugate:   of the charge-conjugate decay, with couplings c(1 − Δ) instead of c(1 + Δ): events as ``read_events`` reads them
                     with ``conjugate``
    """
    check_count(n, seed, len(model.final_names), checked_device(device))  # before the generator, which takes seconds
    generator = ToyGenerator(
        model,
        couplings=couplings,
        parameters=parameters,
        efficiency=efficiency,
        columns=columns,
        device=device,
        engine=engine,
        conjugate=conjugate,
    )
    named = [(str(k + 1), density, fraction) for k, (density, fraction) in enumerate(backgrounds)]
    return generator.generate(n, seed, backgrounds=named, progress=progress).events


@dataclass(frozen=True)
class Toy:
    """Toy data and how they came about.

    Attributes:
        events:      the events
        tried:       how many were tried, of signal
        raised:      how often a weight above the largest one known turned up
        components:  0 for an event of signal, 1, 2, … for one of a background, [event]; None if there is only signal
    """

    events: Events
    tried: int
    raised: int
    components: Tensor | None = None

    @property
    def n_signal(self) -> int:
        """Events of signal."""
        return self.events.n_events if self.components is None else int((self.components == 0).sum())

    @property
    def acceptance(self) -> float:
        """Accepted events among those that were tried."""
        return self.n_signal / self.tried if self.tried else 0.0


class ToyGenerator:
    """Makes toy data of one model.

    Events come from a mixture of decay chains that follows the peaks of the model (see ``EventProposal``), with weight w = I ε / g, and
    are accepted if w exceeds a uniform number times the largest weight. If a larger weight turns up later, all events accepted so
    far are compared with it again, which keeps the distribution exact.

    Args:
        model:       the model
        couplings:   true values of the complex couplings by name; those left out have the model's value, or are 1
        parameters:  true values of lineshape parameters by name; those left out have the model's value
        efficiency:  function of events: the probability in [0, 1] of keeping each; default: all are kept
        columns:     event columns of the model by name, with the numbers that all events get
        device:      where to generate
        engine:      engine that computes intensities
        settings:    what to do before the first toy, and when to give up
        conjugate:   of the charge-conjugate decay, see ``generate_toy``
    """

    def __init__(
        self,
        model: Model,
        *,
        couplings: Mapping[str, complex] | None = None,
        parameters: Mapping[str, float] | None = None,
        efficiency: Efficiency | None = None,
        columns: Mapping[str, float | Sequence[float]] | None = None,
        device: str | torch.device = "cpu",
        engine: str = "auto",
        settings: ToySettings = USUAL,
        conjugate: bool = False,
    ) -> None:
        self.model, self.efficiency, self.device, self.settings = model, efficiency, checked_device(device), settings
        self._columns = dict(columns or {})
        self.intensity = ModelIntensity(
            model, couplings=couplings, parameters=parameters, engine=engine, device=self.device, conjugate=conjugate
        )
        self.proposal = EventProposal(model, self.intensity.parameters, self.device)
        random = torch.Generator(device=self.device).manual_seed(PILOT_SEED)
        for _ in range(settings.pilot_rounds):
            p4, _ = self._try(settings.pilot_events, random)
            w, g = self._weights(p4)
            self._check_pilot(w)
            self.proposal.improve(w, g)
        w, _ = self._weights(self._try(settings.maximum_events, random)[0])
        self._check_pilot(w)
        self.maximum = SAFETY * float(w.max())
        self.expected_acceptance = float(w.mean()) / self.maximum

    def generate(
        self, n: int, seed: int = 0, *, backgrounds: Sequence[tuple[str, Density, float]] = (), progress: bool | None = None
    ) -> Toy:
        """A toy of ``n`` events.

        Args:
            n:            number of events
            seed:         seed of the random numbers
            backgrounds:  names and densities of background, each with the fraction of all events that it has on average; with them the
                          order of events is random
            progress:     show a progress bar; default: on a terminal when it takes more than two seconds
        """
        n = check_count(n, seed, len(self.model.final_names), self.device)
        if not backgrounds:
            return self._signal(n, seed, progress)
        n_signal, *numbers = parts_of(n, [fraction for _, _, fraction in backgrounds], seed)
        signal = self._signal(n_signal, seed, progress)
        parts, how = [signal.events], {"efficiency": self.efficiency, "columns": self._columns, "device": self.device}
        for k, ((name, density, _), number) in enumerate(zip(backgrounds, numbers, strict=True)):
            parts.append(generate_background(self.model, density, number, seed, k, name=name, **how))  # type: ignore[arg-type]
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).to(self.device)
        components = torch.repeat_interleave(torch.tensor([n_signal, *numbers])).to(self.device)[order]
        return Toy(concatenate(parts).picked(order), signal.tried, signal.raised, components)

    def _signal(self, n: int, seed: int, progress: bool | None) -> Toy:
        random = torch.Generator(device=self.device).manual_seed(seed)
        block = self.settings.block or (BLOCK if self.device.type == "cpu" else GPU_BLOCK)
        size = min(block, MIN_BLOCK + int(1.1 * n / self.expected_acceptance))
        accepted = Accepted(n, self.maximum, self.device, self.proposal.n_rows)
        with Progress("toy events", n, show=progress) as bar:
            while accepted.n < n:
                before = accepted.n
                p4, uniform = self._try(size, random)
                accepted.add(p4, self._weights(p4)[0], uniform)
                bar.advance(accepted.n - before)
                if accepted.tried > self.settings.max_tries * max(accepted.n, 1):
                    raise GenerationError(
                        f"only {accepted.n} of {accepted.tried} events were accepted\n fix: check the couplings, the widths of narrow"
                        " resonances and the efficiency"
                    )
        return Toy(self._events(accepted.momenta()), accepted.tried, accepted.raised)

    def _events(self, p4: Tensor) -> Events:
        return generated_events(self.model, p4, self._columns, self.proposal.reactions)

    def _try(self, n: int, random: torch.Generator) -> tuple[Tensor, Tensor]:
        """Rows [row, 4, event] of the proposal, and a uniform number for each event; an event takes its random numbers in a row."""
        uniform = torch.rand(n, self.proposal.n_uniform + 1, generator=random, device=self.device, dtype=torch.float64)
        uniform = uniform.T.contiguous()
        return self.proposal.draw(uniform[1:]), uniform[0]

    def _weights(self, p4: Tensor) -> tuple[Tensor, Tensor]:
        """Weights I ε / g of events, and g of all channels."""
        events = self._events(p4)
        g = self.proposal.densities(p4)
        w = self.intensity(events) / self.proposal.density(g)
        if self.efficiency is not None:
            w = w * _checked_efficiency(self.efficiency(events), p4)
        if not bool(w.isfinite().all()):
            index = int((~w.isfinite()).nonzero()[0, 0])
            masses = ", ".join(f"{name} {[round(float(x), 6) for x in p4[i, :, index]]}" for i, name in enumerate(self.model.final_names))
            raise GenerationError(f"the intensity is not finite at {masses}\n fix: check the lineshapes and their parameters")
        return w, g

    def _check_pilot(self, w: Tensor) -> None:
        if not bool((w > 0).any()):
            what = "the intensity times the efficiency is" if self.efficiency is not None else "the intensity is"
            raise GenerationError(
                f"{what} zero for all of {len(w)} events\n fix: give some couplings other values than 0, and check the efficiency"
            )


def _checked_efficiency(values: Any, p4: Tensor) -> Tensor:
    efficiency = torch.as_tensor(values, dtype=torch.float64, device=p4.device)
    if efficiency.shape != p4.shape[-1:]:
        shape = "×".join(map(str, efficiency.shape)) or "a single number"
        raise GenerationError(f"the efficiency of {p4.shape[-1]} events has shape {shape}\n fix: return one number per event")
    wrong = ~((efficiency >= 0) & (efficiency <= 1))
    if bool(wrong.any()):
        value = float(efficiency[wrong][0])
        raise GenerationError(f"the efficiency is {value:g} for some event\n fix: return numbers from 0 to 1; divide by the largest value")
    return efficiency
