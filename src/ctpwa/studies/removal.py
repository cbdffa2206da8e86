"""A fit without some of its resonances: its likelihood, where it starts, and toys of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ctpwa.analysis.reopen import OpenedFit
from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.decay.pdg import normalise
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.values import ModelValues, model_values
from ctpwa.engine.plan.channels import model_channels
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.take_over import take_over
from ctpwa.model.model import Model
from ctpwa.studies.baseline import Baseline
from ctpwa.studies.fit_record import FitRecord


def named_resonances(model: Model, names: Sequence[str] = ()) -> tuple[str, ...]:
    """Resonances as the model spells them, in its order.

    Args:
        model:  whose they are
        names:  in any spelling; default: all

    Raises:
        PhysicsError: if it has no such resonance, or one is named twice
    """
    if isinstance(names, str):
        raise PhysicsError(f"{names!r} is one text, not a list of names", f"write [{names!r}]")
    own = list(dict.fromkeys(resonance.name for wave in model.waves for resonance in wave.shown))
    if not names:
        return tuple(own)
    found: list[str] = []
    for name in names:
        known = [key for key in own if normalise(key) == normalise(name)]
        if not known:
            raise PhysicsError(f"the fit has no resonance {name!r}", suggest(name, own))
        if known[0] in found:
            raise PhysicsError(f"{known[0]!r} is named twice", "name it once")
        found.append(known[0])
    return tuple(name for name in own if name in found)


def without(term: Likelihood, names: Sequence[str]) -> Likelihood:
    """A likelihood without resonances; what is known from elsewhere about parameters that are gone adds nothing to it.

    Args:
        term:   the likelihood with them
        names:  the resonances
    """
    reduced = term.without(names)
    gone = {p.name for p in reduced.parameters.all if p.fixed and p.name in term.names}
    return replace(reduced, constraints={name: pair for name, pair in reduced.constraints.items() if name not in gone})


@dataclass(frozen=True)
class Removal:
    """A fit without some of its resonances.

    Attributes:
        own:    the fit with them
        names:  the resonances
    """

    own: Baseline
    names: tuple[str, ...]

    @cached_property
    def likelihood(self) -> Fittable:
        """That of all data sets, of the same events."""
        return self.own.each(lambda _, term: without(term, self.names))

    @property
    def start(self) -> dict[str, float]:
        """The fitted values of what is left; another wave may be the reference."""
        return take_over(self.likelihood, self.own.result).values

    @cached_property
    def undefined(self) -> tuple[str, ...]:
        """Lineshape parameters that float with the resonances and mean nothing without them."""
        full = self.own.likelihood
        couplings = {full.names[i] for i in full.coupling_index}
        return tuple(name for name in full.names if name not in couplings and name not in self.likelihood.names)

    def values(self, record: FitRecord) -> ModelValues:
        """Couplings and lineshape parameters where the fit without them has ended."""
        return model_values(self.likelihood, np.array([record.values[name] for name in self.likelihood.names]))

    def intensity(self, record: FitRecord, engine: str, device: str | None) -> ModelIntensity:
        """The signal without them, as it was fitted.

        Args:
            record:  the fit without them
            engine:  ``auto``, ``cuda``, ``cpu`` or ``reference``
            device:  where to compute
        """
        found = self.values(record)
        gone = {name: 0j for term in terms_of(self.own.likelihood) for name in term.coupling_names}
        return intensity_at(self.own.opened.model, gone | dict(found.couplings), found.parameters, engine, device)


def intensity_at(
    model: Model, couplings: Mapping[str, complex], parameters: Mapping[str, float], engine: str, device: str | None
) -> ModelIntensity:
    """The signal of a model; parameters of backgrounds, which a likelihood has among the others, are left out.

    Args:
        model:       what is computed
        couplings:   by name
        parameters:  by name
        engine:      ``auto``, ``cuda``, ``cpu`` or ``reference``
        device:      where to compute
    """
    known = {p.name for p in model_channels(model).theta}
    own = {name: value for name, value in parameters.items() if name in known}
    return ModelIntensity(model, couplings=couplings, parameters=own, engine=engine, device=device)


def opened_at(opened: OpenedFit, record: FitRecord) -> OpenedFit:
    """A fit with the fractions or yields of backgrounds of another one, for toys of that one; samples are read once for both.

    Args:
        opened:  the fit
        record:  the other one
    """

    def moved(result: FitResult) -> FitResult:
        parameters = tuple(replace(p, value=record.values.get(p.name, p.value)) for p in result.parameters)
        derived = tuple(replace(p, value=record.values.get(p.name, p.value)) for p in result.derived)
        return replace(result, parameters=parameters, derived=derived)

    other = OpenedFit(moved(opened.result), opened.analysis, opened.path)
    other._read.update(opened._read)
    return other
