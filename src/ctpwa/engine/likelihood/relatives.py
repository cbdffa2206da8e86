"""Likelihoods made from another one without computing its spin amplitudes again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ctpwa.base.errors import DataError, PhysicsError, suggest
from ctpwa.base.turns import in_turn
from ctpwa.data.own_part import OwnPart
from ctpwa.engine.backends.registry import all_backends, make_engine
from ctpwa.engine.likelihood.collapsed import Collapsed, collapsed
from ctpwa.engine.likelihood.integrals import WaveIntegrals
from ctpwa.engine.likelihood.parts import Amplitude, FitSamples, Normalisation
from ctpwa.engine.likelihood.subtraction import FLOOR
from ctpwa.engine.likelihood.weight_sums import Totals
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.memory_plan import plan_memory
from ctpwa.engine.samples.own_events import SampleInput, count_distinct, own_share
from ctpwa.engine.samples.precision import DOUBLE, MIXED, Rebuilt
from ctpwa.engine.samples.prepare import points_of
from ctpwa.engine.samples.reweighted import reweighted
from ctpwa.engine.samples.sample import Sample, checked_weights
from ctpwa.engine.samples.stored_sample import SampleSource, StoredSample
from ctpwa.engine.samples.subsample import random_part_of
from ctpwa.model.couplings import Ties, map_couplings
from ctpwa.model.make_parameters import make_parameters
from ctpwa.model.model import Wave
from ctpwa.model.parameter import PARTS, asymmetry_parts, undetermined_parts
from ctpwa.model.parameters import Parameters
from ctpwa.model.reference_phases import Observed, find_reference_phases, freed

if TYPE_CHECKING:
    from ctpwa.engine.likelihood.likelihood import Likelihood

NO_WEIGHT = 1e-12  # of events that count negatively, relative to all: rounding
EVERY_TIME = "a likelihood that computes its samples in every evaluation\n fix: take it from the one it was made from"


def fixed(likelihood: Likelihood, values: Mapping[str, float]) -> Likelihood:
    """See ``Likelihood.fixed``."""
    return replace(likelihood, parameters=likelihood.parameters.holding(values))


def with_weights(likelihood: Likelihood, weights: Any, background: Any = None) -> Likelihood:
    """See ``Likelihood.with_weights``."""
    samples = likelihood.samples
    if background is not None and not samples.subtracts:
        raise DataError("weights for events that are subtracted, of which there are none\n fix: leave background out")
    data = _other_weights(likelihood, "data", samples.data, weights)
    subtracted = samples.background if background is None else _other_weights(likelihood, "background", samples.background, background)
    return _floored(likelihood, replace(samples, data=data, background=subtracted, totals=_totals(data, subtracted, likelihood)))


def _other_weights(likelihood: Likelihood, name: str, source: SampleSource, weights: Any) -> SampleSource:
    own = likelihood.samples.own[name]
    w = checked_weights(weights, own.total, torch.device("cpu"))
    return reweighted(_stored("weights for", source), w[torch.from_numpy(own.numbers())] if likelihood.ranks.size > 1 else w)


def _floored(likelihood: Likelihood, samples: FitSamples) -> Likelihood:
    """A likelihood with other events, and as many events of its floor as these need."""
    if not samples.bounded or (samples.floor is None and samples.negative < NO_WEIGHT):
        return replace(likelihood, samples=samples)
    if samples.floor is None:
        raise DataError(
            "some events count negatively, and the likelihood was built from events none of which do\n"
            " fix: build a new one from these events, or all of them with subtraction='plain'"
        )
    mixture, ratio = likelihood.mixture, max(samples.negative, 0.0)
    assert mixture is not None
    constant = ratio * samples.weight if mixture.extended else ratio
    amounts = (*mixture.amounts[:-1], replace(mixture.amounts[-1], constant=constant))
    floor = replace(samples.floor, ratio=ratio)
    return replace(likelihood, samples=replace(samples, floor=floor), mixture=replace(mixture, amounts=amounts))


def with_data(likelihood: Likelihood, data: SampleInput, background: SampleInput | None) -> Likelihood:
    """See ``Likelihood.with_data``."""
    resources = likelihood.resources
    if resources.precision == MIXED:
        raise DataError("other data for a likelihood in mixed precision\n fix: build it with precision='double', or build a new one")
    given = {"data": data} | ({} if background is None else {"background": background})
    resolution = likelihood.samples.resolution
    more = () if resolution is None else resolution.columns
    shares = {name: own_share(name, sample, likelihood.model, resources.ranks, more) for name, sample in given.items()}
    counts = {name: share.part.count * points_of(resolution, name) for name, share in shares.items()}
    separate = all_backends()[likelihood.engine.name].own_memory(likelihood.engine.device)
    memory = plan_memory(likelihood.plan, counts, likelihood.engine.device, resources.limits, separate=separate)
    preparation = replace(resources.preparation, memory=memory)
    stored = resources.ranks.together(lambda: preparation.stored(shares, False))
    preparation.stage.release()
    own = {name: part for name, part in likelihood.samples.own.items() if name == "phase space"}
    own |= {name: share.part for name, share in shares.items()}
    subtracted = stored.get("background", StoredSample(likelihood.streamer))
    n_summed = sum(share.part.total for share in shares.values())
    most_free = len(likelihood.names) + len(likelihood.phases.fixed)
    distinct = dict(likelihood.samples.distinct) | {"data": count_distinct(shares["data"], most_free, resources.ranks)}
    totals, before = _totals(stored["data"], subtracted, likelihood), likelihood.samples
    samples = FitSamples(
        stored["data"], subtracted, own, totals, n_summed, distinct, floor=before.floor, bounded=before.bounded, resolution=resolution
    )
    kept = {name: placed for name, placed in resources.memory.placed.items() if name == "phase space"}  # shared with the other one
    whole = replace(memory, placed={**memory.placed, **kept}, integrated=resources.memory.integrated, small=resources.memory.small)
    return _floored(replace(likelihood, resources=replace(resources, preparation=preparation, memory=whole)), samples)


def picks_events(likelihood: Likelihood) -> bool:
    """See ``Likelihood.picks_events``."""
    samples, norm = likelihood.samples, likelihood.norm.source
    sources = [norm, *([samples.background] if samples.subtracts else [])]
    stored = all(isinstance(source, StoredSample) and not source.chunks for source in sources)
    return stored and likelihood.ranks.size == 1 and samples.resolution is None and likelihood.resources.precision == DOUBLE


def with_picked(likelihood: Likelihood, data: Mapping[str, np.ndarray], background: np.ndarray | None) -> Likelihood:
    """See ``Likelihood.with_picked``."""
    if not picks_events(likelihood):
        raise DataError("events are not all on the device, and cannot be picked\n fix: use  with_data")
    before, norm = likelihood.samples, likelihood.norm.source
    stored = {"phase space": norm, "background": before.background}
    unknown = [name for name in data if name not in stored]
    if unknown or (background is not None) != before.subtracts:
        raise DataError(
            "toy data are picked from samples that are not there\n fix: give numbers of events of those that the likelihood has"
        )
    streamer = likelihood.streamer
    parts = [_picked(stored[name], numbers, False) for name, numbers in data.items() if len(numbers)]
    measured = StoredSample.on_device([sample for part in parts for sample in part], streamer)
    subtracted = StoredSample.on_device([] if background is None else _picked(before.background, background, True), streamer)
    n_data = sum(map(len, data.values()))
    own = {"phase space": before.own["phase space"], "data": OwnPart(((0, n_data),), n_data)}
    if background is not None:
        own["background"] = OwnPart(((0, len(background)),), len(background))
    different = sum(int(np.count_nonzero(np.bincount(numbers))) for numbers in data.values())
    most_free = len(likelihood.names) + len(likelihood.phases.fixed)
    samples = replace(
        before,
        data=measured,
        background=subtracted,
        own=own,
        totals=_totals(measured, subtracted, likelihood),
        n_summed=n_data + subtracted.n_events,
        distinct=dict(before.distinct) | {"data": min(different, most_free)},
    )
    return _floored(likelihood, samples)


def _picked(source: Any, numbers: np.ndarray, weighted: bool) -> list[Sample]:
    """Events of a sample by their numbers in its input, with weights 1 or their own; each as often as it is named."""
    found, done = [], 0
    for sample in source.resident:
        device = sample.w.device
        here = torch.from_numpy(numbers[(numbers >= done) & (numbers < done + sample.n_events)] - done).to(device)
        done += sample.n_events
        places = here if sample.order is None else torch.argsort(sample.order)[here]
        if weighted:
            places = places[torch.argsort((sample.w[places] < 0).to(torch.int8), stable=True)]
            w = sample.w[places]
        elif device.type == "cpu":
            w = torch.ones(len(places), dtype=sample.w.dtype)
        else:
            w = torch.ones(1, dtype=sample.w.dtype, device=device).expand(len(places))
        found += [sample.picked(places, w, None)] if len(places) else []
    return found


def subsample(likelihood: Likelihood, n_events: int, seed: int) -> Likelihood:
    """See ``Likelihood.subsample``."""
    samples = likelihood.samples
    share = min(1.0, n_events / max(likelihood.n_events, 1))
    data = _random_part(likelihood, samples.own["data"], samples.data, share, seed)
    background = StoredSample(likelihood.streamer)
    if "background" in samples.own:
        background = _random_part(likelihood, samples.own["background"], samples.background, share, seed + 1)
    totals = _totals(data, background, likelihood)
    part = replace(samples, data=data, background=background, totals=totals, n_summed=round(share * samples.n_summed))
    return _floored(likelihood, part)


def still(likelihood: Likelihood, x: np.ndarray) -> Normalisation:
    """A normalisation whose lineshapes stand still at ``x``."""
    if isinstance(likelihood.norm.source, Collapsed):
        return likelihood.norm
    integrals = likelihood.integrals(x)
    return Normalisation(collapsed(integrals, likelihood.plan.n_couplings), likelihood.norm.weight, integrals)


def in_double(likelihood: Likelihood) -> Likelihood:
    """See ``Likelihood.in_double``."""
    resources, samples = likelihood.resources, likelihood.samples
    if resources.precision == DOUBLE:
        return likelihood
    engine = make_engine(likelihood.engine.name, likelihood.plan, likelihood.engine.device)
    rebuilt = {name: Rebuilt(partial(resources.preparation.exact_pieces, share)) for name, share in samples.shares.items()}
    norm = likelihood.norm
    if not isinstance(norm.source, Collapsed):
        norm = replace(norm, source=rebuilt["phase space"])
    background = rebuilt.get("background", StoredSample(likelihood.streamer))
    floor = None if samples.floor is None else replace(samples.floor, source=rebuilt[FLOOR])
    return replace(
        likelihood,
        amplitude=replace(likelihood.amplitude, engine=engine),
        resources=replace(resources, precision=DOUBLE),
        samples=replace(samples, data=rebuilt["data"], background=background, floor=floor),
        norm=norm,
    )


def without(likelihood: Likelihood, waves: Iterable[str]) -> Likelihood:
    """See ``Likelihood.without``."""
    model, plan = likelihood.model, likelihood.plan
    kept = _kept_waves(model.waves, waves)
    used = {channel.coupling for channel in plan.channels if channel.wave in kept}
    n_feeds = plan.n_couplings // len(likelihood.coupling_names)
    names = tuple(name for i, name in enumerate(likelihood.coupling_names) if i * n_feeds in used)
    options = likelihood.amplitude.coupling_options
    reference = options.reference if options.reference in names else None
    ties = ties_among(names, options.ties)
    smaller = replace(model, waves=tuple(wave for i, wave in enumerate(model.waves) if i in kept))
    mapped = map_couplings(smaller, names, options.kind, ties, reference)
    engine = make_engine(likelihood.engine.name, _plan_of(plan, kept, sorted(used)), likelihood.engine.device)
    probed = likelihood.amplitude.probed.of_waves(kept)
    amplitude = Amplitude(smaller, names, mapped, replace(options, ties=ties, reference=reference), engine, probed)
    references = _kept_references(likelihood, amplitude)
    parameters = _parameters_of(likelihood, amplitude, references)
    everything = {p.name for p in parameters.all}
    constraints = {name: pair for name, pair in likelihood.constraints.items() if name in everything}
    phases = find_reference_phases([Observed(parameters, amplitude.sets, frozenset(constraints))], references)
    parameters = phases.applied(parameters)
    norm = likelihood.norm
    if norm.integrals is not None:
        integrals = _integrals_of(norm.integrals, kept, sorted(used))
        norm = replace(norm, source=collapsed(integrals, len(used)), integrals=integrals)
    return replace(likelihood, amplitude=amplitude, parameters=parameters, constraints=constraints, norm=norm, phases=phases)


def with_references(likelihood: Likelihood, references: Sequence[str]) -> Likelihood:
    """See ``Likelihood.with_references``."""
    options, names = likelihood.amplitude.coupling_options, likelihood.coupling_names
    mapped = map_couplings(likelihood.model, names, options.kind, options.ties, references[0])
    amplitude = replace(likelihood.amplitude, coupling_map=mapped, coupling_options=replace(options, reference=references[0]))
    parameters = _parameters_of(likelihood, amplitude, [])
    part = PARTS[parameters.representation][1]
    wanted = [name for name in (f"{own}.{part}" for own in references[1:]) if name in parameters.names]
    phases = find_reference_phases([Observed(parameters, amplitude.sets, frozenset(likelihood.constraints))], wanted)
    if not set(wanted) <= {f"{own}.{part}" for own in phases.references}:
        raise PhysicsError(f"{', '.join(references)} cannot all be references", "name one coupling of each coherent set")
    return replace(likelihood, amplitude=amplitude, parameters=phases.applied(parameters), phases=phases)


def _kept_waves(waves: Sequence[Wave], left_out: Iterable[str]) -> list[int]:
    """Numbers of the waves that are not named, nor have a resonance that is."""
    if isinstance(left_out, str):
        raise PhysicsError(f"waves={left_out!r} is one text, not a list of names", f"write [{left_out!r}]")
    names = set(left_out)
    known = {wave.name for wave in waves} | {resonance.name for wave in waves for resonance in wave.resonances}
    for name in names:
        if name not in known:
            raise PhysicsError(f"no wave or resonance is called {name!r}", suggest(name, known))
    kept = [i for i, wave in enumerate(waves) if not names & {wave.name, *(resonance.name for resonance in wave.resonances)}]
    if not kept:
        raise PhysicsError("no wave is left", "leave out fewer of them")
    return kept


def _plan_of(plan: Plan, kept: Sequence[int], used: Sequence[int]) -> Plan:
    """The tables of some of the waves; K, event table and formulas are the same, so that kernels are as well."""
    channels = [
        replace(channel, wave=kept.index(channel.wave), coupling=used.index(channel.coupling))
        for channel in plan.channels
        if channel.wave in kept
    ]
    return replace(plan, n_couplings=len(used), channels=tuple(channels))


def ties_among(names: Sequence[str], ties: Ties) -> dict[str, tuple[str, complex]]:
    """Ties between couplings that are left; those that were tied to the same one that is gone are tied to the first of them."""
    ends = {name: _end(name, ties) for name in names}
    first: dict[str, str] = {end: end for end, _ in ends.values() if end in names}
    result = {}
    for name, (end, factor) in ends.items():
        source = first.setdefault(end, name)
        if source != name:
            result[name] = (source, factor / ends[source][1])
    return result


def _end(name: str, ties: Ties) -> tuple[str, complex]:
    factor = 1.0 + 0j
    while name in ties:
        name, own = ties[name]
        factor *= own
    return name, factor


def _kept_references(likelihood: Likelihood, amplitude: Amplitude) -> list[str]:
    """Phases that stay references of their sets: fewer waves interfere less. Another reference wave needs other ones."""
    if amplitude.coupling_map.fixed != likelihood.coupling_map.fixed:
        return []
    known = {*amplitude.coupling_map.numbers, *amplitude.model.asymmetries.values()}
    return [name for name in likelihood.phases.fixed if _number(name) in known]


def _parameters_of(likelihood: Likelihood, amplitude: Amplitude, references: Collection[str]) -> Parameters:
    """Parameters of what is left: those of resonances that are gone stay as they are and are fixed, and so are some reference phases."""
    gone_references = [name for name in likelihood.phases.fixed if name not in references]
    old, plan = freed(likelihood.parameters, gone_references), amplitude.engine.plan
    c, _ = old.bare.native(old.start)
    values = dict(zip(likelihood.coupling_names, c.tolist(), strict=True))
    mapped, before = amplitude.coupling_map, likelihood.coupling_map
    moved = {name for channel in plan.channels for i in channel.p for _, name in plan.p[i].names}
    moved |= set(() if old.feeds is None else old.feeds.names)
    moved |= set(() if likelihood.mixture is None else likelihood.mixture.parameters)
    moved |= {name for product in mapped.products if product.asymmetry for name in asymmetry_parts(product.asymmetry)}
    parts = {p.name: p for p in old.all[: 2 * len(old.numbers)]}
    kept = {name for name, p in parts.items() if p.formula and _number(name) in mapped.numbers}
    needed = {name for own in old.relations if own.name in moved | kept for name in own.arguments}
    related = {_number(name) for own in old.relations for name in (own.name, *own.arguments)} if kept else set()
    gone = [name for name in old.numbers if name not in mapped.numbers and name in related]  # formulas of what is left may use them
    formulas = {name: p.formula for name, p in parts.items() if p.formula and _number(name) in (*mapped.numbers, *gone)}
    theta = [replace(p, fixed=p.fixed or p.name not in moved | needed) for p in old.all[2 * len(old.numbers) :]]
    reference = next((own.asymmetry for own in mapped.products if mapped.numbers.index(mapped.fixed[0]) in own.numbers), "")
    known = {p.name for p in theta if p.fixed} | set(likelihood.constraints)
    lost = undetermined_parts([own.asymmetry for own in mapped.products], reference, known)
    theta = [replace(p, fixed=True) if p.name in lost else p for p in theta]
    own = [p for p in parts.values() if p.fixed and not p.formula and _number(p.name) not in before.fixed]
    held = {p.name: p.value for p in own if _number(p.name) in mapped.numbers}
    if held and mapped.fixed != before.fixed:
        raise PhysicsError(f"the reference wave changes, and {next(iter(held))!r} is fixed relative to it", "leave out first, then fix")
    start = mapped.solve(amplitude.coupling_names, {name: values[name] for name in amplitude.coupling_names})
    if gone and mapped.fixed != before.fixed:
        raise PhysicsError(f"the reference wave changes, and formulas use {gone[0]!r}", "choose another reference wave")
    still = [name for name, p in parts.items() if _number(name) in gone and not p.formula and (p.fixed or name not in needed)]
    held |= {name: parts[name].value for name in still}
    start |= {name: z for name, z in zip(old.numbers, old.numbers_at(old.start).tolist(), strict=True) if name in gone}
    return make_parameters(
        [*mapped.numbers, *gone],
        mapped.products,
        theta,
        representation=old.representation,
        start_numbers=start,
        values=held,
        fixed=list(held),
        fixed_numbers=mapped.fixed,
        formulas=formulas,
        sign=old.sign,
        feeds=old.feeds,
    )


def _number(name: str) -> str:
    """The complex number that a parameter is a part of."""
    return name.rpartition(".")[0]


def _integrals_of(integrals: WaveIntegrals, kept: Sequence[int], used: Sequence[int]) -> WaveIntegrals:
    members = np.flatnonzero(np.isin(integrals.wave, kept))
    return WaveIntegrals(
        np.array([list(kept).index(wave) for wave in integrals.wave[members]], dtype=np.int64),
        np.array([list(used).index(coupling) for coupling in integrals.coupling[members]], dtype=np.int64),
        integrals.matrix[np.ix_(members, members)],
        integrals.slopes[:, members[:, None], members],
        integrals.weight,
    )


def _stored(what: str, source: SampleSource) -> StoredSample:
    if not isinstance(source, StoredSample):
        raise DataError(f"no {what} {EVERY_TIME}")
    return source


@in_turn
def _random_part(likelihood: Likelihood, own: OwnPart, source: SampleSource, share: float, seed: int) -> StoredSample:
    """A share of the events of a sample, on the device."""
    part = random_part_of(_stored("part of", source).wherever(), own, share, seed, likelihood.engine.device)
    return StoredSample.on_device([] if part is None else [part], likelihood.streamer)


def _totals(data: Any, background: Any, likelihood: Likelihood) -> Totals:
    return Totals.of(data.weights, getattr(background, "weights", None), likelihood.ranks)
