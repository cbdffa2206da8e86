"""Lorentz tensors and Dirac spinors written out, one event at a time: nothing of this is shared with the package.

Metric (+,−,−,−); wave functions as in the formalism, §2; couplings as in §5.2, unique up to a constant.
"""

from functools import cache
from itertools import permutations
from math import factorial

import numpy as np
from sympy import Rational
from sympy.physics.quantum.cg import CG

METRIC = np.diag([1.0, -1.0, -1.0, -1.0])
_SPHERICAL = np.array([[-1, -1j, 0], [0, 0, np.sqrt(2)], [1, -1j, 0]]) / np.sqrt(2)  # e_+1, e_0, e_−1


def _levi_civita():
    tensor = np.zeros((4, 4, 4, 4))
    for p in permutations(range(4)):
        tensor[p] = np.linalg.det(np.eye(4)[list(p)])
    return tensor


LEVI_CIVITA = _levi_civita()
_SIGMA = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]], dtype=complex)
_ZERO = np.zeros((2, 2))
GAMMA = np.array([np.diag([1, 1, -1, -1]).astype(complex), *(np.block([[_ZERO, s], [-s, _ZERO]]) for s in _SIGMA)])
GAMMA5 = np.block([[_ZERO, np.eye(2)], [np.eye(2), _ZERO]]).astype(complex)


@cache
def clebsch(j1, m1, j2, m2, J, M):
    return float(CG(*(Rational(x) for x in (j1, m1, j2, m2, J, M))).doit())


def dot(a, b):
    return a @ METRIC @ b


def mass(p):
    return np.sqrt(dot(p, p))


def slash(p):
    return np.einsum("m,mab->ab", METRIC @ p, GAMMA)


def boost(p):
    m = mass(p)
    space = np.eye(3) + np.outer(p[1:], p[1:]) / (m * (p[0] + m))
    return np.block([[np.array([[p[0] / m]]), p[None, 1:] / m], [p[1:, None] / m, space]])


def transport(source, target):
    """Λ with Λ a = b for the unit vectors a, b along two momenta: the covariant pure boost."""
    a, b = source / mass(source), target / mass(target)
    return np.eye(4) - np.outer(a + b, METRIC @ (a + b)) / (1 + dot(a, b)) + 2 * np.outer(b, METRIC @ a)


def spinor_transport(source, target):
    a, b = source / mass(source), target / mass(target)
    return (np.eye(4) + slash(b) @ slash(a)) / np.sqrt(2 * (1 + dot(a, b)))


def apply(matrix, tensor, n):
    """A 4×4 matrix on each of the last n indices."""
    for axis in range(tensor.ndim - n, tensor.ndim):
        tensor = np.moveaxis(np.tensordot(tensor, matrix, axes=(axis, 1)), -1, axis)
    return tensor


def polarisation(p, n):
    """ε^{μ1…μn}(p, σ), [σ = +n … −n, 4, …]."""
    vectors = (boost(p)[:, 1:] @ _SPHERICAL.T).T
    result = np.ones(1, dtype=complex)
    for k in range(1, n + 1):
        result = np.array(
            [
                sum(
                    clebsch(k - 1, a, 1, b, k, a + b) * np.multiply.outer(result[k - 1 - a], vectors[1 - b])
                    for b in (1, 0, -1)
                    if abs(a := sigma - b) <= k - 1
                )
                for sigma in range(k, -k - 1, -1)
            ]
        )
    return result


def project(P, tensor, n):
    """The symmetric traceless transverse part: Σ_σ ε*_σ (−1)^n ε_σ·T."""
    basis = polarisation(P, n)
    lowered = apply(METRIC, basis, n)
    axes = list(range(tensor.ndim - n, tensor.ndim))
    parts = np.tensordot(tensor, lowered, axes=(axes, list(range(1, n + 1)))) if n else tensor[..., None]
    return (-1) ** n * np.tensordot(parts, basis.conj(), axes=1)


