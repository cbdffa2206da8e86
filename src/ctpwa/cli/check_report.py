"""What ``ctpwa check`` finds out about a model and its samples."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ctpwa.analysis.analysis import Analysis, SampleSet
from ctpwa.data.events import Events
from ctpwa.data.stream import EventStream, Piece
from ctpwa.data.summary import SampleSummary
from ctpwa.engine.backends.registry import choose_backend
from ctpwa.engine.plan.channels import ModelChannels, model_channels
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.build import find_rotation
from ctpwa.engine.samples.memory_plan import MemoryPlan, plan_memory
from ctpwa.engine.samples.own_events import own_share
from ctpwa.engine.samples.precision import planned
from ctpwa.generate.phase_space import generate_phase_space
from ctpwa.model.couplings import map_couplings
from ctpwa.model.model import Model
from ctpwa.spin.rotate import RowRotation

PROBE_EVENTS = 200  # of phase space, to see how many rows of K are needed


@dataclass(frozen=True)
class CheckReport:
    """A model with its parameters and its plan.

    Attributes:
        model:      the model
        channels:   its couplings and lineshape parameters
        plan:       what is cached for every event
        n_numbers:  complex numbers that are fitted
        n_held:     parts of them that are fixed, or follow from other parameters
    """

    model: Model
    channels: ModelChannels
    plan: Plan
    n_numbers: int
    n_held: int = 0

    @classmethod
    def of(cls, analysis: Analysis) -> CheckReport:
        """Look at the model; a few generated events show which rows of K the waves need."""
        model, settings = analysis.model, analysis.settings
        channels = model_channels(model)
        probe = generate_phase_space(model, PROBE_EVENTS, seed=0, progress=False)
        numbers = map_couplings(model, channels.couplings, settings.couplings, settings.ties, settings.reference_wave)
        free = [name for name in numbers.numbers if name not in numbers.fixed]
        held = {*settings.fix, *model.relations} - {p.name for p in channels.theta}
        plan = _plan(analysis, channels, find_rotation(model, [_piece(model, probe)]))
        return cls(model, channels, plan, len(free), len(held))

    @property
    def n_of_couplings(self) -> int:
        """Real numbers of couplings that are fitted."""
        return 2 * self.n_numbers - self.n_held

    @property
    def couplings(self) -> dict[str, complex]:
        """The complex couplings with the values that a fit starts from."""
        return {name: complex(self.model.coupling_values.get(name, 1.0)) for name in self.channels.couplings}

    @property
    def n_floating(self) -> int:
        """Lineshape parameters that are fitted."""
        return sum(not parameter.fixed for parameter in self.channels.theta)

    @property
    def n_free(self) -> int:
        """Everything that is fitted."""
        return self.n_of_couplings + self.n_floating

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
    """

    summaries: tuple[SampleSummary, ...]
    memory: MemoryPlan

    @classmethod
    def of(cls, analysis: Analysis, report: CheckReport) -> SampleReport:
        """Read every data set, one after the other."""
        summaries: list[SampleSummary] = []
        plans: dict[str, MemoryPlan] = {}
        for data_set in analysis.data_sets:
            samples = analysis.read(data_set.name)
            summaries += samples.summaries
            shares = {name: own_share(name, events, report.model, analysis.ranks) for name, events in _parts(samples).items()}
            rotation = find_rotation(report.model, [share.first(PROBE_EVENTS) for share in shares.values()])
            counts = {name: share.part.count for name, share in shares.items()}
            backend, device = choose_backend(analysis.settings.engine, analysis.settings.device)
            own = backend.adapt(_plan(analysis, report.channels, rotation))
            separate = backend.own_memory(device)
            plans[data_set.name] = plan_memory(own, counts, device, analysis.memory_limits, separate=separate)
            analysis.forget()
        return cls(tuple(summaries), MemoryPlan.joined(plans))


def _plan(analysis: Analysis, channels: ModelChannels, rotation: RowRotation) -> Plan:
    return planned(channels.plan(analysis.model, rotation.n_rows), rotation, analysis.settings.precision)


def _parts(samples: SampleSet) -> dict[str, Events | EventStream]:
    """What a likelihood keeps; truth is not part of it."""
    parts: dict[str, Events | EventStream] = {"data": samples.data, "phase space": samples.phase_space}
    return parts if samples.background is None else parts | {"background": samples.background}


def _piece(model: Model, events: Events) -> Piece:
    columns = {column.name: column.probe(events.n_events) for column in model.columns}
    return Piece([events[label] for label in model.decay.labels], None, columns)
