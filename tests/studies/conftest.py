"""Small fits to study: three resonances, the reference engine, which has nothing to compile."""

import numpy as np
import pytest
import torch

import ctpwa
from kk_eta import TRUTH
from studies.cases import MODEL, PLAIN
from studies.fitted_toys import ABSENT, opened_toy_of


@pytest.fixture(scope="session")
def signal(tmp_path_factory):
    """A folder with 500 events of signal in signal.npz, and 200 of flat phase space in flat.npz."""
    folder = tmp_path_factory.mktemp("signal")
    (folder / "model.yml").write_text(MODEL.replace("SAMPLES", PLAIN))
    model = ctpwa.load_model(folder / "model.yml")
    events = ctpwa.generate_toy(model, 500, seed=7, couplings=TRUTH, engine="reference", progress=False)
    ctpwa.write_events(folder / "signal.npz", events, model=model)
    ctpwa.write_events(folder / "flat.npz", ctpwa.generate_phase_space(model, 200, seed=8, progress=False), model=model)
    return folder


@pytest.fixture(scope="session")
def fitted(signal, tmp_path_factory):
    """Makes fits: the samples of a model file → path of a result, with its data beside it."""
    made = {}

    def fit(samples=PLAIN, weights=None):
        key = samples, None if weights is None else weights.tobytes()
        if key not in made:
            folder = tmp_path_factory.mktemp("fitted")
            (folder / "model.yml").write_text(MODEL.replace("SAMPLES", samples))
            model = ctpwa.load_model(folder / "model.yml")
            own, flat = (ctpwa.read_events(model, signal / f"{name}.npz") for name in ("signal", "flat"))
            events = ctpwa.Events(own.momenta, None if weights is None else torch.from_numpy(weights))
            ctpwa.write_events(folder / "data.npz", events, model=model)
            mixed = {name: torch.cat([own[name], flat[name][:100]]) for name in own}
            ctpwa.write_events(folder / "mixed.npz", ctpwa.Events(mixed), model=model)
            ctpwa.write_events(folder / "side.npz", flat, model=model)
            result = ctpwa.load_analysis(folder / "model.yml").fit(progress=False)
            assert result.verdict.good, result.verdict
            result.save(folder / "model.result.json")
            made[key] = folder / "model.result.json"
        return made[key]

    return fit


@pytest.fixture(scope="session")
def plain(fitted):
    """The result of 500 events without background."""
    return fitted()


@pytest.fixture(scope="session")
def sweights():
    """Weights of 500 events, some of them negative."""
    return np.random.default_rng(3).normal(0.9, 0.4, 500)


@pytest.fixture(scope="session")
def absent(tmp_path_factory):
    """A fit whose data do not have one of the resonances, X."""
    return opened_toy_of(tmp_path_factory.mktemp("absent"), ABSENT, 4000)
