"""CONTRIBUTING.md shows what a newcomer adds by one file and its test: its text is made into a package, whose tests run here."""

import importlib
import inspect
import re
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from ctpwa.cli.command import unregister_command
from ctpwa.cli.plugins import GROUP, load_plugins
from ctpwa.engine.backends.registry import unregister_backend
from ctpwa.model.lineshapes.registry import unregister_lineshape

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL))
TESTS = [(Path(name).stem, test) for name, text in FILES.items() for test in re.findall(r"^def (test_\w+)", text, re.MULTILINE)]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The name of the package, loaded as the command line loads it when it is installed."""
    folder = tmp_path_factory.mktemp("newcomer")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    entries = tomllib.loads(FILES["pyproject.toml"])["project"]["entry-points"]
    assert list(entries) == [GROUP]
    sys.path.insert(0, str(folder))
    try:
        assert load_plugins([EntryPoint(name, value, GROUP) for name, value in entries[GROUP].items()]) == []
        yield "my_package"
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == "my_package"]:
            del sys.modules[name]
        unregister_lineshape("damped")
        unregister_lineshape("delayed")
        unregister_command("masses")
        unregister_backend("counting")


def test_every_file_has_a_test():
    names = {Path(name).stem for name in FILES if name.startswith("my_package/")} - {"__init__"}
    added = {name for name in names if not name.startswith("test_")}
    assert len(added) >= 4
    assert names == added | {f"test_{name}" for name in added}


@pytest.mark.parametrize(("module", "test"), TESTS)
def test_what_contributing_shows(package, tmp_path, module, test):
    function = getattr(importlib.import_module(f"{package}.{module}"), test)
    function(**{"tmp_path": tmp_path} if inspect.signature(function).parameters else {})
