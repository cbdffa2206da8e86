"""Whether one of two results is that of a special case of the other's model, and how many parameters lie between."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctpwa.fitting.result import FitResult
from ctpwa.fitting.take_over import of_coupling
from ctpwa.model.parameter import asymmetry_owner

POLARISATION, UNPOLARISED = "polarisation", "unpolarised"
# what two nested models have in common, with the values that are meant when nothing is said
OF_THE_MODEL: dict[str, Any] = {
    POLARISATION: UNPOLARISED, "formalism": "canonical", "weak": None, "radius": 3.0, "tie_conjugates": True, "particles": {},
}  # fmt: skip
OF_A_RESONANCE: dict[str, Any] = {
    "particle": None, "JP": None, "lineshape": "breit_wigner", "options": {}, "radius": None, "weak": None, "tie": None,
}  # fmt: skip


@dataclass(frozen=True)
class Extra:
    """What a larger model has more than a smaller one.

    Attributes:
        couplings:  free real numbers of couplings
        released:   lineshape parameters that are fixed in the smaller one
        undefined:  lineshape parameters that do not exist in the smaller one: any value describes it equally well
    """

    couplings: int
    released: tuple[str, ...]
    undefined: tuple[str, ...]

    @property
    def least(self) -> int:
        """Parameters that have a value in both models."""
        return self.couplings + len(self.released)

    @property
    def most(self) -> int:
        """All parameters."""
        return self.least + len(self.undefined)


def extra_parameters(smaller: FitResult, larger: FitResult) -> Extra | str:
    """What the larger model has more, or why the smaller one is no special case of it."""
    difference = _other_model(smaller, larger)
    if difference:
        return difference
    only = [c.name for c in smaller.couplings if c.name not in {c.name for c in larger.couplings}]
    if only:
        return f"{only[0]!r} is in one of them only"
    small, large = _lineshapes(smaller), _lineshapes(larger)
    small = {name: (0.0, False) for name in large if _conserved(name, smaller)} | _unpolarised(smaller, larger) | small
    related = _more_related(smaller, larger)
    if related:
        return related
    for name, (value, free) in small.items():
        if name not in large:
            return f"{name!r} is in one of them only"
        if free and not large[name][1]:
            return f"{name!r} is free in the model with fewer couplings, and fixed in the other"
        if name in {p.name for p in larger.derived}:  # and in the smaller one, with the same formula
            continue
        if not free and not large[name][1] and not math.isclose(value, large[name][0], rel_tol=1e-12):
            return f"{name!r} is fixed to {value:g} in one, and to {large[name][0]:g} in the other"
    released = tuple(name for name, (_, free) in large.items() if free and name in small and not small[name][1])
    undefined = tuple(name for name, (_, free) in large.items() if free and name not in small)
    extra = Extra(_coupling_numbers(larger) - _coupling_numbers(smaller), released, undefined)
    if extra.couplings < 0:
        return "it has more free numbers of couplings than the other"
    return extra if extra.most > 0 else "they have the same parameters"


def _other_model(smaller: FitResult, larger: FitResult) -> str:
    """In what they differ besides waves and parameters."""
    if smaller.decay != larger.decay:
        return f"they are of different decays, {smaller.decay} and {larger.decay}"
    for key, words in (("couplings", "kinds of couplings"), ("constraints", "constraints"), ("ties", "ties")):
        if (smaller.settings.get(key) or None) != (larger.settings.get(key) or None):
            return f"they have different {words}"
    small, large = smaller.model or {}, larger.model or {}
    for key, default in OF_THE_MODEL.items():
        if small.get(key, default) != large.get(key, default) and not (key == POLARISATION and _same_elements(smaller, larger)):
            return f"they have different {key!r}"
    resonances, others = small.get("resonances") or {}, large.get("resonances") or {}
    if not (_of_mappings(resonances) and _of_mappings(others)):
        return "the resonances of one of them cannot be understood"
    for name in [name for name in resonances if name in others]:
        for key, default in OF_A_RESONANCE.items():
            if resonances[name].get(key, default) != others[name].get(key, default):
                return f"{name} has different {key!r}"
    return ""


def _elements(result: FitResult) -> list[str] | None:
    """The elements of the parent's density matrix that are parameters; None if a fixed one was given, and empty for none at all."""
    given = (result.model or {}).get(POLARISATION, UNPOLARISED)
    if given == UNPOLARISED:
        return []
    names = given if isinstance(given, (dict, list)) else [given]
    if given != "float" and not all(isinstance(name, str) and name.startswith(("P_", "rho_")) for name in names):
        return None
    return [name for name in result.values if name.startswith(("P_", "rho_")) and (given == "float" or name in names)]


def _same_elements(smaller: FitResult, larger: FitResult) -> bool:
    """Whether density matrices differ in the values of their elements alone: which are parameters, and which of them float."""
    own, others = _elements(smaller), _elements(larger)
    return own is not None and others is not None and (set(own) == set(others) or (not own and _of_no_polarisation(others)))


def _of_no_polarisation(names: Sequence[str]) -> bool:
    """Whether a parent without polarisation has 0 for all of these; diagonal elements are left out: 1/(2J + 1) depends on the spin."""
    return all(name.startswith("P_") or name.endswith((".re", ".im")) for name in names)


def _unpolarised(smaller: FitResult, larger: FitResult) -> dict[str, tuple[float, bool]]:
    """Elements of the larger model's density matrix in a smaller one without polarisation."""
    return {name: (0.0, False) for name in _elements(larger) or [] if _elements(smaller) == [] and _of_no_polarisation([name])}


def _more_related(smaller: FitResult, larger: FitResult) -> str:
    """What is fixed or follows from others in the larger model only."""
    own = {p.name: p.formula for p in smaller.derived}
    for p in larger.derived:
        if p.name in smaller.values and own.get(p.name) != p.formula:
            there = own.get(p.name) or ("fixed" if p.name in smaller.fixed else "free")
            return f"{p.name!r} is {p.formula} in the model with more couplings, and {there} in the other"
    for name, value in (larger.settings.get("fix") or {}).items():
        if name in smaller.names and of_coupling(name, smaller):
            return f"{name!r} is fixed to {value} in the model with more couplings, and free in the other"
    return ""


def _of_mappings(value: Any) -> bool:
    """Whether a part of a model file, as it stands in a result, is what it should be."""
    return isinstance(value, Mapping) and all(isinstance(inner, Mapping) for inner in value.values())


def _lineshapes(result: FitResult) -> dict[str, tuple[float, bool]]:
    """Lineshape parameters → value, and whether it is free."""
    free = {p.name: (p.value, True) for p in result.parameters if not of_coupling(p.name, result)}
    held = dict(result.fixed) | {p.name: p.value for p in result.derived}
    return {name: (value, False) for name, value in held.items() if not of_coupling(name, result)} | free


def _conserved(name: str, result: FitResult) -> bool:
    """Whether a parameter is a part of a Δ that is 0 in a model, because it says nothing about CP there."""
    owner = asymmetry_owner(name)
    return bool(owner) and owner in {*(c.name for c in result.couplings), *((result.model or {}).get("resonances") or {})}


def _coupling_numbers(result: FitResult) -> int:
    return sum(of_coupling(p.name, result) for p in result.parameters)
