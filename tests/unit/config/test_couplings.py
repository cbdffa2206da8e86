"""Values of couplings in a model file."""

import cmath

import pytest

from ctpwa import load_model
from ctpwa.engine.plan.channels import model_channels
from ctpwa.model.couplings import coupling_names
from unit.config.refusals import refusals

MODEL = """decay: J/psi(1S) -> K+ K- eta
resonances:
  phi(1020): {in: K+ K-}
  K(2)*(1430): {in: [K+ eta, K- eta]}
couplings:
"""
PHI, K2 = "phi(1020)[K+ K-] (1,1)(1,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2),
        ("-0.5", -0.5),
        ("0.5+0.25j", 0.5 + 0.25j),
        ("0.5 - 0.25j", 0.5 - 0.25j),
        ("[0.5, -2]", 0.5 - 2j),
        ("{abs: 2, phase: 0.75}", cmath.rect(2, 0.75)),
        ("0", 0),
    ],
)
def test_forms_of_a_value(load, text, value):
    assert load(MODEL + f"  {PHI}: {text}\n").coupling_values == {PHI: pytest.approx(value)}


def test_values_from_a_mapping():
    content = {"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1020)": {"in": "K+ K-"}}, "couplings": {PHI: 0.5 - 0.25j}}
    assert load_model(content).coupling_values == {PHI: 0.5 - 0.25j}


def test_without_the_section_there_are_no_values(load):
    assert load(MODEL.removesuffix("couplings:\n")).coupling_values == {}


test_a_wrong_entry = refusals(
    lambda line: MODEL + f"  {line}\n",
    """
    phi(1020)[K+ K-] (1,1)(1,2): 1 | 6:3 | no coupling is called | did you mean 'phi(1020)[K+ K-] (1,1)(1,0)'?
    Delta: 1 | 6:3 | no coupling is called 'Delta' | ctpwa check lists
    K(2)*(1430)-[K- eta] (2,2)(2,0): 1
        | 6:3 | has no coupling of its own: it is -'K(2)*(1430)+[K+ eta] (2,2)(2,0)' | give 'K(2)*(1430)+[K+ eta] (2,2)(2,0)' a value
    phi(1020)[K+ K-] (1,1)(1,0): one | 6:32 | 'one' is not a complex number | [re, im]
    phi(1020)[K+ K-] (1,1)(1,0): [1, 2, 3] | 6:32 | is not a complex number | {abs: …, phase: …}
    phi(1020)[K+ K-] (1,1)(1,0): [1, two] | 6:32 | is not a complex number | [re, im]
    phi(1020)[K+ K-] (1,1)(1,0): {abs: 1} | 6:32 | is not a complex number | {abs: …, phase: …}
    phi(1020)[K+ K-] (1,1)(1,0): {abs: -1, phase: 0} | 6:32 | is not a complex number | {abs: …, phase: …}
    phi(1020)[K+ K-] (1,1)(1,0): {abs: 1, phase: 0, re: 2} | 6:32 | is not a complex number | {abs: …, phase: …}
    phi(1020)[K+ K-] (1,1)(1,0): true | 6:32 | is not a complex number | [re, im]
    phi(1020)[K+ K-] (1,1)(1,0): .inf | 6:32 | is not finite | [re, im]
    phi(1020)[K+ K-] (1,1)(1,0): 1+nanj | 6:32 | is not finite | [re, im]
    phi(1020)[K+ K-] (1,1)(1,0): [.nan, 1] | 6:32 | is not a complex number | [re, im]
    """,
)


def test_a_section_that_is_no_mapping(refused):
    refused(MODEL.removesuffix("\n") + " [1, 2]\n", "5:12", "'couplings' must be a mapping", "one indented line per coupling")


def test_several_problems_together(problems):
    assert len(problems(MODEL + f"  {PHI}: x\n  Delta: 1\n")) == 2


def test_problems_of_waves_come_before_those_of_their_couplings(problems):
    (problem,) = problems(MODEL.replace("phi(1020)", "phi(1O20)") + f"  {PHI}: 1\n")
    assert problem.path == ("resonances", "phi(1O20)")


def test_functions_of_a_basis_have_couplings_of_their_own(load):
    text = (
        "decay: J/psi(1S) -> K+ K- eta\nresonances:\n  S: {in: K+ K-, JP: 1-, lineshape: spline, options: {knots: [1.0, 1.5, 2.0, 2.5]}}\n"
    )
    model = load(text)
    names = model_channels(model).couplings
    assert len(names) > 1
    assert coupling_names(model.waves) == names
    value = load(text + f"couplings:\n  {names[-1]}: [0.5, 1]\n").coupling_values
    assert value == {names[-1]: 0.5 + 1j}


@pytest.mark.parametrize("name", ["jpsi_kk_eta", "jpsi_4pi", "lambdac_p_k_pi"])
def test_names_are_those_that_the_engine_uses(example, name):
    model = load_model(example(name))
    assert coupling_names(model.waves) == model_channels(model).couplings
