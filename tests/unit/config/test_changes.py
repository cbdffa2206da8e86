"""Changes of a description in Python, and what they are called on the command line."""

import pytest

import ctpwa
from ctpwa.config.changes import Changes
from ctpwa.config.read import load_document
from ctpwa.config.set_values import ChangeError

CONTENT = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "resonances": {
        "phi(1680)": {"in": "K+ K-", "float": "mass"},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"], "without": "K(2)*(1430)-[K- eta]"},
    },
    "couplings": {"K(2)*(1430)+[K+ eta] (2,2)(2,0)": [1, 2]},
}


def test_a_mapping_is_changed_like_a_file():
    changes = Changes(without=("K(2)*(1430)",), free=("phi(1680).width",), set={"phi(1680).mass": 1.7 + 0j}, fix={"phi(1680).mass": None})
    document = load_document(CONTENT, changes=changes)
    assert document.data == {
        "decay": CONTENT["decay"],
        "resonances": {"phi(1680)": {"in": "K+ K-", "float": ["mass", "width"], "mass": 1.7}},
        "fit": {"fix": {"phi(1680).mass": None}},
    }
    assert document.model.resonances["phi(1680)"].floating == ("width",)
    assert list(CONTENT["resonances"]) == ["phi(1680)", "K(2)*(1430)"]  # as it was
    with pytest.raises(ChangeError, match="--without 'f': the model has no such resonance"):
        ctpwa.load_analysis(CONTENT, changes=Changes(without=("f",)))


def test_their_words():
    changes = Changes(("a", "b"), ("c.mass",), {"d": 1 / 3 + 0j, "e": 1 - 2j}, ("x.root",), {"f": None, "g": 2.0})
    assert changes.words == (
        "--without a",
        "--without b",
        "--float c.mass",
        "--set d=0.333333333333333",
        "--set e=1-2j",
        "--data x.root",
        "--fix f",
        "--fix g=2",
    )
    assert changes.in_place
    assert not Changes(fix={"g": 2.0}).in_place


def test_no_changes_change_nothing():
    assert load_document(CONTENT, changes=Changes()).data == load_document(CONTENT).data


@pytest.mark.parametrize("given", [{"P_z": {"value": 0.1, "float": True}, "P_x": 0.2}, ["P_z"], "float"])
def test_elements_of_the_density_matrix(given):
    content = {
        "decay": "Lambda(c)+ -> p K- pi+",
        "polarisation": given,
        "resonances": {"Lambda(1520)": {"in": "p K-"}},
    }
    before = {p.name: p for p in load_document(content).model.parameters}
    changed = load_document(content, changes=Changes(set={"P_z": 0.3 + 0j})).model.parameters
    assert {p.name: (p.value, p.fixed) for p in changed} == {
        name: (0.3 if name == "P_z" else p.value, p.fixed) for name, p in before.items()
    }
    if "P_x" in before and before["P_x"].fixed:
        freed = load_document(content, changes=Changes(free=("P_x",))).model.parameters
        assert {p.name for p in freed if not p.fixed} == {"P_x", "P_z"}
