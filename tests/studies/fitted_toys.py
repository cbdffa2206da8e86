"""Small models that are fitted to toys of their own couplings, in a folder, with the reference engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import ctpwa
from ctpwa.analysis.reopen import OpenedFit, open_fit
from kk_eta import THREE_FIXED

ABSENT = (
    THREE_FIXED
    + """  X:            {in: K+ K-, JP: 1-, mass: 2.1, width: 0.12}
couplings:
  phi(1680)[K+ K-] (1,1)(1,0): 1
  phi(3)(1850)[K+ K-] (3,3)(3,0): [100, 150]
  K(2)*(1430)+[K+ eta] (2,2)(2,0): [12, -6]
  X[K+ K-] (1,1)(1,0): 0
samples: {data: data.npz, phase_space: {generate: 1500, seed: 2, proposal: flat}}
fit: {engine: reference, starts: 1}
"""
)
SEVERAL_WAVES = """decay: J/psi(1S) -> gamma pi0 pi0
polarisation: transverse
resonances: {f(0)(1500): {in: pi0 pi0}, f(2)(1270): {in: pi0 pi0}}
couplings:
  f(0)(1500)[pi0_1 pi0_2] (0,1)(0,0): 1
  f(2)(1270)[pi0_1 pi0_2] (0,1)(2,0): [9, 14]
  f(2)(1270)[pi0_1 pi0_2] (2,1)(2,0): [-75, 163]
  f(2)(1270)[pi0_1 pi0_2] (2,2)(2,0): [-150, 20]
samples: {data: data.npz, phase_space: {generate: 1500, seed: 2, proposal: flat}}
fit: {engine: reference, starts: 1}
"""
TIED_SETS = """decay: Lambda(c)+ -> p K- pi+
resonances:
  K*(892):      {in: K- pi+, production_ls: [[0, 1/2], [1, 1/2]]}
  Lambda(1520): {in: p K-, width: 0.1}
couplings:
  K*(892)~0[K- pi+] (0,1/2)(1,0): 1
  Lambda(1520)[p K-] (1,3/2)(2,1/2): [12, -8]
  Lambda(1520)[p K-] (2,3/2)(2,1/2): [-30, -50]
samples: {data: data.npz, phase_space: {generate: 1500, seed: 2, proposal: flat}}
fit:
  engine: reference
  starts: 1
  ties: {"K*(892)~0[K- pi+] (1,1/2)(1,0)": ["K*(892)~0[K- pi+] (0,1/2)(1,0)", 3]}
"""


def fit_toy_of(folder: Path, text: str, n_flat: int = 6000, seed: int = 7) -> ctpwa.FitResult:
    """Write a model, events of it by accept-reject from so many of phase space, and the result of the fit, into a folder."""
    (folder / "model.yml").write_text(text)
    analysis = ctpwa.load_analysis(folder / "model.yml")
    model = analysis.model
    flat = ctpwa.generate_phase_space(model, n_flat, seed=seed)
    intensity = np.asarray(ctpwa.ModelIntensity(model, engine="reference")(flat))
    kept = torch.as_tensor(np.random.default_rng(seed).random(n_flat) * intensity.max() < intensity)
    ctpwa.write_events(folder / "data.npz", ctpwa.Events({name: p4[kept] for name, p4 in flat.items()}), model=model)
    result = analysis.fit(progress=False)
    result.save(folder / "model.result.json")
    return result


def opened_toy_of(folder: Path, text: str, n_flat: int = 6000) -> OpenedFit:
    """The same, opened again."""
    fit_toy_of(folder, text, n_flat)
    return open_fit(folder / "model.result.json")
