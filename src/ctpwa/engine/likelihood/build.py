"""``build_likelihood``: from a model and its samples to a likelihood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from ctpwa.base.errors import DataError, PhysicsError
from ctpwa.base.ranks import Ranks, check_devices, current_ranks, threads_per_rank
from ctpwa.base.timing import phase
from ctpwa.base.turns import TURN
from ctpwa.data.density import Density, Flat
from ctpwa.data.resolution import Resolution, WithOwnPoint
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.backends.registry import all_backends, make_engine
from ctpwa.engine.likelihood.backgrounds import Background, DensitySums, checked_backgrounds, make_mixture, mixture_parameters
from ctpwa.engine.likelihood.collapsed import collapsed
from ctpwa.engine.likelihood.interference import ProbedAmplitudes
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import advice_on
from ctpwa.engine.likelihood.parts import Amplitude, CouplingOptions, FitSamples, Normalisation, Resources
from ctpwa.engine.likelihood.subtraction import BOUNDED, FLOOR, checked_subtraction, floor_ratio, floor_share, make_floor, own_weight
from ctpwa.engine.likelihood.weight_sums import Totals
from ctpwa.engine.plan.channels import ModelChannels, model_channels
from ctpwa.engine.plan.tables import LOG, PLAIN
from ctpwa.engine.samples.build import PROBE_EVENTS, find_rotation, spin_stage
from ctpwa.engine.samples.memory_plan import Limits, plan_memory
from ctpwa.engine.samples.own_events import SampleInput, Share, count_distinct, own_share
from ctpwa.engine.samples.precision import DOUBLE, MIXED, Rebuilt, checked_precision, planned
from ctpwa.engine.samples.prepare import Preparation, points_of
from ctpwa.engine.samples.stored_sample import SampleSource, StoredSample
from ctpwa.engine.samples.streamer import Streamer
from ctpwa.model.couplings import WAVE, CouplingMap, Ties, map_couplings
from ctpwa.model.fixing import fixed_model, related_model
from ctpwa.model.make_parameters import make_parameters
from ctpwa.model.model import Model
from ctpwa.model.parameter import CARTESIAN, Parameter
from ctpwa.model.parameters import Parameters
from ctpwa.model.reference_phases import Observed, find_reference_phases
from ctpwa.spin.rotate import RowRotation


def build_likelihood(
    model: Model,
    data: SampleInput,
    phase_space: SampleInput,
    background: SampleInput | None = None,
    engine: str = "auto",
    device: str | torch.device | None = None,
    *,
    representation: str = CARTESIAN,
    reference_wave: str | None = None,
    couplings: str = WAVE,
    ties: Ties | None = None,
    constraints: Mapping[str, tuple[float, float]] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
    backgrounds: Sequence[Background] = (),
    extended: bool = False,
    subtraction: str = BOUNDED,
    resolution: Resolution | None = None,
    fix: Mapping[str, float | None] | None = None,
    relations: Mapping[str, str] | None = None,
    device_memory: float | str | None = None,
    host_memory: float | str | None = None,
    scratch: str | None = None,
    progress: bool | None = None,
    ranks: Ranks | None = None,
    precision: str = DOUBLE,
    conjugate: bool = False,
    data_set: str = "",
) -> Likelihood:
    """The likelihood of one data set.

    Args:
        model:           what is fitted
        data:            measured events; momenta by name, weights if it is an ``Events``; or files that ``open_events`` has opened,
                         which are read in pieces
        phase_space:     phase-space or accepted signal Monte Carlo events for the normalisation, with weights
        background:      events whose contribution is subtracted
        engine:          ``auto``, ``cuda``, ``cpu`` or ``reference``
        device:          where to compute; default: a GPU if there is one
        representation:  couplings as ``cartesian`` (re, im) or ``polar`` (abs, phase) parameters
        reference_wave:  name of the coupling that is fixed to 1; default: the first
        couplings:       ``wave``: one complex number per coupling; ``vertex``: products of one number per vertex and (L, S)
        ties:            coupling → (other coupling, complex factor): it is factor times the other
        constraints:     parameter name → (mean, standard deviation) of a Gaussian; default: those of the model, from  float: pdg
        limits:          parameter name → (lower, upper); fits stay between them
        backgrounds:     densities of background that is in the data, each with its fraction
        extended:        fit yields of signal and backgrounds instead of fractions, with a Poisson term for their sum
        subtraction:     of ``background`` and of events with negative weights: ``bounded``, or ``plain``: the signed sum of −ln I,
                         which has no lower limit
        resolution:      makes several points of phase space of every measured event, whose intensities are added up
        fix:             parameter name → value, of parameters that are fixed besides; None: the value that it has
        relations:       parameter name → formula of other parameters, besides those of the model
        device_memory:   bytes, or a size such as ``"4 GB"``, that prepared events may take on a GPU; the rest passes through it
                         in chunks, in every evaluation. Default: most of what is free there
        host_memory:     the same for main memory; the rest goes to disk. Default: most of what is free
        scratch:         folder for what goes to disk; default: that of the system for temporary files
        progress:        show progress bars; default: on a terminal when something takes more than two seconds
        ranks:           processes that share the events, each with its own part of every sample; default: those that torchrun
                         started, or this one alone
        precision:       ``double``; or ``mixed``: spin amplitudes are stored in single precision, everything is computed in double
        conjugate:       the events are those of the charge-conjugate decay, read with ``conjugate``: couplings are c(1 − Δ) instead
                         of c(1 + Δ)
        data_set:        what the names of yields begin with, ``run1.signal.yield``, where several extended likelihoods are added
    """
    TURN.check()
    precision = checked_precision(precision)
    model = fixed_model(related_model(model, relations) if relations else model, fix or {})
    constraints = model.constraints if constraints is None else constraints
    memory_limits = Limits.read(device_memory, host_memory, scratch)
    ranks = current_ranks() if ranks is None else ranks
    progress = progress if ranks.first else False
    given = {"data": data, "phase space": phase_space} | ({} if background is None else {"background": background})
    more = () if resolution is None else resolution.columns
    shares = {name: own_share(name, sample, model, ranks, () if name == "phase space" else more) for name, sample in given.items()}
    ratio = floor_ratio(shares, ranks) if checked_subtraction(subtraction) == BOUNDED else 0.0
    densities = [(own.name, own.density) for own in checked_backgrounds(backgrounds)]
    if ratio:
        densities.append((FLOOR, Flat()))
        if more:
            raise DataError(
                "events with negative weights, or background that is subtracted, and points of the resolution that are known for"
                " measured events only\n fix: describe the background by a density, give the resolution of a mass, or use"
                " subtraction: plain"
            )
    channels = model_channels(model)
    first = ranks.together(lambda: [share.first(PROBE_EVENTS) for share in shares.values()])
    rotation = find_rotation(model, first, [share.part for share in shares.values()], ranks)
    with phase("plan"):
        plan = replace(planned(channels.plan(model, rotation.n_rows), rotation, precision), n_added=len(densities))
    if ratio:
        shares[FLOOR] = floor_share(shares, ranks)
    options = CouplingOptions(couplings, ties or {}, reference_wave)
    mapped = map_couplings(model, channels.couplings, couplings, options.ties, reference_wave)
    probed = ProbedAmplitudes.of(model, channels)
    amplitude = Amplitude(model, channels.couplings, mapped, options, make_engine(engine, plan, device), probed)
    yields = data_set if extended else None
    added = mixture_parameters(backgrounds, yields, own_weight(shares, ranks) if extended else 1.0)
    sign = -1 if conjugate else 1
    parameters = coupling_parameters(model, channels, mapped, added, representation, limits, fix or {}, sign)
    _check_constraints(model, parameters, constraints, fix or {})
    phases = find_reference_phases([Observed(parameters, amplitude.sets, frozenset(constraints))])
    most_free, parameters = len(parameters.names), phases.applied(parameters)
    _check_ranks(ranks, amplitude, parameters, constraints, shares, precision)
    resources = _resources(amplitude, shares, rotation, ranks, precision, memory_limits, tuple(densities), resolution)
    _announce(amplitude.engine, shares, resolution)
    stored = ranks.together(lambda: resources.preparation.stored(shares, progress))
    samples = _fit_samples(stored, shares, resources, most_free, ratio, subtraction == BOUNDED)
    norm, means = _normalisation(amplitude, stored, shares, resources, progress)
    resources.preparation.stage.release()
    mixture = make_mixture(backgrounds, yields, means, ratio, samples.weight)
    return Likelihood(amplitude, resources, samples, norm, parameters, dict(constraints), mixture, phases)


def coupling_parameters(
    model: Model,
    channels: ModelChannels,
    mapped: CouplingMap,
    added: Sequence[Parameter],
    representation: str,
    limits: Mapping[str, tuple[float, float]] | None,
    fix: Mapping[str, float | None],
    sign: int,
) -> Parameters:
    """The parameters of a likelihood, before phases are fixed that nothing determines."""
    lineshapes = channels.theta
    theta = {p.name: p for p in (*lineshapes, *added)}
    for name, value in fix.items():
        if value is not None and name in theta and not theta[name].lower <= value <= theta[name].upper:
            raise PhysicsError(f"{name!r} cannot be fixed at {value}", f"give a number from {theta[name].lower:g} to {theta[name].upper:g}")
    of_model = {p.name for p in lineshapes}  # fixed already, and with formulas
    others = {name: value for name, value in fix.items() if name not in of_model}
    for name in others:
        if name.rpartition(".")[0] in mapped.fixed:
            raise PhysicsError(
                f"{name!r} is fixed anyway: it belongs to a coupling that is 1", "choose another reference wave, or leave it out"
            )
    return make_parameters(
        mapped.numbers,
        mapped.products,
        [*lineshapes, *added],
        representation=representation,
        start_numbers=mapped.solve(channels.couplings, model.coupling_values),
        values={name: value for name, value in others.items() if value is not None},
        fixed=list(others),
        fixed_numbers=mapped.fixed,
        limits=limits,
        formulas={name: text for name, text in model.relations.items() if name not in of_model},
        sign=sign,
        feeds=model.production.rows(model.decay).factors,
    )


def _check_constraints(
    model: Model, parameters: Parameters, constraints: Mapping[str, tuple[float, float]], fix: Mapping[str, float | None]
) -> None:
    for name, pair in constraints.items():
        if name not in parameters.names and name not in fix:  # −ln L of fixed parameters is comparable with that of free ones
            raise PhysicsError(f"constraint on {name!r}, which is not a free parameter", advice_on(name, parameters.names, [model]))
        if len(pair) != 2 or not np.all(np.isfinite(pair)) or pair[1] <= 0:
            raise PhysicsError(f"constraint on {name!r} is {pair!r}", "give (mean, standard deviation > 0)")


def _check_ranks(
    ranks: Ranks,
    amplitude: Amplitude,
    parameters: Parameters,
    constraints: Mapping[str, tuple[float, float]],
    shares: Mapping[str, Share],
    precision: str,
) -> None:
    """Refuse ranks that do not compute the same, before they wait for each other."""
    if ranks.size == 1:
        return
    engine = amplitude.engine
    about = [
        str(amplitude.model),
        parameters.names,
        amplitude.coupling_names,
        parameters.start.tolist(),
        [(p.name, p.value, p.formula) for p in parameters.all if p.fixed],
        parameters.bounds.tolist(),
        sorted(constraints.items()),
        [(name, share.part.total) for name, share in shares.items()],
        engine.plan.n_rows,
        engine.name,
        precision,
        parameters.sign,
    ]
    ranks.check_same("model", repr(about), "use the same model, samples and options on all ranks")
    check_devices(ranks, engine.device)
    use_threads = all_backends()[engine.name].use_threads
    if use_threads is not None:
        use_threads(threads_per_rank())


def _resources(
    amplitude: Amplitude,
    shares: Mapping[str, Share],
    rotation: RowRotation,
    ranks: Ranks,
    precision: str,
    limits: Limits,
    densities: tuple[tuple[str, Density], ...],
    resolution: Resolution | None,
) -> Resources:
    engine = amplitude.engine
    separate = all_backends()[engine.name].own_memory(engine.device)
    counts = {name: share.part.count * points_of(resolution, name) for name, share in shares.items()}
    memory = plan_memory(engine.plan, counts, engine.device, limits, separate=separate)
    streamer = Streamer(engine.device, separate)
    stage = spin_stage(amplitude.model, rotation, engine.device, memory.working_bytes)
    preparation = Preparation(engine.plan, memory, streamer, stage, densities, resolution)
    return Resources(ranks, precision, limits, memory, streamer, preparation)


def _announce(engine: Engine, shares: Mapping[str, Share], resolution: Resolution | None) -> None:
    """Tell the engine what it will compute."""
    summed = [name for name in shares if name != "phase space" or not engine.plan.collapses]
    modes = {LOG: points_of(resolution, "data")} | ({} if engine.plan.collapses else {PLAIN: 1})
    engine.expect(max(shares[name].part.count * points_of(resolution, name) for name in summed), modes)


def _fit_samples(
    stored: Mapping[str, StoredSample], shares: Mapping[str, Share], resources: Resources, n_free: int, ratio: float, bounded: bool
) -> FitSamples:
    background = stored.get("background", StoredSample(resources.streamer))
    totals = Totals.of(stored["data"].weights, background.weights, resources.ranks)
    own = {name: share.part for name, share in shares.items() if name != FLOOR}
    n_summed = sum(part.total for name, part in own.items() if name != "phase space")
    momenta = shares if resources.precision == MIXED else {}  # for ``in_double``
    distinct = {name: count_distinct(shares[name], n_free, resources.ranks) for name in ("data", "phase space")}
    floor = make_floor(stored[FLOOR], ratio, resources.ranks) if ratio else None
    resolution = resources.preparation.resolution
    if floor is not None and resolution is not None:
        beside = replace(resources.preparation, resolution=WithOwnPoint(resolution))
        floor = replace(floor, momenta=Rebuilt(partial(beside.exact_pieces, shares[FLOOR])))
    return FitSamples(stored["data"], background, own, totals, n_summed, distinct, momenta, floor, bounded, resolution)


def _normalisation(
    amplitude: Amplitude, stored: Mapping[str, StoredSample], shares: Mapping[str, Share], resources: Resources, progress: bool | None
) -> tuple[Normalisation, np.ndarray]:
    """The normalisation, and the means of added densities."""
    ranks, engine = resources.ranks, amplitude.engine
    sums = DensitySums(engine.plan, resources.preparation.densities)
    if engine.plan.collapses:
        pieces = resources.preparation.exact_pieces(shares["phase space"], progress)
        events: SampleSource = Rebuilt(partial(resources.preparation.exact_pieces, shares["phase space"]))
        if "phase space" in resources.memory.small:
            events = StoredSample.on_device(list(pieces), resources.streamer)
        integrals = amplitude.integrator.integrals(sums.passing(events.resident or pieces), np.zeros(0), ranks)
        norm = Normalisation(collapsed(integrals, engine.plan.n_couplings), integrals.weight, integrals, events)
        return norm, sums.means(norm.weight, ranks)
    own = stored["phase space"].weights.total
    weight = float(ranks.sum(1, lambda: np.array([own]), b"phase space")[0])
    if weight <= 0:
        raise DataError(f"the weights of the phase-space sample add up to {weight:.6g}\n fix: check them")
    if engine.plan.n_added:
        for sample in stored["phase space"].wherever():
            sums.add(sample)
    return Normalisation(stored["phase space"], weight), sums.means(weight, ranks)
