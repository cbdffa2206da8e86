"""Spin states of all final particles together, and what reflection makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

from ctpwa.decay.chain import Decay
from ctpwa.decay.particle import Particle

Spins = tuple[int, ...]  # index of every final spin state


def n_states(particle: Particle) -> int:
    """Spin states of a final particle: 2s+1, or as many as a massless one has helicities."""
    return len(particle.two_helicities) if particle.massless else particle.two_J + 1


@dataclass(frozen=True)
class FinalSpins:
    """The spin states of the final particles of a decay.

    Attributes:
        decay:  the decay
    """

    decay: Decay

    @cached_property
    def states(self) -> tuple[Spins, ...]:
        """All combinations, last particle fastest."""
        return tuple(product(*(range(n_states(particle)) for particle in self.decay.final)))

    @property
    def mirrored(self) -> bool:
        """Whether all of them have a mirror image: the other helicity of a massless neutrino does not exist."""
        return not any(particle.one_handed for particle in self.decay.final)

    def mirror(self, spins: Spins) -> Spins:
        """All projections turned around; linear polarisations of photons stay."""
        return tuple(i if p.photon_like else p.two_J - i for i, p in zip(spins, self.decay.final, strict=True))

    def odd(self, spins: Spins) -> int:
        """Σ (s − σ), and 1 for every photon: the exponent of −1 when an amplitude is conjugated          (F10)"""
        return sum(p.two_J // 2 if p.photon_like else i for i, p in zip(spins, self.decay.final, strict=True))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What every state is, e.g. ``p:+1/2, p~:-1/2``; particles without spin are not named."""
        several = [i for i, particle in enumerate(self.decay.final) if n_states(particle) > 1]
        return tuple(", ".join(self._label(i, spins) for i in several) for spins in self.states)

    def _label(self, index: int, spins: Spins) -> str:
        particle = self.decay.final[index]
        state = f"linear {spins[index] + 1}" if particle.photon_like else signed(particle.two_J - 2 * spins[index])
        return f"{self.decay.labels[index]}:{state}"


def signed(two_m: int) -> str:
    """``+1``, ``0``, ``-1/2``."""
    return f"{'+' if two_m > 0 else ''}{Fraction(two_m, 2)}"
