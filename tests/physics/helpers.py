"""Events, transformations and sums over spins for the physics tests."""

from functools import cache
from itertools import permutations

import numpy as np
import torch
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import ctpwa
from ctpwa.decay.spin import projections
from ctpwa.decay.structure import build_structure
from ctpwa.decay.symmetry import permutation_sign
from ctpwa.spin.evaluate import Evaluator, harmonics_needed
from ctpwa.spin.final_spins import n_states
from physics.models import load

BETA = (0.31, -0.42, 0.53)
ROTATION = Rotation.from_rotvec([0.7, -1.9, 0.8])


@cache
def _events(name, n, seed):
    return dict(ctpwa.generate_phase_space(load(name), n, seed=seed, weighted=True).momenta)


def events_of(name, n=6, seed=11):
    """Phase-space events of a model of ``physics.models``, name → [event, 4]."""
    return dict(_events(name, n, seed))


def transformed(momenta, matrix):
    """Every momentum multiplied by a 4×4 matrix."""
    return {name: p4 @ torch.as_tensor(matrix, dtype=torch.float64).T for name, p4 in momenta.items()}


def rotated(momenta, rotation=ROTATION):
    matrix = np.eye(4)
    matrix[1:, 1:] = rotation.as_matrix()
    return transformed(momenta, matrix)


def boosted(momenta, beta=BETA):
    return transformed(momenta, boost_matrix(beta))


def reflected(momenta):
    return transformed(momenta, np.diag([1.0, -1.0, -1.0, -1.0]))


def boost_matrix(beta):
    beta = np.asarray(beta)
    gamma = 1 / np.sqrt(1 - beta @ beta)
    space = np.eye(3) + (gamma - 1) * np.outer(beta, beta) / (beta @ beta)
    return np.block([[np.array([[gamma]]), gamma * beta[None]], [gamma * beta[:, None], space]])


def spin_matrices(two_j):
    """Jx, Jy, Jz in the basis m = +j, …, −j."""
    j = two_j / 2
    m = j - np.arange(two_j + 1)
    plus = np.diag(np.sqrt(j * (j + 1) - m[1:] * (m[1:] + 1)), 1)
    return (plus + plus.T) / 2, (plus - plus.T) / 2j, np.diag(m)


def rotation_operator(two_j, rotation=ROTATION):
    """⟨m'|U(R)|m⟩ = exp(−i θ·J), without any recursion or Euler angle."""
    return expm(-1j * sum(x * J for x, J in zip(rotation.as_rotvec(), spin_matrices(two_j), strict=True)))


