"""Files and mappings that are meant to hang, crash or steer a program: one message each, with the place, and nothing else happens."""

import os

import numpy as np
import pytest
import yaml

from ctpwa import load_model
from ctpwa.base import ConfigError
from ctpwa.base.errors import CtpwaError
from ctpwa.config.build import build_model
from ctpwa.config.limits import ModelLimits
from ctpwa.config.validate import validate
from ctpwa.fitting.points import start_points

DECAY = "decay: J/psi(1S) -> K+ K- eta\n"
PHI = DECAY + "resonances:\n  phi(1020): {in: K+ K-}\n"
BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{last}'] * 9)}]\n" for last, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{last}'] * 9)}]}}\n" for last, name in zip("abcdefgh", "bcdefghi", strict=True)
)
THREE = DECAY + "resonances:\n" + "".join(f"  X{i}: {{in: K+ K-, JP: 1-, mass: 1.{i}, width: 0.1}}\n" for i in range(3))
LONG_CHAIN = " ; ".join(f"Y{i} -> Y{i + 1} Y{i + 1}" for i in range(500))
MANY_EDGES = ", ".join(f"{1 + i / 1e4:.4f}" for i in range(302))


def phi(more):
    return DECAY + f"resonances:\n  phi(1020): {{in: K+ K-, {more}}}\n"


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        (BOMB, "5:16", "more than 30000 values, with aliases written out"),
        (MERGES, "6:13", "more than 30000 values, with aliases written out"),
        (PHI + "chains: &a [*a]\n", "4:13", "the alias *a is inside what it repeats"),
        (PHI + "fit: &a {start: *a}\n", "4:17", "the alias *a is inside what it repeats"),
        (PHI + "fit: &a {<<: *a}\n", "4:14", "the alias *a is inside what it repeats"),
        (PHI + "chains: " + "[" * 1000 + "]" * 1000 + "\n", "4:39", "nested deeper than 30 levels"),
        (PHI + "chains:\n" + "- " * 300 + "a\n", "5:61", "nested deeper than 30 levels"),
        (PHI + "fit: {device: " + "x" * 20_000 + "}\n", "4:15", "a text of 20000 characters"),
        (phi("mass: " + "9" * 5000), "3:32", "cannot read '999"),
        (PHI + "fit: {seed: " + "9" * 400 + "}\n", "4:13", "a whole number of too many digits"),
        (PHI + "fit: {seed: 0x" + "f" * 400 + "}\n", "4:13", "a whole number of too many digits"),
        (phi("mass: !!int foo"), "3:32", "cannot read 'foo' as a whole number"),
        (phi("mass: !!int ''"), "3:32", "cannot read '' as a whole number"),
        (phi("mass: !!float bar"), "3:32", "cannot read 'bar' as a number"),
        (phi("mass: !!bool baz"), "3:32", "cannot read 'baz' as true or false"),
        (phi("mass: !!timestamp foo"), "3:32", "cannot read 'foo' as a date"),
        (phi("mass: 2001-02-30"), "3:32", "cannot read '2001-02-30' as a date"),
        (phi("mass: 0x_"), "3:32", "cannot read '0x_' as a whole number"),
        (PHI + "\0: 1\n", "4:1", "the character U+0000 is not allowed"),
        (PHI + "\x1b[31m: 1\n", "4:1", "the character U+001B is not allowed"),
        (PHI + '"\\ud800": 1\n', "4:1", "the surrogate character U+D800"),
        (phi('latex: "\\e[31m"'), "3:33", "the control character U+001B"),
        (DECAY + 'resonances:\n  "X\\nY": {in: K+ K-}\n', "3:3", "the control character U+000A"),
        (DECAY + 'resonances:\n  "X\\u202e": {in: K+ K-}\n', "3:3", "the invisible character U+202E"),
        (DECAY + 'resonances:\n  "": {in: K+ K-, JP: 1-, mass: 1.5, width: 0.1}\n', "3:3", "the name '' of one of the resonances is blank"),
        (DECAY + f"resonances:\n  {'X' * 101}: {{in: K+ K-}}\n", "3:3", "has 101 characters"),
        (f"decay: {'X' * 101} -> K+ K-\n", "1:8", "the name of a particle has 101 characters"),
        (f"decay: X -> {'K+ ' * 1000}\n", "1:8", "there are more than 24 final particles"),
        (phi(f"JP: {'9' * 3000}-"), "3:30", "J = 999999999999… is too large"),
        (phi("JP: 99-"), "3:30", "J = 99 is too large"),
        (phi("JP: 21/2-"), "3:30", "J = 21/2 is too large"),
        (phi("radius: 1.0e+300"), "3:34", "'radius' is 1e+300"),
        (PHI + "radius: 1.0e-300\n", "4:9", "'radius' is 1e-300"),
        (phi("mass: 1.0e+300, width: 1.0, off_shell: true"), "3:32", "'mass' is 1e+300"),
        (phi("mass: 1.0e-300, width: 1.0, off_shell: true"), "3:32", "'mass' is 1e-300"),
        (PHI + "particles: {X: {JP: 1-, mass: 1.5, charge: 1000000000000}}\n", "4:44", "'charge' is 1000000000000"),
        (phi("lineshape: exponential, parameters: {alpha: .nan}"), "3:70", "'alpha' is nan"),
        (phi("lineshape: exponential, parameters: {alpha: .inf}"), "3:70", "'alpha' is inf"),
        (PHI + "fit: {starts: 1000000000000000}\n", "4:15", "'starts' is 1000000000000000"),
        (PHI + "fit: {seed: 9223372036854775808}\n", "4:13", "a whole number of too many digits"),
        (phi("decay_ls: [[1, 1e999999999]]"), "3:36", "[1, 1e999999999] is not an (L, S) pair"),
        (phi("decay_ls: [[.inf, 0]]"), "3:36", "[inf, 0] is not an (L, S) pair"),
        (phi("lineshape: 'cosh(" * 1 + "cosh(" * 19 + "s" + ")" * 20 + "'"), "3:37", "more than 5000 terms"),
        (phi("lineshape: '" + "9" * 1900 + "'"), "3:37", "is too large"),
        (phi("lineshape: 9**9**9"), "3:37", "exponent 387420489 is too large"),
        (phi("lineshape: s.__class__"), "3:37", "'s.__class__' is not allowed"),
        (DECAY + "chains:\n  - " + LONG_CHAIN + "\n", "3:5", "the chain has 500 vertices"),
        (phi("lineshape: step, options: {edges: [" + MANY_EDGES + "]}"), "3:52", "has 302 entries"),
        (phi("lineshape: step, options: {edges: [1.0, 1.0000000001]}"), "3:52", "has masses closer than 1e-06 GeV"),
        (phi("lineshape: step, options: {edges: [0.1, 0.2, 1.3, 30]}"), "3:52", "has bin_1 where no event can be"),
        (phi("lineshape: spline, options: {knots: [1.0, 1.2, 1.4, 10, 20, 30]}"), "3:54", "has knot_5, knot_6 where no event can be"),
    ],
    ids=lambda value: value if len(value) < 60 and "\n" not in value and value.isprintable() else "",
)  # fmt: skip
def test_one_message_with_its_place(problems, text, where, what):
    (problem,) = problems(text)
    assert what in problem.what
    assert problem.location == f"model.yml:{where}"
    assert problem.fix
    message = str(problem)
    assert len(message) < 3000
    assert all(character.isprintable() or character == "\n" for character in message)


