"""Files of variations: what they may say, and what is wrong with them, with file and line."""

import pytest
import yaml

from ctpwa.base.errors import ConfigError
from ctpwa.config.merged import merged, moved
from ctpwa.config.read import load_document
from ctpwa.config.variations import VariedFit, read_variations

MODEL = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "resonances": {
        "phi(1680)": {"in": "K+ K-", "mass": 1.68, "width": 0.15, "float": ["mass"]},
        "phi(3)(1850)": {"in": "K+ K-"},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]},
    },
    "samples": {"data": {"file": "data.root", "tree": "t"}, "phase_space": {"generate": 1000, "seed": 1}},
    "fit": {"fix": ["phi(3)(1850).mass"]},
}
FIXED = {"phi(1680).width": 0.15, "phi(3)(1850).mass": 1.854}


@pytest.fixture(scope="module")
def of():
    return VariedFit(load_document(MODEL), FIXED, ("phi(1680).mass",), ("auto", "cpu"))


def read(of, folder, text):
    (folder / "v.yml").write_text(text, encoding="utf-8")
    return read_variations(folder / "v.yml", of)


def test_what_a_file_may_say(of, tmp_path):
    text = """
- {name: radius, radius: 4.0, group: barrier}
- {name: width, shift: {phi(1680).width: 0.02}}
- name: both
  samples: {phase_space: {seed: 2}}
  up: {radius: 4}
  down: {radius: 2}
- {name: fewer, data: ../cut.root, scatter: independent}
- {name: fix, fit: {fix: {phi(1680).mass: 1.7}}}
"""
    radius, width, both, fewer, fix = read(of, tmp_path, text)
    assert (radius.name, radius.group, radius.scatter, len(radius.sides)) == ("radius", "barrier", "", 1)
    assert radius.sides[0].document.spec.radius == 4.0
    assert [side.sign for side in width.sides] == ["up", "down"]
    assert [side.document.spec.resonances["phi(1680)"].width for side in width.sides] == pytest.approx([0.17, 0.13])
    assert [side.document.spec.radius for side in both.sides] == [4, 2]
    assert {side.document.spec.samples.phase_space[0].seed for side in both.sides} == {2}
    (sample,) = fewer.sides[0].document.spec.samples.data
    assert (sample.file, sample.tree) == ([str(tmp_path.parent / "cut.root")], "t")  # read as the file before
    assert fix.sides[0].document.spec.fit.fix == {"phi(3)(1850).mass": None, "phi(1680).mass": 1.7}


@pytest.mark.parametrize(
    ("text", "line", "what", "fix"),
    [
        ("- {name: a, radius: -5.0}", 1, "variation 'a': 'radius' is -5.0", "it must be a number >= 0.001"),
        (
            "- name: a\n  shift: {phi(1680).widt: 0.1}",
            2,
            "the fit has no fixed parameter 'phi(1680).widt'",
            "did you mean 'phi(1680).width'",
        ),
        ("- name: a\n  shift: {phi(1680).mass: 0.1}", 2, "'phi(1680).mass' floats in the fit", "leave it out, or fix it"),
        ("- name: a\n  shift: {phi(1680).width: -1}", 2, "the error of 'phi(1680).width' is -1", "write a number above 0"),
        ("- name: a\n  shift: {phi(1680).width: .nan}", 2, "the error of 'phi(1680).width' is nan", "write a number above 0"),
        ("- name: a\n  shift: 3", 2, "'shift' must be a mapping", "write  shift:"),
        ("- name: a\n  shift: {phi(1680).width: 0.2}", 1, "the model is wrong", ""),
        ("- name: a\n  set: {phi(1680).mass: 1.7}", 2, "'phi(1680).mass' floats in the fit", "leave it out, or fix it"),
        ("- name: a\n  set: {phi(1680).width: wide}", 2, "'wide' is not a number", "write a number"),
        ("- name: a\n  set: {phi(1680).g: 1}", 2, "set 'phi(1680).g'", "did you mean"),
        ("- name: a\n  up: {radius: 4}", 2, "'up' without 'down'", "add  down: …"),
        ("- name: a\n  up: {radius: 4}\n  down: {radiu: 4}", 3, "unknown key 'radiu'", "did you mean 'radius'?"),
        ("- name: a\n  up: {radius: 4}\n  down: {radius: no}", 3, "'radius' must be a number", "write a number"),
        ("- name: a\n  up: {radius: 4}\n  down: 4", 3, "'down' must be a mapping", "write  down:"),
        ("- name: a\n  shift: {phi(1680).width: 0.1}\n  up: {radius: 4}", 2, "'shift' next to 'up'", "make two variations"),
        ("- name: a\n  lineshape: {phi(1680): flate}", 2, "unknown lineshape 'flate'", "did you mean 'flatte'?"),
        ("- name: a\n  lineshape: {phi(9): flatte}", 2, "the model has no resonance 'phi(9)'", "did you mean 'phi(1680)'?"),
        ("- name: a\n  lineshape: flatte", 2, "'lineshape' must be a mapping of resonances", "write  lineshape:"),
        ("- name: a\n  add:\n    f(0)(980): {in: K+ X-}", 3, "'X-' is not a final particle", "known: K+, K-, eta."),
        ("- name: a\n  add: {phi3(1850): {in: K+ K-}}", 2, "the model has 'phi(3)(1850)' already", "change it with  resonances:"),
        ("- name: a\n  resonances: {phi(1680): {masss: 1}}", 2, "unknown key 'masss'", "did you mean 'mass'?"),
        ("- name: a\n  without: phi(9)", 2, "without 'phi(9)': the model has no such resonance", "did you mean"),
        ("- name: a\n  without: {phi(1680): 1}", 2, "'without' is not a name or a list of names", "write  without:"),
        ("- name: a\n  samples: {phase_space: {seeds: 9}}", 2, "unknown key 'seeds'", "did you mean 'seed'?"),
        ("- name: a\n  data_sets: {b: {data: x.root}}", 2, "the model has no 'data_sets'", "write  samples: …"),
        ("- name: a\n  data: 7", 2, "'data' is not a file", "write  data: other.root"),
        ("- name: a\n  model: nothing.yml", 2, "cannot read model file", "give the path of a YAML file"),
        ("- name: a\n  model: 7", 2, "7 is not a model file", "write the path"),
        ("- name: a\n  fit: {engine: quantum}", 2, "quantum", "cpu"),
        ("- {name: a, radius: 3.0}", 1, "it changes nothing: the fit says the same", "change a value, or remove it"),
        ("- {name: a}", 1, "it changes nothing", "say what"),
        ("- {radius: 4}", 1, "the variation has no name", "add  name: …"),
        ("- {name: 7, radius: 4}", 1, "the name 7 is not text", "quote it: '7'"),
        ("- {name: a, radius: 4, group: 7}", 1, "the group 7 is not text", "quote it: '7'"),
        ("- {name: a, radius: 4, scatter: much}", 1, "'much' is not a value of 'scatter'", "write subset, independent, none"),
        ("- {name: a, radius: 4}\n- {name: a, radius: 5}", 2, "two variations are named 'a'", "rename one of them"),
        ("- {name: a, colour: red}", 1, "unknown key 'colour'", ""),
        ("- radius", 1, "a variation is a mapping of keys", "write  - {name: radius"),
        ("name: a", 1, "variations are a list with one entry each", "write  - {name: radius"),
        ("- {name: a", 1, "not valid YAML", "close the bracket"),
    ],
)
def test_one_message_with_its_place(of, tmp_path, text, line, what, fix):
    with pytest.raises(ConfigError) as caught:
        read(of, tmp_path, text)
    (problem,) = caught.value.problems
    assert what in problem.what
    assert fix in problem.fix
    assert problem.location.startswith(f"{tmp_path / 'v.yml'}:{line}:")


