"""The model of benchmarks/peers.py: what other programs are told is what ctpwa computes, and only what agrees is shown."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.interchange import read_tfpwa

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import peers

    yield peers
    for name in [name for name in sys.modules if name.startswith("peers")] + ["common"]:
        sys.modules.pop(name, None)


@pytest.fixture
def problem(peers, tmp_path):
    def problem(floating):
        peers.write_problem(tmp_path, 20, floating=floating, engine="reference")
        return json.loads((tmp_path / "problem.json").read_text())

    return problem


def flat_momenta(problem, folder):
    with np.load(folder / "events.npz") as arrays:
        return {name: torch.from_numpy(arrays[f"p4 flat/{name}"]) for name in problem["particles"]}


@pytest.mark.parametrize("floating", [False, True])
def test_all_programs_have_the_same_intensities(peers, problem, tmp_path, floating):
    from peers_amplitude import amplitude
    from peers_shared import parameters

    own = problem(floating)
    with np.load(tmp_path / "events.npz") as arrays:
        s = {name: arrays[f"flat/{name}"] for name in peers.PAIRS.values()}
    re, im = amplitude(own, lambda name, value, free: value, s.__getitem__, np.sqrt)
    model = ctpwa.load_model(own["model"])
    ratio = ctpwa.ModelIntensity(model, engine="reference")(flat_momenta(own, tmp_path)).numpy() / (re**2 + im**2)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-10)
    assert len(parameters(own, "true")) == 20 + 2 * peers.FLOATING * floating


def test_the_configuration_of_tf_pwa_is_the_same_model(problem, tmp_path):
    """Read back by the importer, which agrees with TF-PWA itself."""
    from peers_shared import parameters
    from peers_tfpwa_config import configuration
    from peers_tfpwa_config import parameters as in_its_names

    own = problem(True)
    (tmp_path / "config.yml").write_text(configuration(own, tmp_path))
    (tmp_path / "params.json").write_text(json.dumps({"value": in_its_names(own, parameters(own, "true"))}))
    imported = read_tfpwa(tmp_path / "config.yml", tmp_path / "params.json")
    momenta = flat_momenta(own, tmp_path)
    theirs = ctpwa.ModelIntensity(imported.model, engine="reference")(dict(zip("BCD", momenta.values(), strict=True)))
    ours = ctpwa.ModelIntensity(ctpwa.load_model(own["model"]), engine="reference")(momenta)
    ratio = (theirs / ours).numpy()
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-10)


def test_ctpwa_is_measured_from_the_same_start(peers, problem, tmp_path):
    """−ln L of the driver at two points is that of the formula."""
    from peers_amplitude import amplitude
    from peers_ctpwa import prepare
    from peers_shared import parameters

    own = problem(True)
    samples = {}
    with np.load(tmp_path / "events.npz") as arrays:
        for key in arrays.files:
            which, _, column = key.partition("/")
            samples.setdefault(which, {})[column] = arrays[key]

    def nll(values):
        def intensity(which):
            re, im = amplitude(own, lambda name, value, free: values.get(name, value), samples[which].__getitem__, np.sqrt)
            return re**2 + im**2

        return -np.log(intensity("data")).sum() + 20 * np.log(intensity("flat").mean())

    peer = prepare(own, samples)
    true, start = parameters(own, "true"), parameters(own, "start")
    found = [peer.value(peer.point(values)) for values in (true, start)]
    assert found[1] - found[0] == pytest.approx(nll(start) - nll(true), rel=1e-9)


def test_only_what_agrees_is_believed(peers, tmp_path):
    ours = {"gradient [ms]": 1.0, "at generated values": -8.0, "at the start": -5.0, "reached": -10.0}
    theirs = {"gradient [ms]": 4.0, "at generated values": 1.0, "at the start": 4.0, "reached": -1.0}
    np.save(tmp_path / "ctpwa.npy", np.ones(3))
    np.save(tmp_path / "laddu.npy", np.full(3, 2.0))
    assert peers.compared("laddu", tmp_path, theirs, ours)["times as long"] == 4.0
    assert peers.compared("laddu", tmp_path, theirs, ours)["reached"] == -10.0
    with pytest.raises(peers.LeftOut, match="−ln L from generated values to the start differs by 5"):
        peers.compared("laddu", tmp_path, theirs | {"at the start": 3.5}, ours)
    np.save(tmp_path / "laddu.npy", np.array([2.0, 2.0, 2.1]))
    with pytest.raises(peers.LeftOut, match="its intensities differ by 3"):
        peers.compared("laddu", tmp_path, theirs, ours)


def test_medians_and_who_is_left_out(peers, monkeypatch, tmp_path, capsys):
    """Programs run by turns; one that fails is not tried again, and a sentence says why."""
    calls = []

    def run(name, folder, environments):
        calls.append(name)
        if name == "tf-pwa":
            raise peers.LeftOut("it cannot be installed: no")
        return {"program": name, "gradient [ms]": float(len(calls)), "at generated values": 0.0, "at the start": 1.0, "reached": -2.0}

    monkeypatch.setattr(peers, "run", run)
    monkeypatch.setattr(peers, "compared", lambda name, folder, found, ours: found)
    monkeypatch.setattr(peers, "write_problem", lambda *_, **__: None)
    monkeypatch.setattr(sys, "argv", ["peers.py", "--only", "laddu,tf-pwa", "--out", str(tmp_path / "peers.json")])
    peers.main()
    assert calls[:7] == ["ctpwa", "laddu", "tf-pwa", "ctpwa", "laddu", "ctpwa", "laddu"]
    shown = capsys.readouterr().out
    assert "| program | gradient [ms] | −ln L reached |" in shown
    assert "| ctpwa | 4 | -2.0000 |" in shown
    assert "tf-pwa is left out: it cannot be installed: no" in shown
    assert set(json.loads((tmp_path / "peers.json").read_text())["results"]) == {
        "masses and widths: fixed",
        "masses and widths: 7 resonances floating",
    }


def test_a_failed_installation_is_a_sentence_and_is_tried_again(peers, monkeypatch, tmp_path):
    def failing(command, **_):
        raise subprocess.CalledProcessError(1, command, stderr="Collecting laddu\nERROR: No matching distribution found for laddu\n")

    monkeypatch.setattr(peers.venv, "create", lambda folder, **_: folder.mkdir(exist_ok=True))
    monkeypatch.setattr(peers.subprocess, "run", failing)
    for _ in range(2):
        with pytest.raises(peers.LeftOut, match="it cannot be installed: ERROR: No matching distribution found for laddu"):
            peers.run("laddu", tmp_path, tmp_path)
