"""Generated modules that several processes want at once: whoever looks finds a whole file or none."""

import hashlib
import sys
from pathlib import Path
from threading import Lock

import pytest

from between import between_calls, seen_by_a_reader
from ctpwa.engine.codegen import generated_modules
from ctpwa.engine.codegen.generated_modules import load_generated

TEXT = "".join(f"X{i} = {i}\n" for i in range(50)) + "END = 'end'\n"
NAME = f"ctpwa_shared_{hashlib.sha256(TEXT.encode()).hexdigest()[:20]}"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Gives a new folder for generated files each time."""

    def new(name):
        monkeypatch.setenv("CTPWA_CACHE", str(tmp_path / name))
        return tmp_path / name / "kernels"

    return new


def load():
    """Load the module as a process that has not loaded it yet, whatever this one is about to do: with its own modules and its own lock."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generated_modules, "_loading", Lock())
        patch.delitem(sys.modules, NAME, raising=False)
        module = load_generated("shared", TEXT)
        del sys.modules[module.__name__]
    return module


def files(folder):
    return [path.name for path in folder.iterdir() if path.is_file()]


def test_a_reader_never_sees_half_a_file(cache):
    cache("first")
    name = Path(load().__file__).name
    path = cache("second") / name
    assert seen_by_a_reader(path, load) == [None, TEXT.encode()]
    path.write_text("X0 = 0\nX1", encoding="utf-8")  # a file that something else has spoilt
    assert seen_by_a_reader(path, load) == [b"X0 = 0\nX1", TEXT.encode()]


def test_two_processes_at_once(cache):
    """While one of them is anywhere on its way the other one does all of it, and a third one reads the file whenever it is there."""
    cache("alone")
    name = Path(load().__file__).name
    _, moments = between_calls(load, lambda _: None)
    for moment in range(0, moments, 7):
        folder = cache(str(moment))
        halves = []

        def look(folder=folder, halves=halves):
            if (folder / name).exists() and (folder / name).read_text(encoding="utf-8") != TEXT:
                halves.append(1)

        def other(count, moment=moment, look=look):
            look()
            if count == moment:
                module, _ = between_calls(load, lambda _: look())
                assert module.END == "end"

        module, count = between_calls(load, other)
        assert module.END == "end"
        assert count > moment
        assert not halves
        assert files(folder) == [name]
