"""The kinds of files that commands write, and how each is recognised; ``--force`` replaces nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ctpwa.data.marks import mark_of
from ctpwa.output import Kind
from ctpwa.results.export_csv import is_table
from ctpwa.results.export_latex import WRITTEN_BY
from ctpwa.results.export_root import MADE_BY as EXPORTED

GENERATED = "ctpwa generate"
HEAD = 4096  # bytes in which a mark stands


def _json(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def _head(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(HEAD)


RESULT = Kind(
    "a result of ctpwa fit",
    lambda path: {"schema", "ctpwa", "parameters", "verdict"} <= _json(path).keys(),
    advice="add --resume to go on from it, --force to begin anew",
)
CHECKPOINT = Kind("a checkpoint of ctpwa fit", lambda path: {"checkpoint", "names", "values"} <= _json(path).keys())
SAMPLE = Kind("a sample of ctpwa generate", lambda path: mark_of(path) == GENERATED)
MODEL = Kind("a model file of ctpwa init", lambda path: b"written by ctpwa init" in _head(path).partition(b"\n")[0])
REPORT = Kind("a report of ctpwa report", lambda path: b'<meta name="generator" content="ctpwa ' in _head(path))
ROOT = Kind("a file of ctpwa export", lambda path: mark_of(path) == EXPORTED, "--root")
CSV = {".csv": Kind("a table of ctpwa export", is_table, "--csv")}
LATEX = {".tex": Kind("a table of ctpwa export", lambda path: _head(path).startswith(WRITTEN_BY.encode()), "--latex")}
FIGURES = {
    ".png": Kind("a figure of ctpwa report", lambda path: b"Software\0ctpwa" in path.read_bytes(), "--figures"),
    ".pdf": Kind("a figure of ctpwa report", lambda path: b"/Creator (ctpwa)" in path.read_bytes(), "--figures"),
}
