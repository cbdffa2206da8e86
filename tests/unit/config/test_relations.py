"""Formulas of parameters, parameters of no resonance, fixed parameters and errors of the PDG in model files."""

import math

import pytest

import ctpwa
from ctpwa.decay.pdg import pdg_measured
from ctpwa.engine.plan.channels import model_channels

HEAD = "decay: J/psi(1S) -> K+ K- eta\n"
FIRST = "  phi(1680): {in: K+ K-, mass: 1.659, width: 0.164, float: [mass, width]}\n"
KSTAR = "  K*(1410): {in: [K+ eta, K- eta]}\n  K(2)*(1430)-: {in: K- eta}\n"
A, B = "phi(1680)[K+ K-] (1,1)(1,0)", "X[K+ K-] (1,1)(1,0)"


def text(mass="1.75", width="0.1", more="", end=""):
    return f"{HEAD}resonances:\n{FIRST}{KSTAR}  X: {{in: K+ K-, JP: 1-, mass: {mass}, width: {width}{more}}}\n{end}"


def load(tmp_path, content):
    (tmp_path / "model.yml").write_text(content)
    return ctpwa.load_model(tmp_path / "model.yml")


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("phi(1680).mass", 1.659),
        ("K*(1410).mass", 1.414),
        ("2*K*(1410).mass - 0.1", 2.728),
        ("K(2)*(1430)-.mass-K*(1410).mass+1.5", 1.5133),
        ("K*(1410).mass*K*(1410).mass", 1.414**2),
        ("(phi(1680).mass + K(2)*(1430)-.mass)/2", 1.54315),
        ("sqrt(phi(1680).width)*exp(delta) + delta**2", math.sqrt(0.164) * math.exp(0.5) + 0.25),
        ("pi/2", 1.5707963267948966),
    ],
)
def test_formulas(tmp_path, formula, value):
    content = text(f'"{formula}"', more=", off_shell: true", end="parameters: {delta: 0.5}\n")
    model = load(tmp_path, content)
    assert model.resonances["X"].mass == pytest.approx(value, rel=1e-14)
    assert model.relations == {"X.mass": formula}
    (own,) = [p for p in model_channels(model).theta if p.name == "X.mass"]
    assert (own.fixed, own.formula, own.value) == (True, formula, model.resonances["X"].mass)


def test_formulas_of_lineshape_parameters_and_of_formulas(tmp_path):
    content = text("mean", more=", lineshape: exp(-b*s)/(mass**2 - s - i*mass*width), parameters: {b: X.mass/10}")
    content += "parameters:\n  mean: (phi(1680).mass + X.b)/1\n"
    with pytest.raises(ctpwa.base.ConfigError, match=r"depends on itself: X.mass -> mean -> X.b -> X.mass|depends on itself"):
        load(tmp_path, content)
    model = load(tmp_path, content.replace("X.b)/1", "0.1)/1"))
    assert model.resonances["X"].parameters["b"] == pytest.approx(0.1759, rel=1e-14)


def test_order_does_not_matter(tmp_path):
    content = f"{HEAD}resonances:\n  X: {{in: K+ K-, JP: 1-, mass: phi(1680).mass, width: 0.1}}\n{FIRST}"
    assert load(tmp_path, content).resonances["X"].mass == 1.659


