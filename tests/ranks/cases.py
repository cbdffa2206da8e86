"""Likelihoods with everything that matters: weights of both signs, background, constraints, floating and fixed resonances."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

import ctpwa
from ctpwa.base.ranks import ONE
from ctpwa.data.events import Events
from fitting.cases import FIXED, FLOATING

N = 201  # events of the data
MASS = "phi(1680).mass"
ROWS = {
    "decay": "J/psi(1S) -> gamma pi0 pi0",
    "polarisation": "transverse",
    "resonances": {"f(0)(1500)": {"in": "pi0 pi0", "float": "mass"}, "f(2)(1270)": {"in": "pi0 pi0"}},
}
MODELS = {"floating": FLOATING, "fixed": FIXED, "rows": ROWS}


@cache
def model(name):
    return ctpwa.load_model(MODELS[name])


@cache
def phase_space(name, n, seed):
    return ctpwa.generate_phase_space(model(name), n, seed=seed)


def part(events, chosen, weights=None):
    index = torch.as_tensor(np.asarray(chosen))
    return Events(
        {name: p4[index] for name, p4 in events.items()}, None if weights is None else torch.as_tensor(np.asarray(weights, float))
    )


@cache
def toy(n, seed=1, name="fixed"):
    """Events distributed like the model, by accepting phase space."""
    flat = phase_space(name, 20 * n, seed)
    I = ctpwa.ModelIntensity(model(name), engine="reference")(flat).numpy()
    kept = np.flatnonzero(np.random.default_rng(seed).random(len(I)) * I.max() < I)
    return part(flat, kept[:n])


@cache
def samples(case):
    """Data, phase space and perhaps background of a case."""
    random = np.random.default_rng(3)
    if case == "plain":
        return {"data": toy(N), "phase_space": phase_space("fixed", 500, 2)}
    if case == "three events":
        return {"data": part(toy(N), [5, 6, 7]), "phase_space": phase_space("fixed", 500, 2)}
    if case == "nothing for some":
        return {"data": part(toy(N), [5, 6, 7]), "phase_space": part(phase_space("fixed", 500, 2), [0, 1, 2])}
    if case == "rows":
        return {"data": phase_space("rows", 150, 4), "phase_space": phase_space("rows", 200, 5)}
    weights = random.choice([1.0, 0.5, -0.25], N, p=[0.6, 0.3, 0.1])
    few = phase_space("fixed", 900, 7)
    return {
        "data": part(toy(N), range(N), weights),
        "phase_space": part(phase_space("fixed", 500, 2), range(500), random.random(500) + 0.5),
        "background": part(few, [3, 4], [0.3, 0.2]),
    }


def make(name, case="plain", ranks=ONE, engine="reference", **options):
    """A likelihood."""
    return ctpwa.build_likelihood(model(name), **samples(case), engine=engine, ranks=ranks, **options)


def pair(ranks=ONE, engine="reference", **options):
    """Two data sets fitted together, one of them with a constraint."""
    first = make("floating", "weighted", ranks, engine, constraints={MASS: (1.66, 0.01)}, **options)
    return first + make("floating", "plain", ranks, engine, **options)


def points(likelihood, n=2):
    """Points near the start."""
    random = np.random.default_rng(1)
    x = likelihood.start
    return x + 0.01 * np.abs(x).clip(min=1e-3) * random.standard_normal((n, len(x)))
