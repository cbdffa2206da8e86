"""What no intensity may depend on: the frame, the axes, and the handedness of the world up to the known sign."""

import numpy as np
import pytest

from physics.helpers import (
    ROTATION,
    assert_close,
    boosted,
    density_matrix,
    direct_amplitudes,
    dressed_amplitudes,
    events_of,
    flattened,
    gram,
    reflected,
    rotated,
    rotation_operator,
    with_state,
)
from physics.models import MODELS, load

every_model = pytest.mark.parametrize("name", MODELS)


def interference(model, momenta, **options):
    """B [event, wave, wave] with Breit–Wigners: without them a wave may vanish under the exchange of identical particles."""
    return gram(flattened(dressed_amplitudes(model, momenta, **options)))


def waves_with_equal_scale(B):
    """Divide by the mean size of every wave, so that small waves are tested as strictly as large ones."""
    size = np.sqrt(np.einsum("eaa->ea", B).real.mean(axis=0))
    return B / np.outer(size, size)


def assert_same_waves(B, expected):
    """Small waves as strictly as large ones."""
    assert_close(waves_with_equal_scale(B), waves_with_equal_scale(expected))


def polarised(name):
    """A model, events, the density matrix of a parent that is polarised along no particular axis, and B with it."""
    model, momenta = load(name), events_of(name)
    rho = density_matrix(model.decay.parent.two_J)
    return model, momenta, rho, interference(model, momenta, polarisation=rho)


@every_model
def test_intensity_of_an_unpolarised_parent_does_not_depend_on_the_axes(name):
    model, momenta = load(name), events_of(name)
    B = interference(model, momenta, barrier=True)
    assert_same_waves(interference(model, rotated(momenta), barrier=True), B)


@every_model
def test_intensity_does_not_depend_on_the_frame(name):
    model, momenta, rho, B = polarised(name)
    assert_same_waves(interference(model, boosted(momenta), polarisation=rho), B)


@every_model
def test_wigner_rotations_at_the_top_vertex_undo_the_motion_of_the_parent(name):
    model, momenta, rho, B = polarised(name)
    assert_same_waves(gram(with_state(direct_amplitudes(model, boosted(momenta), rest_frame=False), rho)), B)


def test_dropping_wigner_rotations_would_be_seen():
    """The test above has teeth: spins of a moving parent do change."""
    model, momenta = load("lambda_c"), events_of("lambda_c")
    at_rest = direct_amplitudes(model, momenta, rest_frame=False, dressed=False)
    moving = direct_amplitudes(model, boosted(momenta), rest_frame=False, dressed=False)
    assert np.abs(moving - at_rest).max() > 0.1 * np.abs(at_rest).max()


@every_model
def test_rotating_a_polarised_parent_with_its_decay_changes_nothing(name):
    model, momenta, rho, B = polarised(name)
    D = rotation_operator(model.decay.parent.two_J, ROTATION)
    assert_same_waves(interference(model, rotated(momenta), polarisation=D @ rho @ D.conj().T), B)


def test_rotating_only_the_decay_of_a_polarised_parent_changes_the_intensity():
    model, momenta, rho, B = polarised("lambda_c")
    turned = interference(model, rotated(momenta), polarisation=rho)
    assert np.abs(turned - B).max() > 0.1 * np.abs(B).max()


@every_model
def test_parity_flips_odd_L(name):
    model, momenta, rho, B = polarised(name)
    sign = np.array([(-1) ** sum(ls.L for ls in wave.ls) for wave in model.waves])
    assert_same_waves(interference(model, reflected(momenta), polarisation=rho), B * np.outer(sign, sign))


@every_model
def test_the_phase_of_i_to_the_sum_of_L_makes_unpolarised_interference_real(name):
    model, momenta = load(name), events_of(name)
    A = flattened(direct_amplitudes(model, momenta, dressed=False))
    phase = np.array([1j ** sum(ls.L for ls in wave.ls) for wave in model.waves])
    B = gram(A * phase[:, None, None])
    assert np.abs(B.imag).max() < 1e-12 * np.abs(B.real).max()


def test_even_and_odd_L_of_an_unpolarised_baryon_interfere_only_out_of_the_decay_plane():
    """Λc → p K π: three momenta span a plane, so that parity-odd interference must vanish without polarisation."""
    model, momenta = load("lambda_c"), events_of("lambda_c")
    odd = np.array([sum(ls.L for ls in wave.ls) % 2 == 1 for wave in model.waves])
    assert odd.any()
    assert not odd.all()
    unpolarised = waves_with_equal_scale(interference(model, momenta))
    polarised = waves_with_equal_scale(interference(model, momenta, polarisation=[[1, 0], [0, 0]]))
    assert np.abs(unpolarised[:, odd][:, :, ~odd]).max() < 1e-11
    assert np.abs(polarised[:, odd][:, :, ~odd]).max() > 0.1


@every_model
def test_interference_is_positive_and_has_no_more_rank_than_polarisations(name):
    model, momenta = load(name), events_of(name)
    rho = density_matrix(model.decay.parent.two_J)
    B = waves_with_equal_scale(interference(model, momenta, polarisation=rho))
    eigenvalues = np.linalg.eigvalsh(B)
    n_pol = model.spin_amplitudes(momenta, polarisation=rho).values.shape[1]
    assert n_pol == np.prod([2 if p.massless else p.two_J + 1 for p in model.decay.final]) * (model.decay.parent.two_J + 1)
    assert np.abs(B - B.conj().swapaxes(1, 2)).max() < 1e-12
    assert eigenvalues.min() > -1e-11 * eigenvalues.max()
    assert np.all((eigenvalues > 1e-11 * eigenvalues[:, -1:]).sum(axis=1) <= n_pol)
