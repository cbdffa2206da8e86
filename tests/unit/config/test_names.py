"""Names as users write them: pasted from a table, without brackets, or only begun."""

import pytest

import ctpwa
from ctpwa.base.errors import ConfigError
from ctpwa.config.names import meant, short_form
from ctpwa.config.problems import SpecError
from ctpwa.config.read import load_document

PHI, K2 = "phi(1680)[K+ K-] (1,1)(1,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"
KNOWN = [PHI, "phi(1020)[K+ K-] (1,1)(1,0)", K2]
MODEL = {
    "decay": "J/psi -> K+ K- eta",
    "resonances": {
        "phi(1680)": {"in": "K+ K-", "float": "mass"},
        "phi(1020)": {"in": "K+ K-"},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]},
    },
}


@pytest.mark.parametrize(
    ("written", "full"),
    [
        (PHI, PHI),
        ("phi(1680)[K+ K-] (1,1) (1,0)", PHI),  # as the table of check shows it
        ("phi(1680) [K+ K-]  (1,1)(1,0)", PHI),
        ("phi(1680) (1,1)(1,0)", PHI),
        ("phi(1680)", PHI),
        ("phi(16", PHI),
        ("φ(1680)", PHI),
        ("K2*(1430)+", K2),
        ("K_2*", K2),
        ("rho(770)", None),
        ("phi(1680)[K+ eta] (1,1)(1,0)", None),  # brackets count where they are written
        ("", None),
    ],
)
def test_what_is_meant(written, full):
    assert meant(written, KNOWN) == full


def test_what_may_be_several_is_refused_with_all_of_them():
    with pytest.raises(SpecError, match=r"'phi' could be any of 'phi\(1680\).*', 'phi\(1020\)"):
        meant("phi", KNOWN)


def test_a_name_that_another_one_continues_is_itself():
    assert meant("NR1", ["NR1", "NR10"]) == "NR1"
    assert meant("NR 1", ["NR10", "NR1"]) == "NR1"


def test_the_short_form_has_no_brackets():
    assert short_form("a(1)(1260)+[pi+_1 pi- pi+_2] rho(770)0[pi+_1 pi-] (1,1)(0,1)(1,0)") == "a(1)(1260)+ rho(770)0 (1,1)(0,1)(1,0)"


def test_every_section_takes_such_names():
    document = load_document(
        MODEL
        | {
            "couplings": {"phi(1680)[K+ K-] (1,1) (1,0)": 2, "K2*(1430)": "1+1j"},
            "fit": {
                "reference_wave": "phi(1020)",
                "ties": {"K2*(1430)+": ["phi(1680)", 0.5]},
                "fix": {"phi(1680).re": 1.0},
                "start": {"phi(16.mass": 1.7},
                "limits": {"phi1680.mass".replace("1680", "(1680)"): [1.6, 1.8]},
                "minos": ["phi(1680) (1,1)(1,0).im"],
            },
        }
    )
    fit = document.spec.fit
    assert document.model.coupling_values == {PHI: 2, K2: 1 + 1j}
    assert (fit.reference_wave, fit.ties) == ("phi(1020)[K+ K-] (1,1)(1,0)", {K2: [PHI, 0.5]})
    assert (fit.fix, fit.start, fit.limits, fit.minos) == (
        {f"{PHI}.re": 1.0},
        {"phi(1680).mass": 1.7},
        {"phi(1680).mass": [1.6, 1.8]},
        [f"{PHI}.im"],
    )


def test_tied_couplings_follow_in_generated_events_as_well():
    model = ctpwa.load_model(MODEL | {"couplings": {PHI: 2j}, "fit": {"ties": {"K(2)": ["phi(1680)", -0.5]}}})
    assert model.coupling_values == {PHI: 2j, K2: -1j}


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"couplings": {"phi": 1}}, ("couplings", "phi"), "could be any of"),
        ({"couplings": {"phi(1680)": 1, "phi(16": 2}}, ("couplings", "phi(16"), "is there twice"),
        ({"couplings": {"phi(1680)": "one"}}, ("couplings", "phi(1680)"), "is not a complex number"),
        (
            {"couplings": {"K(2)*(1430)-[K- eta] (2,2) (2,0)": 1}},
            ("couplings", "K(2)*(1430)-[K- eta] (2,2) (2,0)"),
            "no coupling of its own",
        ),
        ({"fit": {"reference_wave": "phi"}}, ("fit", "reference_wave"), "could be any of"),
        ({"fit": {"limits": {"phi(16.mass": [2, 1]}}}, ("fit", "limits", "phi(16.mass"), "the limits of 'phi(1680).mass'"),
        ({"fit": {"minos": ["phi.re"]}}, ("fit", "minos", 0), "could be any of"),
    ],
)
def test_problems_are_where_the_name_is_written(change, path, words):
    with pytest.raises(ConfigError) as caught:
        ctpwa.load_model(MODEL | change)
    (problem,) = caught.value.problems
    assert problem.path == path
    assert words in problem.what


def test_asymmetries_take_beginnings():
    sets = {"plus": {"data": "a.root", "phase_space": "b.root"}, "minus": {"data": "c.root", "phase_space": "d.root", "conjugate": True}}
    weak = {"decay": "D+ -> K- pi+ pi+", "resonances": {"K*(892)": {"in": "K- pi+"}, "K*(1680)": {"in": "K- pi+"}}, "data_sets": sets}
    assert list(ctpwa.load_model(weak | {"cp": ["K*(16"]}).asymmetries) == ["K*(1680)~0[K- pi+_1] (1,1)(1,0)"]
    with pytest.raises(ConfigError, match="could be any of"):
        ctpwa.load_model(weak | {"cp": ["K*"]})


def test_names_of_the_pdg_that_mean_something_else_say_so():
    decay = {
        "decay": "J/psi(1S) -> K+ K- eta",
        "resonances": {"phi(1680)": {"in": "K+ K-", "JP": "3--"}, "phi(1020)": {"in": "K+ K-", "JP": "1--"}},
    }
    notes = ctpwa.load_model(decay).notes
    assert [note for note in notes if "PDG" in note] == ["'phi(1680)' is a name of the PDG, where it has J^P 1-; here it has 3-"]
    own = {
        "decay": "J/psi(1S) -> K+ K- eta",
        "particles": {"eta": {"JP": "1-"}},
        "resonances": {"phi(1020)": {"in": "K+ K-"}},
        "weak": True,
    }
    assert "'eta' is a name of the PDG, where it has J^P 0-; here it has 1-" in ctpwa.load_model(own).notes


def test_a_photon_with_a_mass_has_three_helicities_and_says_so():
    decay = {"decay": "J/psi(1S) -> gamma pi0 pi0", "resonances": {"f(2)(1270)": {"in": "pi0 pi0"}}}
    assert not [note for note in ctpwa.load_model(decay).notes if "helicities" in note]
    heavy = ctpwa.load_model({**decay, "particles": {"gamma": {"mass": 0.01}}})
    assert "'gamma' has 3 helicities, since its mass is not 0" in heavy.notes
    assert len(heavy.waves) == 5
    light = ctpwa.load_model({**decay, "particles": {"gamma": {"mass": 0.01, "massless": True}}})
    assert len(light.waves) == 3
