"""Resolution of the invariant mass of a pair of particles.

A measured mass m stands for masses m' around it, with a Gaussian R(m | m') whose width is given or follows from errors of momenta. In the
rest frame of the decay the pair keeps its direction, and in its own rest frame the two particles keep theirs; the others move along with
what recoils against the pair. The density of phase space in m' is p q: the momentum of the pair times that of a particle in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar

import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.data.event_column import EventColumn
from ctpwa.data.events import Events
from ctpwa.data.resolution import Points, Resolution, repeated
from ctpwa.data.stream import Piece
from ctpwa.kinematics.lorentz import from_rest_frame, mass_squared, to_rest_frame
from ctpwa.kinematics.two_body import breakup_momentum_squared
from ctpwa.observe.momentum_errors import MomentumErrors

RANGE = 4.0  # standard deviations on each side
MOST_DRAWS = 100
LEAST_POINTS = 3
WIDEST_STEP = 0.4  # distance between points, relative to the width of a resonance: sums are right to a part in a thousand
TAIL = 5  # widths from a resonance, beyond which it is smooth


@dataclass(frozen=True)
class NarrowState:
    """The narrowest resonance that decays to a pair: points must not be further apart than it is wide.

    Attributes:
        name:         of it
        pair:         in words
        mass, width:  GeV
    """

    name: str
    pair: str
    mass: float
    width: float

    def check(self, step: float, sigma: float, n_points: int) -> None:
        """Refuse points that are too far apart to see it between them.

        The error of a sum over points at distances h is about exp(−π Γ/h) for a peak of width Γ.
        """
        if step > WIDEST_STEP * self.width > 0:
            least = ceil(2 * RANGE * sigma / (WIDEST_STEP * self.width)) + 1
            raise DataError(
                f"resolution of {self.pair}: its {n_points} points are {1000 * step:.3g} MeV apart, and {self.name} is"
                f" {1000 * self.width:.3g} MeV wide\n fix: write  points: {least}  or more"
            )


@dataclass(frozen=True)
class MassResolution:
    """A Gaussian, of the same width for all events or as wide as errors of momenta make it.

    The points lie at equal distances: for functions as smooth as a Gaussian or a Breit–Wigner amplitude times one, their sum converges
    exponentially once they are closer than the width of both.

    Attributes:
        pair:      positions of the two particles among the final ones
        sigma:     standard deviation of the measured mass, GeV; or the errors of momenta that it follows from
        n_points:  of every event
        narrow:    the narrowest state that decays to the pair, if its points are to be checked
    """

    pair: tuple[int, int]
    sigma: float | MomentumErrors
    n_points: int
    narrow: NarrowState | None = None
    columns: ClassVar[tuple[EventColumn, ...]] = ()

    def __post_init__(self) -> None:
        if isinstance(self.sigma, float) and not 0 < self.sigma < float("inf"):
            raise DataError(f"resolution of a mass: {self.sigma} GeV\n fix: give a number above 0")
        if self.n_points < LEAST_POINTS:
            raise DataError(f"{self.n_points} resolution points for each event\n fix: give at least {LEAST_POINTS}")
        if self.pair[0] == self.pair[1]:
            raise DataError("resolution of the mass of a particle with itself\n fix: name two particles")

        if self.narrow is not None and isinstance(self.sigma, float):
            self.narrow.check(self.step * self.sigma, self.sigma, self.n_points)

    @property
    def step(self) -> float:
        """Distance between neighbouring points in standard deviations."""
        return 2 * RANGE / (self.n_points - 1)

    def spread(self, p4: Sequence[Tensor]) -> Tensor:
        """Standard deviation of the mass of every event, whose momenta are [4, event] each."""
        if isinstance(self.sigma, MomentumErrors):
            return self.sigma.of_mass(p4, self.pair)
        return torch.full_like(p4[0][0], self.sigma)

    def points(self, events: Piece) -> Points:
        """See ``Resolution``."""
        k, p4 = self.n_points, [p.T for p in events.p4]
        t = torch.linspace(-RANGE, RANGE, k, dtype=torch.float64, device=p4[0].device)
        gauss = torch.exp(-t.square() / 2)
        sigma = self.spread(p4)
        self._check_points(p4, sigma)
        moved, ratio = with_pair_mass([p.repeat_interleave(k, dim=1) for p in p4], self.pair, (sigma[:, None] * t).flatten())
        piece = Piece([p.T.contiguous() for p in moved], None, repeated(events.columns, k))
        return Points(piece, ratio.view(-1, k) * (gauss / gauss.sum()))

    def _check_points(self, p4: Sequence[Tensor], sigma: Tensor) -> None:
        """Refuse events near a narrow state whose points are too far apart."""
        if self.narrow is None or isinstance(self.sigma, float):
            return
        m = mass_squared(p4[self.pair[0]] + p4[self.pair[1]]).clamp(min=0).sqrt()
        near = (m - self.narrow.mass).abs() < RANGE * sigma + TAIL * self.narrow.width
        if bool(near.any()):
            largest = float(sigma[near].max())
            self.narrow.check(self.step * largest, largest, self.n_points)


@dataclass(frozen=True)
class SeveralResolutions:
    """Several resolutions, of pairs that have no particle in common.

    Attributes:
        parts:  the resolutions
    """

    parts: tuple[Resolution, ...]
    columns: ClassVar[tuple[EventColumn, ...]] = ()

    @property
    def n_points(self) -> int:
        """The product of those of all."""
        result = 1
        for part in self.parts:
            result *= part.n_points
        return result

    def points(self, events: Piece) -> Points:
        """See ``Resolution``."""
        piece = Piece(events.p4, None, events.columns)
        v = torch.ones(events.n_events, 1, dtype=torch.float64, device=events.p4[0].device)
        for part in self.parts:
            found = part.points(piece)
            piece, v = found.piece, (v.reshape(-1, 1) * found.v).reshape(events.n_events, -1)
        return Points(piece, v)


def measured_events(resolution: Resolution | None, events: Events, labels: Sequence[str], seed: int) -> Events:
    """Events as they are measured: masses of pairs are moved at random. Where the resolution is known by points alone nothing moves.

    Args:
        resolution:  how exactly they are measured
        events:      what happened
        labels:      the final particles in their order
        seed:        of the random numbers
    """
    parts = resolution.parts if isinstance(resolution, SeveralResolutions) else (resolution,)
    random = torch.Generator().manual_seed(seed)
    p4 = [events[label].T for label in labels]
    for part in parts:
        if isinstance(part, MassResolution):
            p4 = _moved(p4, part, random)
    momenta = {label: p.T.contiguous() for label, p in zip(labels, p4, strict=True)}
    return replace(events, momenta={label: momenta[label] for label in events})


def named(resolution: Resolution, labels: Sequence[str]) -> str:
    """Pairs and widths in words; empty if it has none."""
    parts = resolution.parts if isinstance(resolution, SeveralResolutions) else (resolution,)
    masses = [(own, " ".join(labels[i] for i in own.pair)) for own in parts if isinstance(own, MassResolution)]
    return ", ".join(
        f"{pair} " + (f"by {1000 * own.sigma:g} MeV" if isinstance(own.sigma, float) else "with its momenta") for own, pair in masses
    )


def _moved(p4: list[Tensor], resolution: MassResolution, random: torch.Generator) -> list[Tensor]:
    """Events with the mass of a pair moved by a Gaussian number, which is drawn again where it leads out of phase space."""
    n, device = p4[0].shape[1], p4[0].device
    result, left, sigma = [p.clone() for p in p4], torch.arange(n, device=device), resolution.spread(p4)
    for _ in range(MOST_DRAWS):
        if not len(left):
            break
        shift = sigma[left] * torch.randn(len(left), dtype=torch.float64, generator=random).to(device)
        moved, ratio = with_pair_mass([p[:, left] for p in p4], resolution.pair, shift)
        for own, new in zip(result, moved, strict=True):
            own[:, left] = torch.where(ratio > 0, new, own[:, left])
        left = left[~(ratio > 0)]
    return result


def with_pair_mass(p4: list[Tensor], pair: tuple[int, int], shift: Tensor) -> tuple[list[Tensor], Tensor]:
    """Events with another mass of a pair, and the density of phase space there relative to the old one: 0 where there is none.

    Args:
        p4:     momenta of all particles, each [4, event]
        pair:   positions of the two
        shift:  what is added to the mass [event]; where it leads out of phase space the momenta are some that exist
    """
    others = [i for i in range(len(p4)) if i not in pair]
    if not others:
        raise DataError("resolution of the mass of all final particles together\n fix: name a pair of three or more")
    whole = torch.stack(p4).sum(dim=0)
    M = mass_squared(whole).clamp(min=0).sqrt()
    at_rest = [to_rest_frame(p, whole, M) for p in p4]
    S, R = (torch.stack([at_rest[i] for i in group]).sum(dim=0) for group in (pair, others))
    m, m_R = (mass_squared(p).clamp(min=0).sqrt() for p in (S, R))
    m_1, m_2 = (mass_squared(p4[i]).clamp(min=0).sqrt() for i in pair)
    low, high = m_1 + m_2, M - m_R
    wanted = m + shift
    inside = (wanted > low) & (wanted < high)
    new = torch.where(inside, wanted, m)

    def momenta(mass: Tensor) -> tuple[Tensor, Tensor]:
        p, q = breakup_momentum_squared(M.square(), mass, m_R), breakup_momentum_squared(mass.square(), m_1, m_2)
        return p.clamp(min=0).sqrt(), q.clamp(min=0).sqrt()

    (p_old, q_old), (p_new, q_new) = momenta(m), momenta(new)
    stretch = p_new / p_old
    S_new, R_new = (torch.cat([(mass.square() + p_new.square()).sqrt()[None], p[1:] * stretch]) for p, mass in ((S, new), (R, m_R)))
    moved = list(p4)
    for i, mass in zip(pair, (m_1, m_2), strict=True):
        own = to_rest_frame(at_rest[i], S, m)[1:] * (q_new / q_old)
        energy = (mass.square() + q_new.square()).sqrt()
        moved[i] = from_rest_frame(from_rest_frame(torch.cat([energy[None], own]), S_new, new), whole, M)
    for i in others:
        there = R_new if len(others) == 1 else from_rest_frame(to_rest_frame(at_rest[i], R, m_R), R_new, m_R)  # it may be a photon
        moved[i] = from_rest_frame(there, whole, M)
    ratio = p_new * q_new / (p_old * q_old)
    return moved, torch.where(inside, ratio, 0.0)
