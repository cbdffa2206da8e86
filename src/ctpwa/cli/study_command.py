"""What the commands of all studies share: which fit they are of, where they write, how they go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

from ctpwa.analysis.analysis import Analysis, load_analysis
from ctpwa.analysis.reopen import OpenedFit, open_fit
from ctpwa.base.errors import CtpwaError
from ctpwa.base.locks import OutputLock
from ctpwa.base.output import OutputKind, check_folder, check_inputs, check_no_folder
from ctpwa.base.ranks import ONE, Ranks, current_ranks
from ctpwa.cli.command import Command
from ctpwa.cli.console import echo, out, print_json, say
from ctpwa.cli.output_kinds import FIGURES, STUDY
from ctpwa.cli.result_print import print_section
from ctpwa.cli.settings import CommandSettings
from ctpwa.studies.files import MODEL_FILES, study_path
from ctpwa.studies.opened import result_of
from ctpwa.studies.run import RunOptions
from ctpwa.studies.study import Study

FitArgument = Annotated[Path, typer.Argument(metavar="FIT", help="a file that ctpwa fit wrote; or a model file, which is fitted first")]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="a model file, or a file that ctpwa fit wrote")]
OutOption = Annotated[Path | None, typer.Option("-o", "--out", help="the Parquet file of finished fits; default: next to the fit")]
FiguresOption = Annotated[Path | None, typer.Option("--figures", help="a folder for all figures as PDF and PNG")]
EngineOption = Annotated[str | None, typer.Option("--engine", help="auto, or a backend such as cuda, cpu or reference")]
DeviceOption = Annotated[str | None, typer.Option("--device", help="where to compute, such as cpu or cuda:0")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="seed of the random numbers")]
ForceOption = Annotated[bool, typer.Option("--force", help="start over, and replace an earlier study and earlier figures")]
JsonOption = Annotated[bool, typer.Option("--json", help="print the study for programs")]
S = TypeVar("S", bound=Study)
O = TypeVar("O", OpenedFit, Analysis)


@dataclass(frozen=True)
class StudyCall:
    """How a study was asked for: what all of them have in common.

    Attributes:
        context:  of the command
        fit:      the result or model file
        out:      where to write; None: next to the fit
        figures:  folder for figures; None: none
        engine:   what computes; None: as the model file says
        device:   where; None: as the model file says
        force:    whether to start over
        as_json:  whether to print for programs
    """

    context: typer.Context
    fit: FitArgument
    out: OutOption = None
    figures: FiguresOption = None
    engine: EngineOption = None
    device: DeviceOption = None
    force: ForceOption = False
    as_json: JsonOption = False

    def run(self, suffix: str, work: Callable[[OpenedFit, RunOptions], S], more: Callable[[S], list[Path]] = lambda study: []) -> None:
        """Do a study of a fit, print it, and draw its figures.

        Args:
            suffix:  of the default file, such as ``toys``
            work:    does it: given the fit, and how to run it
            more:    writes what else was asked for, and says which files
        """
        self._run(suffix, lambda ranks: open_fit(result_of(self.fit, ranks, tell=say)), work, more)

    def run_model(self, suffix: str, work: Callable[[Analysis, RunOptions], S]) -> None:
        """The same of a study of a model, which needs no fit.

        Args:
            suffix:  of the default file
            work:    does it: given the analysis, and how to run it
        """
        self._run(suffix, lambda ranks: _analysis(self.fit), work, lambda study: [])

    def _run(self, suffix: str, open: Callable[[Ranks], O], work: Callable[[O, RunOptions], S], more: Callable[[S], list[Path]]) -> None:
        check_no_folder(self.fit, "a file that ctpwa fit wrote, or a model file")
        ranks, path = current_ranks(), study_path(self.fit, suffix) if self.out is None else self.out
        ranks.together(lambda: _check(self, path))
        lock = OutputLock(path)
        ranks.on_first(lock.acquire)
        try:
            opened = open(ranks)
            inputs: tuple[Path, ...] = opened.files if isinstance(opened, Analysis) else opened.analysis.files
            ranks.together(lambda: check_inputs(path, [self.fit, *inputs]))
            try:
                study = work(opened, {"path": path, "engine": self.engine, "device": self.device, "ranks": ranks, "force": self.force})
            except KeyboardInterrupt:
                if ranks.first:
                    echo(f"what has ended is in {path}; the same command continues", err=True)
                raise
            if ranks.first:
                _print(study, self, path, more(study))
        finally:
            lock.release()
        ranks.end_together()


def study_command(work: Callable[..., None], example: str, place: int, *, of_model: bool = False) -> Command:
    """The record of the command of a study, which several processes share.

    Args:
        work:      does it; its first argument is a ``StudyCall``, the others are its own arguments and options, as in typer
        example:   an example for its help
        place:     its position among the commands
        of_model:  whether it is of a model, which need not be fitted
    """
    own = list(signature(work, eval_str=True).parameters.values())[1:]
    common = list(signature(StudyCall, eval_str=True).parameters.values())
    if of_model:
        common[1] = common[1].replace(annotation=ModelArgument)

    def run(**given: Any) -> None:
        work(StudyCall(**{p.name: given.pop(p.name) for p in common}), **given)

    arguments = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in (*common[:2], *own, *common[2:])]
    run.__signature__ = Signature(arguments)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in arguments}
    run.__doc__ = work.__doc__
    return Command(run, example, place, together=True)


def _check(call: StudyCall, path: Path) -> None:
    """Refuse what would do harm, before anything takes time."""
    if path.suffix != ".parquet":
        raise typer.BadParameter(f"{str(path)!r} does not end with .parquet")
    check_inputs(path, [call.fit])
    if path.exists() and not STUDY.recognises(path):
        raise CtpwaError(
            f"{str(path)!r} already exists, and is not {STUDY.name}, or is damaged\n fix: name another file with --out, or remove it"
        )
    if not path.parent.is_dir():
        raise CtpwaError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}\n fix: make the folder, or correct the path")
    if call.figures is not None:
        kinds: dict[str, OutputKind] = FIGURES
        check_folder(call.figures, kinds, call.force)


def _analysis(given: Path) -> Analysis:
    """The model of a model file, or of a fit; each process has all its events."""
    return load_analysis(given, ONE) if given.suffix in MODEL_FILES else open_fit(given).analysis


def _print(study: Study, call: StudyCall, path: Path, more: list[Path]) -> None:
    if call.as_json:
        print_json(study.as_dict())
    elif CommandSettings.of(call.context).tables:
        console = out()
        console.print(Text(f"{study.title} of {study.about.decay}", style="bold"))
        for words in study.warnings:
            console.print(Text(f"warning: {words}", style="bold red"))
        found, sections = study.shown()
        console.print(Text(found))
        for section in sections:
            print_section(console, section)
        for note in study.notes:
            console.print(Text(f"note: {note}", style="yellow"))
    else:
        echo(study)
    files = [path, *([] if call.figures is None else study.write_figures(call.figures)), *more]
    if not call.as_json:
        echo("\n" + "\n".join(f"written: {file}" for file in files))
