"""``ctpwa generate``: what is written is what the same call in Python gives, whole or not at all."""

import json
import signal

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings
from ctpwa.generate.toys import ToySettings
from kk_eta import TWO

MODEL = (
    TWO
    + """couplings:
  K(2)*(1430)+[K+ eta] (2,2)(2,0): [0.5, -1]
"""
)


# files are the same as events in memory, whatever the proposal: a short pilot is enough; and without any event there is no generator
SHORT, NONE = ToySettings(pilot_rounds=1, pilot_events=256, maximum_events=2048), ToySettings(pilot_rounds=0, maximum_events=0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "model.yml").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def generate(*options, toys=SHORT):
    return CliRunner().invoke(app, ["generate", "model.yml", *options], obj=CommandSettings(toys=toys))


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("suffix", ["root", "parquet", "npz", "txt"])
def test_a_toy_in_a_file_is_the_toy_of_python(folder, suffix):
    result = generate("-n", "300", "-o", f"toy.{suffix}", "--seed", "3")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"toy.{suffix}: 300 events of J/psi(1S) -> K+ K- eta, ")
    assert "% of those tried were accepted, " in result.stdout
    assert result.stdout.count("\n") == 1
    model = ctpwa.load_model("model.yml")
    found, expected = (
        ctpwa.read_events(model, f"toy.{suffix}"),
        ctpwa.generate.ToyGenerator(model, settings=SHORT).generate(300, seed=3).events,
    )
    for name in model.final_names:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-12, atol=1e-12)
    assert files(folder) == ["model.yml", f"toy.{suffix}"]


def test_phase_space(folder):
    result = generate("-n", "200", "-o", "phsp.npz", "--phase-space")
    assert result.exit_code == 0
    assert "200 events of J/psi(1S) -> K+ K- eta, flat in phase space" in result.stdout
    model = ctpwa.load_model("model.yml")
    found, expected = ctpwa.read_events(model, "phsp.npz"), ctpwa.generate_phase_space(model, 200, seed=0)
    torch.testing.assert_close(found["eta"], expected["eta"], rtol=1e-12, atol=1e-12)


def test_json_tells_how_and_from_which_truth(folder):
    toy = json.loads(generate("-n", "100", "-o", "toy.npz", "--json").stdout)
    assert (toy["file"], toy["kind"], toy["events"], toy["seed"]) == ("toy.npz", "toy", 100, 0)
    assert toy["maximum_raised"] >= 0
    assert toy["acceptance"] == pytest.approx(100 / toy["tried"])
    assert toy["couplings"] == {"phi(1680)[K+ K-] (1,1)(1,0)": [1, 0], "K(2)*(1430)+[K+ eta] (2,2)(2,0)": [0.5, -1]}
    assert toy["parameters"]["phi(1680).mass"] == pytest.approx(1.68)
    flat = json.loads(generate("-n", "100", "-o", "flat.npz", "--phase-space", "--json").stdout)
    assert flat["kind"] == "phase space"


def test_seeds_differ(folder):
    for seed in ("1", "2"):
        generate("-n", "10", "-o", f"{seed}.npz", "--seed", seed)
    assert not np.array_equal(np.load("1.npz")[np.load("1.npz").files[0]], np.load("2.npz")[np.load("2.npz").files[0]])


@pytest.mark.parametrize("suffix", ["npz", "parquet", "root"])
def test_a_file_is_only_overwritten_on_demand(folder, suffix):
    out = f"toy.{suffix}"
    assert generate("-n", "10", "-o", out, "--phase-space").exit_code == 0
    before = (folder / out).read_bytes()
    result = generate("-n", "10", "-o", out, "--phase-space", "--seed", "1")
    assert result.exit_code == 1
    assert f"'{out}' already exists\n fix: add --force" in result.stderr
    assert (folder / out).read_bytes() == before
    assert generate("-n", "10", "-o", out, "--phase-space", "--seed", "1", "--force").exit_code == 0
    model = ctpwa.load_model("model.yml")
    torch.testing.assert_close(ctpwa.read_events(model, out)["eta"], ctpwa.generate_phase_space(model, 10, seed=1)["eta"])


