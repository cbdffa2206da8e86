"""Couplings that give resonances their shares of all events, interference included.

The waves of a share g are added with equal integrals to a unit vector u_g, u_g† M u_g = 1, with M the integrals of products of waves
over phase space. With couplings c = Σ_g √f_g e^{iφ_g} u_g the fraction of g is f_g / Q, and all fractions are what was asked for if

    Q(φ) = Σ_gh √(f_g f_h) Re(e^{i(φ_h − φ_g)} u_g† M u_h) = 1 .

Waves that nobody named share the rest a² with a common phase: Q + 2ab + a² = 1. Without a rest, phases that are not given are turned
until Q is 1: towards its maximum or minimum, which closed forms find one phase at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from ctpwa.base.errors import GenerationError
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.generate.proposal import EventProposal
from ctpwa.generate.reactions import generated_events
from ctpwa.model.couplings import coupling_names
from ctpwa.model.model import Model

N_EVENTS = 10_000  # of phase space, where the resonances are
SEED = 0
TOLERANCE = 0.005  # of Q: fractions are written with few digits
DIGITS = 10  # of couplings: other machines add up in another order
SWEEPS, RESTARTS = 200, 20  # of the search for the largest and smallest Q


@dataclass(frozen=True)
class GivenFraction:
    """Waves that together make up a fraction of all events.

    Attributes:
        name:       for messages
        couplings:  of its waves; each has the same integral
        fraction:   of all events
        phase:      of all of them, in radians; None: any
    """

    name: str
    couplings: tuple[str, ...]
    fraction: float
    phase: float | None = None


@dataclass(frozen=True, eq=False)
class SharedCouplings(Mapping[str, complex]):
    """All couplings of a model by name, so that shares have their fractions; they are computed when the first of them is asked for.

    Attributes:
        model:     the model; what it says about couplings does not matter
        shares:    no coupling belongs to two of them; couplings of none share the rest
        n_events:  phase-space events for the integrals
    """

    model: Model
    shares: tuple[GivenFraction, ...]
    n_events: int = N_EVENTS

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the couplings."""
        return coupling_names(self.model.waves)

    @cached_property
    def _values(self) -> dict[str, complex]:
        return dict(
            zip(self.names, shared_couplings(self.names, wave_products(self.model, self.n_events), self.shares).tolist(), strict=True)
        )

    def __getitem__(self, name: str) -> complex:
        if name not in self.names:
            raise KeyError(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def wave_products(model: Model, n: int = N_EVENTS, seed: int = SEED) -> np.ndarray:
    """M_jk = ∫ conj(A_j) A_k dΦ of the waves of every coupling, up to a common constant; the same events for the same arguments.

    Args:
        model:  the model
        n:      number of events
        seed:   of the random numbers
    """
    names = coupling_names(model.waves)
    bare = replace(model, asymmetries={}, coupling_values={})
    intensity = ModelIntensity(bare, couplings=dict.fromkeys(names, 1.0), engine="reference", device="cpu")  # nothing to compile
    proposal = EventProposal(bare, intensity.parameters, torch.device("cpu"))
    random = torch.Generator().manual_seed(seed)
    p4 = proposal.draw(torch.rand(n, proposal.n_uniform, generator=random, dtype=torch.float64).T.contiguous())
    weight = 1 / proposal.density(proposal.densities(p4))
    events = generated_events(bare, p4, {}, proposal.reactions)
    M = torch.zeros(len(names), len(names), dtype=torch.complex128)
    for part in intensity.sums(events, {name: intensity.waves_of(name) for name in names}):
        psi = part.psi.flatten(1)
        repeated = weight[part.start : part.stop].repeat(part.psi.shape[1])
        M += psi.conj() @ (psi * repeated).T
    return (M / weight.sum()).numpy()


def shared_couplings(names: Sequence[str], M: np.ndarray, shares: Sequence[GivenFraction]) -> np.ndarray:
    """The couplings; the first of them that is not 0 has modulus 1.

    Args:
        names:   of all couplings
        M:       integrals of products of their waves
        shares:  what is asked for

    Raises:
        GenerationError: if no couplings have these fractions
    """
    named = {name for share in shares for name in share.couplings}
    rest = tuple(name for name in names if name not in named)
    u = np.array([_unit(names, M, share) for share in shares]).reshape(len(shares), len(names))
    sizes = np.sqrt([share.fraction for share in shares])
    products = sizes[:, None] * (u.conj() @ M @ u.T) * sizes
    given = np.array([share.phase or 0.0 for share in shares])
    if rest:
        c = (sizes * np.exp(1j * given)) @ u
        c = c + _size_of_rest(c, M, r := _unit(names, M, GivenFraction("the rest", rest, 0.0)), shares) * r
    else:
        c = (sizes * np.exp(1j * _phases(products, given, _free(shares), shares))) @ u
    first = c[np.flatnonzero(np.abs(c) > 0)[0]]
    return _rounded(c / abs(first))


def _unit(names: Sequence[str], M: np.ndarray, share: GivenFraction) -> np.ndarray:
    """Couplings of a share with equal integrals, u† M u = 1."""
    u = np.zeros(len(names), dtype=complex)
    for name in share.couplings:
        own = names.index(name)
        if not M[own, own].real > 0:
            raise GenerationError(f"fractions: the wave {name!r} vanishes everywhere\n fix: leave it out of the model")
        u[own] = 1 / np.sqrt(M[own, own].real)
    norm = (u.conj() @ M @ u).real
    if not norm > 0:
        raise GenerationError(f"fractions: the waves of {share.name!r} cancel everywhere\n fix: give fractions of its waves")
    return u / np.sqrt(norm)


def _size_of_rest(c: np.ndarray, M: np.ndarray, u: np.ndarray, shares: Sequence[GivenFraction]) -> float:
    """The size a ≥ 0 of a² + 2ab + Q − 1 = 0; the smaller one if there are two."""
    Q, b = (c.conj() @ M @ c).real, (u.conj() @ M @ c).real
    if Q > 1 + TOLERANCE and (b >= 0 or b * b < Q - 1):
        raise GenerationError(
            f"fractions: {_words(shares)} make up {100 * Q:.1f} % together with their interference, and leave nothing for the other waves\n"
            " fix: give smaller fractions, other phases, or fractions of all resonances"
        )
    root = np.sqrt(max(b * b - Q + 1, 0.0))
    return float(-b - root if Q > 1 and b < 0 else max(root - b, 0.0))


def _free(shares: Sequence[GivenFraction]) -> list[int]:
    """Shares whose phases may be turned; that of all of them together means nothing."""
    free = [k for k, share in enumerate(shares) if share.phase is None]
    return free[1:] if len(free) == len(shares) else free


def _phases(products: np.ndarray, given: np.ndarray, free: Sequence[int], shares: Sequence[GivenFraction]) -> np.ndarray:
    """Phases with Q = 1, on the way from those that are given to the ones with the largest or smallest Q."""
    here = _Q(products, given)
    if abs(here - 1) <= 1e-12:
        return given
    sign = 1.0 if here < 1 else -1.0
    end = _extreme(products, given, free, sign)
    there = _Q(products, end)
    if sign * (there - 1) < 0:
        if abs(there - 1) <= TOLERANCE:
            return end
        raise _impossible(products, given, free, shares)
    turn = (end - given + np.pi) % (2 * np.pi) - np.pi
    low, high = 0.0, 1.0  # Q is on this side of 1 at the first, and not at the second
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if sign * (_Q(products, given + middle * turn) - 1) < 0 else (low, middle)
    return given + high * turn


def _Q(products: np.ndarray, phases: np.ndarray) -> float:
    z = np.exp(1j * phases)
    return float((z.conj() @ products @ z).real)


def _extreme(products: np.ndarray, given: np.ndarray, free: Sequence[int], sign: float) -> np.ndarray:
    """Phases with the largest (1) or smallest (−1) Q that is found, one phase at a time, from several starts."""
    random = np.random.default_rng(SEED)
    best = given
    for restart in range(RESTARTS):
        phases = given.copy()
        if restart:
            phases[list(free)] = 2 * np.pi * random.random(len(free))
        for _ in range(SWEEPS):
            before = _Q(products, phases)
            for k in free:
                others = products[k] @ np.exp(1j * phases) - products[k, k] * np.exp(1j * phases[k])
                phases[k] = np.angle(sign * others) if abs(others) > 0 else phases[k]
            if abs(_Q(products, phases) - before) < 1e-12:
                break
        if sign * (_Q(products, phases) - _Q(products, best)) > 1e-9:
            best = phases
    return best


def _impossible(products: np.ndarray, given: np.ndarray, free: Sequence[int], shares: Sequence[GivenFraction]) -> GenerationError:
    total = sum(share.fraction for share in shares)
    low, high = sorted(total / _Q(products, _extreme(products, given, free, sign)) for sign in (1.0, -1.0))
    if not free:
        what = f"with these phases fractions in these ratios add up to {100 * low:.1f} %, not to {100 * total:.1f} %"
        fix = f"multiply all of them by {low / total:.4g}, or leave out a phase or a resonance"
    else:
        what = (
            f"fractions in these ratios add up to {100 * low:.1f} to {100 * high:.1f} %, whatever their phases, not to {100 * total:.1f} %"
        )
        fix = "give other fractions, or leave one of them out, which is then the rest"
    return GenerationError(f"fractions: {what}: waves interfere\n fix: {fix}")


def _words(shares: Sequence[GivenFraction]) -> str:
    return ", ".join(f"{share.name} {100 * share.fraction:g} %" for share in shares)


def _rounded(c: np.ndarray) -> np.ndarray:
    """Real and imaginary parts with so many digits of the modulus."""
    scale = 10.0 ** (DIGITS - np.floor(np.log10(np.where(np.abs(c) > 0, np.abs(c), 1.0))))
    return np.round(c.real * scale) / scale + 1j * np.round(c.imag * scale) / scale
