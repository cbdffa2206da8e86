"""Momenta that cannot be used are refused; the message names the particle and the event."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import DataError


@pytest.fixture(scope="module")
def model():
    return ctpwa.load_model({"decay": "J/psi(1S) -> gamma K+ K-", "resonances": {"f(0)(1500)": {"in": "K+ K-"}}})


@pytest.fixture(scope="module")
def generated(model):
    return ctpwa.generate_phase_space(model, 6, seed=8, weighted=True).momenta


@pytest.fixture
def momenta(generated):
    return {name: p4.clone() for name, p4 in generated.items()}


def refused(model, momenta, **options):
    with pytest.raises(DataError) as caught:
        model.spin_amplitudes(momenta, **options)
    return str(caught.value)


def read_only(p4):
    array = p4.numpy().copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "convert",
    [np.asarray, lambda p4: p4.tolist(), lambda p4: p4.numpy().astype(">f8"), lambda p4: np.asfortranarray(p4), read_only],
    ids=["array", "list", "big-endian", "fortran", "read-only"],
)
def test_arrays_and_lists_are_read_without_loss(model, momenta, convert):
    K = model.spin_amplitudes(momenta).K
    assert torch.equal(model.spin_amplitudes({name: convert(p4) for name, p4 in momenta.items()}).K, K)


def test_integers_are_numbers():
    model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}}})
    momenta = {"K+": [[5, 3, 0, 0]], "K-": [[6, 0, 3, 1]], "eta": np.array([[4, 1, 1, -2]])}
    as_floats = {name: np.asarray(p4, dtype=float) for name, p4 in momenta.items()}
    assert torch.equal(model.spin_amplitudes(momenta).K, model.spin_amplitudes(as_floats).K)


def test_events_can_be_passed_as_they_are(model):
    events = ctpwa.generate_phase_space(model, 6, seed=8)
    assert model.spin_amplitudes(events).n_events == events.n_events == 6


def test_single_precision_is_computed_in_double(model, momenta):
    single = {name: p4.float() for name, p4 in momenta.items()}
    assert model.spin_amplitudes(single).K.dtype == torch.float64


def test_missing_particle(model, momenta):
    del momenta["K-"]
    message = refused(model, momenta)
    assert message.startswith("momenta of K- are missing\n")
    assert "give one [event, 4] array for each of gamma, K+, K-" in message


def test_misspelt_particle_is_named_with_what_is_missing(model, momenta):
    momenta["K_minus"] = momenta.pop("K-")
    assert "momenta of K- are missing; unused names: K_minus" in refused(model, momenta)


def test_unknown_particle(model, momenta):
    momenta["gama"] = momenta["gamma"]
    message = refused(model, momenta)
    assert "momenta of 'gama': no such final particle" in message
    assert "did you mean 'gamma'?" in message


@pytest.mark.parametrize(("shape", "shown"), [((6, 3), "6×3"), ((24,), "24"), ((2, 3, 4), "2×3×4"), ((), "a single number")])
def test_wrong_shape(model, momenta, shape, shown):
    momenta["K+"] = np.ones(shape)
    message = refused(model, momenta)
    assert f"momenta of 'K+' have shape {shown}\n" in message
    assert "columns E, px, py, pz" in message


def test_unequal_lengths(model, momenta):
    momenta["K+"] = momenta["K+"][:4]
    assert "different numbers of events: gamma 6, K+ 4, K- 6" in refused(model, momenta)


@pytest.mark.parametrize("value", ["text", [[1, 2], [3]], None])
def test_not_numbers(model, momenta, value):
    momenta["K+"] = value
    assert "momenta of 'K+' are not an array of numbers" in refused(model, momenta)


@pytest.mark.parametrize("dtype", [torch.complex128, torch.bool])
def test_numbers_that_are_not_real(model, momenta, dtype):
    momenta["K+"] = momenta["K+"].to(dtype)
    assert f"momenta of 'K+' have type {dtype}" in refused(model, momenta)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_not_finite(model, momenta, value):
    momenta["K+"][3, 2] = value
    message = refused(model, momenta)
    assert "the momentum of 'K+' in event 3 (" in message
    assert "is not finite (NaN or infinity)" in message


def test_negative_mass_squared(model, momenta):
    momenta["K-"][2, 0] *= 0.1
    message = refused(model, momenta)
    assert "the momentum of 'K-' in event 2 (" in message
    assert "has negative mass² (E² < |p|²), but K- has a mass" in message


def test_massive_photon(model, momenta):
    momenta["gamma"][5, 0] *= 1.2
    message = refused(model, momenta)
    assert "the momentum of 'gamma' in event 5 (" in message
    assert "is not massless, as gamma is" in message


def test_negative_energy(model, momenta):
    momenta["K+"][1, 0] *= -1
    message = refused(model, momenta)
    assert "the momentum of 'K+' in event 1 (" in message
    assert "has no positive energy" in message


def test_photon_at_rest(model, momenta):
    momenta["gamma"][0] = 0
    assert "the momentum of 'gamma' in event 0 (0, 0, 0, 0) has no positive energy" in refused(model, momenta)


def test_columns_in_the_wrong_order_are_noticed(model, momenta):
    for name in momenta:
        momenta[name] = momenta[name][:, [1, 2, 3, 0]]
    assert "columns" in refused(model, momenta)


def test_several_bad_events_are_counted_and_the_first_is_shown(model, momenta):
    momenta["K+"][[2, 4], 0] = -1
    assert "event 2 (-1, " in (message := refused(model, momenta))
    assert "and 1 more nearby" in message


def test_event_numbers_count_over_chunks(model, momenta):
    momenta["K+"][5, 0] = -1
    assert "in event 5 (-1, " in refused(model, momenta, chunk_size=2)


def test_units_of_mev_change_the_scale_and_nothing_else(model, momenta):
    """Momenta in MeV are consistent, and can only be noticed by the user: amplitudes scale with |q|^L."""
    spin = model.spin_amplitudes(momenta)
    in_mev = model.spin_amplitudes({name: 1000 * p4 for name, p4 in momenta.items()})
    for K, K_mev, parts in zip(spin.K, in_mev.K, spin.structures, strict=True):
        scale = 1000.0 ** parts[0][0].total_L
        np.testing.assert_allclose(K_mev.numpy(), scale * K.numpy(), rtol=1e-10, atol=1e-12 * scale)