def test_an_alias_inside_what_it_repeats_comes_with_advice(tmp_path):
    (tmp_path / "model.yml").write_text(PHI + "chains: &a [*a]\n")
    with pytest.raises(ConfigError, match="fix: write the value out instead of repeating it"):
        load_model(tmp_path / "model.yml")


@pytest.mark.parametrize("members", [1, 2, 3])
def test_ties_in_a_ring(problems, members):
    text = THREE + "fit:\n  ties:\n"
    names = [f"X{i}[K+ K-] (1,1)(1,0)" for i in range(members)]
    text += "".join(f'    "{name}": ["{other}", -1]\n' for name, other in zip(names, [*names[1:], names[0]], strict=True))
    (problem,) = problems(text)
    assert "couplings are tied in a circle" in problem.what
    assert problem.path == ("fit", "ties")


def test_ties_of_all_couplings(problems):
    (problem,) = problems(PHI + 'fit: {ties: {"phi(1020)[K+ K-] (1,1)(1,0)": ["phi(1020)[K+ K-] (1,1)(1,0)", 2]}}\n')
    assert "couplings are tied in a circle" in problem.what


def test_factors_of_ties_that_overflow(problems):
    text = THREE + "fit:\n  ties:\n"
    text += "".join(f'    "X{i}[K+ K-] (1,1)(1,0)": ["X{i + 1}[K+ K-] (1,1)(1,0)", 1.0e+200]\n' for i in range(2))
    (problem,) = problems(text)
    assert "multiply to inf" in problem.what


