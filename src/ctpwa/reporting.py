"""``write_report``: everything that was found, as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ctpwa.engine.channels import model_channels
from ctpwa.model.lineshapes.formula import Formula
from ctpwa.model.model import Model
from ctpwa.reopen import OpenedFit, open_fit
from ctpwa.report.html.content import DataSetView, LineshapeView, ReportContent
from ctpwa.report.html.page import write_page
from ctpwa.results.projections import Projected
from ctpwa.results.result import FitResult


def write_report(
    result: FitResult | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    engine: str = "auto",
    device: str | None = None,
    progress: bool | None = None,
) -> OpenedFit:
    """Write a report of a fit as one HTML file that needs no network and no other file.

    Args:
        result:    a result, or the file that it was saved to
        path:      where to write
        engine:    ``auto``, ``cuda``, ``cpu`` or ``reference``
        device:    where to compute; default: a GPU if there is one
        progress:  show progress bars; default: on a terminal when it takes more than two seconds
    """
    opened = open_fit(result)
    projected = opened.project(engine, device, progress=progress)
    write_page(report_content(opened, projected), path)
    return opened


def report_content(opened: OpenedFit, projected: Mapping[str, Projected]) -> ReportContent:
    """Everything that a report shows.

    Args:
        opened:     the result and what it came from
        projected:  projections of every data set
    """
    views = []
    for samples in opened.read():
        words = f"The fit is drawn with {samples.phase_space.n_events:,} phase-space events."
        views.append(DataSetView(samples.name, projected[samples.name], note=words.replace(",", " ")))
    return ReportContent(
        opened.result,
        opened.model,
        tuple(views),
        lineshapes=lineshape_views(opened.model),
        files={"result": Path(opened.path).name} if opened.path else {},
    )


def lineshape_views(model: Model) -> tuple[LineshapeView, ...]:
    """Every formula once, with the resonances that use it."""
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    for placed in model_channels(model).placed:
        for place in placed:
            shape = place.lineshape
            latex = shape.latex if isinstance(shape, Formula) else ""
            found.setdefault((shape.name, latex, getattr(shape, "reference", "")), {})[place.resonance.latex] = None
    return tuple(LineshapeView(name, latex, reference, tuple(users)) for (name, latex, reference), users in found.items())
