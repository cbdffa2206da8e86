"""The ``projections`` section: which variables of the final state are drawn, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ctpwa.config.given_latex import usable_label
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.schema import ProjectionEntry
from ctpwa.decay.chain import Decay
from ctpwa.observe.errors import VariableError
from ctpwa.observe.variable import ProjectionSpec, parse_variable, projection

SECTION = "projections"


def projections(entries: Sequence[ProjectionEntry], decay: Decay) -> tuple[ProjectionSpec, ...]:
    """The histograms of a section that ``check_projections`` has found right; none if there is no such section."""
    return tuple(_projection(entry, decay) for entry in entries)


def check_projections(entries: Sequence[ProjectionEntry], decay: Decay, problems: Problems) -> None:
    """Every variable and range that is wrong becomes a problem."""
    seen: dict[ProjectionSpec, int] = {}
    for i, entry in enumerate(entries):
        with problems.collect((SECTION, i), "variable"):
            _check_range(entry)
            try:
                spec = _projection(entry, decay)
            except VariableError as error:
                raise _located(error, entry.variable) from None
            first = seen.setdefault(spec, i)
            if first != i:
                raise SpecError(f"{entry.variable!r} is given twice", "remove one of them, or give it another range or number of bins")


def _projection(entry: ProjectionEntry, decay: Decay) -> ProjectionSpec:
    variable = parse_variable(entry.variable, decay)
    label = variable.label if entry.label is None else usable_label(entry.label)
    unit = variable.unit if entry.unit is None else usable_label(entry.unit)
    return projection(
        replace(variable, label=label, unit=unit), entry.bins, (entry.range[0], entry.range[1]) if entry.range is not None else None
    )


def _check_range(entry: ProjectionEntry) -> None:
    if entry.range is not None and not entry.range[0] < entry.range[1]:
        raise SpecError(f"the range {entry.range} is empty", "write [lowest edge, highest edge]", key=("range",))


def _located(error: VariableError, text: str) -> SpecError:
    fix = error.fix
    if text.count("(") != text.count(")"):
        fix += "; inside [ ] and { } YAML splits at commas: quote the variable, or leave the comma out"
    return SpecError(error.what, fix, word=error.word, offset=error.column - 1)
