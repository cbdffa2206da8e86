"""The ``columns`` section: event columns that a model declares, and where the samples have them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ctpwa.base.errors import DataError, Path, suggest
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.schema import ModelSpec, SampleSpec
from ctpwa.data.event_column import EventColumn
from ctpwa.data.options import ReadOptions
from ctpwa.model.lineshapes.expression_parser import NAMES

TAKEN = (*NAMES, "mass", "width", "weight", "weights")  # what formulas and files call otherwise


def event_columns(spec: ModelSpec, problems: Problems) -> tuple[EventColumn, ...]:
    """The declared columns; names that cannot be used become problems."""
    found = []
    for name, column in spec.columns.items():
        with problems.collect(("columns", name)):
            if not name.isidentifier() or not name.isascii():
                raise SpecError(f"{name!r} cannot be the name of an event column", "use letters, digits and underscores", key=())
            if name in TAKEN:
                raise SpecError(f"{name!r} is the name of something else", "choose another name; samples say which column it is", key=())
            lower, upper = column.limits or (-float("inf"), float("inf"))
            if not lower < upper:
                raise SpecError(f"limits from {lower:g} to {upper:g}", "give the lower one first", key=("limits",))
            found.append(EventColumn(name, column.size, lower, upper))
    return tuple(found)


def check_sample_columns(
    sample: SampleSpec, declared: Sequence[EventColumn], path: Path, problems: Problems, made: Collection[str] = ()
) -> None:
    """Check that the event columns of a sample match those that the model declares; ``made`` are those that generated events have."""
    known = {column.name: column for column in declared}
    options = ReadOptions(columns=sample.columns)
    for name in sample.columns:
        with problems.collect((*path, "columns", name)):
            if name not in known:
                fix = suggest(name, known) if known else "leave it out, or declare it: columns: [" + name + "]"
                raise SpecError(f"the model declares no event column {name!r}", fix, key=())
            try:
                source = options.source_of(known[name])
                if not isinstance(source[0], str):
                    known[name].same_for_all(source, 1)
                elif sample.generate is not None:
                    raise SpecError(f"{name!r} of generated events is a column of files", "give a number that all events have", key=())
            except DataError as error:
                what, _, fix = str(error).partition("\n fix: ")
                raise SpecError(what, fix, key=()) from None
    used = sample.efficiency.column if sample.efficiency is not None else None
    for name in sample.column_files:
        with problems.collect((*path, "column_files", name)):
            if name not in known and name != used:
                fix = suggest(name, known) if known else "leave it out, or declare it: columns: [" + name + "]"
                raise SpecError(f"the model declares no event column {name!r}", fix, key=())
            if name in sample.columns:
                raise SpecError(f"both 'columns' and 'column_files' give {name!r}", "leave one of them out", key=())
            if name in known and known[name].size != 1:
                raise SpecError(f"{name!r} is a vector", "files of their own are for columns of one number", key=())
    if sample.generate is not None:
        for column in declared:
            if column.name not in sample.columns and column.name not in made:
                fix = f"say  columns: {{{column.name}: …}}  with a number that all events have, or read simulated events"
                problems.add(SpecError(f"generated events have no event column {column.name!r}", fix, key=()), path)
