"""The kinds of files that commands write, and how each is recognised; ``--force`` replaces nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ctpwa.base.output import OutputKind
from ctpwa.data.marks import mark_of
from ctpwa.report.export.csv_files import is_table
from ctpwa.report.export.latex import WRITTEN_BY
from ctpwa.report.export.root import MADE_BY as EXPORTED
from ctpwa.studies.store import MADE_BY as STUDIED

GENERATED = "ctpwa generate"
HEAD = 4096  # bytes in which a mark stands


def _json(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def _head(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(HEAD)


RESULT = OutputKind(
    "a result of ctpwa fit",
    lambda path: {"schema", "ctpwa", "parameters", "verdict"} <= _json(path).keys(),
    advice="add --resume to continue it, --force to start over",
)
CHECKPOINT = OutputKind("a checkpoint of ctpwa fit", lambda path: {"checkpoint", "names", "values"} <= _json(path).keys())
SAMPLE = OutputKind("a sample of ctpwa generate", lambda path: mark_of(path) == GENERATED)
MODEL = OutputKind("a model file of ctpwa init", lambda path: b"written by ctpwa init" in _head(path).partition(b"\n")[0])
IMPORTED = OutputKind("a model file of ctpwa import", lambda path: b"written by ctpwa import" in _head(path).partition(b"\n")[0])
SERIALIZED = OutputKind("a model of ctpwa export", lambda path: {"distributions", "functions", "misc"} <= _json(path).keys(), "--out")
REPORT = OutputKind("a report of ctpwa report", lambda path: b'<meta name="generator" content="ctpwa ' in _head(path))
STUDY = OutputKind("a study of ctpwa", lambda path: mark_of(path) == STUDIED)
ROOT = OutputKind("a file of ctpwa export", lambda path: mark_of(path) == EXPORTED, "--root")
CSV = {".csv": OutputKind("a table of ctpwa export", is_table, "--csv")}
LATEX = {".tex": OutputKind("a table of ctpwa export", lambda path: _head(path).startswith(WRITTEN_BY.encode()), "--latex")}
PAPER = {".tex": replace(LATEX[".tex"], option="--paper")}
FIGURES = {
    ".png": OutputKind("a figure of ctpwa report", lambda path: b"Software\0ctpwa" in path.read_bytes(), "--figures"),
    ".pdf": OutputKind("a figure of ctpwa report", lambda path: b"/Creator (ctpwa)" in path.read_bytes(), "--figures"),
}
