"""Phase space for integrals: many events where the resonances of a model are, with weights that undo it exactly.

Events follow a mixture of flat phase space, of volume V, and of the decay chains of the model (``proposal.py``), with density

    g = φ/V + (1 − φ) Σ α g_chain,        v = 1 / (V g)

relative to dΦ. So Σ v f over the events estimates what Σ f over flat ones does, the mean of v is 1 up to its statistical error, and no
weight exceeds 1/φ: whatever is integrated, the effective number of events is at least φ times that of flat phase space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.progress import Progress
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.data.events import Events
from ctpwa.data.own_part import OwnPart
from ctpwa.generate.masses import checked_device, particle_masses
from ctpwa.generate.phase_space import cascade_stages, generate_phase_space, phase_space_sampler
from ctpwa.generate.proposal import (
    UNKNOWN_WIDTHS,
    Branch,
    EdgeMass,
    EventProposal,
    FlatMass,
    MassDensity,
    Mixed,
    PeakMass,
    System,
    Tree,
    carried_systems,
    chain_tree,
    flat_branch,
)
from ctpwa.generate.reactions import generated_events, reactions_of
from ctpwa.generate.room import check_count
from ctpwa.kinematics.two_body import breakup_momentum_squared
from ctpwa.model.model import Model
from ctpwa.model.resonance import Resonance

FLAT_SHARE = 0.2  # of the events at least is flat: no weight exceeds 5
NARROW = 0.03  # GeV; the tails of narrower states matter: barriers lift them above a Breit-Wigner
NARROW_PARTS = ((0.65, 1), (0.15, 4), (0.1, 16))  # shares and factors on the width
TAIL_SHARE = 0.1  # of the masses of a resonance is uniform, or at the edge that its mother leaves
MARGIN = 1.5  # times wider: a state that moves stays covered, and the events do not depend on what floats
SMALLEST_WIDTH = 1e-9  # of the mass; rounding of momenta does not resolve less
SMALLEST_SHARE = 0.05  # of the events along chains is spread evenly over all of them
PILOT_SEED, PILOT_EVENTS, PILOT_NUMBERS, PILOT_ROUNDS = 0x5A3E_5A3E, 1 << 14, 1 << 22, 60
STEPS = 1 << 20  # shares are rounded to, so that the last digits of a machine do not change them
BLOCK = 1 << 15  # events at a time; part of what a seed means
VOLUME_NODES = {3: 120, 4: 100, 5: 50, 6: 28}  # per mass, by the number of particles; 1e-7 of the volume, also with electrons


def sample_phase_space(
    model: Model,
    n: int,
    seed: int = 0,
    *,
    columns: Mapping[str, float | Sequence[float]] | None = None,
    device: str | torch.device = "cpu",
    progress: bool | None = None,
    ranks: Ranks | None = None,
) -> Events:
    """Weighted events of phase space, most of them where the model has its resonances, in the rest frame of the parent.

    Weights are 1 on average and at most 5; a model without resonances gives flat phase space without weights. The same arguments give the
    same events; CPU and GPU have different random streams.

    Args:
        model:     gives the chains, and masses and widths of their resonances; couplings do not matter
        n:         number of events
        seed:      seed of the random numbers
        columns:   event columns of the model by name, with the numbers that all events get
        device:    where to generate
        progress:  show a progress bar; default: on a terminal when it takes more than two seconds
        ranks:     processes that share the events: each keeps its own; default: all are kept
    """
    ranks, where = ranks or ONE, checked_device(device)
    n = check_count(n, seed, len(model.final_names), where, ranks.size)
    reactions = reactions_of(model, where)
    if reactions is not None and not _branches(model):
        return generate_phase_space(model, n, seed, columns=columns, device=device, progress=progress, ranks=ranks)
    mixture = PhaseSpaceMixture(model, where) if reactions is None else ReactionMixture(model, where)
    random = torch.Generator(device=where).manual_seed(seed)
    first, last = ranks.share(n)
    pieces = [mixture.sample(0, random)]
    with Progress("phase space", n, show=progress if ranks.first else False) as bar:
        for done in range(0, n, BLOCK):
            size = min(BLOCK, n - done)
            pieces.append(mixture.sample(size, random, slice(max(first - done, 0), max(last - done, 0))))
            bar.advance(size)
    rows, weights = (torch.cat(parts, dim=-1) for parts in zip(*pieces, strict=True))
    events = generated_events(model, rows, columns or {}, reactions, None if mixture.chains is None else weights)
    return replace(events, part=OwnPart(((first, last),), n)) if ranks.size > 1 else events


class PhaseSpaceMixture:
    """The mixture g of flat phase space and of the chains of a model.

    Args:
        model:   the model
        device:  where to generate

    Attributes:
        volume:      V
        flat_share:  φ
        chains:      the mixture Σ α g_chain; None if no chain has a peak
    """

    def __init__(self, model: Model, device: torch.device) -> None:
        self.parent, final = particle_masses(model)
        self.model, self.masses, self.device = model, list(final.values()), device
        self.volume = prod(phase_space_volume(stage.mass, stage.masses) for stage in cascade_stages(model.decay))
        self.flat_share, self.chains = 1.0, None
        self._sampler = phase_space_sampler(model, device, 0)  # which searches for its largest weight once
        if branches := _branches(model):
            self.chains = EventProposal(model, {}, device, channels=branches)
            self._choose_shares(self.chains)

    def sample(self, n: int, random: torch.Generator, own: slice = slice(None)) -> tuple[Tensor, Tensor]:
        """Momenta [particle, 4, event] and weights [event] of ``n`` events, or of those of them that are asked for.

        Args:
            n:       number of events
            random:  the random numbers, which move on by the same amount whatever is asked for
            own:     which of the events
        """
        if self.chains is None:
            p4 = self._flat(n, random)[..., own]
            return p4, torch.ones(p4.shape[-1], dtype=torch.float64, device=self.device)
        uniform = torch.rand(n, self.chains.n_uniform, generator=random, device=self.device, dtype=torch.float64)
        is_flat = uniform[:, 0] < self.flat_share
        flat = self._flat(int(is_flat.sum()), random)
        before, (is_flat, uniform) = int(is_flat[: own.start or 0].sum()), (is_flat[own], uniform[own].T.contiguous())
        p4 = torch.empty(len(self.masses), 4, len(is_flat), dtype=torch.float64, device=self.device)
        p4[..., is_flat] = flat[..., before : before + int(is_flat.sum())]
        along = uniform[:, ~is_flat]
        along[0] = (along[0] - self.flat_share) / (1 - self.flat_share)
        p4[..., ~is_flat] = self.chains.draw(along)
        return p4, self.weights(p4)

    def weights(self, p4: Tensor) -> Tensor:
        """Weights v = 1 / (V g) at momenta [particle, 4, event]."""
        if self.chains is None:
            return torch.ones(p4.shape[-1], dtype=torch.float64, device=self.device)
        at_once = max(PILOT_NUMBERS // len(self.chains.channels), 1)
        g = torch.cat([self.along(self.chains, piece) for piece in p4.split(at_once, dim=-1)])
        return 1 / (self.flat_share + (1 - self.flat_share) * self.volume * g)

    @staticmethod
    def along(chains: EventProposal, p4: Tensor) -> Tensor:
        """Σ α g_chain, channel after channel: a matrix product would round differently with other events beside it."""
        total = torch.zeros(p4.shape[-1], dtype=torch.float64, device=p4.device)
        for share, g in zip(chains.shares.tolist(), chains.densities(p4), strict=True):
            total.add_(g, alpha=share)
        return total

    def _flat(self, n: int, random: torch.Generator) -> Tensor:
        """Momenta [particle, 4, event] of flat phase space."""
        self._sampler.random = random
        pieces = [self._sampler.sample(0)[0]]
        while (missing := n - sum(piece.shape[-1] for piece in pieces)) > 0:
            pieces.append(self._sampler.sample_accepted(2 * missing + BLOCK // 16, missing)[0])
        return torch.cat(pieces, dim=-1)

    def _choose_shares(self, chains: EventProposal) -> None:
        """Shares that make the integrals of all chains, and that of flat phase space, precise together."""
        count = len(chains.channels) + 1
        self.flat_share = 1 / count
        random = torch.Generator(device=self.device).manual_seed(PILOT_SEED)
        p4, v = self.sample(max(min(PILOT_EVENTS, PILOT_NUMBERS // count), 20 * count), random)
        g = torch.cat([torch.ones_like(v)[None], self.volume * chains.densities(p4)])
        self.flat_share, chains.shares = _balanced(g, v)


class ReactionMixture:
    """The same for a production: X of all masses and decays alike takes the place of flat phase space, with a density that is known as
    those of chains are. Weights are divided by their mean over the events of a pilot, which are always the same.

    Args:
        model:   the model
        device:  where to generate
    """

    def __init__(self, model: Model, device: torch.device) -> None:
        self.chains = EventProposal(model, {}, device, channels=[flat_branch(model), *_branches(model)])
        self._scale = 1.0
        count = len(self.chains.channels)
        random = torch.Generator(device=device).manual_seed(PILOT_SEED)
        n = max(min(PILOT_EVENTS, PILOT_NUMBERS // count), 20 * count)
        rows, v = self.sample(n, random)
        flat_share, along = _balanced(self.chains.densities(rows), v)
        self.chains.shares = torch.cat([torch.full_like(along[:1], flat_share), (1 - flat_share) * along])
        self._scale = 1 / float(self.sample(n, random)[1].mean())

    def sample(self, n: int, random: torch.Generator, own: slice = slice(None)) -> tuple[Tensor, Tensor]:
        """Rows [row, 4, event] and weights [event] of ``n`` events, or of those of them that are asked for."""
        uniform = torch.rand(n, self.chains.n_uniform, generator=random, device=self.chains.device, dtype=torch.float64)
        rows = self.chains.draw(uniform[own].T.contiguous())
        return rows, self._scale / PhaseSpaceMixture.along(self.chains, rows)


def _balanced(g: Tensor, v: Tensor) -> tuple[float, Tensor]:
    """The share of flat phase space, and those of the channels among the rest.

    The relative variance of the integral of f_k is V_k − 1 per event, V_k = ∫ f_k²/g. With the density of each channel in the place of f_k,
    Σ_k V_k² is smallest where ∫ T g_k/g² with T = Σ_k V_k f_k² is the same for all channels that have a share; α_k is multiplied by its
    square root until it is. Broad states overlap and share their events, a narrow one gets some of its own.

    Args:
        g:  densities of flat phase space, then of all channels, at events of a pilot [1 + channel, event]
        v:  weights of the events
    """
    squares = g.square() * v
    shares = torch.full((len(g),), 1 / len(g), dtype=torch.float64, device=g.device)
    for _ in range(PILOT_ROUNDS):
        mixed = shares @ g
        T = (squares @ (1 / mixed)) @ squares
        shares = shares * (g @ (T / mixed.square())).sqrt()
        shares /= shares.sum()
    steps = (STEPS * shares).round().clamp(min=1)
    along = steps[1:] / steps[1:].sum()
    return max(float(steps[0] / steps.sum()), FLAT_SHARE), (1 - SMALLEST_SHARE) * along + SMALLEST_SHARE / len(along)


def phase_space_volume(parent: float, masses: Sequence[float]) -> float:
    """V = ∫ Π q dm over the masses m of the first two, three, … particles                          (F12)

    Gauss–Legendre sums over angles ϑ with m = low + (high − low) sin²ϑ, which makes the square roots at both limits smooth.

    Args:
        parent:  mass of the parent, GeV
        masses:  masses of the final particles, GeV
    """
    n = len(masses)
    nodes, node_weights = np.polynomial.legendre.leggauss(VOLUME_NODES.get(n, 1))
    angle = np.pi / 4 * (nodes + 1)
    place, weight = np.sin(angle) ** 2, np.pi / 4 * node_weights * np.sin(2 * angle)
    M, value = np.array([parent]), np.ones(1)
    for k in range(n - 1, 0, -1):
        low = sum(masses[:k])
        if k > 1:
            reach = M - masses[k] - low
            inner, value = low + reach[:, None] * place, value[:, None] * reach[:, None] * weight
            M, value = np.repeat(M, len(place)), value.ravel()
            value = value * _momentum(M, inner.ravel(), masses[k])
            M = inner.ravel()
        else:
            value = value * _momentum(M, np.full_like(M, masses[0]), masses[1])
    return float(value.sum())


def _momentum(M: np.ndarray, m1: np.ndarray, m2: float) -> np.ndarray:
    q2 = breakup_momentum_squared(torch.from_numpy(M).square(), torch.from_numpy(m1), m2)
    return q2.clamp(min=0).sqrt().numpy()


def _branches(model: Model) -> list[Branch]:
    """One channel for each chain that has a peak, exchanges of identical particles included."""
    found = dict[Branch, None]()
    for wave in model.waves:
        for term in wave.terms:
            tree = chain_tree(len(model.decay.final), [tuple(sorted(system)) for system in term.systems])
            own = carried_systems(model, wave, term)
            densities = tuple((system, _mass_density(model.resonances[r], system, tree) if r else FlatMass()) for system, r in own.items())
            if any(isinstance(h, Mixed) for _, h in densities):
                found[Branch(tree, densities)] = None
    return list(found)


def _mass_density(resonance: Resonance, system: System, tree: Tree) -> MassDensity:
    """How the mass of a resonance is distributed: its peak and tails; uniform if it has no mass."""
    mass, width = resonance.mass, resonance.width
    if not mass or not np.isfinite(mass) or mass < 0:
        return FlatMass()
    edge: MassDensity = FlatMass() if system in tree[0] else EdgeMass()  # its mother is a resonance, not the parent
    if not width or not np.isfinite(width) or width < 0:
        peaks = [(1 / len(UNKNOWN_WIDTHS), guess) for guess in UNKNOWN_WIDTHS]
    else:
        known = max(MARGIN * width, SMALLEST_WIDTH * mass)
        peaks = [(share, factor * known) for share, factor in NARROW_PARTS] if width < NARROW else [(1.0, known)]
    scale = (1 - TAIL_SHARE) / sum(share for share, _ in peaks)
    return Mixed((*((scale * share, PeakMass(mass, w)) for share, w in peaks), (TAIL_SHARE, edge)))
