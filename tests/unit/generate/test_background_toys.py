"""Toy background: accepted in proportion to a density, beside signal."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.base.errors import GenerationError
from ctpwa.data.density import Flat
from ctpwa.generate.background_toys import generate_background, parts_of
from ctpwa.observe.densities import formula_density
from ctpwa.observe.variable import parse_variable

MODEL = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-", "mass": 1.659, "width": 0.164}}})
MASS = parse_variable("mass(K+, K-)", MODEL.decay)
STEEP = formula_density("(mass(K+, K-) - 0.9)**4", MODEL.decay)


def test_events_follow_the_density():
    """χ² of ten bins against phase space weighted with the density, seven times as many events."""
    found = MASS(generate_background(MODEL, STEEP, 5000, seed=3))
    flat = MASS(ctpwa.generate_phase_space(MODEL, 35000, seed=4))
    w = (flat - 0.9) ** 4
    edges = np.quantile(flat, np.linspace(0, 1, 11))
    n, expected, squares = (np.histogram(x, edges, weights=v)[0] for x, v in ((found, None), (flat, w), (flat, w**2)))
    scale = 5000 / w.sum()
    chi2 = ((n - scale * expected) ** 2 / (scale * expected + scale**2 * squares)).sum()
    assert chi2 < 25


def test_the_same_seed_gives_the_same_events():
    first, again, other = (generate_background(MODEL, STEEP, 40, seed=1, number=k)["eta"] for k in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_signal_and_backgrounds():
    """Numbers scatter around the fractions; signal events are those of the same toy without background."""
    toy = ctpwa.generate_toy(MODEL, 400, seed=5, backgrounds=[(Flat(), 0.2), (STEEP, 0.1)], engine="reference")
    n = parts_of(400, [0.2, 0.1], 5)
    assert toy.n_events == sum(n) == 400
    assert abs(n[1] - 80) < 40
    signal = ctpwa.generate_toy(MODEL, n[0], seed=5, engine="reference")
    background = generate_background(MODEL, STEEP, n[2], seed=5, number=1)
    rows = {tuple(row) for row in toy["eta"].tolist()}
    for part in (signal, background):
        assert {tuple(row) for row in part["eta"].tolist()} <= rows


def test_what_is_wrong():
    with pytest.raises(GenerationError, match=r"the fractions of backgrounds are 0.7, 0.6\n fix: "):
        parts_of(10, [0.7, 0.6], 0)
    with pytest.raises(ctpwa.base.DataError, match="density of background '1' is -"):
        generate_background(MODEL, formula_density("mass(K+, K-) - 1.5", MODEL.decay), 10)
    with pytest.raises(GenerationError, match=r"only 0 of \d+ background events were accepted"):
        generate_background(MODEL, formula_density("0*mass(K+, K-)", MODEL.decay), 10)
