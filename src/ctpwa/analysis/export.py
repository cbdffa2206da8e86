"""``export``: results as ROOT, CSV or LaTeX files."""

from __future__ import annotations

import os
from pathlib import Path

from ctpwa.analysis.reopen import OpenedFit, open_fit
from ctpwa.base.output import write_texts
from ctpwa.base.timing import phase
from ctpwa.config.read import load_model
from ctpwa.fitting.result import FitResult
from ctpwa.report.content import SystematicErrors
from ctpwa.report.export.csv_files import csv_tables
from ctpwa.report.export.latex import latex_tables
from ctpwa.report.export.root import write_root

FilePath = str | os.PathLike[str]


def export(
    result: FitResult | FilePath | OpenedFit,
    *,
    root: FilePath | None = None,
    csv: FilePath | None = None,
    latex: FilePath | None = None,
    projections: bool = True,
    systematic: SystematicErrors | None = None,
    engine: str = "auto",
    device: str | None = None,
    progress: bool | None = None,
) -> list[Path]:
    """Write a result for other programs and for papers; existing files are overwritten.

    Args:
        result:       a result, the file that it was saved to, or what ``open_fit`` returned
        root:         a ROOT file for histograms, and for weights of every event
        csv:          a folder for CSV files
        latex:        a folder for LaTeX tables
        projections:  whether to write CSV files of projections, which need the samples
        systematic:   systematic errors for LaTeX tables: ``errors`` of a study of ``ctpwa.studies.systematics``
        engine:       ``auto``, ``cuda``, ``cpu`` or ``reference``
        device:       where to compute; default: a GPU if there is one
        progress:     show progress bars; default: on a terminal when it takes more than two seconds

    Returns:
        the files written
    """
    opened = result if isinstance(result, OpenedFit) else None
    found = opened.result if opened is not None else (result if isinstance(result, FitResult) else FitResult.load(result))  # type: ignore[arg-type]
    projected = None
    if root is not None or (csv is not None and projections):
        opened = opened or open_fit(result)  # type: ignore[arg-type]
        projected = opened.project(engine, device, progress=progress)
    files = []
    if root is not None:
        assert opened is not None
        assert projected is not None
        sets = [(samples, projected[samples.name]) for samples in opened.read(progress=progress)]
        write_root(root, opened.intensity(engine, device), sets, progress=progress)
        files.append(Path(root))
    if csv is not None:
        with phase("tables"):
            texts = csv_tables(found, projected if projections else None)
        files += write_texts(csv, texts)
    if latex is not None:
        files += write_texts(latex, latex_tables(found, None if found.model is None else load_model(found.model), systematic))
    return files
