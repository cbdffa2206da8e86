"""A result as text for a terminal or a log."""

from __future__ import annotations

import math
from typing import Any


def with_error(value: float, error: float | None) -> str:
    """Value and error with two digits of the error: ``1.6802 ± 0.0025``."""
    if error is None or not math.isfinite(error):
        return f"{value:.6g} (no error)"
    if error == 0:
        return f"{value:.6g} (fixed)"
    digits = max(0, 1 - math.floor(math.log10(error)))
    if digits > 9 or error >= 1e6:
        return f"{value:.6g} ± {error:.2g}"
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def result_text(result: Any) -> str:
    """Verdict, parameters, couplings and fractions of a ``FitResult``."""
    record = result.record
    lines = [
        f"{result.decay}: -ln L = {result.nll:.6f} with {len(result.parameters)} free parameters and {result.n_events} events",
        f"verdict: {result.verdict}",
        f"{result.method}: {record.hessians} Hessians, {record.gradients} gradients, {record.values} values, {record.seconds:.2f} s",
        f"AIC {result.aic:.2f}, BIC {result.bic:.2f}" + ("; errors of weighted events" if result.corrected else ""),
    ]
    if result.n_starts > 1:
        best = result.minima[0]
        lines.append(f"{result.n_starts} starts, {len(result.minima)} minima, {best.starts} starts in the best one")
        for minimum in result.minima[1:6]:
            note = "" if minimum.refined else "  (part of the events)"
            lines.append(f"  another one {minimum.nll - result.nll:+.2f} in -ln L, {minimum.starts} starts{note}")
        if len(result.minima) > 6:
            lines.append(f"  and {len(result.minima) - 6} more")
    lines += ["", "parameters"]
    width = max((len(p.name) for p in result.parameters), default=0)
    for p in result.parameters:
        asymmetric = "" if p.minos is None else f"   MINOS {p.minos.lower:+.3g} {p.minos.upper:+.3g}"
        lines.append(f"  {p.name:<{width}}  {with_error(p.value, p.error)}{'  at limit' if p.at_limit else ''}{asymmetric}")
    lines += ["", "couplings: magnitude, phase in degrees"]
    width = max((len(c.name) for c in result.couplings), default=0)
    for c in result.couplings:
        degrees = None if c.phase_error is None else math.degrees(c.phase_error)
        lines.append(f"  {c.name:<{width}}  {with_error(c.magnitude, c.magnitude_error)}   {with_error(math.degrees(c.phase), degrees)}")
    for entry in result.fractions:
        of = f" of {entry.data_set}" if entry.data_set else ""
        for kind, title in (("resonances", "resonances"), ("jp", "J^P")):
            group = entry.groups[kind]
            lines += ["", f"fractions{of} over {entry.over} in %: {title}"]
            width = max((len(name) for name in group.names), default=0)
            for name, value, error in zip(group.names, group.values, group.errors, strict=True):
                lines.append(f"  {name:<{width}}  {with_error(100 * value, 100 * error)}")
            lines.append(f"  {'sum':<{width}}  {100 * group.sum:.2f}")
    return "\n".join(lines)
