"""Files that are written whole or not at all."""

import os

import pytest

import ctpwa
from between import between_calls, seen_by_a_reader
from ctpwa.base.output import write_texts, written_whole

OLD, NEW = b"what was there before", b"a new text " * 100_000  # more than a buffer holds


def write(path):
    with written_whole(path) as temporary, open(temporary, "wb") as file:
        for part in range(0, len(NEW), 100_000):
            file.write(NEW[part : part + 100_000])


@pytest.mark.parametrize("old", [None, OLD])
def test_a_reader_never_sees_half_a_file(tmp_path, old):
    path = tmp_path / "a.json"
    if old is not None:
        path.write_bytes(old)
    assert seen_by_a_reader(path, lambda: write(path)) == [old, NEW]


def test_it_is_on_disk_before_it_replaces_anything(tmp_path, monkeypatch):
    """Or a crash of the machine could leave an empty file in place of the old one."""
    done, real = [], os.replace
    monkeypatch.setattr(os, "fsync", lambda number: done.append(os.fstat(number).st_size))
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("replaced"), real(*paths)))
    write(tmp_path / "a.json")
    assert done == [len(NEW), "replaced"]


def test_two_that_write_at_once_do_not_meet(tmp_path, monkeypatch):
    """While one of them is anywhere on its way the other one writes the same file; one of both is left, whole, and nothing else."""
    monkeypatch.setattr(os, "fsync", lambda number: None)
    path = tmp_path / "a.json"

    def texts(content):
        with written_whole(path) as temporary:
            temporary.write_text(content)

    _, moments = between_calls(lambda: texts("first"), lambda _: None)
    for moment in range(moments):
        between_calls(lambda: texts("first"), lambda count, moment=moment: texts("second") if count == moment else None)
        assert path.read_text() in ("first", "second")
        assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_the_temporary_file_has_the_same_suffix(tmp_path):
    """Writers look at it."""
    with written_whole(tmp_path / "a.root") as temporary:
        temporary.touch()
    assert (temporary.suffix, temporary.parent) == (".root", tmp_path)


def test_several_texts(tmp_path):
    paths = write_texts(tmp_path / "tables", {"a.tex": "α", "b.tex": ""})
    assert paths == [tmp_path / "tables" / "a.tex", tmp_path / "tables" / "b.tex"]
    assert [path.read_text(encoding="utf-8") for path in paths] == ["α", ""]
    assert write_texts(tmp_path / "tables", {"a.tex": "β"})[0].read_text(encoding="utf-8") == "β"
    (tmp_path / "file").touch()
    with pytest.raises(ctpwa.CtpwaError, match=r"it is a file\n fix: name a folder"):
        write_texts(tmp_path / "file", {})
    with pytest.raises(ctpwa.CtpwaError, match=r"No such file or directory\n fix: make the folder above it"):
        write_texts(tmp_path / "no" / "tables", {})
