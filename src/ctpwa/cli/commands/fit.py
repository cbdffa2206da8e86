"""``ctpwa fit``: from a model file with samples to a result."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

import ctpwa
from ctpwa.analysis.analysis import Analysis
from ctpwa.base.errors import CtpwaError
from ctpwa.base.locks import OutputLock
from ctpwa.base.output import check_inputs, check_no_folder, check_output
from ctpwa.base.ranks import Ranks, RanksLost, current_ranks
from ctpwa.base.words import counted
from ctpwa.cli.changes import DataOption, FixOption, FloatOption, SetOption, WithoutOption, load_changed, read_changes
from ctpwa.cli.command import Command
from ctpwa.cli.console import FAILED, INTERRUPTED, NOT_GOOD, echo, print_json, say
from ctpwa.cli.interrupt import BestPoint, EndNow, Interrupts, lost_message
from ctpwa.cli.output_kinds import CHECKPOINT, RESULT
from ctpwa.cli.result_print import print_result
from ctpwa.cli.settings import CommandSettings
from ctpwa.config.changes import full_name
from ctpwa.engine.backends.registry import engine_names
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.engine.samples.memory_plan import MemoryPlan
from ctpwa.engine.samples.precision import PRECISIONS
from ctpwa.fitting.checkpoint import Checkpoint, hash_of_model, hash_of_samples
from ctpwa.fitting.consistent import METHODS
from ctpwa.fitting.fit import TOLERANCE
from ctpwa.fitting.journal import Journal
from ctpwa.fitting.minimum import INTERRUPTED as INTERRUPTED_FIT
from ctpwa.fitting.remarks import ONE_START, doubtful_minimum
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.search_settings import DISTANCE
from ctpwa.fitting.take_over import take_over
from ctpwa.minimise.minima import SAME_VALUE
from ctpwa.model.couplings import coupling_names
from ctpwa.model.parameters import MAX_STARTS


def fit(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="the model file, with samples")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="the file to write; default: MODEL.result.json next to the model")] = None,
    starts: Annotated[int | None, typer.Option(min=1, max=MAX_STARTS, help="number of start points")] = None,
    method: Annotated[str | None, typer.Option(help="newton, lbfgs or minuit")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="seed of the random start points")] = None,
    engine: Annotated[str | None, typer.Option(help="auto, or a backend such as cuda, cpu or reference")] = None,
    device: Annotated[str | None, typer.Option(help="where to compute, such as cpu or cuda:0")] = None,
    precision: Annotated[str | None, typer.Option(help="double, or mixed: spin amplitudes in single precision")] = None,
    minos: Annotated[list[str] | None, typer.Option(metavar="NAME", help="a parameter that gets MINOS errors; may be repeated")] = None,
    minima: Annotated[
        bool, typer.Option("--minima", help="keep and show all minima that are nearly as good as the best, and say which are ambiguities")
    ] = False,
    minima_within: Annotated[
        float | None,
        typer.Option(metavar="DISTANCE", help=f"the same for minima less than this above the best in -ln L, and not {DISTANCE:g}"),
    ] = None,
    fix: FixOption = None,
    values: SetOption = None,
    floating: FloatOption = None,
    without: WithoutOption = None,
    data: DataOption = None,
    begin_at: Annotated[Path | None, typer.Option("--from", metavar="RESULT", help="start from the values of this result")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="continue where the last fit ended, or was interrupted or killed")] = False,
    force: Annotated[bool, typer.Option("--force", help="start over, and replace the existing result")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the result for programs")] = False,
) -> None:
    """Fit a model to its samples, and write the result to a file. Anything not given is taken from the model file."""
    if resume and (force or begin_at):
        raise typer.BadParameter("--resume continues from the last result; leave out --force and --from")
    for word, known in ((method, METHODS), (engine, engine_names()), (precision, PRECISIONS)):
        if word is not None and word not in known:
            raise typer.BadParameter(f"{word!r} is not one of {', '.join(known)}")
    check_no_folder(model, "a model file")
    changes = read_changes(fix, values, floating, without, data)
    settings = CommandSettings.of(context)
    distance = DISTANCE if minima and minima_within is None else minima_within
    files = _Files.of(model, out, settings.elsewhere)
    ranks = current_ranks()
    inputs = [model, *([] if begin_at is None else [begin_at])]
    with _held(files, ranks, lambda: files.check(inputs, resume, force)), Interrupts(ranks) as interrupts:
        analysis = load_changed(model, changes)
        ranks.together(lambda: files.check_inputs(analysis.files))
        other = None if begin_at is None else FitResult.load(begin_at)
        last = _last(files, analysis) if resume else None
        likelihood = analysis.likelihood(engine, device, precision=precision)
        about = likelihood.names, analysis.model.resonances, coupling_names(analysis.model.waves)
        given = [full_name("--set", name, *about) for name in changes.set]
        begin = _begin(analysis, likelihood, last, other, begin_at, _Search(starts, seed, distance)).without(given)
        if not as_json and ranks.first:
            echo(
                "\n".join([*map(str, analysis.summaries), f"memory: {_memory(analysis, likelihood)}{_of_each(ranks)}", *begin.lines]) + "\n"
            )
        if force and ranks.first:
            files.checkpoint.unlink(missing_ok=True)
        options = {
            "start": begin.values,
            "starts": begin.starts if starts is None else starts,
            "method": method,
            "seed": begin.seed if seed is None else seed,
            "minos": minos,
            "journal": begin.journal,
            "search": replace(settings.search, distance=begin.distance if distance is None else distance),
        }
        result, best = _run(analysis, likelihood, options, files, interrupts, settings)
        interrupts.held = True  # the file is written in any case
        if last is not None and starts is None:
            result = last.merged(result, likelihood.unit)
        result = result.with_origin(settings=dict(result.settings) | begin.origin)
        unchanged = _nothing_better(likelihood, last, result)
        saved = _Saved(files.result) if unchanged or not ranks.first else files.write(result, best, begin.journal)
        if ranks.first:
            shown = last.at_goal if unchanged and last is not None and last.at_goal is not None else result
            _report(shown, saved, as_json, settings.tables)
            _say_how_it_ended(result, saved, unchanged)
        _meet_others(ranks, saved)
    ranks.end_together()  # torchrun ends all processes when one of them ends with a code
    _end(result, saved)


@contextmanager
def _held(files: _Files, ranks: Ranks, check: Callable[[], None]) -> Iterator[None]:
    """While this lasts no other fit writes the same files; existing files are checked again when nobody else can change them."""
    lock = OutputLock(files.result)
    ranks.together(check)
    ranks.on_first(lock.acquire)
    try:
        if ranks.first and not lock.locked:
            message = f"warning: the file system of {files.result} has no locks; another fit with the same output would not be noticed"
            echo(message, err=True)
        ranks.together(check)
        yield
    finally:
        lock.release()


def _meet_others(ranks: Ranks, saved: _Saved) -> None:
    """The first rank has written and printed the result, and only now checks whether the others are still there."""
    try:
        ranks.on_first(lambda: None)
    except RanksLost as error:
        raise (CtpwaError(f"the result is in {saved.path}, but {error}") if ranks.first and saved.path else error) from None


@dataclass(frozen=True)
class _Search:
    """What the command line says about the search: number of starts, seed, and within which distance minima are kept."""

    starts: int | None
    seed: int | None
    distance: float | None

    def is_of(self, journal: Journal) -> bool:
        """Whether it is the one that a journal is of."""
        same = ((self.starts, journal.starts), (self.seed, journal.seed), (self.distance, journal.distance))
        return all(given in (None, known) for given, known in same)


@dataclass(frozen=True)
class _Begin:
    """Where a fit begins.

    Attributes:
        values:  start values by name; None: those of the model
        starts:  number of starts; None: that of the model
        seed:    of random ones; None: that of the model
        lines:   what to say about it
        origin:  the same for the file
        journal: what was found before
        distance:  within which all minima are kept; None: only the best counts
    """

    values: dict[str, float] | None = None
    starts: int | None = None
    seed: int | None = None
    lines: tuple[str, ...] = ()
    origin: dict[str, Any] = field(default_factory=dict)
    journal: Journal = field(default_factory=Journal)
    distance: float | None = None

    def without(self, names: Collection[str]) -> _Begin:
        """The same, with the values of the model for these parameters and couplings."""
        if self.values is None or not names:
            return self
        return replace(self, values={k: v for k, v in self.values.items() if k not in names and k.rpartition(".")[0] not in names})


def _begin(
    analysis: Analysis,
    likelihood: Likelihood | LikelihoodSum,
    last: _Last | None,
    other: FitResult | None,
    path: Path | None,
    search: _Search,
) -> _Begin:
    """From the last fit, from another result, or from the model."""
    if last is not None:
        last.check_samples(analysis)
        return _go_on(last, search)
    if other is not None:
        taken = take_over(likelihood, other)
        origin = {"file": str(path), "created": other.created, "not_there": taken.not_there, "not_here": taken.not_here}
        return _Begin(taken.values, lines=(f"start: {path}, {taken}",), origin={"from": origin})
    return _Begin()


def _go_on(last: _Last, search: _Search) -> _Begin:
    """With the unfinished search, if it is the one asked for; else from the best point."""
    point, journal = last.point, last.journal
    lines = [f"start: continues from {last.path}, -ln L = {point.nll:.6f}"]
    origin = {"resumed": {"file": last.path.name, "nll": point.nll}}
    if journal is not None and search.is_of(journal):
        journal.known = point.values
        left = journal.starts - len(journal.ends)
        lines.append(f"search: continues with {left} of {counted(journal.starts, 'start')} left, seed {journal.seed}")
        values = dict(zip(point.names, journal.start, strict=True))
        return _Begin(values, journal.starts, journal.seed, tuple(lines), origin, journal, journal.distance)
    if journal is not None:
        lines.append(f"search: that of {counted(journal.starts, 'start')} with seed {journal.seed} is replaced by a new one")
    return _Begin(dict(zip(point.names, point.values, strict=True)), 1, None, tuple(lines), origin)


@dataclass(frozen=True)
class _Files:
    """Where a fit writes.

    Attributes:
        model:       the model file
        result:      the result
        checkpoint:  the best point so far, while the fit runs
        elsewhere:   folder for a result for which there is no room; None: that for temporary files
    """

    model: Path
    result: Path
    checkpoint: Path
    elsewhere: Path | None

    @classmethod
    def of(cls, model: Path, out: Path | None, elsewhere: Path | None) -> _Files:
        result = out or model.with_name(f"{model.stem}.result.json")
        checkpoint = result.with_name(f"{result.name.removesuffix('.json')}.partial.json")
        return cls(model, result, checkpoint, elsewhere)

    def write(self, result: FitResult, best: BestPoint, journal: Journal) -> _Saved:
        """The result takes the place of the checkpoint, which stays if there is something left to continue."""
        try:
            moved = self._move_better(result)
            result.save(self.result)
        except CtpwaError as error:
            return self._elsewhere(result, best, str(error).partition("\n")[0])
        if INTERRUPTED_FIT in result.verdict.reasons and journal.unfinished:
            best.write()
        else:
            self.checkpoint.unlink(missing_ok=True)
        return _Saved(self.result, note=moved)

    def _move_better(self, result: FitResult) -> str:
        """Move a better result out of the way of a worse one of the same model and samples; only --force leads to that."""
        if not self.result.exists():
            return ""
        try:
            old, new = (Checkpoint.of(found, self.result) for found in (FitResult.load(self.result), result))
        except CtpwaError:  # of another version, or of no model
            return ""
        if (old.model_hash, old.samples_hash) != (new.model_hash, new.samples_hash) or not old.nll < new.nll - SAME_VALUE:
            return ""
        names = [f"{self.result.stem}.better{number}.json" for number in ("", *range(2, 1000))]
        place = next(path for path in map(self.result.with_name, names) if not path.exists())
        os.replace(self.result, place)
        return f"the existing result is better by {new.nll - old.nll:.2f} in -ln L, for the same model and samples: it is now {place}"

    def _elsewhere(self, result: FitResult, best: BestPoint, why: str) -> _Saved:
        """The result in another folder, and its point in the checkpoint, as far as possible."""
        point = f"; its point is in {self.checkpoint}, from which --resume continues" if best.write() else ""
        place = (self.elsewhere or Path(tempfile.gettempdir())) / f"{self.result.stem}-{os.getpid()}.json"
        try:
            result.save(place)
        except CtpwaError:
            return _Saved(None, f"{why}\n fix: make room or check permissions{point or '; the result is only what is printed here'}")
        return _Saved(place, f"{why}\n fix: make room or check permissions, and move {place} there, which is the result{point}")

    def check(self, inputs: Sequence[Path], resume: bool, force: bool) -> None:
        """Refuse before anything takes time."""
        if resume:
            check_output(self.result, replace(RESULT, is_one=lambda _: True), inputs, force=True)  # reading it says more
            return
        check_output(self.result, RESULT, inputs, force)
        check_output(self.checkpoint, CHECKPOINT, inputs, force=True)
        if self.checkpoint.exists() and not force:
            raise CtpwaError(
                f"{str(self.checkpoint)!r} already exists: a fit has not finished\n"
                " fix: add --resume to continue it, or --force to start over"
            )

    def check_inputs(self, inputs: Sequence[Path]) -> None:
        """Refuse to overwrite a sample."""
        for path in (self.result, self.checkpoint):
            check_inputs(path, inputs)


@dataclass(frozen=True)
class _Saved:
    """Where a result was saved.

    Attributes:
        path:   the file; None if it could not be written anywhere
        error:  why it is not where it should be; empty if it is
        note:   what else to say
    """

    path: Path | None
    error: str = ""
    note: str = ""


@dataclass(frozen=True)
class _Last:
    """The fit to continue from.

    Attributes:
        path:     its file
        point:    its best point
        result:   its result; None if it is a checkpoint
        at_goal:  the existing result, whichever of the two is better; None if there is none
        journal:  what is left of an unfinished search; None if there is nothing
    """

    path: Path
    point: Checkpoint
    result: FitResult | None
    at_goal: FitResult | None = None
    journal: Journal | None = None

    def check(self, same: bool, what: str) -> None:
        if not same:
            raise CtpwaError(
                f"{str(self.path)!r} was fitted to {what}\n"
                " fix: add --force to start over; or move the file away, and start from its values with --from"
            )

    def check_samples(self, analysis: Analysis) -> None:
        """Refuse to mix fits of different samples."""
        self.check(self.point.samples_hash == _hash_of_samples(analysis), "other samples")

    def merged(self, result: FitResult, unit: float) -> FitResult:
        """A result continued from one point, with the other minima found before and remarks on them; ``unit``: of −ln L."""
        if self.journal is not None or self.result is None:
            return result
        if self.result.n_starts == 1:
            still = [reason for reason in self.result.verdict.reasons if reason == ONE_START]
            return replace(result, verdict=result.verdict.with_reasons(last=still))
        first, *others = self.result.minima
        best = replace(first, nll=result.nll, refined=True, values=tuple(result.x.tolist()))
        minima, n_starts = (best, *others), self.result.n_starts
        verdict = result.verdict.with_reasons(last=doubtful_minimum(minima, n_starts, unit))
        return replace(result, minima=minima, n_starts=n_starts, verdict=verdict)


def _last(files: _Files, analysis: Analysis) -> _Last | None:
    """The result or the checkpoint of this model, whichever is better; None if there is neither."""
    found = []
    if files.checkpoint.exists():
        found.append(_Last(files.checkpoint, Checkpoint.load(files.checkpoint), None))
    if files.result.exists():
        result = FitResult.load(files.result)
        found.append(_Last(files.result, Checkpoint.of(result, files.result), result))
    model_hash = hash_of_model(analysis.description)
    for last in found:
        last.check(last.point.model_hash == model_hash, f"another model than {str(files.model)!r} is now")
    better = min(found, key=lambda last: last.point.nll, default=None)
    if better is None:
        return None
    at_goal = next((last.result for last in found if last.result is not None), None)
    return replace(better, at_goal=at_goal, journal=next((last.point.journal for last in found if last.point.journal is not None), None))


def _nothing_better(likelihood: Likelihood | LikelihoodSum, last: _Last | None, result: FitResult) -> bool:
    """Whether a fit continued from a result was interrupted before it found anything better; then the file stays as it is."""
    if last is None or last.at_goal is None or INTERRUPTED_FIT not in result.verdict.reasons:
        return False
    return not result.nll < float(likelihood.value(last.at_goal.x)) - max(TOLERANCE, likelihood.rounding)


def _run(
    analysis: Analysis,
    likelihood: Likelihood | LikelihoodSum,
    options: dict[str, Any],
    files: _Files,
    interrupts: Interrupts,
    settings: CommandSettings,
) -> tuple[FitResult, BestPoint]:
    """The fit; the best point and what was found survive whatever happens to it."""
    hashes = hash_of_model(analysis.description), _hash_of_samples(analysis)
    ranks = likelihood.ranks
    every, journal = settings.checkpoint_every, options["journal"]
    best = BestPoint(files.checkpoint, likelihood.names, hashes, ctpwa.__version__, ranks.first, journal, every=every)

    def watch(x: Any, value: float) -> None:
        best(x, value)
        if settings.watch is not None:
            settings.watch(x, value)
        if interrupts.seen:  # while many starts were searched
            raise KeyboardInterrupt

    def interrupted() -> None:
        if ranks.first:
            interrupts.notice()
            best.write()

    n = options["starts"] or analysis.settings.starts
    parameters, events = counted(len(likelihood.names), "parameter"), counted(likelihood.n_events, "event")
    say(f"fit of {parameters} to {events} from {counted(n, 'start')}", settings.terminal)
    interrupts.on_first = interrupted
    try:
        return analysis.fit(likelihood=likelihood, watch=watch, **options), best
    except RanksLost as error:
        interrupts.held = True
        message = lost_message(str(error), best.path if best.write() else None)
        if ranks.reports("ranks lost"):
            echo(message, err=True)
        raise typer.Exit(FAILED) from None
    except (KeyboardInterrupt, EndNow):
        interrupts.held = True
        if not ranks.first or not best.write():
            raise KeyboardInterrupt from None
        echo(f"interrupted: the best point so far is in {best.path}; continue with --resume", err=True)
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


def _report(result: FitResult, saved: _Saved, as_json: bool, tables: bool) -> None:
    """Print the result, wherever it is."""
    if as_json:
        print_json({"file": None if saved.path is None else str(saved.path)} | result.as_dict())
        return
    if tables:
        print_result(result)
    else:
        echo(str(result))
    if saved.path is not None:
        echo(f"\nwritten to {saved.path}")


def _say_how_it_ended(result: FitResult, saved: _Saved, unchanged: bool) -> None:
    """On the standard error."""
    for line in (saved.note, saved.error):
        if line:
            echo(line, err=True)
    if saved.error:
        return
    if unchanged:
        echo(f"interrupted: nothing better was found, and {saved.path} is as it was; continue with --resume", err=True)
    elif INTERRUPTED_FIT in result.verdict.reasons:
        echo(f"interrupted: {saved.path} has the best point so far; continue with --resume", err=True)
    elif not result.verdict.good:
        echo(f"the fit has ended, but its verdict is not good: {result.verdict.reasons[0]}", err=True)


def _end(result: FitResult, saved: _Saved) -> None:
    """The exit code of a verdict, or of a result that is not where it should be."""
    if saved.error:
        raise typer.Exit(FAILED)
    if INTERRUPTED_FIT in result.verdict.reasons:
        raise typer.Exit(INTERRUPTED)
    if not result.verdict.good:
        raise typer.Exit(NOT_GOOD)


COMMAND = Command(
    fit, "ctpwa fit model.yml --starts 20", place=40, exit_codes="3 the fit has ended, but its verdict is not good", together=True
)
