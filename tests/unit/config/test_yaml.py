"""Files that cannot be read, YAML that is not valid, and names that occur twice."""

import numpy as np
import pytest

from ctpwa import load_model
from ctpwa.base import ConfigError
from unit.config.refusals import refusals

DECAY = "decay: J/psi(1S) -> K+ K- eta\n"


def test_missing_file(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot read model file '.*nowhere\.yml': No such file") as caught:
        load_model(tmp_path / "nowhere.yml")
    assert caught.value.problems[0].fix


def test_folder_instead_of_file(tmp_path):
    with pytest.raises(ConfigError, match="it is a folder"):
        load_model(tmp_path)


def test_file_that_is_not_text(tmp_path):
    (tmp_path / "model.yml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        load_model(tmp_path / "model.yml")


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"root\x00\x00\xf7", "a ROOT file"),
        (b"PAR1\x15", "a Parquet file"),
        (b"PK\x03\x04-", "an npz file"),
        (b'{\n "schema": 3,', "the result of a fit"),
    ],
)
def test_another_file_of_an_analysis(tmp_path, start, what):
    (tmp_path / "model.yml").write_bytes(start)
    with pytest.raises(ConfigError, match=f"it is {what}\n fix: .*give"):
        load_model(tmp_path / "model.yml")


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n"])
def test_empty_file(problems, text):
    (problem,) = problems(text)
    assert problem.what == "the file is empty"
    assert problem.location == "model.yml"
    assert "decay: J/psi(1S) -> K+ K- eta" in problem.fix


test_invalid_yaml = refusals(
    lambda text: text,
    [
        ("decay: [J/psi\n", "1:8", "has no end", "close the bracket"),
        (DECAY + "resonances: {phi(1020): {in: K+ K-}\n", "2:13", "has no end", "close the bracket"),
        (DECAY + 'formalism: "canonical\n', "2:12", "has no end", "close the bracket, brace or quote"),
        (DECAY + "resonances:\n\tphi(1020): {in: K+ K-}\n", "3:1", "'\\t'", "spaces, not with tabs"),
        ("decay: J/psi -> g: gamma pi0\n", "1:18", "mapping values are not allowed", "quote text"),
        (DECAY + "---\ndecay: again\n", "2:1", "another document", "remove the line ---"),
        ("decay: !!python/name:os.system x\n", "1:8", "constructor for the tag", "remove the tag"),
        ("? [a, b]\n: 1\n", "1:3", "unhashable key", "plain text"),
        (DECAY + "resonances:\n    phi(1020): {in: K+ K-}\n  rho(770): {}\n", "4:3", "expected <block end>", "same indentation"),
        (DECAY + "resonances:\n  a: {in: K+ K-\n  b: {in: K+ K-}\n", "3:6", "has no end", "close the bracket or brace"),
        ("decay: J/psi -> K+ K- eta\npolarisation transverse\nresonances:\n  a: 1\n", "3:1", "could not find expected ':'", "key: value"),
        (DECAY + "radius: *other\n", "2:9", "undefined alias", "&name"),
    ],
)


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        (DECAY + "resonances:\n  phi(1020): {in: K+ K-}\n  phi(1020): {in: K+ K-}\n", "4:3", "'phi(1020)', first used in line 3"),
        (DECAY + "radius: 3.0\nradius: 5.0\n", "3:1", "'radius', first used in line 2"),
        (DECAY + "resonances:\n  phi(1020): {in: K+ K-, mass: 1, mass: 2}\n", "3:35", "'mass', first used in line 3"),
        (DECAY + "chains:\n  - {decay: x, tie: true, tie: false}\n", "3:27", "'tie', first used in line 3"),
    ],
)
def test_duplicated_keys(refused, text, where, what):
    refused(text, where, f"duplicated name {what}", "rename or remove")


def test_two_spellings_of_one_name(refused):
    text = "decay: J/psi(1S) -> gamma pi0 pi0\nresonances:\n  f(0)(980): {in: pi0 pi0}\n  f_0(980): {in: pi0 pi0}\n"
    refused(text, "4:3", "'f_0(980)' and 'f(0)(980)' are two spellings of one name", "rename or remove")


def test_all_duplicates_are_reported_together(problems):
    assert len(problems(DECAY + "radius: 3\nradius: 4\nmax_L: 1\nmax_L: 2\n")) == 2


@pytest.mark.parametrize(("text", "shown"), [("hello\n", "'hello'"), ("- a\n- b\n", "['a', 'b']"), ("3\n", "3")])
def test_a_model_is_a_mapping(refused, text, shown):
    refused(text, "1:1", f"a model is a mapping of keys, not {shown}", "start with: decay:")


def test_a_mapping_gives_the_same_model_as_a_file(load):
    text = DECAY + "polarisation: transverse\nresonances: {phi(1020): {in: K+ K-}}\n"
    data = {"decay": "J/psi(1S) -> K+ K- eta", "polarisation": "transverse", "resonances": {"phi(1020)": {"in": ("K+ K-",)}}}
    assert str(load(text)) == str(load_model(data))


def test_errors_in_a_mapping_have_a_path_but_no_line():
    with pytest.raises(ConfigError) as caught:
        load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-", "mass": "1 ton"}}})
    assert str(caught.value).splitlines()[:2] == ["'mass' must be a number, not '1 ton'", "  at: resonances.phi(1020).mass"]


def test_a_mapping_may_hold_arrays_and_complex_numbers():
    rho = np.array([[0.5, 0, 0.1j], [0, 0, 0], [-0.1j, 0, 0.5]])
    model = load_model({"decay": "J/psi(1S) -> K+ K- eta", "polarisation": rho, "resonances": {"phi(1020)": {"in": "K+ K-"}}})
    np.testing.assert_array_equal(model.production.rho, rho)
