"""Other hypotheses about one resonance of a model description: another J^P, lineshape or list of (L, S)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import yaml

from ctpwa.base.errors import ConfigError, PhysicsError
from ctpwa.config.changes import drop_names
from ctpwa.config.read import Document, load_document
from ctpwa.config.set_values import ChangeError, names_of, refuse_relative
from ctpwa.config.yaml_loader import BoundedLoader
from ctpwa.decay.spin import parse_jpc
from ctpwa.model.lineshapes.formula import Vertex
from ctpwa.model.lineshapes.registry import build_lineshape
from ctpwa.model.model import Model
from ctpwa.model.parameter import PARTS

_PAIR = re.compile(r"\(\s*(\d+)\s*,\s*(\d+(?:/2)?)\s*\)")
_LS = re.compile(rf"\s*(production|decay)\s*((?:{_PAIR.pattern}\s*)+)")
LS_LISTS = {"production": "production_ls", "decay": "decay_ls"}
TRIAL = Vertex(0.1, 0.1, 0, 3.0)  # where a lineshape is asked for its parameters


@dataclass(frozen=True)
class Alternative:
    """Another hypothesis about a resonance.

    Attributes:
        name:    what it is called
        change:  keys of the resonance in a model file that are replaced; None: removed
    """

    name: str
    change: Mapping[str, Any]


def jp_alternative(text: str) -> Alternative:
    """Other quantum numbers, with all (L, S) that they allow.

    Args:
        text:  J^P or J^PC, such as 2+
    """
    try:
        jpc = parse_jpc(text)
    except PhysicsError as error:
        raise ChangeError(error.what, error.fix) from None
    if jpc.P is None:
        raise ChangeError(f"{text!r} has no parity", "write it like 1-, 2++ or 3/2+")
    return Alternative(f"JP {text.strip()}", {"JP": text.strip(), **dict.fromkeys(LS_LISTS.values())})


def lineshape_alternative(text: str) -> Alternative:
    """Another lineshape, with the mass and width of the fit where it has them.

    Args:
        text:  a name, or an expression
    """
    return Alternative(f"lineshape {text.strip()}", {"lineshape": text.strip(), "options": None, "parameters": None})


def ls_alternative(text: str) -> Alternative:
    """Other (L, S) where the resonance is produced or decays.

    Args:
        text:  such as ``production (0,1)(2,1)`` or ``decay (1,0)``
    """
    match = _LS.fullmatch(text)
    if match is None:
        raise ChangeError(f"cannot read {text!r} as a list of (L, S)", "write it like  production (0,1)(2,1)  or  decay (1,0)")
    pairs = [[int(L), S] for L, S in _PAIR.findall(match[2])]
    words = "".join(f"({L},{S})" for L, S in pairs)
    return Alternative(f"{match[1]} {words}", {LS_LISTS[match[1]]: pairs})


def free_alternative(change: Mapping[str, Any]) -> Alternative:
    """Any other keys of the resonance.

    Args:
        change:  as in a model file
    """
    if not isinstance(change, Mapping) or not change:
        raise ChangeError(f"{change!r} is no change of a resonance", "write keys of a model file, such as {lineshape: flatte, float: mass}")
    return Alternative(json.dumps(dict(change), sort_keys=True, ensure_ascii=False).replace('"', ""), dict(change))


def read_change(text: str) -> dict[str, Any]:
    """Keys of a resonance as a text.

    Args:
        text:  YAML, such as ``{radius: 5}``
    """
    try:
        found = yaml.load(text, Loader=BoundedLoader)
    except yaml.YAMLError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise ChangeError(f"{text!r} is no change of a resonance", "write keys of a model file, such as '{radius: 5}'")
    return found


def alternative_document(data: Mapping[str, Any], model: Model, resonance: str, alternative: Alternative) -> Document:
    """A description with another hypothesis about a resonance. Start values of its couplings are left out, and all others stay.

    Args:
        data:         the description
        model:        what it describes
        resonance:    as the model spells it
        alternative:  the hypothesis

    Raises:
        ChangeError: if the model cannot be like that
    """
    new: dict[str, Any] = deepcopy(dict(data))
    resonances = new["resonances"] = dict(new.get("resonances") or {})
    entry = {**(resonances.get(resonance) or {}), **alternative.change}
    if "lineshape" in alternative.change:
        _fit_to_lineshape(entry, alternative.change)
    resonances[resonance] = {key: value for key, value in entry.items() if value is not None}
    own = {wave.coupling for wave in model.waves if any(r.name == resonance for r in wave.resonances)}
    own |= {wave.name for wave in model.waves if any(r.name == resonance for r in wave.resonances)}

    def belongs(text: str) -> bool:
        return text in own or text.rpartition(".")[0] in own or any(text.startswith(f"{name}:") for name in own)

    if any([new.pop("fractions", None), new.pop("helicity_couplings", None)]):
        new["couplings"] = {name: [complex(c).real, complex(c).imag] for name, c in model.coupling_values.items()}
    drop_names(new, "couplings", belongs)
    fit = new["fit"] = dict(new.get("fit") or {})
    for section in ("start", "minos"):
        drop_names(fit, section, lambda text: belongs(text) or text.startswith(f"{resonance}."))
    if "lineshape" not in alternative.change and belongs(str(fit.get("reference_wave", ""))):
        _forget_reference(fit, model)
    try:
        return load_document(new)
    except ConfigError as error:
        first = error.problems[0]
        raise ChangeError(f"{resonance} with {alternative.name}: {first.what}", first.fix) from None


def _fit_to_lineshape(entry: dict[str, Any], change: Mapping[str, Any]) -> None:
    """Mass and width stay, and float as before, where the lineshape has them."""
    text, options = str(entry["lineshape"]), entry.get("options") or {}
    try:
        known = {p.name for p in getattr(build_lineshape(text, TRIAL, **options), "parameters", ())}
    except PhysicsError:  # is told when the description is read
        return
    for key in ("mass", "width"):
        if key not in known and key not in change:
            entry.pop(key, None)
    floating = names_of(entry.get("float"))
    if "float" not in change and floating:
        names = ["mass", "width"] if {"mass", "width"} <= known else []
        kept = [name for name in floating if name in known or (name == "pdg" and names)]
        entry["float"] = kept or None


def _forget_reference(fit: dict[str, Any], model: Model) -> None:
    """Another coupling is 1 if the reference wave is one of the resonance; what is relative to it would mean something else."""
    parts = {f"{name}.{part}" for name in model.couplings for own in PARTS.values() for part in own}
    why = f"the reference wave {fit['reference_wave']!r} changes"
    refuse_relative(fit, parts, why, "choose another reference_wave in the model file, and fit again")
    del fit["reference_wave"]
