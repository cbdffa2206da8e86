"""Every Python example of the documentation runs."""

import re
import shutil
from pathlib import Path

import pytest

from ctpwa.model.lineshapes.registry import KINDS

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCKS = [
    (page.name, i, text)
    for page in PAGES
    for i, text in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
]


@pytest.fixture(autouse=True)
def _registry_as_before():
    """An example may register a lineshape."""
    before = dict(KINDS)
    yield
    KINDS.clear()
    KINDS.update(before)


def test_there_are_examples():
    assert any(page == "likelihood.md" for page, _, _ in BLOCKS)


@pytest.mark.parametrize(("page", "number", "text"), BLOCKS, ids=[f"{page}-{i}" for page, i, _ in BLOCKS])
def test_example_runs(page, number, text, tmp_path, monkeypatch):
    shutil.copy(ROOT / "examples" / "jpsi_kk_eta" / "model.yml", tmp_path / "model.yml")
    monkeypatch.chdir(tmp_path)
    exec(compile(text, f"{page}, example {number}", "exec"), {})