def density_matrix(two_J, seed=5):
    """A generic positive matrix: polarised along no particular axis."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(two_J + 1, two_J + 1)) + 1j * rng.normal(size=(two_J + 1, two_J + 1))
    rho = root @ root.conj().T
    return rho / np.trace(rho).real


def gram(A):
    """B [event, wave, wave] = Σ_pol conj(A_a) A_b of amplitudes [wave, pol, event]."""
    A = np.asarray(A)
    return np.einsum("ape,bpe->eab", A.conj(), A)


def couplings_of(model, seed=3):
    """One random complex number for each independent coupling, and from them one for each wave."""
    rng = np.random.default_rng(seed)
    c = {name: complex(*rng.normal(size=2)) for name in model.couplings}
    return np.array([wave.factor * c[wave.coupling] for wave in model.waves])


def breit_wigner(resonance, s):
    if resonance.mass is None:
        return np.ones_like(s, dtype=complex)
    width = max(resonance.width, 0.01)  # narrow states would leave nothing but noise in flat phase space
    return 1 / (resonance.mass**2 - s - 1j * resonance.mass * width)


def propagators(model, momenta, wave, systems):
    """Π of the Breit–Wigners of one term, [event]."""
    result = np.ones(len(next(iter(momenta.values()))), dtype=complex)
    for resonance, system in zip(wave.resonances, systems, strict=True):
        P4 = sum(momenta[model.final_names[i]].numpy() for i in system)
        result = result * breit_wigner(resonance, P4[:, 0] ** 2 - (P4[:, 1:] ** 2).sum(axis=1))
    return result


def dressed_amplitudes(model, momenta, **options):
    """Amplitudes with Breit–Wigners in every term, [wave, parent state, final spin 1, …, final spin n, event]."""
    spin = model.spin_amplitudes(momenta, **options)
    restored = [spin.rows.restore(K[None], parts[0][0].total_L)[0].numpy() for K, parts in zip(spin.K, spin.structures, strict=True)]
    A = np.stack(
        [
            sum(term.factor * restored[term.structure] * propagators(model, momenta, wave, term.systems) for term in terms)
            for wave, terms in zip(model.waves, spin.terms, strict=True)
        ]
    )
    return split_spins(model, A)


def split_spins(model, A):
    """[wave, pol, event] → [wave, parent state, final spin 1, …, final spin n, event]."""
    shape = [n_states(particle) for particle in model.decay.final]
    return A.reshape(A.shape[0], -1, *shape, A.shape[-1])


def exchanged(A, new):
    """Spin axes of final particles permuted: axis i goes to where particle ``new[i]`` was."""
    return A.transpose(0, 1, *(2 + i for i in new), A.ndim - 1)


def direct_amplitudes(model, momenta, *, rest_frame=True, barrier=False, dressed=True):
    """All rows [wave, m, spins…, event] straight from formula 5.1, structure by structure.

    No sharing, no reordering of daughters and no real K; identical particles are symmetrised by permuting momenta and spin axes.
    """
    decay = model.decay
    two_ms = list(projections(decay.parent.two_J))
    structures = [build_structure(wave.chain, wave.ls) for wave in model.waves]
    max_L = harmonics_needed(structures)
    total = 0
    for new, sign in _permutations(decay):
        permuted = {decay.labels[i]: momenta[decay.labels[new[i]]] for i in range(len(decay.final))}
        p4 = [p.T.contiguous() for p in permuted.values()]
        evaluator = Evaluator(decay.final, p4, max_L, rest_frame=rest_frame, barrier=barrier, formalism=model.formalism)
        A = np.stack([evaluator.top_amplitude(structure, two_ms).flatten(0, 1).numpy() for structure in structures])
        if dressed:
            A = A * np.stack([propagators(model, permuted, w, [n.leaves for n in w.chain.nodes[1:]]) for w in model.waves])[:, None]
        back = [new.index(i) for i in range(len(new))]
        total = total + sign * exchanged(split_spins(model, A), back)
    return total


def flattened(A):
    """[wave, parent state, spins…, event] → [wave, pol, event]."""
    return A.reshape(A.shape[0], -1, A.shape[-1])


def _permutations(decay):
    names = [particle.name for particle in decay.final]
    for new in permutations(range(len(names))):
        if all(names[i] == names[new[i]] for i in range(len(names))):
            sign = 1
            for name in set(names):
                group = [i for i in range(len(names)) if names[i] == name]
                if decay.final[group[0]].fermion:
                    sign *= permutation_sign([group.index(new[i]) for i in group])
            yield new, sign


def with_state(A, rho):
    """Rows [wave, row, event] of a parent with density matrix ρ from amplitudes [wave, m, spins…, event]."""
    values, vectors = np.linalg.eigh(np.asarray(rho))
    V = (np.sqrt(values.clip(min=0)) * vectors).T
    flat = A.reshape(*A.shape[:2], -1, A.shape[-1])
    return np.einsum("km,wmse->wkse", V, flat).reshape(A.shape[0], -1, A.shape[-1])


def assert_close(actual, expected, tolerance=1e-11):
    """Equal up to ``tolerance`` of the largest expected value."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    scale = np.abs(expected).max()
    assert scale > 0
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)
