"""Tensors of daughters that were only projected orthogonal to their parent's momentum: spin s, and the lower spins of their traces (F6).

A projected tensor of rank n is symmetric, but not traceless: it has spins k = n, n − 2, …, and that of spin n + 1/2 all j = k ± 1/2.
"""

from __future__ import annotations

from functools import cache
from math import factorial, prod, sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from ctpwa.decay.clebsch import clebsch_gordan
from ctpwa.decay.spin import projections
from ctpwa.kinematics.constants import constants
from ctpwa.kinematics.rotation import spherical, transverse_projection

Polynomial = dict[tuple[int, int, int], float]  # Σ a u^i w^j z^l with u = x + iy, w = x − iy

ROUNDING = 1e-12  # of factors that are 0 or of the order of 1


class Component(NamedTuple):
    """A part of a projected tensor that turns like one spin: its tensor of rank k without traces, and the doubled spin j."""

    k: int
    two_j: int


@cache
def components(two_s: int) -> tuple[Component, ...]:
    """All parts of the projected tensor of a daughter, its spin s first."""
    n, half = divmod(two_s, 2)
    return tuple(Component(k, two_j) for k in range(n, -1, -2) for two_j in ((2 * k + 1, 2 * k - 1) if half else (2 * k,)) if two_j >= 0)


def projection_with_traces(p4: Tensor, m: Tensor, two_s: int) -> Tensor:
    """``transverse_projection``, and beside it the lower spins of the traces, in the order of ``components``.

    With δ = 1 and STF without traces, ⟨STF_n| S ⊗ … ⊗ S |δ^i STF_k⟩ = ⟨STF_n| (p⃗/m)^2i S ⊗ … ⊗ S STF_k⟩, since S² = δ + p⃗p⃗ᵀ/m²

    Args:
        p4:     momentum of the daughter in the parent's rest frame, [4, event]
        m:      its mass, [event]
        two_s:  its doubled spin

    Returns:
        [2s+1, Σ (2j+1), event]
    """
    n, half = divmod(two_s, 2)
    parts = [transverse_projection(p4, m, two_s)]
    for k, two_j in components(two_s)[1:]:
        A = transverse_projection(p4, m, 2 * k)
        for rank in range(k + 1, n + 1):
            A = _times_vector(A, spherical(p4[1:] / m), rank)
        parts.append(_with_spinor(A, two_s, k, two_j) * ((p4[0] / m + 1) / 2).sqrt() if half else A)
    return torch.cat(parts, dim=1)


def _times_vector(A: Tensor, v: Tensor, rank: int) -> Tensor:
    """Σ ⟨rank−1 a; 1 b | rank t⟩ v_b A[a, …]."""
    result = torch.zeros(2 * rank + 1, *A.shape[1:], dtype=A.dtype, device=A.device)
    for i, two_b in enumerate(projections(2)):
        stretched = (clebsch_gordan(2 * rank - 2, two_a, 2, two_b, 2 * rank, two_a + two_b) for two_a in projections(2 * rank - 2))
        result[i : i + A.shape[0]] += constants(tuple(stretched), A.dtype, A.device)[:, None, None] * v[i] * A
    return result


