"""Values and freedom of single parameters in a model description, wherever it keeps them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.config.schema import FLOAT, ModelSpec
from ctpwa.model.couplings import VERTEX, CouplingMap, map_couplings
from ctpwa.model.fixing import own_parameters
from ctpwa.model.model import Model
from ctpwa.model.parameter import PARTS, POLAR, Parameter, asymmetry_owner, check_name


class ChangeError(PhysicsError):
    """A change that cannot be made."""


DIRECT = ("mass", "width")  # keys of a resonance; its other parameters stand under 'parameters'


@dataclass(frozen=True)
class Known:
    """What a description holds, before it is changed.

    Attributes:
        spec:       the description
        model:      what it describes
        mixed:      fractions or yields of backgrounds
        couplings:  all couplings that are still there
        numbers:    couplings that have been changed
    """

    spec: ModelSpec
    model: Model
    mixed: Mapping[str, Parameter]
    couplings: Sequence[str]
    numbers: dict[str, complex] = field(default_factory=dict)

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """Parameters that are not parts of couplings."""
        return {**own_parameters(self.model.resonances, self.model.parameters), **self.mixed}

    @cached_property
    def elements(self) -> tuple[str, ...]:
        """Those of them that are elements of the spin density matrix of the parent."""
        factors = self.model.production.rows(self.model.decay).factors
        return () if factors is None else factors.names

    @cached_property
    def mapped(self) -> CouplingMap:
        """The numbers that are fitted."""
        fit = self.spec.fit
        ties = {name: (str(other), complex(str(factor).replace(" ", ""))) for name, (other, factor) in fit.ties.items()}
        reference = fit.reference_wave if fit.reference_wave in self.couplings else None
        own = {name: tie for name, tie in ties.items() if name in self.couplings}
        return map_couplings(self.model, self.couplings, fit.couplings, own, reference) if self.couplings else CouplingMap((), (), ())

    @cached_property
    def parts(self) -> dict[str, tuple[str, str]]:
        """Parameters of couplings → the number and which part of it."""
        return {f"{name}.{part}": (name, part) for name in self.mapped.numbers for part in PARTS[self.spec.fit.representation]}

    def check(self, option: str, name: str) -> None:
        """Refuse a name that nothing has.

        Raises:
            ChangeError: with the names that are near
        """
        names = [*self.parts, *self.parameters, *(self.couplings if option == "--set" else ())]
        try:
            check_name(name, names, self.spec.fit.representation)
        except PhysicsError as error:
            near = error.fix if error.fix.startswith(("did", "write")) else "ctpwa check lists couplings and parameters"
            raise ChangeError(f"{option} {name!r}: {error.what}", near) from None
        if name in self.model.relations:
            raise ChangeError(f"{option} {name!r}: it is {self.model.relations[name]}", "change the parameters that it is made of")
        if self.parts.get(name, (name,))[0] in self.mapped.fixed:
            raise ChangeError(f"{option} {name!r}: the coupling is fixed to 1", "choose another reference_wave in the model file")


def free(data: dict[str, Any], known: Known, name: str) -> None:
    """Let a parameter float."""
    known.check("--float", name)
    fit = data.get("fit") or {}
    fixed = names_of(fit.get("fix"))
    held = name in fixed
    if held:
        del fixed[name]
        data["fit"] = {**fit, "fix": fixed}
    own = known.parameters.get(name)
    if own is None or not own.fixed:
        if not held:
            raise ChangeError(f"--float {name!r}: it is free already", "leave the option out")
    elif asymmetry_owner(name):
        if not held:
            raise ChangeError(f"--float {name!r}: only differences of asymmetries are determined", "fix another one in the model file")
    elif name in known.mixed:
        for entry in _backgrounds(data, name):
            entry["fraction"] = _mapping(entry["fraction"]) | {"float": True}
    elif name in (data.get("parameters") or {}):
        data["parameters"][name] = _mapping(data["parameters"][name]) | {"float": True}
    elif name in known.elements:
        _change_element(data, known, name, {"float": True})
    else:
        resonance, entry, key = _resonance(data, known, name)
        listed = entry.get("float", [])
        floating = [listed] if isinstance(listed, str) else list(listed)
        data["resonances"][resonance] = entry if key in floating else entry | {"float": [*floating, key]}


def set_value(data: dict[str, Any], known: Known, name: str, value: complex) -> None:
    """Give a parameter or a coupling another value: where a fit starts, where it is fixed, and the truth of toys."""
    known.check("--set", name)
    if name in known.couplings or name in known.parts:
        _set_coupling(data, known, name, value)
        return
    if value.imag:
        raise ChangeError(f"--set {name!r}: {value:g} is complex", "give a real number")
    own = known.parameters[name]
    if not own.lower <= value.real <= own.upper:
        raise ChangeError(f"--set {name!r}: {value.real:g} is outside its limits", f"give a number from {own.lower:g} to {own.upper:g}")
    _override(data, name, value.real)
    if asymmetry_owner(name):
        _set_asymmetry(data, known, name, value.real)
    elif name.endswith(".yield") and name in known.mixed:
        data["fit"] = {**data["fit"], "start": {**(data["fit"].get("start") or {}), name: value.real}}
    elif name in known.mixed:
        for entry in _backgrounds(data, name):
            entry["fraction"] = _mapping(entry["fraction"]) | {"value": value.real}
    elif name in (data.get("parameters") or {}):
        data["parameters"][name] = _mapping(data["parameters"][name]) | {"value": value.real}
    elif name in known.elements:
        _change_element(data, known, name, {"value": value.real})
    else:
        resonance, entry, key = _resonance(data, known, name)
        changed = {key: value.real} if key in DIRECT else {"parameters": {**(entry.get("parameters") or {}), key: value.real}}
        data["resonances"][resonance] = entry | changed


def _set_coupling(data: dict[str, Any], known: Known, name: str, value: complex) -> None:
    """A coupling relative to that of the reference wave, as a fit has it, or a part of it."""
    fit, mapped = known.spec.fit, known.mapped
    coupling, part = known.parts.get(name, (name, ""))
    if part:
        if value.imag:
            raise ChangeError(f"--set {name!r}: {value:g} is complex", f"give a real number, or  --set {coupling}={value:g}")
        _override(data, name, value.real)
    if fit.couplings == VERTEX:
        if not part:
            raise ChangeError(
                f"--set {name!r}: couplings are products over vertices", "set a part of one of their numbers, see ctpwa check"
            )
        data["fit"] = {**(data.get("fit") or {}), "start": {**((data.get("fit") or {}).get("start") or {}), name: value.real}}
        return
    if coupling in mapped.tied:
        raise ChangeError(f"--set {name!r}: it is tied to {fit.ties[coupling][0]!r}", f"set {fit.ties[coupling][0]!r}")
    values = known.model.coupling_values
    reference = complex(values.get(mapped.fixed[0], 1.0))
    here = known.numbers.get(coupling, complex(values.get(coupling, 1.0)) / reference)
    known.numbers[coupling] = _with_part(here, part, value.real, fit.representation) if part else value
    number = reference * known.numbers[coupling]
    if data.pop("fractions", None):
        data["couplings"] = {own: [complex(values[own]).real, complex(values[own]).imag] for own in known.couplings}
    data["couplings"] = {**(data.get("couplings") or {}), coupling: [number.real, number.imag]}


def _with_part(z: complex, part: str, value: float, representation: str) -> complex:
    if representation == POLAR:
        return complex(value * np.exp(1j * np.angle(z)) if part == "abs" else abs(z) * np.exp(1j * value))
    return complex(value, z.imag) if part == "re" else complex(z.real, value)


def _set_asymmetry(data: dict[str, Any], known: Known, name: str, value: float) -> None:
    owner, end = asymmetry_owner(name), name.rpartition(".")[2]
    parts = {part: known.parameters[f"{name.rpartition('.')[0]}.{part}"].value for part in ("re", "im")} | {end: value}
    data["cp"] = {**names_of(data.get("cp")), owner: [parts["re"], parts["im"]]}


def _override(data: dict[str, Any], name: str, value: float) -> None:
    """The value also counts before what the fit section says about it."""
    fit = dict(data.get("fit") or {})
    fixed = names_of(fit.get("fix"))
    if fixed.get(name) is not None:
        fit["fix"] = fixed | {name: value}
    if name in (fit.get("start") or {}):
        fit["start"] = {own: number for own, number in fit["start"].items() if own != name}
    if fit:
        data["fit"] = fit


def _resonance(data: dict[str, Any], known: Known, name: str) -> tuple[str, dict[str, Any], str]:
    """The resonance of a parameter, what the description says about it, and the parameter's own name."""
    for resonance in sorted(known.model.resonances, key=len, reverse=True):
        if name.startswith(f"{resonance}."):
            data["resonances"] = data.get("resonances") or {}
            return resonance, data["resonances"].get(resonance) or {}, name.removeprefix(f"{resonance}.")
    raise ChangeError(f"no resonance has a parameter {name!r}", suggest(name, known.parameters))