@pytest.mark.parametrize("suffix", ["npz", "parquet", "root", "txt"])
def test_samples_that_it_did_not_generate_are_never_overwritten(folder, suffix):
    """Events that were measured look the same, but have no mark; text files cannot have one."""
    model = ctpwa.load_model("model.yml")
    out = f"data.{suffix}"
    ctpwa.write_events(out, ctpwa.generate_phase_space(model, 10, seed=3), model=model)
    before = (folder / out).read_bytes()
    result = generate("-n", "10", "-o", out, "--phase-space", "--force")
    assert result.exit_code == 1
    assert f"'{out}' already exists, and is not a sample of ctpwa generate\n fix: name another file with --out" in result.stderr
    assert (folder / out).read_bytes() == before
    assert files(folder) == [out, "model.yml"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "toy.csv"], "unknown suffix '.csv'\n fix: use one of .root"),
        (["-o", "nowhere/toy.npz"], "there is no folder 'nowhere'"),
        (["-o", "toy.npz", "--device", "abacus"], "unknown device 'abacus'\n fix: choose cpu or cuda"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_generated(folder, options, message):
    result = generate("-n", "10", *options, toys=NONE)
    assert result.exit_code == 1
    assert message in result.stderr
    assert files(folder) == ["model.yml"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("kind", [[], ["--phase-space"]])
def test_a_missing_gpu(folder, kind):
    result = generate("-n", "10", "-o", "toy.npz", "--device", "cuda", *kind)
    assert result.exit_code == 1
    assert "torch sees no GPU\n fix: choose cpu" in result.stderr


def test_an_interrupted_toy_leaves_nothing(folder, at_step):
    at_step("toy events", lambda: signal.raise_signal(signal.SIGINT))
    result = generate("-n", "10", "-o", "toy.npz")
    assert result.exit_code == 130
    assert files(folder) == ["model.yml"]


@pytest.mark.parametrize(
    "options",
    [
        ["-n", "0", "-o", "x.npz"],
        ["-n", "5"],
        ["-o", "x.npz"],
        ["-n", "5", "-o", "x.npz", "--seed", "-1"],
        ["-n", "5", "-o", "x.npz", "--phase-space", "--signal-only"],
    ],
)
def test_wrong_usage(folder, options):
    assert generate(*options).exit_code == 2
    assert files(folder) == ["model.yml"]


def test_a_wrong_model(folder):
    (folder / "model.yml").write_text(MODEL.replace("(2,0): ", "(2,1): "))
    result = generate("-n", "5", "-o", "x.npz")
    assert result.exit_code == 1
    assert "no coupling is called 'K(2)*(1430)+[K+ eta] (2,2)(2,1)'" in result.stderr


@pytest.mark.parametrize("option", [[], ["--phase-space"]])
@pytest.mark.parametrize("n", [10**12, 10**15, 10**40])
def test_more_events_than_there_is_memory_are_refused_before_any_work(folder, n, option):
    result = generate("-n", str(n), "-o", "toy.root", *option, toys=NONE)
    assert result.exit_code == 1
    assert "events of 3 particles need" in result.stderr
    assert " fix: generate at most " in result.stderr
    assert files(folder) == ["model.yml"]


def test_more_events_than_there_is_disk_are_refused_before_any_work(folder, monkeypatch):
    from ctpwa.generate import room

    monkeypatch.setattr(room.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10_000})())
    result = generate("-n", "300", "-o", "toy.root")
    assert result.exit_code == 1
    assert "300 events of 3 particles take about 28.8 kB in 'toy.root', but the disk of its folder has 10 kB left" in result.stderr


def test_a_seed_that_is_too_large(folder):
    result = generate("-n", "5", "-o", "toy.root", "--seed", str(10**30))
    assert (result.exit_code, result.stderr.startswith("the seed is 1000")) == (1, True)


def test_event_columns(folder):
    shape = MODEL.replace("{in: K+ K-, mass: 1.68, width: 0.15, float: mass}", "{in: K+ K-, lineshape: exp(-t)}")
    (folder / "model.yml").write_text(shape + "columns: {t: {}, e: {size: 2}}\n")
    arguments = ["generate", "model.yml", "-n", "20", "-o", "toy.npz", "--phase-space"]
    assert CliRunner().invoke(app, [*arguments, "--column", "t=1.5", "--column", "e=1,2"]).exit_code == 0
    found = ctpwa.read_events(ctpwa.load_model("model.yml"), "toy.npz")
    assert found.columns["t"].tolist() == [1.5] * 20
    assert found.columns["e"].tolist() == [[1.0, 2.0]] * 20
    usage = "write NAME=NUMBER"
    for wrong, message in {"t": usage, "t=x": usage, "u=1": "no event column 'u'", "e=1": "1 given for 'e'"}.items():
        result = CliRunner().invoke(app, [*arguments[:-1], "--force", "--column", wrong])
        assert result.exit_code
        assert message in " ".join(result.stderr.split())