def _with_spinor(A: Tensor, two_s: int, k: int, two_j: int) -> Tensor:
    """Σ ⟨n a; 1/2 σ | s t⟩ ⟨k b; 1/2 σ | j u⟩ A[a, b]."""
    result = torch.zeros(two_s + 1, two_j + 1, A.shape[2], dtype=A.dtype, device=A.device)
    for two_sigma in (1, -1):
        rows, columns = (
            constants(_half(rank, two_sigma, two_J), A.dtype, A.device).reshape(two_J + 1, 2 * rank + 1)
            for rank, two_J in ((two_s // 2, two_s), (k, two_j))
        )
        result += torch.einsum("ta,ub,abe->tue", rows, columns, A)
    return result


def _half(rank: int, two_sigma: int, two_J: int) -> tuple[float, ...]:
    """⟨rank a; 1/2 σ | J t⟩ of all t and a."""
    return tuple(
        clebsch_gordan(2 * rank, two_a, 1, two_sigma, two_J, two_t) for two_t in projections(two_J) for two_a in projections(2 * rank)
    )


@cache
def trace_factor(two_s1: int, two_s2: int, two_S: int, first: Component, second: Component) -> float:
    """How much of S two parts of projected tensors make, relative to s1 and s2 themselves, which make 1.

    Indices of both tensors are contracted in pairs, with one ε if their number is odd. Spinors are coupled to each other or follow the
    tensors, such that ε is avoided where it can be, and the spins of both add up where they can.
    """
    main = (components(two_s1)[0], components(two_s2)[0])
    if (first, second) == main:
        return 1.0
    factor = _amount(two_s1, two_s2, two_S, first, second) / _amount(two_s1, two_s2, two_S, *main)
    return 0.0 if abs(factor) < ROUNDING else factor


@cache
def has_traces(two_s1: int, two_s2: int, two_S: int) -> bool:
    """Whether traces of projected tensors are in the coupling of s1 and s2 to S."""
    pairs = [(first, second) for first in components(two_s1) for second in components(two_s2)]
    return any(trace_factor(two_s1, two_s2, two_S, *pair) != 0.0 for pair in pairs[1:])


def _amount(two_s1: int, two_s2: int, two_S: int, first: Component, second: Component) -> float:
    n1, n2 = two_s1 // 2, two_s2 // 2
    rank, two_sigma = _intermediate(n1, n2, two_s1 % 2, two_s2 % 2, two_S)
    if first.two_j + second.two_j < two_S or abs(first.two_j - second.two_j) > two_S:
        return 0.0
    if not abs(first.k - second.k) <= rank <= first.k + second.k:
        return 0.0
    contracted = _contracted(n1, first.k, n2, second.k, rank) / (_norm(n1, first.k) * _norm(n2, second.k))
    recoupled = _recoupled((2 * first.k, two_s1 % 2, first.two_j), (2 * second.k, two_s2 % 2, second.two_j), (2 * rank, two_sigma, two_S))
    return contracted * recoupled


def _intermediate(n1: int, n2: int, half1: int, half2: int, two_S: int) -> tuple[int, int]:
    """The rank to which tensors are coupled, and the doubled spin to which spinors are."""
    S = two_S // 2
    even = (n1 + n2 - S) % 2 == 0
    if half1 and half2:
        return (S, 0) if even else (S - 1, 2)
    if half1 or half2:
        return (S if even else S + 1), 1
    return S, 0


def _recoupled(first: tuple[int, int, int], second: tuple[int, int, int], total: tuple[int, int, int]) -> float:
    """⟨(k1 τ1) j1, (k2 τ2) j2; S | (k1 k2) N, (τ1 τ2) σ; S⟩ of doubled spins."""
    (k1, tau1, j1), (k2, tau2, j2), (N, sigma, S) = first, second, total
    result = 0.0
    for a in projections(k1):
        for b in projections(k2):
            for alpha in projections(tau1):
                beta = S - a - b - alpha
                left = clebsch_gordan(k1, a, tau1, alpha, j1, a + alpha) * clebsch_gordan(k2, b, tau2, beta, j2, b + beta)
                left *= clebsch_gordan(j1, a + alpha, j2, b + beta, S, S)
                right = clebsch_gordan(k1, a, k2, b, N, a + b) * clebsch_gordan(tau1, alpha, tau2, beta, sigma, alpha + beta)
                result += left * right * clebsch_gordan(N, a + b, sigma, alpha + beta, S, S)
    return result


def _norm(n: int, k: int) -> float:
    """The squared length of the symmetric part of δ^i STF_k, n = k + 2i, with STF_k of length 1."""
    return factorial(k) / factorial(n) * prod(2 * i * (2 * i + 2 * k + 1) for i in range(1, (n - k) // 2 + 1))


def _contracted(n1: int, k1: int, n2: int, k2: int, rank: int) -> float:
    """The tensors δ^i STF_k contracted with each other to a rank, relative to ⟨k1 m1; k2 m2 | rank m⟩.

    Tensors are polynomials: a contraction is ∇·∇', and the part without traces of highest m is what is left of u^a u'^b.
    """
    pairs, odd = divmod(n1 + n2 - rank, 2)
    if pairs + odd > min(n1, n2):
        return 0.0
    m1 = k1
    m2 = rank - m1
    f, g = _polynomial(n1, k1, m1), _polynomial(n2, k2, m2)
    product: dict[tuple[int, ...], float] = {(*a, *b): x * y for a, x in f.items() for b, y in g.items()}
    for _ in range(pairs):
        product = _derivatives(product, [(2.0, 0, 4), (2.0, 1, 3), (1.0, 2, 5)])
    if odd:
        product = _derivatives(product, [(1.0, 0, 5), (-1.0, 2, 3)])
    left = (n1 - pairs - odd, 0, 0, n2 - pairs - odd, 0, 0)
    return product.get(left, 0.0) / clebsch_gordan(2 * k1, 2 * m1, 2 * k2, 2 * m2, 2 * rank, 2 * rank)


def _derivatives(f: dict[tuple[int, ...], float], terms: list[tuple[float, int, int]]) -> dict[tuple[int, ...], float]:
    """Σ factor ∂_i ∂_j f."""
    result: dict[tuple[int, ...], float] = {}
    for powers, value in f.items():
        for factor, i, j in terms:
            if powers[i] and powers[j]:
                new = tuple(p - (position in (i, j)) for position, p in enumerate(powers))
                result[new] = result.get(new, 0.0) + factor * value * powers[i] * powers[j]
    return result


def _polynomial(n: int, k: int, m: int) -> Polynomial:
    """r^(n−k) times the solid harmonic of k and m whose tensor has length 1: (−u/√2)^k for m = k, lowered by L₋ = w ∂_z − 2z ∂_u."""
    f: Polynomial = {(k, 0, 0): (-sqrt(0.5)) ** k}
    for two_m in range(2 * k, 2 * m, -2):
        scale = 1 / sqrt((2 * k + two_m) * (2 * k - two_m + 2) / 4)
        lowered: Polynomial = {}
        for (u, w, z), value in f.items():
            if z:
                lowered[u, w + 1, z - 1] = lowered.get((u, w + 1, z - 1), 0.0) + scale * z * value
            if u:
                lowered[u - 1, w, z + 1] = lowered.get((u - 1, w, z + 1), 0.0) - scale * 2 * u * value
        f = lowered
    for _ in range((n - k) // 2):
        longer: Polynomial = {}
        for (u, w, z), value in f.items():
            for new in ((u + 1, w + 1, z), (u, w, z + 2)):
                longer[new] = longer.get(new, 0.0) + value
        f = longer
    return f
