"""K as real numbers: half the memory, and the same amplitudes, interference and intensities."""

import numpy as np
import pytest

import ctpwa
from physics.helpers import assert_close, boosted, density_matrix, direct_amplitudes, events_of, flattened, gram, rotated, split_spins
from physics.models import MODELS, load

every_model = pytest.mark.parametrize("name", MODELS)
every_model_with_spin = pytest.mark.parametrize("name", [name for name in MODELS if name not in ("d0_k3pi", "spin_5")])
EVEN_DIAGONAL = {1: [0.5, 0.5], 2: [0.4, 0.2, 0.4], 3: [0.1, 0.4, 0.4, 0.1], 4: [0.3, 0.1, 0.2, 0.1, 0.3]}


def interference_from_K(spin):
    """B from the stored numbers alone: Σ of terms with their factors and phases."""
    A = 0
    for wave, terms in enumerate(spin.terms):
        for term in terms:
            K = spin.K[term.structure].numpy() * (term.factor * spin.phase(term.structure))
            row = np.zeros((len(spin.waves), *K.shape), dtype=complex)
            row[wave] = K
            A = A + row
    return gram(A)


@every_model
def test_restored_amplitudes_are_those_of_the_formula(name):
    """Row by row: real K, shared structures and reordered daughters leave no trace."""
    model, momenta = load(name), events_of(name)
    spin = model.spin_amplitudes(momenta)
    assert spin.real
    assert_close(split_spins(model, spin.values.numpy()), direct_amplitudes(model, momenta, dressed=False), 1e-13)


@every_model
def test_barrier_factors_are_in_the_restored_amplitudes(name):
    model, momenta = load(name), events_of(name)
    A = split_spins(model, model.spin_amplitudes(momenta, barrier=True).values.numpy())
    assert_close(A, direct_amplitudes(model, momenta, dressed=False, barrier=True), 1e-13)


@every_model
@pytest.mark.parametrize("frame", [boosted, rotated])
def test_restored_amplitudes_are_those_of_the_formula_in_any_frame(name, frame):
    model, momenta = load(name), frame(events_of(name))
    A = split_spins(model, model.spin_amplitudes(momenta).values.numpy())
    assert_close(A, direct_amplitudes(model, momenta, dressed=False), 1e-12)


@every_model
def test_real_K_is_half_as_large_and_gives_the_same_interference(name):
    model, momenta = load(name), events_of(name)
    spin = model.spin_amplitudes(momenta)
    assert str(spin.K.dtype) == "torch.float64"
    assert spin.K.shape[1] == spin.values.shape[1]
    assert_close(interference_from_K(spin), gram(spin.values), 1e-13)


@every_model_with_spin
def test_complex_K_gives_the_same_interference(name):
    model, momenta = load(name), events_of(name)
    spin = model.spin_amplitudes(momenta, polarisation=density_matrix(model.decay.parent.two_J))
    assert str(spin.K.dtype) == "torch.complex128"
    assert_close(interference_from_K(spin), gram(spin.values), 1e-13)


@every_model_with_spin
def test_polarisations_that_are_even_and_diagonal_are_stored_as_real_numbers(name):
    model, momenta = load(name), events_of(name)
    two_J = model.decay.parent.two_J
    even = np.diag(EVEN_DIAGONAL[two_J])
    spin = model.spin_amplitudes(momenta, polarisation=even)
    assert spin.real
    uneven = even.copy()
    uneven[0, 0] += 1e-9
    nearly = model.spin_amplitudes(momenta, polarisation=uneven)
    assert not nearly.real
    assert_close(gram(nearly.values), gram(spin.values), 1e-8)
    mixed = even.astype(complex)
    mixed[0, -1], mixed[-1, 0] = 0.05j, -0.05j
    assert not model.spin_amplitudes(momenta, polarisation=mixed).real


@every_model_with_spin
def test_weighted_interference_of_an_even_polarisation_is_the_sum_over_parent_states(name):
    """K carries √ρ; so the Gram matrix of K is Σ_m ρ_mm Σ_spins conj(A_a) A_b."""
    model, momenta = load(name), events_of(name)
    two_J = model.decay.parent.two_J
    A = direct_amplitudes(model, momenta, dressed=False)
    weighted = A * np.sqrt(EVEN_DIAGONAL[two_J]).reshape(1, -1, *([1] * (A.ndim - 2)))
    spin = model.spin_amplitudes(momenta, polarisation=np.diag(EVEN_DIAGONAL[two_J]))
    assert_close(interference_from_K(spin), gram(flattened(weighted)), 1e-13)
    assert_close(split_spins(model, spin.values.numpy()), weighted, 1e-13)


