"""Other hypotheses about a resonance: they are fitted to the same events, and the wrong ones lose."""

import math
from dataclasses import replace

import numpy as np
import pytest
import yaml

import ctpwa
from ctpwa.analysis.reopen import open_fit
from ctpwa.base.errors import PhysicsError
from ctpwa.config.alternatives import (
    alternative_document,
    free_alternative,
    jp_alternative,
    lineshape_alternative,
    ls_alternative,
    read_change,
)
from ctpwa.studies import Hypotheses, hypotheses, load_study
from ctpwa.studies.hypotheses_study import FITTED
from ctpwa.studies.hypothesis_fits import changed_analysis
from studies.cases import DENSITY, SUBTRACTED, TWO
from studies.fitted_toys import ABSENT, SEVERAL_WAVES, fit_toy_of

PHI3 = "phi(3)(1850)"


@pytest.fixture(scope="module")
def found(absent):
    return hypotheses(absent, PHI3, jp=["5-", "3--"], lineshape=["constant"], starts=2, toys=2, progress=False)


def named(study):
    return {own.name: own for own in study.ranked}


def test_the_wrong_ones_lose(found):
    assert found.ranked[0].name == FITTED
    assert {own.name for own in found.ranked} == {FITTED, "JP 5-", "lineshape constant"}
    assert all(own.nll - found.ranked[0].nll > 10 for own in found.ranked[1:])
    assert f"Best: {FITTED}" in found.headline
    assert found.notes == ("JP 3-- is what was fitted",)


def test_numbers_are_those_of_another_model_file(absent, found):
    """Of a model that says 5-, built for itself and fitted to the same events."""
    description = {key: value for key, value in absent.analysis.description.items() if key not in ("samples", "fit", "couplings")}
    description["resonances"] = description["resonances"] | {PHI3: {"in": "K+ K-", "JP": "5-"}}
    samples = absent.read()[0]
    other = ctpwa.build_likelihood(ctpwa.load_model(description), samples.data, samples.phase_space, engine="reference")
    result, own = ctpwa.fit(other, 4, progress=False), named(found)["JP 5-"]
    assert own.record.nll == pytest.approx(result.nll, abs=1e-6)
    assert own.parameters == len(result.parameters)
    assert own.aic == pytest.approx(result.aic, abs=1e-5)
    assert own.bic == pytest.approx(result.bic, abs=1e-5)


def test_the_fitted_one_is_found_again(absent, found):
    assert named(found)[FITTED].record.nll == pytest.approx(absent.result.nll, abs=1e-6)


def test_toys_separate_the_two_best(found):
    (own,) = found.separations
    assert own.first == FITTED
    assert own.failed == 0
    assert own.observed == pytest.approx(2 * (named(found)[own.second].nll - named(found)[FITTED].nll), rel=1e-12)
    assert (len(own.of_first), len(own.of_second)) == (2, 2)
    assert (own.of_first > 0).all()  # each wins in toys of its own
    assert (own.of_second > 0).all()
    assert own.second_true.beyond
    assert "separation" in [section.title for section in found.sections()]
    assert set(found.figures()) == {"hypotheses", "hypotheses-separation"}


def test_killed_and_resumed_it_is_the_same(absent, found, tmp_path, at_step):
    path, options = tmp_path / "study.parquet", {"jp": ["5-"], "lineshape": ["constant"], "starts": 2, "toys": 2, "progress": False}

    def stop():
        raise KeyboardInterrupt

    for where, done in (("hypotheses", 2), ("toys of the two best", 3)):
        with pytest.MonkeyPatch.context() as patch:
            at_step(where, stop, done=done, patch=patch)
            with pytest.raises(KeyboardInterrupt):
                hypotheses(absent, PHI3, path=path, **options)
    assert len(load_study(path).records) == 3 + 3
    study = hypotheses(absent, PHI3, path=path, **options)
    expected = {own.key: replace(own, seconds=0.0) for own in found.records}
    assert {own.key: replace(own, seconds=0.0) for own in study.records} == expected
    assert isinstance(load_study(path), Hypotheses)
    assert str(load_study(path)) == str(study)


def test_fewer_waves(tmp_path):
    """Of the three waves of f(2)(1270) the strongest is left out."""
    result = fit_toy_of(tmp_path, SEVERAL_WAVES, 4000)
    text = "production (0,1)(2,2)"
    study = hypotheses(tmp_path / "model.result.json", "f(2)(1270)", ls=[text], starts=2, progress=False)
    own = named(study)
    assert own[text].parameters == len(result.parameters) - 2
    assert own[text].nll > own[FITTED].nll
    assert math.isclose(own[text].bic, own[text].parameters * math.log(result.weight) + 2 * own[text].nll)


