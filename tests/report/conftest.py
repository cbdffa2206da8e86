"""A small fit with everything in it, and its report."""

import pytest
import torch

import ctpwa
from ctpwa.analysis.write_report import write_report

MODEL = """\
decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1680):   {in: K+ K-, float: [mass, width]}
  phi(3)(1850): {in: K+ K-}
  K(2)*(1430): {in: [K+ eta, K- eta]}
couplings:
  phi(1680)[K+ K-] (1,1)(1,0): {abs: 0.1, phase: 1.0}
  phi(3)(1850)[K+ K-] (3,3)(3,0): {abs: 20.0, phase: -0.5}
  K(2)*(1430)+[K+ eta] (2,2)(2,0): 1
samples:
  data: {file: toy.npz, weight: weight}
  phase_space: {generate: 4000, seed: 2}
  background: {file: background.npz, scale: 0.2}
fit:
  engine: reference
  reference_wave: K(2)*(1430)+[K+ eta] (2,2)(2,0)
  starts: 3
projections:
  - mass(K+, K-)
  - {variable: "cos_theta(K+; K+ K-)", bins: 10}
  - {variable: "mass2(K+, eta)", range: [1.5, 5.0], bins: 20}
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with a model file, samples, and the result of a fit."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "model.yml").write_text(MODEL, encoding="utf-8")
    model = ctpwa.load_model(folder / "model.yml")
    toy = ctpwa.generate_toy(model, 900, seed=1, engine="reference")
    weights = torch.linspace(0.9, 1.1, 900, dtype=torch.float64)
    ctpwa.write_events(folder / "toy.npz", ctpwa.Events(toy.momenta, weights), model=model)
    ctpwa.write_events(folder / "background.npz", ctpwa.generate_phase_space(model, 400, seed=5), model=model)
    ctpwa.load_analysis(folder / "model.yml").fit().save(folder / "result.json")
    return folder


@pytest.fixture(scope="session")
def page(folder):
    """The file of the report."""
    write_report(folder / "result.json", folder / "report.html", engine="reference")
    return folder / "report.html"
