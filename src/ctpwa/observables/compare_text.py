"""A comparison of results as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctpwa.fitting.text import Section, with_error
from ctpwa.model.short_names import short_names
from ctpwa.observables.significance import probability


def comparison_text(comparison: Any) -> str:
    """A ``Comparison`` in plain lines."""
    blocks = [
        str(Section(section.title, section.columns, (section.columns, *section.rows), section.foot))
        for section in comparison_sections(comparison)
    ]
    return "\n\n".join([*blocks, *(["\n".join(comparison_notes(comparison))] if comparison.notes else [])])


def comparison_notes(comparison: Any) -> list[str]:
    """Notes below the tables."""
    return [f"note: {note}" for note in comparison.notes]


def comparison_sections(comparison: Any) -> Iterator[Section]:
    """Likelihoods, significances, and every kind of value."""
    yield _fits(comparison)
    if comparison.nested:
        yield _nested(comparison)
    names = tuple(fit.name for fit in comparison.fits)
    for kind in dict.fromkeys(value.kind for value in comparison.values):
        own = [value for value in comparison.values if value.kind == kind]
        shown = short_names([value.name for value in own])
        yield Section(kind, ("", *names), tuple((shown[value.name], *_cells(value)) for value in own))


def _fits(comparison: Any) -> Section:
    columns = ("", "-ln L", "Δ(-2 ln L)", "free", "AIC", "BIC", "events", "verdict")
    rows = tuple(
        (
            fit.name,
            f"{fit.nll:.3f}",
            "" if fit.delta is None else f"{fit.delta:.2f}",
            str(fit.free_parameters),
            f"{fit.aic:.2f}",
            f"{fit.bic:.2f}",
            str(fit.events),
            "good" if fit.good else "NOT good",
        )
        for fit in comparison.fits
    )
    return Section("fits", columns, rows)


def _nested(comparison: Any) -> Section:
    rows, feet = [], []
    for test in comparison.nested:
        several = test.ndf[0] != test.ndf[1]
        counts = " to ".join(str(n) for n in (test.ndf if several else test.ndf[:1]))
        p = " to ".join(probability(log_p) for log_p in (test.log_p_values if several else test.log_p_values[:1]))
        sigmas = " to ".join(f"{sigma:.1f}" for sigma in (test.sigmas if several else test.sigmas[:1]))
        rows.append((f"{test.larger} against {test.smaller}", f"{test.delta:.2f}", counts, p, f"{sigmas} σ"))
        feet += [f"{test.larger} against {test.smaller}: {note}" for note in test.notes]
    columns = ("nested models", "2 Δ ln L", "more parameters", "p-value", "significance")
    return Section("likelihood ratio tests", columns, tuple(rows), "\n  ".join(feet))


def _cells(value: Any) -> Iterator[str]:
    for number, error, difference in zip(value.values, value.errors, value.differences, strict=True):
        if number is None:
            yield "-"
        else:
            yield with_error(number, error) + ("" if difference is None else f"  ({difference:+.1f} σ)")
