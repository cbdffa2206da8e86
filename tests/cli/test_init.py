"""``ctpwa init``: a model file is written whole or not at all, and never over another by accident."""

import json
import os

import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app

DECAY = "J/psi(1S) -> K+ K- eta"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*options):
    return CliRunner().invoke(app, ["init", *options])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_model_file_that_loads_and_says_how_to_go_on(folder):
    result = init(DECAY)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")  # nothing is said without a terminal
    assert names(folder) == ["model.yml"]
    model = ctpwa.load_model("model.yml")
    assert len(model.waves) == 8
    assert len(model.coupling_values) == 4  # and the first is 1
    text = (folder / "model.yml").read_text(encoding="utf-8")
    assert text.startswith(f"# A first model of {DECAY}, written by ctpwa init (ctpwa {ctpwa.__version__}).\n")


def test_check_accepts_what_init_writes(folder):
    init(DECAY, "--out", "kk.yml")
    result = CliRunner().invoke(app, ["check", "kk.yml", "--json"])
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["waves"]) == 8


def test_charge_states_are_tied_unless_asked_otherwise(folder):
    tied, untied = (init("J/psi -> pi+ pi- pi0", "--out", "-", *option).stdout for option in ((), ("--no-isospin",)))
    assert '    rho(770)+[pi+ pi0] (1,1)(1,0): ["rho(770)0[pi+ pi-] (1,1)(1,0)", -1]\n' in tied
    assert "ties" not in untied


def test_a_file_is_not_overwritten_without_force(folder):
    init(DECAY)
    before = (folder / "model.yml").read_text()
    result = init("J/psi -> gamma pi0 pi0")
    assert result.exit_code == 1
    assert result.stderr == "'model.yml' already exists\n fix: add --force to overwrite it, or name another file with --out\n"
    assert (folder / "model.yml").read_text() == before
    assert init("J/psi -> gamma pi0 pi0", "--force").exit_code == 0
    assert (folder / "model.yml").read_text() != before


def test_the_model_file_of_somebody_else_is_not_overwritten_at_all(folder):
    (folder / "model.yml").write_text("mine: 1")
    for options in ((), ("--force",)):
        result = init(DECAY, *options)
        assert result.exit_code == 1
        assert "'model.yml' already exists, and is not a model file of ctpwa init" in result.stderr
        assert (folder / "model.yml").read_text() == "mine: 1"
    assert "is an input of this command" in init(DECAY, "--data", "new.yml", "--out", "./new.yml", "--force").stderr


@pytest.mark.parametrize("error", [ctpwa.CtpwaError("no"), KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_nothing_is_left_behind_when_it_goes_wrong(folder, monkeypatch, error):
    def fail(path):
        raise error

    init(DECAY)
    before = (folder / "model.yml").read_text()
    monkeypatch.setattr(ctpwa, "load_model", fail)
    result = init(DECAY, "--force")
    assert result.exit_code == (130 if isinstance(error, KeyboardInterrupt) else 1)
    assert names(folder) == ["model.yml"]
    assert (folder / "model.yml").read_text() == before


def test_a_folder_that_is_not_there(folder):
    result = init(DECAY, "-o", "nowhere/model.yml")
    assert result.exit_code == 1
    assert "there is no folder 'nowhere'" in result.stderr


def test_the_text_can_be_printed(folder):
    result = init("D0 -> K- pi+ pi0", "--out", "-")
    assert result.exit_code == 0
    assert "\ndecay: D0 -> K- pi+ pi0\n" in result.stdout
    assert names(folder) == []


def test_json_is_for_programs(folder):
    result = init(DECAY, "--json")
    said = json.loads(result.stdout)
    assert names(folder) == []
    assert (said["decay"], said["polarisation"]) == (DECAY, "transverse")
    by_name = {resonance["name"]: resonance for resonance in said["resonances"]}
    assert said["chains"] == []
    assert by_name["K(2)*(1430)"]["in"] == ["K+ eta", "K- eta"]
    assert by_name["K(2)*(1430)"]["production_ls"] == {"K-": [[2, 2.0]]}
    assert by_name["phi(1020)"]["active"] is True
    assert by_name["rho(1450)"] | {"mass": 0, "width": 0} == {
        "name": "rho(1450)",
        "in": ["K+ K-"],
        "JP": "1--",
        "mass": 0,
        "width": 0,
        "isospin": 1.0,
        "production_ls": {"eta": [[1, 1.0]]},
        "decay_ls": {"K+ K-": [[1, 0.0]]},
        "active": False,
        "reasons": ["isospin-violating production"],
    }
    assert said["incomplete"] == {}
    said = json.loads(init("tau- -> pi- pi0 nu(tau)", "--json").stdout)
    assert said["incomplete"] == {"pi- pi0": ["pi(1)(1400)"]}


def test_an_unknown_particle_is_answered_with_near_names(folder):
    result = init("J/psi -> K+ K- etaa")
    assert result.exit_code == 1
    assert result.stderr == "unknown particle 'etaa'\n fix: did you mean 'eta'?\n"
    assert names(folder) == []


def test_a_decay_without_quotes_is_wrong_usage(folder):
    assert init("J/psi", "-", "K-", "eta").exit_code == 2


@pytest.mark.parametrize("name", ["data.root", "my data: 1 #2.root", "123.root", "1e5.dat", "a/b.npz"])
def test_the_samples_are_in_use_if_the_data_are_named(folder, name):
    (folder / "models").mkdir()
    assert init(DECAY, "--data", name, "--out", "models/kk.yml").exit_code == 0
    (data_set,) = ctpwa.load_analysis("models/kk.yml").data_sets
    (source,) = data_set.data
    assert [os.path.realpath(file) for file in source.files] == [os.path.realpath(folder / name)]
    assert "\nsamples:\n" in init(DECAY, "--data", name, "--out", "-").stdout


def test_a_reaction(folder):
    assert init("gamma p -> eta pi0 p", "--production", "photoproduction", "--data", "data.root").exit_code == 0
    model = ctpwa.load_model("model.yml")
    assert len(model.waves) == 12
    assert len(model.coupling_values) == 11
    result = CliRunner().invoke(app, ["generate", "model.yml", "-n", "20", "-o", "data.root", "--phase-space"])
    assert result.exit_code == 0
    assert ctpwa.read_events(model, "data.root").columns["beam"].shape == (20, 4)


def test_a_reaction_for_programs(folder):
    found = json.loads(init("pi- p -> pi- pi+ pi- p", "--production", "diffraction", "--json").stdout)
    assert found["decay"] == "X -> pi- pi+ pi-"
    assert found["recoil"] == "p"
    assert found["waves"]["1+"] == [0, 1]


def test_a_reaction_needs_a_production(folder):
    result = init("gamma p -> eta pi0 p")
    assert result.exit_code == 1
    assert "--production photoproduction" in result.stderr