def test_all_problems_together_and_without_a_file(of):
    with pytest.raises(ConfigError) as caught:
        read_variations([{"name": "a", "radius": -1}, {"name": "b", "radius": 4.0}, {"radius": 2.0}], of)
    assert [problem.path for problem in caught.value.problems] == [(0, "radius"), (2, "name")]


def test_files_that_cannot_be_read(of, tmp_path):
    for name, what in (("nothing.yml", "cannot read file of variations"), ("", "it is a folder")):
        with pytest.raises(ConfigError, match=what):
            read_variations(tmp_path / name, of)
    with pytest.raises(ConfigError, match=r"the file is empty\n fix: start with: - \{name: radius"):
        read(of, tmp_path, "")


def test_a_model_file_with_a_problem_of_its_own(of, tmp_path):
    (tmp_path / "m.yml").write_text(yaml.safe_dump({**MODEL, "radius": -1}))
    with pytest.raises(ConfigError, match=r"m.yml:\d+:\d+: variation 'a': 'radius' is -1"):
        read(of, tmp_path, "- {name: a, model: m.yml}")


def test_merging():
    new = merged(
        MODEL,
        {
            "radius": 4.0,
            "resonances": {"phi(1680)": {"width": 0.2, "float": None}, "phi3(1850)": {"mass": 1.9}},
            "add": {"f(0)(980)": {"in": "K+ K-"}},
        },
    )
    assert new["resonances"]["phi(1680)"] == {"in": "K+ K-", "mass": 1.68, "width": 0.2}
    assert new["resonances"]["phi(3)(1850)"] == {"in": "K+ K-", "mass": 1.9}
    assert [*new["resonances"]] == [*MODEL["resonances"], "f(0)(980)"]
    assert MODEL["resonances"]["phi(1680)"]["width"] == 0.15
    sample = merged(MODEL, {"samples": {"phase_space": {"efficiency": "mass(K+, K-)"}}})["samples"]
    assert sample["phase_space"] == {"generate": 1000, "seed": 1, "efficiency": "mass(K+, K-)"}
    assert merged(MODEL, {"samples": {"phase_space": "mc.root"}})["samples"]["phase_space"] == {"file": "mc.root"}
    assert merged(MODEL, {"samples": {"data": ["a.root", "b.root"]}})["samples"]["data"] == {"file": ["a.root", "b.root"], "tree": "t"}
    shape = merged({"resonances": {"a": {"in": "x", "lineshape": "flatte", "options": {}}}}, {"lineshape": {"a": "breit_wigner"}})
    assert shape["resonances"]["a"] == {"in": "x", "lineshape": "breit_wigner"}


def test_paths_are_relative_to_the_file_of_variations(tmp_path):
    old, new = tmp_path / "a", tmp_path / "b"
    given = {
        "data": "x.root",
        "phase_space": [{"file": "/y.root", "columns": {"data": "z"}}],
        "backgrounds": {"s": {"density": {"histogram": "h.json"}}},
    }
    assert moved(given, old, new) == {
        "data": "../a/x.root",
        "phase_space": [{"file": "/y.root", "columns": {"data": "z"}}],
        "backgrounds": {"s": {"density": {"histogram": "../a/h.json"}}},
    }
    assert moved(given, old, old) == given
