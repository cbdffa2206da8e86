"""benchmarks/bins.py: a small closure."""

import importlib
import sys

import numpy as np
import pytest
import yaml
from scipy.special import sph_harm_y

import ctpwa
from conftest import ROOT
from ctpwa.studies import bins
from ctpwa.studies.bin_axes import BinAxis
from ctpwa.studies.bin_samples import BinnedSamples

MODULES = ("common", "bins", "bins_laddu", "bins_pulls", "bins_toys", "peers", "peers_shared")


@pytest.fixture(scope="module")
def bench():
    """The modules of the benchmark."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield importlib.import_module("bins")
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def toys(bench, tmp_path_factory):
    """Three bins with 3000 events each."""
    folder = tmp_path_factory.mktemp("toys")
    return folder, sys.modules["bins_toys"].make_toys(folder, 3, 3000, 6000, seed=2, stepped=True)


def test_what_was_generated_comes_back(bench, toys):
    folder, truth = toys
    analysis = ctpwa.load_analysis(folder / "model.yml")
    text = "mass(eta, pi0): 1.04..2.0/3"
    study = bins(analysis, text, starts=6, engine="cpu", progress=False)
    binned = BinnedSamples(analysis, (BinAxis.read(text, analysis.model),))
    pulls = bench.Pulls()
    bench.add_pulls(pulls, study, binned, truth)
    for way in ("nearest", "best", "profile"):
        events, phases = (np.array(pulls.values[kind, way]) for kind in ("events", "phases"))
        assert len(events) == 15
        assert np.abs(events).max() < 4
        assert abs(events.mean()) < 4 / np.sqrt(15)
        assert np.abs(phases).max() < 5
        assert np.median(np.abs(phases)) < 1.5
    assert len(pulls.values["phases", "profile"]) == 12
    assert pulls.missed == 0
    assert len(pulls.rows()) == 6
    assert 2 < np.mean(pulls.joint) < 30  # 8 parameters, and half as much again because of phase space


def test_laddu_gets_the_angles_that_ctpwa_has(bench):
    laddu = importlib.import_module("bins_laddu")
    model = ctpwa.load_model(yaml.safe_load(sys.modules["bins_toys"].MODEL))
    events = sys.modules["bins_toys"].flat(50, 3, *laddu.LIMITS)
    own, K = laddu.columns(events), model.spin_amplitudes(events, barrier=True, progress=False).K.numpy()
    for wave, A in zip(model.waves, K, strict=True):
        l, m = int(wave.name[wave.name.index("(") + 1]), int(wave.name.partition("m=")[2].split()[0])
        Y = sph_harm_y(l, m, np.arccos(own["cos"]), own["phi"])
        Z = own[f"b{l}"] * Y * np.exp(-1j * own["Phi"])
        rows = np.stack([np.sqrt(1 + own["P"]) * Z.real, np.sqrt(1 - own["P"]) * Z.imag])
        np.testing.assert_allclose((A**2).sum(axis=0), (rows**2).sum(axis=0), rtol=1e-9, atol=1e-12)
