"""Which quantity a text means.

* ``K*(1410).mass``: a free parameter, or one that is a formula of free ones
* ``fraction(X(1750))``: of a resonance, a wave or a J^P; of several data sets ``fraction(data set 1: X(1750))``
* ``phase(A, B)``: arg c_A − arg c_B of two couplings
* ``pole(X(1750)).mass``, ``pole(X(1750)).width``

A range may follow: ``K*(1410).mass=1.38..1.42``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.config.names import meant
from ctpwa.engine.likelihood.likelihood_sum import advice_on
from ctpwa.fitting.fittable import terms_of
from ctpwa.fitting.fractions import wave_groups
from ctpwa.fitting.labels import group_latex, parameter_label
from ctpwa.fitting.result import FitResult
from ctpwa.minimise.constrained import SmoothQuantity
from ctpwa.model.model import Model
from ctpwa.studies.baseline import Baseline
from ctpwa.studies.quantities import DerivedQuantity, Fraction, FreeParameter, PhaseDifference, PolePart

FREE, DERIVED, FRACTION, PHASE, POLE = "free", "derived", "fraction", "phase", "pole"
POLE_PARTS = {"mass": r"\mathrm{Re}\sqrt{s_p}", "width": r"-2\,\mathrm{Im}\sqrt{s_p}"}
_RANGE = re.compile(r"(?P<name>.+?)\s*=\s*(?P<low>[-+.\deE]*?)\.\.(?P<high>[-+.\deE]+)\s*")
_CALL = re.compile(r"(?P<word>fraction|phase|pole)\s*\((?P<inner>.*)\)(?:\.(?P<part>\w+))?\s*", re.DOTALL)


@dataclass(frozen=True)
class Asked:
    """A quantity that was asked for.

    Attributes:
        name:   in full
        kind:   ``free``, ``derived``, ``fraction``, ``phase`` or ``pole``
        parts:  names in it
        label:  with LaTeX between dollar signs
        range:  lowest and highest value; None: as the errors have it
    """

    name: str
    kind: str
    parts: tuple[str, ...]
    label: str
    range: tuple[float, float] | None = None


def read_quantity(text: str, result: FitResult, model: Model) -> Asked:
    """What a text asks for.

    Args:
        text:    as above, ``=LOW..HIGH`` may follow
        result:  of the fit
        model:   that was fitted

    Raises:
        PhysicsError: if there is no such quantity
    """
    given, own_range = _range(text)
    call = _CALL.fullmatch(given)
    if call is None:
        return _parameter(given, result, model, own_range)
    inner, part = call["inner"].strip(), call["part"]
    if call["word"] == POLE:
        if part not in POLE_PARTS:
            raise PhysicsError(f"{given!r} is not a number", f"write  pole({inner}).mass  or  pole({inner}).width")
        name = _one_of(inner, "resonance", model.resonances)
        return Asked(f"pole({name}).{part}", POLE, (name, part), f"${POLE_PARTS[part]}[{group_latex(model, name)}]$", own_range)
    if part is not None:
        raise PhysicsError(f"{given!r} has no part {part!r}", f"write  {call['word']}({inner})")
    if call["word"] == PHASE:
        return _phase(inner, result, model, own_range)
    name = _one_of(inner, "fraction", [known for known, _, _ in _fractions(result)])
    label = f"fraction of ${group_latex(model, _bare(name, result))}$"
    return Asked(f"fraction({name})", FRACTION, (name,), label, own_range)


def _range(text: str) -> tuple[str, tuple[float, float] | None]:
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        return text.strip(), None
    try:
        low, high = float(found["low"]), float(found["high"])
    except ValueError:
        low = high = math.nan
    if not low < high or not math.isfinite(high - low):
        raise PhysicsError(f"the range in {text!r} has no lower and upper end", "write it as  NAME=1.60..1.75")
    return found["name"], (low, high)


def _one_of(text: str, what: str, known: Collection[str]) -> str:
    found = meant(text, known)
    if found is None:
        raise PhysicsError(f"no {what} is called {text!r}", suggest(text, list(known)))
    return found


def _parameter(text: str, result: FitResult, model: Model, own_range: tuple[float, float] | None) -> Asked:
    derived = [p.name for p in result.derived]
    found = meant(text, [*result.names, *derived])
    if found is None:
        raise PhysicsError(f"{text!r} is not a free parameter of the fit", advice_on(text, [*result.names, *derived], [model]))
    label = parameter_label(model, found, [coupling.name for coupling in result.couplings])
    return Asked(found, DERIVED if found in derived else FREE, (found,), label, own_range)


def _phase(inner: str, result: FitResult, model: Model, own_range: tuple[float, float] | None) -> Asked:
    """Names of couplings have commas in them: all places where the two may part are tried."""
    known = [coupling.name for coupling in result.couplings]
    places = [k for k, letter in enumerate(inner) if letter == ","]
    pairs = [(inner[:k].strip(), inner[k + 1 :].strip()) for k in places]
    exact = [pair for pair in pairs if pair[0] in known and pair[1] in known]
    for a, b in exact or [pair for pair in pairs if all(pair) and all(_brackets_match(name) for name in pair)]:
        names = _one_of(a, "coupling", known), _one_of(b, "coupling", known)
        if names[0] == names[1]:
            raise PhysicsError(f"phase({inner}) is that of a coupling relative to itself", "name two couplings")
        latex = " - ".join(rf"\arg c[{group_latex(model, name)}]" for name in names)
        return Asked(f"phase({names[0]}, {names[1]})", PHASE, names, f"${latex}$", own_range)
    raise PhysicsError(f"phase({inner}) does not name two couplings", "write  phase(A, B)  with names that ctpwa show lists")


def _brackets_match(name: str) -> bool:
    return all(name.count(left) == name.count(right) for left, right in ("()", "[]"))


def _fractions(result: FitResult) -> list[tuple[str, int, str]]:
    """All fractions of a result: name, number of the data set, name in it."""
    return [
        (f"{entry.data_set}: {own}" if entry.data_set else own, number, own)
        for number, entry in enumerate(result.fractions)
        for kind in ("resonances", "waves", "jp")
        for own in entry.groups[kind].names
    ]


def _bare(name: str, result: FitResult) -> str:
    return next(own for known, _, own in _fractions(result) if known == name)


def make_quantity(asked: Asked, own: Baseline, steps: np.ndarray) -> SmoothQuantity:
    """The quantity as a function of the free parameters.

    Args:
        asked:  which one
        own:    the fit
        steps:  standard deviations of the free parameters, roughly
    """
    likelihood, terms = own.likelihood, terms_of(own.likelihood)
    if asked.kind == FREE:
        return FreeParameter(likelihood.names.index(asked.name), len(likelihood.names))
    if asked.kind == FRACTION:
        _, number, name = next(entry for entry in _fractions(own.result) if entry[0] == asked.parts[0])
        groups = wave_groups(terms[number].model)
        waves = next(groups[kind][name] for kind in ("resonances", "waves", "jp") if name in groups[kind])
        truth = None if own.truths is None else own.truths[number]
        return Fraction(likelihood, terms[number], steps, own.x, waves, truth)
    if asked.kind == DERIVED:
        return DerivedQuantity(likelihood, next(t for t in terms if asked.name in t.parameters.derived), steps, asked.name)
    if asked.kind == PHASE:
        a, b = asked.parts
        term = next((t for t in terms if a in t.coupling_names and b in t.coupling_names), None)
        if term is None:
            raise PhysicsError(f"{asked.name} is between couplings of different data sets", "name two couplings of one of them")
        return PhaseDifference(likelihood, term, steps, (a, b))
    term = next(t for t in terms if asked.parts[0] in t.model.resonances)
    return PolePart(likelihood, term, steps, *asked.parts)
