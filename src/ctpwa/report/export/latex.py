"""Tables of parameters, couplings and fractions for a paper."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ctpwa.decay.latex import latex_of_text
from ctpwa.fitting.asymmetries import CouplingAsymmetry, CPAsymmetries
from ctpwa.fitting.labels import group_label, parameter_label
from ctpwa.fitting.result import DerivedParameter, FitResult, FittedCoupling, FittedParameter, FractionSet
from ctpwa.fitting.text import with_error
from ctpwa.model.model import Model
from ctpwa.report.content import SystematicErrors

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
BOTH_ERRORS = "\n% of two errors the first is that of the fit, the second systematic\n"
FIT_ALONE = "\n% errors are those of the fit alone\n"
WITH_SYSTEMATIC = ("parameters", "couplings", "fractions")
MOST_DIGITS, LARGE = 9, 1e6  # behind the point, and errors that are written with a power of ten
UNITS = {"mass": r"\,GeV", "width": r"\,GeV"}


def latex_tables(result: FitResult, model: Model | None = None, systematic: SystematicErrors | None = None) -> dict[str, str]:
    """Name of a file → its content; ``tables.tex`` shows all of them.

    Args:
        result:      what was found
        model:       for LaTeX names; without it names stand as they are
        systematic:  systematic errors, which stand after those of the fit; None: there are none
    """
    label: Callable[[str], str] = _plain if model is None else (lambda name: group_label(model, name))
    tables = {"parameters.tex": _parameters(result, model, systematic), "couplings.tex": _couplings(result, label, systematic)}
    several = len(result.fractions) > 1
    for k, entry in enumerate(result.fractions):
        end = f"_{k + 1}" if several else ""
        tables[f"fractions{end}.tex"] = _fractions(entry, label, systematic)
        tables[f"waves{end}.tex"] = _waves(entry, label)
    if result.asymmetries is not None:
        tables["asymmetries.tex"] = _asymmetries(result.asymmetries, label)
    if systematic is not None:
        told = {name: BOTH_ERRORS if name.startswith(WITH_SYSTEMATIC) else FIT_ALONE for name in tables}
        tables = {name: text.replace("\n", told[name], 1) for name, text in tables.items()}
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
    body = power_of_ten(body).replace("±", r"\pm")
    return f"${body}$" + (f" ({note}" if note else "")


def two_errors(value: float, error: float | None, systematic: float | None, minos: tuple[float, float] | None = None) -> str:
    r"""Value with the error of the fit and the systematic one: ``$1.6802 \pm 0.0025 \pm 0.0031$``, as many digits as the smaller needs.

    Args:
        value:       the value
        error:       standard deviation of the fit; None if there is none
        systematic:  systematic error; None if there is none
        minos:       asymmetric errors, the first one negative, instead of that of the fit
    """
    if systematic is None or not error or not math.isfinite(error):
        return number(value, error, minos)
    sides = (error,) if minos is None or not all(math.isfinite(side) and side != 0 for side in minos) else minos
    smallest = min(abs(own) for own in (*sides, systematic or error))
    digits = max(0, 1 - math.floor(math.log10(smallest)))
    if digits > MOST_DIGITS or error >= LARGE:
        power = math.floor(math.log10(max(abs(value), error)))
        scaled = [own / 10.0**power for own in (value, error, systematic)]
        digits = max(0, digits + power)
        return rf"$({scaled[0]:.{digits}f} \pm {scaled[1]:.{digits}f} \pm {scaled[2]:.{digits}f}) \times 10^{{{power}}}$"
    first = rf"\pm {error:.{digits}f}" if len(sides) == 1 else rf"{{}}^{{+{sides[1]:.{digits}f}}}_{{-{abs(sides[0]):.{digits}f}}}"
    return rf"${value:.{digits}f} {first} \pm {systematic:.{digits}f}$"


def power_of_ten(text: str) -> str:
    r"""Numbers such as ``1.2e-10`` as LaTeX: ``1.2 \times 10^{-10}``."""
    return re.sub(r"([-+]?[\d.]+)e([+-]\d+)", lambda match: rf"{match[1]} \times 10^{{{int(match[2])}}}", text)


def _plain(name: str) -> str:
    return f"${latex_of_text(name)}$"


def tabular(columns: str, head: Sequence[str], rows: Iterable[Sequence[str]], last: Sequence[str] = ()) -> str:
    r"""A table as LaTeX.

    Args:
        columns:  such as ``lll``
        head:     what stands above them
        rows:     cells
        last:     a row below a line; may be empty
    """
    lines = [rf"{WRITTEN_BY}; needs \usepackage{{booktabs}}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _row(head), r"\midrule"]
    lines += map(_row, rows)
    lines += [r"\midrule", _row(last)] if last else []
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _parameters(result: FitResult, model: Model | None, systematic: SystematicErrors | None) -> str:
    couplings = [c.name for c in result.couplings]
    counted = any(p.simulation is not None for p in result.parameters)

    def row(p: FittedParameter | DerivedParameter) -> tuple[str, ...]:
        label = _plain(p.name) if model is None else parameter_label(model, p.name, couplings)
        found = p.minos if isinstance(p, FittedParameter) else None
        minos = (found.lower, found.upper) if found is not None and found.valid else None
        owner, _, part = p.name.rpartition(".")
        unit = UNITS.get(part, "") if owner not in couplings else ""
        own = None if systematic is None else systematic.parameters.get(p.name)
        value = two_errors(p.value, p.error, own, minos)
        value += unit + (", at its limit" if getattr(p, "at_limit", False) else "")
        return (label, value, _simulation(p)) if counted else (label, value)

    rows = [*map(row, result.parameters), *map(row, result.derived)]
    if counted:
        return tabular("lll", ("Parameter", "Value", "of which simulation"), rows)
    return tabular("ll", ("Parameter", "Value"), rows)


def _simulation(p: FittedParameter | DerivedParameter) -> str:
    r"""The part of an error that is due to the simulation, with two digits: ``$\pm 0.00071$``."""
    if isinstance(p, DerivedParameter) or p.simulation is None:
        return ""
    return rf"$\pm {power_of_ten(f'{p.simulation:.2g}')}$"


def _couplings(result: FitResult, label: Callable[[str], str], systematic: SystematicErrors | None) -> str:
    rows = []
    for c in result.couplings:
        degrees = None if c.phase_error is None else math.degrees(c.phase_error)
        own, turned = (None, None) if systematic is None else _of_coupling(c, systematic)
        magnitude = two_errors(c.magnitude, c.magnitude_error, own)
        rows.append(
            (label(c.name), magnitude, two_errors(math.degrees(c.phase), degrees, None if turned is None else math.degrees(turned)))
        )
    return tabular("lll", ("Coupling", "Magnitude", r"Phase [$^\circ$]"), rows)


def _of_coupling(c: FittedCoupling, systematic: SystematicErrors) -> tuple[float | None, float | None]:
    """Systematic errors of magnitude and phase, from those of the parts of a coupling that float and their correlation."""
    own = systematic.parameters
    if f"{c.name}.abs" in own or f"{c.name}.phase" in own:
        return own.get(f"{c.name}.abs"), own.get(f"{c.name}.phase")
    names = [*own]
    parts = [(names.index(f"{c.name}.{part}"), value) for part, value in (("re", c.re), ("im", c.im)) if f"{c.name}.{part}" in own]
    if not parts or not c.magnitude:
        return None, None
    covariance = systematic.covariance[np.ix_([k for k, _ in parts], [k for k, _ in parts])]
    along = np.array([value for _, value in parts]) / c.magnitude
    across = np.array([-c.im if names[k].endswith(".re") else c.re for k, _ in parts]) / c.magnitude**2
    radial, angular = (math.sqrt(max(float(way @ covariance @ way), 0.0)) for way in (along, across))
    return radial, angular


def _fractions(entry: FractionSet, label: Callable[[str], str], systematic: SystematicErrors | None) -> str:
    group = entry.groups["resonances"]
    start = f"{entry.data_set}: " if entry.data_set else ""
    found = {} if systematic is None else {name: 100 * own for name, own in systematic.fractions.items()}
    rows = [
        (
            label(name),
            two_errors(100 * value, 100 * error, found.get(start + name)),
            number(*entry.yields[name]) if name in entry.yields else "",
        )
        for name, value, error in zip(group.names, group.values.tolist(), group.errors.tolist(), strict=True)
    ]
    total = () if "chains" in entry.groups else ("Sum", f"${100 * group.sum:.2f}$", "")  # there a wave counts for each of its resonances
    return tabular("lll", ("Resonance", r"Fraction [\%]", "Events"), rows, total)


def _asymmetries(found: CPAsymmetries, label: Callable[[str], str]) -> str:
    rows = [
        (label(own.name), number(100 * own.value, None if own.error is None else 100 * own.error), _angle(own)) for own in found.couplings
    ]
    rows += [
        (rf"{label(name)}, fraction", number(100 * value, 100 * error), "")
        for name, (value, error) in found.fractions["resonances"].items()
    ]
    return tabular("lll", ("Coupling or resonance", r"$A_{CP}$ [\%]", r"$\arg(\bar c/c)$ [$^\circ$]"), rows)


def _angle(own: CouplingAsymmetry) -> str:
    return number(math.degrees(own.phase), None if own.phase_error is None else math.degrees(own.phase_error))


def _waves(entry: FractionSet, label: Callable[[str], str]) -> str:
    rows = []
    for kind in ("chains", "waves", "jp"):
        if kind not in entry.groups:
            continue
        group = entry.groups[kind]
        rows += [
            (label(name), number(100 * value, 100 * error))
            for name, value, error in zip(group.names, group.values.tolist(), group.errors.tolist(), strict=True)
        ]
    return tabular("ll", ("Wave", r"Fraction [\%]"), rows)
