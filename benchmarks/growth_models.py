"""Models whose size can be chosen: waves, spins, particles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import ctpwa
from common import KK_ETA

MODELS = Path(__file__).parent / "models"
MANY_WAVES, SIX_BODIES = MODELS / "d0_k3pi_many.yml", MODELS / "jpsi_6pi.yml"
FOUR_BODIES = KK_ETA.parents[1] / "jpsi_4pi" / "model.yml"
MOST_WAVES = 200
# in every model of K+ K- eta, so that all have the kinds of lineshapes of the example, and its kernels: fixed, floating, constant
ALWAYS, ALWAYS_FIXED = ("phi(1020)", "phi(1680)", "NR1"), ("phi(1020)", "NR1")
RADIAL, EXCITATION, WIDER = 9, 0.13, 1.15  # radial excitations; GeV and factor from one to the next


def of_waves(family: str, n_waves: int, *, floating: bool) -> Any:
    """A model of ``n_waves`` waves, the same kinds of them whatever their number: some of a model of 200, in equal steps.

    Args:
        family:    ``K+ K- eta``: resonances in three pairs, whose excitations share their spin amplitudes; ``K- 3pi``: cascades, where
                   most waves have spin amplitudes of their own
        n_waves:   how many, up to 200
        floating:  let all masses and widths float, in K+ K- eta but for one resonance
    """
    pairs = family == "K+ K- eta"
    description = _many_kk_eta() if pairs else yaml.safe_load(MANY_WAVES.read_text(encoding="utf-8"))
    for name, resonance in description["resonances"].items():
        resonance.pop("float", None)
        if floating and name not in ALWAYS_FIXED:
            resonance["float"] = ["mass", "width"]
    model = ctpwa.load_model(description)
    always = len(ALWAYS) if pairs else 0
    spread = np.linspace(always, MOST_WAVES - 1, n_waves - always).round().astype(int)
    return replace(model, waves=tuple(model.waves[i] for i in (*range(always), *spread)))


def _many_kk_eta() -> dict[str, Any]:
    """The example with excitations of its resonances, every coupling of its own: more than 200 waves."""
    description = yaml.safe_load(KK_ETA.read_text(encoding="utf-8"))
    for key in ("samples", "data_sets", "fit", "couplings"):
        description.pop(key, None)
    description["tie_conjugates"] = False
    originals = description["resonances"]
    resonances = {name: originals[name] for name in ALWAYS}
    for radial in range(RADIAL):
        for name, entry in originals.items():
            if entry.get("lineshape") == "constant" or (radial == 0 and name in ALWAYS):
                continue
            copied = entry | {"JP": entry.get("JP") or _jp(name)}
            copied["mass"] = round(entry["mass"] + EXCITATION * radial, 4)
            copied["width"] = round(entry["width"] * WIDER**radial, 4)
            resonances[name if radial == 0 else f"{name}_{radial}"] = copied
    description["resonances"] = resonances
    return description


def _jp(name: str) -> str:
    """1- of a vector, and by the number in the name of others; all of natural parity."""
    J = int(name[name.index("(") + 1]) if name[name.index("(") + 1 : name.index("(") + 3].endswith(")") else 1
    return f"{J}{'-' if J % 2 else '+'}"


def of_spin(kind: str, J: int) -> Any:
    """A model whose resonances have spin J, or J + ½ for baryons.

    Args:
        kind:  ``pair``: B0 -> K*_J K~*_J with all 2J+1 values of L = S; ``cascade``: B+ -> X_J eta with X_J -> K*_J pi, where the K*_J is
               rotated; ``baryon``: J/psi -> p p~ eta
        J:     0 to 5
    """
    natural, other = ("+", "-") if J % 2 == 0 else ("-", "+")
    if kind == "pair":
        excited = {"JP": f"{J}{natural}", "mass": 1.8, "width": 0.2}
        return ctpwa.load_model(
            {"decay": "B0 -> K+ pi- K- pi+", "resonances": {"one": {"in": "K+ pi-"} | excited, "two": {"in": "K- pi+"} | excited}}
        )
    if kind == "cascade":
        resonances = {
            "above": {"in": "K+ pi- pi+", "JP": f"{J}{other}", "mass": 2.6, "width": 0.3},
            "below": {"in": "K+ pi-", "JP": f"{J}{natural}", "mass": 1.8, "width": 0.2},
        }
        return ctpwa.load_model({"decay": "B+ -> K+ pi- pi+ eta", "resonances": resonances})
    return ctpwa.load_model(
        {
            "decay": "J/psi(1S) -> p p~ eta",
            "polarisation": "transverse",
            "resonances": {"N": {"in": ["p eta", "p~ eta"], "JP": f"{2 * J + 1}/2{other}", "mass": 1.7, "width": 0.15}},
        }
    )


def of_particles(n_final: int) -> Any:
    """J/psi -> 2(pi+ pi-) or 3(pi+ pi-), of 4 or 36 exchanges; K+ K- eta for three particles."""
    description = yaml.safe_load({3: KK_ETA, 4: FOUR_BODIES, 6: SIX_BODIES}[n_final].read_text(encoding="utf-8"))
    for key in ("samples", "data_sets", "fit", "couplings"):
        description.pop(key, None)
    for resonance in description["resonances"].values():
        resonance.pop("float", None)
    return ctpwa.load_model(description)
