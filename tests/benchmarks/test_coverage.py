"""benchmarks/coverage.py: numbers of its table by hand, its samples, and a tiny run from beginning to end."""

import importlib
import importlib.util
import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import yaml
from scipy.stats import norm

import ctpwa
from conftest import ROOT
from ctpwa.base import parts
from ctpwa.cli.demonstration import MODEL as DEMONSTRATION
from ctpwa.data.stream import Piece
from ctpwa.generate import ToySettings

MODEL = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1680): {in: K+ K-, mass: 1.659, width: 0.164, float: [mass]}
  K(2)*(1430): {in: [K+ eta, K- eta], mass: 1.427, width: 0.100}
couplings:
  phi(1680)[K+ K-] (1,1)(1,0): 1
  K(2)*(1430)+[K+ eta] (2,2)(2,0): {abs: 8, phase: 1}
"""
MODULES = ("common", "coverage_table", "coverage_toys")


@pytest.fixture(scope="module")
def bench():
    """The modules; the command itself not as ``coverage``, which is a package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        spec = importlib.util.spec_from_file_location("coverage_command", ROOT / "benchmarks" / "coverage.py")
        command = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(command)
        yield SimpleNamespace(command=command, table=sys.modules["coverage_table"], toys=sys.modules["coverage_toys"])
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def _threads():
    before = torch.get_num_threads(), parts.get_num_threads()
    yield
    torch.set_num_threads(before[0])
    parts.set_num_threads(before[1])


@pytest.fixture
def experiment(bench, tmp_path):
    (tmp_path / "model.yml").write_text(MODEL, encoding="utf-8")
    short = ToySettings(pilot_rounds=2, pilot_events=1 << 9, maximum_events=1 << 11)
    return bench.toys.Experiment(tmp_path / "model.yml", events=150, engine="reference", toys=short, reference=None)


def record(toy, pulls, error=1.0, names=("a", "b")):
    """A good fit with true values 3 and given pulls."""
    errors = [error * (i + 1) for i in range(len(pulls))]
    values = [3 + pull * own for pull, own in zip(pulls, errors, strict=True)]
    return {"toy": toy, "good": True, "seconds": 2.0, "names": names, "values": values, "errors": errors, "truth": [3.0] * len(pulls)}


def test_widths_of_fractions(bench):
    random = np.random.default_rng(4)
    pulls, own = random.normal(size=(400, 2)), random.normal(size=(400, 3)) * [0.8, 0.7, 0.9]
    records = many(pulls)
    for r, pull in zip(records, own, strict=True):
        fractions = record(r["toy"], pull, names=("x", "y", "z"))
        r["fractions"] = {key: fractions[key] for key in ("names", "values", "errors", "truth")}
    found = bench.table.summarise(records, records)
    np.testing.assert_allclose(found["fractions"]["width"], own.std(axis=0, ddof=1))
    (check,) = [check for check in found["checks"] if "fractions" in check["what"]]
    assert not check["passed"]
    assert (
        bench.table.row("x", bench.table.judged({"x": found})["x"])[10]
        == f"{found['fractions']['width'][0] / 3 + sum(found['fractions']['width'][1:]) / 3:.3f}"
    )


def many(pulls, **options):
    return [record(i, row, **options) for i, row in enumerate(pulls.tolist())]


def test_numbers_by_hand(bench):
    ideal = [record(toy, pulls) for toy, pulls in enumerate([(1, 0), (0, 0), (0, 1), (9, 9)])]
    bad = {"toy": 3, "good": False, "seconds": 8.0, "reason": "why"}
    fits = [record(toy, (*pulls, 0.5 * toy), 2.0, ("a", "b", "b.fraction")) for toy, pulls in enumerate([(2, 0.5), (0, 0.5), (1, 2.5)])]
    found = bench.table.summarise([*fits[::-1], bad], ideal)
    assert (found["fits"], found["not_good"], found["reasons"], found["seconds"]) == (4, 1, {"3": "why"}, 2.0)
    columns = found["parameters"]
    third = math.sqrt(4 / 3)  # width of 0.5, 0.5, 2.5
    np.testing.assert_allclose(columns["mean"], [1, 7 / 6, 0.5])
    np.testing.assert_allclose(columns["width"], [1, third, 0.5])
    np.testing.assert_allclose(columns["in_standard_errors"], [math.sqrt(3), 7 / 6 / third * math.sqrt(3), math.sqrt(3)])
    # differences to the ideal pulls are (1, 0, 1) and (0.5, 0.5, 1.5), with widths 1/√3; the fraction is compared with 0
    np.testing.assert_allclose(columns["difference_in_standard_errors"], [2 / 3 * 3, 5 / 6 * 3, math.sqrt(3)])
    assert found["largest_difference"] == pytest.approx(2.5)
    assert found["width"] == pytest.approx((1.5 + third) / 3)
    assert (found["narrowest"], found["widest"]) == (pytest.approx(0.5), pytest.approx(third))
    assert found["coverage_1"] == pytest.approx(5 / 9)  # |pull| below 1: one of a, two of b, two of the fraction
    assert found["coverage_2"] == pytest.approx(7 / 9)
    assert found["error_ratio"] == pytest.approx(2)
    assert [check["found"] for check in found["checks"][:3]] == ["1", "+2.5 (b)", "+1.73 (b.fraction)"]
    row = bench.table.row("mine", bench.table.judged({"mine": found})["mine"])
    assert row[:3] + row[3:5] + row[11:] == ["mine", "4", "1", "1.8 SE", "2.5 SE", "2.000", "2.00", "FAIL, not significant"]


