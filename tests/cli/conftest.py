"""A small analysis: three resonances, some 200 events, the reference engine, which has nothing to compile."""

import shutil

import numpy as np
import pytest
import torch

import ctpwa
from kk_eta import THREE_FIXED, TRUTH
from threads import one_thread

SMALL = (
    THREE_FIXED
    + """samples: {data: data.npz, phase_space: {generate: 500, seed: 2, proposal: flat}}
fit: {engine: reference, starts: 1}
"""
)
FLOATING = SMALL.replace("width: 0.15}", "width: 0.15, float: mass}")


@pytest.fixture(scope="session")
def _small_data(tmp_path_factory):
    """Events by accept-reject, in a file."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "model.yml").write_text(SMALL)
    model = ctpwa.load_model(folder / "model.yml")
    events = ctpwa.generate_phase_space(model, 3000, seed=7)
    I = np.asarray(ctpwa.ModelIntensity(model, couplings=TRUTH, engine="reference")(events))
    keep = torch.as_tensor(np.random.default_rng(1).random(len(I)) * I.max() < I)
    ctpwa.write_events(folder / "data.npz", ctpwa.Events({name: p[keep] for name, p in events.items()}), model=model)
    return folder


@pytest.fixture
def small(_small_data, tmp_path, monkeypatch):
    """A folder with model.yml and data.npz, which is the working directory; one thread, as small steps need."""
    for name in ("model.yml", "data.npz"):
        shutil.copy(_small_data / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    with one_thread(torch):
        yield tmp_path


@pytest.fixture(scope="session")
def _small_result(_small_data):
    """The result of the small analysis with a floating mass, three starts, MINOS of one parameter."""
    (_small_data / "floating.yml").write_text(FLOATING)
    return ctpwa.load_analysis(_small_data / "floating.yml").fit(starts=3, minos=["phi(1680).mass"])


@pytest.fixture
def fitted(small, _small_result):
    """The folder with that result as ``model.result.json``, and with its model."""
    (small / "model.yml").write_text(FLOATING)
    _small_result.save(small / "model.result.json")
    return _small_result
