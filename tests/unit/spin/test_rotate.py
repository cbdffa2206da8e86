from pathlib import Path

import pytest
import torch

import ctpwa
from ctpwa.spin.rotate import RowRotation, RowsNeeded

EXAMPLES = Path(__file__).parents[3] / "examples"
NEEDED = {
    ("jpsi_kk_eta", "unpolarised"): 1,
    ("jpsi_kk_eta", "transverse"): 1,
    ("jpsi_gamma_pi0_pi0", "unpolarised"): 3,
    ("jpsi_p_pbar_eta", "unpolarised"): 6,
    ("jpsi_4pi", "unpolarised"): 3,
    ("lambdac_p_k_pi", "unpolarised"): 4,
}
POLARISED = [[0.8, 0.1 + 0.2j], [0.1 - 0.2j, 0.2]]


def spin_amplitudes(name, polarisation, n_events=400, seed=11):
    model = ctpwa.load_model(EXAMPLES / name / "model.yml")
    return model.spin_amplitudes(ctpwa.generate_phase_space(model, n_events, seed=seed), barrier=True, polarisation=polarisation)


def intensity(K, seed=3):
    """Σ_r |Σ_t c_t K_tr|² with couplings that make all structures equally strong."""
    generator = torch.Generator().manual_seed(seed)
    c = torch.randn(K.shape[0], dtype=torch.complex128, generator=generator)
    c = c / K.abs().square().sum(dim=1).mean(dim=1).sqrt()
    return torch.einsum("t,tre->re", c, K.to(torch.complex128)).abs().square().sum(dim=0)


def rotated_rows(rotation, K):
    """What is kept, checked as it is when a sample is made."""
    kept, left = rotation.rotate_(K.clone())
    rotation.check(left)
    return kept


@pytest.mark.parametrize(("name", "polarisation"), NEEDED)
def test_reflection_in_the_decay_plane_halves_the_rows_of_parity_conserving_three_body_decays(name, polarisation):
    assert RowRotation.of(spin_amplitudes(name, polarisation).K).n_rows == NEEDED[name, polarisation]


@pytest.mark.parametrize(("name", "polarisation"), NEEDED)
def test_intensities_do_not_change(name, polarisation):
    K = spin_amplitudes(name, polarisation).K
    rotated = rotated_rows(RowRotation.of(K), K)
    assert rotated.shape[1] == NEEDED[name, polarisation]
    expected = intensity(K)
    torch.testing.assert_close(intensity(rotated), expected, rtol=1e-10, atol=1e-13 * float(expected.max()))


def test_complex_amplitudes_of_a_polarised_parent():
    K = spin_amplitudes("lambdac_p_k_pi", POLARISED).K[:3]
    rotation = RowRotation.of(K)
    assert K.is_complex()
    assert rotation.n_rows == 3
    expected = intensity(K)
    torch.testing.assert_close(intensity(rotated_rows(rotation, K)), expected, rtol=1e-10, atol=1e-13 * float(expected.max()))


def test_the_rotation_found_from_some_events_holds_for_all():
    some, others = (spin_amplitudes("jpsi_p_pbar_eta", "transverse", 300, seed=s).K for s in (1, 2))
    expected = intensity(others)
    torch.testing.assert_close(
        intensity(rotated_rows(RowRotation.of(some), others)), expected, rtol=1e-10, atol=1e-13 * float(expected.max())
    )


def test_events_that_need_more_rows_are_not_cut():
    generator = torch.Generator().manual_seed(1)
    one = (
        torch.randn(5, 1, 20, dtype=torch.float64, generator=generator) * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)[None, :, None]
    )
    any_ = torch.randn(5, 3, 20, dtype=torch.float64, generator=generator)
    rotation = RowRotation.of(one)
    assert rotation.n_rows == 1
    with pytest.raises(RowsNeeded):
        rotated_rows(rotation, any_)


def test_a_structure_that_is_zero_and_no_events_at_all():
    K = torch.zeros(2, 3, 4, dtype=torch.float64)
    assert RowRotation.of(K).n_rows == 1
    assert rotated_rows(RowRotation.of(torch.randn(2, 3, 4, dtype=torch.float64)), K[..., :0]).shape == (2, 2, 0)
