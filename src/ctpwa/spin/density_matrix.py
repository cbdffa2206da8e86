"""A spin density matrix whose elements are parameters, written as a sum over pure states.

    ρ(p) = ρ₀ + Σ_a p_a B_a = L L†,     L lower triangular with L_kk ≥ 0                             (Cholesky)

ρ is linear in its parameters: its elements, with trace 1, or for spin 1/2 the polarisation vector, ρ = (1 + P·σ)/2. The column k of L is
one pure state of the parent, and every L_mk that is not 0 for all parameters a feed: row k gets L_mk A_m.

    ∂_a L = L Φ(L⁻¹ B_a L⁻†),     ∂_a ∂_b L = −L Φ(L⁻¹ (∂_a L ∂_b L† + ∂_b L ∂_a L†) L⁻†)

with Φ the lower triangle, its diagonal halved. Where an eigenvalue of ρ reaches 0 these slopes are infinite, though those of the intensity
are not; beyond, there is no L.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.decay.particle import Particle
from ctpwa.decay.spin import format_spin, projections
from ctpwa.spin.production import FeedFactors

VECTOR = ("P_x", "P_y", "P_z")
ROUNDING = 1e-14  # an eigenvalue that is so small is 0
Matrix = tuple[tuple[complex, ...], ...]


@dataclass(frozen=True)
class DensityMatrix(FeedFactors):
    """ρ as a function of parameters.

    Attributes:
        names:     the parameters
        constant:  ρ₀, rows and columns in the order of the states
        slopes:    B_a of every parameter
        states:    2m of every state, descending; if ``even`` only m ≥ 0, and every state m stands for ±m with equal weights
        even:      whether ρ is diagonal and even in m for all parameters
    """

    names: tuple[str, ...]
    constant: Matrix
    slopes: tuple[Matrix, ...]
    states: tuple[int, ...]
    even: bool

    @classmethod
    def of(cls, parent: Particle, named: Sequence[str], equal: Mapping[str, str] | None = None) -> DensityMatrix:
        """The density matrix of a parent.

        Args:
            parent:  it has spin
            named:   the elements that are parameters; diagonal ones that are not named share what is left of the trace, others are 0
            equal:   diagonal elements that are equal to one of those that are named
        """
        two_J, equal = parent.two_J, equal or {}
        ms = tuple(projections(two_J))
        if two_J == 1:
            return _of_vector(tuple(named), ms)
        size = two_J + 1
        diagonal = {element_name(two_J, m, m): i for i, m in enumerate(ms)}
        left = [i for name, i in diagonal.items() if name not in named and name not in equal]
        if not left:
            raise PhysicsError(
                f"all {size} diagonal elements are named, and must add up to 1", "leave one of them out: it is what the others leave"
            )
        constant = np.zeros((size, size), dtype=complex)
        constant[left, left] = 1 / len(left)
        slopes = []
        for name in named:
            B = np.zeros((size, size), dtype=complex)
            if name in diagonal:
                own = [diagonal[name], *(diagonal[other] for other, source in equal.items() if source == name)]
                B[own, own] = 1
                B[left, left] = -len(own) / len(left)
            else:
                i, j, unit = _place(name, two_J, ms)
                B[i, j], B[j, i] = unit, unit.conjugate()
            slopes.append(B)
        every = np.array([constant, *slopes])
        even = not np.any(every - every[:, ::-1, ::-1]) and not np.any(every * (1 - np.eye(size)))
        if even:
            kept = [i for i, m in enumerate(ms) if m >= 0]
            constant, slopes, ms = constant[np.ix_(kept, kept)], [B[np.ix_(kept, kept)] for B in slopes], tuple(ms[i] for i in kept)
        return cls(tuple(named), _tuples(constant), tuple(map(_tuples, slopes)), ms, even)

    @cached_property
    def _constant(self) -> np.ndarray:
        return np.array(self.constant, dtype=complex)

    @cached_property
    def _slopes(self) -> np.ndarray:
        return np.array(self.slopes, dtype=complex).reshape(-1, *self._constant.shape)

    @cached_property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """(k, m) of all L_mk that are not 0 for all parameters, by their place among the states."""
        used = (np.abs(self._constant) + np.abs(self._slopes).sum(axis=0)) > 0
        n = len(used)
        for k in range(n):
            used[k, k] = True
            below = np.flatnonzero(used[k + 1 :, k]) + k + 1
            used[np.ix_(below, below)] = True
        return tuple((k, m) for k in range(n) for m in range(k, n) if used[m, k])

    @property
    def n_feeds(self) -> int:
        """See ``FeedFactors``."""
        return len(self.entries)

    def rho(self, p: np.ndarray) -> np.ndarray:
        """ρ over the states; trace 1, if every state m of an even one is counted for ±m."""
        return self._constant + np.tensordot(np.asarray(p, dtype=float), self._slopes, axes=1)

    def whole(self, p: np.ndarray) -> np.ndarray:
        """ρ [m, m'] for m = +J, …, −J."""
        rho = self.rho(p)
        if not self.even:
            return rho
        diagonal = rho.diagonal()
        return np.diag(np.concatenate([diagonal, diagonal[::-1][1 if self.states[-1] == 0 else 0 :]]))

    def room(self, p: np.ndarray) -> float:
        """The lowest eigenvalue of ρ; negative: it is not physical."""
        return float(np.linalg.eigvalsh(self.rho(p))[0])

    def range(self, name: str) -> tuple[float, float]:
        """See ``FeedFactors``."""
        if name in VECTOR:
            return -1.0, 1.0
        return (-0.5, 0.5) if name.endswith((".re", ".im")) else (0.0, 1.0)

    def values(self, p: np.ndarray) -> np.ndarray:
        """See ``FeedFactors``."""
        L = _cholesky(self.rho(p))
        return np.array([L[m, k] for k, m in self.entries])

    def derivatives(self, p: np.ndarray, moving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See ``FeedFactors``."""
        n, moved = len(self.names), np.flatnonzero(moving)
        first, second = np.zeros((self.n_feeds, n), dtype=complex), np.zeros((self.n_feeds, n, n), dtype=complex)
        L, B = _cholesky(self.rho(p)), self._slopes[moved]
        alive = L.diagonal().real > 0
        if not alive.all() and len(moved) and (np.abs(B[:, ~alive]).any() or np.abs(L[~alive]).any() or np.isnan(L).any()):
            first[:, moved], second[:, moved[:, None], moved] = np.nan, np.nan
            return first, second
        kept = np.flatnonzero(alive)  # states that are not there, and never will be, have no slopes
        L, B = L[np.ix_(kept, kept)], B[:, kept[:, None], kept]
        inverse = np.linalg.inv(L)

        def half(X: np.ndarray) -> np.ndarray:
            M = np.tril(inverse @ X @ inverse.conj().T)
            return L @ (M - np.eye(len(L)) * M / 2)

        place = {int(state): i for i, state in enumerate(kept)}
        rows = [(f, place[m], place[k]) for f, (k, m) in enumerate(self.entries) if alive[k] and alive[m]]
        feeds, ms, ks = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        dL = [half(own) for own in B]
        for i, a in enumerate(moved):
            first[feeds, a] = dL[i][ms, ks]
            for j, b in enumerate(moved[: i + 1]):
                product = dL[i] @ dL[j].conj().T
                second[feeds, a, b] = second[feeds, b, a] = -half(product + product.conj().T)[ms, ks]
        return first, second

    def barrier(self, p: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """−ln det ρ with its first and second derivatives, which grows without limit towards the edge of what is physical."""
        if not self.room(p) > 0:
            return np.nan, np.full(len(self.names), np.nan), np.full(2 * (len(self.names),), np.nan)
        rho = self.rho(p)
        turned = np.linalg.solve(rho, self._slopes)
        slope = -np.trace(turned, axis1=1, axis2=2).real
        return -float(np.linalg.slogdet(rho)[1]), slope, np.einsum("aij,bji->ab", turned, turned).real


def element_name(two_J: int, two_m: int, two_n: int) -> str:
    """The name of ρ_mn: ``rho_10`` of m = 1, n = 0; of half-integer spins with 2m and 2n, ``rho_31``."""
    unit = 2 if two_J % 2 == 0 else 1
    return f"rho_{two_m // unit}{two_n // unit}"


def element_names(parent: Particle) -> tuple[str, ...]:
    """All that can be named: the polarisation vector, or diagonal elements and the parts of those above the diagonal."""
    if parent.two_J == 0:
        raise PhysicsError(f"{parent.label} has spin 0 and no polarisation", "leave 'polarisation' out")
    if parent.two_J == 1:
        return VECTOR
    ms = tuple(projections(parent.two_J))
    diagonal = [element_name(parent.two_J, m, m) for m in ms]
    above = [element_name(parent.two_J, m, n) for i, m in enumerate(ms) for n in ms[i + 1 :]]
    return (*diagonal, *(f"{name}.{part}" for name in above for part in ("re", "im")))


def independent_elements(parent: Particle) -> tuple[str, ...]:
    """All elements but the last diagonal one, which follows from the trace."""
    names = element_names(parent)
    return names if parent.two_J == 1 else tuple(name for i, name in enumerate(names) if i != parent.two_J)


def check_element(name: str, parent: Particle) -> None:
    """Refuse what is no element of the density matrix of a parent."""
    known = element_names(parent)
    if name in known:
        return
    two_J, ms = parent.two_J, tuple(projections(parent.two_J))
    own, _, part = name.partition(".")
    below = {element_name(two_J, n, m): element_name(two_J, m, n) for i, m in enumerate(ms) for n in ms[i + 1 :]}
    if two_J > 1 and own in below:
        fix = f"write {below[own]}.{part or 're'}: elements below the diagonal are the complex conjugates of those above"
    elif two_J > 1 and not part and f"{own}.re" in known:
        fix = f"write its real and imaginary part, {own}.re and {own}.im"
    else:
        near = suggest(name, known)
        fix = near if near.startswith("did") else f"the elements are {', '.join(known[:12])}{' …' if len(known) > 12 else ''}"
    raise PhysicsError(f"{name!r} is no element of the density matrix of a parent with spin {format_spin(two_J)}", fix)


def _of_vector(named: tuple[str, ...], ms: tuple[int, ...]) -> DensityMatrix:
    sigma = {"P_x": ((0, 0.5), (0.5, 0)), "P_y": ((0, -0.5j), (0.5j, 0)), "P_z": ((0.5, 0), (0, -0.5))}
    return DensityMatrix(named, _tuples(np.eye(2) / 2), tuple(_tuples(np.array(sigma[name])) for name in named), ms, False)


def _place(name: str, two_J: int, ms: Sequence[int]) -> tuple[int, int, complex]:
    """Where an element above the diagonal is, and 1 or i for its part."""
    own, _, part = name.partition(".")
    place = {element_name(two_J, m, n): (i, j) for i, m in enumerate(ms) for j, n in enumerate(ms) if i < j}
    return *place[own], 1.0 + 0j if part == "re" else 1j


def _tuples(matrix: np.ndarray) -> Matrix:
    return tuple(tuple(complex(entry) for entry in row) for row in matrix)


def _cholesky(rho: np.ndarray) -> np.ndarray:
    """L with ρ = L L†; columns of pivots that are 0 are 0, and all is NaN if ρ has a negative eigenvalue."""
    n = len(rho)
    L = np.zeros((n, n), dtype=complex)
    for k in range(n):
        pivot = rho[k, k].real - float(np.sum(np.abs(L[k, :k]) ** 2))
        below = rho[k + 1 :, k] - L[k + 1 :, :k] @ L[k, :k].conj()
        if pivot > ROUNDING:
            L[k, k] = np.sqrt(pivot)
            L[k + 1 :, k] = below / L[k, k]
        elif not pivot >= -ROUNDING or np.abs(below).max(initial=0.0) > np.sqrt(ROUNDING):
            return np.full((n, n), np.nan, dtype=complex)
    return L
