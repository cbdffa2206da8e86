"""The spin density of X that polarised photons made, as quadratic forms of couplings.

With T of one sector, t_lm = T_lm and u_lm = (−1)^m T_l−m, summed over sectors:

    ρ⁰ = ½ (t t* + u u*),   ρ¹ = −½ ε (u t* + t u*),   ρ² = −½ iε (u t* − t u*),   ρ³ = ½ (t t* − u u*)                    (F13)

A number q = Re Σ A_ab c_a c_b* has exact slopes over Re c and Im c, and with them an error from the covariance of the couplings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ctpwa.base.errors import PhysicsError
from ctpwa.model.model import Model
from ctpwa.model.open_signs import CONSTANT
from ctpwa.spin.photoproduction import Photoproduction

State = tuple[int, int]  # l and m of X


@dataclass(frozen=True)
class PhotonState:
    """The state in which a wave was made.

    Attributes:
        l, m:          spin of X and its projection
        reflectivity:  +1 or −1
        rank:          number of the incoherent copy
        sign:          of the wave's amplitude with coupling 1
        lineshapes:    resonances of the wave whose amplitude changes with the mass
    """

    l: int
    m: int
    reflectivity: int
    rank: int
    sign: float
    lineshapes: tuple[str, ...] = ()

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """What tells states apart."""
        return self.l, self.m, self.reflectivity, self.rank


def photon_states(model: Model) -> dict[str, PhotonState]:
    """The coupling of every wave → its state.

    Raises:
        PhysicsError: if X was not made by polarised photons, or a state has several waves
    """
    if not isinstance(model.production, Photoproduction):
        raise PhysicsError("X was not made by polarised photons", "density matrices and moments are those of  kind: photoproduction")
    found: dict[str, PhotonState] = {}
    for wave in model.waves:
        root = wave.chain.root
        assert root.made is not None
        shapes = tuple(resonance.name for resonance in wave.resonances if resonance.lineshape != CONSTANT)
        two_J, made = root.particle.two_J, root.made
        state = PhotonState(two_J // 2, made.two_m // 2, made.reflectivity, made.rank, float(wave.factor), shapes)
        if wave.coupling in found or state.numbers in [own.numbers for own in found.values()]:
            raise PhysicsError(
                f"{wave.name!r} is not the only wave of its state", "density matrices need one wave for each m and reflectivity"
            )
        found[wave.coupling] = state
    return found


@dataclass(frozen=True, eq=False)
class QuadraticForms:
    """ρ^α of all pairs of states as matrices over couplings: ρ^α_ab = Σ A_ik c_i c_k*.

    Attributes:
        states:  (l, m) of rows and columns of ρ
        own:     how t and u of each sector follow from couplings: (ε, t, u), both [state, coupling]
    """

    states: tuple[State, ...]
    own: tuple[tuple[int, np.ndarray, np.ndarray], ...]

    @classmethod
    def of(cls, couplings: Sequence[PhotonState]) -> QuadraticForms:
        """Of couplings with these states, in this order."""
        spins = sorted({state.l for state in couplings})
        states = tuple((l, m) for l in spins for m in range(-l, l + 1))
        place = {state: k for k, state in enumerate(states)}
        sectors = []
        for sector in sorted({(state.reflectivity, state.rank) for state in couplings}):
            t, u = (np.zeros((len(states), len(couplings))) for _ in range(2))
            for k, state in enumerate(couplings):
                if (state.reflectivity, state.rank) == sector:
                    t[place[state.l, state.m], k] = state.sign
                    u[place[state.l, -state.m], k] = (-1) ** state.m * state.sign
            sectors.append((sector[0], t, u))
        return cls(states, tuple(sectors))

    def matrix(self, alpha: int, G: Mapping[tuple[State, State], float]) -> np.ndarray:
        """A of Σ G_ab ρ^α_ab, [coupling, coupling].

        Args:
            alpha:  0 to 3
            G:      pair of states → factor
        """
        g = np.zeros((len(self.states), len(self.states)))
        for (a, b), factor in G.items():
            g[self.states.index(a), self.states.index(b)] = factor
        total = np.zeros((len(self.own[0][1].T), len(self.own[0][1].T)), dtype=complex)
        for eps, t, u in self.own:
            tt, uu, ut, tu = t.T @ g @ t, u.T @ g @ u, u.T @ g @ t, t.T @ g @ u
            total += {0: tt + uu, 1: -eps * (ut + tu), 2: -1j * eps * (ut - tu), 3: tt - uu}[alpha] / 2
        return total


def quadratic(A: np.ndarray, c: np.ndarray) -> tuple[float, np.ndarray]:
    """Re Σ A_ab c_a c_b*, and its slopes over all Re c, then all Im c."""
    right, left = A @ c.conj(), c @ A
    slope = np.concatenate([(right + left).real, (1j * right - 1j * left).real])
    return float((c @ right).real), slope
