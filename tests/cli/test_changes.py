"""``--set``, ``--float``, ``--without`` and ``--data``: the same as in the file, in the result, and when it is opened again."""

import json
import re
import shutil

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings
from ctpwa.fitting.checkpoint import hash_of_model

MASS, WIDTH = "phi(1680).mass", "phi(1680).width"
PHI, PHI3, K2 = "phi(1680)[K+ K-] (1,1)(1,0)", "phi(3)(1850)[K+ K-] (3,3)(3,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"


def run(*words):
    return CliRunner().invoke(app, list(words), obj=CommandSettings(toy_engine="reference"))


def fitted(*words, out="model.result.json"):
    ended = run("fit", "model.yml", "-o", out, *words)
    assert ended.exit_code in (0, 3), ended.output
    return ctpwa.FitResult.load(out)


def loaded(*words):
    """What ``check`` finds."""
    ended = run("check", "model.yml", "--no-samples", "--json", *words)
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)


def values(*words):
    return {p["name"]: p["value"] for p in loaded(*words)["parameters"]}


def couplings(*words):
    return {c["name"]: complex(c["re"], c["im"]) for c in loaded(*words)["couplings"]}


def change(folder, **sections):
    """The model file with other sections."""
    data = yaml.safe_load((folder / "model.yml").read_text()) | sections
    (folder / "model.yml").write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False))


def message(ended):
    assert ended.exit_code == 2, ended.output
    return " ".join(ended.stderr.replace("│", " ").split())


class TestWithout:
    @pytest.mark.usefixtures("small")
    def test_a_fit_without_a_resonance_is_that_of_the_shorter_file(self, small):
        found = fitted("--without", "phi(3)(1850)", out="a.json")
        assert found.settings["changed"] == ["--without phi(3)(1850)"]
        change(
            small,
            resonances={k: v for k, v in yaml.safe_load((small / "model.yml").read_text())["resonances"].items() if k != "phi(3)(1850)"},
        )
        other = fitted(out="b.json")
        assert found.names == other.names
        np.testing.assert_array_equal(found.x, other.x)
        assert hash_of_model(found.model) == hash_of_model(other.model)
        assert "changed" not in other.settings

    def test_everything_that_names_it_goes(self, small):
        fit = {"fix": [f"{PHI3}.im", MASS], "limits": {f"{PHI3}.re": [0, 500]}, "start": {f"{K2}.re": 10}, "minos": f"{PHI3}.re"}
        change(small, couplings={PHI: 1, PHI3: [100, 150], K2: 12}, fit={"engine": "reference", **fit})
        assert set(couplings()) == {PHI, PHI3, K2}
        assert couplings("--without", "phi3(1850)") == {PHI: 1, K2: 12}
        assert set(couplings("--without", "phi(3)(1850)", "--without", "K(2)*(1430)")) == {PHI}

    def test_the_reference_wave(self, small):
        """Another coupling is 1 then: what the fit says about parts of couplings means something else."""
        change(
            small,
            couplings={PHI: 2, PHI3: [100, 150], K2: 12},
            fit={"start": {f"{K2}.re": 10, f"{PHI3}.im": 2}, "minos": [f"{PHI3}.im", f"{K2}.im"]},
        )
        assert couplings("--without", "phi(1680)") == {PHI3: 100 + 150j, K2: 12}
        change(small, fit={"reference_wave": K2})
        assert couplings("--without", "K(2)*(1430)") == {PHI: 2, PHI3: 100 + 150j}
        change(small, fit={"fix": [f"{PHI3}.im"]})
        assert f"leaves out the reference wave '{PHI}', and 'fix' of the fit gives '{PHI3}.im' relative to it" in message(
            run("check", "model.yml", "--without", "phi(1680)")
        )

    def test_chains(self, small):
        change(
            small,
            resonances={},
            chains=["J/psi(1S) -> phi(1680) eta ; phi(1680) -> K+ K-", "J/psi(1S) -> K(2)*(1430)+ K- ; K(2)*(1430)+ -> K+ eta"],
        )
        assert set(couplings("--without", "phi(1680)")) == {K2}
        assert set(couplings("--without", "K(2)*(1430)+")) == {PHI}

    @pytest.mark.usefixtures("small")
    def test_mistakes(self):
        assert "the model has no such resonance; did you mean 'phi(1680)'" in message(run("check", "model.yml", "--without", "phi(1860)"))
        every = [word for name in ("phi(1680)", "phi(3)(1850)", "K(2)*(1430)") for word in ("--without", name)]
        assert "leaves no wave; leave out less" in message(run("check", "model.yml", *every))
        assert "is there twice" in message(run("check", "model.yml", "--without", "phi(1680)", "--without", "phi(1680)"))

    def test_what_depends_on_it_is_said(self, small):
        change(
            small,
            parameters={"shift": 0.1},
            resonances={"phi(1680)": {"in": "K+ K-"}, "phi(3)(1850)": {"in": "K+ K-", "mass": f"{MASS} + shift"}},
        )
        found = message(run("check", "model.yml", "--without", "phi(1680)"))
        assert "with these options the model is wrong" in found


