"""n-body phase space: isotropic two-body decays in sequence, weighted or unweighted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import GenerationError
from ctpwa.base.progress import Progress
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.data.event_column import constant_columns
from ctpwa.data.events import Events
from ctpwa.data.own_part import OwnPart
from ctpwa.decay.chain import Decay, Held
from ctpwa.generate.flat_reactions import flat_reactions
from ctpwa.generate.masses import checked_device, particle_masses
from ctpwa.generate.reactions import reactions_of
from ctpwa.generate.room import check_count
from ctpwa.kinematics.lorentz import from_rest_frame
from ctpwa.kinematics.sequential_decays import SequentialDecays, on_shell
from ctpwa.model.model import Model

DIFFERENCE, MOST_STEPS = 1e-3, 100  # of the search for the largest weight
MIN_CHUNK, CHUNK = 1 << 10, 1 << 18  # events per step; part of what a seed means, so it does not depend on the machine


def generate_phase_space(
    model_or_masses: Model | Mapping[str, float] | Sequence[float],
    n: int,
    seed: int = 0,
    *,
    weighted: bool = False,
    columns: Mapping[str, float | Sequence[float]] | None = None,
    device: str | torch.device = "cpu",
    progress: bool | None = None,
    ranks: Ranks | None = None,
) -> Events:
    """Events distributed flat in Lorentz-invariant phase space, in the rest frame of the parent; those of a production as (F13.8) says,
    where its beam is.

    The same arguments give the same events; CPU and GPU have different random streams.

    Args:
        model_or_masses:  a model; or masses in GeV, the parent's first: ``{"J/psi": 3.0969, "K+": 0.4937, …}`` or a plain list
        n:                number of events
        seed:             seed of the random numbers
        weighted:         keep all generated events and give weights (mean 1) instead of accept–reject
        columns:          event columns of the model by name, with the numbers that all events get
        device:           where to generate
        progress:         show a progress bar; default: on a terminal when it takes more than two seconds
        ranks:            processes that share the events: all of them generate, each keeps its own; default: all are kept
    """
    ranks = ranks or ONE
    where = checked_device(device)
    if isinstance(model_or_masses, Model) and (reactions := reactions_of(model_or_masses, where)) is not None:
        return flat_reactions(model_or_masses, reactions, n, seed, weighted, columns or {}, progress, ranks)
    _, final = particle_masses(model_or_masses)
    n = check_count(n, seed, len(final), where, ranks.size)
    sampler = phase_space_sampler(model_or_masses, where, seed)
    pieces: list[tuple[Tensor, Tensor]] = [sampler.sample(0)]
    first, last = ranks.share(n)
    done, total = 0, 0.0
    with Progress("phase space", n, show=progress if ranks.first else False) as bar:
        while done < n:
            if weighted:
                p4, weight = sampler.sample(min(CHUNK, n - done))
            else:
                p4, weight = sampler.sample_accepted(min(CHUNK, max(2 * n, MIN_CHUNK)), n - done)
            own = slice(max(first - done, 0), max(last - done, 0))
            pieces.append((p4[..., own], weight[own]) if ranks.size > 1 else (p4, weight))
            total += float(weight.sum()) if ranks.size > 1 and weighted else 0.0
            done += weight.numel()
            bar.advance(weight.numel())
    momenta = torch.cat([p4 for p4, _ in pieces], dim=-1)
    by_name = {name: momenta[i].T.contiguous() for i, name in enumerate(final)}
    part = OwnPart(((first, last),), n) if ranks.size > 1 else None
    declared = model_or_masses.columns if isinstance(model_or_masses, Model) else ()
    constant = constant_columns(columns or {}, declared, momenta.shape[-1])
    if not weighted:
        return Events(by_name, None, constant, part=part)
    weights = torch.cat([weight for _, weight in pieces])
    mean = total / max(n, 1) if ranks.size > 1 else weights.mean()
    return Events(by_name, weights / mean if n else weights, constant, part=part)


def phase_space_sampler(
    source: Model | Mapping[str, float] | Sequence[float], device: torch.device, seed: int
) -> PhaseSpaceSampler | CascadeSampler:
    """What makes the events of a model or of masses.

    Args:
        source:  a model, or masses in GeV, the parent's first
        device:  where to generate
        seed:    seed of the random numbers
    """
    parent, final = particle_masses(source)
    if isinstance(source, Model) and source.decay.held:
        return CascadeSampler(cascade_stages(source.decay), len(final), device, seed)
    return PhaseSpaceSampler(parent, list(final.values()), device, seed)


@dataclass(frozen=True)
class Stage:
    """A decay of one state in a cascade: the parent, or a state on its mass shell.

    Attributes:
        system:  indices of all final particles below
        mass:    GeV
        parts:   systems that it decays to: states on their mass shell, and final particles
        masses:  their masses, GeV
    """

    system: tuple[int, ...]
    mass: float
    parts: tuple[tuple[int, ...], ...]
    masses: tuple[float, ...]


def cascade_stages(decay: Decay) -> list[Stage]:
    """The parent and its states on their mass shell, each before those inside it."""
    whole = tuple(range(len(decay.final)))
    stages = []
    for mass, system in [(float(decay.parent.mass or 0.0), whole), *((state.mass, state.place) for state in decay.held)]:
        parts = [part.place if isinstance(part, Held) else (part,) for part in decay.parts(system)]
        stages.append(Stage(system, mass, tuple(parts), tuple(decay.lowest_mass(part) for part in parts)))
    return stages


class PhaseSpaceSampler(SequentialDecays):
    """Raubold–Lynch: sequential decays with weights, since

        dΦ_n ∝ Π_{k=2..n} q(M_k; M_{k−1}, m_k) · dM_2 … dM_{n−1} dΩ_2 … dΩ_n                       (F12)

    so an event has weight Π q.
    """

    def sample(self, n: int) -> tuple[Tensor, Tensor]:
        """``n`` events: momenta [particle, 4, event] and weights [event]."""
        drawn = self.draw(n)
        return self.decay(*drawn), drawn[1].prod(dim=0)

    def sample_accepted(self, n: int, most: int) -> tuple[Tensor, Tensor]:
        """What accept–reject leaves of ``n`` events, and no more than ``most`` of them; only these get momenta."""
        drawn = self.draw(n)
        weight = drawn[1].prod(dim=0)
        kept = self.accept(weight).nonzero()[:most, 0]
        return self.decay(*(numbers[:, kept] for numbers in drawn)), weight[kept]

    def accept(self, weight: Tensor) -> Tensor:
        """Which events to keep so that the rest is unweighted."""
        if bool((weight > self.max_weight).any()):
            raise GenerationError("a phase-space weight exceeds its maximum; please report these masses")
        return torch.rand(weight.shape, generator=self.random, device=self.device, dtype=torch.float64) * self.max_weight < weight

    @cached_property
    def max_weight(self) -> float:
        """The largest weight, by maximising Σ ln q over the gaps between the ordered masses; 1e-6 above it."""
        free = len(self.masses) - 2

        def log_weight(x: np.ndarray) -> np.ndarray:
            gaps = np.exp(np.vstack([x, np.zeros(x.shape[1])]))
            ordered = torch.tensor(np.cumsum(gaps / gaps.sum(axis=0), axis=0)[:free], dtype=torch.float64)
            q = self._momenta(self._intermediate_masses(ordered))
            return q.clamp(min=1e-300).log().sum(dim=0).numpy()

        starts = [np.zeros(free), np.linspace(-1.0, 1.0, free), np.linspace(1.0, -1.0, free)]
        return float(np.exp(max(_maximum(log_weight, start) for start in starts[: 1 if free == 0 else None]))) * (1 + 1e-6)


def _maximum(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> float:
    """A maximum of a smooth function, near a point, by Newton's method with differences for derivatives.

    Args:
        function:  values at points [coordinate, point]
        x:         where to start [coordinate]
    """
    n, h = len(x), DIFFERENCE
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    unit = np.eye(n)
    around = np.hstack([np.zeros((n, 1)), h * unit, -h * unit, *(h * (unit[:, [i]] + unit[:, [j]]) for i, j in pairs)])
    at_x, *others = function(x[:, None] + around)
    for _ in range(MOST_STEPS):
        up, down = np.array(others[:n]), np.array(others[n : 2 * n])
        curvature = np.diag(up + down - 2 * at_x) / h**2
        for (i, j), both in zip(pairs, others[2 * n :], strict=True):
            curvature[i, j] = curvature[j, i] = (both - up[i] - up[j] + at_x) / h**2
        slope, (size, axes) = (up - down) / (2 * h), np.linalg.eigh(curvature)
        step = axes @ ((axes.T @ slope) / np.maximum(np.abs(size), 1e-8))
        step /= max(1.0, np.abs(step).max(initial=0.0))
        if slope @ step < 1e-14:
            break
        tried = x[:, None] + step[:, None] * 0.5 ** np.arange(30)
        values = function(tried)
        if not values.max() > at_x:
            break
        x = tried[:, values.argmax()]
        at_x, *others = function(x[:, None] + around)
    return float(at_x)


class CascadeSampler:
    """Phase space with states on their mass shell: that of the parent's decay to them, times that of each of their decays           (F12)

    Args:
        stages:       the decays, each before those of its parts
        n_particles:  final particles
        device:       where to generate
        seed:         seed of the random numbers
    """

    def __init__(self, stages: Sequence[Stage], n_particles: int, device: torch.device, seed: int) -> None:
        self.stages, self.n_particles = list(stages), n_particles
        self.samplers = [PhaseSpaceSampler(stage.mass, stage.masses, device, seed) for stage in stages]
        self.random = self.samplers[0].random

    @property
    def random(self) -> torch.Generator:
        """The random numbers, which all decays share."""
        return self.samplers[0].random

    @random.setter
    def random(self, random: torch.Generator) -> None:
        for sampler in self.samplers:
            sampler.random = random

    def sample(self, n: int) -> tuple[Tensor, Tensor]:
        """``n`` events: momenta [particle, 4, event] and weights [event]."""
        drawn = [sampler.draw(n) for sampler in self.samplers]
        return self._decay(drawn), self._weight(drawn)

    def sample_accepted(self, n: int, most: int) -> tuple[Tensor, Tensor]:
        """What accept–reject leaves of ``n`` events, and no more than ``most`` of them; only these get momenta."""
        drawn = [sampler.draw(n) for sampler in self.samplers]
        kept = torch.stack([sampler.accept(own[1].prod(dim=0)) for sampler, own in zip(self.samplers, drawn, strict=True)]).all(dim=0)
        index = kept.nonzero()[:most, 0]
        return self._decay([tuple(numbers[:, index] for numbers in own) for own in drawn]), self._weight(drawn)[index]

    @staticmethod
    def _weight(drawn: Sequence[tuple[Tensor, ...]]) -> Tensor:
        return torch.stack([own[1].prod(dim=0) for own in drawn]).prod(dim=0)

    def _decay(self, drawn: Sequence[tuple[Tensor, ...]]) -> Tensor:
        """Every decay in the rest frame of its state, boosted to where that is."""
        p4: dict[tuple[int, ...], Tensor] = {}
        for stage, sampler, own in zip(self.stages, self.samplers, drawn, strict=True):
            momenta = sampler.decay(*own)
            if stage.system in p4:
                frame, mass = p4[stage.system], torch.full_like(momenta[0, 0], stage.mass)
                boosted = (from_rest_frame(p, frame, mass) for p in momenta)
                momenta = torch.stack([on_shell(p, m) for p, m in zip(boosted, stage.masses, strict=True)])
            p4.update(zip(stage.parts, momenta, strict=True))
        return torch.stack([p4[(i,)] for i in range(self.n_particles)])
