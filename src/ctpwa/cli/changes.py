"""Options that change a model for a quick test, without touching its file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

import ctpwa
from ctpwa.analysis.analysis import Analysis
from ctpwa.base.errors import ConfigError
from ctpwa.base.ranks import Ranks
from ctpwa.config.changes import ChangeError, Changes

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="another value of a parameter or coupling; may be repeated"),
]
FixOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fix", metavar="NAME=VALUE", help="a parameter that is fixed; without =VALUE where the fit would start; may be repeated"
    ),
]
FloatOption = Annotated[list[str] | None, typer.Option("--float", metavar="NAME", help="a parameter that floats; may be repeated")]
WithoutOption = Annotated[
    list[str] | None, typer.Option("--without", metavar="RESONANCE", help="leave this resonance out; may be repeated")
]
DataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--data", metavar="FILE", help="measured events in place of those of the model file; may be repeated; NAME=FILE for a data set"
    ),
]


def _refused(why: str) -> Callable[[list[str] | None], None]:
    """What happens to an option that other commands have."""

    def refuse(value: list[str] | None) -> None:
        if value:
            raise typer.BadParameter(why)

    return refuse


NotFitted = Annotated[
    list[str] | None,
    typer.Option(
        "--fix", "--float", hidden=True, callback=_refused("nothing is fitted here: give a value with --set NAME=VALUE, or fit with it")
    ),
]
NotRead = Annotated[
    list[str] | None,
    typer.Option("--data", hidden=True, callback=_refused("events are made here, and none are read: --out names their file")),
]


def read_changes(
    fix: Sequence[str] | None = None,
    values: Sequence[str] | None = None,
    floating: Sequence[str] | None = None,
    without: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
) -> Changes:
    """What the options say; what contradicts itself is wrong usage."""
    fixed = _named("--fix", fix or (), _real)
    given = _named("--set", values or (), _complex)
    for option, names in (("--float", floating), ("--without", without), ("--data", data)):
        for name in names or ():
            if (names or []).count(name) > 1:
                raise typer.BadParameter(f"{option} {name!r} is there twice")
    missing = [name for name, value in given.items() if value is None]
    if missing:
        raise typer.BadParameter(f"--set {missing[0]!r} has no value; write NAME=VALUE")
    for name in floating or ():
        if name in fixed:
            raise typer.BadParameter(f"{name!r} cannot both be fixed and float: leave out --fix or --float")
    for name, value in fixed.items():
        if name in given and value is not None:
            raise typer.BadParameter(f"{name!r} has two values: leave =VALUE out of --fix, or leave out --set")
    numbers = {name: value for name, value in given.items() if value is not None}
    return Changes(
        tuple(without or ()),
        tuple(floating or ()),
        numbers,
        tuple(data or ()),
        {n: None if v is None else v.real for n, v in fixed.items()},
    )


@contextmanager
def of_options() -> Iterator[None]:
    """What is wrong with changes is said of the option, since no file has them."""
    try:
        yield
    except ChangeError as error:
        raise typer.BadParameter(f"{error.what}; {error.fix}") from None


def load_changed(model: Path, changes: Changes, ranks: Ranks | None = None) -> Analysis:
    """The model file with changes; what is wrong with these is said of the option, since the file does not have them."""
    try:
        with of_options():
            return ctpwa.load_analysis(model, ranks, changes=changes)
    except ConfigError as error:
        for problem in error.problems:
            if problem.path[:2] == ("fit", "fix") and problem.path[2:3] and problem.path[2] in changes.fix:
                raise typer.BadParameter(f"--fix {problem.path[2]!r}: {problem.what}; {problem.fix}") from None
        raise


def _named(option: str, texts: Sequence[str], number: Callable[[str], complex]) -> dict[str, complex | None]:
    """Names and values of an option; None without a value."""
    found: dict[str, complex | None] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not name or name in found:
            raise typer.BadParameter(f"{option} {text!r} has no name" if not name else f"{option} {name!r} is there twice")
        try:
            found[name] = number(value) if equals else None
        except ValueError:
            raise typer.BadParameter(f"{option} {text!r}: {value!r} is not a number; write NAME=VALUE") from None
        size = abs(found[name] or 0.0)
        if not math.isfinite(size):
            raise typer.BadParameter(f"{option} {text!r}: {value!r} is not finite")
    return found


def _real(text: str) -> complex:
    return complex(float(text))


def _complex(text: str) -> complex:
    return complex(text.replace(" ", ""))
