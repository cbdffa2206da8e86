"""A decay with a small resonance that the fitted model does not have, and a candidate that is absent."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ctpwa
from ctpwa.data.events import Events
from ctpwa.fitting.result import FitResult
from kk_eta import kk_eta

PHI, K2 = "phi(1680)[K+ K-] (1,1)(1,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"
SMALL, ABSENT = "phi(3)(1850)", "K(3)*(1780)"
MASS = 1.854
MODEL: dict[str, Any] = kk_eta(
    {
        "phi(1680)": {"in": "K+ K-", "mass": 1.659, "width": 0.164},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"], "mass": 1.427, "width": 0.1},
    },
    couplings={PHI: 1, K2: [0, 12]},
)
TRUTH = MODEL | {
    "resonances": MODEL["resonances"] | {SMALL: {"in": "K+ K-", "mass": MASS, "width": 0.087}},
    "couplings": MODEL["couplings"] | {"phi(3)(1850)[K+ K-] (3,3)(3,0)": [80, 50]},
}
SCAN = f"X: 3- in K+ K-, mass {MASS - 0.15}..{MASS + 0.15}/7, width 0.087"


@cache
def toy(n: int, seed: int) -> Events:
    """Events of the true model: phase space that is accepted in proportion to its intensity."""
    model = ctpwa.load_model(TRUTH)
    flat = ctpwa.generate_phase_space(model, 40 * n, seed=seed)
    I = ctpwa.ModelIntensity(model, engine="reference")(flat).numpy()
    kept = np.flatnonzero(np.random.default_rng(seed).random(len(I)) * I.max() < I)
    assert len(kept) >= n
    return Events({name: p4[torch.as_tensor(kept[:n])] for name, p4 in flat.momenta.items()}, None)


def describe(folder: Path, events: Events | None = None, **fit: Any) -> dict[str, Any]:
    """The model without the small resonance, with events in a folder."""
    data = toy(400, 1) if events is None else events
    file = folder / f"data{len(list(folder.glob('data*')))}.npz"
    ctpwa.write_events(file, data)
    samples = {"data": str(file), "phase_space": {"generate": 2000, "seed": 5, "proposal": "flat"}}
    return MODEL | {"samples": samples, "fit": {"engine": "reference", "starts": 1} | fit}


def fitted(description: dict[str, Any]) -> FitResult:
    """Its fit."""
    result = ctpwa.load_analysis(description).fit(progress=False, simulation=False)
    assert result.verdict.good, result.verdict
    return result