@pytest.mark.parametrize(
    ("content", "where", "what", "fix"),
    [
        (text("phi(1680).mas"), "6:32", "'phi(1680).mas' is not a parameter", "did you mean 'phi(1680).mass'"),
        (text("2*phi(1860).mass"), "6:34", "'phi(1860).mass' is not a parameter", "did you mean 'phi(1680).mass'"),
        (text("phi(1680).mass*Q.mass"), "6:47", "'Q.mass' is not a parameter", "did you mean"),
        (text("+".join(500 * ["phi(1680).mass"])), "6:32", "a formula of 7499 characters", "keep formulas below 2000 characters"),
        (text("X.mass"), "6:32", "'X.mass' depends on itself: X.mass -> X.mass", "give one of them a number"),
        (text("10*X.width", "X.mass"), "6:32", "'X.mass' depends on itself: X.mass -> X.width -> X.mass", "give one of them"),
        (text("1.7", "phi(1680).width - 1"), "6:44", "'X.width' is phi(1680).width - 1 = -0.836, outside 0 to inf", "correct the formula"),
        (text("1/phi(1680).mass**0.5*(1"), "6:32", "is not a formula", "check brackets"),
        (text("phi(1680).mass + 9"), "6:32", "above the kinematic limit everywhere", "correct mass and width"),
        (text("open('x')"), "6:32", "unknown function 'open'", "known: abs"),
        (text("phi(1680).mass.real"), "6:32", "is not a parameter", "did you mean 'phi(1680).mass'"),
        (text("log(0*phi(1680).mass)"), "6:32", "which is not positive", "change its argument"),
        (text("sqrt(phi(1680).mass - 2)"), "6:32", "'X.mass' is sqrt(phi(1680).mass - 2) = nan, outside 0 to inf", "correct"),
        (text("sqrt(-2)"), "6:32", "the square root of a negative number", "parameters are real"),
        (text("phi(1680).mass", more=", float: mass"), "6:32", "'X.mass' is a formula and cannot float", "let the parameters in it float"),
        (text(f'"{A}.re"'), "6:33", "is not a parameter", "write a number"),
        (text(more=", float: pdg"), "6:57", "cannot float with an error of the PDG, which gives none for X", "float: [mass, width]"),
        (text(end="parameters: {sin: 1.0}\n"), "7:14", "a parameter cannot be called 'sin'", "no name of a function"),
        (text(end="parameters: {a b: 1.0}\n"), "7:14", "a parameter cannot be called 'a b'", "use letters and numbers"),
        (text(end="parameters: {a: {value: 1.0, limits: [2, 3]}}\n"), "7:25", "'a' is 1, outside its limits 2 to 3", "correct it"),
        (text(end="parameters: {a: {value: 1.0, limits: [3, 2]}}\n"), "7:38", "the limits of 'a' are 3 and 2", "[lower, upper]"),
        (text(end="parameters: {a: {value: X.mass, float: true}}\n"), "7:40", "'a' is a formula and cannot float", "let the parameters"),
        (text(end="parameters: {a: {value: 1.0, float: true}}\n"), "7:14", "'a' floats, and nothing depends on it", "use it in a formula"),
        (text(end="parameters: {a: }\n"), "7:16", "'a' is empty", "write a number"),
        (text(end="fit: {fix: phi(1680).mas}\n"), "7:12", "unknown parameter 'phi(1680).mas'", "did you mean 'phi(1680).mass'"),
        (text(end="fit: {fix: {phi(1680).width: -0.1}}\n"), "7:30", "'phi(1680).width' cannot be fixed at -0.1", "a number from 0 to inf"),
        (text("phi(1680).mass", end="fit: {fix: X.mass}\n"), "7:12", "'X.mass' cannot be fixed: it is phi(1680).mass", "made of"),
        (text(end=f"fit: {{fix: ['{B}.abs']}}\n"), "7:14", "couplings are cartesian", "write  representation: polar  under 'fit'"),
        (text(end=f"fit: {{fix: ['{A}.re']}}\n"), "7:14", "belongs to a coupling that is fixed to 1", "another reference_wave"),
        (text(end="fit: {fix: {phi(1680).mass: heavy}}\n"), "7:29", "'heavy' is not what 'fix' hold", "write a parameter"),
        (text(end="fit: {fix: 3}\n"), "7:12", "'fix' must be a mapping, not 3", "write a parameter"),
        (text(end=f"fit: {{relations: {{'{B}.phase': '{A}.phase'}}}}\n"), "7:20", "couplings are cartesian", "representation: polar"),
        (text(end="fit: {relations: {phi(1680).mass: X.mass}}\n"), "7:19", "'phi(1680).mass' is a formula and cannot float", "let the"),
        (text("phi(1680).mass", end="fit: {relations: {X.mass: K*(1410).mass}}\n"), "7:19", "has a formula already", "leave one"),
        (text(end="fit: {relations: {X.mass: 3}}\n"), "7:27", "3 is not what 'relations' hold", "write parameter: formula"),
        (
            text("phi(1680).mass", end="fit: {limits: {X.mass: [1, 2]}}\n"),
            "7:16",
            "'X.mass' is not a free parameter",
            "follows from others",
        ),
    ],
)
def test_mistakes(tmp_path, content, where, what, fix):
    with pytest.raises(ctpwa.base.ConfigError) as error:
        load(tmp_path, content)
    (problem,) = error.value.problems
    assert problem.location.endswith(f"model.yml:{where}")
    assert what in problem.what
    assert fix in problem.fix


