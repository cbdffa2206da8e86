"""Massless vectors: two polarisations, gauge invariance, and how many couplings they leave."""

import numpy as np
import pytest
import torch

import ctpwa
import ctpwa.spin.evaluate
from ctpwa.decay.rules import allowed_ls, independent_subset
from ctpwa.decay.structure import Structure
from ctpwa.kinematics.lorentz import to_rest_frame
from ctpwa.kinematics.photon import linear_polarisations, photon_matrix
from ctpwa.spin.evaluate import Evaluator, harmonics_needed
from physics.helpers import assert_close, boosted, density_matrix, dressed_amplitudes, events_of, flattened, gram
from physics.models import load

WITH_PHOTONS = ["gamma_pi0_eta", "gamma_pi0_pi0", "six_body"]


def interference(name, momenta):
    model = load(name)
    rho = density_matrix(model.decay.parent.two_J)
    return gram(flattened(dressed_amplitudes(model, momenta, polarisation=rho)))


@pytest.mark.parametrize("name", WITH_PHOTONS)
def test_amplitudes_are_gauge_invariant(name, monkeypatch):
    """e → e + c k with a c that differs from event to event and between the two vectors."""
    model, momenta = load(name), events_of(name)
    spin = model.spin_amplitudes(momenta)

    def other_gauge(k4):
        c = torch.stack([k4[1] + 2.0, k4[2] * 3 - 1.0])
        return linear_polarisations(k4) + c[:, None] * k4[None]

    monkeypatch.setattr(ctpwa.spin.evaluate, "linear_polarisations", other_gauge)
    assert_close(model.spin_amplitudes(momenta).K, spin.K, 1e-12)


@pytest.mark.parametrize("name", WITH_PHOTONS)
def test_interference_does_not_depend_on_the_pair_of_polarisation_vectors(name, monkeypatch):
    momenta = events_of(name)
    B = interference(name, momenta)

    def turned(k4):
        e1, e2 = linear_polarisations(k4)
        angle = 1 + k4[3]
        return torch.stack([angle.cos() * e1 + angle.sin() * e2, -angle.sin() * e1 + angle.cos() * e2])

    monkeypatch.setattr(ctpwa.spin.evaluate, "linear_polarisations", turned)
    assert_close(interference(name, momenta), B)


def test_polarisation_vectors_must_be_shared_by_all_chains(monkeypatch):
    """The same photon from J/ψ and from ω: a pair of vectors of its own for each chain would spoil the interference."""
    model, momenta = load("gamma_pi0_eta"), events_of("gamma_pi0_eta")
    inner = np.array(["omega" in wave.name for wave in model.waves])
    A = model.spin_amplitudes(momenta).values.numpy()
    spoiled = A.copy()
    spoiled[inner] = A[inner].reshape(inner.sum(), -1, 2, A.shape[-1])[:, :, ::-1].reshape(A[inner].shape)
    B, wrong = gram(A), gram(spoiled)
    assert np.abs(wrong - B)[:, inner][:, :, ~inner].max() > 0.1 * np.abs(B)[:, inner][:, :, ~inner].max()
    assert_close(wrong[:, inner][:, :, inner], B[:, inner][:, :, inner])


def test_photons_with_rounded_energy_are_still_photons():
    """Momenta from a file have M ~ 1e-8, not 0: a particle is massless because of what it is."""
    model, momenta = load("gamma_pi0_eta"), events_of("gamma_pi0_eta", n=50)
    rounded = momenta | {"gamma": momenta["gamma"].float().double()}
    assert (rounded["gamma"] != momenta["gamma"]).any()
    assert_close(gram(model.spin_amplitudes(rounded).values), gram(model.spin_amplitudes(momenta).values), 1e-5)
    tilted = momenta | {"gamma": momenta["gamma"] * torch.tensor([1 + 1e-15, 1, 1, 1])}
    assert_close(gram(model.spin_amplitudes(tilted).values), gram(model.spin_amplitudes(momenta).values))


def test_polarisation_vectors_are_orthonormal_and_transverse():
    rng = np.random.default_rng(1)
    k3 = np.concatenate([rng.normal(size=(3, 40)), np.eye(3), -np.eye(3)], axis=1)
    k4 = torch.tensor(np.vstack([np.linalg.norm(k3, axis=0), k3]))
    e = linear_polarisations(k4).numpy()
    assert np.abs(e[:, 0]).max() == 0
    np.testing.assert_allclose(np.einsum("aie,bie->abe", e, e), np.eye(2)[:, :, None] * np.ones(46), rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.einsum("aie,ie->ae", e[:, 1:], k3), 0, rtol=0, atol=1e-14)


