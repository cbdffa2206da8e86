"""Lineshapes, their parameters and options in a model file."""

import pytest

from unit.config.refusals import refusals

DECAY = "decay: J/psi(1S) -> K+ K- eta\n"


def entry(value):
    return DECAY + f"resonances:\n  X: {{in: K+ K-, JP: 1-, {value}}}\n"


test_bad_lineshape = refusals(
    entry,
    """
    lineshape: breit_wigne, mass: 1.5, width: 0.1 | 37 | unknown lineshape 'breit_wigne' | did you mean 'breit_wigner'
    lineshape: BW | 37 | unknown lineshape 'BW' | known: breit_wigner
    lineshape: spline, options: {nots: [1, 2]} | 54 | unknown option 'nots' of lineshape 'spline' | did you mean 'knots'?
    lineshape: spline | 6 | option 'knots' of lineshape 'spline' | knots: [
    lineshape: exponential, parameters: {beta: 1.0} | 69 | has no parameter 'beta': its parameters are alpha | alpha
    lineshape: exponential | 3 | 'X' has no alpha | add parameters: {alpha: …} (GeV⁻²)
    lineshape: exp(-b*t), parameters: {b: 0.3} | 37 | unknown name 't' | Declare it under 'parameters'
    lineshape: exp(-b*s), parameters: {b: big} | 64 | 'big' is not a parameter | write a number
    lineshape: constant, float: mass | 54 | has no parameter 'mass': it has none | choose another lineshape
    lineshape: lass, mass: 1.5, width: 0.1 | 37 | is an S wave, but this vertex has L = 1 | use breit_wigner
    """,
    line=3,
)


@pytest.mark.parametrize(
    ("value", "parameters", "floating"),
    [
        ("mass: 1.5, width: 0.1, float: [mass, width]", {"mass": 1.5, "width": 0.1}, ("mass", "width")),
        ("lineshape: constant", {}, ()),
        ("lineshape: exponential, parameters: {alpha: 0.5}, float: alpha", {"alpha": 0.5}, ("alpha",)),
        ("lineshape: polynomial, options: {degree: 2}", {"c_1": 0.0, "c_2": 0.0}, ()),
        ("lineshape: 1/(mass**2 - s - i*mass*width), mass: 1.5, width: 0.1, float: mass", {"mass": 1.5, "width": 0.1}, ("mass",)),
        ("lineshape: exp(-b*s), parameters: {b: 0.3}", {"b": 0.3}, ()),
    ],
)
def test_parameters(load, value, parameters, floating):
    resonance = load(entry(value)).resonances["X"]
    assert dict(resonance.parameters) == parameters
    assert resonance.floating == floating


def test_a_lineshape_sees_the_vertex_it_stands_at(load):
    """Gounaris-Sakurai is for P waves: the rho can have it, and is refused only where it does not fit."""
    text = "decay: J/psi(1S) -> pi+ pi- pi0\nresonances:\n  rho(770): {in: [pi+ pi-, pi+ pi0, pi- pi0], lineshape: gounaris_sakurai}\n"
    assert load(text).resonances["rho(770)"].lineshape == "gounaris_sakurai"


def test_a_problem_of_a_resonance_in_several_systems_is_reported_once(refused):
    text = DECAY + "resonances:\n  K*(1410): {in: [K+ eta, K- eta], lineshape: BW}\n"
    refused(text, "3:47", "unknown lineshape 'BW'", "known: breit_wigner")
