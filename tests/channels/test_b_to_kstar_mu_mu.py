"""B0 -> K*(892) mu+ mu-: form factors that differ between the three transversity amplitudes."""

import pytest
import torch

import ctpwa

POLES = {"V0": 5.8, "V1": 5.4, "V2": 5.8}


def model_of(lineshape):
    """A structure for each L; V2 has the pole of V0."""
    common = {"in": "mu+ mu-", "JP": "1--", "lineshape": lineshape, "production_barrier": "momentum"}
    poles = {"V0": 5.8, "V1": 5.4, "V2": "V0.pole"}
    own = {name: {"parameters": {"pole": poles[name]}} if "pole" in lineshape else {} for name in POLES}
    structures = {f"V{L}": common | own[f"V{L}"] | {"production_ls": [[L, L]]} for L in range(3)}
    return ctpwa.load_model({"decay": "B0 -> K+ pi- mu+ mu-", "resonances": {"K*(892)": {"in": "K+ pi-"}, **structures}})


@pytest.mark.parametrize("name", POLES)
def test_each_amplitude_has_its_form_factor(name):
    with_poles, constant = model_of("1/(1 - s/pole**2)"), model_of("constant")
    events = ctpwa.generate_phase_space(constant, 20, seed=1)
    pair = events["mu+"] + events["mu-"]
    s = pair[:, 0] ** 2 - pair[:, 1:].square().sum(dim=1)

    def alone(model):
        couplings = {wave.coupling: float(name in wave.name) for wave in model.waves}
        return ctpwa.ModelIntensity(model, couplings=couplings, engine="reference")(events)

    torch.testing.assert_close(alone(with_poles) / alone(constant), (1 - s / POLES[name] ** 2) ** -2, rtol=1e-12, atol=0)
