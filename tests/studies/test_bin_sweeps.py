"""Sweeps: neighbours supply solutions that the starts of a bin miss, whatever is done first, and whenever it is killed."""

from dataclasses import replace

import numpy as np
import pytest

import ctpwa
from ctpwa.studies import Bins, bins
from ctpwa.studies.bin_axes import Bin
from ctpwa.studies.bin_records import solution_key, sweep_key, sweep_solution_key
from ctpwa.studies.bin_sweeps import added_by, neighbours, solutions_of, starts_of
from ctpwa.studies.fit_record import FitRecord
from studies.produced import MODEL, write_samples

IN = "mass(eta, pi0): 1.2..1.6/4"
QUICK = {"starts": 1, "intervals": False, "progress": False}
LINE = [Bin(str(k), (k,), (float(k),), (k + 1.0,)) for k in range(5)]
SQUARE = [Bin(f"{a},{b}", (a, b), (float(a), float(b)), (a + 1.0, b + 1.0)) for b in range(2) for a in range(2)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Few events and many waves: several minima in every bin, of which a start finds one."""
    made = tmp_path_factory.mktemp("sweeps")
    (made / "model.yml").write_text(MODEL)
    write_samples(made, ctpwa.load_model(made / "model.yml"), 400, 4000, 4, 1.2, 1.6)
    (made / "model.yml").write_text(MODEL.replace("[1, -1]", "1").replace("2+: {m: 1", "2+: {m: [0, 1, 2]"))
    return made


@pytest.fixture(scope="module")
def swept(folder):
    return bins(folder / "model.yml", IN, **QUICK)


def minima(study):
    return [[own.record.nll for own in row] for row in study.solutions]


def record(key, nll=0.0, **numbers):
    return FitRecord(key, nll, True, numbers={"unit": 1.0} | numbers)


def by_key(*records):
    return {own.key: own for own in records}


class TestSweeps:
    def test_neighbours_supply_minima_that_starts_miss(self, folder, swept):
        alone = bins(folder / "model.yml", IN, sweeps=0, **QUICK)
        many = bins(folder / "model.yml", IN, sweeps=0, **QUICK | {"starts": 20})
        missed = [a[0] - b[0] for a, b in zip(minima(alone), minima(many), strict=True)]
        assert min(missed) > 0.1  # in every bin
        for found, expected in zip(minima(swept), minima(many), strict=True):
            assert found == pytest.approx(expected, abs=1e-4)

    def test_what_was_found_says_where_it_comes_from(self, swept):
        assert all(row[0].record.numbers["sweep"] >= 1 for row in swept.solutions)
        rows = next(section for section in swept.sections() if section.title == "bins").rows
        assert all(row[5].startswith("sweep ") for row in rows)
        assert [own.k for own in swept.solutions[0]] == list(range(len(swept.solutions[0])))

    def test_they_end_when_nothing_is_new(self, swept):
        last = max(int(own.key.split()[2]) for own in swept.records if "sweep" in own.key)
        assert 1 < last < swept.about.options["sweeps"]
        assert not any(added_by(own.key, swept.by_key, last) for own in swept.bins)

    @pytest.mark.parametrize("kept", [4, 7, 9, 12])
    def test_they_go_on_where_they_were_killed(self, folder, swept, tmp_path, kept):
        Bins(swept.about, swept.records[:kept]).save(tmp_path / "b.parquet")
        again = bins(folder / "model.yml", IN, path=tmp_path / "b.parquet", **QUICK)
        assert set(again.by_key) == set(swept.by_key)
        for key, own in swept.by_key.items():
            assert replace(again.by_key[key], seconds=0.0) == replace(own, seconds=0.0)

    def test_replicas_are_of_the_best_solution(self, folder, swept):
        own = bins(folder / "model.yml", IN, bootstrap=2, **QUICK)
        assert minima(own) == minima(swept)
        for bin, row in zip(own.bins, own.solutions, strict=True):
            total = own.by_key[f"{bin.key} replica 0"].numbers["events total"]
            assert total == pytest.approx(row[0].events["total"][0], rel=0.4)


class TestWhatASweepStartsFrom:
    def test_bins_without_a_fit_are_passed_over(self):
        found = neighbours(LINE, by_key(record("0"), FitRecord.failed("1", "no events"), record("2"), record("3")))
        assert found == {"0": ["2"], "2": ["0", "3"], "3": ["2"]}

    def test_two_axes(self):
        found = neighbours(SQUARE, by_key(*(record(own.key) for own in SQUARE)))
        assert {key: sorted(others) for key, others in found.items()} == {
            "0,0": ["0,1", "1,0"],
            "1,0": ["0,0", "1,1"],
            "0,1": ["0,0", "1,1"],
            "1,1": ["0,1", "1,0"],
        }

    def test_the_first_starts_from_all_solutions_and_later_ones_from_what_is_new(self):
        records = by_key(
            *(record(own.key, solutions=1.0 + (own.key == "1")) for own in LINE),
            record(solution_key("1", 1), 2.0),
            *(record(sweep_key(own.key, 1), solutions=float(own.key == "4")) for own in LINE),
            record(sweep_solution_key("4", 1, 0), -3.0),
        )
        first = starts_of(LINE, records, 12.5, 1)
        assert {key: [own.key for own in starts] for key, starts in first.items()} == {
            "0": ["1", "1 solution 2"],
            "1": ["0", "2"],
            "2": ["1", "1 solution 2", "3"],
            "3": ["2", "4"],  # and not what it adds itself
            "4": ["3"],
        }
        assert {key: [own.key for own in starts] for key, starts in starts_of(LINE, records, 12.5, 2).items()} == {
            "3": ["4 sweep 1 solution 1"]
        }
        assert starts_of(LINE, records, 12.5, 3) == {}

    def test_solutions_that_have_become_bad_are_left_out(self):
        records = by_key(
            record("0", 10.0, solutions=2.0),
            record(solution_key("0", 1), 11.0),
            record(sweep_key("0", 1), solutions=1.0),
            record(sweep_solution_key("0", 1, 0), -2.0),
            record(sweep_solution_key("0", 1, 1), -5.0),  # of a process that was killed: the sweep does not count it
        )
        assert [own.nll for own in solutions_of("0", records, 12.5, 0)] == [10.0, 11.0]
        assert [own.nll for own in solutions_of("0", records, 12.5, 1)] == [-2.0, 10.0]
        assert solutions_of("1", records, 12.5, 1) == []
        assert np.isnan(FitRecord.failed("2", "no events").nll)
        assert solutions_of("2", by_key(FitRecord.failed("2", "no events")), 12.5, 1) == []