def test_error_of_the_average_width(bench):
    pulls = np.random.default_rng(1).normal(size=(30, 4))
    left_out = [np.delete(pulls, i, axis=0).std(axis=0, ddof=1).mean() for i in range(30)]
    expected = math.sqrt(29 / 30 * np.sum((left_out - np.mean(left_out)) ** 2))
    assert bench.table._width_error(pulls) == pytest.approx(expected, rel=1e-12)


def test_what_passes_and_what_fails(bench):
    pulls = np.random.default_rng(2).normal(size=(4000, 2))
    pulls = (pulls - pulls.mean(axis=0)) / pulls.std(axis=0)

    def failed(own, ideal=pulls):
        (found,) = bench.table.judged({"own": bench.table.summarise(many(own), many(ideal))}).values()
        assert all(check["failed"] is not check["passed"] for check in found["checks"])  # 4000 toys: nothing is outside by chance
        assert found["passed"] == all(check["passed"] for check in found["checks"])
        return [check["what"].split()[0] for check in found["checks"] if not check["passed"]]

    other = np.roll(pulls, 1, axis=0)
    assert failed(pulls) == failed(other) == failed(pulls + 0.1, other + 0.1) == []
    assert failed(other + np.array([0.1, 0])) == ["means"]
    assert failed(other * [1.11, 1.0]) == ["average", "coverage"]
    assert failed(other * [1.2, 0.86]) == ["each"]


def test_the_largest_of_many_may_be_outside_by_chance(bench):
    pulls = np.random.default_rng(5).normal(size=(200, 10))
    pulls = (pulls - pulls.mean(axis=0)) / pulls.std(axis=0, ddof=1)
    right = many(pulls, names=tuple("abcdefghij"))
    others = {f"other {i}": bench.table.summarise(right, right) for i in range(2)}

    def judged(width, some):
        own = many(pulls * ([width] + 9 * [1]), names=tuple("abcdefghij"))
        return bench.table.judged({"own": bench.table.summarise(own, right), **some})

    alone, among = judged(1.155, {}), judged(1.155, others)  # 3.1 standard errors from 1
    each = [next(check for check in own["own"]["checks"] if check["what"].startswith("each")) for own in (alone, among)]
    one = 2 * norm.sf(0.155 * math.sqrt(2 * 199))
    assert [check["chance"] for check in each] == [pytest.approx(1 - (1 - one) ** 10), pytest.approx(1 - (1 - one) ** 30)]
    assert [check["failed"] for check in each] == [True, False]
    assert (alone["own"]["passed"], among["own"]["passed"], among["own"]["outside"]) == (False, True, 1)
    assert bench.table.verdict(among["own"]) == "pass, 1 outside by chance"
    assert "own outside: each width within 0.15 of 1: +0.155 (a), by chance in up to 5.8 % of such runs" in bench.table.table(among)
    # 0.17 % on both sides: 3.137 standard deviations, 3.18 of a t distribution
    assert "the largest of 30 means and of 30 widths with 200 toys would be 3.18 standard errors and 0.157" in bench.table.table(among)
    assert not judged(1.2, others)["own"]["passed"]


def test_few_toys_are_not_significant(bench):
    pulls = np.random.default_rng(3).normal(size=(200, 2))
    summaries = {
        "few": bench.table.summarise(many(2 * pulls[:20]), many(pulls)),
        "many": bench.table.summarise(many(2 * pulls), many(pulls)),
    }
    text = bench.table.table(bench.table.judged(summaries))
    assert [line.split(" | ")[-1] for line in text.splitlines()[2:4]] == ["FAIL, not significant |", "FAIL |"]
    assert "not significant, fewer than 200 toys: few." in text
    assert "many fails: average width within 0.05 of 1: " in text
    assert "few fails" not in text


