"""Toy data in place of measured ones: signal, with the backgrounds and the efficiency that a model file gives to a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ctpwa.analysis.analysis import Analysis
from ctpwa.base.errors import GenerationError
from ctpwa.base.timing import phase
from ctpwa.base.words import counted
from ctpwa.config.sources import BackgroundSource, DataSet
from ctpwa.data.density import checked_density
from ctpwa.data.events import Events
from ctpwa.data.resolution import GivenPoints
from ctpwa.data.stream import Piece, picked_events
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.engine.likelihood.values import ModelValues
from ctpwa.generate.picked_toys import pick_toy
from ctpwa.generate.toys import USUAL, Toy, ToyGenerator, ToySettings
from ctpwa.model.amounts import SIGNAL, amount_names
from ctpwa.model.relations import make_relations
from ctpwa.observe.efficiency import Efficiency
from ctpwa.observe.mass_resolution import measured_events, named

COMPONENT = "component"  # column of a file: 0 for signal, then backgrounds in their order


@dataclass(frozen=True)
class ToyData:
    """Toy data of a data set, and how they came about.

    Attributes:
        toy:         the events
        names:       signal, then backgrounds
        efficiency:  what they were accepted with; empty if all are
        picked:      whether they are events of the phase-space sample
        values:      the truth
        smeared:     whose masses were moved as a measurement does, and by how much; empty if none were
    """

    toy: Toy
    names: tuple[str, ...]
    efficiency: str
    picked: bool
    values: ModelValues
    smeared: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """Events of signal and of every background."""
        which = self.toy.components
        return {name: self.toy.n_signal if which is None else int((which == k).sum()) for k, name in enumerate(self.names)}

    @property
    def marked_events(self) -> Events:
        """The events with a column that says which component each belongs to, if there are several and the name is free."""
        events, which = self.toy.events, self.toy.components
        if which is None or COMPONENT in events.columns:
            return events
        return replace(events, columns={**events.columns, COMPONENT: which.to(torch.float64)})


@dataclass(frozen=True)
class Recipe:
    """What is mixed into a toy.

    Attributes:
        backgrounds:  with the fractions that they have in the model file
        fractions:    of the backgrounds, as the toy has them
        efficiency:   of signal and backgrounds; None: all events are measured
        data_set:     whose phase space toys are picked from if a density is a column
    """

    backgrounds: tuple[Background, ...] = ()
    fractions: tuple[float, ...] = ()
    efficiency: Efficiency | None = None
    data_set: DataSet | None = None

    @property
    def in_columns(self) -> list[BackgroundSource]:
        """Backgrounds whose density only events of samples know."""
        return [own for own in self.data_set.backgrounds if own.density.column is not None] if self.data_set and self.backgrounds else []


def recipe(analysis: Analysis, data_set: str | None, signal_only: bool, known: Mapping[str, float], of_fit: Mapping[str, float]) -> Recipe:
    """What the model file mixes into the data of a data set.

    Args:
        analysis:     the model file
        data_set:     name of the data set; may be left out if there is only one, or if no data set has backgrounds or an efficiency
        signal_only:  leave out backgrounds
        known:        lineshape parameters, which formulas of fractions may use
        of_fit:       values that a fit has found, by parameter
    """
    found = _data_set(analysis, data_set, signal_only)
    if found is None:
        return Recipe()
    efficiency = analysis.efficiency(found.name)
    if signal_only or not found.backgrounds:
        return Recipe(efficiency=efficiency, data_set=found)
    fractions = _fractions(analysis, found, known, of_fit)
    return Recipe(analysis.read_backgrounds(found.name), tuple(fractions), efficiency, found)


@phase("generate")
def generate_data(
    analysis: Analysis,
    n: int,
    seed: int = 0,
    *,
    values: ModelValues | None = None,
    of_fit: Mapping[str, float] | None = None,
    data_set: str | None = None,
    signal_only: bool = False,
    columns: Mapping[str, float | Sequence[float]] | None = None,
    conjugate: bool = False,
    device: str | torch.device = "cpu",
    engine: str = "auto",
    settings: ToySettings = USUAL,
) -> ToyData:
    """Toy data as a data set of a model file would measure them.

    If the density of a background is a column, only events of the phase-space sample know it: then all events are picked from that sample.

    Args:
        analysis:     the model file
        n:            number of events
        seed:         seed of the random numbers
        values:       couplings and lineshape parameters; default: those of the model file
        of_fit:       values that a fit has found, by parameter; fractions and yields of backgrounds are taken from it
        data_set:     name of the data set; may be left out if there is only one, or if no data set has backgrounds or an efficiency
        signal_only:  leave out backgrounds
        columns:      event columns of the model by name, with the numbers that all events get
        conjugate:    of the charge-conjugate decay, under CP
        device:       where to generate
        engine:       engine that computes intensities
        settings:     what to do before the first toy, and when to give up
    """
    couplings, parameters = (None, None) if values is None else (values.couplings, values.parameters)
    intensity = ModelIntensity(
        analysis.model, couplings=couplings, parameters=parameters, engine=engine, device=device, conjugate=conjugate
    )
    truth = ModelValues(dict(intensity.couplings), dict(intensity.parameters))
    mixed = recipe(analysis, data_set, signal_only, truth.parameters, of_fit or {})
    names = (SIGNAL, *(own.name for own in mixed.backgrounds))
    if mixed.in_columns:
        return _measured(ToyData(_picked(analysis, mixed, intensity, n, seed, columns), names, "", True, truth), mixed, analysis, seed)
    generator = ToyGenerator(
        analysis.model,
        couplings=couplings,
        parameters=parameters,
        efficiency=mixed.efficiency,
        columns=columns,
        device=device,
        engine=engine,
        settings=settings,
        conjugate=conjugate,
    )
    backgrounds = [(own.name, own.density, fraction) for own, fraction in zip(mixed.backgrounds, mixed.fractions, strict=True)]
    toy = generator.generate(n, seed, backgrounds=backgrounds)
    data = ToyData(toy, names, "" if mixed.efficiency is None else mixed.efficiency.name, False, truth)
    return _measured(data, mixed, analysis, seed)


def _measured(data: ToyData, mixed: Recipe, analysis: Analysis, seed: int) -> ToyData:
    """What happened → what is measured, with the resolution of the data set."""
    resolution, labels = None if mixed.data_set is None else mixed.data_set.resolution, analysis.model.decay.labels
    if resolution is None:
        return data
    if isinstance(resolution, GivenPoints):
        raise GenerationError(
            f"the data set has {resolution.n_points} rows for each event, and where they lie is not known\n"
            " fix: give the resolution of masses instead, or generate with a model file without resolution"
        )
    return replace(
        data, toy=replace(data.toy, events=measured_events(resolution, data.toy.events, labels, seed)), smeared=named(resolution, labels)
    )


def _picked(
    analysis: Analysis,
    mixed: Recipe,
    intensity: ModelIntensity,
    n: int,
    seed: int,
    columns: Mapping[str, float | Sequence[float]] | None,
) -> Toy:
    assert mixed.data_set is not None
    if columns:
        raise GenerationError(
            f"the density of {mixed.in_columns[0].name!r} is a column: events are picked from the phase-space sample, with all of its"
            f" columns\n fix: leave out --column {next(iter(columns))}"
        )
    sample = picked_events(analysis.read_phase_space(mixed.data_set.name), None)
    piece = Piece([sample[label] for label in analysis.model.decay.labels], None, dict(sample.columns))
    densities: list[Tensor] = [intensity(sample)]
    densities += [checked_density(own.density(piece), own.name, "phase space", 0, positive=False) for own in mixed.backgrounds]
    events, components = pick_toy(sample, densities, [1 - sum(mixed.fractions), *mixed.fractions], n, seed)
    return Toy(events, sample.n_events, 0, components)


def _data_set(analysis: Analysis, name: str | None, signal_only: bool) -> DataSet | None:
    """The data set that toys stand for; None if the model file says nothing about it that toys need."""
    sets = {own.name: own for own in analysis.data_sets}
    if name is not None and name not in sets:
        have = f"it has {', '.join(sets)}" if any(sets) else f"it has {'only one' if sets else 'none'}"
        raise GenerationError(f"the model file has no data set {name!r}: {have}\n fix: correct or leave out --data-set")
    if name is not None or len(sets) == 1:
        return sets[name if name is not None else next(iter(sets))]
    own_resolution = any(own.resolution is not None for own in sets.values())
    own_mixture = any(own.backgrounds or any(source.efficiency for source in own.phase_space) for own in sets.values())
    if not own_resolution and (signal_only or not own_mixture):
        return None
    raise GenerationError(
        f"the model file has {counted(len(sets), 'data set')} with backgrounds, efficiencies or resolutions of their own:"
        f" {', '.join(sets)}\n fix: say which with --data-set"
    )


def _fractions(analysis: Analysis, data_set: DataSet, known: Mapping[str, float], of_fit: Mapping[str, float]) -> list[float]:
    """Fractions of backgrounds: those of a fit, else those of the model file; ``fix`` and ``relations`` come before ``fraction``."""
    settings, relations = analysis.settings, analysis.model.relations
    given = {name: value for name, value in settings.fix.items() if value is not None} | dict(of_fit)
    backgrounds = [own.name for own in data_set.backgrounds]
    yields = [(dict(settings.start) | given).get(name) for name in amount_names(backgrounds, data_set.yields or "").values()]
    known_yields = [value for value in yields if value is not None]
    if len(known_yields) == len(yields) and sum(known_yields) > 0:
        return [value / sum(known_yields) for value in known_yields[1:]]
    names = amount_names(backgrounds, None)
    values = {names[own.name]: own.fraction for own in data_set.backgrounds} | given | dict(known)
    formulas = {name: relations[name] for name in names.values() if name in relations and name not in of_fit}
    for relation in make_relations(formulas, [*values, *relations]):
        missing = [name for name in relation.arguments if name not in values]
        if missing:
            raise GenerationError(f"{relation.name} follows from {missing[0]!r}, which has no value here\n fix: give the result of a fit")
        values[relation.name] = relation.value(np.array([values[name] for name in relation.arguments]))
    return [values[name] for name in names.values()]
