"""Fits without resonances: what is lost, degrees of freedom, toys, and studies that were killed."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import ctpwa
from ctpwa.base.errors import CtpwaError, DataError, PhysicsError
from ctpwa.studies import Significance, load_study, significance
from ctpwa.studies.baseline import baseline
from ctpwa.studies.refits import ENDED, UNIT, has_ended
from ctpwa.studies.removal import Removal, without
from ctpwa.studies.significance_study import NDF
from studies.cases import DENSITY, SUBTRACTED, TWO
from studies.fitted_toys import ABSENT, SEVERAL_WAVES, TIED_SETS, fit_toy_of, opened_toy_of

PHI3 = "phi(3)(1850)"


@pytest.fixture(scope="module")
def found(absent):
    return significance(absent, starts=2, progress=False)


def named(study):
    return {own.name: own for own in study.removed}


def test_a_strong_resonance_is_significant_and_an_absent_one_is_not(found):
    own = named(found)
    assert own[PHI3].sigmas > 5
    assert own["X"].sigmas < 3
    assert found.removed[-1].name == "X"
    assert "Least significant: X" in found.headline


@pytest.mark.parametrize(
    ("fall", "steps", "edm", "known"),
    [(1e-4, 60, 1e-5, True), (1e-3, 60, 1e-5, False), (1e-4, 20, 1e-5, False), (1e-4, 60, 1e-2, False)],
    ids=["it hardly falls", "it still falls", "too short", "far from the minimum"],
)
def test_a_fit_that_does_not_end(absent, fall, steps, edm, known):
    """Two poles become one without a resonance: couplings grow for ever, and −ln L is known all the same."""
    result = absent.result
    verdict = replace(result.verdict, good=False, reasons=("not converged after 300 iterations",), edm=edm)
    record = replace(result.record, history=[result.nll - fall * k for k in range(steps)])
    assert has_ended(replace(result, verdict=verdict, record=record), 1.0) == known
    assert not has_ended(replace(result, verdict=replace(verdict, negative=({"a": 1.0},)), record=record), 1.0)


def test_numbers_are_those_of_a_model_without_it(absent, found):
    """Of a description that never had the resonance, fitted to the same events."""
    description = dict(absent.analysis.description)
    description["resonances"] = {name: own for name, own in description["resonances"].items() if name != PHI3}
    description["couplings"] = {name: own for name, own in description["couplings"].items() if PHI3 not in name}
    samples = absent.read()[0]
    smaller = ctpwa.build_likelihood(ctpwa.load_model({k: v for k, v in description.items() if k not in ("samples", "fit")}),
                                     samples.data, samples.phase_space, engine="reference")  # fmt: skip
    other = ctpwa.fit(smaller, 5, progress=False)
    own = named(found)[PHI3]
    assert own.record.nll == pytest.approx(other.nll, abs=1e-6)
    assert own.delta == pytest.approx(2 * (other.nll - absent.result.nll), abs=2e-6)
    assert own.ndf == len(absent.result.parameters) - len(other.parameters) == 2
    assert own.log_p_value == pytest.approx(stats.chi2.logsf(own.delta, 2), rel=1e-10)
    assert own.undefined == 0


def test_the_reference_wave_can_be_removed(found):
    own = named(found)["phi(1680)"]
    assert (own.ndf, own.record.good) == (2, True)


def test_sets_are_removed_together(absent, found):
    study = significance(absent, together=[["X", PHI3]], starts=1, progress=False)
    (both,) = study.removed
    assert both.name == f"{PHI3} and X"
    assert both.ndf == 4
    assert both.delta >= named(found)[PHI3].delta - 1e-6


def test_all_waves_of_a_resonance_count(tmp_path):
    fit_toy_of(tmp_path, SEVERAL_WAVES, 4000)
    own = named(significance(tmp_path / "model.result.json", starts=1, progress=False))
    assert own["f(2)(1270)"].ndf == 6  # three waves; nothing is left to fit
    assert own["f(2)(1270)"].record.values == {}
    assert own["f(0)(1500)"].ndf == 2  # one wave, although another one becomes the reference


def test_a_phase_that_was_known_through_it_counts(tmp_path):
    """K*(892) ties two sets of waves that do not interfere; without it, the phase between the waves of Lambda(1520) means nothing."""
    result = fit_toy_of(tmp_path, TIED_SETS, 4000)
    assert len(result.parameters) == 4
    (own,) = significance(tmp_path / "model.result.json", ["K*(892)"], starts=1, progress=False).removed
    assert own.record.good
    assert own.ndf == 3


@pytest.fixture(scope="module")
def floating(tmp_path_factory):
    """The mass of X, which is not there, floats with a constraint that is far from where it starts."""
    folder = tmp_path_factory.mktemp("floating")
    text = ABSENT.replace("width: 0.12}", "width: 0.12, float: [mass, width]}")
    text = text.replace("starts: 1}", "starts: 1, constraints: {X.mass: [2.0, 0.02], X.width: [0.12, 0.01]}}")
    return opened_toy_of(folder, text.replace("generate: 1500", "generate: 600"), 2000)


def test_floating_parameters_count_and_their_constraints_do_not_stay(floating):
    own = baseline(floating, progress=False)
    removal = Removal(own, ("X",))
    assert removal.undefined == ("X.mass", "X.width")
    assert removal.likelihood.constraints == {}
    value = own.likelihood.fixed({"X.mass": 2.0, "X.width": 0.12})
    x = dict(zip(own.result.names, own.x, strict=True)) | {"X[K+ K-] (1,1)(1,0).re": 0.0, "X[K+ K-] (1,1)(1,0).im": 0.0}
    start = np.array([removal.start[name] for name in removal.likelihood.names])
    assert removal.likelihood.value(start) == pytest.approx(value.value([x[name] for name in value.names]), abs=1e-8)
    (found,) = significance(floating, ["X"], starts=1, toys=1, progress=False).removed
    assert (found.ndf, found.undefined) == (4, 2)
    assert len(found.toys) + found.failed == 1


def test_weights_scale_away(absent, found):
    """All events with weight 3: −ln L is three times as large, and one standard deviation adds as much more."""
    own = baseline(absent, progress=False)
    heavy = own.likelihood.with_weights(np.full(own.likelihood.n_events, 3.0))
    smaller = without(heavy, ["X"])
    result = own.refit(smaller, Removal(own, ("X",)).start)
    assert heavy.unit == pytest.approx(3)
    delta = 2 * (result.nll - 3 * absent.result.nll) / heavy.unit
    assert delta == pytest.approx(named(found)["X"].delta, abs=1e-5)


@pytest.fixture(scope="module")
def with_toys(absent):
    return significance(absent, ["X"], toys=4, starts=1, seed=3, progress=False)


def test_toys_without_it_gain_little(with_toys):
    (own,) = with_toys.removed
    assert (len(own.toys), own.failed) == (4, 0)
    assert (own.toys > -1e-2).all()
    assert own.toys.max() < stats.chi2.isf(1e-6, 2)
    assert own.counted.extreme == (own.toys >= own.delta).sum()
    assert "calibrated with toys" in [section.title for section in with_toys.sections()]


def bare(study):
    """Records without how long they took."""
    return {own.key: replace(own, seconds=0.0) for own in study.records}


@pytest.mark.parametrize("where", ["fits without resonances", "toys without resonances"])
def test_killed_and_resumed_it_is_the_same(absent, with_toys, tmp_path, at_step, where):
    path = tmp_path / "study.parquet"

    def stop():
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        at_step(where, stop, done=1, patch=patch)
        with pytest.raises(KeyboardInterrupt):
            significance(absent, ["X"], toys=4, starts=1, seed=3, progress=False, path=path)
    assert 1 <= len(load_study(path).records) < 5
    study = significance(absent, ["X"], toys=4, starts=1, seed=3, progress=False, path=path)
    assert bare(study) == bare(with_toys)
    again = load_study(path)
    assert isinstance(again, Significance)
    assert str(again) == str(study)
    more = significance(absent, ["X", PHI3], starts=1, seed=3, progress=False, path=path)  # goes on in the same file
    assert {own.name for own in more.removed} == {"X", PHI3}
    assert bare(with_toys).items() <= bare(more).items()


def test_a_fit_that_is_better_without_says_nothing_about_significances(found):
    records = tuple(replace(own, nll=found.about.base.nll - 5.0) if own.key == "without X" else own for own in found.records)
    study = Significance(found.about, records)
    assert study.better_without == ("X",)
    assert "not at its best minimum" in study.headline
    assert " σ" not in str(study)
    assert study.figures() == {}


def test_a_fit_that_is_not_at_a_minimum_has_no_significance(found):
    record = next(own for own in found.records if own.key == f"without {PHI3}")
    study = Significance(found.about, (replace(record, good=False, reasons="not converged", numbers=dict(record.numbers) | {ENDED: 0.0}),))
    (own,) = study.removed
    assert np.isnan(own.sigmas)
    assert "NOT at a minimum" in study.headline
    assert "not converged" in str(study)
    assert record.numbers[NDF] == 2
    assert record.numbers[UNIT] == 1


def test_figures(found, with_toys, tmp_path):
    assert set(found.figures()) == {"significance"}
    files = with_toys.write_figures(tmp_path)
    assert {file.name for file in files} == {f"significance{part}.{end}" for part in ("", "-toys") for end in ("png", "pdf")}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resonances": ["phi(1681)"]}, "no resonance 'phi\\(1681\\)'"),
        ({"resonances": ["X", "X"]}, "named twice"),
        ({"resonances": "X"}, "one text, not a list"),
        ({"resonances": ["phi(1680)", PHI3, "K(2)*(1430)", "X"], "toys": -1}, "number of toys is -1"),
        ({"starts": 0}, "number of starts is 0"),
    ],
)
def test_wrong_input(absent, options, message):
    with pytest.raises((PhysicsError, DataError), match=message):
        significance(absent, **options)


def test_all_waves_cannot_be_removed(absent):
    with pytest.raises(CtpwaError, match=r"no wave is left without .* and X\n fix: name fewer resonances"):
        significance(absent, together=[["phi(1680)", PHI3, "K(2)*(1430)", "X"]], progress=False)


def test_weighted_events_have_no_toys(fitted, sweights):
    """Their weights are not known; without toys the note says that numbers are approximate."""
    study = significance(fitted(weights=sweights), [PHI3], starts=1, progress=False)
    assert "approximate" in study.notes[0]
    assert study.records[0].numbers[UNIT] == pytest.approx((sweights**2).sum() / sweights.sum())
    with pytest.raises(CtpwaError, match="weights"):
        significance(fitted(weights=sweights), [PHI3], starts=1, toys=2, progress=False)


@pytest.mark.parametrize("samples", [DENSITY, SUBTRACTED, TWO], ids=["density", "subtracted", "two"])
def test_backgrounds_and_several_data_sets(fitted, samples):
    study = significance(fitted(samples), [PHI3], starts=1, toys=2, seed=5, progress=False)
    (own,) = study.removed
    assert own.ndf == 2
    assert own.sigmas > 5
    assert (len(own.toys), own.failed) == (2, 0)
    assert own.toys.max() < 25
    assert ("approximate" in " ".join(study.notes)) == (samples == SUBTRACTED)
    fractions = {key: value for key, value in own.record.values.items() if key.endswith("fraction")}
    assert bool(fractions) == (samples == DENSITY)
