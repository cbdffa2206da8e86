"""benchmarks/bins.py: a small closure."""

import importlib
import sys

import numpy as np
import pytest

from conftest import ROOT
from ctpwa.studies import bins

MODULES = ("common", "bins", "bins_toys")


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
    study = bins(folder / "model.yml", "mass(eta, pi0): 1.04..2.0/3", starts=6, engine="reference", progress=False)
    found, _ = bench.pulls(study, truth)
    assert len(found["events"]) == 15
    assert np.abs(found["events"]).max() < 4
    assert abs(found["events"].mean()) < 4 / np.sqrt(15)
    assert np.abs(found["phases"]).max() < 5  # −ln L is no parabola where two solutions are near each other
    assert np.median(np.abs(found["phases"])) < 1.5
    assert len(bench.closure_rows({name: [own] for name, own in found.items()})) == 2