def test_a_mass_without_a_parameter_is_no_formula(tmp_path):
    content = f"{HEAD}resonances:\n{FIRST}  NR: {{in: K+ K-, JP: 1-, lineshape: constant, mass: phi(1680).mass}}\n"
    with pytest.raises(ctpwa.base.ConfigError, match="has no mass that could be a formula"):
        load(tmp_path, content)


def test_errors_of_the_pdg(tmp_path):
    model = load(
        tmp_path, f"{HEAD}resonances:\n  phi(1680): {{in: K+ K-, mass: 1.66, float: pdg}}\n  phi(1020): {{in: K+ K-, float: [pdg]}}\n"
    )
    assert model.constraints["phi(1680).mass"] == pdg_measured("phi(1680)")["mass"]
    assert model.resonances["phi(1680)"].floating == ("mass", "width")
    assert model.resonances["phi(1680)"].mass == 1.66  # the start; the mean is that of the PDG
    assert set(model.constraints) == {f"{name}.{key}" for name in ("phi(1680)", "phi(1020)") for key in ("mass", "width")}


def test_measured_masses_are_in_gev_and_symmetric():
    mass, error = pdg_measured("K(2)*(1430)+")["mass"]
    assert (mass, error) == pytest.approx((1.4273, 0.0015), rel=1e-12)
    assert pdg_measured("p")["mass"][1] > 0
    assert pdg_measured("gamma") == pdg_measured("nobody knows it") == {}


def test_fixed_parameters(tmp_path):
    content = text("phi(1680).mass", end="fit: {fix: {phi(1680).mass: 1.7, K*(1410).width: 0.25}, start: {phi(1680).width: 0.2}}\n")
    model = load(tmp_path, content)
    assert (model.resonances["X"].mass, model.resonances["K*(1410)"].width) == (1.7, 0.25)
    assert model.resonances["phi(1680)"].floating == ("width",)
    model = load(tmp_path, content.replace("{phi(1680).mass: 1.7, K*(1410).width: 0.25}", "phi(1680).width"))
    assert (model.resonances["phi(1680)"].floating, model.resonances["phi(1680)"].width) == (("mass",), 0.2)
    assert all(wave.resonances[0] is model.resonances[wave.resonances[0].name] for wave in model.waves)


def test_a_fixed_mass_is_the_nominal_mass_of_a_daughter(tmp_path):
    """As if it stood in the file: barrier factors of what decays to it see it as well."""
    content = "decay: J/psi(1S) -> pi+ pi- pi0 eta\nresonances:\n  b(1)(1235): {in: [pi+ pi- pi0]}\n"
    content += "  rho(770): {in: [pi+ pi-, pi+ pi0, pi- pi0], mass: 0.77}\n"
    fixed, written = load(tmp_path, content + "fit: {fix: {rho(770).mass: 0.8}}\n"), load(tmp_path, content.replace("0.77", "0.8"))
    vertices = [[entry.vertex for own in model_channels(model).placed for entry in own] for model in (fixed, written)]
    assert vertices[0] == vertices[1]


@pytest.mark.parametrize(
    ("step", "n", "what"),
    [("{0}*{0}*{0} + {0} + exp({0})", 9, "has more than 5000 terms"), ("{} + 1", 150, "needs more than 100 formulas, one after the other")],
)
def test_formulas_of_formulas_do_not_grow_without_bound(tmp_path, step, n, what):
    rows = "".join(f"  a{i}: {step.format(f'a{i + 1}')}\n" for i in range(n))
    with pytest.raises(ctpwa.base.ConfigError, match=what):
        load(tmp_path, text(end=f"parameters:\n{rows}  a{n}: 0.1\n"))
