"""Histograms and weights of every event in a ROOT file, to go on in other programs.

For every data set, in a folder of its name if it has one:

    projections/VARIABLE/data, background, fit, interference          TH1D in bins of the data
    projections/VARIABLE/groups/…, waves/…, jp/…                      contributions
    projections/VARIABLE/backgrounds/…                                backgrounds that are densities, if there are any
    projections/VARIABLE/fine/signal, interference, groups/…, …       the same in narrower bins, without background, if there are any
    dalitz/data, fit, pull                                            TH2D
    phase_space                                                       TTree: weight, fit, group_…, wave_…, background_…
    data, background                                                  TTree: weight, intensity, group_…, wave_…

``fit`` and the branches next to it say how many events a phase-space event stands for; the sum of ``fit`` is the measured signal, and
that of ``background_…`` what the fit found of it. ``names`` is a
text in JSON: what every name in the file stands for. ``made_by`` says that ctpwa has written the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from ctpwa.data.events import Events
from ctpwa.data.marks import MARK
from ctpwa.data.options import FilePath
from ctpwa.data.root_output import RootOutput, root_output
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.observables.histograms import Grid, Projected, Projection
from ctpwa.observables.projections import event_weights
from ctpwa.observe.variable import Variable
from ctpwa.report.export.safe_names import safe_names

GROUP, WAVE, BACKGROUND = "group_", "wave_", "background_"
MADE_BY = "ctpwa export"


class Samples(Protocol):
    """The samples of a data set."""

    @property
    def name(self) -> str:
        """Empty if there is only one data set."""

    @property
    def data(self) -> Events:
        """Measured events."""

    @property
    def phase_space(self) -> Events:
        """Events for the normalisation."""

    @property
    def background(self) -> Events | None:
        """Events whose contribution is subtracted."""

    @property
    def conjugate(self) -> bool:
        """Whether the events are those of the charge-conjugate decay."""


def write_root(
    path: FilePath, intensity: ModelIntensity, sets: Iterable[tuple[Samples, Projected]], *, progress: bool | None = None
) -> dict[str, dict[str, str]]:
    """Write everything, whole or not at all; returns what is under ``names``.

    Args:
        path:       ends with .root
        intensity:  the fitted model
        sets:       every data set with its projections
        progress:   show progress bars; default: on a terminal when it takes more than two seconds
    """
    pairs = list(sets)
    folders = {name: f"{safe}/" if name else "" for name, safe in safe_names([samples.name for samples, _ in pairs]).items()}
    names: dict[str, dict[str, str]] = {}
    with root_output(path) as out:
        for samples, projected in pairs:
            _write_set(out, folders[samples.name], intensity.of(samples.conjugate), samples, projected, names, progress)
        names["data sets"] = {folder.rstrip("/"): name for name, folder in folders.items() if name}
        out.text("names", json.dumps(names, ensure_ascii=False, indent=1))
        out.text(MARK, MADE_BY)
    return names


def _write_set(
    out: RootOutput,
    folder: str,
    intensity: ModelIntensity,
    samples: Samples,
    projected: Projected,
    names: dict[str, dict[str, str]],
    progress: bool | None,
) -> None:
    variables = safe_names([projection.variable.name for projection in projected.projections])
    columns = {
        GROUP: safe_names(projected.groups),
        WAVE: safe_names([wave.name for wave in intensity.model.waves]),
        "jp": safe_names(projected.projections[0].others["jp"] if projected.projections else []),
        BACKGROUND: safe_names(projected.added),
    }
    names["variables"] = {safe: name for name, safe in variables.items()}
    for kind, own in zip(("groups", "waves", "jp", "backgrounds"), columns.values(), strict=True):
        if own or kind != "backgrounds":
            names.setdefault(kind, {}).update({safe: name for name, safe in own.items()})
    for projection in projected.projections:
        _write_projection(out, f"{folder}projections/{variables[projection.variable.name]}", projection, columns)
    for k, grid in enumerate(projected.grids):
        _write_grid(out, f"{folder}dalitz" + (f"_{k + 1}" if len(projected.grids) > 1 else ""), grid)
    branches = [prefix + safe for prefix in (GROUP, WAVE) for safe in columns[prefix].values()]
    trees = {"phase_space": samples.phase_space, "data": samples.data, "background": samples.background}
    for name, events in trees.items():
        if events is None:
            continue
        flat = name == "phase_space"
        factor = projected.scale * event_weights(events) if flat else np.ones(events.n_events)
        total = "fit" if flat else "intensity"
        more = {BACKGROUND + columns[BACKGROUND][own]: numbers for own, numbers in projected.added.items()} if flat else {}
        rows = _rows(intensity, events, projected, columns, total, factor, more, progress)
        out.tree(f"{folder}{name}", ["weight", total, *branches, *more], rows)


def _rows(
    intensity: ModelIntensity,
    events: Events,
    projected: Projected,
    columns: Mapping[str, Mapping[str, str]],
    total: str,
    factor: np.ndarray,
    more: Mapping[str, np.ndarray],
    progress: bool | None,
) -> Iterator[dict[str, np.ndarray]]:
    """Intensities of some events at a time, each times its factor, and more numbers of them."""
    chosen: dict[str, Sequence[str]] = {GROUP + columns[GROUP][name]: waves for name, waves in projected.groups.items()}
    chosen |= {WAVE + safe: [name] for name, safe in columns[WAVE].items()}
    w = event_weights(events)
    for sums in intensity.sums(events, chosen, progress=progress):
        part = slice(sums.start, sums.stop)
        squares = (sums.psi.abs() ** 2).sum(dim=1).cpu().numpy() * factor[part]
        row = {"weight": w[part], total: sums.intensity.cpu().numpy() * factor[part]}
        yield row | dict(zip(chosen, squares, strict=True)) | {name: numbers[part] for name, numbers in more.items()}


def _write_projection(out: RootOutput, folder: str, projection: Projection, columns: Mapping[str, Mapping[str, str]]) -> None:
    axis = _axis(projection.variable)
    edges = projection.edges

    def write(name: str, title: str, own_edges: np.ndarray, values: np.ndarray, variances: np.ndarray | None = None) -> None:
        out.histogram(f"{folder}/{name}", title, axis, own_edges, values, variances)

    write("data", "data", edges, projection.data, projection.data_variance)
    write("background", "background", edges, projection.background, projection.background_variance)
    for name, safe in columns[BACKGROUND].items():
        write(f"backgrounds/{safe}", name, edges, projection.rebinned(projection.added[name]))
    write("fit", "fit, background included", edges, projection.expected, projection.expected_variance)
    write("interference", "interference of all groups", edges, projection.rebinned(projection.all_interference))
    for kind, own in (("groups", columns[GROUP]), ("waves", columns[WAVE]), ("jp", columns["jp"])):
        for name, safe in own.items():
            write(f"{kind}/{safe}", name, edges, projection.rebinned(projection.component(name)))
    if projection.fine > 1:
        fine = projection.fine_edges
        write("fine/signal", "fit, background not included", fine, projection.total, projection.variance)
        for name, safe in columns[BACKGROUND].items():
            write(f"fine/backgrounds/{safe}", name, fine, projection.added[name])
        write("fine/interference", "interference of all groups", fine, projection.all_interference)
        for kind, own in (("groups", columns[GROUP]), ("waves", columns[WAVE]), ("jp", columns["jp"])):
            for name, safe in own.items():
                write(f"fine/{kind}/{safe}", name, fine, projection.component(name))


def _write_grid(out: RootOutput, folder: str, grid: Grid) -> None:
    axes = _axis(grid.variables[0]), _axis(grid.variables[1])
    for name, values in (("data", grid.data), ("fit", grid.expected), ("pull", np.nan_to_num(grid.pulls, nan=0.0))):
        out.histogram2d(f"{folder}/{name}", name, axes, grid.edges, values)


def _axis(variable: Variable) -> str:
    return f"{variable.name} [{variable.unit}]" if variable.unit else variable.name
