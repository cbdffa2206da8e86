"""Lineshapes by name, and what a user can put in place of a name."""

import re
from pathlib import Path

import pytest
import sympy as sp
import torch

from ctpwa import load_model
from ctpwa.base import ConfigError
from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes import registry
from ctpwa.model.lineshapes.formula import Basis, Callback, Formula, LineshapeKind, LineshapeParameter, Vertex, s
from ctpwa.model.lineshapes.registry import KINDS, build_lineshape, register_lineshape, unregister_lineshape

VERTEX = Vertex(0.3, 0.5, 1, 3.0)


def test_every_kind_says_what_it_is():
    for name, kind in KINDS.items():
        assert kind.name == name
        assert kind.summary
        assert all(kind.options.values())


@pytest.mark.parametrize(("name", "near"), [("breit_wiger", "breit_wigner"), ("Flatte", "flatte"), ("gounaris", "gounaris_sakurai")])
def test_unknown_names_suggest_the_nearest(name, near):
    with pytest.raises(PhysicsError, match=f"unknown lineshape '{name}'") as raised:
        build_lineshape(name, VERTEX)
    assert f"'{near}'" in raised.value.fix


def test_unknown_names_without_a_neighbour_list_all():
    with pytest.raises(PhysicsError) as raised:
        build_lineshape("xyzzy", VERTEX)
    assert all(kind in raised.value.fix for kind in KINDS)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_unknown_options_are_named_with_the_valid_ones(name):
    with pytest.raises(PhysicsError, match=f"unknown option 'nonsense' of lineshape '{name}'") as raised:
        build_lineshape(name, VERTEX, nonsense=1)
    assert all(option in raised.value.what for option in KINDS[name].options)


@pytest.mark.parametrize(
    ("name", "vertex", "options", "word"),
    [
        ("flatte", VERTEX, {}, "channels"),
        ("flatte", VERTEX, {"channels": "own"}, "channels"),
        ("flatte", VERTEX, {"channels": {"a b": "own"}}, "channels"),
        ("flatte", VERTEX, {"channels": {"a": [0.1, -0.1]}}, "channels"),
        ("flatte", VERTEX, {"channels": {"a": [0.1, 0.1, 1]}}, "channels"),
        ("flatte", VERTEX, {"channels": {"a": "own"}, "convention": "square"}, "convention"),
        ("breit_wigner_channels", VERTEX, {"channels": {"a": [0.1, 0.1, 0.5]}}, "channels"),
        ("polynomial", VERTEX, {"degree": 0}, "degree"),
        ("polynomial", VERTEX, {"degree": 1.5}, "degree"),
        ("phase_space", VERTEX, {"power": 0.3}, "power"),
        ("bugg_sigma", Vertex(0.14, 0.14, 0, 3.0), {"adler_zero": "x"}, "adler_zero"),
        ("bugg_sigma", Vertex(0.14, 0.14, 0, 3.0), {"below_threshold": "shut"}, "below_threshold"),
        ("lass", Vertex(0.14, 0.49, 0, 3.0), {"cutoff": -1}, "cutoff"),
        ("pipi_s_wave", Vertex(0.14, 0.14, 0, 3.0), {"channel": "pi"}, "channel"),
    ],
)
def test_wrong_values_of_options_are_named(name, vertex, options, word):
    with pytest.raises(PhysicsError, match=f"option '{word}' of lineshape '{name}'"):
        build_lineshape(name, vertex, **options)


@pytest.mark.parametrize(
    ("name", "vertex"),
    [
        ("gounaris_sakurai", Vertex(0.14, 0.14, 0, 3.0)),
        ("gounaris_sakurai", Vertex(0.14, 0.49, 1, 3.0)),
        ("bugg_sigma", Vertex(0.49, 0.49, 0, 3.0)),
        ("bugg_sigma", Vertex(0.14, 0.14, 2, 3.0)),
        ("bugg_one_channel", Vertex(0.14, 0.49, 1, 3.0)),
        ("lass", Vertex(0.14, 0.49, 1, 3.0)),
        ("generalised_lass", Vertex(0.14, 0.49, 1, 3.0)),
        ("pipi_s_wave", Vertex(0.14, 0.14, 1, 3.0)),
    ],
)
def test_vertices_that_a_lineshape_is_not_made_for_are_refused(name, vertex):
    with pytest.raises(PhysicsError, match=f"lineshape '{name}'"):
        build_lineshape(name, vertex)


def test_channels_may_be_a_list():
    formula = build_lineshape("flatte", VERTEX, channels=["own", [0.4, 0.4]])
    assert [p.name for p in formula.parameters] == ["mass", "g_1", "g_2"]


