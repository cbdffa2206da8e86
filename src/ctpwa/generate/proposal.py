"""Phase-space points where a model has its peaks: a mixture over decay chains, with a density that is known exactly.

In the variables of any chain of two-body decays phase space is

    dΦ ∝ Π_vertices q dΩ · Π_systems dm                                                          (F12)

without dm of systems that are on their mass shell. If a beam makes the parent its mass is one of these m, and e^{bt} dt a further factor
(F13.8). So events whose masses m follow densities h and whose angles are isotropic have the
density g = Π h(m) / Π q relative to dΦ. The mixture Σ α g over many chains and densities follows narrow resonances in any pair or larger
group of particles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import pi
from typing import Protocol

import torch
from torch import Tensor

from ctpwa.decay.chain import Held
from ctpwa.decay.symmetry import Term
from ctpwa.generate.masses import final_masses, particle_masses
from ctpwa.generate.reactions import Reactions, reactions_of
from ctpwa.kinematics.lorentz import from_rest_frame, mass_squared
from ctpwa.kinematics.sequential_decays import on_shell
from ctpwa.kinematics.two_body import breakup_momentum_squared
from ctpwa.model.model import Model, Wave

System = tuple[int, ...]  # indices of final particles, in order
Tree = tuple[tuple[System, System, System], ...]  # vertices (decaying system, first and second daughter), parents before daughters
UNKNOWN_WIDTHS = (0.03, 0.15)  # GeV, tried for a lineshape that has a mass but no width
NARROW, WIDER = 0.03, (4, 16)  # GeV; below it the tail matters as well: barriers and interference lift it above a Breit-Wigner
LARGE_WEIGHTS = 4  # power of the weights that is made small
MAX_CHANNELS = 160
SMALLEST_SHARE = 0.02  # of the events is spread evenly over all channels, so that none is ever forgotten
TINY = 1e-30


class MassDensity(Protocol):
    """How the mass of a system is distributed between its limits."""

    def draw(self, u: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """Masses from uniform numbers."""

    def density(self, m: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """The probability density that ``draw`` has at m."""


@dataclass(frozen=True)
class FlatMass:
    """Uniform."""

    def draw(self, u: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """Masses from uniform numbers."""
        return low + (high - low) * u

    def density(self, m: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """The probability density that ``draw`` has at m."""
        return 1 / (high - low).clamp(min=TINY)


@dataclass(frozen=True)
class EdgeMass:
    """Rising like 1/√(high − m) to the upper limit.

    As a resonance decays to a heavier and heavier system, the phase space of its own decay, and with it its running width, goes to zero:
    at its nominal mass |F|² is proportional to 1/q². The density 1/q · 1/√(high − m) has the same shape, so that weights stay finite.
    """

    def draw(self, u: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """Masses from uniform numbers."""
        return high - (high - low) * u.square()

    def density(self, m: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """The probability density that ``draw`` has at m."""
        return 1 / (2 * ((high - low) * (high - m)).clamp(min=TINY).sqrt())


@dataclass(frozen=True)
class PeakMass:
    """A Breit-Wigner of constant width, cut off at the limits.

    Attributes:
        mass, width:  in GeV
    """

    mass: float
    width: float

    def _angles(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        return self._angle(low), self._angle(high)

    def _angle(self, m: Tensor) -> Tensor:
        return ((m.square() - self.mass**2) / (self.mass * self.width)).atan()

    def draw(self, u: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """Masses from uniform numbers."""
        first, last = self._angles(low, high)
        s = self.mass**2 + self.mass * self.width * (first + (last - first) * u).tan()
        return s.clamp(min=0).sqrt().clamp(min=low, max=high)

    def density(self, m: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """The probability density that ``draw`` has at m."""
        first, last = self._angles(low, high)
        scale = self.mass * self.width
        peak = scale / ((m.square() - self.mass**2).square() + scale**2)
        return 2 * m * peak / (last - first).clamp(min=TINY)


@dataclass(frozen=True)
class Mixed:
    """Several densities, each for its share of the events.

    Attributes:
        parts:  shares, which add up to 1, and densities
    """

    parts: tuple[tuple[float, MassDensity], ...]

    def draw(self, u: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """Masses from uniform numbers: which part it is and where, both from one number."""
        m, begin = torch.empty_like(u), 0.0
        for index, (share, h) in enumerate(self.parts):
            end = begin + share if index + 1 < len(self.parts) else float("inf")
            (events,) = torch.nonzero((u >= begin) & (u < end), as_tuple=True)
            m[events] = h.draw(((u[events] - begin) / share).clamp(max=1), low[events], high[events])
            begin += share
        return m

    def density(self, m: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """The probability density that ``draw`` has at m."""
        total = torch.zeros_like(m)
        for share, h in self.parts:
            total += share * h.density(m, low, high)
        return total


@dataclass(frozen=True)
class Branch:
    """One way to make events: a chain, and a density for the mass of each system in it that has no fixed mass."""

    tree: Tree
    densities: tuple[tuple[System, MassDensity], ...]


class EventProposal:
    """A mixture of channels for a model.

    Args:
        model:       gives the chains and their resonances
        parameters:  lineshape parameters by name; masses and widths are those of the peaks
        device:      where to generate
        most:        combinations of densities; where there are more, few of them are used, since the rest is not worth its time
        channels:    the channels themselves, instead of all those combinations
    """

    def __init__(
        self,
        model: Model,
        parameters: Mapping[str, float],
        device: torch.device,
        most: int = MAX_CHANNELS,
        channels: Sequence[Branch] | None = None,
    ) -> None:
        self.reactions: Reactions | None = reactions_of(model, device)
        self.parent: float | None = None
        final = final_masses(model.decay)
        if self.reactions is None:
            self.parent, final = particle_masses(model)
        self.decay, self.masses, self.device = model.decay, list(final.values()), device
        self._held = {state.place: state.mass for state in model.decay.held}
        self.channels = _channels(model, parameters, most) if channels is None else tuple(channels)
        self.shares = torch.full((len(self.channels),), 1 / len(self.channels), dtype=torch.float64, device=device)
        self._trees = tuple(dict.fromkeys(channel.tree for channel in self.channels))
        self._tree_index = torch.tensor([self._trees.index(channel.tree) for channel in self.channels], device=device)
        self._users = self._find_users()

    def _find_users(self) -> dict[tuple[Tree, System], dict[MassDensity, Tensor]]:
        """For each system of each chain its densities, and for each of them which channels use it."""
        users: dict[tuple[Tree, System], dict[MassDensity, Tensor]] = {}
        for index, channel in enumerate(self.channels):
            for system, h in channel.densities:
                own = users.setdefault((channel.tree, system), {})
                own.setdefault(h, torch.zeros(len(self.channels), dtype=torch.bool, device=self.device))[index] = True
        return users

    @property
    def n_uniform(self) -> int:
        """Uniform numbers that one event takes: a channel, n − 2 masses without fixed ones, n − 1 directions; in a production those of its
        reaction, and the mass of X.
        """
        return 3 * len(self.masses) - 3 - len(self._held) + (0 if self.reactions is None else 1 + self.reactions.n_uniform)

    @property
    def n_rows(self) -> int:
        """Rows of four numbers of an event: the momenta of its particles, and what reactions add."""
        return len(self.masses) + (0 if self.reactions is None else self.reactions.n_rows)

    def draw(self, uniform: Tensor) -> Tensor:
        """Rows [row, 4, event] from uniform numbers [``n_uniform``, event]: momenta in the rest frame of the parent, or where a beam is."""
        p4 = torch.empty(self.n_rows, 4, uniform.shape[1], dtype=torch.float64, device=self.device)
        edges = self.shares.cumsum(0)
        chosen = torch.searchsorted(edges / edges[-1], uniform[0]).clamp(max=len(self.channels) - 1)
        tree_of_event = self._tree_index[chosen]
        for index, tree in enumerate(self._trees):
            (events,) = torch.nonzero(tree_of_event == index, as_tuple=True)
            if len(events):
                p4[..., events] = self._decay(tree, chosen[events], uniform[1:, events])
        return p4

    def _decay(self, tree: Tree, chosen: Tensor, uniform: Tensor) -> Tensor:
        """Momenta of events that all have one chain; ``chosen`` are their channels."""
        reactions, beam = self.reactions, None
        if reactions is not None:
            beam, of_reaction = reactions.beam(reactions.exposure.energy.draw(uniform[-1])), uniform[-reactions.n_uniform : -1]
        rows = iter(uniform)
        m = self._known_masses(uniform.shape[1])
        for system, low, high in self._ranges(tree, m, beam):
            u, mass = next(rows), torch.empty_like(low)
            for h, of_channel in self._users[tree, system].items():
                (events,) = torch.nonzero(of_channel[chosen], as_tuple=True)
                mass[events] = h.draw(u[events], low[events], high[events])
            m[system] = mass
        whole = tree[0][0]
        zero = torch.zeros_like(m[whole])
        p4 = {whole: torch.stack([m[whole], zero, zero, zero])}
        for system, first, second in tree:
            q = _momentum(m, system, first, second)
            cos_theta, phi = 2 * next(rows) - 1, 2 * pi * next(rows)
            sin_theta = (1 - cos_theta.square()).sqrt()
            p3 = q * torch.stack([sin_theta * phi.cos(), sin_theta * phi.sin(), cos_theta])
            for daughter, sign in ((first, 1), (second, -1)):
                energy = (q.square() + m[daughter].square()).sqrt()
                p4[daughter] = from_rest_frame(torch.cat([energy[None], sign * p3]), p4[system], m[system])
        final = torch.stack([on_shell(p4[(i,)], mass) for i, mass in enumerate(self.masses)])
        return final if reactions is None or beam is None else reactions.place(final, m[whole], beam, of_reaction)

    def _known_masses(self, n: int) -> dict[System, Tensor]:
        one = torch.ones(n, dtype=torch.float64, device=self.device)
        fixed = {(i,): mass for i, mass in enumerate(self.masses)} | self._held
        fixed |= {} if self.parent is None else {tuple(range(len(self.masses))): self.parent}
        return {system: mass * one for system, mass in fixed.items()}

    def _ranges(self, tree: Tree, m: Mapping[System, Tensor], beam: Tensor | None) -> Iterator[tuple[System, Tensor, Tensor]]:
        """Every system of a chain with the limits of its mass, which depend on the masses before it; first that of X that a beam made."""
        if self.reactions is not None and beam is not None:
            yield tree[0][0], *self.reactions.mass_limits(beam)
        for system, first, second in tree:
            if len(first) > 1 and first not in self._held:
                yield first, self._threshold(first, m), m[system] - self._threshold(second, m)
            if len(second) > 1 and second not in self._held:
                yield second, self._threshold(second, m), m[system] - m[first]

    def _threshold(self, system: System, m: Mapping[System, Tensor]) -> Tensor:
        return torch.full_like(m[(0,)], self.decay.lowest_mass(system))

    def densities(self, p4: Tensor) -> Tensor:
        """The density g of every channel [channel, event] at rows [row, 4, event], up to a common constant."""
        m = self._known_masses(p4.shape[-1])
        beam = None if self.reactions is None else p4[len(self.masses)]
        for system in {system for tree in self._trees for vertex in tree for system in vertex} - m.keys():
            m[system] = mass_squared(p4[list(system)].sum(dim=0)).clamp(min=0).sqrt()
        result = torch.empty(len(self.channels), p4.shape[-1], dtype=torch.float64, device=self.device)
        for tree in self._trees:
            q = torch.stack([_momentum(m, *vertex) for vertex in tree]).prod(dim=0)
            if self.reactions is not None and beam is not None:
                q = q * self.reactions.integral(beam, m[tree[0][0]])
            per_q = 1 / q.clamp(min=TINY)
            known = {
                (system, h): h.density(m[system], low, high)
                for system, low, high in self._ranges(tree, m, beam)
                for h in self._users[tree, system]
            }
            for row, channel in zip(result, self.channels, strict=True):
                if channel.tree == tree:
                    row.copy_(per_q)
                    for choice in channel.densities:
                        row.mul_(known[choice])
        return result

    def density(self, g: Tensor) -> Tensor:
        """Σ α g [event] from the densities of all channels."""
        return self.shares @ g

    def improve(self, weights: Tensor, g: Tensor) -> None:
        """Move the shares of the channels towards where weights are large.

        α ← α · ⟨w⁴ g_channel/g⟩^(1/4): the method of Kleiss and Pittau with the fourth power instead of the second, since the largest
        weights decide how many events are accepted.

        Args:
            weights:  I/g of events drawn with the present shares
            g:        densities of all channels
        """
        w = weights / weights.mean()
        gain = ((w**LARGE_WEIGHTS / self.density(g)) * g).mean(dim=1).pow(1 / LARGE_WEIGHTS)
        shares = self.shares * gain
        self.shares = (1 - SMALLEST_SHARE) * shares / shares.sum() + SMALLEST_SHARE / len(shares)


def _momentum(m: Mapping[System, Tensor], system: System, first: System, second: System) -> Tensor:
    return breakup_momentum_squared(m[system].square(), m[first], m[second]).clamp(min=0).sqrt()


def _channels(model: Model, parameters: Mapping[str, float], most: int) -> tuple[Branch, ...]:
    """The chains of all waves, exchanges of identical particles included, with every combination of densities."""
    combined, plain = dict[Branch, None](), dict[Branch, None]()
    for wave in model.waves:
        for term in wave.terms:
            names = carried_systems(model, wave, term)
            systems = list(names)
            tree = chain_tree(len(model.decay.final), [tuple(sorted(system)) for system in term.systems])
            options = [_options(names[system], system, tree, parameters) for system in systems]
            for choice in product(*options):
                combined[Branch(tree, tuple(zip(systems, choice, strict=True)))] = None
            peaks = [next((h for h in own if isinstance(h, PeakMass)), own[0]) for own in options]
            for few in (peaks, [own[0] for own in options]):
                plain[Branch(tree, tuple(zip(systems, few, strict=True)))] = None
    return tuple(combined if len(combined) <= most else plain)


def carried_systems(model: Model, wave: Wave, term: Term) -> dict[System, str]:
    """All systems of a term that have no fixed mass, each with its resonance; X that a beam made is one of them, maybe without any."""
    systems = [tuple(sorted(system)) for system in term.systems]
    whole = tuple(range(len(model.decay.final)))
    found = {whole: ""} if wave.chain.root.made is not None else {}
    return found | {own: r.name for own, r in zip(systems, wave.resonances, strict=True) if model.decay.held_at(own) is None}


def flat_branch(model: Model) -> Branch:
    """The channel of a production that all of its events can come from: particles one after the other, with all masses alike."""
    n, held = len(model.decay.final), [state.place for state in model.decay.held]
    systems = [tuple(sorted(system)) for system in _nested_systems(model, tuple(range(n)))]
    tree = chain_tree(n, [*systems, *held])
    flat = [(system, FlatMass()) for system in (tuple(range(n)), *systems)]
    return Branch(tree, tuple(flat))


def _nested_systems(model: Model, system: System) -> Iterator[System]:
    """Systems inside one, each with a part less; and the same inside its states on their mass shell."""
    parts = [part.place if isinstance(part, Held) else (part,) for part in model.decay.parts(system)]
    for k in range(2, len(parts)):
        yield tuple(i for part in parts[:k] for i in part)
    for part in parts:
        if len(part) > 1:
            yield from _nested_systems(model, part)


def _options(name: str, system: System, tree: Tree, parameters: Mapping[str, float]) -> list[MassDensity]:
    """Densities that may suit the mass of a resonance, the flat one first."""
    mass, width = parameters.get(f"{name}.mass"), parameters.get(f"{name}.width")
    options: list[MassDensity] = [FlatMass()]
    if mass and width:
        options += [PeakMass(mass, factor * width) for factor in (1, *(WIDER if width < NARROW else ()))]
    elif mass:
        options += [PeakMass(mass, guess) for guess in UNKNOWN_WIDTHS]
    if system not in tree[0]:  # its mother is a resonance, not the parent
        options.append(EdgeMass())
    return options


def chain_tree(n_particles: int, systems: Sequence[System]) -> Tree:
    """Vertices of the chain in which these systems are formed."""
    whole = tuple(range(n_particles))
    systems = [system for system in systems if system != whole]
    parts: dict[System, System] = {(i,): (i,) for i in whole}  # what is still to be combined
    vertices = []
    for system in [*sorted(systems, key=len), whole]:
        first, second = sorted(part for part in parts if set(part) <= set(system))
        del parts[first], parts[second]
        parts[system] = system
        vertices.append((system, first, second))
    return tuple(sorted(vertices, key=lambda vertex: -len(vertex[0])))
