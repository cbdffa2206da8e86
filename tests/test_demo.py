"""The demonstration runs and does what it says."""

import torch

from ctpwa import generate_phase_space, load_model
from ctpwa.demo import MODEL, STRENGTHS, breit_wigner, coherent_sums, invariant_masses_squared, main, wave_amplitude


def resonance(mass, width):
    entry = {"in": "K+ K-", "JP": "1-", "mass": mass, "width": width}
    return load_model({"decay": "J/psi(1S) -> K+ K- eta", "radius": 3.0, "resonances": {"X": entry}}).resonances["X"]


def test_demo_writes_its_figure(tmp_path, capsys):
    main(n_events=3_000, output=tmp_path / "out")
    assert (tmp_path / "out" / "dalitz.png").stat().st_size > 30_000
    assert (tmp_path / "out" / "dalitz.pdf").exists()
    printed = capsys.readouterr().out
    assert "12 waves, 8 complex couplings" in printed
    assert str(tmp_path / "out" / "dalitz.png") in printed


def test_strengths_are_the_mean_intensities_of_the_resonances():
    model = load_model(MODEL)
    events = generate_phase_space(model, 2_000, seed=1)
    psi = coherent_sums(model, model.spin_amplitudes(events, barrier=True), invariant_masses_squared(model, events))
    for name, (strength, _) in STRENGTHS.items():
        torch.testing.assert_close(psi[name].abs().square().sum(dim=0).mean(), torch.tensor(strength, dtype=torch.float64))


def test_the_intensity_is_symmetric_under_charge_conjugation():
    model = load_model(MODEL)
    events = generate_phase_space(model, 200, seed=1)
    swapped = {"K+": events["K-"], "K-": events["K+"], "eta": events["eta"]}
    s = invariant_masses_squared(model, events)
    s_swapped = {(0, 1): s[0, 1], (0, 2): s[1, 2], (1, 2): s[0, 2]}
    psi = coherent_sums(model, model.spin_amplitudes(events, barrier=True), s)
    other = coherent_sums(model, model.spin_amplitudes(swapped, barrier=True), s_swapped)
    total, total_swapped = (torch.stack(list(p.values())).sum(dim=0) for p in (psi, other))
    torch.testing.assert_close(total_swapped, -total)


def test_the_intensity_from_real_K_is_the_one_from_complex_amplitudes():
    model = load_model(MODEL)
    events = generate_phase_space(model, 50, seed=1)
    s = invariant_masses_squared(model, events)
    spin = model.spin_amplitudes(events, barrier=True)
    assert spin.real
    total, total_complex = 0, 0
    for index, (wave, A) in enumerate(zip(model.waves, spin.values, strict=True)):
        (system,) = spin.terms[index][0].systems
        m1, m2 = (model.decay.final[i].mass for i in system)
        F = breit_wigner(wave.resonances[0], s[system], m1, m2, wave.ls[1].L)
        c = wave.factor * (1 + 0.3j * len(wave.coupling))
        total = total + c * wave_amplitude(model, spin, index, s)
        total_complex = total_complex + c * A * F
    torch.testing.assert_close(total.abs().square().sum(dim=0), total_complex.abs().square().sum(dim=0))


def test_breit_wigner_off_its_nominal_mass():
    """m = 1.3, m0 = 1.5, Γ0 = 0.1, daughters of 0.5 and 0.3, L = 1, d = 3: N_1(z) = 1 + z²."""

    def q2(m):
        return (m**2 - 0.8**2) * (m**2 - 0.2**2) / (4 * m**2)

    width = 0.1 * (q2(1.3) / q2(1.5)) ** 1.5 * (1.5 / 1.3) * (1 + 9 * q2(1.5)) / (1 + 9 * q2(1.3))
    F = breit_wigner(resonance(1.5, 0.1), torch.tensor([1.3**2], dtype=torch.float64), 0.5, 0.3, 1)
    torch.testing.assert_close(F, torch.tensor([1 / (1.5**2 - 1.3**2 - 1.5j * width)], dtype=torch.complex128))


def test_breit_wigner_at_its_nominal_mass_is_purely_imaginary():
    F = breit_wigner(resonance(1.5, 0.1), torch.tensor([1.5**2], dtype=torch.float64), 0.5, 0.5, 2)
    torch.testing.assert_close(F, torch.tensor([1j / (1.5 * 0.1)], dtype=torch.complex128))