@pytest.mark.parametrize(
    ("data", "location", "what"),
    [
        (PHI.encode("utf-16"), "", "it is UTF-16"),
        (PHI.encode("utf-32"), "", "it is UTF-32"),
        (PHI.encode() + "latex: 'é'\n".encode("latin-1"), "model.yml:4:9", "byte 0xe9 belongs to another encoding"),
        (PHI.encode() + b"#" * 1_000_000, "", "larger than 1 MB"),
    ],
)
def test_bytes_that_are_no_model(tmp_path, monkeypatch, data, location, what):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.yml").write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        load_model("model.yml")
    (problem,) = caught.value.problems
    assert what in problem.what
    assert problem.location == location
    assert problem.fix


def test_a_byte_order_mark_is_no_text(tmp_path):
    (tmp_path / "model.yml").write_bytes(b"\xef\xbb\xbf" + PHI.encode())
    assert len(load_model(tmp_path / "model.yml").waves) == 1


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model.yml")
    with pytest.raises(ConfigError, match="it is a pipe, a device or a socket, not a file"):
        load_model(tmp_path / "model.yml")


def test_a_path_that_is_none():
    with pytest.raises(ConfigError, match="not a file path"):
        load_model("model\0.yml")


def test_names_of_files_do_not_steer_the_terminal(tmp_path):
    file = tmp_path / "a\x1b[31m.yml"
    file.write_text("decay: x\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_model(file)
    assert "\x1b" not in str(caught.value)


def test_mappings_have_the_same_limits():
    knotted = {"decay": "J/psi(1S) -> K+ K- eta"}
    knotted["resonances"] = [knotted, knotted]
    hostile = [knotted, {"decay": "x" * 20_000}, {"fit": {"seed": 10**5000}}, {"fit": {"start": np.zeros(60_000)}}, {"decay": "a\ud800"}]
    for mapping in hostile:
        with pytest.raises(ConfigError) as caught:
            load_model(mapping)
        assert len(caught.value.problems) == 1
        assert len(str(caught.value)) < 3000


def test_many_mistakes_are_counted_and_not_all_shown(problems):
    text = DECAY + "".join(f"k{i}: 1\n" for i in range(300))
    found = problems(text)
    assert len(found) == 50
    assert str(ConfigError(found)).endswith("and 30 more of them")


def test_many_duplicates(problems):
    assert len(problems(DECAY + "x: 1\n" * 200)) == 50


def beyond(text, **limits):
    """The problems of a model that is larger than these limits."""
    with pytest.raises(ConfigError) as caught:
        build_model(validate(yaml.safe_load(text)), limits=ModelLimits(**limits))
    return caught.value.problems


def test_too_many_chains():
    resonances = "".join(f"  X{i}: {{in: K+ K-, JP: 1-, mass: 1.5, width: 0.1}}\n" for i in range(6))
    (problem,) = beyond(DECAY + "resonances:\n" + resonances, chains=5)
    assert "more than 5 chains" in problem.what


def test_too_many_waves_of_a_chain():
    text = "decay: J/psi(1S) -> p p~ eta\nresonances:\n  N(1650): {in: p eta}\n"
    assert any("has 2 waves" in problem.what and "max_L" in problem.fix for problem in beyond(text, waves=1))


def test_too_many_couplings_of_model_independent_waves():
    (problem,) = beyond(phi("lineshape: step, options: {edges: [1.0, 1.2, 1.4, 1.6, 1.8]}"), couplings=3)
    assert "the model has 4 waves" in problem.what
    assert "fewer knots" in problem.fix


def test_too_many_resonances():
    (problem,) = beyond(DECAY + "resonances:\n" + "".join(f"  X{i}: {{in: K+ K-}}\n" for i in range(4)), names=3)
    assert problem.what == "there are 4 resonances"


def test_too_many_starts():
    class Likelihood:
        names = ("a",)

    with pytest.raises(CtpwaError, match="at most 100000"):
        start_points(Likelihood(), 10**15, None, 0)


def test_powers_of_ten_need_a_point(refused):
    refused(PHI + "radius: 1e2\n", "4:9", "must be a number, not '1e2'", "write 100.0")
    refused(PHI + "radius: 1e-300\n", "4:9", "must be a number, not '1e-300'", "write 1.0e-300")
