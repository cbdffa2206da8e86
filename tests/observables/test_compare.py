"""Comparisons of results: likelihood ratios, significances and differences against numbers computed by hand."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

import ctpwa
from ctpwa.base.errors import CtpwaError
from ctpwa.fitting.result import FittedCoupling, FittedParameter, FractionSet
from ctpwa.minimise.verdict import Verdict
from ctpwa.observables.compare import compare
from ctpwa.observables.significance import log_p_value, standard_deviations
from fitting.made_up import fractions, make_result

GOOD = Verdict(True, (), 1e-9, 10.0, (1.0,), (), (), ())
SAMPLES = ({"name": "data", "n_events": 1000, "weights": None, "notes": [], "files": [{"sha256": "aa"}], "weight_files": []},)
OTHER = ({**SAMPLES[0], "files": [{"sha256": "bb"}]},)
A, B, C = "phi(1680)[K+ K-] (1,1)(1,0)", "K*(1410)+[K+ eta] (1,1)(1,0)", "X(1750)[K+ K-] (1,1)(1,0)"


def result(nll, values, fixed=(), couplings=(A, B), samples=SAMPLES, **changes):
    """A result with lineshape parameters ``name=(value, error)`` and couplings of which the first is the reference."""
    parameters = [FittedParameter(name, value, error, value) for name, (value, error) in values.items()]
    parameters += [FittedParameter(f"{name}.{part}", 0.5, 0.1, 0.5) for name in couplings[1:] for part in ("re", "im")]
    found = [FittedCoupling(name, 0.5, 0.5, 0.70711, 0.1, math.pi / 4, 0.2) for name in couplings]
    found[0] = FittedCoupling(couplings[0], 1.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    names = ("phi(1680)", "K*(1410)", "X(1750)")[: len(couplings)]
    group = replace(fractions(*names), values=np.array([0.5, 0.3, 0.1])[: len(names)])
    sets = (FractionSet("", "phase space", {"waves": group, "resonances": group, "jp": group}, {}),)
    content = {
        "nll": nll,
        "parameters": tuple(parameters),
        "covariance": np.eye(len(parameters)),
        "corrected": False,
        "couplings": tuple(found),
        "fixed": dict(fixed),
        "verdict": GOOD,
        "samples": samples,
        "fractions": sets,
        "model": {"decay": "J/psi(1S) -> K+ K- eta", "resonances": {}},
        "settings": {},
    }
    return make_result(**(content | changes))


SMALL = {"phi(1680).mass": (1.660, 0.010)}
LARGE = SMALL | {"X(1750).mass": (1.75, 0.01), "X(1750).width": (0.12, 0.02)}


def test_likelihoods():
    found = compare([result(-1000.0, SMALL), result(-1012.5, LARGE, couplings=(A, B, C))], names=["without", "with"])
    without, with_ = found.fits
    assert (without.nll, without.delta, without.free_parameters) == (-1000.0, 25.0, 3)
    assert (with_.nll, with_.delta, with_.free_parameters) == (-1012.5, 0.0, 7)
    assert without.aic == 2 * 3 - 2000
    assert with_.bic == pytest.approx(7 * math.log(987.6543210987) - 2025)


def test_significance_of_a_resonance_has_a_range():
    """χ² of 25 with 2 degrees of freedom (one complex coupling), and with 4 (its mass and width as well)."""
    (test,) = compare([result(-1000.0, SMALL), result(-1012.5, LARGE, couplings=(A, B, C))], names=["without", "with"]).nested
    assert (test.smaller, test.larger, test.delta, test.ndf) == ("without", "with", 25.0, (2, 4))
    p2, p4 = math.exp(-12.5), math.exp(-12.5) * (1 + 12.5)  # closed forms for even numbers
    np.testing.assert_allclose(np.exp(test.log_p_values), [p2, p4], rtol=1e-12)
    for sigma, p in zip(test.sigmas, (p2, p4), strict=True):
        assert math.erfc(sigma / math.sqrt(2)) == pytest.approx(p, rel=1e-10)
    assert test.sigmas == pytest.approx((4.63, 4.05), abs=0.01)
    assert test.undefined == ("X(1750).mass", "X(1750).width")
    assert "X(1750).mass, X(1750).width have no meaning in without: Wilks' theorem does not hold" in test.notes[0]


def test_a_parameter_that_is_released_counts_in_any_case():
    fixed = result(-1000.0, {}, {"phi(1680).mass": 1.66})
    (test,) = compare([result(-1002.0, SMALL), fixed]).nested
    assert (test.ndf, test.undefined, test.notes) == ((1, 1), (), ())
    assert test.sigmas == pytest.approx((2.0, 2.0), rel=1e-9)  # √4
    assert np.exp(test.log_p_values[0]) == pytest.approx(math.erfc(math.sqrt(2)))


def test_a_wave_with_fixed_propagator():
    (test,) = compare([result(-1000.0, SMALL), result(-1003.0, SMALL, {"X(1750).mass": 1.75}, (A, B, C))]).nested
    assert (test.ndf, test.notes) == ((2, 2), ())
    assert np.exp(test.log_p_values[0]) == pytest.approx(math.exp(-3.0))


def test_a_parameter_at_a_limit():
    large = result(-1012.5, LARGE, couplings=(A, B, C))
    large = replace(large, parameters=(*large.parameters[:2], replace(large.parameters[2], at_limit=True), *large.parameters[3:]))
    (test,) = compare([result(-1000.0, SMALL), large], names=["a", "b"]).nested
    assert any("X(1750).width ended at a limit in b" in note for note in test.notes)


def test_three_models():
    middle = result(-1010.0, SMALL | {"X(1750).mass": (1.75, 0.01)}, {"X(1750).width": 0.1}, (A, B, C))
    every = [result(-1000.0, SMALL), middle, result(-1012.5, LARGE, couplings=(A, B, C))]
    tests = compare(every, names=["s", "m", "l"]).nested
    assert {(t.smaller, t.larger): t.ndf for t in tests} == {("s", "m"): (2, 3), ("s", "l"): (2, 4), ("m", "l"): (1, 1)}


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (result(-1001.0, SMALL, couplings=(A, C)), "is in one of them only"),
        (result(-1001.0, {}, {"phi(1680).mass": 1.7}, (A, B, C)), "'phi(1680).mass' is free in the model with fewer couplings, and fixed"),
        (result(-1001.0, SMALL, couplings=(A, B, C), decay="D0 -> K- pi+ pi0"), "they are of different decays"),
        (result(-1001.0, SMALL, couplings=(A, B, C), settings={"constraints": {"x": [1, 2]}}), "they have different constraints"),
        (
            result(-1001.0, SMALL, couplings=(A, B, C), model={"decay": "", "polarisation": "transverse"}),
            "they have different 'polarisation'",
        ),
        (result(-1001.0, SMALL), "they have the same parameters"),
    ],
)
def test_models_that_are_not_nested(other, reason):
    found = compare([result(-1000.0, SMALL), other], names=["a", "b"])
    assert found.nested == ()
    (note,) = [note for note in found.notes if note.startswith("a and b are not nested")]
    assert reason in note


def test_another_lineshape_of_the_same_resonance_is_not_nested():
    models = [{"resonances": {"phi(1680)": own}} for own in ({"in": "K+ K-"}, {"in": "K+ K-", "lineshape": "flatte"})]
    small, large = result(-1000.0, SMALL, model=models[0]), result(-1001.0, SMALL, couplings=(A, B, C), model=models[1])
    assert "phi(1680) has different 'lineshape'" in compare([small, large]).notes[-1]
    spelled = {"resonances": {"phi(1680)": {"in": "K+ K-", "lineshape": "breit_wigner"}}}
    assert compare([small, replace(large, model=spelled)]).nested


def test_values_that_are_fixed_elsewhere_are_not_nested():
    small, large = (result(-1000.0, {}, {"phi(1680).mass": mass}, names) for mass, names in ((1.6, (A, B)), (1.7, (A, B, C))))
    assert "'phi(1680).mass' is fixed to 1.6 in one, and to 1.7 in the other" in compare([small, large]).notes[-1]


def test_a_larger_model_that_is_worse_was_not_fitted_well():
    found = compare([result(-1000.0, SMALL), result(-999.0, LARGE, couplings=(A, B, C))], names=["a", "b"])
    assert found.nested == ()
    assert "b contains a and yet is worse by 2.00 in -2 ln L: its fit has not found the best minimum" in found.notes[0]


def test_weighted_events_have_no_wilks():
    found = compare([result(-1000.0, SMALL), result(-1010.0, LARGE, couplings=(A, B, C), corrected=True)], names=["a", "b"])
    assert found.nested == ()
    assert "with weighted events that is not distributed like chi2: use toys" in found.notes[0]


def test_different_samples():
    """Parameters are compared as those of independent measurements, likelihoods are not."""
    other = result(-2000.0, {"phi(1680).mass": (1.690, 0.020)}, samples=OTHER)
    found = compare([result(-1000.0, SMALL), other], names=["a", "b"])
    assert found.notes[0] == "-ln L cannot be compared: a and b are fits of different samples"
    assert [fit.delta for fit in found.fits] == [None, None]
    assert found.nested == ()
    (mass,) = [value for value in found.values if value.name == "phi(1680).mass"]
    assert mass.differences == (None, pytest.approx(0.030 / math.sqrt(0.01**2 + 0.02**2)))
    assert "Δ(-2 ln L)" in str(found)


def test_samples_that_moved_are_the_same():
    moved = ({**SAMPLES[0], "files": [{"sha256": "aa", "path": "elsewhere.root"}]},)
    assert compare([result(-1000.0, SMALL), result(-1001.0, SMALL, samples=moved)]).fits[0].delta == 2.0


def test_fits_in_python_do_not_say_what_they_are_of():
    pair = [result(-1000.0, SMALL, samples=()), result(-1002.0, SMALL | {"X(1750).mass": (1.7, 0.1)}, couplings=(A, B, C), samples=())]
    assert compare(pair).notes[0] == "-ln L cannot be compared: result 1 was fitted in Python and does not say to which events"
    assert compare(pair, same_samples=True).nested[0].delta == 4.0


def test_differences_of_fits_of_the_same_events():
    pair = [result(-1000.0, SMALL), result(-1012.5, LARGE | {"phi(1680).mass": (1.655, 0.03)}, couplings=(A, B, C))]
    values = {(value.kind, value.name): value for value in compare(pair).values}
    mass = values["lineshape parameters", "phi(1680).mass"]
    assert mass.values == (1.660, 1.655)
    assert mass.differences == (None, pytest.approx(-0.5))  # of the first one's error
    new = values["lineshape parameters", "X(1750).mass"]
    assert (new.values, new.differences) == ((None, 1.75), (None, None))
    assert values["fractions in % over phase space", "phi(1680)"].values == (50.0, 50.0)


def test_a_fixed_parameter_against_a_free_one():
    pair = [result(-1000.0, {}, {"phi(1680).mass": 1.70}), result(-1001.0, SMALL)]
    mass = next(value for value in compare(pair).values if value.name == "phi(1680).mass")
    assert mass.errors == (0.0, 0.01)
    assert mass.differences == (None, pytest.approx(-4.0))


def test_phases_know_of_full_turns():
    first, second = result(-1000.0, SMALL), result(-1001.0, SMALL)
    turned = [replace(r, couplings=(r.couplings[0], replace(r.couplings[1], phase=phase))) for r, phase in ((first, 3.1), (second, -3.1))]
    phase = next(value for value in compare(turned).values if value.kind.startswith("phases") and value.name == B)
    assert phase.differences[1] == pytest.approx((2 * math.pi - 6.2) / 0.2)


def test_couplings_to_different_reference_waves_are_not_compared():
    found = compare([result(-1000.0, SMALL), result(-1001.0, SMALL, couplings=(B, A))])
    assert "couplings are not compared: they are relative to different reference waves" in found.notes
    assert not any("couplings" in value.kind for value in found.values)


def test_a_bad_verdict_is_said():
    bad = replace(GOOD, good=False)
    found = compare([result(-1000.0, SMALL, verdict=bad), result(-1001.0, SMALL)], names=["a", "b"])
    assert "a: the verdict of the fit is not good" in found.notes
    assert "NOT good" in str(found)


def test_text():
    text = str(compare([result(-1000.0, SMALL), result(-1012.5, LARGE, couplings=(A, B, C))], names=["without", "with"]))
    lines = [line.split() for line in text.splitlines()]
    assert ["without", "-1000.000", "25.00", "3", "-1994.00", "-1979.31", "1000", "good"] in lines
    assert "with against without  25.00     2 to 4           3.7e-6 to 5.0e-5  4.6 to 4.1 σ" in text
    assert ["X(1750).mass", "-", "1.750", "±", "0.010"] in lines
    assert ["phi(1680).mass", "1.660", "±", "0.010", "1.660", "±", "0.010", "(+0.0", "σ)"] in lines


def test_dictionary_is_plain():
    import json

    found = compare([result(-1000.0, SMALL), result(-1012.5, LARGE, couplings=(A, B, C))], names=["without", "with"])
    content = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert content["fits"][0]["delta"] == 25.0
    assert content["nested"][0]["sigmas"] == list(found.nested[0].sigmas)


def test_names_of_files(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        make_result().save(tmp_path / folder / "model.result.json")
    make_result().save(tmp_path / "other.result.json")
    found = compare([tmp_path / "a" / "model.result.json", tmp_path / "other.result.json"])
    assert [fit.name for fit in found.fits] == ["model", "other"]
    paths = [str(tmp_path / folder / "model.result.json") for folder in ("a", "b")]
    assert [fit.name for fit in ctpwa.compare(paths).fits] == paths


@pytest.mark.parametrize(
    ("results", "names", "message"),
    [
        ([result(-1.0, SMALL)], None, "1 result to compare\n fix: give at least two"),
        ([result(-1.0, SMALL)] * 2, ["a"], "1 name for 2 results"),
        ([result(-1.0, SMALL)] * 2, ["a", "a"], "'a' is to be compared with itself\n fix"),
    ],
)
def test_wrong_use(results, names, message):
    with pytest.raises(CtpwaError, match=message):
        compare(results, names=names)


@pytest.mark.parametrize(("delta", "ndf"), [(0.5, 1), (25.0, 3), (900.0, 2), (1400.0, 5), (1400.0, 20), (5000.0, 4), (5000.0, 41)])
def test_probabilities_as_small_as_they_come(delta, ndf):
    mpmath.mp.dps = 40
    exact = mpmath.log(mpmath.gammainc(mpmath.mpf(ndf) / 2, mpmath.mpf(delta) / 2, regularized=True))
    assert log_p_value(delta, ndf) == pytest.approx(float(exact), rel=1e-12)
    sigma = standard_deviations(log_p_value(delta, ndf))
    assert float(mpmath.log(mpmath.erfc(mpmath.mpf(sigma) / mpmath.sqrt(2)))) == pytest.approx(float(exact), rel=1e-8)


def test_no_gain_is_no_significance():
    assert log_p_value(0.0, 2) == 0.0
    assert standard_deviations(0.0) == 0.0
