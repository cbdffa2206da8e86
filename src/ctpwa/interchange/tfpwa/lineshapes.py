"""Lineshapes of TF-PWA as those of a model file."""

from __future__ import annotations

from typing import Any

from ctpwa.interchange.tfpwa.configuration import Configuration, ParticleEntry
from ctpwa.kinematics.two_body import barrier_coefficients
from ctpwa.model.lineshapes.expression_text import breakup_text

KNOWN = "default, BWR, BWR2, BW, one, exp, exp_com and LASS"


def lineshape_of(
    configuration: Configuration, particle: ParticleEntry, smallest_l: int, masses: tuple[float, float] | None
) -> dict[str, Any]:
    """What a resonance of a model file says.

    Args:
        configuration:  for messages
        particle:       the resonance
        smallest_l:     of the vertices where it decays
        masses:         nominal masses of its daughters, GeV; None if one is not known
    """
    model, keys = particle.model, particle.keys
    l = int(keys["bw_l"]) if keys.get("bw_l") is not None else smallest_l
    running = keys.get("running_width", True)
    if model == "one" or (model in ("default", "BWR", "BWR2") and particle.width is None):
        return {"lineshape": "constant"}
    if model in ("exp", "exp_com"):
        return _exponential(configuration, particle)
    if particle.mass is None or not particle.width:
        raise configuration.error(f"{particle.name!r} has no mass or width", particle.path, "add them, in GeV")
    values = {"mass": particle.mass, "width": particle.width}
    if model == "BW" or (model in ("default", "BWR", "BWR2") and not running):
        return {**values, "lineshape": "breit_wigner_constant_width"}
    if model in ("default", "BWR"):
        return {**values, "width_l": l} | ({"radius": particle.radius} if l else {})
    if model == "BWR2":
        if masses is None:
            raise configuration.error(f"BWR2 of {particle.name!r} needs the masses of its daughters", particle.path, "add them")
        return {**values, "lineshape": _conjugate(l, particle.radius, masses)}
    if model == "LASS":
        numbers = {key: keys.get(key) for key in ("a", "r")}
        return {**values, "lineshape": "lass", "parameters": {k: abs(float(v)) for k, v in numbers.items() if v is not None}}
    raise configuration.error(f"the model {model!r} of {particle.name!r} cannot be imported", (*particle.path, "model"), f"{KNOWN} can")


def _exponential(configuration: Configuration, particle: ParticleEntry) -> dict[str, Any]:
    names = ("a",) if particle.model == "exp" else ("a", "b")
    parameters = {}
    for name in names:
        value = particle.keys.get(name)
        if not isinstance(value, int | float):
            raise configuration.error(f"{name!r} of {particle.name!r} is not given", particle.path, f"add {name}: …, or give --params")
        parameters[name] = abs(float(value)) if particle.model == "exp" else float(value)
    text = "exp(-a*m)" if particle.model == "exp" else "exp(-(a + i*b)*s)"
    return {"lineshape": text, "parameters": parameters}


def _conjugate(l: int, d: float, masses: tuple[float, float]) -> str:
    """BWR2: the complex conjugate of a Breit-Wigner with running width."""
    q0_2 = breakup_text(*masses, "mass**2")

    def polynomial(q2: str) -> str:
        z2 = f"({q2}*{d**2!r})"
        return "(" + " + ".join(f"{n}*{z2}**{k}" if k else str(n) for k, n in enumerate(barrier_coefficients(l))) + ")"

    ratio = "q/sqrt(" + q0_2 + ")" + (f"*(q2/{q0_2})**{l}*{polynomial(q0_2)}/{polynomial('q2')}" if l else "")
    return f"1/(mass**2 - s + i*mass**2*width/m*{ratio})"
