"""Generated modules on disk: named by content, whole or absent, safe with several processes."""

import sys
from pathlib import Path

import pytest

from ctpwa.engine.codegen import source
from ctpwa.engine.codegen.source import load_generated
from ctpwa.errors import CtpwaError
from engine.cases import make


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CTPWA_CACHE", str(tmp_path))
    return tmp_path / "kernels"


def files(folder):
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def forget(module):
    sys.modules.pop(module.__name__, None)


def test_a_module_is_written_once_and_found_by_its_content(folder):
    module = load_generated("demo", "ANSWER = 42\n")
    assert module.ANSWER == 42
    (name,) = files(folder)
    assert name == f"{module.__name__}.py"
    assert (folder / name).read_text(encoding="utf-8") == "ANSWER = 42\n"
    assert load_generated("demo", "ANSWER = 42\n") is module
    other = load_generated("demo", "ANSWER = 43\n")
    assert other.ANSWER == 43
    assert len(files(folder)) == 2
    forget(module)
    before = (folder / name).stat().st_mtime_ns
    assert load_generated("demo", "ANSWER = 42\n").ANSWER == 42
    assert (folder / name).stat().st_mtime_ns == before


def test_a_damaged_file_is_written_again(folder):
    text = "VALUE = 'λ → whole'\n"
    module = load_generated("damaged", text)
    path = Path(module.__file__)
    for content in ("VALUE = 'changed'\n", "VALUE = 'lam", ""):
        path.write_text(content, encoding="utf-8")
        forget(module)
        module = load_generated("damaged", text)
        assert module.VALUE == "λ → whole"
        assert path.read_text(encoding="utf-8") == text
    assert files(folder) == [path.name]


def test_nothing_is_left_when_writing_fails(folder, monkeypatch):
    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(source.os, "replace", broken)
    with pytest.raises(CtpwaError, match="disk full"):
        load_generated("unwritten", "X = 1\n")
    assert list(files(folder)) == []


def test_a_module_that_fails_is_not_kept(folder):
    text = "raise RuntimeError('broken')\n"
    for _ in range(2):
        with pytest.raises(RuntimeError, match="broken"):
            load_generated("broken", text)
    assert not any("broken" in name for name in sys.modules if name.startswith("ctpwa_broken"))


def test_the_folder_of_the_user_is_respected(tmp_path, monkeypatch):
    monkeypatch.setenv("CTPWA_CACHE", str(tmp_path / "deep" / "mine"))
    assert source.cache_folder() == tmp_path / "deep" / "mine" / "kernels"
    module = load_generated("elsewhere", "Y = 2\n")
    assert Path(module.__file__).is_relative_to(tmp_path / "deep" / "mine")
    monkeypatch.delenv("CTPWA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert source.cache_folder() == tmp_path / "xdg" / "ctpwa" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert source.cache_folder() == tmp_path / "home" / ".cache" / "ctpwa" / "kernels"


def test_these_tests_do_not_touch_the_cache_of_the_user(cache_folder):
    assert source.cache_folder() == cache_folder / "kernels"


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("CTPWA_CACHE", str(tmp_path / "file"))
    with pytest.raises(CtpwaError, match=r"cannot write generated kernels to .*\n fix: set CTPWA_CACHE"):
        load_generated("unwritable", "x = 1\n")


def test_prepared_kernels_are_those_that_are_used():
    """After ``prepare`` nothing is compiled any more, whatever is asked for."""
    like = make("small", "cpu")
    like.engine.prepare()
    module = like.engine._module
    kernels = {name: getattr(module, name) for name in ("sums_0", "sums_1", "sums_2", "columns", "intensities")}
    before = {name: list(kernel.signatures) for name, kernel in kernels.items()}
    assert all(len(signatures) == 1 for signatures in before.values())
    x = like.start
    like.value(x)
    like.value_and_grad(x)
    like.value_grad_hessian(x)
    like.intensity(x)
    assert {name: list(kernel.signatures) for name, kernel in kernels.items()} == before