def _change_element(data: dict[str, Any], known: Known, name: str, change: dict[str, Any]) -> None:
    """Change what the description says about an element of the density matrix, all of which are spelled out for that."""
    given = {own: {"value": known.parameters[own].value, "float": not known.parameters[own].fixed} for own in known.elements}
    if isinstance(data["polarisation"], dict):
        given = {own: {"float": True} if entry == FLOAT else _mapping(entry) for own, entry in data["polarisation"].items()}
    data["polarisation"] = {**given, name: given.get(name, {}) | change}


def _backgrounds(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The background of this fraction in every data set that has it."""
    sets = [data["samples"]] if data.get("samples") else list((data.get("data_sets") or {}).values())
    owner = name.rpartition(".")[0]
    return [own["backgrounds"][owner] for own in sets if owner in (own.get("backgrounds") or {})]


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {"value": value}


def refuse_relative(fit: Mapping[str, Any], parts: Collection[str], why: str, fix: str) -> None:
    """Refuse a reference wave that changes where the fit gives parts of couplings, which are relative to it."""
    for section in ("fix", "limits", "constraints", "relations"):
        named = [name for name in names_of(fit.get(section)) if name in parts]
        if named:
            raise ChangeError(f"{why}, and {section!r} of the fit gives {named[0]!r} relative to it", fix)


def names_of(value: Any) -> dict[str, Any]:
    """Names with values, from a text, a list or a mapping."""
    return {value: None} if isinstance(value, str) else dict.fromkeys(value) if isinstance(value, list) else dict(value or {})
