"""Systems that are not supported are refused with one message, before anything that they lack is imported."""

import re
import runpy
import sys
from pathlib import Path

import pytest

import ctpwa

ROOT = Path(__file__).parents[1]
PACKAGE = Path(ctpwa.__file__).parent


@pytest.mark.parametrize(("platform", "name"), [("win32", "Windows"), ("cygwin", "Cygwin")])
def test_importing_ctpwa_there_ends_with_one_message(monkeypatch, platform, name):
    monkeypatch.setattr(sys, "platform", platform)
    for module in [module for module in sys.modules if module == "ctpwa" or module.startswith("ctpwa.")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ImportError) as caught:
        runpy.run_module("ctpwa", run_name="__main__")
    assert str(caught.value) == (
        f"ctpwa does not run on {name}: it needs Linux or macOS\n"
        " fix: install it in the Windows Subsystem for Linux (WSL), or in a Linux container"
    )
    assert [module for module in sys.modules if module.startswith("ctpwa.")] == ["ctpwa.platforms"]


def test_the_documentation_says_where_it_runs():
    for page in (ROOT / "README.md", ROOT / "docs" / "start.md"):
        text = page.read_text(encoding="utf-8")
        assert all(word in text for word in ("Linux", "aarch64", "macOS", "Windows", "WSL")), page.name
        assert re.search(r"CPU build", text), page.name
