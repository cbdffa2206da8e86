"""Files that are written whole or not at all, and what killed processes leave behind."""

import os
import time
from pathlib import Path

import pytest

from ctpwa.base.errors import CtpwaError
from ctpwa.base.locks import OutputLock, hold
from ctpwa.base.output import _this_host, written_whole
from ctpwa.base.words import counted


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_was_there_stays_until_the_new_file_is_whole(tmp_path):
    goal = tmp_path / "a.txt"
    goal.write_text("old")
    with written_whole(goal) as file:
        file.write_text("new")
        assert file.suffix == ".txt"
        assert goal.read_text() == "old"
        assert len(names(tmp_path)) == 2
    assert (goal.read_text(), names(tmp_path)) == ("new", ["a.txt"])
    with pytest.raises(CtpwaError, match=r"cannot write .*: No space left on device\n fix: check permissions"), written_whole(goal):
        raise OSError(28, "No space left on device")
    with pytest.raises(KeyboardInterrupt), written_whole(goal):
        raise KeyboardInterrupt
    assert (goal.read_text(), names(tmp_path)) == ("new", ["a.txt"])


def test_files_that_killed_processes_left_are_removed_and_no_others(tmp_path):
    here, there = _this_host(), "0" * 8
    left, others, old = (
        tmp_path / name for name in (f".a.ctpwa-{here}-12345678.json", f".a.ctpwa-{there}-12345678.json", f".b.ctpwa-{there}-1234567f")
    )
    alike = [".a-12345678.json", ".ctpwa-notes", "a.ctpwa-notes.json", f".a.ctpwa-{here}-1234.json"]
    for path in (left, others, old, *(tmp_path / name for name in alike)):
        path.write_text("half")
    os.utime(old, (time.time() - 1e6,) * 2)
    (tmp_path / f".link.ctpwa-{here}-12345678").symlink_to(tmp_path / alike[0])
    with written_whole(tmp_path / "a.json") as file:
        file.write_text("whole")
    assert names(tmp_path) == sorted([others.name, *alike, "a.json", f".link.ctpwa-{here}-12345678"])


def test_files_of_living_processes_stay(tmp_path):
    """Another one writes at the same time into the same folder."""
    with written_whole(tmp_path / "a.json") as first:
        first.write_text("first")
        with written_whole(tmp_path / "a.json") as second:
            second.write_text("second")
        assert first.exists()
    assert (tmp_path / "a.json").read_text() == "first"
    assert names(tmp_path) == ["a.json"]


def test_a_held_file_is_held_once(tmp_path):
    path = tmp_path / "x"
    held = hold(path)
    assert hold(path) is None
    held.close()
    again = hold(path)
    assert again is not None
    again.close(remove=True)
    assert names(tmp_path) == []


def test_a_lock_that_is_taken_away_meanwhile_is_not_believed_in(tmp_path, monkeypatch):
    """Whoever held it removed it between opening and locking."""
    real, path = os.open, tmp_path / "x"

    def opened(*arguments):
        number = real(*arguments)
        if not opened.calls:
            path.unlink()
        opened.calls += 1
        return number

    opened.calls = 0
    monkeypatch.setattr("ctpwa.base.locks.os.open", opened)
    held = hold(path)
    assert opened.calls == 2
    assert os.path.samestat(os.fstat(held._descriptor), path.stat())
    held.close(remove=True)


def test_locks_that_were_left_behind_are_no_hindrance(tmp_path):
    goal = tmp_path / "a.json"
    (tmp_path / ".a.json.ctpwa-lock").write_text("process 1 on nowhere, since ever")
    lock = OutputLock(goal)
    lock.acquire()
    with pytest.raises(CtpwaError, match=rf"another fit is writing '.*a.json': process {os.getpid()} on "):
        OutputLock(goal).acquire()
    with written_whole(goal) as file:  # which cleans up
        file.write_text("whole")
    assert names(tmp_path) == [".a.json.ctpwa-lock", "a.json"]
    lock.release()
    assert names(tmp_path) == ["a.json"]


def test_a_lock_of_a_dead_process_of_this_machine_is_removed_with_the_next_file(tmp_path):
    lock = OutputLock(tmp_path / "a.json")
    lock.acquire()
    lock._held.close()  # as when the process ends
    with written_whole(tmp_path / "b.json") as file:
        file.write_text("whole")
    assert names(tmp_path) == ["b.json"]


def test_a_lock_where_nothing_can_be_written():
    with pytest.raises(CtpwaError, match=r"cannot write '/nowhere/a.json': No such file or directory\n fix: check permissions"):
        OutputLock(Path("/nowhere/a.json")).acquire()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (counted(1, "start"), "1 start"),
        (counted(0, "start"), "0 starts"),
        (counted(2, "minimum", "minima"), "2 minima"),
        (counted(1, "minimum", "minima"), "1 minimum"),
        (counted(12345, "event", shown="12 345"), "12 345 events"),
    ],
)
def test_numbers_and_their_nouns(text, expected):
    assert text == expected
