"""Finished fits are kept, whatever happens: nothing is lost, nothing is done twice, nothing else is believed."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace

import pyarrow.parquet
import pytest

from ctpwa.base.errors import CtpwaError
from ctpwa.data.table_files import write_table
from ctpwa.studies.about import About
from ctpwa.studies.fit_record import FitRecord, from_columns, to_columns
from ctpwa.studies.store import MADE_BY, StudyStore, read_study, remove_study, save_study

BASE = FitRecord("base", -10.0, True, values={"m": 1.0}, errors={"m": 0.1})


def about(study="toys", seed=0, result="abc"):
    return About(study, {"seed": seed}, BASE, result, "A -> B C", {"m": "$m$"}, {"toys": 3}, ("a note",), "1", "now")


def record(key, **changes):
    return FitRecord(key, -1.5, True, **({"values": {"m": 1.25}, "numbers": {"score": 2.0}} | changes))


RECORDS = [
    record("0"),
    record("1", errors={"m": 0.5}, fractions={"X": 0.25}),
    FitRecord.failed("2", "no\n fix: nothing"),
    record("3", numbers={"far": math.inf}),
]


def same(a, b):
    return [own.as_dict() for own in a] == [own.as_dict() for own in b]


def test_records_as_columns_and_back():
    columns = to_columns(RECORDS)
    assert columns["value:m"] == [1.25, 1.25, None, 1.25]
    assert columns["fraction:X"] == [None, 0.25, None, None]
    assert same(from_columns(columns), RECORDS)


def test_a_file_and_back(tmp_path):
    save_study(tmp_path / "a.parquet", about(), RECORDS)
    found, records = read_study(tmp_path / "a.parquet")
    assert found == about()
    assert same(records, RECORDS)
    table = pyarrow.parquet.read_table(tmp_path / "a.parquet")  # others read it as a plain table
    assert table.column("fit").to_pylist() == ["0", "1", "2", "3"]
    assert table.column("value:m").to_pylist() == [1.25, 1.25, None, 1.25]


def test_what_was_added_is_there_without_an_end(tmp_path):
    store = StudyStore(about(), tmp_path / "a.parquet")
    store.add(RECORDS[0])
    store.add(*RECORDS[1:])  # then it is killed
    assert same(StudyStore(about(), tmp_path / "a.parquet").records.values(), RECORDS)


def test_a_line_that_was_cut_is_dropped_and_the_next_one_is_kept(tmp_path):
    store = StudyStore(about(), tmp_path / "a.parquet")
    store.add(RECORDS[2])
    store.add(*RECORDS[:2])
    (journal,) = tmp_path.glob(".*.journal")
    journal.write_bytes(journal.read_bytes()[:-20])
    store = StudyStore(about(), tmp_path / "a.parquet")
    assert list(store.records) == ["2", "0"]
    store.add(RECORDS[1])
    assert list(StudyStore(about(), tmp_path / "a.parquet").records) == ["2", "0", "1"]


def test_all_processes_are_joined_at_the_end(tmp_path):
    with StudyStore(about(), tmp_path / "a.parquet", rank=1) as second:
        second.add(RECORDS[1])
    with StudyStore(about(), tmp_path / "a.parquet") as first:
        first.add(RECORDS[0])
        first.finish()
    assert sorted(own.key for own in read_study(tmp_path / "a.parquet")[1]) == ["0", "1"]
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]


def test_other_processes_see_what_the_first_has_written(tmp_path):
    """Its hidden file is empty then."""
    first, second = (StudyStore(about(), tmp_path / "a.parquet", rank=rank) for rank in range(2))
    first.add(RECORDS[0])
    first.write()
    first.add(RECORDS[1])
    second.add(RECORDS[2])
    for store in (first, second):
        store.join_journals()
    assert sorted(first.records) == sorted(second.records) == ["0", "1", "2"]


def test_an_interrupted_study_has_a_file(tmp_path):
    def interrupted():
        with StudyStore(about(), tmp_path / "a.parquet") as store:
            store.add(RECORDS[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert same(read_study(tmp_path / "a.parquet")[1], RECORDS[:1])


def test_it_is_written_again_while_it_runs(tmp_path):
    store = StudyStore(about(), tmp_path / "a.parquet", every=0.0)
    store.add(RECORDS[0])
    assert len(read_study(tmp_path / "a.parquet")[1]) == 1
    store.add(RECORDS[1])
    assert len(read_study(tmp_path / "a.parquet")[1]) == 2
    assert len(StudyStore(about(), tmp_path / "a.parquet").records) == 2


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (about(seed=1), "seed was 1 and is 0"),
        (about(result="xyz"), "another fit"),
        (about(study="scan"), "it is of ctpwa scan"),
    ],
)
def test_another_study_is_not_gone_on_with(tmp_path, other, why):
    save_study(tmp_path / "a.parquet", other, RECORDS)
    with pytest.raises(CtpwaError, match=why):
        StudyStore(about(), tmp_path / "a.parquet")


def test_another_study_that_was_killed_early_is_not_lost(tmp_path):
    """Of the first process the file says what it is from its first fit on; of another one only lines may be there."""
    StudyStore(about(seed=1), tmp_path / "a.parquet").add(RECORDS[0])
    with pytest.raises(CtpwaError, match="seed was 1 and is 0"):
        StudyStore(about(), tmp_path / "a.parquet")
    StudyStore(about(seed=1), tmp_path / "b.parquet", rank=1).add(RECORDS[0])
    with pytest.raises(CtpwaError, match="holds another study"):
        StudyStore(about(), tmp_path / "b.parquet")
    remove_study(tmp_path / "b.parquet")
    assert not StudyStore(about(), tmp_path / "b.parquet").records


def test_lines_that_are_written_in_pieces_are_whole(tmp_path, monkeypatch):
    store, write = StudyStore(about(), tmp_path / "a.parquet"), os.write
    store.add(RECORDS[0])
    monkeypatch.setattr(os, "write", lambda number, content: write(number, content[:7]))
    store.add(*RECORDS[1:])
    assert same(StudyStore(about(), tmp_path / "a.parquet").records.values(), RECORDS)


def test_files_of_others_are_not_removed(tmp_path):
    (tmp_path / "a.parquet").write_text("hello")
    with pytest.raises(CtpwaError, match="is not removed"):
        remove_study(tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").read_text() == "hello"


def test_a_file_is_read_in_a_program_that_has_done_no_study(tmp_path):
    save_study(tmp_path / "a.parquet", about(), RECORDS[:1])
    code = "import sys, ctpwa.studies; print(type(ctpwa.studies.load_study(sys.argv[1])).__name__)"
    found = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.parquet")], capture_output=True, text=True, check=False)
    assert found.stdout == "Toys\n", found.stderr


def test_more_of_the_same_study_may_be_asked_for(tmp_path):
    save_study(tmp_path / "a.parquet", replace(about(), extent={"toys": 2}), RECORDS)
    assert len(StudyStore(replace(about(), extent={"toys": 9}), tmp_path / "a.parquet").records) == len(RECORDS)


COLUMNS = to_columns(RECORDS[:1])


@pytest.mark.parametrize(
    ("columns", "text", "made_by", "why"),
    [
        (COLUMNS, about().as_text(), "somebody", "another program"),
        (COLUMNS, "{", MADE_BY, "is not a study"),
        (COLUMNS, "[" * 5000, MADE_BY, "is not a study"),
        (COLUMNS, json.dumps({"schema": 99}), MADE_BY, "schema"),
        (COLUMNS, about().as_text().replace('"decay"', '"dekay"'), MADE_BY, "decay is missing"),
        (COLUMNS | {"odd": [1.0]}, about().as_text(), MADE_BY, "a column 'odd'"),
        ({**COLUMNS, "nll": ["x"]}, about().as_text(), MADE_BY, "nll is 'x'"),
        ({**COLUMNS, "value:m": ["x"]}, about().as_text(), MADE_BY, "not a number"),
        ({k: v * 2 for k, v in COLUMNS.items()}, about().as_text(), MADE_BY, "twice"),
    ],
)
def test_files_that_are_no_studies(tmp_path, columns, text, made_by, why):
    write_table(tmp_path / "a.parquet", columns, text, made_by)
    with pytest.raises(CtpwaError, match=why):
        read_study(tmp_path / "a.parquet")


def test_other_files(tmp_path):
    (tmp_path / "a.parquet").write_text("hello")
    with pytest.raises(CtpwaError, match="is not a study of ctpwa"):
        read_study(tmp_path / "a.parquet")
    with pytest.raises(CtpwaError, match="there is no file"):
        read_study(tmp_path / "b.parquet")


def test_a_disk_that_is_full(tmp_path):
    (tmp_path / "gone").mkdir()
    store = StudyStore(about(), tmp_path / "gone" / "a.parquet")
    (tmp_path / "gone").rmdir()
    with pytest.raises(CtpwaError, match="cannot write"):
        store.add(RECORDS[0])
