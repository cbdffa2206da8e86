"""The model of benchmarks/peers.py: what other programs are told is what ctpwa computes."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import ctpwa

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import peers
    import peers_program

    yield peers, peers_program
    for name in ("peers", "peers_program", "common"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("floating", [False, True])
def test_all_programs_have_the_same_intensities(peers, tmp_path, floating):
    problems, program = peers
    problems.write_problem(tmp_path, 20, floating=floating, engine="reference")
    problem = json.loads((tmp_path / "problem.json").read_text())
    with np.load(tmp_path / "events.npz") as arrays:
        s = {name: arrays[f"flat/{name}"] for name in problems.PAIRS.values()}
        p4 = {name: torch.from_numpy(arrays[f"p4 flat/{name}"]) for name in problem["particles"]}
    re, im = program.amplitude(problem, lambda name, value, free: value, s.__getitem__, np.sqrt)
    model = ctpwa.load_model(problem["model"])
    ratio = ctpwa.ModelIntensity(model, engine="reference")(p4).numpy() / (re**2 + im**2)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-10)
    assert len(program.parameters(problem, "true")) == 20 + 2 * problems.FLOATING * floating
