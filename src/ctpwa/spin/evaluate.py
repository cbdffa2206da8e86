"""Spin amplitudes of structures for one chunk of events; everything shared is computed once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from ctpwa.decay.barrier import BLATT_WEISSKOPF, EXPONENTIAL
from ctpwa.decay.currents import current_L
from ctpwa.decay.particle import Particle
from ctpwa.decay.spin import LS, projections
from ctpwa.decay.structure import Structure, leaves_of, spin_of
from ctpwa.kinematics.harmonics import solid_harmonics
from ctpwa.kinematics.helicity import helicity_spinor
from ctpwa.kinematics.lorentz import mass_squared, to_rest_frame
from ctpwa.kinematics.photon import linear_polarisations, photon_matrix
from ctpwa.kinematics.rotation import transverse_projection, wigner_d, wigner_rotation
from ctpwa.kinematics.two_body import barrier_polynomial
from ctpwa.spin.currents import current_coefficients
from ctpwa.spin.final_spins import n_states
from ctpwa.spin.formalism import CANONICAL, ZOU_BUGG
from ctpwa.spin.traces import has_traces, projection_with_traces
from ctpwa.spin.vertex import vertex_couplings

System = tuple[int, ...]
T = TypeVar("T")
SMALLEST_Q2 = 1e-24  # GeV²; where q^L is taken out of the vertex, no event has less


class Evaluator:
    """The amplitudes of one chunk.

    All momenta are first boosted to the rest frame of the parent, which becomes the common frame in which the spin states of all
    chains are defined: rotations at the parent's vertex are then 1, and no observable depends on the choice (F7).

    Args:
        final:       the final particles
        p4:          their momenta, each [4, event]
        Ls:          all L for each (parent system, first daughter system), so that harmonics are computed once
        barrier:     include the barrier factors of all vertices
        formalism:   how wave functions of daughters enter a vertex
        rest_frame:  boost to the parent's rest frame first; False keeps the frame of the momenta
    """

    def __init__(
        self,
        final: Sequence[Particle],
        p4: Sequence[Tensor],
        Ls: Mapping[tuple[System, System], Collection[int]],
        *,
        barrier: bool = False,
        formalism: str = CANONICAL,
        rest_frame: bool = True,
    ) -> None:
        self.final = final
        self.two_spins = [particle.two_J for particle in final]
        self.Ls = Ls
        self.barrier = barrier
        self.formalism = formalism
        self.rest_frame = rest_frame
        self.everything: System = tuple(range(len(final)))
        self.step = 0  # which structure is being computed
        self._cache: dict[Hashable, object] = {}
        self._used: dict[Hashable, tuple[int, int]] = {}  # in which steps each was used first and last
        self.p4 = self._common_frame(list(p4))

    def _common_frame(self, p4: list[Tensor]) -> list[Tensor]:
        if not self.rest_frame:
            return p4
        P4 = torch.stack(p4).sum(dim=0)
        M = mass_squared(P4).sqrt()
        boosted = [to_rest_frame(p, P4, M) for p in p4]
        for index, particle in enumerate(self.final):
            if particle.massless:
                boosted[index] = on_light_cone(boosted[index])
        return boosted

    def _once(self, key: Hashable, compute: Callable[[], T]) -> T:
        if key not in self._cache:
            self._cache[key] = compute()
        self._used[key] = self._used.get(key, (self.step, 0))[0], self.step
        return self._cache[key]  # type: ignore[return-value]

    def expiring(self) -> list[list[Hashable]]:
        """For every step, what was last used in it."""
        return [[key for key, (_, last) in self._used.items() if last == step] for step in range(self.step + 1)]

    def forget(self, keys: Iterable[Hashable]) -> None:
        """Free the memory of what is no longer needed."""
        for key in keys:
            del self._cache[key]

    def momentum(self, system: System) -> Tensor:
        """Sum of the momenta of a system, [4, event]."""
        return self._once(("p4", system), lambda: torch.stack([self.p4[i] for i in system]).sum(dim=0))

    def mass(self, system: System) -> Tensor:
        """Invariant mass in the event, [event]; never the nominal one."""
        # a boost can round m² of a light and fast particle to below 0
        return self._once(("mass", system), lambda: mass_squared(self.momentum(system)).clamp(min=0).sqrt())

    def daughter_momentum(self, parent: System, daughter: System) -> Tensor:
        """Momentum of a daughter in the rest frame of its parent, [4, event]."""

        def compute() -> Tensor:
            if self._at_rest(parent):
                return self.momentum(daughter)
            return to_rest_frame(self.momentum(daughter), self.momentum(parent), self.mass(parent))

        return self._once(("p*", parent, daughter), compute)

    def _at_rest(self, system: System) -> bool:
        return self.rest_frame and system == self.everything

    def harmonics(self, parent: System, first: System, L: int) -> Tensor:
        """|q|^L Y_L of the first daughter's direction, [2L+1, event]."""
        key = ("Y", parent, first)
        return self._once(key, lambda: solid_harmonics(self.daughter_momentum(parent, first)[1:], self.Ls[parent, first]))[L]

    def barrier_factor(self, structure: Structure) -> Tensor | None:
        """The ratio of the barrier of the vertex to |q|^L, [event]; None if it is 1.

        |q|^(l − L)/√N_l(|q|d), or |q|^(l − L) exp(−q²d²/2)
        """
        parent, first = structure.system, tuple(sorted(leaves_of(structure.daughters[0])))
        L, power = structure.ls.L, structure.power
        damped = structure.form == BLATT_WEISSKOPF and power > 0
        exponential = structure.form == EXPONENTIAL
        if not damped and not exponential and power == L:
            return None

        def compute() -> Tensor:
            q2 = self.daughter_momentum(parent, first)[1:].square().sum(dim=0)
            if exponential:
                factor = (-0.5 * structure.radius**2 * q2).exp()
            else:
                factor = barrier_polynomial(power, q2 * structure.radius**2).rsqrt() if damped else torch.ones_like(q2)
            return factor if power == L else factor * q2.clamp(min=SMALLEST_Q2) ** ((power - L) / 2)

        return self._once(("N", parent, first, L, structure.form, power, structure.radius), compute)

    def spin_matrix(self, parent: System, daughter: Structure | int, canonical: bool = False, traces: bool = False) -> Tensor | None:
        """X [spin in the common frame, spin at the vertex, event] of a daughter; None if it is the identity.

        Args:
            parent:     what decays
            daughter:   the daughter
            canonical:  without the projection of Zou and Bugg
            traces:     with the lower spins that a projected tensor has in its traces
        """
        system = tuple(sorted(leaves_of(daughter)))
        two_s = spin_of(daughter, self.two_spins)
        if isinstance(daughter, int) and self.final[daughter].photon_like:
            return self._once(("X", parent, system), lambda: self._photon(parent, daughter))
        if isinstance(daughter, int) and self.final[daughter].one_handed:
            return self._once(("X", parent, system), lambda: self._one_handed(parent, daughter))
        projected = self.formalism != CANONICAL and not canonical and not self._massless(daughter)
        if two_s == 0 or (self._at_rest(parent) and not projected):
            return None
        key = ("X", parent, system, two_s, projected, traces)
        return self._once(key, lambda: self._rotation(parent, system, two_s, projected, traces))

    def _massless(self, daughter: Structure | int) -> bool:
        return isinstance(daughter, int) and self.final[daughter].massless

    def _photon(self, parent: System, photon: int) -> Tensor:
        e4 = self._once(("e", photon), lambda: linear_polarisations(self.p4[photon]))
        return photon_matrix(self.p4[photon], e4, self.momentum(parent), self.mass(parent))

    def _one_handed(self, parent: System, neutrino: int) -> Tensor:
        """χ† W of the only spin state χ, which is the same in all chains."""
        (two_lam,) = self.final[neutrino].two_helicities
        chi = self._once(("chi", neutrino), lambda: helicity_spinor(self.p4[neutrino][1:], two_lam))
        if self._at_rest(parent):
            return chi.conj()[None]
        W = self._rotation(parent, (neutrino,), 1, projected=False)
        return torch.einsum("se,ste->te", chi.conj(), W)[None]

    def _rotation(self, parent: System, daughter: System, two_s: int, projected: bool, traces: bool = False) -> Tensor:
        W = self._once(
            ("W", parent, daughter),
            lambda: wigner_rotation(self.momentum(parent), self.mass(parent), self.momentum(daughter), self._spin_mass(daughter)),
        )
        D = wigner_d(W, two_s)
        if not projected:
            return D
        project = projection_with_traces if traces else transverse_projection
        projection = project(self.daughter_momentum(parent, daughter), self.mass(daughter), two_s)
        return torch.einsum("ste,tue->sue", D, projection)

    def _spin_mass(self, system: System) -> Tensor:
        """Mass of a system in the event; exactly 0 of a massless particle."""
        massless = len(system) == 1 and self.final[system[0]].massless
        return torch.zeros_like(self.p4[system[0]][0]) if massless else self.mass(system)

    def state(self, parent: System, daughter: Structure | int, canonical: bool = False, traces: bool = False) -> Tensor | None:
        """Ψ [spin at the vertex, final spins below, event] of a daughter.

        None stands for a final particle whose spin axes coincide: Ψ is the identity.
        """
        X = self.spin_matrix(parent, daughter, canonical, traces)
        if isinstance(daughter, int):
            return None if X is None else X.transpose(0, 1)
        own = self.amplitude(daughter)
        if X is None:
            return own
        return self._once(("state", parent, daughter, canonical, traces), lambda: _rotate(X, own))

    def amplitude(self, structure: Structure) -> Tensor:
        """Amplitude of an inner state [its spin, final spins below, event]."""
        return self._once(("A", structure), lambda: self.vertex(structure, tuple(projections(structure.two_J))))

    def vertex(self, structure: Structure, two_ms: Sequence[int]) -> Tensor:
        """V [m, final spins below, event] for the given projections of the decaying state.

        V[m; σ1 σ2] = Σ ⟨s1 t1; s2 t2|S mS⟩⟨L mL; S mS|J m⟩ |q|^L Y_L^mL · Ψ1[t1; σ1] Ψ2[t2; σ2]     (F5.1)

        At the vertex of a current it is a sum over (L, S)                                           (F5.3)
        """
        if not structure.current:
            return self._vertex(structure, structure.ls, two_ms)
        parts = [self._vertex(structure, ls, two_ms).mul_(c) for ls, c in self._current(structure).items()]
        return torch.stack(parts).sum(dim=0)

    def _current(self, structure: Structure) -> dict[LS, Tensor]:
        """The coefficient of every (L, S) at the vertex of a current; masses of final particles are nominal ones, which are exact."""
        M = self.mass(structure.system)
        particles = [self.final[d] if isinstance(d, int) else None for d in structure.daughters]
        masses = [
            self.mass(tuple(sorted(leaves_of(d)))) if p is None else torch.full_like(M, 0.0 if p.massless else p.mass or 0.0)
            for d, p in zip(structure.daughters, particles, strict=True)
        ]
        q = self.daughter_momentum(structure.system, tuple(sorted(leaves_of(structure.daughters[0]))))[1:].square().sum(dim=0).sqrt()
        return current_coefficients(structure, particles, masses, M, q)

    def _vertex(self, structure: Structure, ls: LS, two_ms: Sequence[int]) -> Tensor:
        """V of one (L, S), [m, final spins below, event]."""
        parent = structure.system
        first, second = structure.daughters
        Y = self.harmonics(parent, tuple(sorted(leaves_of(first))), ls.L)
        two_s1, two_s2 = spin_of(first, self.two_spins), spin_of(second, self.two_spins)
        kept = self.formalism == ZOU_BUGG and not structure.current and has_traces(two_s1, two_s2, ls.two_S)
        traces = (kept and two_s1 > 2 and not self._massless(first), kept and two_s2 > 2 and not self._massless(second))
        psi1, psi2 = (self.state(parent, d, bool(structure.current), own) for d, own in zip((first, second), traces, strict=True))
        n1, n2 = (self._n_below(first), self._n_below(second))
        result = torch.zeros(len(two_ms), n1, n2, Y.shape[-1], dtype=Y.dtype, device=Y.device)
        for row, two_m in enumerate(two_ms):
            couplings = vertex_couplings(structure.two_J, two_s1, two_s2, ls, two_m, traces)
            for t2 in dict.fromkeys(coupling.t2 for coupling in couplings):
                terms = [coupling for coupling in couplings if coupling.t2 == t2]
                if psi2 is None:
                    _add_first(result[row, :, t2], psi1, Y, terms)
                else:
                    partial = torch.zeros(n1, Y.shape[-1], dtype=Y.dtype, device=Y.device)
                    _add_first(partial, psi1, Y, terms)
                    result[row].addcmul_(partial[:, None], psi2[t2][None])
        return result.flatten(1, 2)

    def _n_below(self, daughter: Structure | int) -> int:
        number = 1
        for leaf in leaves_of(daughter):
            number *= n_states(self.final[leaf])
        return number

    def top_amplitude(self, structure: Structure, two_ms: Sequence[int]) -> Tensor:
        """Amplitude of a whole structure, [m, final spins in the order of the final particles, event]."""
        A = self.vertex(structure, two_ms)
        factor = self._barrier_factors(structure) if self.barrier else None
        if factor is not None:
            A = A * factor
        leaves = structure.leaves
        shape = [n_states(self.final[leaf]) for leaf in leaves]
        order = [1 + leaves.index(i) for i in range(len(leaves))]
        return A.reshape(len(two_ms), *shape, -1).permute(0, *order, len(leaves) + 1).flatten(1, -2)

    def _barrier_factors(self, structure: Structure) -> Tensor | None:
        """The product of the barrier factors of all vertices, [event]; None if all are 1."""
        result = None
        for vertex in structure.walk():
            factor = self.barrier_factor(vertex)
            if factor is not None:
                result = factor if result is None else result * factor
        return result

    def most_bytes(self) -> int:
        """The most bytes that are held at a time by everything computed so far, if each is forgotten after its last use."""
        held = [0] * (self.step + 1)
        for key, (first, last) in self._used.items():
            value = self._cache[key]
            tensors = [tensor for tensor in (value.values() if isinstance(value, dict) else [value]) if isinstance(tensor, Tensor)]
            for step in range(first, last + 1):
                held[step] += sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        return max(held)