def test_finished_lineshapes_pass_through():
    formula = Formula("mine", s + sp.Symbol("a", real=True), (LineshapeParameter("a"),))
    assert build_lineshape(formula, VERTEX) is formula
    basis = Basis("b", ("x",), (lambda s, q2: s,))
    assert build_lineshape(basis, VERTEX) is basis
    with pytest.raises(PhysicsError, match="it takes none"):
        build_lineshape(formula, VERTEX, degree=2)


def test_formulas_with_stray_symbols_are_refused():
    with pytest.raises(PhysicsError, match="holds a, which is neither"):
        build_lineshape(Formula("mine", s + sp.Symbol("a", real=True)), VERTEX)


def test_python_functions_become_callbacks():
    def bump(s, q2, parameters):
        return torch.exp(-((s - parameters["centre"]) ** 2))

    lineshape = build_lineshape(bump, VERTEX, parameters={"centre": 1.0})
    assert isinstance(lineshape, Callback)
    assert lineshape.name == "bump"
    assert lineshape.parameters == (LineshapeParameter("centre", default=1.0),)
    assert lineshape.function(torch.tensor([1.0]), None, {"centre": torch.tensor(1.0)}).item() == 1.0


def test_numbers_are_constant_lineshapes_and_other_things_are_refused():
    assert build_lineshape(2, VERTEX).expression == 2
    with pytest.raises(PhysicsError, match="is not a lineshape"):
        build_lineshape(None, VERTEX)


@pytest.fixture
def registering():
    """Lineshapes called mine are forgotten after a test."""
    yield
    unregister_lineshape("mine")
    assert "mine" not in KINDS


def test_every_file_with_kinds_is_found():
    files = [file for file in sorted(Path(registry.__file__).parent.glob("*.py")) if file.stem != "registry"]
    found = [name for file in files for name in re.findall(r'LineshapeKind\(\s*"(\w+)"', file.read_text("utf-8"))]
    assert sorted(found) == sorted(KINDS)


def test_what_took_the_place_of_another_can_be_taken_back():
    own = KINDS["flatte"]
    register_lineshape("flatte", "1/s", replace=True)
    assert KINDS["flatte"] is not own
    unregister_lineshape("flatte")
    assert KINDS["flatte"] is own


def test_users_can_register_a_kind(registering):
    kind = LineshapeKind("any", lambda vertex, power=1: Formula("mine", s**power), "a power of s", {"power": "the power"})
    register_lineshape("mine", kind)
    assert build_lineshape("mine", VERTEX, power=3).expression == s**3
    with pytest.raises(PhysicsError, match="unknown option 'size' of lineshape 'mine'"):
        build_lineshape("mine", VERTEX, size=3)
    with pytest.raises(PhysicsError, match="a lineshape 'mine' already exists"):
        register_lineshape("mine", kind)
    with pytest.raises(PhysicsError, match="whose formula says its parameters"):
        register_lineshape("mine", kind, ["a"], replace=True)
    register_lineshape("mine", kind, replace=True)
    for name in ("two words", "s", "q2", "1st"):
        with pytest.raises(PhysicsError, match="cannot be the name"):
            register_lineshape(name, kind)
    assert build_lineshape(kind, VERTEX).expression == s


def damped(s, q2, parameters):
    return torch.exp(-parameters["b"] * s).to(torch.complex128)


@pytest.mark.parametrize("own", ["exp(-b*s)", sp.exp(-sp.Symbol("b") * sp.Symbol("s")), damped], ids=["text", "sympy", "function"])
def test_a_registered_lineshape_can_be_used_in_a_model(registering, own):
    register_lineshape("mine", own, {"b": 0.5})
    model = load_model({"decay": "J/psi -> K+ K- eta", "resonances": {"X": {"in": "K+ K-", "JP": "1-", "lineshape": "mine", "float": "b"}}})
    (resonance,) = {resonance.name: resonance for wave in model.waves for resonance in wave.resonances}.values()
    assert resonance.parameters == {"b": 0.5}
    with pytest.raises(PhysicsError, match="a lineshape 'mine' already exists"):
        register_lineshape("mine", own, ["b"])
    register_lineshape("mine", own, ["b"], replace=True)


def test_what_is_wrong_with_a_lineshape_is_said_when_it_is_registered():
    with pytest.raises(PhysicsError, match="is not in the formula"):
        register_lineshape("mine", sp.Symbol("s") * sp.Symbol("b"), ["c"])
    assert "mine" not in KINDS


def test_a_function_in_a_model_is_told_to_get_a_name():
    with pytest.raises(ConfigError, match="register_lineshape"):
        load_model({"decay": "J/psi -> K+ K- eta", "resonances": {"X": {"in": "K+ K-", "JP": "1-", "lineshape": damped}}})
