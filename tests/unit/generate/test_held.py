"""Phase space and toys of decays with states on their mass shell."""

from functools import partial

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import DataError
from ctpwa.data.checks import SampleChecks
from ctpwa.generate.importance import PhaseSpaceMixture, phase_space_volume, sample_phase_space
from ctpwa.kinematics.lorentz import mass_squared, to_rest_frame

LAMBDA_B = {
    "decay": "Lambda(b)0 -> J/psi(1S) p K-; J/psi(1S) -> mu+ mu-",
    "resonances": {
        "Lambda(1520)": {"in": "p K-", "production_ls": [[0, "1/2"]]},
        "Pc": {"in": "J/psi(1S) p", "JP": "1/2-", "mass": 4.4, "width": 0.02, "production_ls": [[0, "1/2"]], "decay_ls": [[0, "1/2"]]},
    },
}
NESTED = {
    "decay": "psi(2S) -> Xi- Xi~+ ; Xi- -> Lambda pi-; Lambda -> p pi-; Xi~+ -> Lambda~ pi+; Lambda~ -> p~ pi+",
}
PSI = {
    "decay": "psi(2S) -> pi+ pi- J/psi(1S); J/psi(1S) -> mu+ mu-",
    "polarisation": "transverse",
    "resonances": {"NR": {"in": "pi+ pi-", "JP": "0++", "lineshape": "constant", "production_ls": [[0, 1]]}},
}


def held_masses(model, events):
    return [
        (mass_squared(sum(events[model.final_names[i]].T for i in state.place)).sqrt() / state.mass).numpy() for state in model.decay.held
    ]


@pytest.mark.parametrize("content", [LAMBDA_B, NESTED, PSI])
@pytest.mark.parametrize("make", [ctpwa.generate_phase_space, sample_phase_space, partial(ctpwa.generate_toy, engine="reference")])
def test_held_states_have_their_mass(content, make):
    model = ctpwa.load_model(content)
    events = make(model, 200, seed=1)
    for ratio in held_masses(model, events):
        np.testing.assert_allclose(ratio, 1, rtol=1e-9)
    total = sum(events[name] for name in model.final_names).numpy()
    np.testing.assert_allclose(total, [[model.decay.parent.mass, 0, 0, 0]] * 200, rtol=0, atol=1e-12 * total.max())
    SampleChecks(model.decay).check([events[name] for name in model.final_names], 0)