class TestSet:
    @pytest.mark.usefixtures("small")
    def test_masses_and_couplings(self):
        assert values("--set", f"{MASS}=1.7", "--set", f"{WIDTH} = 0.2") == values() | {MASS: 1.7, WIDTH: 0.2}
        assert couplings("--set", f"{K2}=3-4j") == {PHI: 1, PHI3: 1, K2: 3 - 4j}
        assert couplings("--set", f"{K2}.re=3", "--set", f"{PHI3}.im=-2")[PHI3] == 1 - 2j

    def test_parts_in_polar_form_relative_to_the_reference_wave(self, small):
        """As a fit has them: the reference wave is 2i, and the number that is fitted for K2 is (4i)/(2i) = 2."""
        change(
            small,
            couplings={PHI: "2j", K2: "4j"},
            fit={"engine": "reference", "starts": 1, "representation": "polar", "start": {f"{K2}.abs": 9}},
        )
        assert couplings("--set", f"{K2}.abs=3")[K2] == pytest.approx(6j)
        assert couplings("--set", f"{K2}.phase=1")[K2] == pytest.approx(4j * np.exp(1j))
        found = fitted("--set", f"{K2}.abs=3", "--set", f"{K2}.phase=0.5")
        assert (found[f"{K2}.abs"].start, found[f"{K2}.phase"].start) == pytest.approx((3, 0.5))

    def test_it_counts_before_the_fit_section(self, small):
        change(small, fit={"engine": "reference", "starts": 1, "fix": {MASS: 1.6, f"{K2}.im": 0.5}, "start": {f"{K2}.re": 9}})
        analysis = run("check", "model.yml", "--no-samples", "--json", "--set", f"{MASS}=1.65")
        assert {p["name"]: p["value"] for p in json.loads(analysis.stdout)["parameters"]}[MASS] == 1.65
        found = fitted("--set", f"{K2}.im=2", "--set", f"{K2}.re=4")
        assert found.fixed[f"{K2}.im"] == 2
        assert found[f"{K2}.re"].start == 4

    def test_the_truth_of_toys(self, small):
        change(
            small,
            parameters={"shift": {"value": 0.1}},
            resonances={"phi(1680)": {"in": "K+ K-"}, "phi(3)(1850)": {"in": "K+ K-", "mass": f"{MASS} + shift"}},
        )
        ended = run(
            "generate",
            "model.yml",
            "-n",
            "5",
            "-o",
            "toy.npz",
            "--json",
            "--set",
            "shift=0.2",
            "--set",
            f"{MASS}=1.7",
            "--set",
            f"{PHI3}=50j",
        )
        assert ended.exit_code == 0, ended.output
        said = json.loads(ended.stdout)
        assert said["parameters"]["phi(3)(1850).mass"] == pytest.approx(1.9)
        assert said["couplings"][PHI3] == [0, 50]
        assert said["changed"] == ["--set shift=0.2", f"--set {MASS}=1.7", f"--set {PHI3}=0+50j"]
        ended = run("generate", "model.yml", "-n", "5", "-o", "toy2.npz", "--without", "phi(3)(1850)")
        assert "changed on the command line: --without phi(3)(1850)" in ended.stdout

    def test_fractions_become_couplings(self, small):
        change(small, fractions={"phi(1680)": "50 %", "K(2)*(1430)": "30 %"})
        before, after = couplings(), couplings("--set", f"{K2}=1j")
        scale = before[PHI] / after[PHI]
        assert after[K2] == 1j * after[PHI]
        assert after[PHI3] * scale == pytest.approx(before[PHI3])

    def test_parameters_of_lineshapes_asymmetries_and_backgrounds(self, small):
        own = {"data": "data.npz", "phase_space": {"generate": 10}, "backgrounds": {"flat": {"density": "flat", "fraction": 0.1}}}
        content = {
            "decay": "D+ -> K- pi+ pi+",
            "resonances": {
                "NR0": {"in": "K- pi+", "JP": "0+", "lineshape": "exponential", "parameters": {"alpha": 0.4}},
                "K*(892)": {"in": "K- pi+"},
            },
            "cp": "K*(892)",
            "data_sets": {"a": own, "b": {**own, "conjugate": True}},
        }
        (small / "model.yml").write_text(yaml.safe_dump(content))
        found = values("--set", "NR0.alpha=0.7", "--set", "K*(892).delta.im=0.2")
        assert (found["NR0.alpha"], found["K*(892).delta.re"], found["K*(892).delta.im"]) == (0.7, 0, 0.2)
        shown = run("check", "model.yml", "--no-samples", "--set", "flat.fraction=0.25", "--float", "flat.fraction").stdout
        assert "25 %" in shown
        assert "floating 0 to 1" in shown
        assert "give a number from 0 to 1" in message(run("check", "model.yml", "--no-samples", "--set", "flat.fraction=2"))
        assert "it is free already" in message(run("check", "model.yml", "--no-samples", "--float", "K*(892).delta.im"))
        (small / "model.yml").write_text(yaml.safe_dump(content | {"fit": {"extended": True, "fix": {"a.flat.yield": 5}}}))
        shown = run("check", "model.yml", "--no-samples", "--float", "a.flat.yield").stdout
        assert re.search(r"a\.flat\.yield +10 % +floating > 0", shown)
        assert "it is free already" in message(run("check", "model.yml", "--no-samples", "--float", "b.flat.yield"))

    @pytest.mark.usefixtures("small")
    @pytest.mark.parametrize(
        ("option", "expected"),
        [
            ("phi(1680).mas=1.7", "did you mean 'phi(1680).mass'"),
            (MASS, "has no value; write NAME=VALUE"),
            (f"{MASS}=heavy", "'heavy' is not a number"),
            (f"{MASS}=nan", "is not finite"),
            (f"{MASS}=1+2j", "is complex; give a real number"),
            (f"{K2}.re=1+2j", "is complex; give a real number, or --set"),
            (f"{WIDTH}=-1", "with these options the model is wrong"),
            (f"{K2}.abs=1", "representation: polar"),
            (f"{PHI}.re=2", "the coupling is fixed to 1"),
            (f"{PHI}=2", "the coupling is fixed to 1"),
            ("=1", "has no name"),
        ],
    )
    def test_mistakes(self, option, expected):
        assert expected in message(run("check", "model.yml", "--no-samples", "--set", option))

    def test_formulas_and_ties(self, small):
        change(
            small,
            parameters={"shift": 0.1},
            resonances={"phi(1680)": {"in": "K+ K-"}, "phi(3)(1850)": {"in": "K+ K-", "mass": f"{MASS} + shift"}},
            fit={"ties": {PHI3: [PHI, 2]}},
        )
        assert f"it is {MASS} + shift; change the parameters that it is made of" in message(
            run("check", "model.yml", "--set", "phi(3)(1850).mass=2")
        )
        assert f"it is tied to '{PHI}'" in message(run("check", "model.yml", "--set", f"{PHI3}=2"))

    def test_numbers_of_vertices(self, small):
        change(small, fit={"engine": "reference", "starts": 1, "couplings": "vertex"})
        assert "couplings are products over vertices" in message(run("check", "model.yml", "--set", f"{K2}=2"))
        name = next(p.name for p in fitted(out="a.json").parameters if p.name.endswith(".re"))
        assert fitted("--set", f"{name}=3.5", out="b.json")[name].start == 3.5


