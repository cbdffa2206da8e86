"""``ctpwa fit``: from a model file with samples to a result."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

import ctpwa
from ctpwa.analysis import Analysis
from ctpwa.cli.console import FAILED, INTERRUPTED, NOT_GOOD, is_terminal, print_json, say
from ctpwa.cli.interrupt import BestPoint, EndNow, Interrupts, lost_message
from ctpwa.cli.result_print import print_result
from ctpwa.engine.choice import ENGINES
from ctpwa.engine.likelihood import Likelihood
from ctpwa.engine.likelihood_sum import LikelihoodSum
from ctpwa.engine.memory_plan import MemoryPlan
from ctpwa.engine.precision import PRECISIONS
from ctpwa.errors import CtpwaError
from ctpwa.ranks import Ranks, RanksLost, current_ranks
from ctpwa.results.checkpoint import Checkpoint, hash_of_model, hash_of_samples
from ctpwa.results.fit import METHODS
from ctpwa.results.result import FitResult
from ctpwa.results.take_over import take_over


def fit(
    model: Annotated[Path, typer.Argument(help="the model file, with samples")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="the file to write; default: MODEL.result.json beside the model")] = None,
    starts: Annotated[int | None, typer.Option(min=1, help="number of start points")] = None,
    method: Annotated[str | None, typer.Option(help="newton, lbfgs or minuit")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="seed of the random start points")] = None,
    engine: Annotated[str | None, typer.Option(help="auto, cuda, cpu or reference")] = None,
    device: Annotated[str | None, typer.Option(help="where to compute, such as cpu or cuda:0")] = None,
    precision: Annotated[str | None, typer.Option(help="double, or mixed: spin amplitudes in single precision")] = None,
    minos: Annotated[list[str] | None, typer.Option(metavar="NAME", help="a parameter that gets MINOS errors; may be repeated")] = None,
    begin_at: Annotated[Path | None, typer.Option("--from", metavar="RESULT", help="start from the values of this result")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on where the last fit ended, or was interrupted or killed")] = False,
    force: Annotated[bool, typer.Option("--force", help="begin anew and overwrite the result if it is there")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the result for programs")] = False,
) -> None:
    """Fit a model to its samples, and write the result to a file. What is not given is as the model file says."""
    if resume and (force or begin_at):
        raise typer.BadParameter("--resume goes on from the last result; leave --force and --from out")
    for word, known in ((method, METHODS), (engine, ENGINES), (precision, PRECISIONS)):
        if word is not None and word not in known:
            raise typer.BadParameter(f"{word!r} is not one of {', '.join(known)}")
    files = _Files.of(model, out)
    ranks = current_ranks()
    ranks.together(lambda: files.check(resume, force))
    with Interrupts(ranks) as interrupts:
        analysis = ctpwa.load_analysis(model)
        other = None if begin_at is None else FitResult.load(begin_at)
        last = _last(files, analysis) if resume else None
        likelihood = analysis.likelihood(engine, device, precision=precision)
        begin = _begin(analysis, likelihood, last, other, begin_at)
        if not as_json and ranks.first:
            typer.echo(
                "\n".join([*map(str, analysis.summaries), f"memory: {_memory(analysis, likelihood)}{_of_each(ranks)}", *begin.lines]) + "\n"
            )
        if force and ranks.first:
            files.checkpoint.unlink(missing_ok=True)
        options = {
            "start": begin.values,
            "starts": begin.starts if starts is None else starts,
            "method": method,
            "seed": seed,
            "minos": minos,
        }
        result = _run(analysis, likelihood, options, files, interrupts)
        interrupts.held = True  # the file is written in any case
        if last is not None and starts is None:
            result = last.merged(result)
        result = result.with_origin(settings=dict(result.settings) | begin.origin)
        _write(result, files, as_json, ranks)
    ranks.end_together()  # torchrun ends all processes when one of them ends with a code
    _end(result)


@dataclass(frozen=True)
class _Begin:
    """Where a fit begins.

    Attributes:
        values:  start values by name; None: those of the model
        starts:  number of starts; None: that of the model
        lines:   what to say about it
        origin:  the same for the file
    """

    values: dict[str, float] | None = None
    starts: int | None = None
    lines: tuple[str, ...] = ()
    origin: dict[str, Any] = field(default_factory=dict)


def _begin(
    analysis: Analysis, likelihood: Likelihood | LikelihoodSum, last: _Last | None, other: FitResult | None, path: Path | None
) -> _Begin:
    """From the last fit, from another result, or from the model."""
    if last is not None:
        last.check_samples(analysis)
        point = last.point
        line = f"start: goes on from {last.path}, -ln L = {point.nll:.6f}"
        return _Begin(
            dict(zip(point.names, point.values, strict=True)), 1, (line,), {"resumed": {"file": last.path.name, "nll": point.nll}}
        )
    if other is not None:
        taken = take_over(likelihood, other)
        origin = {"file": str(path), "created": other.created, "not_there": taken.not_there, "not_here": taken.not_here}
        return _Begin(taken.values, None, (f"start: {path}, {taken}",), {"from": origin})
    return _Begin()


@dataclass(frozen=True)
class _Files:
    """Where a fit writes.

    Attributes:
        model:       the model file
        result:      the result
        checkpoint:  the best point so far, while the fit runs
    """

    model: Path
    result: Path
    checkpoint: Path

    @classmethod
    def of(cls, model: Path, out: Path | None) -> _Files:
        result = out or model.with_name(f"{model.stem}.result.json")
        return cls(model, result, result.with_name(f"{result.name.removesuffix('.json')}.partial.json"))

    def write(self, result: FitResult) -> None:
        """The result takes the place of the checkpoint."""
        result.save(self.result)
        self.checkpoint.unlink(missing_ok=True)

    def check(self, resume: bool, force: bool) -> None:
        """Refuse before anything takes time."""
        folder = self.result.parent
        if not folder.is_dir():
            fix = "make the folder, or correct the path"
            raise CtpwaError(f"cannot write {str(self.result)!r}: there is no folder {str(folder)!r}\n fix: {fix}")
        if not os.access(folder, os.W_OK) or self.result.is_dir():
            raise CtpwaError(f"cannot write {str(self.result)!r}\n fix: name another file with --out")
        if self.result.exists() and self.model.exists() and self.result.samefile(self.model):
            raise CtpwaError(f"the result would overwrite the model file {str(self.model)!r}\n fix: name another file with --out")
        if resume or force:
            return
        if self.result.exists():
            raise CtpwaError(
                f"{str(self.result)!r} is there already\n"
                " fix: add --resume to go on from it, --force to begin anew, or name another file with --out"
            )
        if self.checkpoint.exists():
            raise CtpwaError(
                f"{str(self.checkpoint)!r} is there already: a fit did not end\n"
                " fix: add --resume to go on from it, or --force to begin anew"
            )


@dataclass(frozen=True)
class _Last:
    """The fit to go on from.

    Attributes:
        path:    its file
        point:   its best point
        result:  its result; None if it is a checkpoint
    """

    path: Path
    point: Checkpoint
    result: FitResult | None

    def check(self, same: bool, what: str) -> None:
        if not same:
            raise CtpwaError(
                f"{str(self.path)!r} was fitted to {what}\n"
                " fix: add --force to begin anew; or move the file away, and start from its values with --from"
            )

    def check_samples(self, analysis: Analysis) -> None:
        """Refuse to mix fits of different samples."""
        self.check(self.point.samples_hash == _hash_of_samples(analysis), "other samples")

    def merged(self, result: FitResult) -> FitResult:
        """A result that went on from one point, with the other minima that were found before."""
        if self.result is None or self.result.n_starts == 1:
            return result
        first, *others = self.result.minima
        best = replace(first, nll=result.nll, refined=True, values=tuple(result.x.tolist()))
        return replace(result, minima=(best, *others), n_starts=self.result.n_starts)


def _last(files: _Files, analysis: Analysis) -> _Last | None:
    """The better one of result and checkpoint, of this model; None if there is neither."""
    found = []
    if files.checkpoint.exists():
        found.append(_Last(files.checkpoint, Checkpoint.load(files.checkpoint), None))
    if files.result.exists():
        result = FitResult.load(files.result)
        found.append(_Last(files.result, Checkpoint.of(result, files.result), result))
    model_hash = hash_of_model(analysis.description)
    for last in found:
        last.check(last.point.model_hash == model_hash, f"another model than {str(files.model)!r} is now")
    return min(found, key=lambda last: last.point.nll, default=None)


def _run(
    analysis: Analysis, likelihood: Likelihood | LikelihoodSum, options: dict[str, Any], files: _Files, interrupts: Interrupts
) -> FitResult:
    """The fit; the best point survives whatever happens to it."""
    hashes = hash_of_model(analysis.description), _hash_of_samples(analysis)
    ranks = likelihood.ranks
    best = BestPoint(files.checkpoint, likelihood.names, hashes, ctpwa.__version__, ranks.first)

    def watch(x: Any, value: float) -> None:
        best(x, value)
        if interrupts.seen:  # while many starts were searched
            raise KeyboardInterrupt

    def interrupted() -> None:
        if ranks.first:
            interrupts.notice()
            best.write()

    n = options["starts"] or analysis.settings.starts
    say(f"fit of {len(likelihood.names)} parameters to {likelihood.n_events} events from {n} start{'s' if n > 1 else ''}")
    interrupts.on_first = interrupted
    try:
        return analysis.fit(likelihood=likelihood, watch=watch, **options)
    except RanksLost as error:
        interrupts.held = True
        message = lost_message(str(error), best.path if best.write() else None)
        if ranks.reports("ranks lost"):
            typer.echo(message, err=True)
        raise typer.Exit(FAILED) from None
    except (KeyboardInterrupt, EndNow):
        interrupts.held = True
        if not ranks.first or not best.write():
            raise KeyboardInterrupt from None
        typer.echo(f"interrupted: the best point so far is in {best.path}; go on with --resume", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _hash_of_samples(analysis: Analysis) -> str:
    return hash_of_samples([summary.as_dict() for summary in analysis.summaries])


def _memory(analysis: Analysis, likelihood: Likelihood | LikelihoodSum) -> MemoryPlan:
    """The memory of all data sets."""
    if isinstance(likelihood, Likelihood):
        return likelihood.memory()
    plans = {data_set.name: term.memory() for data_set, term in zip(analysis.data_sets, likelihood.terms, strict=True)}
    return MemoryPlan.joined(plans)


def _of_each(ranks: Ranks) -> str:
    return f" for each of {ranks.size} processes" if ranks.size > 1 else ""


def _write(result: FitResult, files: _Files, as_json: bool, ranks: Ranks) -> None:
    """The first rank writes and prints the result, and only then looks whether the others are still there."""

    def write() -> None:
        files.write(result)
        _report(result, files, as_json)

    try:
        ranks.on_first(write)
    except RanksLost as error:
        raise (CtpwaError(f"the result is in {files.result}, but {error}") if ranks.first else error) from None


def _report(result: FitResult, files: _Files, as_json: bool) -> None:
    """Print the result."""
    if as_json:
        print_json({"file": str(files.result)} | result.as_dict())
    else:
        if is_terminal():
            print_result(result)
        else:
            typer.echo(str(result))
        typer.echo(f"\nwritten to {files.result}")
    if "interrupted" in result.verdict.reasons:
        typer.echo(f"interrupted: {files.result} has the best point so far; go on with --resume", err=True)
    elif not result.verdict.good:
        typer.echo(f"the fit ended, but its verdict is not good: {result.verdict.reasons[0]}", err=True)


def _end(result: FitResult) -> None:
    """The exit code of a verdict."""
    if "interrupted" in result.verdict.reasons:
        raise typer.Exit(INTERRUPTED)
    if not result.verdict.good:
        raise typer.Exit(NOT_GOOD)
