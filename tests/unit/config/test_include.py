"""``include``: parts of a model in files of their own, and where what is wrong stands."""

import os

import pytest
import yaml

import ctpwa
from ctpwa.base import ConfigError
from ctpwa.config.include import read_parts
from ctpwa.fitting.checkpoint import hash_of_model

BASE = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1680): {in: K+ K-, mass: 1.659, width: 0.164}
  phi(1020): {in: K+ K-}
fit: {starts: 5, seed: 3}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Writes files, and makes their folder the working directory."""

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / (name.replace("__", "/") + ".yml")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return write


def problem_of(path="model.yml"):
    with pytest.raises(ConfigError) as caught:
        ctpwa.load_model(path)
    (problem,) = caught.value.problems
    assert problem.fix
    return problem


def data(path="model.yml"):
    return read_parts(ctpwa.config.read.FilePath(path)).data


class TestMerge:
    def test_mappings_key_by_key_and_the_including_file_wins(self, files):
        files(
            base=BASE,
            model="include: base.yml\nresonances:\n  phi(1680): {mass: 1.7, float: mass}\n"
            "  NR3: {in: K+ K-, JP: 3-, lineshape: constant}\nfit: {starts: 7}\n",
        )
        found = data()
        assert found["decay"] == "J/psi(1S) -> K+ K- eta"
        assert found["resonances"]["phi(1680)"] == {"in": "K+ K-", "mass": 1.7, "width": 0.164, "float": "mass"}
        assert list(found["resonances"]) == ["phi(1680)", "NR3", "phi(1020)"]
        assert found["fit"] == {"starts": 7, "seed": 3}
        assert "include" not in found
        model = ctpwa.load_model("model.yml")
        assert model.resonances["phi(1680)"].parameters["mass"] == 1.7
        assert len(model.waves) == 3

    def test_lists_replace(self, files):
        files(
            base=BASE + "chains: [a, b]\nprojections: ['mass(K+, K-)', 'mass(K+, eta)']\n",
            model="include: base.yml\nchains: []\nprojections: ['mass(K-, eta)']\n",
        )
        assert (data()["chains"], data()["projections"]) == ([], ["mass(K-, eta)"])

    def test_a_later_part_counts_before_an_earlier_one(self, files):
        files(
            a="radius: 1.0\nmax_L: 4\nfit: {seed: 1, starts: 1}\n",
            b="radius: 2.0\nfit: {seed: 2}\n",
            base=BASE,
            model="include: [base.yml, a.yml, b.yml]\n",
        )
        assert (data()["radius"], data()["max_L"], data()["fit"]) == (2.0, 4, {"seed": 2, "starts": 1})

    def test_paths_are_relative_to_the_file_that_includes(self, files):
        files(parts__base="include: more/fit.yml\n" + BASE, parts__more="", model="include: parts/base.yml\n")
        (files() / "parts" / "more.yml").unlink()
        files(**{"parts__base": "include: fit.yml\n" + BASE, "parts__fit": "radius: 2.5\nmax_L: 4\nfit: {starts: 9, method: lbfgs}\n"})
        assert (data()["radius"], data()["fit"]) == (2.5, {"starts": 5, "seed": 3, "method": "lbfgs"})
        assert list(map(str, ctpwa.load_analysis("model.yml").included)) == ["parts/base.yml", "parts/fit.yml"]

    def test_what_is_no_mapping_on_one_side_is_taken_whole(self, files):
        files(
            base=BASE + "samples: {data: {file: a.root, weight: w}, phase_space: {generate: 100, seed: 4}}\n",
            model="include: base.yml\nsamples: {data: b.root, phase_space: {generate: 200}}\n",
        )
        assert data()["samples"] == {"data": "b.root", "phase_space": {"generate": 200, "seed": 4}}

    def test_the_same_model_in_one_file_has_the_same_hash(self, files):
        files(base=BASE, model="include: base.yml\nradius: 2.0\n", single=BASE + "radius: 2.0\n")
        parts, single = (ctpwa.load_analysis(name).description for name in ("model.yml", "single.yml"))
        assert parts == single
        assert hash_of_model(parts) == hash_of_model(single)
        files(base=BASE.replace("1.659", "1.66"))
        assert hash_of_model(ctpwa.load_analysis("model.yml").description) != hash_of_model(single)


class TestRemoved:
    def test_null_removes_what_an_included_file_says(self, files):
        files(
            base=BASE + "couplings: {'phi(1020)[K+ K-] (1,1)(1,0)': 2}\n",
            model="include: base.yml\nresonances:\n  phi(1020): null\n  phi(1680): {width: }\ncouplings: null\nfit: {seed: ~}\n",
        )
        assert data() == {
            "decay": "J/psi(1S) -> K+ K- eta",
            "polarisation": "transverse",
            "resonances": {"phi(1680)": {"in": "K+ K-", "mass": 1.659}},
            "fit": {"starts": 5},
        }
        assert [resonance.name for resonance in ctpwa.load_model("model.yml").resonances.values()] == ["phi(1680)"]

    def test_of_all_files_below(self, files):
        """Whether they are included by an included file or before another one; what counts more may say it again."""
        files(
            base="include: far.yml\n" + BASE,
            far="max_L: 3\nresonances: {phi(1020): {mass: 1.02}}\n",
            cut="resonances: {phi(1020): null}\nmax_L: null\n",
            model="include: [base.yml, cut.yml]\n",
        )
        assert (data().get("max_L"), list(data()["resonances"])) == (None, ["phi(1680)"])
        files(model="include: [base.yml, cut.yml]\nmax_L: 2\n")
        assert data()["max_L"] == 2

    def test_not_where_null_is_a_value(self, files):
        files(
            base=BASE.replace("seed: 3", "seed: 3, fix: {phi(1680).mass: 1.7}"),
            model="include: base.yml\nfit: {fix: {phi(1680).mass: null}}\nradius: 3.0\nmax_L: null\n",
        )
        assert data()["fit"]["fix"] == {"phi(1680).mass": None}
        assert ctpwa.load_model("model.yml").notes is not None, "max_L: null is legal where nothing is removed"

    def test_what_removes_nothing_is_an_error(self, files):
        files(base=BASE, model="include: base.yml\nresonances:\n  phi(1860): null\n")
        problem = problem_of()
        assert problem.location == "model.yml:3:3"
        assert problem.what == "null removes a key of an included file, and none has 'resonances.phi(1860)'"
        assert problem.fix == "did you mean 'phi(1680)' or 'phi(1020)'?"

    def test_what_still_needs_it_says_who_removed_it(self, files):
        name = "phi(1020)[K+ K-] (1,1)(1,0)"
        files(base=BASE + f"couplings: {{'{name}': 2}}\n", model="include: base.yml\nresonances: {phi(1020): null}\n")
        problem = problem_of()
        assert problem.location.startswith("base.yml:7:")
        assert problem.fix.endswith("; model.yml removes 'resonances.phi(1020)'")


class TestPlaces:
    def test_each_problem_is_placed_in_its_own_file(self, files):
        files(
            base=BASE.replace("width: 0.164", "width: wide"),
            model="include: base.yml\nresonances:\n  phi(1680): {mass: 1.7, foo: 1}\nunknown: 3\n",
        )
        with pytest.raises(ConfigError) as caught:
            ctpwa.load_model("model.yml")
        found = [(problem.location, problem.what) for problem in caught.value.problems]
        assert found[:2] == [("model.yml:3:26", "unknown key 'foo'"), ("model.yml:4:1", "unknown key 'unknown'")]
        assert len(found) == 2  # 'wide' is a formula as far as types go
        files(model="include: base.yml\nresonances:\n  phi(1680): {mass: 1.7}\n")
        problem = problem_of()
        assert (problem.location, problem.path) == ("base.yml:4:46", ("resonances", "phi(1680)", "width"))
        assert problem.excerpt.startswith("    4 |   phi(1680): {in: K+ K-, mass: 1.659, width: wide}")

    def test_physics(self, files):
        files(base=BASE.replace("phi(1020): {in: K+ K-}", "X: {in: K+ K-, JP: 1+, mass: 1.5, width: 0.1}"), model="include: base.yml\n")
        assert problem_of().location == "base.yml:5:22"

    def test_a_key_that_is_missing_everywhere(self, files):
        files(base="resonances: {phi(1020): {in: K+ K-}}\n", model="include: base.yml\nradius: 3.0\n")
        assert problem_of().location.startswith("model.yml:")

    def test_syntax_and_duplicates(self, files):
        files(base="decay: [\n", model="include: base.yml\n")
        assert problem_of().location == "base.yml:2:1"
        files(base="radius: 1.0\nradius: 2.0\n")
        assert problem_of().location == "base.yml:2:1"


@pytest.mark.parametrize(
    ("model", "base", "location", "what", "fix"),
    [
        ("include: [base.yml, no.yml]\n", BASE, "model.yml:1:21", "cannot read model file 'no.yml'", "relative to model.yml"),
        ("include: no.yml\n", BASE, "model.yml:1:10", "No such file", "correct the path"),
        ("include: 3\n", BASE, "model.yml:1:10", "3 is not what 'include' holds", "write the name of a YAML file"),
        ("include: [base.yml, 3]\n", BASE, "model.yml:1:10", "is not what 'include' holds", "or a list"),
        ("include: {base.yml: 1}\n", BASE, "model.yml:1:10", "is not what 'include' holds", "or a list"),
        ("include: ''\n", BASE, "model.yml:1:10", "'' is not what 'include' holds", "or a list"),
        ("include: .\n", BASE, "model.yml:1:10", "it is a folder", "correct the path"),
        ("include: model.yml\n", BASE, "model.yml:1:10", "files include each other: model.yml -> model.yml", "remove one"),
        ("include: base.yml\n", "include: model.yml\n", "base.yml:1:10", "model.yml -> base.yml -> model.yml", "remove one"),
        ("include: base.yml\n", "[1, 2]\n", "base.yml:1:1", "a part of a model is a mapping", "keys of a model file"),
        ("include: base.yml\n", "# nothing\n", "base.yml", "the file is empty", "start with"),
        ("include: base.yml\n", BASE + "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
            f"{name}: &{name} [{', '.join([f'*{last}'] * 9)}]\n" for last, name in zip("abcdefg", "bcdefgh", strict=True)
        ), "base.yml:11:16", "more than 30000 values", "aliases"),
    ],
)  # fmt: skip
def test_mistakes(files, model, base, location, what, fix):
    files(model=model, base=base)
    problem = problem_of()
    assert problem.location == location
    assert what in problem.what
    assert fix in problem.fix


class TestLimits:
    def test_files(self, files):
        """Every part includes the next one twice: a million files if nobody counted."""
        files(
            **{f"p{i}": f"include: [p{i + 1}.yml, p{i + 1}.yml]\n" for i in range(20)},
            p20="radius: 1.0\n",
            model="include: p0.yml\n" + BASE,
        )
        problem = problem_of()
        assert "more than 20 files are included" in problem.what
        assert problem.location.endswith(".yml:1:20") or problem.location.endswith(".yml:1:11")

    def test_values_of_all_parts_together(self, files):
        many = "fit: {start: {" + ", ".join(f"a%d.{i}: 1" for i in range(4000)) + "}}\n"
        files(
            **{f"p{k}": many.replace("%d", str(k)) for k in range(5)},
            model=f"include: [{', '.join(f'p{k}.yml' for k in range(5))}]\n" + BASE,
        )
        assert "more than 30000 values" in problem_of().what

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
    def test_a_pipe_is_not_opened(self, files):
        os.mkfifo(files(model="include: pipe\n" + BASE) / "pipe")
        assert "it is a pipe" in problem_of().what

    def test_a_mapping_includes_nothing(self, files):
        """The model of a result that somebody sent must not read files."""
        files(base=BASE)
        with pytest.raises(ConfigError, match="a mapping cannot include files"):
            ctpwa.load_model(yaml.safe_load(BASE) | {"include": "base.yml"})


def test_a_part_is_not_overwritten(files):
    from typer.testing import CliRunner

    from ctpwa.cli.main import app

    folder = files(base=BASE, model="include: base.yml\n")
    os.link(folder / "base.yml", folder / "toy.npz")
    ended = CliRunner().invoke(app, ["generate", "model.yml", "-n", "5", "-o", "toy.npz", "--force", "--phase-space"])
    assert ended.exit_code == 1
    assert (folder / "base.yml").read_text() == BASE