class TestFloat:
    def test_parameters(self, small):
        fixed = {p["name"]: p["fixed"] for p in loaded("--float", MASS, "--float", WIDTH)["parameters"]}
        assert [name for name, own in fixed.items() if not own] == [MASS, WIDTH]
        change(small, fit={"fix": [f"{K2}.im"]})
        assert loaded("--float", f"{K2}.im")["free_parameters"] == loaded()["free_parameters"] + 1

    def test_what_the_file_fixes_floats_again(self, small):
        change(
            small,
            resonances={"phi(1680)": {"in": "K+ K-", "float": "mass"}, "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]}},
            fit={"fix": {MASS: 1.6}},
        )
        assert loaded("--float", MASS)["free_parameters"] == loaded()["free_parameters"] + 1
        change(
            small,
            parameters={"shift": 0.1},
            resonances={"phi(1680)": {"in": "K+ K-", "mass": "1.5 + shift"}, "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]}},
            fit={},
        )
        assert loaded("--float", "shift")["free_parameters"] == loaded()["free_parameters"] + 1

    @pytest.mark.usefixtures("small")
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["--float", "phi(1680).mas"], "did you mean 'phi(1680).mass'"),
            (["--float", f"{K2}.re"], "it is free already"),
            (["--float", f"{PHI}.re"], "the coupling is fixed to 1"),
            (["--float", K2], "unknown parameter"),
            (["--float", MASS, "--fix", MASS], "cannot both be fixed and float"),
            (["--float", MASS, "--float", MASS], "is there twice"),
            (["--set", f"{MASS}=1.7", "--fix", f"{MASS}=1.6"], "has two values"),
            (["--without", "phi(1680)", "--set", f"{MASS}=1.7"], "unknown parameter"),
            (["--without", "phi(1680)", "--float", MASS], "unknown parameter"),
            (["--set", f"{K2}.re=2", "--fix", "K3.re"], "--fix 'K3.re'"),
        ],
    )
    def test_mistakes(self, words, expected):
        assert expected in message(run("check", "model.yml", "--no-samples", *words))


