"""Tables of parameters, couplings and fractions for a paper."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from ctpwa.decay.latex import latex_of_text
from ctpwa.fitting.asymmetries import CouplingAsymmetry, CPAsymmetries
from ctpwa.fitting.labels import group_label, parameter_label
from ctpwa.fitting.result import DerivedParameter, FitResult, FittedParameter, FractionSet
from ctpwa.fitting.text import with_error
from ctpwa.model.model import Model

WRITTEN_BY = "% written by ctpwa export"  # how every file begins
DOCUMENT = r"""% written by ctpwa export: all tables on one page, to look at:  pdflatex tables.tex
\documentclass{article}
\usepackage[margin=2cm]{geometry}
\usepackage[T1]{fontenc}
\usepackage{amsmath,booktabs}
\begin{document}
\small
TABLES
\end{document}
"""
UNITS = {"mass": r"\,GeV", "width": r"\,GeV"}


def latex_tables(result: FitResult, model: Model | None = None) -> dict[str, str]:
    """Name of a file → its content; ``tables.tex`` shows all of them.

    Args:
        result:  what was found
        model:   for LaTeX names; without it names stand as they are
    """
    label: Callable[[str], str] = _plain if model is None else (lambda name: group_label(model, name))
    tables = {"parameters.tex": _parameters(result, model), "couplings.tex": _couplings(result, label)}
    several = len(result.fractions) > 1
    for k, entry in enumerate(result.fractions):
        end = f"_{k + 1}" if several else ""
        tables[f"fractions{end}.tex"] = _fractions(entry, label)
        tables[f"waves{end}.tex"] = _waves(entry, label)
    if result.asymmetries is not None:
        tables["asymmetries.tex"] = _asymmetries(result.asymmetries, label)
    inputs = "\n".join(rf"\begin{{center}}\input{{{name}}}\end{{center}}" for name in tables)
    return tables | {"tables.tex": DOCUMENT.replace("TABLES", inputs)}


def number(value: float, error: float | None, minos: tuple[float, float] | None = None) -> str:
    r"""Value and error in math mode with two digits of the error: ``$1.6802 \pm 0.0025$``.

    Args:
        value:  the value
        error:  standard deviation; None if there is none
        minos:  asymmetric errors, the first one negative, instead of it
    """
    if minos is not None and all(math.isfinite(side) and side != 0 for side in minos):
        digits = max(1 - math.floor(math.log10(abs(side))) for side in minos)
        if 0 <= digits <= 9:
            return rf"${value:.{digits}f}^{{+{minos[1]:.{digits}f}}}_{{-{abs(minos[0]):.{digits}f}}}$"
    text = with_error(value, error)
    body, _, note = text.partition(" (")
    body = re.sub(r"(-?[\d.]+)e([+-]\d+)", lambda match: rf"{match[1]} \times 10^{{{int(match[2])}}}", body)
    body = body.replace("±", r"\pm")
    return f"${body}$" + (f" ({note}" if note else "")


def _plain(name: str) -> str:
    return f"${latex_of_text(name)}$"


def _tabular(columns: str, head: Sequence[str], rows: Iterable[Sequence[str]], last: Sequence[str] = ()) -> str:
    lines = [rf"{WRITTEN_BY}; needs \usepackage{{booktabs}}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _row(head), r"\midrule"]
    lines += map(_row, rows)
    lines += [r"\midrule", _row(last)] if last else []
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _parameters(result: FitResult, model: Model | None) -> str:
    couplings = [c.name for c in result.couplings]

    counted = any(p.simulation is not None for p in result.parameters)

    def row(p: FittedParameter | DerivedParameter) -> tuple[str, ...]:
        label = _plain(p.name) if model is None else parameter_label(model, p.name, couplings)
        found = p.minos if isinstance(p, FittedParameter) else None
        minos = (found.lower, found.upper) if found is not None and found.valid else None
        owner, _, part = p.name.rpartition(".")
        unit = UNITS.get(part, "") if owner not in couplings else ""
        value = number(p.value, p.error, minos) + unit + (", at its limit" if getattr(p, "at_limit", False) else "")
        return (label, value, _simulation(p)) if counted else (label, value)

    rows = [*map(row, result.parameters), *map(row, result.derived)]
    if counted:
        return _tabular("lll", ("Parameter", "Value", "of which simulation"), rows)
    return _tabular("ll", ("Parameter", "Value"), rows)


def _simulation(p: FittedParameter | DerivedParameter) -> str:
    r"""The part of an error that is due to the simulation, with two digits: ``$\pm 0.00071$``."""
    if isinstance(p, DerivedParameter) or p.simulation is None:
        return ""
    body = re.sub(r"([\d.]+)e([+-]\d+)", lambda match: rf"{match[1]} \times 10^{{{int(match[2])}}}", f"{p.simulation:.2g}")
    return rf"$\pm {body}$"


def _couplings(result: FitResult, label: Callable[[str], str]) -> str:
    rows = []
    for c in result.couplings:
        degrees = None if c.phase_error is None else math.degrees(c.phase_error)
        rows.append((label(c.name), number(c.magnitude, c.magnitude_error), number(math.degrees(c.phase), degrees)))
    return _tabular("lll", ("Coupling", "Magnitude", r"Phase [$^\circ$]"), rows)


def _fractions(entry: FractionSet, label: Callable[[str], str]) -> str:
    group = entry.groups["resonances"]
    rows = [
        (label(name), number(100 * value, 100 * error), number(*entry.yields[name]) if name in entry.yields else "")
        for name, value, error in zip(group.names, group.values.tolist(), group.errors.tolist(), strict=True)
    ]
    return _tabular("lll", ("Resonance", r"Fraction [\%]", "Events"), rows, ("Sum", f"${100 * group.sum:.2f}$", ""))


def _asymmetries(found: CPAsymmetries, label: Callable[[str], str]) -> str:
    rows = [
        (label(own.name), number(100 * own.value, None if own.error is None else 100 * own.error), _angle(own)) for own in found.couplings
    ]
    rows += [
        (rf"{label(name)}, fraction", number(100 * value, 100 * error), "")
        for name, (value, error) in found.fractions["resonances"].items()
    ]
    return _tabular("lll", ("Coupling or resonance", r"$A_{CP}$ [\%]", r"$\arg(\bar c/c)$ [$^\circ$]"), rows)


def _angle(own: CouplingAsymmetry) -> str:
    return number(math.degrees(own.phase), None if own.phase_error is None else math.degrees(own.phase_error))


def _waves(entry: FractionSet, label: Callable[[str], str]) -> str:
    rows = []
    for kind in ("waves", "jp"):
        group = entry.groups[kind]
        rows += [
            (label(name), number(100 * value, 100 * error))
            for name, value, error in zip(group.names, group.values.tolist(), group.errors.tolist(), strict=True)
        ]
    return _tabular("ll", ("Wave", r"Fraction [\%]"), rows)
