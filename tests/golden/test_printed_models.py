"""What a user sees when a model is printed or refused, word for word."""

from pathlib import Path

import pytest

from ctpwa import load_model
from ctpwa.base import ConfigError

EXAMPLES = sorted(path.parent.name for path in (Path(__file__).parents[2] / "examples").glob("*/model.yml"))

MISTAKES = """\
decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1O20):    {in: K+ K-}
  omega(782):   {in: K+ K-}
  X(1750):      {in: K+ K-, JP: 2+, mass: 1.753, width: 0.120}
  K*(1410):     {in: [K+ eta, K- etta]}
  NR:           {in: K+ K-, JP: 1-, lineshape: constant, mass: 1.5}
chains:
  - J/psi(1S) -> K(2)*(1430)+ K- ; K(2)*(1430) -> K+ eta
  - {decay: J/psi(1S) -> phi(1680) eta ; phi(1680) -> K+ K-, ls: [[[0, 1]], null]}
"""
TYPOS = """\
decay: J/psi(1S) -> K+ K- eta
polarization: transverse
resonances:
  phi(1020): {in: K+ K-, masss: 1.0195, width: 5e-3}
  rho(1900):
"""


@pytest.mark.parametrize("name", EXAMPLES)
def test_printed_model(golden, example, name):
    golden(f"{name}.txt", str(load_model(example(name))))


@pytest.mark.parametrize(("name", "text"), [("mistakes", MISTAKES), ("typos", TYPOS)])
def test_error_messages(golden, tmp_path, monkeypatch, name, text):
    monkeypatch.chdir(tmp_path)
    Path("model.yml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_model("model.yml")
    golden(f"{name}.txt", str(caught.value))
