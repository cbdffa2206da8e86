"""LaTeX names, and that matplotlib can read every one of them."""

import pytest
from matplotlib.mathtext import MathTextParser

import ctpwa
from ctpwa.decay.latex import latex_of_name, latex_of_text
from ctpwa.fitting.fractions import wave_groups
from ctpwa.fitting.labels import group_label, group_latex, parameter_label, wave_latex
from ctpwa.observables.projections import resonance_groups

KK_ETA = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "resonances": {
        "phi(1680)": {"in": "K+ K-", "float": "mass"},
        "X_a": {"in": "K+ K-", "JP": "1-", "mass": 1.7, "width": 0.1},
        "K*(1410)": {"in": ["K+ eta", "K- eta"], "JP": "1-", "mass": 1.4, "width": 0.2},
        "S": {"in": "K+ K-", "JP": "3-", "lineshape": "spline", "options": {"knots": [1.0, 1.5, 2.0, 2.5]}},
    },
}


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("rho(3)(2250)", r"\rho_{3}(2250)"),
        ("X(1750)", "X(1750)"),
        ("K(2)*(1430)+", "K_{2}^{*}(1430)^{+}"),
        ("f'(1525)", r"f^{\prime}(1525)"),
        ("NR_1", r"\mathrm{NR\_1}"),
        ("a b^c~50%", r"\mathrm{a\ b\wedge c\sim 50\%}"),
        ("φ(1680) Λ⁺", r"\mathrm{\phi (1680)\ \Lambda ^{+}}"),
    ],
)
def test_names_that_nobody_gave_latex(name, latex):
    assert latex_of_name(name) == latex
    MathTextParser("path").parse(f"${latex}$")


@pytest.fixture(scope="module")
def model():
    return ctpwa.load_model(KK_ETA)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("phi(1680)", r"$\phi(1680)$"),
        ("X_a", r"$\mathrm{X\_a}$"),
        ("K*(1410)", "$K^{*}(1410)$"),  # both charges
        ("K*(1410)+[K+ eta] (1,1)(1,0)", r"$K^{*}(1410)^{+}[K^{+}\eta]\,(1,1)(1,0)$"),
        ("K*(1410)-[K- eta] (1,1)(1,0)", r"$K^{*}(1410)^{-}[K^{-}\eta]\,(1,1)(1,0)$"),
        ("S[K+ K-] (3,3)(3,0):k1", r"$S[K^{+}K^{-}]\,(3,3)(3,0)\,\mathrm{k1}$"),
        ("1⁻", "$1^{-}$"),
        ("3/2⁺ 1", r"$3/2^{+}\,1$"),
        ("direct", r"$\mathrm{direct}$"),
        ("", r"$\mathrm{}$"),
    ],
)
def test_groups_and_waves(model, name, label):
    assert group_label(model, name) == label


def test_parameters(model):
    assert parameter_label(model, "phi(1680).mass") == r"$M[\phi(1680)]$"
    assert parameter_label(model, "K*(1410).width") == r"$\Gamma[K^{*}(1410)]$"
    assert parameter_label(model, "phi(1680).g_1") == r"$\mathrm{g\_1}[\phi(1680)]$"
    assert parameter_label(model, "phi(1680)[K+ K-] (1,1)(1,0).im") == r"$\mathrm{Im}\,c[\phi(1680)[K^{+}K^{-}]\,(1,1)(1,0)]$"
    assert parameter_label(model, "S[K+ K-] (3,3)(3,0):k1.abs", ["S[K+ K-] (3,3)(3,0):k1"]).startswith(r"$|c[S[")
    assert parameter_label(model, "what.else") == r"$\mathrm{what.else}$"


@pytest.mark.parametrize("name", ["jpsi_kk_eta", "jpsi_4pi", "jpsi_gamma_pi0_pi0", "jpsi_p_pbar_eta", "jpsi_phi_pi_pi", "lambdac_p_k_pi"])
def test_every_name_of_the_examples_can_be_drawn(example, name):
    model = ctpwa.load_model(example(name))
    parser = MathTextParser("path")
    names = [*resonance_groups(model), *(name for groups in wave_groups(model).values() for name in groups)]
    for label in [group_label(model, name) for name in names] + [parameter_label(model, f"{c}.re") for c in model.couplings]:
        parser.parse(label)
    assert r"\mathrm{rho" not in "".join(group_label(model, name) for name in names)


def test_chains(example):
    model = ctpwa.load_model(example("jpsi_4pi"))
    assert group_label(model, "a(1)(1260) rho(770)") == r"$a_{1}(1260)\,\rho(770)^{0}$"


def test_text():
    assert latex_of_text("{}") == r"\mathrm{\{\}}"


def test_a_structure_without_a_mass_has_no_charge():
    systems = ["K+ eta", "K- eta"]
    resonances = {"K(2)*(1430)": {"in": systems}, "NR": {"in": systems, "JP": "2+", "lineshape": "constant"}}
    model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": resonances})
    assert [wave_latex(wave) for wave in model.waves] == [
        r"K_{2}^{*}(1430)^{+}[K^{+}\eta]\,(2,2)(2,0)",
        r"K_{2}^{*}(1430)^{-}[K^{-}\eta]\,(2,2)(2,0)",
        r"\mathrm{NR}[K^{+}\eta]\,(2,2)(2,0)",
        r"\mathrm{NR}[K^{-}\eta]\,(2,2)(2,0)",
    ]
    states = {node.particle.name for wave in model.waves for node in wave.chain.carriers if node.resonance == "NR"}
    assert {group_latex(model, name) for name in states} == {r"\mathrm{NR}"}