def test_descriptions(absent):
    data, model = absent.analysis.description, absent.model
    before = repr(data)
    document = alternative_document(data, model, PHI3, jp_alternative("1-"))
    assert [wave.name for wave in document.model.waves if PHI3 in wave.name] == [f"{PHI3}[K+ K-] (1,1)(1,0)"]
    assert f"{PHI3}[K+ K-] (3,3)(3,0)" not in document.data["couplings"]
    assert "phi(1680)[K+ K-] (1,1)(1,0)" in document.data["couplings"]
    constant = alternative_document(data, model, "phi(1680)", lineshape_alternative("constant")).model.resonances["phi(1680)"]
    assert (constant.lineshape, dict(constant.parameters)) == ("constant", {})
    changed = alternative_document(data, model, "X", free_alternative(read_change("{radius: 5, float: mass}"))).model.resonances["X"]
    assert (changed.radius, changed.floating) == (5, ("mass",))
    assert repr(data) == before
    assert ls_alternative("decay (1, 0)( 2,3/2)").change == {"decay_ls": [[1, "0"], [2, "3/2"]]}


def test_the_reference_wave_may_be_one_of_its_waves(absent):
    text = ABSENT.replace("starts: 1}", f'starts: 1, reference_wave: "{PHI3}[K+ K-] (3,3)(3,0)"}}')
    data = yaml.safe_load(text)
    assert "reference_wave" not in alternative_document(data, absent.model, PHI3, jp_alternative("1-")).data["fit"]
    assert "reference_wave" in alternative_document(data, absent.model, PHI3, lineshape_alternative("constant")).data["fit"]
    data["fit"]["limits"] = {"phi(1680)[K+ K-] (1,1)(1,0).re": [-1, 1]}
    with pytest.raises(PhysicsError, match=r"reference wave .* changes, and 'limits'"):
        alternative_document(data, absent.model, PHI3, jp_alternative("1-"))


@pytest.mark.parametrize(
    ("resonance", "options", "message"),
    [
        ("phi(9)", {"jp": ["1-"]}, "no resonance 'phi\\(9\\)'"),
        (PHI3, {}, "no other hypothesis"),
        (PHI3, {"jp": ["3-"]}, "is what was fitted"),
        (PHI3, {"jp": "3-"}, "one text, not a list"),
        (PHI3, {"jp": ["3/1"]}, "cannot read"),
        (PHI3, {"jp": ["2"]}, "has no parity"),
        (PHI3, {"jp": ["0+"]}, "JP 0\\+"),
        (PHI3, {"lineshape": ["no_such"]}, "unknown lineshape"),
        (PHI3, {"ls": ["(1,0)"]}, "cannot read"),
        (PHI3, {"ls": ["decay (2,0)"]}, "decay \\(2,0\\)"),
        (PHI3, {"change": [{}]}, "is no change"),
        (PHI3, {"change": [{"colour": "red"}]}, "colour"),
    ],
)
def test_wrong_input(absent, resonance, options, message):
    with pytest.raises(PhysicsError, match=message) as error:
        hypotheses(absent, resonance, **options)
    assert " fix: " in str(error.value)


def test_a_change_that_is_no_mapping():
    with pytest.raises(PhysicsError, match="is no change"):
        read_change("[1, 2")


def test_one_that_is_not_at_a_minimum_is_last(found):
    records = tuple(replace(own, numbers={**own.numbers, "ended": 0.0}) if own.key == FITTED else own for own in found.records)
    study = Hypotheses(found.about, tuple(own for own in records if "toy" not in own.key))
    assert study.ranked[-1].name == FITTED
    assert f"NOT at a minimum: {FITTED}" in study.headline
    assert np.isfinite(study.ranked[0].aic)


@pytest.mark.parametrize("samples", [DENSITY, SUBTRACTED, TWO], ids=["density", "subtracted", "two"])
def test_backgrounds_and_several_data_sets(fitted, samples):
    """Phase space that is generated along the resonances is that of the fit, for all hypotheses."""
    opened = open_fit(fitted(samples))
    study = hypotheses(opened, PHI3, jp=["1-"], starts=1, toys=1, progress=False)
    assert [own.name for own in study.ranked] == [FITTED, "JP 1-"]
    assert study.ranked[0].record.nll == pytest.approx(opened.result.nll, abs=1e-6)
    assert [len(toys) for own in study.separations for toys in (own.of_first, own.of_second)] == [1, 1]
    other = changed_analysis(opened.analysis, PHI3, jp_alternative("1-"))
    other.share_samples(opened.analysis)
    assert all(other.read(own.name).phase_space is opened.analysis.read(own.name).phase_space for own in other.data_sets)
