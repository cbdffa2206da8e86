"""What a likelihood is made of; all of it is frozen, and relatives of a likelihood share what they have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property

from ctpwa.base.errors import DataError
from ctpwa.base.ranks import Ranks
from ctpwa.data.checks import is_positive_total
from ctpwa.data.own_part import OwnPart
from ctpwa.data.resolution import Resolution
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.likelihood.collapsed import Collapsed
from ctpwa.engine.likelihood.integrals import Integrator, WaveIntegrals
from ctpwa.engine.likelihood.interference import ProbedAmplitudes
from ctpwa.engine.likelihood.weight_sums import Totals
from ctpwa.engine.samples.memory_plan import Limits, MemoryPlan
from ctpwa.engine.samples.own_events import Share
from ctpwa.engine.samples.prepare import Preparation
from ctpwa.engine.samples.stored_sample import SampleSource
from ctpwa.engine.samples.streamer import Streamer
from ctpwa.model.couplings import CouplingMap, Ties
from ctpwa.model.model import Model


@dataclass(frozen=True)
class CouplingOptions:
    """The user's choices for couplings.

    Attributes:
        kind:       ``wave`` or ``vertex``
        ties:       coupling → (other coupling, complex factor)
        reference:  the coupling that is fixed to 1, if one was chosen
    """

    kind: str
    ties: Ties
    reference: str | None


@dataclass(frozen=True)
class Amplitude:
    """What is computed of every event.

    Attributes:
        model:           the waves
        coupling_names:  names of the complex couplings; the engine has one of each for every feed whose factors follow from parameters
        coupling_map:    how they are made of the complex numbers that are fitted
        coupling_options:  the user's choices
        engine:          computes sums over samples, with the tables of the model
        probed:          what of it interferes
    """

    model: Model
    coupling_names: tuple[str, ...]
    coupling_map: CouplingMap
    coupling_options: CouplingOptions
    engine: Engine
    probed: ProbedAmplitudes

    @cached_property
    def integrator(self) -> Integrator:
        """Computes integrals of products of waves; its kernels are made when they are first asked for."""
        return Integrator(self.engine.plan, self.engine)

    @cached_property
    def sets(self) -> tuple[int, ...]:
        """Number of the coherent set of each coupling: those of different sets do not interfere."""
        return self.probed.coherent_sets(self.coupling_names)

    def __getstate__(self) -> dict[str, object]:
        """What is pickled: not what was made from it."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Resources:
    """Where and how it is computed.

    Attributes:
        ranks:        processes that share the events
        precision:    ``double`` or ``mixed``
        limits:       how much memory it may use
        memory:       where the events are
        streamer:     brings those that are elsewhere to the device
        preparation:  turns momenta into what the kernels read
    """

    ranks: Ranks
    precision: str
    limits: Limits
    memory: MemoryPlan
    streamer: Streamer
    preparation: Preparation


@dataclass(frozen=True)
class Floor:
    """Events of phase space that are added to the data, as many as the flat density that is added to the intensity stands for.

    Attributes:
        source:   the events
        total:    Σ w of all processes
        ratio:    how many there are for each event of signal
        momenta:  the same events, computed again, if they have several points: each with itself as the last of them
    """

    source: SampleSource
    total: float
    ratio: float
    momenta: SampleSource | None = None


@dataclass(frozen=True)
class FitSamples:
    """The events that are summed over: Σ w ln I of the data minus that of the background.

    Attributes:
        data:        measured events
        background:  events that are subtracted
        own:         which events of the whole samples this process has, by name of the sample
        totals:      sums over the weights of all processes
        n_summed:    events of data and background, of all processes
        distinct:    how many different events there are of data and phase space, counted to the number of free parameters
        shares:      the momenta, if samples are computed again from them; empty otherwise
        floor:       what keeps −ln L of events that count negatively from falling without limit; None: nothing does, or none do
        bounded:     whether it must
        resolution:  what makes several points of every one of these events; None: each is one
    """

    data: SampleSource
    background: SampleSource
    own: Mapping[str, OwnPart]
    totals: Totals
    n_summed: int
    distinct: Mapping[str, int]
    shares: Mapping[str, Share] = field(default_factory=dict)
    floor: Floor | None = None
    bounded: bool = True
    resolution: Resolution | None = None

    def __post_init__(self) -> None:
        if self.subtracts and self.totals.background <= 0:
            raise DataError(
                f"the weights of the background add up to {self.totals.background:.6g}\n"
                " fix: give positive weights; the background is subtracted"
            )
        if not is_positive_total(self.weight, self.totals.absolute):
            what, fix = ("data minus the background", "the scale of the background weights") if self.subtracts else ("data", "them")
            raise DataError(f"the weights of the {what} add up to {self.weight:.6g}\n fix: check {fix}")

    @cached_property
    def summed(self) -> tuple[tuple[float, SampleSource], ...]:
        """All events that a logarithm is taken of, with what multiplies their weights: background counts negatively."""
        floor = self.floor
        if floor is None or not floor.ratio > 0:
            return self.measured
        return (*self.measured, (floor.ratio * self.weight / floor.total, floor.source))

    @property
    def measured(self) -> tuple[tuple[float, SampleSource], ...]:
        """The same without the floor, which is simulated."""
        background = ((-1.0, self.background),) if self.subtracts else ()
        return (1.0, self.data), *background

    @property
    def negative(self) -> float:
        """Σ |w| of events that count negatively, divided by what is left."""
        return (self.totals.absolute - self.weight) / 2 / self.weight

    @property
    def summed_weight(self) -> float:
        """Σ w of them."""
        return self.weight * (1 if self.floor is None else 1 + self.floor.ratio)

    @property
    def weight(self) -> float:
        """Σ w of data minus background."""
        return self.totals.data - self.totals.background

    @property
    def subtracts(self) -> bool:
        """Whether there is background."""
        return "background" in self.own and self.own["background"].total > 0


@dataclass(frozen=True)
class Normalisation:
    """σ = Σ w I / Σ w over the phase-space sample.

    Attributes:
        source:     the sample, or one matrix if no lineshape changes
        weight:     Σ w
        integrals:  of products of waves, if no lineshape changes
        momenta:    of a sample that has become one matrix: its events, which are computed again whenever they are read if they are not few;
                    None if they are not known
    """

    source: SampleSource | Collapsed
    weight: float
    integrals: WaveIntegrals | None = None
    momenta: SampleSource | None = None

    @property
    def exact(self) -> bool:
        """Whether its events are in double precision, whatever that of the likelihood is."""
        return isinstance(self.source, Collapsed)

    @property
    def events(self) -> SampleSource | None:
        """The events of the sample, also if it has become one matrix; None if nobody knows them any more."""
        return self.momenta if isinstance(self.source, Collapsed) else self.source
