"""Functions of the format as lineshapes and barriers of a model file."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ctpwa.base.errors import PhysicsError
from ctpwa.config.spec_types import MAX_RADIUS, MIN_RADIUS
from ctpwa.interchange.checked import Entry
from ctpwa.interchange.serialization.description import Function
from ctpwa.interchange.serialization.expressions import translated
from ctpwa.kinematics.two_body import barrier_coefficients
from ctpwa.model.lineshapes.expression_text import breakup_text
from ctpwa.model.lineshapes.formula import Vertex
from ctpwa.model.lineshapes.registry import build_lineshape

LARGEST_L = 20
SAME_MASS = 1e-12  # GeV
SAFE_Q0 = 0.0501  # GeV; break-up momenta below are continued in the lineshapes of ctpwa
MOST_CHANNELS = 20
MOST_COEFFICIENTS = 30
ELSEWHERE = Vertex(0.14, 0.14, 0, 3.0)  # what is imported knows nothing of the vertex


def lineshape_of(function: Function, pairs: Collection[tuple[float, float]]) -> dict[str, Any]:
    """What a resonance of a model file says to have a function as its propagator.

    Args:
        function:  the function
        pairs:     masses of the daughters wherever it stands
    """
    found = _LINESHAPES.get(function.kind)
    if found is None:
        kinds = ", ".join(sorted(set(_LINESHAPES) - {"polynomial"}))
        raise function.entry["type"].error(f"{function.name!r}: a lineshape of type {function.kind!r} is not known", f"{kinds} are")
    spec = found(function.entry, pairs)
    if " " in spec.get("lineshape", "") or "(" in spec.get("lineshape", ""):
        try:
            build_lineshape(spec["lineshape"], ELSEWHERE, parameters=[*spec.get("parameters", ()), *({"mass", "width"} & spec.keys())])
        except PhysicsError as error:
            where = function.entry.get("expression") or function.entry
            raise where.error(f"{function.name!r}: {error.what}", error.fix or "correct it") from None
    return spec


def barrier_of(function: Function) -> tuple[dict[str, Any], float]:
    """The barrier that a form factor is, and the number in front of it."""
    entry = function.entry
    if function.kind == "BlattWeisskopf":
        l, radius = _l(entry["l"]), entry["radius"].number
        if l == 0:
            return {"form": "none"}, 1.0
        if not MIN_RADIUS <= radius <= MAX_RADIUS:
            raise entry["radius"].error(f"a radius of {radius:g} GeV^-1", f"give one from {MIN_RADIUS:g} to {MAX_RADIUS:g}")
        return {"form": "blatt-weisskopf", "l": l, "radius": radius}, radius**l
    if function.kind == "MomentumPower":
        l = _l(entry["l"])
        return ({"form": "momentum", "l": l} if l else {"form": "none"}), 1.0
    raise entry["type"].error(
        f"{function.name!r}: a form factor of type {function.kind!r} cannot be imported", "BlattWeisskopf and MomentumPower can"
    )


def _l(entry: Entry) -> int:
    if entry.whole > LARGEST_L:
        raise entry.error(f"l = {entry.whole}", f"l goes up to {LARGEST_L}")
    return entry.whole


def _breit_wigner(entry: Entry, pairs: Collection[tuple[float, float]]) -> dict[str, Any]:
    entry.only({"name", "type", "x", "mass", "width", "ma", "mb", "l", "d"}, "remove it if it does not change the function")
    mass, width, ma, mb, d = (entry[key].number for key in ("mass", "width", "ma", "mb", "d"))
    l = _l(entry["l"])
    if mass <= ma + mb:
        raise entry.error(f"the mass {mass:g} GeV is below the threshold {ma + mb:g} GeV", "write it as MultichannelBreitWigner")
    if width <= 0 or mass <= 0:
        raise entry.error("mass and width are not above 0", "correct them")
    if l and not MIN_RADIUS <= d <= MAX_RADIUS:
        raise entry["d"].error(f"a radius of {d:g} GeV^-1", f"give one from {MIN_RADIUS:g} to {MAX_RADIUS:g}")
    q0 = ((mass**2 - (ma + mb) ** 2) * (mass**2 - (ma - mb) ** 2)) ** 0.5 / (2 * mass)
    if q0 > SAFE_Q0 and all(_same(pair, (ma, mb)) for pair in pairs):
        return {"mass": mass, "width": width, "width_l": l} | ({"radius": d} if l else {})
    running = f"{_width(l, d, ma, mb)}/({_width(l, d, ma, mb, 'mass**2')})"
    return {"mass": mass, "width": width, "lineshape": f"1/(mass**2 - s - i*mass*width*{running})"}


def _width(l: int, d: float, ma: float, mb: float, s: str = "s") -> str:
    """ρ F_l² of a channel as text in s: 2q/√s · (q d)^2l / N_l(q d)."""
    q2 = breakup_text(ma, mb, s)
    rho = f"sqrt({q2}*4/{s})"
    if not l:
        return rho
    z2 = f"({q2}*{d**2!r})"
    polynomial = " + ".join(f"{n}*{z2}**{k}" if k else str(n) for k, n in enumerate(barrier_coefficients(l)))
    return f"{rho}*{z2}**{l}/({polynomial})"


def _same(pair: tuple[float, float], other: tuple[float, float]) -> bool:
    return all(abs(a - b) <= SAME_MASS for a, b in zip(sorted(pair), sorted(other), strict=True))


def _multichannel(entry: Entry, pairs: Collection[tuple[float, float]]) -> dict[str, Any]:
    entry.only({"name", "type", "x", "mass", "channels"}, "remove it if it does not change the function")
    channels = list(entry["channels"])
    if not 1 <= len(channels) <= MOST_CHANNELS:
        raise entry["channels"].error(f"there are {len(channels)} channels", f"give 1 to {MOST_CHANNELS}")
    mass = entry["mass"].number
    if mass <= 0:
        raise entry["mass"].error(f"a mass of {mass:g} GeV", "correct it")
    numbers = [(c["gsq"].number, c["ma"].number, c["mb"].number, _l(c["l"]), c["d"].number) for c in channels]
    for channel, (gsq, ma, mb, l, d) in zip(channels, numbers, strict=True):
        if gsq < 0 or ma < 0 or mb < 0 or (l and not MIN_RADIUS <= d <= MAX_RADIUS):
            raise channel.error("a negative number, or a radius that is too small or too large", "correct it")
    if all(l == 0 and gsq > 0 and ma + mb > 0 for gsq, ma, mb, l, _ in numbers):
        table = {str(i): [ma, mb] for i, (_, ma, mb, _, _) in enumerate(numbers, start=1)}
        couplings = {f"g_{i}": gsq for i, (gsq, *_) in enumerate(numbers, start=1)}
        return {
            "mass": mass,
            "lineshape": "flatte",
            "parameters": couplings,
            "options": {"channels": table, "convention": "mass"},
        }
    widths = [f"g_{i}*{_width(l, d, ma, mb)}" for i, (_, ma, mb, l, d) in enumerate(numbers, start=1)]
    text = f"1/(mass**2 - s - i*mass*({' + '.join(widths)}))"
    return {"mass": mass, "lineshape": text, "parameters": {f"g_{i}": gsq for i, (gsq, *_) in enumerate(numbers, start=1)}}


def _generic(entry: Entry, pairs: Collection[tuple[float, float]]) -> dict[str, Any]:
    entry.only({"name", "type", "x", "expression", "momentum"}, "remove it if it does not change the function")
    variable, momentum = entry.get("x"), entry.get("momentum")
    text = translated(entry["expression"], None if variable is None else variable.text, None if momentum is None else momentum.text)
    if len({tuple(sorted(pair)) for pair in pairs}) == 1 and min(min(pair) for pair in pairs) >= 0:
        for pair in pairs:  # its own break-up momentum, which is never negative
            text = text.replace(breakup_text(*pair), "q2")
    return {"lineshape": f"({text})"}


def _polynomial(entry: Entry, pairs: Collection[tuple[float, float]]) -> dict[str, Any]:
    entry.only({"name", "type", "x", "coefficients"}, "remove it if it does not change the function")
    coefficients = [c.complex for c in entry["coefficients"]]
    if not 1 <= len(coefficients) <= MOST_COEFFICIENTS:
        raise entry["coefficients"].error(f"there are {len(coefficients)} coefficients", f"give 1 to {MOST_COEFFICIENTS}")
    terms = [f"({c.real!r} + {c.imag!r}*i)*s**{k}" if k else f"({c.real!r} + {c.imag!r}*i)" for k, c in enumerate(coefficients)]
    return {"lineshape": f"({' + '.join(terms)})"}


_LINESHAPES = {
    "BreitWigner": _breit_wigner,
    "MultichannelBreitWigner": _multichannel,
    "generic_function": _generic,
    "custom": _generic,
    "polynomial": _polynomial,
    "Polynomial": _polynomial,
}