def test_photon_matrix_has_two_orthonormal_rows_without_helicity_zero():
    rng = np.random.default_rng(2)
    k3, P3 = rng.normal(size=(2, 3, 30))
    M = rng.uniform(0.5, 3, size=30)
    k4 = torch.tensor(np.vstack([np.linalg.norm(k3, axis=0), k3]))
    P4 = torch.tensor(np.vstack([np.sqrt((P3**2).sum(axis=0) + M**2), P3]))
    X = photon_matrix(k4, linear_polarisations(k4), P4, torch.tensor(M)).numpy()
    np.testing.assert_allclose(np.einsum("ate,bte->abe", X, X.conj()), np.eye(2)[:, :, None] * np.ones(30), rtol=0, atol=1e-13)
    kx, ky, kz = to_rest_frame(k4, P4, torch.tensor(M)).numpy()[1:]
    longitudinal = np.stack([-(kx - 1j * ky), np.sqrt(2) * kz, kx + 1j * ky])  # conj of the spherical components of k
    np.testing.assert_allclose(np.einsum("ate,te->ae", X, longitudinal), 0, rtol=0, atol=1e-12)


def two_body(decay, particles, **more):
    return ctpwa.load_model({"decay": decay, "particles": particles, **more})


VECTOR = {"JP": "1--", "mass": 1.0, "charge": 0}
TENSOR = {"JP": "4++", "mass": 3.1, "charge": 0}
PARENT = {"JP": "1--", "mass": 3.1, "charge": 0}
# decay, particles, whether weak, allowed (L, S), independent ones, which they are
COUNTS = {
    "1 -> gamma 0+": ("V -> gamma X", {"V": PARENT, "X": {"JP": "0++", "mass": 1.0, "charge": 0}}, False, 2, 1, [(0, 1)]),
    "1 -> gamma 2+": ("V -> gamma X", {"V": PARENT, "X": {"JP": "2++", "mass": 1.0, "charge": 0}}, False, 5, 3, [(0, 1), (2, 1), (2, 2)]),
    "1 -> gamma 4+": ("V -> gamma X", {"V": PARENT, "X": {"JP": "4++", "mass": 1.0, "charge": 0}}, False, 5, 3, [(2, 3), (4, 3), (4, 4)]),
    "1 -> gamma 0-": ("V -> gamma X", {"V": PARENT, "X": {"JP": "0-+", "mass": 1.0, "charge": 0}}, False, 1, 1, [(1, 1)]),
    "1 -> gamma 1+": ("V -> gamma X", {"V": PARENT, "X": {"JP": "1++", "mass": 1.0, "charge": 0}}, False, 3, 2, None),
    "4 -> gamma 1": ("T -> gamma X", {"T": TENSOR, "X": VECTOR}, False, 5, 3, None),
    "4 -> gamma 1, parity violated": ("T -> gamma X", {"T": TENSOR, "X": VECTOR}, True, 9, 6, None),
    "3/2 -> gamma 1/2": ("N -> gamma p", {"N": {"JP": "3/2-", "mass": 1.5, "charge": 1}}, False, 3, 2, None),
    "1/2 -> gamma 1/2": ("N -> gamma p", {"N": {"JP": "1/2-", "mass": 1.5, "charge": 1}}, False, 2, 1, None),
    "0 -> gamma gamma": ("eta -> gamma gamma", {}, False, 1, 1, None),
    "2 -> gamma gamma": ("f(2)(1270) -> gamma gamma", {}, False, 4, 2, None),
}  # fmt: skip


@pytest.mark.parametrize("case", COUNTS)
def test_number_of_independent_photon_amplitudes(case):
    """As chosen by the rules, and as the rank of the amplitudes over many events; all allowed (L, S) have no more."""
    decay_text, particles, weak, n_allowed, number, pairs = COUNTS[case]
    model = two_body(decay_text, particles, weak=weak)
    momenta = ctpwa.generate_phase_space(model, 40, seed=6, weighted=True)
    assert len(model.waves) == number
    if pairs is not None:
        assert [(wave.ls[0].L, wave.ls[0].S) for wave in model.waves] == pairs
    A = model.spin_amplitudes(momenta).values.numpy().reshape(number, -1)
    assert np.linalg.matrix_rank(A / np.linalg.norm(A, axis=1, keepdims=True), tol=1e-9) == number
    decay = model.decay
    overcomplete = allowed_ls(decay.parent, *decay.final, weak=weak)
    assert len(overcomplete) == n_allowed
    structures = [Structure(decay.parent.two_J, ls, (0, 1), 0.0) for ls in overcomplete]
    p4 = [momenta[label].T.contiguous() for label in decay.labels]
    evaluator = Evaluator(decay.final, p4, harmonics_needed(structures))
    two_ms = range(decay.parent.two_J, -decay.parent.two_J - 1, -2)
    A = np.stack([evaluator.top_amplitude(s, two_ms).flatten().numpy() for s in structures])
    assert np.linalg.matrix_rank(A / np.linalg.norm(A, axis=1, keepdims=True).clip(min=1e-9), tol=1e-9) == number


def test_massive_vectors_keep_every_ls():
    model = two_body("V -> omega(782) X", {"V": PARENT, "X": {"JP": "2++", "mass": 1.0, "charge": 0}})
    assert len(model.waves) == 5
    decay = model.decay
    assert independent_subset(2, *decay.final, allowed_ls(decay.parent, *decay.final)) == [wave.ls[0] for wave in model.waves]


@pytest.mark.parametrize("name", WITH_PHOTONS)
def test_photon_stays_on_the_light_cone_in_a_fast_frame(name):
    momenta = events_of(name)
    assert_close(interference(name, boosted(momenta, (0.0, 0.0, 0.999))), interference(name, momenta), 1e-9)