def test_sweights_project_signal_out(bench):
    variable, yields = bench.toys.Variable(), np.array([150.0, 60.0])
    x, step = np.linspace(-5, 5, 4001, retstep=True)
    products = variable.sweights(x, yields) * variable.densities(x)
    integrals = step * (products.sum(axis=1) - (products[:, 0] + products[:, -1]) / 2)
    np.testing.assert_allclose(integrals, [1, 0], atol=1e-7)  # of a trapezoid rule
    assert variable.sweights(np.array([4.0]), yields)[0] < 0
    drawn = variable.draw(20_000, 10_000, np.random.default_rng(1))
    assert abs(variable.sweights(drawn, yields).sum() - 20_000) < 5 * math.sqrt((variable.sweights(drawn, yields) ** 2).sum())


def test_background_follows_its_density(bench, experiment):
    toys = bench.toys.Toys(experiment)
    density = toys.density

    def values(events):
        return density(Piece([events[name] for name in toys.model.final_names]))

    flat = values(ctpwa.generate_phase_space(toys.model, 20_000, seed=5))
    assert float(flat.max()) < density.largest(toys.model.decay)
    inverse = 1 / values(toys.background(4000, 0))  # its mean over events of the density is 1 / ∫ density
    error = float(inverse.std()) / math.sqrt(4000)
    assert abs(float(inverse.mean()) - 1 / float(flat.mean())) < 4 * error


@pytest.mark.usefixtures("_threads")
def test_a_tiny_run_continues_where_it_was(bench, experiment, tmp_path):
    names, out = ["ideal", "subtraction-30-5", "sweights", "extended"], tmp_path / "out"
    bench.command.run(experiment, names[:1], 2, 1, out)
    journal = out / "toys.jsonl"
    before = journal.read_text(encoding="utf-8")
    assert len(before.splitlines()) == 3
    journal.write_text(before + '{"setting": "ide', encoding="utf-8")  # killed while writing
    results = bench.command.run(experiment, names, 1, 1, out)
    after = journal.read_text(encoding="utf-8")
    assert after.startswith(before)
    assert results == json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert {name: own["fits"] for name, own in results["settings"].items()} == dict.fromkeys(names, 1)
    records = [json.loads(line) for line in after.splitlines()[1:]]
    assert [(r["setting"], r["toy"]) for r in records] == [("ideal", 0), ("ideal", 1), *((name, 0) for name in names[1:])]
    assert all(r["good"] for r in records), records
    bench.command.run(experiment, names[-1:], 1, 1, tmp_path / "alone")  # a fit is the same whatever was fitted before
    (alone,) = [json.loads(line) for line in (tmp_path / "alone" / "toys.jsonl").read_text(encoding="utf-8").splitlines()[1:]]
    assert alone == {**records[-1], "seconds": alone["seconds"]}
    ideal, _, subtracted, weighted, extended = records
    assert ideal["truth"] == subtracted["truth"] == weighted["truth"] == extended["truth"][:-2]
    assert extended["truth"][-2:] == [150, pytest.approx(150 * 3 / 7)]
    n_data = sum(bench.toys.Toys(experiment).make(0).counts[0.3][:2])
    assert sum(extended["values"][-2:]) == pytest.approx(n_data, rel=1e-6)  # the Poisson term
    line = bench.command.one_line(results)
    assert json.loads(line.removeprefix("COVERAGE "))["settings"].keys() == set(names)
    assert bench.command.run(experiment, names, 9, 1, out, minutes=-1)["settings"]["ideal"]["fits"] == 2  # what --table shows
    with pytest.raises(SystemExit, match="toys of another model, size, device or version"):
        bench.command.run(bench.toys.Experiment(experiment.file, events=151, reference=None), names, 2, 1, out)
    assert journal.read_text(encoding="utf-8") == after


@pytest.mark.usefixtures("bench")
def test_it_does_not_hide_the_package(monkeypatch):
    monkeypatch.delitem(sys.modules, "coverage", raising=False)
    with pytest.raises(ImportError, match="not the package"):
        importlib.import_module("coverage")


def description(text):
    """Of a model, without what only pictures and samples need."""
    found = yaml.safe_load(text.partition("\nsamples:")[0])
    for resonance in found["resonances"].values():
        resonance.pop("latex", None)
    return found


def test_models(bench):
    """That of the demonstration is written twice; the other is the same without a degenerate pair, or with a narrow state."""
    files = (bench.toys.EIGHT, bench.toys.SEVEN, bench.toys.SEVEN_PHI)
    eight, seven, narrow = (description(file.read_text(encoding="utf-8")) for file in files)
    assert eight == description(DEMONSTRATION)
    del eight["resonances"]["X(1750)"], eight["couplings"]["X(1750)[K+ K-] (1,1)(1,0)"]
    eight["resonances"]["K(4)*(2045)"]["float"] = ["mass", "width"]
    assert eight == seven
    del narrow["resonances"]["phi(1020)"], narrow["couplings"]["phi(1020)[K+ K-] (1,1)(1,0)"]
    assert narrow == seven
    assert bench.toys.Experiment().reference in seven["couplings"]
