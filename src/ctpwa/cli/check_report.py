"""What ``ctpwa check`` finds out about a model and its samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import isfinite

from ctpwa.analysis.analysis import Analysis
from ctpwa.analysis.sample_sets import SampleSet
from ctpwa.base.ranks import ONE
from ctpwa.config.sources import DataSet
from ctpwa.data.density import Flat
from ctpwa.data.events import Events
from ctpwa.data.stream import EventStream, Piece
from ctpwa.data.summary import SampleSummary
from ctpwa.engine.backends.registry import choose_backend
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.engine.likelihood.build import build_likelihood, coupling_parameters
from ctpwa.engine.likelihood.interference import ProbedAmplitudes, probed_events
from ctpwa.engine.likelihood.simulation import NormalisationSize
from ctpwa.engine.likelihood.subtraction import BOUNDED, FLOOR, floor_ratio, floor_share
from ctpwa.engine.plan.channels import ModelChannels, model_channels
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.build import find_rotation
from ctpwa.engine.samples.memory_plan import MemoryPlan, plan_memory
from ctpwa.engine.samples.own_events import Share, own_share
from ctpwa.engine.samples.precision import planned
from ctpwa.engine.samples.prepare import points_of
from ctpwa.generate.phase_space import generate_phase_space
from ctpwa.model.amounts import SIGNAL
from ctpwa.model.couplings import CouplingMap, map_couplings
from ctpwa.model.model import Model
from ctpwa.model.parameter import Parameter, asymmetry_owner
from ctpwa.model.reference_phases import NONE, Observed, ReferencePhases, find_reference_phases
from ctpwa.spin.rotate import RowRotation

PROBE_EVENTS = 200  # of phase space, to see how many rows of K are needed
SIZED_EVENTS = 20_000  # of phase space, to see how many of them count


@dataclass(frozen=True)
class CheckReport:
    """A model with its parameters and its plan.

    Attributes:
        model:      the model
        channels:   its couplings and lineshape parameters
        plan:       what is cached for every event
        n_numbers:  complex numbers that are fitted
        n_held:     parts of them that are fixed, or follow from other parameters
        amounts:    fractions or yields of backgrounds, and what they look like
        sets:       number of the coherent set of each coupling
        phases:     which phases are fixed because nothing determines them
    """

    model: Model
    channels: ModelChannels
    plan: Plan
    n_numbers: int
    n_held: int = 0
    amounts: tuple[tuple[Parameter, str], ...] = ()
    sets: tuple[int, ...] = ()
    phases: ReferencePhases = NONE

    @classmethod
    def of(cls, analysis: Analysis) -> CheckReport:
        """Look at the model; a few generated events show which rows of K the waves need."""
        model, settings = analysis.model, analysis.settings
        channels = model_channels(model)
        numbers = map_couplings(model, channels.couplings, settings.couplings, settings.ties, settings.reference_wave)
        free = [name for name in numbers.numbers if name not in numbers.fixed]
        amounts = tuple(_amounts(analysis))
        held = {*settings.fix, *model.relations} - {p.name for p in channels.theta} - {p.name for p, _ in amounts}
        plan = _plan(analysis, channels, _rotation(model))
        sets = ProbedAmplitudes.of(model, channels).coherent_sets(channels.couplings)
        phases = _phases(analysis, channels, numbers, sets, [p for p, _ in amounts])
        return cls(model, channels, plan, len(free), len(held), amounts, sets, phases)

    @property
    def n_of_couplings(self) -> int:
        """Real numbers of couplings that are fitted."""
        return 2 * self.n_numbers - self.n_held - len(self.phases.references)

    @property
    def coherent_sets(self) -> list[list[str]]:
        """Couplings in sets that do not interfere with each other."""
        pairs = list(zip(self.channels.couplings, self.sets, strict=True))
        return [[name for name, own in pairs if own == number] for number in sorted(set(self.sets))]

    @property
    def couplings(self) -> dict[str, complex]:
        """The complex couplings with the values that a fit starts from."""
        return {name: complex(self.model.coupling_values.get(name, 1.0)) for name in self.channels.couplings}

    @property
    def n_floating(self) -> int:
        """Lineshape parameters that are fitted."""
        return sum(not parameter.fixed for parameter in self.lineshapes) - self.n_of_elements

    @property
    def elements(self) -> list[Parameter]:
        """Elements of the spin density matrix of the parent; they are among ``lineshapes``."""
        factors = self.model.production.rows(self.model.decay).factors
        return [] if factors is None else [parameter for parameter in self.channels.theta if parameter.name in factors.names]

    @property
    def n_of_elements(self) -> int:
        """Those of them that are fitted."""
        return sum(not parameter.fixed for parameter in self.elements)

    @property
    def lineshapes(self) -> list[Parameter]:
        """Parameters of lineshapes, those that formulas may use, and elements of a density matrix."""
        return [parameter for parameter in self.channels.theta if not asymmetry_owner(parameter.name)]

    @property
    def asymmetries(self) -> list[Parameter]:
        """Parts of CP asymmetries."""
        return [parameter for parameter in self.channels.theta if asymmetry_owner(parameter.name)]

    @property
    def n_of_asymmetries(self) -> int:
        """Those of them that are fitted."""
        return sum(not parameter.fixed and parameter.name not in self.phases.fixed for parameter in self.asymmetries)

    @property
    def n_free(self) -> int:
        """Everything that is fitted."""
        return self.n_of_couplings + self.n_floating + self.n_of_elements + self.n_of_asymmetries + self.n_of_backgrounds

    @property
    def n_of_backgrounds(self) -> int:
        """Fractions or yields that are fitted."""
        return sum(not parameter.fixed for parameter, _ in self.amounts)

    @staticmethod
    def limit(value: float) -> float | None:
        """A limit of a parameter; None if there is none."""
        return value if isfinite(value) else None


@dataclass(frozen=True)
class SampleReport:
    """Samples that were read, and what a likelihood of them needs.

    Attributes:
        summaries:  one for each source
        memory:     the memory plan
        sizes:      data set → effective size of its phase-space sample at the start values; without those that cannot be integrated
    """

    summaries: tuple[SampleSummary, ...]
    memory: MemoryPlan
    sizes: Mapping[str, NormalisationSize]

    @classmethod
    def of(cls, analysis: Analysis, report: CheckReport) -> SampleReport:
        """Read every data set, one after the other."""
        summaries: list[SampleSummary] = []
        plans: dict[str, MemoryPlan] = {}
        sizes: dict[str, NormalisationSize] = {}
        for data_set in analysis.data_sets:
            samples = analysis.read(data_set.name)
            summaries += samples.summaries
            resolution = data_set.resolution
            own_columns = {name: resolution.columns if resolution and name != "phase space" else () for name in _parts(samples)}
            shares = {
                name: own_share(name, events, report.model, analysis.ranks, own_columns[name]) for name, events in _parts(samples).items()
            }
            rotation = find_rotation(report.model, [share.first(PROBE_EVENTS) for share in shares.values()])
            n_added = len(data_set.backgrounds)
            if analysis.settings.subtraction == BOUNDED and floor_ratio(shares, analysis.ranks):
                shares[FLOOR], n_added = floor_share(shares, analysis.ranks), n_added + 1
            counts = {name: share.part.count * points_of(resolution, name) for name, share in shares.items()}
            backend, device = choose_backend(analysis.settings.engine, analysis.settings.device)
            own = backend.adapt(replace(_plan(analysis, report.channels, rotation), n_added=n_added))
            separate = backend.own_memory(device)
            plans[data_set.name] = plan_memory(own, counts, device, analysis.memory_limits, separate=separate)
            size = _size(analysis, report, shares["phase space"], data_set)
            sizes |= {} if size is None else {data_set.name: size}
            analysis.forget()
        return cls(tuple(summaries), MemoryPlan.joined(plans), sizes)


def _size(analysis: Analysis, report: CheckReport, share: Share, data_set: DataSet) -> NormalisationSize | None:
    """Effective size of the first events of phase space at the start values; None if their weights do not add up to more than 0."""
    with closing(share.pieces(SIZED_EVENTS)) as pieces:
        piece = next(pieces, None)
    if piece is None or (piece.weights is not None and not piece.weights.sum() > 0):
        return None
    momenta = dict(zip(share.labels, piece.p4, strict=True))
    one = Events({name: p[:1] for name, p in momenta.items()}, None, {name: values[:1] for name, values in piece.columns.items()})
    options, given = analysis.likelihood_options(data_set), analysis.settings.start
    still = {
        parameter.name: given.get(parameter.name)
        for parameter in report.lineshapes
        if not parameter.fixed and parameter not in report.elements
    }
    likelihood = build_likelihood(
        data=one,  # what was measured does not matter
        phase_space=Events(momenta, piece.weights, piece.columns),
        **options | {"fix": options["fix"] | still},  # derivatives of lineshapes are not needed, and take long to import
        engine="reference",  # nothing to compile
        device="cpu",
        constraints={},
        backgrounds=[Background(own.name, Flat(), own.fraction, own.floating) for own in data_set.backgrounds],  # how they look neither
        progress=False,
        ranks=ONE,
    )
    start = dict(zip(likelihood.names, likelihood.start, strict=True)) | dict(given)
    return likelihood.normalisation_size([start[name] for name in likelihood.names])


def _amounts(analysis: Analysis) -> Iterator[tuple[Parameter, str]]:
    """Fractions or yields of all backgrounds with what they look like; the same name in several data sets is one fraction.

    The value of a yield is its part of all events, since how many there are is not known yet.
    """
    settings, relations = analysis.settings, analysis.model.relations
    shares: dict[str, tuple[float, bool, str]] = {}
    for data_set in analysis.data_sets:
        names = data_set.amounts
        if SIGNAL in names:
            shares[names[SIGNAL]] = (1 - sum(own.fraction for own in data_set.backgrounds), True, "")
        shares |= {names[own.name]: (own.fraction, own.floating, f"density: {own.density}") for own in data_set.backgrounds}
    most = float("inf") if settings.extended else 1.0
    for parameter, (share, floating, look) in shares.items():
        value = settings.fix.get(parameter) if not settings.extended else None
        free = (floating or settings.extended) and parameter not in settings.fix and parameter not in relations
        limits = settings.limits.get(parameter, (0.0, most))
        yield Parameter(parameter, share if value is None else value, not free, *limits, relations.get(parameter, "")), look


def _phases(
    analysis: Analysis, channels: ModelChannels, numbers: CouplingMap, sets: tuple[int, ...], amounts: Sequence[Parameter]
) -> ReferencePhases:
    """Which phases the likelihood of all data sets fixes."""
    settings = analysis.settings
    limits = {name: pair for name, pair in settings.limits.items() if name.rpartition(".")[0] in numbers.numbers}
    fix = {name: value for name, value in settings.fix.items() if name.rpartition(".")[0] in numbers.numbers}
    signs = {-1 if data_set.conjugate else 1 for data_set in analysis.data_sets} or {1}
    observed = [
        Observed(
            coupling_parameters(analysis.model, channels, numbers, amounts, settings.representation, limits, fix, sign),
            sets,
            frozenset(analysis.constraints),
        )
        for sign in signs
    ]
    return find_reference_phases(observed)


def _plan(analysis: Analysis, channels: ModelChannels, rotation: RowRotation) -> Plan:
    return planned(channels.plan(analysis.model, rotation.n_rows), rotation, analysis.settings.precision)


def _parts(samples: SampleSet) -> dict[str, Events | EventStream]:
    """What a likelihood keeps; truth is not part of it."""
    parts: dict[str, Events | EventStream] = {"data": samples.data, "phase space": samples.phase_space}
    return parts if samples.background is None else parts | {"background": samples.background}


def _rotation(model: Model) -> RowRotation:
    """The rows that a few events need; where the parent has no mass of its own, or rows depend on a beam, of events made up for it."""
    if model.decay.parent.mass is None:
        model, events = probed_events(model, PROBE_EVENTS)
    else:
        events = generate_phase_space(model, PROBE_EVENTS, seed=0, progress=False)
        events = replace(events, columns={column.name: column.probe(events.n_events) for column in model.columns})
    return find_rotation(model, [Piece([events[label] for label in model.decay.labels], None, events.columns)])
