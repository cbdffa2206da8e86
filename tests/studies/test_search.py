"""Searches for missing resonances: what is there is found, what is not is not, and everything goes on where it was stopped."""

import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import make_app
from ctpwa.studies import MassRange, load_study, mass_scan, search, select_model
from ctpwa.studies.candidates import Candidate, in_groups
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.scanned import expected_crossings, peaks_first, upcrossings
from ctpwa.studies.selection import Rules, key_of
from ctpwa.studies.store import save_study
from ctpwa.studies.tried import after_trials, in_sigma, rank_correlation
from studies.small_resonance import ABSENT, MASS, MODEL, SCAN, SMALL, describe, fitted, toy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with data and the result of a fit without the small resonance."""
    folder = tmp_path_factory.mktemp("search")
    fitted(describe(folder, toy(400, 2))).save(folder / "model.result.json")
    return folder


@pytest.fixture(scope="module")
def result(folder):
    return ctpwa.FitResult.load(folder / "model.result.json")


@pytest.fixture(scope="module")
def found(folder, result):
    return search(result, [SMALL, ABSENT, "phi(1020)", "K*(1410)"], starts=1, path=folder / "found.parquet")


def test_what_is_there_is_found(found):
    by_name = {own.name: own for own in found.tried}
    assert by_name[SMALL].sigma > 5
    assert by_name[ABSENT].sigma < 3
    assert found.ranked[0].name == SMALL
    assert found.correlation[0] > 0.75
    assert f"The best is {SMALL}" in found.headline
    assert "rank correlation of" in found.headline


def test_a_weak_wave_gains_what_the_score_says(found):
    weak = [own for own in found.tried if own.gain < 12]
    assert weak
    np.testing.assert_allclose([own.S for own in weak], [own.gain for own in weak], rtol=0.3, atol=0.3)


def test_a_fit_is_that_of_a_model_with_the_candidate(found, result):
    """By a fit of the whole model from the same samples."""
    description = dict(result.model) | {"resonances": MODEL["resonances"] | {SMALL: {"in": "K+ K-", "mass": MASS, "width": 0.087}}}
    whole = ctpwa.load_analysis(description).fit(starts=3, progress=False, simulation=False)
    (own,) = [own for own in found.tried if own.name == SMALL]
    assert own.gain == pytest.approx(2 * (result.nll - whole.nll), abs=1e-4)
    assert own.gain_ndf == len(whole.names) - len(result.names) == 2


def test_its_file_says_the_same(found, folder, result):
    assert str(load_study(folder / "found.parquet")) == str(found)
    assert set(found.figures()) == {"search"}
    again = search(result, [SMALL, ABSENT], starts=1, path=folder / "found.parquet")
    assert [own.gain for own in again.tried] == [own.gain for own in found.tried[:2]]
    assert len(again.records) == len(found.records)


def test_the_best_by_their_score_are_fitted(result):
    some = search(result, {SMALL: None, "Y": {"in": "K+ K-", "JP": "1-", "mass": 2.3, "width": 0.1}}, refit=1, starts=1)
    assert [np.isfinite(own.gain) for own in some.tried] == [True, False]
    assert np.isfinite(some.tried[1].S)


def test_all_states_of_the_pdg(result):
    everything = search(result, refit=0)
    names = {own.name for own in everything.tried}
    assert {SMALL, ABSENT, "phi(1020)", "K*(1410)"} <= names
    assert not names & set(MODEL["resonances"])
    assert all(np.isfinite(own.S) for own in everything.tried)


def test_a_model_that_has_a_lower_minimum_itself_is_noticed(found):
    """What a better minimum of the model brings is not counted for a candidate."""
    better = replace(found.records[-1], numbers=dict(found.records[-1].numbers) | {"base": found.about.base.nll - 4})
    other = type(found)(found.about, (*found.records[:-1], better))
    assert other.tried[0].gain == pytest.approx(found.tried[0].gain - 8)
    assert "has a lower minimum than the fit, by 2 Δ ln L = 8" in other.notes[0]
    assert not found.notes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["phi(1680)"], r"'phi\(1680\)' is in the fit already\n fix: add another state"),
        (["nonsense"], "'nonsense' is no state that ctpwa init would list"),
        ([SMALL, "phi3(1850)"], "is there twice"),
        ([], "there is no candidate"),
        (["X: {in: K+ K-, JP: 1-}"], "X: .*mass"),
        (["X: {in: K+ K-, JP: 1-, mass: 1.6, width: 0.1, colour: red}"], "X: .*colour"),
        (["X: 3"], "is not a candidate"),
        ({"phi(1680)": {"in": "K+ K-"}}, "is in the model already"),
        ("phi(1020)", "candidates are the text"),
    ],
)
def test_wrong_candidates(result, given, message):
    with pytest.raises(ctpwa.CtpwaError, match=message) as error:
        search(result, given)
    assert " fix: " in str(error.value)


def test_groups_have_so_many_couplings():
    candidates = [Candidate(str(k), {}, couplings=n) for k, n in enumerate([3, 3, 5, 9, 1, 1])]
    assert [[own.name for own in group] for group in in_groups(candidates, 6)] == [["0", "1"], ["2"], ["3"], ["4", "5"]]


# scans of a mass


def test_a_mass_scan_peaks_where_the_resonance_is(result, folder):
    scan = mass_scan(result, SCAN, refit=2, toys=1, starts=1, path=folder / "scan.parquet")
    mass, error = scan.peak_mass
    assert abs(mass - MASS) < 2 * error
    assert abs(float(scan.best.remark) - MASS) <= 0.051
    gain, ndf = scan.local
    assert ndf == 2
    assert in_sigma(gain, ndf) > 5
    assert scan.global_log_p > np.log(np.finfo(float).tiny)
    (toy,) = scan.toys
    assert toy.numbers["S"] < gain
    assert scan.crossings == toy.numbers["crossings"]
    assert str(load_study(folder / "scan.parquet")) == str(scan)
    assert set(scan.figures()) == {"mass-scan-X"}


def test_the_text_of_a_scan():
    expected = MassRange("X", "1-", ("K+ K-",), 1.0, 2.5, 60, 0.1)
    for text in ("X: 1- in K+ K-, mass 1.0..2.5/60, width 0.1", "X: J^P=1- in K+ K- mass 1..2.5/60 width .1"):
        assert MassRange.read(text) == expected
    assert MassRange.read("Z: 1+ in K+ eta and K- eta, mass 1..2/5, width 0.2").systems == ("K+ eta", "K- eta")
    np.testing.assert_allclose(expected.masses[[0, -1]], [1.0, 2.5])


@pytest.mark.parametrize(
    "text", ["X", "X: 1- in K+ K-, mass 2..1/5, width 0.1", "X: 1- in K+ K-, mass 1..2/2, width 0.1", "X: 1- in K+ K-"]
)
def test_wrong_texts_of_a_scan(text):
    with pytest.raises(ctpwa.CtpwaError, match=" fix: "):
        MassRange.read(text)


def test_peaks_are_fitted_first():
    assert peaks_first(np.array([1.0, 5.0, 9.0, 8.0, 2.0, 3.0, np.nan])) == [6, 2, 5, 3, 1, 4, 0]


def test_upcrossings_of_a_chi_squared_field():
    """A smooth field of two normal numbers: its square rises above a level as often as the formula says, from one level to another."""
    random, n = np.random.default_rng(1), 200
    kernel = np.exp(-0.5 * (np.arange(-30, 31) / 8) ** 2)
    kernel /= np.sqrt((kernel**2).sum())
    fields = [sum(np.convolve(random.normal(size=2000), kernel, "valid") ** 2 for _ in range(2)) for _ in range(n)]
    low, high = (np.mean([upcrossings(field, level) for field in fields]) for level in (1.0, 9.0))
    assert high == pytest.approx(expected_crossings(9.0, 1.0, low, 2), rel=4 / np.sqrt(n * high))


def test_numbers_of_many_trials():
    assert after_trials(12.0, 2, 1) == pytest.approx(in_sigma(12.0, 2))
    assert after_trials(60.0, 2, 10) == pytest.approx(in_sigma(60.0 - 2 * np.log(10), 2), rel=1e-9)  # p = exp(−S/2)
    assert after_trials(0.0, 2, 10) == 0
    assert rank_correlation([(1, 10), (2, 20), (3, 30), (4, 5)]) == pytest.approx(-0.2)
    assert np.isnan(rank_correlation([(1, 1), (2, 2), (3, 3)]))


# selection


@pytest.fixture(scope="module")
def selected(folder, result):
    return select_model(result, [SMALL, ABSENT], by="significance", refit=1, starts=1, path=folder / "selection.parquet")


def test_a_selection_adds_what_is_there(selected):
    assert selected.resonances == tuple(sorted([SMALL, *MODEL["resonances"]]))
    assert [own.move.name for own in selected.steps] == [SMALL]
    assert selected.finished
    assert set(selected.figures()) == {"selection"}


def test_a_selection_goes_on_where_it_was_stopped(selected, folder, result, tmp_path):
    assert str(load_study(folder / "selection.parquet")) == str(selected)
    save_study(tmp_path / "part.parquet", selected.about, selected.records[:3])
    assert not load_study(tmp_path / "part.parquet").finished
    again = select_model(result, [SMALL, ABSENT], by="significance", refit=1, starts=1, path=tmp_path / "part.parquet")
    assert [(own.key, own.nll) for own in again.records] == [(own.key, own.nll) for own in selected.records]


def test_the_final_model_is_written(selected, folder):
    selected.write_model(folder / "model2.yml")
    again = ctpwa.load_analysis(folder / "model2.yml")
    likelihood = again.likelihood()
    nll = selected.by_key[f"fit: {key_of(selected.resonances)}"].nll
    assert float(likelihood.value(again.start(likelihood))) == pytest.approx(nll, abs=1e-6)
    with pytest.raises(ctpwa.CtpwaError, match="already exists\n fix: "):
        selected.write_model(folder / "model2.yml")


def test_what_is_not_needed_is_removed(folder, tmp_path):
    """Of the true resonances and one that is absent, the latter is removed, and nothing is added."""
    full = describe(tmp_path) | {
        "resonances": MODEL["resonances"] | {SMALL: {"in": "K+ K-", "mass": MASS, "width": 0.087}, ABSENT: {"in": ["K+ eta", "K- eta"]}}
    }
    own = select_model(fitted(full), ["phi(1020)"], by="bic", refit=1, starts=1)
    assert [(step.move.action, step.move.name) for step in own.steps] == [("remove", ABSENT)]
    assert own.resonances == tuple(sorted([SMALL, *MODEL["resonances"]]))
    assert list(own.model()["resonances"]) == [*MODEL["resonances"], SMALL]


def made_up(values, by, refit=None):
    """A selection of made-up fits: resonances → −2 ln L, each with one parameter."""
    rules = Rules(by, 3.0, refit, frozenset("a"), ("b", "c"), values["a"] / 2, 1, 1000.0)
    records = {}
    while (wanted := rules.follow(records)[1]) is not None:
        key = key_of(wanted.state)
        if not wanted.moves:
            numbers = {f"{word} {name}": 1.0 for name in rules.possible(wanted.state) for word in ("S", "ndf")}
            records[f"score: {key}"] = FitRecord(f"score: {key}", 0.0, True, numbers=numbers)
        for action, name in wanted.moves:
            state = wanted.state | {name} if action == "add" else wanted.state - {name}
            key = f"fit: {key_of(state)}"
            assert key not in records
            nll = values[key_of(state).replace(" + ", "")] / 2
            records[key] = FitRecord(key, nll, np.isfinite(nll), numbers={"free": float(len(state))})
    return ["".join(sorted(own.state)) for own in rules.follow(records)[0]]


@pytest.mark.parametrize("by", ["aic", "bic", "significance"])
def test_the_rules_of_a_selection(by):
    """The best is added first; what it makes superfluous is removed; what is not good is never taken."""
    values = {"a": 100.0, "b": 90.0, "c": 95.0, "ab": 60.0, "ac": 85.0, "bc": 50.0, "abc": 49.5}
    assert made_up(values, by) == ["ab", "abc", "bc"]
    assert made_up(values | {"bc": np.nan}, by) == ["ab", "abc"]
    assert made_up(values | {"ab": np.nan}, by)[0] == "ac"
    assert made_up(values | {"abc": 59.0}, by) == ["ab"]


def test_the_limits_of_a_selection():
    """A gain of 8 with one parameter: 2.8 standard deviations, more than AIC and BIC of 1000 events ask for."""
    values = {"a": 100.0, "b": 100.0, "ab": 92.0, "c": 100.0, "ac": 100.0, "bc": 100.0, "abc": 92.0}
    assert [made_up(values, by) for by in ("aic", "bic", "significance")] == [["ab"], ["ab"], []]
    assert [made_up(values | {"ab": 94.0, "abc": 94.0}, by) for by in ("aic", "bic")] == [["ab"], []]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "chi2"}, "unknown criterion 'chi2'"),
        ({"by": "bic", "threshold": 3}, "a threshold of 3 with the criterion 'bic'"),
        ({"by": "significance", "threshold": -1}, "a threshold of -1"),
        ({"refit": 0}, "the number of fits is 0"),
    ],
)
def test_wrong_selections(result, options, message):
    with pytest.raises(ctpwa.CtpwaError, match=message):
        select_model(result, [SMALL], **options)


# the command


def run(*arguments):
    return CliRunner().invoke(make_app(), ["search", *map(str, arguments)])


def test_the_command(folder):
    (folder / "candidates.yml").write_text("X: {in: K+ K-, JP: 3-, mass: 1.85, width: 0.1}\n")
    done = run(folder / "model.result.json", "--add", folder / "candidates.yml", "--starts", 1, "--figures", folder / "figures")
    assert done.exit_code == 0, done.output
    assert "1 candidate, 1 of them fitted. The best is X: 2 Δ ln L = " in done.output
    assert {file.name for file in (folder / "figures").iterdir()} == {"search.pdf", "search.png"}
    assert (folder / "model.search.parquet").exists()
    done = run(folder / "model.result.json", "--add", SMALL, "--select", "aic", "--starts", 1, "--write", folder / "model3.yml")
    assert done.exit_code == 0, done.output
    assert f"Added: {SMALL}. Removed: nothing." in done.output
    assert SMALL in ctpwa.load_model(folder / "model3.yml").resonances
    done = run(folder / "model.result.json", "--add", SMALL, "--select", "aic", "--starts", 1, "--write", folder / "model3.yml")
    assert done.exit_code == 1
    assert re.search(r"model3.yml' already exists\s+fix: name another file with --write", done.output)
    done = run(folder / "model.result.json", "--scan", SCAN, "--refit", 0)
    assert done.exit_code == 0, done.output
    assert (folder / "model.search-X.parquet").exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--scan", SCAN, "--add", SMALL],
        ["--scan", SCAN, "--select", "bic"],
        ["--select", "chi2"],
        ["--threshold", "3"],
        ["--toys", "3"],
        ["--write", "x.yml"],
        ["--refit", "-1"],
        ["--refit", "some"],
    ],
)
def test_wrong_usage(folder, options):
    assert run(folder / "model.result.json", *options).exit_code == 2
