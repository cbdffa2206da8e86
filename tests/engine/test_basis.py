"""Lineshapes that are linear in their coefficients: every function of the basis is a wave with its own coupling."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.engine.plan.channels import model_channels
from ctpwa.engine.samples.sample import vertex_variables
from ctpwa.model.lineshapes.formula import Vertex
from ctpwa.model.lineshapes.registry import build_lineshape

MODEL = {
    "decay": "J/psi(1S) -> K+ K- pi+ pi-",
    "resonances": {
        "phi(1020)": {"in": "K+ K-"},
        "S": {"in": "pi+ pi-", "JP": "0++", "lineshape": "pipi_s_wave"},
    },
}


@pytest.fixture(scope="module")
def model():
    return ctpwa.load_model(MODEL)


def test_both_production_waves_share_the_cached_functions(model):
    channels = model_channels(model)
    basis = build_lineshape("pipi_s_wave", Vertex(0.13957039, 0.13957039, 0, 3.0))
    plan = channels.plan(model)
    assert len(model.waves) == 2
    assert len(channels.couplings) == 2 * len(basis.labels)
    assert sum(quantity.complex for quantity in plan.quantities) == len(basis.labels)


def test_the_intensity_is_the_sum_written_out(model):
    events = ctpwa.generate_phase_space(model, 40, seed=3)
    likelihood = ctpwa.build_likelihood(model, events, events, engine="reference")
    rng = np.random.default_rng(5)
    x = rng.normal(size=len(likelihood.names))
    c, _ = likelihood.parameters.native(x)
    p4 = [events[name].T for name in model.final_names]
    s_kk, q2_kk = (v.numpy() for v in vertex_variables(p4, (0, 1), ((0,), (1,))))
    s_pp, q2_pp = (v.numpy() for v in vertex_variables(p4, (2, 3), ((2,), (3,))))
    mass = model.decay.final[0].mass
    m0, width = (model.resonances["phi(1020)"].parameters[key] for key in ("mass", "width"))
    q02 = m0**2 / 4 - mass**2
    running = width * (q2_kk / q02) ** 1.5 * m0 / np.sqrt(s_kk) * (1 + 9 * q02) / (1 + 9 * q2_kk)
    phi = 1 / (m0**2 - s_kk - 1j * m0 * running)
    basis = build_lineshape("pipi_s_wave", Vertex(0.13957039, 0.13957039, 0, 3.0)).values(s_pp, q2_pp)
    A = model.spin_amplitudes(events, barrier=True).values.numpy()
    by_wave = c.reshape(len(A), len(basis)) @ basis
    expected = (np.abs(np.einsum("ae,ape->pe", by_wave * phi, A)) ** 2).sum(axis=0)
    torch.testing.assert_close(likelihood.intensity(x), torch.tensor(expected), rtol=1e-10, atol=0)
