"""Configurations of TF-PWA: intensities that it gave, the likelihood, what is fitted, and what is refused."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from typer.testing import CliRunner

import ctpwa
from ctpwa.base.errors import CtpwaError
from ctpwa.cli.main import app
from ctpwa.interchange import read_tfpwa

# ten configurations of its repository, restated; parameters, momenta and |A|² of a run of TF-PWA
CASES = json.loads((Path(__file__).parent / "tfpwa.json").read_text(encoding="utf-8"))


@pytest.fixture
def write(tmp_path):
    def write(config):
        path = tmp_path / "config.yml"
        path.write_text(config if isinstance(config, str) else yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        return path

    return write


def events(case):
    return {name: torch.tensor(p, dtype=torch.float64) for name, p in case["events"].items()}


@pytest.mark.parametrize("name", CASES)
def test_intensities_of_tf_pwa(write, name):
    case = CASES[name]
    model = read_tfpwa(write(case["config"]), case["params"]).model
    I = ctpwa.ModelIntensity(model, engine="reference")(events(case))
    np.testing.assert_allclose(I.numpy(), case["I"], rtol=1e-11)


def test_command_and_likelihood(write, tmp_path):
    """−ln L of the imported file, with its samples as TF-PWA writes them, is that of TF-PWA's intensities."""
    case = copy.deepcopy(CASES["tutorial"])
    order = case["config"]["data"]["dat_order"]
    rows = np.array([case["events"][name] for name in order]).transpose(1, 0, 2)
    (tmp_path / "data").mkdir()
    np.savetxt(tmp_path / "data" / "data.dat", rows[:4].reshape(-1, 4), fmt="%.17g")
    np.savetxt(tmp_path / "data" / "PHSP.dat", rows.reshape(-1, 4), fmt="%.17g")
    (tmp_path / "final_params.json").write_text(json.dumps({"value": case["params"], "error": {}}))
    out = tmp_path / "model.yml"
    command = ["import", str(write(case["config"])), "--params", str(tmp_path / "final_params.json"), "--out", str(out)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    likelihood = ctpwa.load_analysis(out).likelihood(engine="reference")
    I = np.array(case["I"])
    expected = -np.log(I[:4]).sum() + 4 * np.log(I.mean())
    assert likelihood.value(likelihood.start) == pytest.approx(expected, rel=1e-10)


def test_a_model_file_in_another_folder_finds_the_samples(write, tmp_path):
    (tmp_path / "models").mkdir()
    out = tmp_path / "models" / "model.yml"
    done = CliRunner().invoke(app, ["import", str(write(CASES["cfit"]["config"])), "--out", str(out)])
    assert done.exit_code == 0, done.output
    samples = yaml.safe_load(out.read_text(encoding="utf-8"))["samples"]
    assert samples["data"]["file"] == ["../toy_data/data.dat"]
    assert samples["phase_space"]["column_files"]["bg_value"] == ["../toy_data/phsp_bg_value.dat"]
    assert samples["backgrounds"]["bg"] == {"density": {"column": "bg_value", "efficiency": "eff_value"}, "fraction": 0.0909091}


def test_what_is_fitted(write):
    fit = read_tfpwa(write(CASES["constrained"]["config"]), CASES["constrained"]["params"]).content["fit"]
    assert fit["reference_wave"] == "R_BC[B C] (0,1)(0,1)"
    assert fit["constraints"] == {"R_BD.mass": [2.43, 0.01], "R_BC.mass": [4.16, 0.02]}
    assert set(fit["relations"]) == {"R_BD[B D] (0,1)(0,1).abs"}
    assert set(fit["fix"]) == {"R_CD[C D] (0,1)(0,1).abs"}
    linear = read_tfpwa(write(CASES["linear"]["config"]), CASES["linear"]["params"]).content
    assert linear["fit"]["relations"] == {"R_BD.mass": "1.0 * R_CD.mass + 0.01"}


def test_equated_magnitudes_are_those_of_tf_pwa(write):
    """|total| of two chains is one number in TF-PWA: the relation must hold for the couplings that were imported."""
    case = CASES["constrained"]
    imported = read_tfpwa(write(case["config"]), case["params"])
    couplings = {name: complex(*value) for name, value in imported.content["couplings"].items()}
    ((name, text),) = imported.content["fit"]["relations"].items()
    factor, other = text.split(" * ")
    assert abs(couplings[name.removesuffix(".abs")]) == pytest.approx(float(factor) * abs(couplings[other.removesuffix(".abs")]), rel=1e-12)


def test_a_mass_that_floats_moves_the_normalisation_of_barriers(write):
    """TF-PWA's barriers are 1 at nominal masses, whatever these are: the same couplings, another mass, and its formula written out."""
    case = copy.deepcopy(CASES["constrained"])
    imported = read_tfpwa(write(case["config"]), case["params"])
    moved = ctpwa.ModelIntensity(imported.model, parameters={"R_BD.mass": 2.5}, engine="reference")(events(case))
    case["config"]["particle"]["R_BD"]["m0"] = 2.5
    params = {**case["params"], "R_BD_mass": 2.5}
    again = ctpwa.ModelIntensity(read_tfpwa(write(case["config"]), params).model, engine="reference")(events(case))
    torch.testing.assert_close(moved, again, rtol=1e-12, atol=0)


def test_ranges_and_limits(write):
    config = copy.deepcopy(CASES["no_barriers"]["config"])
    config["particle"]["R_BC"] |= {"width_min": 0.01, "width_max": 0.2}
    config["constrains"]["var_range"] = {"R_BC_mass": [1.7, 1.9]}
    content = read_tfpwa(write(config), CASES["no_barriers"]["params"]).content
    assert content["fit"]["limits"] == {"R_BC.width": [0.01, 0.2], "R_BC.mass": [1.7, 1.9]}
    assert content["resonances"]["R_BC"]["float"] == ["mass", "width"]
    assert content["samples"]["resolution"] == {"rows": 100}
    assert content["samples"]["truth"]["file"] == ["data/phsp_plot.dat"]


def test_notes_say_what_was_left_out(write):
    notes = "\n".join(read_tfpwa(write(CASES["cfit"]["config"])).notes)
    for what in ("Σ w ln(ε/⟨ε⟩)", "center_mass", "no parameters were given"):
        assert what in notes
    assert "line 12: 'center_mass'" in notes


@pytest.mark.parametrize("value", [0.0, 1e-320, -1.0, 1e9])
def test_masses_of_parameters_are_checked(write, value):
    with pytest.raises(CtpwaError, match="the mass of 'R_BC' is"):
        read_tfpwa(write(CASES["tutorial"]["config"]), {**CASES["tutorial"]["params"], "R_BC_mass": value})


BASE = CASES["tutorial"]["config"]
WRONG = [
    (("data", "inmc"), ["x.dat"], "'inmc' of 'data' cannot be imported"),
    (("data", "dat_order"), ["B", "C"], "dat_order is"),
    (("data", "data"), [["a.dat"], ["b.dat"]], "not a list of files"),
    (("data", "model"), "cfit_all", "the likelihood 'cfit_all'"),
    (("decay", "A"), [["B", "C", "D"]], "decays to 3 particles"),
    (("decay", "A"), [["R_XX", "D"]], "there is no particle 'R_XX'"),
    (("decay", "R_BC"), ["B", "C", {"mass_dep": True}], "'mass_dep' of a decay"),
    (("decay", "R_BC"), ["B", "C", {"model": "gls-cpv"}], "the model 'gls-cpv'"),
    (("decay", "R_BC"), ["B", "B"], "a chain ends in"),
    (("decay", "R_BC"), ["R_BC", "C"], "decays into itself"),
    (("particle", "R_BC", "model"), "MLP", "the model 'MLP' of 'R_BC'"),
    (("particle", "R_BC", "J"), "3/4", "J of 'R_BC' is '3/4'"),
    (("particle", "R_BC", "P"), 2, "the parity of 'R_BC' is 2"),
    (("particle", "R_BC", "secret"), 1, "'secret' of 'R_BC'"),
    (("particle", "R_BC", "m0"), 3.9, "below threshold at nominal masses"),
    (("particle", "R_BC", "float"), "x", "float of 'R_BC'"),
    (("particle", "R_BC", "float"), [["m"]], "float of 'R_BC'"),
    (("particle", "$top", "A", "spins"), [5], "spins of 'A'"),
    (("particle", "$top", "A", "polarization"), "vector", "polarization 'vector'"),
    (("particle", "$include"), "nowhere.yml", "cannot read 'nowhere.yml'"),
    (("constrains", "pole"), 1, "'pole' of 'constrains'"),
    (("constrains", "var_equal"), [["A->R_BC.D_g_ls_1r", "A->R_BD.C_g_ls_1r"]], "the parameter"),
    (("constrains", "decay", "fix_chain_idx"), 7, "fix_chain_idx is 7"),
    (("constrains", "var_range"), {"R_BC_mass": [1.0, None]}, "is not a range"),
]


@pytest.mark.parametrize(("path", "value", "what"), WRONG, ids=[f"{'.'.join(path)}" for path, _, _ in WRONG])
def test_what_cannot_be_imported_is_refused_with_its_line(write, path, value, what):
    config = copy.deepcopy(BASE)
    holder = config
    for key in path[:-1]:
        holder = holder.setdefault(key, {})
    holder[path[-1]] = value
    with pytest.raises(CtpwaError, match=r"config\.yml:\d+:\d+: ") as caught:
        read_tfpwa(write(config))
    assert what in str(caught.value)
    assert "fix:" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "a: 1", "decay: {A: 1}\nparticle: 3", "!!python/object:os.system x", "decay: {}\nparticle: {}", "- 1"]
)
def test_other_files_are_refused(write, text):
    with pytest.raises(CtpwaError, match="fix:"):
        read_tfpwa(write(text))