def transverse(P, tensor, n):
    """g̃(P) on each of the last n indices, which leaves traces."""
    return apply(np.eye(4) - np.outer(P, METRIC @ P) / dot(P, P), tensor, n)


def orbital(P, p1, p2, L):
    r = np.ones((), dtype=complex)
    for _ in range(L):
        r = np.multiply.outer(r, p1 - p2)
    return project(P, r, L)


def couple(P, A, a, B, b, n):
    """Tensors of rank a and b (last indices) to rank n: contractions, one ε if their number is odd, then the projection.

    Leading indices of A and B are kept, those of A first.
    """
    pairs, odd = divmod(a + b - n, 2)
    lead_a, lead_b = A.ndim - a, B.ndim - b
    product = np.multiply.outer(A, B)
    letters = [chr(97 + i) for i in range(product.ndim)]
    index_a, index_b = letters[lead_a : A.ndim], letters[A.ndim + lead_b :]
    lead = letters[:lead_a] + letters[A.ndim : A.ndim + lead_b]
    operands, extra = [product], []
    for k in range(pairs):
        operands.append(METRIC)
        extra.append(index_a[k] + index_b[k])
    kept = index_a[pairs:] + index_b[pairs:]
    if odd:
        i, j = index_a[pairs], index_b[pairs]
        eps = np.einsum("mabd,d->mab", LEVI_CIVITA, METRIC @ (P / mass(P)))
        operands.append(np.einsum("mab,ax,by->mxy", eps, METRIC, METRIC))
        extra.append("z" + i + j)
        kept = ["z", *index_a[pairs + 1 :], *index_b[pairs + 1 :]]
    text = ",".join(["".join(letters), *extra]) + "->" + "".join(lead + kept)
    return project(P, np.einsum(text, *operands), n)


def amplitude(P, J, tensor):
    """A[m, …] = ε_m(P)·Φ_J."""
    wave = apply(METRIC, polarisation(P, J), J)
    axes = list(range(tensor.ndim - J, tensor.ndim))
    return np.tensordot(wave, tensor, axes=(list(range(1, J + 1)), axes))


def photon_vectors(k, e, P):
    """ẽ = e − (e·P / k·P) k."""
    return e - np.multiply.outer((e @ METRIC @ P) / dot(k, P), k)


def spinor(p, antiparticle=False):
    """u(p, s), or v(p, s) of an outgoing antiparticle, [s = ±1/2, 4]."""
    m = mass(p)
    S = (m * np.eye(4) + slash(p) @ GAMMA[0]) / np.sqrt(2 * m * (p[0] + m))
    chi = np.array([[1, 0], [0, 1]]) if not antiparticle else np.array([[0, 1], [-1, 0]])
    zero = np.zeros((2, 2))
    return (S @ np.hstack([zero, chi] if antiparticle else [chi, zero]).T).T


def spinor_vector(p, antiparticle=False):
    """u^μ(p, σ) of spin 3/2, or v^μ(p, σ) of an outgoing antiparticle, [σ, μ, 4]."""
    vectors, u = polarisation(p, 1), spinor(p, antiparticle)
    vectors = vectors.conj() if antiparticle else vectors
    half = Rational(1, 2)
    return np.array(
        [
            sum(
                clebsch(1, b, half, s, 3 * half, b + s) * np.multiply.outer(vectors[1 - b], u[0 if s > 0 else 1])
                for b in (1, 0, -1)
                for s in (half, -half)
                if b + s == sigma
            )
            for sigma in (3 * half, half, -half, -3 * half)
        ]
    )


def bar(psi):
    return psi.conj() @ GAMMA[0]


def double_factorial(n):
    return 1 if n <= 0 else n * double_factorial(n - 2)


def harmonic_scale(L):
    """√((2L+1)/4π) √((2L−1)!!/L!), the constant between |q|^L Y_LM and ε_M·q⊗…⊗q."""
    return np.sqrt((2 * L + 1) / (4 * np.pi) * double_factorial(2 * L - 1) / factorial(L))
