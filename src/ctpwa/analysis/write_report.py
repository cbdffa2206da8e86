"""``write_report``: everything a fit found, as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ctpwa.analysis.photon_tables import photon_chapter
from ctpwa.analysis.reopen import LoadedSamples, OpenedFit, open_fit
from ctpwa.base.errors import DataError
from ctpwa.base.progress import Progress
from ctpwa.base.timing import phase
from ctpwa.base.words import counted
from ctpwa.data.events import Events
from ctpwa.data.summary import grouped
from ctpwa.decay.chain import Decay
from ctpwa.engine.plan.channels import model_channels
from ctpwa.fitting.by_hand import ByHand
from ctpwa.fitting.result import FitResult
from ctpwa.minimise.drive import one_thread
from ctpwa.model.lineshapes.formula import Formula
from ctpwa.model.model import Model
from ctpwa.observables.argand import argand
from ctpwa.observables.goodness import adaptive_chi2, mixed_sample_test, point_to_point
from ctpwa.observables.histograms import Projected
from ctpwa.observables.moments import MomentSample, angular_moments
from ctpwa.observables.poles import poles
from ctpwa.observables.projections import dalitz_pair, event_weights
from ctpwa.observe.variable import Variable, default_variables, parse_variable
from ctpwa.report.content import DataSetView, GoodnessRow, LineshapeView, MomentsView, ReportContent, StudyView

if TYPE_CHECKING:
    from ctpwa.report.figures.style import AnyFigure

PHASE_SPACE = 1_000_000  # events that the fit is drawn with, at most
MIN_EVENTS = 200  # for tests and moments
MIXED_EVENTS = 20_000  # of the mixed-sample test
MOST_VARIABLES = 6


def write_report(
    result: OpenedFit | FitResult | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    figures: str | os.PathLike[str] | None = None,
    studies: Sequence[StudyView] = (),
    engine: str = "auto",
    device: str | None = None,
    phase_space: int = PHASE_SPACE,
    progress: bool | None = None,
) -> list[Path]:
    """Write a report of a fit as one HTML file that needs no network and no other file.

    Args:
        result:       a result, or the file that it was saved to
        path:         where to write
        figures:      a folder for all figures as PDF and PNG; default: none are written
        studies:      studies around the fit that get a chapter each: what their ``view()`` returned
        engine:       ``auto``, ``cuda``, ``cpu`` or ``reference``
        device:       where to compute; default: a GPU if there is one
        phase_space:  draw the fit with at most this many phase-space events
        progress:     show progress bars; default: on a terminal when it takes more than two seconds

    Returns:
        what was written, the report first
    """
    with phase("import"):
        from ctpwa.report.html.page import write_page

    opened = result if isinstance(result, OpenedFit) else open_fit(result)
    with one_thread():
        projected = opened.project(engine, device, phase_space=phase_space, progress=progress)
        with Progress("report", None, show=progress):
            with phase("tests and moments"):
                chapters = (*photon_chapter(opened, None if engine == "auto" else engine, device), *studies)
                content = replace(report_content(opened, projected, phase_space), studies=chapters)
            with phase("page"):
                write_page(content, path)
    if figures is None:
        return [Path(path)]
    from ctpwa.report.figures.all_figures import other_figures, write_figures

    with phase("figures"), Progress("figures", None, show=progress):
        return [Path(path), *write_figures(figures, opened.model, projected, more=other_figures(content))]


def fit_figures(
    result: OpenedFit | FitResult | str | os.PathLike[str],
    *,
    engine: str = "auto",
    device: str | None = None,
    phase_space: int = PHASE_SPACE,
    progress: bool | None = None,
) -> dict[str, AnyFigure]:
    """All figures of a fit as matplotlib objects, by the names that their files have with ``write_report(…, figures=…)``.

    Args:
        result:       a result, or the file that it was saved to
        engine:       ``auto``, ``cuda``, ``cpu`` or ``reference``
        device:       where to compute; default: a GPU if there is one
        phase_space:  draw the fit with at most this many phase-space events
        progress:     show progress bars; default: on a terminal when it takes more than two seconds
    """
    from ctpwa.report.figures.all_figures import draw_figures, other_figures

    opened = result if isinstance(result, OpenedFit) else open_fit(result)
    with one_thread():
        projected = opened.project(engine, device, phase_space=phase_space, progress=progress)
        return draw_figures(opened.model, projected, other_figures(report_content(opened, projected, phase_space)))


def report_content(opened: OpenedFit, projected: Mapping[str, Projected], phase_space: int | None = None) -> ReportContent:
    """Everything that a report shows.

    Args:
        opened:       the result and what it came from
        projected:    projections of every data set
        phase_space:  how many phase-space events they were made with, at most
    """
    views = []
    for samples in opened.read(phase_space):
        found = projected[samples.name]
        n, of = samples.phase_space.n_events, samples.n_phase_space
        words = f"The fit is drawn with {grouped(n)} {'' if n == of else f'of the {grouped(of)} '}phase-space events."
        views.append(
            DataSetView(samples.name, found, goodness_rows(opened, samples, found), moment_views(opened.model.decay, samples, found), words)
        )
    by_hand = ByHand.of(opened.result)
    at = opened.values if by_hand is not None and by_hand.values else opened.result
    return ReportContent(
        opened.result,
        opened.model,
        tuple(views),
        lineshapes=lineshape_views(opened.model),
        curves=argand(at, opened.model),
        poles=poles(at, opened.model),
        files={"result": opened.path} if opened.path else {},
    )


def goodness_rows(opened: OpenedFit, samples: LoadedSamples, projected: Projected) -> tuple[GoodnessRow, ...]:
    """Tests in all masses at once: of the Dalitz plot of three particles, of all pairs of more."""
    decay = opened.model.decay
    pair = dalitz_pair(decay, samples.data.n_events)
    variables = [spec.variable for spec in pair] if pair else [v for v in default_variables(decay) if v.unit == "GeV"][:MOST_VARIABLES]
    if not variables:
        return ()
    where = "Dalitz plot" if pair else counted(len(variables), "mass", "masses")
    data, w = _values(variables, samples, samples.data), event_weights(samples.data)
    model, v = _values(variables, samples, samples.measured), projected.all_weights
    if samples.background is not None:
        model = np.concatenate([model, _values(variables, samples, samples.background)])
        v = np.concatenate([v, event_weights(samples.background)])
    n_parameters = len(opened.result.parameters)
    rows = []
    if pair is not None and len(data) >= MIN_EVENTS:
        try:
            chi2 = adaptive_chi2(data, w, model, v, n_parameters=n_parameters)
            low, high = sorted(chi2.p_values)
            words = f"{len(chi2.observed)} cells of equal expectation; p = {low:.2g} … {high:.2g} with and without fitted parameters in ndf"
            rows.append(GoodnessRow(f"{where}, adaptive bins", f"χ²/ndf = {chi2.chi2:.1f}/{chi2.ndf[1]}", chi2.p_values[1], words))
        except DataError as error:  # such as too few events for so many parameters
            rows.append(GoodnessRow(f"{where}, adaptive bins", "not possible", None, str(error).partition("\n")[0]))
    if bool((w == 1).all()) and bool((v >= 0).all()) and len(data) >= MIN_EVENTS:
        rng = np.random.default_rng(0)
        few = data if len(data) <= MIXED_EVENTS else data[rng.choice(len(data), MIXED_EVENTS, replace=False)]
        try:
            mixed = mixed_sample_test(few, model, v)
            words = f"{mixed.neighbours} nearest neighbours, {grouped(mixed.n_data)} measured and {grouped(mixed.n_model)} model events"
            rows.append(GoodnessRow(f"{where}, mixed-sample test", f"T is {mixed.pull:+.2f} σ from its mean", mixed.p_value, words))
            distance = point_to_point(data, model, v)
            words = (
                f"{distance.permutations} permutations, {grouped(distance.n_data)} measured and {grouped(distance.n_model)} model events"
            )
            rows.append(GoodnessRow(f"{where}, point-to-point test", f"T = {distance.statistic:.3g}", distance.p_value, words))
        except DataError as error:  # such as too few phase-space events
            rows.append(GoodnessRow(f"{where}, unbinned tests", "not possible", None, str(error).partition("\n")[0]))
    return tuple(rows)


def moment_views(decay: Decay, samples: LoadedSamples, projected: Projected) -> tuple[MomentsView, ...]:
    """Angular moments of pairs of particles in decays to three."""
    if len(decay.final) != 3 or samples.data.n_events < MIN_EVENTS:
        return ()
    views: list[MomentsView] = []
    bins = int(np.clip(samples.data.n_events / 200, 10, 50))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        first, second = decay.final[i].name, decay.final[j].name  # without the number of identical ones: they are shuffled
        if any(view.pair == f"{first} {second}" for view in views):
            continue
        variables = [parse_variable(text, decay) for text in (f"mass({first}, {second})", f"cos_theta({first}; {first} {second})")]

        def sample(events: Events, weights: np.ndarray | None, variables: list[Variable] = variables) -> MomentSample:
            mass, cosine = (samples.values(variable, events) for variable in variables)
            return MomentSample(mass, cosine, weights=weights)

        weights = None if samples.data.weights is None else event_weights(samples.data)
        background = None if samples.background is None else sample(samples.background, event_weights(samples.background))
        moments = angular_moments(
            sample(samples.data, weights), sample(samples.measured, projected.all_weights), bins, max_L=4, background=background
        )
        views.append(MomentsView(f"{first} {second}", f"{decay.final[i].latex}{decay.final[j].latex}", moments))
    return tuple(views)


def _values(variables: Sequence[Variable], samples: LoadedSamples, events: Events) -> np.ndarray:
    """[event, variable]."""
    return np.stack([samples.values(variable, events) for variable in variables], axis=1)


def lineshape_views(model: Model) -> tuple[LineshapeView, ...]:
    """Every formula once, with the resonances that use it."""
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    for placed in model_channels(model).placed:
        for place in placed:
            shape = place.lineshape
            latex = shape.latex if isinstance(shape, Formula) else ""
            found.setdefault((shape.name, latex, getattr(shape, "reference", "")), {})[place.resonance.latex] = None
    return tuple(LineshapeView(name, latex, reference, tuple(users)) for (name, latex, reference), users in found.items())