def _add_first(out: Tensor, psi1: Tensor | None, Y: Tensor, terms: Sequence) -> None:
    """out[σ1] += Σ value · Y[mL] · Ψ1[t1; σ1]."""
    for t1, _, mL, value in terms:
        if psi1 is None:
            out[t1].add_(Y[mL], alpha=value)
        else:
            out.addcmul_(Y[mL][None], psi1[t1], value=value)


def _rotate(X: Tensor, A: Tensor) -> Tensor:
    """Σ_σ X[σ, t] A[σ; …]."""
    result = torch.zeros(X.shape[1], *A.shape[1:], dtype=A.dtype, device=A.device)
    for t in range(X.shape[1]):
        for sigma in range(X.shape[0]):
            result[t].addcmul_(X[sigma, t][None], A[sigma])
    return result


def on_light_cone(k4: Tensor) -> Tensor:
    """The momentum of a massless particle with E = |k| exactly."""
    return torch.cat([k4[1:].square().sum(dim=0, keepdim=True).sqrt(), k4[1:]])


def harmonics_needed(structures: Sequence[Structure]) -> dict[tuple[System, System], set[int]]:
    """All L for each (parent system, first daughter system)."""
    needed: dict[tuple[System, System], set[int]] = {}
    for top in structures:
        for vertex in top.walk():
            key = (vertex.system, tuple(sorted(leaves_of(vertex.daughters[0]))))
            needed.setdefault(key, set()).update(current_L(vertex.current) or (vertex.ls.L,))
    return needed