@pytest.mark.parametrize("name", ["phi_f", "omega_k_xi", "gamma_pi0_eta", "p_pbar_eta", "gamma_pi0_pi0", "two_pi_pairs", "six_body"])
def test_transverse_polarisation_keeps_two_of_three_parent_states(name):
    model, momenta = load(name), events_of(name)
    spin = model.spin_amplitudes(momenta, polarisation="transverse")
    A = direct_amplitudes(model, momenta, dressed=False)[:, [0, 2]]
    assert spin.real
    assert_close(split_spins(model, spin.values.numpy()), A, 1e-13)
    assert_close(interference_from_K(spin), gram(flattened(A)), 1e-13)
    assert {label.partition(",")[0] for label in spin.polarisations} == {"m=+1", "m=-1"}


def test_transverse_states_of_a_spin_2_parent_are_m_plus_minus_1():
    model = ctpwa.load_model({"decay": "chi(c2)(1P) -> phi(1020) phi(1020)"})
    momenta = ctpwa.generate_phase_space(model, 5, seed=4, weighted=True)
    spin = model.spin_amplitudes(momenta, polarisation="transverse")
    A = direct_amplitudes(model, dict(momenta.momenta), dressed=False)[:, [1, 3]]
    assert_close(split_spins(model, spin.values.numpy()), A, 1e-13)


def test_polarised_parent_of_half_integer_spin():
    """Ω⁻ → Λ K⁻ with spin 3/2, fully polarised: rows of a pure state are the amplitudes of that state."""
    model = ctpwa.load_model({"decay": "Omega- -> Lambda K-"})
    momenta = dict(ctpwa.generate_phase_space(model, 5, seed=4, weighted=True).momenta)
    A = direct_amplitudes(model, momenta, dressed=False)
    for k in range(4):
        rho = np.zeros((4, 4))
        rho[k, k] = 1
        spin = model.spin_amplitudes(momenta, polarisation=rho)
        assert not spin.real
        assert_close(split_spins(model, spin.values.numpy())[:, 0], A[:, k], 1e-13)
    assert_close(split_spins(model, model.spin_amplitudes(momenta).values.numpy()), A, 1e-13)


@every_model
def test_density_matrix_weighs_products_of_parent_states(name):
    """I = Σ ρ_mm' A_m conj(A_m'), the definition."""
    model, momenta = load(name), events_of(name)
    rho = density_matrix(model.decay.parent.two_J)
    A = direct_amplitudes(model, momenta, dressed=False)
    A = A.reshape(*A.shape[:2], -1, A.shape[-1])
    expected = np.einsum("mn,bmse,anse->eab", rho, A, A.conj())
    assert_close(gram(model.spin_amplitudes(momenta, polarisation=rho).values), expected, 1e-12)


@every_model
def test_chunks_do_not_matter(name):
    model, momenta = load(name), events_of(name, n=23)
    whole = model.spin_amplitudes(momenta, barrier=True)
    assert_close(model.spin_amplitudes(momenta, barrier=True, chunk_size=7).K, whole.K, 1e-14)


@every_model
def test_no_events_are_no_problem(name):
    model = load(name)
    spin = model.spin_amplitudes(events_of(name, n=0))
    assert spin.n_events == 0
    assert spin.values.shape == (len(model.waves), len(spin.polarisations), 0)


@every_model
def test_every_polarisation_row_has_its_own_label(name):
    spin = load(name).spin_amplitudes(events_of(name))
    assert len(set(spin.polarisations)) == len(spin.polarisations) == spin.values.shape[1]


def test_labels_name_the_spins_of_final_particles():
    labels = load("p_pbar_eta").spin_amplitudes(events_of("p_pbar_eta")).polarisations
    assert labels[0] == "m=+1, p:+1/2, p~:+1/2"
    assert labels[-1] == "m=-1, p:-1/2, p~:-1/2"
    assert load("gamma_pi0_eta").spin_amplitudes(events_of("gamma_pi0_eta")).polarisations[1] == "m=+1, gamma:linear 2"


def test_waves_of_equal_quantum_numbers_share_one_K():
    model = ctpwa.load_model(
        {"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}, "phi(1680)": {"in": "K+ K-", "radius": 5.0}}}
    )
    momenta = ctpwa.generate_phase_space(model, 3, seed=1, weighted=True)
    assert model.spin_amplitudes(momenta).K.shape[0] == 1
    assert model.spin_amplitudes(momenta, barrier=True).K.shape[0] == 2
