"""Toys of the example models: their couplings are all given, and the likelihood of a toy has its minimum near the truth."""

import numpy as np
import pytest
from scipy.stats import chi2

import ctpwa
from ctpwa.generate.toys import ToySettings
from ctpwa.model.couplings import coupling_names

EXAMPLES = ["jpsi_kk_eta", "jpsi_gamma_pi0_pi0", "jpsi_p_pbar_eta", "lambdac_p_k_pi", "jpsi_4pi", "jpsi_phi_pi_pi"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_makes_toys(example, name):
    model = ctpwa.load_model(example(name))
    assert tuple(model.coupling_values) == coupling_names(model.waves)
    settings = ToySettings(pilot_rounds=3, pilot_events=512, maximum_events=1024)
    toy = ctpwa.generate.ToyGenerator(model, engine="reference", settings=settings).generate(100, seed=1)
    assert toy.events.n_events == 100
    assert toy.acceptance > 0.02


def test_the_score_at_the_truth_is_what_chance_allows():
    """At the truth gᵀ H⁻¹ g follows χ² with one degree of freedom per parameter; a toy that is off by a percent somewhere is not."""
    phi, K2 = "phi(1680)[K+ K-] (1,1)(1,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"
    model = ctpwa.load_model(
        {
            "decay": "J/psi(1S) -> K+ K- eta",
            "polarisation": "transverse",
            "resonances": {
                "phi(1680)": {"in": "K+ K-", "mass": 1.659, "width": 0.164, "float": ["mass", "width"]},
                "K(2)*(1430)": {"in": ["K+ eta", "K- eta"], "float": ["mass", "width"]},
            },
            "couplings": {phi: 1, K2: [3, -7]},
        }
    )
    n, n_flat = 10_000, 100_000
    flat = ctpwa.generate_phase_space(model, n_flat, seed=2)
    likelihood = ctpwa.build_likelihood(model, ctpwa.generate_toy(model, n, seed=1, engine="reference"), flat, engine="reference")

    def statistic(x):
        gradient = likelihood.value_and_grad(x)[1] / np.sqrt(1 + 2 * n / n_flat)  # phase space fluctuates as well
        return gradient @ np.linalg.solve(likelihood.hessian(x), gradient)

    truth = likelihood.start
    assert 0.001 < chi2.sf(statistic(truth), len(truth)) < 0.9999
    moved = ctpwa.engine.free_parameters(likelihood, {phi: 1, K2: 3 - 7j}, {"phi(1680).mass": 1.659 * 1.01})
    assert chi2.sf(statistic(moved), len(truth)) < 1e-6
