"""Results, models, events and likelihoods at the prompt and in notebooks."""

import re
from dataclasses import replace

import pytest
import torch

import ctpwa
from ctpwa.fitting.result import FitResult

HOSTILE = "X<svg/onload=ran()>"
ESCAPED = "X&lt;svg/onload=ran()&gt;"
MODEL = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "resonances": {HOSTILE: {"in": "K+ K-", "JP": "1--", "mass": 1.68, "width": 0.15, "float": ["mass"]}, "phi(3)(1850)": {"in": "K+ K-"}},
}


@pytest.fixture(scope="module")
def model():
    return ctpwa.load_model(MODEL)


@pytest.fixture(scope="module")
def likelihood(model):
    toy, flat = ctpwa.generate_toy(model, 200, seed=1, engine="reference"), ctpwa.generate_phase_space(model, 500, seed=2)
    return ctpwa.build_likelihood(model, toy, flat, engine="reference")


@pytest.fixture(scope="module")
def result(likelihood):
    found: FitResult = ctpwa.fit(likelihood)
    return found


def test_names_are_escaped(model, likelihood, result):
    events = ctpwa.Events({HOSTILE: torch.ones(3, 4, dtype=torch.float64)})
    for value in (model, likelihood, likelihood + likelihood, result, events):
        shown = value._repr_html_()
        assert ESCAPED in shown
        assert HOSTILE not in shown
        assert set(re.findall(r"<(\w+)", shown)) <= {"p", "strong", "br", "table", "thead", "tbody", "tr", "th", "td", "i", "sup", *FOLDED}


FOLDED = ("ul", "ol", "li", "details", "summary")


def test_a_sum_of_likelihoods(model, likelihood):
    other = ctpwa.load_model(MODEL | {"resonances": MODEL["resonances"] | {"phi(2170)": {"in": "K+ K-", "mass": 2.16, "width": 0.1}}})
    flat = ctpwa.generate_phase_space(other, 300, seed=2)
    both = likelihood + ctpwa.build_likelihood(other, ctpwa.generate_toy(other, 100, seed=3, engine="reference"), flat, engine="reference")
    assert repr(both).splitlines()[0] == f"LikelihoodSum: 2 likelihoods with {len(both.names)} free parameters together"
    shown = both._repr_html_()
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td></tr>", shown)
    assert [row[0].replace(ESCAPED, HOSTILE) for row in rows] == list(both.names)
    assert {name: whose for name, _, whose in rows}["phi(2170)[K+ K-] (1,1)(1,0).re"] == "2"
    assert rows[0][2] == "all"
    with pytest.raises(ctpwa.CtpwaError, match=r"did you mean 'phi\(3\)\(1850\)"):
        both.fixed({"phi(3)(1851)[K+ K-] (3,3)(3,0).re": 1.0})


def test_a_result_is_a_verdict_and_tables(result):
    text, shown = repr(result), result._repr_html_()
    assert text.splitlines()[0].startswith("J/psi(1S) -> K+ K- eta: -ln L = ")
    assert "verdict: " in text
    assert len(text) < 2000
    for p in result.parameters:
        assert p.name.replace(HOSTILE, ESCAPED) in shown
    bad = replace(result, verdict=replace(result.verdict, good=False, reasons=("<b>why</b>",)))
    assert "NOT good" in repr(bad)
    assert "<li>&lt;b&gt;why&lt;/b&gt;</li>" in bad._repr_html_()


def test_short_texts(model, likelihood):
    assert repr(model) == str(model)
    assert repr(likelihood).startswith("Likelihood: J/psi(1S) -> K+ K- eta, 200 events, ")
    events = ctpwa.Events({"a": torch.ones(2, 4)}, torch.tensor([1.0, 3.0]), {"t": torch.zeros(2)})
    assert repr(events) == "Events: 2 events of a, weights 1 to 3, 4 in all, columns t"
    assert repr(ctpwa.Events({"a": torch.ones(0, 4)})) == "Events: 0 events of a"
    assert "<td>a</td>" in ctpwa.Events({"a": torch.ones(0, 4)})._repr_html_()


def test_near_names_are_suggested(result):
    with pytest.raises(KeyError, match=re.escape(f"did you mean '{HOSTILE}.mass'")):
        result[f"{HOSTILE}.mas"]
    with pytest.raises(ctpwa.CtpwaError, match="not a free parameter but a fixed one"):
        result["phi(3)(1850).mass"]
    events = ctpwa.Events({"K+": torch.ones(1, 4)})
    with pytest.raises(KeyError, match=r"did you mean 'K[+]'"):
        events["K"]
    assert "K" not in events
    assert events.get("eta") is None
