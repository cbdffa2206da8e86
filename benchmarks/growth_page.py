"""The tables of growth in docs/performance.md, from what benchmarks/growth.py has written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from common import markdown

QUANTITIES = {
    "initialisation_s": "initialisation",
    "gradient_ms": "NLL + gradient",
    "hessian_ms": "Hessian",
    "planned_bytes": "memory, planned",
    "bytes_per_event": "bytes per event",
    "spin_amplitudes_ms": "spin amplitudes",
}
LINESHAPES = {True: ", floating", False: ", fixed", None: ""}


def page(results: Mapping[str, Any]) -> str:
    """All tables of one run."""
    parts = results["parts"]
    texts = [f"**{results['hardware']}**, {results['clock']} clock, torch {results['torch']}"]
    exponents = [e for part in parts.values() for e in part["exponents"] if e["quantity"] in QUANTITIES]
    exponents = [e for e in exponents if (e["over"], e["quantity"]) != ("waves", "planned_bytes")]  # bytes per event say it
    if exponents:
        texts.append(markdown(["over", "model", "of", "exponent", "of the three largest"], [_exponent(e) for e in exponents]))
    if "particles" in parts:
        texts += _particles(parts["particles"]["rows"])
    texts += [_fit(row) for row in parts.get("fit", {"rows": []})["rows"]]
    return "\n\n".join(texts)


def _exponent(e: Mapping[str, Any]) -> list[str]:
    over = "2J+1" if e["over"] == "states" else e["over"]
    span = f"{over}, {e['from']} to {e['to']}"
    return [
        span,
        e["model"] + LINESHAPES[e.get("floating")],
        QUANTITIES[e["quantity"]],
        f"{e['exponent']:.2f} ± {e['error']:.2f}",
        f"{e['of the largest'] + 0.0:.2f}",
    ]


def _particles(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    heads = ["final particles", "waves", "terms", "bytes per event", "initialisation", "NLL + gradient", "Hessian"]
    lines = []
    for r in rows:
        times = [f"{r['initialisation_s']:.3g} s", f"{r['gradient_ms']:.3g} ms", f"{r['hessian_ms']:.3g} ms"]
        lines.append([*(str(r[key]) for key in ("particles", "waves", "channels", "bytes_per_event")), *times])
    return [f"With {rows[0]['events']} events:", markdown(heads, lines)]


def _fit(r: Mapping[str, Any]) -> str:
    return (
        f"A fit of {r['events']} events with {r['free']} parameters: {r['initialisation_s']:.3g} s to build, {r['fit_s']:.3g} s to fit "
        f"with {r['hessians']} Hessians; it ends {r['largest_pull']:.0e} standard errors from the generated values."
    )