class TestData:
    def test_other_files(self, small):
        (small / "sub").mkdir()
        data = np.load("data.npz")
        np.savez("sub/half.npz", **{name: own[: len(own) // 2] if own.ndim else own for name, own in data.items()})
        found = fitted("--data", "sub/half.npz", out="a.json")
        assert found.settings["changed"] == ["--data sub/half.npz"]
        assert found.n_events < fitted(out="b.json").n_events
        assert ctpwa.open_fit("a.json").read()[0].data.n_events == found.n_events
        both = fitted("--data", "sub/half.npz", "--data", "data.npz", out="c.json")
        assert both.n_events > found.n_events

    def test_the_model_file_is_elsewhere(self, small, monkeypatch):
        """Files of the command line are seen from the working directory, and results find them again."""
        (small / "models").mkdir()
        shutil.move("model.yml", "models/model.yml")
        shutil.copy("data.npz", "models/data.npz")
        shutil.copy("data.npz", "here.npz")
        ended = run("fit", "models/model.yml", "--data", "here.npz", "-o", "a.json")
        assert ended.exit_code in (0, 3), ended.output
        found = ctpwa.FitResult.load("a.json")
        assert found.model["samples"]["data"] == {"file": ["../here.npz"]}
        assert ctpwa.open_fit("a.json").read()[0].data.n_events == found.n_events

    def test_how_to_read_them_stays(self, small):
        change(small, samples={"data": {"file": "data.npz", "scale": 0.5}, "phase_space": {"generate": 100}})
        shutil.copy("data.npz", "other.npz")
        ended = run("check", "model.yml", "--data", "other.npz", "--json")
        assert json.loads(ended.stdout)["samples"][0]["weights"]["largest"] == 0.5
        assert "other.npz" in ended.stdout

    @pytest.mark.parametrize(
        ("own", "expected"),
        [
            (None, "the model file has no samples; add samples:"),
            ({"file": "data.npz", "weight_file": "w.txt"}, "has weight_file"),
            (["data.npz", {"file": "b.npz", "scale": 2.0}], "read in different ways"),
        ],
    )
    def test_mistakes(self, small, own, expected):
        data = yaml.safe_load((small / "model.yml").read_text())
        samples = {} if own is None else {"samples": {"data": own, "phase_space": {"generate": 9}}}
        (small / "model.yml").write_text(yaml.safe_dump({k: v for k, v in data.items() if k != "samples"} | samples))
        assert expected in message(run("check", "model.yml", "--data", "a.npz"))

    def test_several_data_sets(self, small):
        data = yaml.safe_load((small / "model.yml").read_text())
        del data["samples"]
        own = {"data": "data.npz", "phase_space": {"generate": 100}}
        (small / "model.yml").write_text(yaml.safe_dump(data | {"data_sets": {"a": own, "b": dict(own)}}))
        assert "has the data sets a, b; write NAME=FILE" in message(run("check", "model.yml", "--data", "x.npz"))
        assert "has the data sets a, b" in message(run("check", "model.yml", "--data", "c=x.npz"))
        shutil.copy("data.npz", "other.npz")
        samples = json.loads(run("check", "model.yml", "--data", "b=other.npz", "--json").stdout)["samples"]
        assert [file["path"] for sample in samples for file in sample["files"]] == ["data.npz", "other.npz"]


class TestResults:
    @pytest.mark.usefixtures("small")
    def test_a_result_says_what_was_changed_and_opens_again(self):
        words = ["--without", "phi(3)(1850)", "--set", f"{MASS}=1.7", "--float", WIDTH, "--fix", f"{K2}.im=2"]
        found = fitted(*words)
        line = f"changed on the command line: --without phi(3)(1850) --float {WIDTH} --set {MASS}=1.7 --fix {K2}.im=2"
        assert line in run("show", "model.result.json").stdout.splitlines()
        opened = ctpwa.open_fit("model.result.json")
        like = opened.analysis.likelihood()
        assert like.names == found.names
        assert WIDTH in like.names
        assert like.value(found.x) == pytest.approx(found.nll, rel=1e-13)
        assert found.fixed[MASS] == 1.7
        again = fitted(*words, "--resume")
        assert again.nll == pytest.approx(found.nll, abs=1e-6)
        ended = run("fit", "model.yml", "--resume")
        assert ended.exit_code == 1
        assert "was fitted to another model" in ended.stderr

    @pytest.mark.usefixtures("fitted")
    def test_a_value_counts_before_that_of_another_result(self):
        """The result of FLOATING; a mass that is set starts there, everything else where the other fit ended."""
        other = ctpwa.FitResult.load("model.result.json")
        found = fitted_from("--set", f"{MASS}=1.7")
        assert found[MASS].start == 1.7
        assert found[f"{K2}.re"].start == pytest.approx(other[f"{K2}.re"].value)

    @pytest.mark.usefixtures("fitted")
    def test_values_of_a_result_are_all_there_is_to_a_toy(self):
        for words in (["--set", f"{MASS}=1.7"], ["--without", "phi(1680)"]):
            ended = run("generate", "--from", "model.result.json", "-n", "5", "-o", "toy.npz", *words)
            assert f"--from gives all values: leave out {words[0]}" in message(ended)


def fitted_from(*words):
    ended = run("fit", "model.yml", "--from", "model.result.json", "-o", "other.json", *words)
    assert ended.exit_code in (0, 3), ended.output
    return ctpwa.FitResult.load("other.json")


@pytest.mark.usefixtures("small")
def test_mistakes_of_the_file_are_those_of_the_file():
    with open("model.yml", "a", encoding="utf-8") as file:
        file.write("foo: 1\n")
    ended = run("check", "model.yml", "--without", "phi(1680)")
    assert ended.exit_code == 1
    assert "unknown key 'foo'" in ended.stderr


class TestBegunNames:
    @pytest.mark.usefixtures("small")
    def test_resonances_parameters_and_couplings(self):
        assert {name.partition("[")[0] for name in couplings("--without", "K(2)*")} == {"phi(1680)", "phi(3)(1850)"}
        assert values("--set", "phi(16.mass=1.7")[MASS] == 1.7
        assert couplings("--set", "phi(3)=100")[PHI3] == 100
        assert "'phi' could be any of" in message(run("check", "model.yml", "--no-samples", "--without", "phi"))

    @pytest.mark.usefixtures("small")
    def test_a_value_counts_before_that_of_another_result(self):
        fitted(out="first.json")
        other = fitted("--from", "first.json", "--set", "phi(3)=100", out="second.json")
        starts = {p.name: p.start for p in other.parameters}
        assert (starts[f"{PHI3}.re"], starts[f"{PHI3}.im"]) == (100, 0)
        assert starts[f"{K2}.re"] == ctpwa.FitResult.load("first.json").values[f"{K2}.re"]

    def test_a_spin_and_parity_of_which_nothing_is_left(self, small):
        change(small, fractions={"1-": "50 %", "3-": "20 %", "2+": "30 %"})
        notes = " ".join(loaded("--without", "K(2)*(1430)")["notes"])
        assert "1- 71.4286 %, 3- 28.5714 %" in notes

    def test_other_fractions_grow(self, small):
        change(small, fractions={"phi(1680)": "50 %", "phi(3)(1850)": {"fraction": 0.2, "phase": 0.5}, "K(2)*(1430)": "30 %"})
        notes = " ".join(loaded("--without", "K(2)*(1430)")["notes"])
        assert "phi(1680) 71.4286 %, phi(3)(1850) 28.5714 %" in notes


@pytest.mark.parametrize("option", ["--fix", "--float"])
@pytest.mark.parametrize("command", [["generate", "model.yml", "-n", "9", "-o", "toy.npz"], ["show", "a.json"], ["report", "a.json"]])
def test_what_is_not_fitted_is_set(command, option):
    said = message(run(*command, option, MASS))
    assert "nothing is fitted here: give a value with --set NAME=VALUE" in said
    assert option not in run(command[0], "--help").stdout


def test_events_that_are_made_are_not_read():
    assert "--out names their file" in message(run("generate", "model.yml", "-n", "9", "-o", "toy.npz", "--data", "data.root"))
