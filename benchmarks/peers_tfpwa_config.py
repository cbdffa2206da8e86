"""The model of ``peers.py`` in the format of TF-PWA, and its parameters in the names of TF-PWA."""

from __future__ import annotations

import cmath
import json
from pathlib import Path
from typing import Any

from peers_shared import coupling

TOP, FINALS = "A", "BCD"  # its names of particles must not contain + and -


def nodes(problem: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    """Daughters of each pair, and who is left, in its names."""
    names = dict(zip(problem["particles"], FINALS, strict=True))
    found = {}
    for pair, particles in problem["pairs"].items():
        first, second = sorted(names[particle] for particle in particles)
        found[pair] = (first, second, next(name for name in FINALS if name not in (first, second)))
    return found


def configuration(problem: dict[str, Any], folder: Path, *, graphs: bool = True) -> str:
    """Its ``config.yml``; JSON is YAML too."""
    places = nodes(problem)
    particles: dict[str, Any] = {f"R_{a}{b}": [] for a, b, _ in places.values()}
    for own in problem["resonances"]:
        a, b, _ = places[own["pair"]]
        particles[f"R_{a}{b}"].append(own["name"])
        mass, width = own["true"]["mass"], own["true"]["width"]
        particles[own["name"]] = {"J": 0, "P": 1, "m0": mass, "g0": width} | ({"float": "mg"} if own["float"] else {})
    finals = {name: {"J": 0, "P": -1, "mass": problem["masses"][own]} for name, own in zip(FINALS, problem["particles"], strict=True)}
    particles |= {"$top": {TOP: {"J": 0, "P": -1, "mass": problem["mass"]}}, "$finals": finals}
    decay: dict[str, Any] = {TOP: [[f"R_{a}{b}", c] for a, b, c in places.values()]}
    decay |= {f"R_{a}{b}": [a, b] for a, b, _ in places.values()}
    files = {"data": [str(folder / "data.dat")], "phsp": [str(folder / "flat.dat")]}
    content = {
        "data": {"dat_order": list(FINALS), "use_tf_function": graphs} | files,
        "decay": decay,
        "particle": particles,
        "constrains": {"decay": {"fix_chain_idx": 0, "fix_chain_val": problem["resonances"][0]["true"]["re"]}},
    }
    return json.dumps(content, indent=1)


def parameters(problem: dict[str, Any], values: dict[str, float]) -> dict[str, float]:
    """In its names and coordinates: modulus and phase of the number of each chain."""
    places = nodes(problem)
    found: dict[str, float] = {}
    for own in problem["resonances"]:
        name = own["name"]
        a, b, c = places[own["pair"]]
        modulus, phase = cmath.polar(coupling(values, own))
        chain = f"{TOP}->{name}.{c}{name}->{a}.{b}_total_0"
        found |= {f"{chain}r": modulus, f"{chain}i": phase}
        found |= {f"{name}_{part}": values.get(f"{name}.{part}", own["true"][part]) for part in ("mass", "width")}
    return found
