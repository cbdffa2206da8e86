"""Small models, toys and likelihoods for the tests of fits; everything is built once per session, with the reference engine."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch

import ctpwa
from ctpwa.data.events import Events
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.model.model import Model
from kk_eta import kk_eta

PHI, PHI3, K2 = "phi(1680)[K+ K-] (1,1)(1,0)", "phi(3)(1850)[K+ K-] (3,3)(3,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"
TRUTH = {PHI: 1.0, PHI3: 90 + 60j, K2: 12j}
FLOATING: dict[str, Any] = kk_eta(
    {
        "phi(1680)": {"in": "K+ K-", "mass": 1.659, "width": 0.164, "float": ["mass", "width"]},
        "phi(3)(1850)": {"in": "K+ K-"},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]},
    },
    couplings={name: [complex(c).real, complex(c).imag] for name, c in TRUTH.items()},
)
FIXED = FLOATING | {"resonances": {name: {k: v for k, v in r.items() if k != "float"} for name, r in FLOATING["resonances"].items()}}
TINY = kk_eta(
    {"phi(1680)": {"in": "K+ K-"}, "NR3": {"in": "K+ K-", "JP": "3-", "lineshape": "constant"}},
    couplings={"phi(1680)[K+ K-] (1,1)(1,0)": 1, "NR3[K+ K-] (3,3)(3,0)": [100, 300]},
)
SEVERAL_ROWS = {  # photon helicities do not interfere: the intensity of an event vanishes nowhere
    "decay": "J/psi(1S) -> gamma pi0 pi0",
    "polarisation": "transverse",
    "resonances": {"f(0)(1500)": {"in": "pi0 pi0"}, "f(2)(1270)": {"in": "pi0 pi0"}},
    "couplings": {
        "f(0)(1500)[pi0_1 pi0_2] (0,1)(0,0)": 1,
        "f(2)(1270)[pi0_1 pi0_2] (0,1)(2,0)": [9, 14],
        "f(2)(1270)[pi0_1 pi0_2] (2,1)(2,0)": [-75, 163],
        "f(2)(1270)[pi0_1 pi0_2] (2,2)(2,0)": [-150, 20],
    },
}
PHI_AND_K2 = kk_eta(
    {
        "phi(1680)": {"in": "K+ K-", "mass": 1.68, "width": 0.15, "float": ["mass", "width"]},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]},
    }
)
WITH_BASIS = kk_eta(
    PHI_AND_K2["resonances"] | {"S": {"in": "K+ K-", "JP": "3-", "lineshape": "spline", "options": {"knots": [1.0, 1.5, 2.0, 2.5]}}}
)
ONE_MASS = kk_eta(PHI_AND_K2["resonances"] | {"phi(1680)": {"in": "K+ K-", "mass": 1.68, "width": 0.15, "float": "mass"}})
MODELS = {"floating": FLOATING, "fixed": FIXED, "tiny": TINY, "several rows": SEVERAL_ROWS, "phi and K2": PHI_AND_K2}


@cache
def model(name: str) -> Model:
    return ctpwa.load_model(MODELS[name])


@cache
def phase_space(name: str, n: int, seed: int) -> Events:
    return ctpwa.generate_phase_space(model(name), n, seed=seed)


def part(events: Events, chosen: Any, weights: Any = None) -> Events:
    """Some of the events."""
    index = torch.as_tensor(np.asarray(chosen))
    w = None if weights is None else torch.as_tensor(np.asarray(weights, dtype=float))
    return Events({name: p4[index] for name, p4 in events.momenta.items()}, w)


@cache
def toy(n: int, seed: int = 1, name: str = "fixed") -> Events:
    """Events distributed like the model at its own couplings, by accepting phase space."""
    flat = ctpwa.generate_phase_space(model(name), 20 * n, seed=seed)
    I = ctpwa.ModelIntensity(model(name), engine="reference")(flat).numpy()
    kept = np.flatnonzero(np.random.default_rng(seed).random(len(I)) * I.max() < I)
    assert len(kept) >= n
    return part(flat, kept[:n])


def make(name: str, n: int = 400, **options: Any) -> Likelihood:
    """A likelihood of toy data; options replace those of ``Likelihood``."""
    arguments = {"data": toy(n), "phase_space": phase_space(name, 1500, 2), "engine": "reference"} | options
    return ctpwa.build_likelihood(model(name), **arguments)


@cache
def likelihood(name: str) -> Likelihood:
    return make(name)


@cache
def result(name: str) -> ctpwa.FitResult:
    """The fit of the usual likelihood from the truth."""
    return ctpwa.fit(likelihood(name))


def along(function: Any, x: np.ndarray, direction: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """∂f(x + t·direction)/∂t by central differences, extrapolated to step 0."""

    def slope(h: float) -> np.ndarray:
        return (np.asarray(function(x + h * direction)) - np.asarray(function(x - h * direction))) / (2 * h)

    return (4 * slope(step / 2) - slope(step)) / 3