def test_phase_space_is_that_of_the_outer_decay_with_isotropic_sub_decays():
    model = ctpwa.load_model(LAMBDA_B)
    n = 20_000
    events = ctpwa.generate_phase_space(model, n, seed=4, weighted=True)
    masses = {"Lambda(b)0": model.decay.parent.mass} | {p.name: p.mass for p in model.decay.outer.final}
    outer = ctpwa.generate_phase_space(masses, n, seed=4, weighted=True)
    np.testing.assert_allclose(events["mu+"] + events["mu-"], outer["J/psi(1S)"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(events["p"], outer["p"], rtol=0, atol=1e-13)
    np.testing.assert_allclose(events.weights, outer.weights, rtol=1e-12)
    P4 = (events["mu+"] + events["mu-"]).T
    p = to_rest_frame(events["mu+"].T, P4, mass_squared(P4).sqrt())[1:].numpy()
    n_hat = p / np.linalg.norm(p, axis=0)
    assert np.abs(n_hat.mean(axis=1)).max() < 4 / np.sqrt(3 * n)
    assert np.abs((n_hat[:, None] * n_hat[None]).mean(axis=-1) - np.eye(3) / 3).max() < 4 * np.sqrt(4 / 45 / n)


def test_volume_is_the_product_of_volumes():
    model = ctpwa.load_model(LAMBDA_B)
    masses = [p.mass for p in model.decay.outer.final]
    muon, psi = model.decay.final[0].mass, model.decay.held[0].mass
    q = np.sqrt(psi**2 / 4 - muon**2)
    mixture = PhaseSpaceMixture(model, torch.device("cpu"))
    assert mixture.volume == pytest.approx(phase_space_volume(model.decay.parent.mass, masses) * q, rel=1e-12)


def test_weighted_phase_space_integrates_as_flat_phase_space_does():
    model = ctpwa.load_model(LAMBDA_B)
    I = ctpwa.ModelIntensity(model, engine="reference", device="cpu")
    groups = {name: I.waves_of(name) for name in I.couplings} | {"all": [wave.name for wave in model.waves]}
    flat, sampled = ctpwa.generate_phase_space(model, 40_000, seed=6), sample_phase_space(model, 20_000, seed=7)
    assert abs(float(sampled.weights.mean()) - 1) < 4 * float(sampled.weights.std()) / np.sqrt(20_000)
    there, here = I.components(flat, groups), I.components(sampled, groups)
    for name in groups:
        x, y = there[name], sampled.weights * here[name]
        error = np.hypot(float(x.std()) / np.sqrt(len(x)), float(y.std()) / np.sqrt(len(y)))
        assert abs(float(x.mean() - y.mean())) < 4 * error, name


def test_toys_follow_the_current():
    """J/ψ in an S wave keeps the polarisation of ψ(2S): 1 + cos²θ + (4m²/M²) sin²θ for μ⁺ in its rest frame."""
    model = ctpwa.load_model(PSI)
    n = 20_000
    events = ctpwa.generate_toy(model, n, seed=5, engine="reference")
    P4 = (events["mu+"] + events["mu-"]).T
    p = to_rest_frame(events["mu+"].T, P4, mass_squared(P4).sqrt())[1:].numpy()
    cos2 = p[2] ** 2 / (p**2).sum(axis=0)
    k = (2 * model.decay.final[2].mass / model.decay.held[0].mass) ** 2
    expected = (2 / 3 + 2 / 5 + k * (2 / 3 - 2 / 5)) / (2 + 2 / 3 + k * 4 / 3)
    assert abs(cos2.mean() - expected) < 4 * cos2.std() / np.sqrt(n)


def test_events_off_the_mass_shell_are_refused():
    model = ctpwa.load_model(PSI)
    events = ctpwa.generate_phase_space(model, 5, seed=1)
    p4 = [events[name].clone() for name in model.final_names]
    shifted = p4[2].clone()
    shifted[3, 1:] *= 1.01
    shifted[3, 0] = (shifted[3, 1:].square().sum() + model.decay.final[2].mass ** 2).sqrt()
    p4[2] = shifted
    with pytest.raises(DataError) as error:
        SampleChecks(model.decay, parent_tolerance=1.0).check(p4, 100)
    assert "the mass of mu+ mu- in event 103 is" in str(error.value)
    assert "but J/psi(1S) is held at 3.0969 GeV (tolerance 0.00285 GeV)" in str(error.value)
    assert "mass_tolerance: {J/psi(1S): …}" in str(error.value)
    SampleChecks(model.decay, {"J/psi(1S)": 0.1}, parent_tolerance=1.0).check(p4, 100)
    with pytest.raises(DataError, match="'J/psii' is not a final particle"):
        SampleChecks(model.decay, {"J/psii": 0.1})


def test_a_file_keeps_the_mass(tmp_path):
    """Also in single precision, which ROOT files often have."""
    model = ctpwa.load_model(PSI)
    events = ctpwa.generate_phase_space(model, 50, seed=2)
    rounded = {name: p.float().double() for name, p in events.momenta.items()}
    ctpwa.write_events(tmp_path / "data.npz", ctpwa.Events(rounded), model=model)
    assert ctpwa.read_events(model, tmp_path / "data.npz").n_events == 50


def test_default_variables_treat_a_held_state_as_a_particle():
    model = ctpwa.load_model(LAMBDA_B)
    variables = ctpwa.observe.default_variables(model.decay)
    assert [variable.name for variable in variables] == [
        "mass(J/psi(1S), p)",
        "mass(J/psi(1S), K-)",
        "mass(p, K-)",
        "cos_theta(J/psi(1S); J/psi(1S) p)",
        "cos_theta(J/psi(1S); J/psi(1S) K-)",
        "cos_theta(p; p K-)",
        "cos_theta(J/psi(1S))",
        "cos_theta(p)",
        "cos_theta(K-)",
        "cos_theta(mu+; mu+ mu-)",
    ]
    events = ctpwa.generate_phase_space(model, 20, seed=1)
    by_members = ctpwa.observe.parse_variable("mass(mu+, mu-, p)", model.decay)
    np.testing.assert_array_equal(variables[0](events), by_members(events))
    low, high = variables[0].limits
    assert low == pytest.approx(3.0969 + 0.93827, abs=1e-4)
    assert high == pytest.approx(model.decay.parent.mass - 0.493677, abs=1e-9)
