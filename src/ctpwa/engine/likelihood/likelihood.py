"""The negative log-likelihood of a model and its samples, with exact gradient and Hessian.

NLL = −Σ_data w ln I + Σ_background w ln I + (Σ w_data − Σ w_background) ln σ + constraints,   σ = Σ_phsp w I / Σ_phsp w
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.markup import element, simple_table, together
from ctpwa.base.ranks import Ranks
from ctpwa.base.turns import in_turn
from ctpwa.base.words import counted
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.likelihood import relatives
from ctpwa.engine.likelihood.backgrounds import events_without
from ctpwa.engine.likelihood.collapsed import Collapsed
from ctpwa.engine.likelihood.evaluation import Evaluation
from ctpwa.engine.likelihood.event_sums import intensities, intensity_slopes
from ctpwa.engine.likelihood.fraction_scatter import CoherentSums, FractionScatter, fraction_scatter
from ctpwa.engine.likelihood.integrals import WaveIntegrals
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum, checked_vector
from ctpwa.engine.likelihood.mixture import Mixture
from ctpwa.engine.likelihood.parts import Amplitude, FitSamples, Normalisation, Resources
from ctpwa.engine.likelihood.rank_sums import RankTask, run_together
from ctpwa.engine.likelihood.scores import scatter_of_events
from ctpwa.engine.likelihood.simulation import Influence, NormalisationSize, SimulationScatter, normalisation_size, simulation_scatter
from ctpwa.engine.likelihood.subtraction import FLOOR
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.build import CallbackValues
from ctpwa.engine.samples.memory_plan import MemoryPlan
from ctpwa.engine.samples.own_events import SampleInput, own_share
from ctpwa.engine.samples.stored_sample import SampleSource, StoredSample
from ctpwa.engine.samples.streamer import Streamer
from ctpwa.model.couplings import CouplingMap
from ctpwa.model.model import Model
from ctpwa.model.parameters import Parameters
from ctpwa.model.reference_phases import NONE, Observed, ReferencePhases


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The likelihood of one data set; ``ctpwa.build_likelihood`` makes it. Likelihoods add up with ``+``, sharing parameters by name.

    Attributes:
        amplitude:    what is computed of every event
        resources:    where and how
        samples:      the events that are summed over
        norm:         the normalisation
        parameters:   free and fixed parameters
        constraints:  parameter name → (mean, standard deviation) of a Gaussian
        mixture:      densities that are added to the intensity, and how much of each; None: there are none
        phases:       which phases are fixed because nothing determines them
    """

    amplitude: Amplitude
    resources: Resources
    samples: FitSamples
    norm: Normalisation
    parameters: Parameters
    constraints: Mapping[str, tuple[float, float]]
    mixture: Mixture | None = None
    phases: ReferencePhases = NONE

    def __repr__(self) -> str:
        return f"Likelihood: {self._words()}"

    def _repr_html_(self) -> str:
        """For notebooks: the free parameters, where they start and their limits."""
        rows = [
            (p.name, f"{p.value:.6g}", *("" if np.isinf(limit) else f"{limit:g}" for limit in (p.lower, p.upper)))
            for p in self.parameters.free
        ]
        table = simple_table(("free parameter", "start", "lower limit", "upper limit"), rows)
        return together(element("p", element("strong", self._words())), table).source

    def _words(self) -> str:
        parts = [counted(self.n_events, "event"), counted(len(self.names), "free parameter"), counted(len(self.model.waves), "wave")]
        return f"{self.model.decay}, {', '.join(parts)}, {self.precision} precision on {self.engine.device}"

    @cached_property
    def evaluation(self) -> Evaluation:
        """What computes it."""
        parts = self.engine, self.parameters, self.samples, self.norm, self.constraints, self.mixture
        return Evaluation(*parts, alone=self.ranks.size == 1)

    # what it is made of

    @property
    def model(self) -> Model:
        """What is fitted."""
        return self.amplitude.model

    @property
    def engine(self) -> Engine:
        """Computes sums over samples."""
        return self.amplitude.engine

    @property
    def plan(self) -> Plan:
        """The tables of the model, as the engine reads them."""
        return self.amplitude.engine.plan

    @property
    def coupling_names(self) -> tuple[str, ...]:
        """Names of the complex couplings."""
        return self.amplitude.coupling_names

    @property
    def coupling_map(self) -> CouplingMap:
        """How couplings are made of what is fitted."""
        return self.amplitude.coupling_map

    @property
    def observed(self) -> Observed:
        """What it says about phases of couplings."""
        return Observed(self.parameters, self.amplitude.sets, frozenset(self.constraints))

    @property
    def ranks(self) -> Ranks:
        """Processes that share the events; sums are over the events of all of them."""
        return self.resources.ranks

    @property
    def precision(self) -> str:
        """``double`` or ``mixed``."""
        return self.resources.precision

    @property
    def streamer(self) -> Streamer:
        """Brings events that are elsewhere to the device."""
        return self.resources.streamer

    @property
    def data(self) -> SampleSource:
        """The measured events."""
        return self.samples.data

    @property
    def background(self) -> SampleSource:
        """The events that are subtracted."""
        return self.samples.background

    @property
    def phase_space(self) -> SampleSource | Collapsed:
        """The events of the normalisation, or the matrix they became."""
        return self.norm.source

    # parameters

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        return self.parameters.names

    @property
    def start(self) -> np.ndarray:
        """Start values of the free parameters."""
        return self.parameters.start

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper limits of the free parameters, [parameter, 2]."""
        return self.parameters.bounds

    @property
    def coupling_index(self) -> np.ndarray:
        """Which of the free parameters belong to couplings; the others belong to lineshapes."""
        return np.array([i for i, name in enumerate(self.names) if name not in self.parameters.theta_names], dtype=np.int64)

    @property
    def floating_order(self) -> np.ndarray:
        """Where the floating lineshape parameters are among all of them."""
        return self.evaluation.theta_order

    # evaluation

    def value(self, p: Any) -> Any:
        """NLL at the free parameters ``p``; an array for a batch [vector, parameter]."""
        return self._evaluate(p, 0)[0]

    def value_and_grad(self, p: Any) -> tuple[Any, np.ndarray]:
        """NLL and its gradient; arrays [vector] and [vector, parameter] for a batch, which shares its passes over the events."""
        return self._evaluate(p, 1)[:2]

    def hessian(self, p: Any) -> np.ndarray:
        """Matrix of second derivatives of the NLL; [vector, parameter, parameter] for a batch."""
        return self.value_grad_hessian(p)[2]

    def value_grad_hessian(self, p: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """NLL, gradient and Hessian in one go; arrays for a batch, as above."""
        return self._evaluate(p, 2)

    def task(self, p: Any, order: int) -> RankTask:
        """NLL, gradient and Hessian at a point or of a batch, for all ranks to compute together."""
        return self._task(self._vector(p), order)

    def _task(self, x: np.ndarray, order: int) -> RankTask:
        return self.evaluation.batch_task(x, order) if x.ndim == 2 else self.evaluation.task(x, order)

    def _evaluate(self, p: Any, order: int) -> tuple[Any, np.ndarray, np.ndarray]:
        x = self._vector(p)
        return run_together(self.ranks, [self._task(x, order)], x.tobytes(), self.engine.device)[0]

    @in_turn
    def intensity(self, p: Any, sample: str = "data") -> Tensor:
        """I of every event of ``data``, ``background`` or ``phase space``, in the order of the input; with several ranks of this one's."""
        c, theta = self.parameters.native(self._vector(p))
        source, floating = self._stored(sample), theta[self.floating_order]
        refresh = CallbackValues(self.plan, floating, self.engine.device)
        return intensities(self.engine, source, c, self.plan.numbers(floating), refresh)

    @in_turn
    def intensity_slopes(self, p: Any, along: np.ndarray, sample: str = "data") -> Tensor:
        """∂I of every event in directions of couplings, [event, direction], in the order of the input; each event is one point.

        Args:
            p:       the free parameters
            along:   ∂(Re c), then ∂(Im c) of the couplings of the engine, [part, direction]
            sample:  ``data``, ``background`` or ``phase space``
        """
        c, theta = self.parameters.native(self._vector(p))
        source, floating = self._stored(sample), theta[self.floating_order]
        refresh = CallbackValues(self.plan, floating, self.engine.device)
        return intensity_slopes(self.engine, source, c, self.plan.numbers(floating), refresh, along)

    def _stored(self, sample: str) -> StoredSample:
        source = {"data": self.data, "background": self.background, "phase space": self.phase_space}.get(sample)
        if source is None or isinstance(source, Collapsed):
            known = "data, background, phase space" if source is None else "the phase-space sample was released: no resonance floats"
            raise DataError(f"no intensities of {sample!r}\n fix: {known}")
        if not isinstance(source, StoredSample):
            raise DataError(
                "no intensities of a likelihood that computes its samples in every evaluation\n fix: ask the one it was made from"
            )
        return source

    # what a fit needs besides

    @property
    def rounding(self) -> float:
        """Differences of the NLL that are lost in rounding."""
        return 4 * float(np.finfo(float).eps) * self.samples.totals.absolute

    @property
    def weighted(self) -> bool:
        """Whether events have weights other than 1, or background is subtracted: then the covariance needs ``score_products``."""
        return self.subtracts or self.samples.totals.unequal > 0

    @property
    def subtracts(self) -> bool:
        """Whether there is background to subtract."""
        return self.samples.subtracts

    @property
    def n_events(self) -> int:
        """Measured events."""
        return self.samples.own["data"].total

    @property
    def unit(self) -> float:
        """Twice what one standard deviation adds to the NLL, Σ w² / Σ w: 1 without weights, and as large as they are."""
        return self.weight_variance / self.weight

    def distinct_events(self, sample: str) -> int:
        """Different events of ``data`` or ``phase space``, counted to the number of free parameters; of several ranks an upper limit."""
        return self.samples.distinct[sample]

    @property
    def weight(self) -> float:
        """Σ w of data minus background."""
        return self.samples.weight

    @property
    def weight_variance(self) -> float:
        """Σ w² over data and background: the variance of ``weight``."""
        return self.samples.totals.squared

    def events_without_background(self) -> dict[str, int]:
        """Background → how many measured events its density is 0 at."""
        names = [name for name, _ in self.resources.preparation.densities if name != FLOOR]
        return events_without(self.data, self.plan, names, self.ranks)

    def score_products(self, p: Any) -> np.ndarray:
        """Σ w² (∂ ln p)(∂ ln p) over data and background, p = I/σ, or what a mixture makes of it: how the gradient scatters from one
        experiment to the next.
        """
        return scatter_of_events(self, self._vector(p))

    def simulation_scatter(self, p: Any) -> SimulationScatter:
        """How the gradient scatters because the phase-space sample is finite, and the effective size of that sample.

        S = (W/Σ v I)² Σ (v I)² (∂ ln(I/σ))(∂ ln(I/σ)) over the sample, in one pass; with added densities also what their means do, which
        takes one over data and background, and where events count negatively what the floor does, which is made of the same events. If
        fixed lineshapes have made the sample one matrix, spin amplitudes of its events are computed again, from the momenta it was given
        or from its files.
        """
        return simulation_scatter(self, self._vector(p))

    def fraction_scatter(self, p: Any, sums: CoherentSums, influence: Influence) -> FractionScatter:
        """What single events of the phase-space sample do to fractions over it, beside what they do to the gradient, in one more pass.

        Args:
            p:          the free parameters
            sums:       whose fractions
            influence:  what ``simulation_scatter`` has found there
        """
        return fraction_scatter(self, self._vector(p), sums, influence)

    def normalisation_size(self, p: Any) -> NormalisationSize:
        """How many events of the phase-space sample count: N_eff = (Σ v I)² / Σ (v I)², and the same of every wave alone."""
        return normalisation_size(self, self._vector(p))

    def integrals(self, p: Any, truth: SampleInput | None = None) -> WaveIntegrals:
        """Integrals of products of waves over the phase-space sample, or over another one.

        Args:
            p:      the free parameters
            truth:  events to integrate over instead, such as phase space before acceptance
        """
        x = self._vector(p)
        if truth is None and self.norm.integrals is not None:
            return self.norm.integrals
        theta, integrator = self.parameters.native(x)[1][self.floating_order], self.amplitude.integrator
        if truth is not None:
            preparation = self.resources.preparation
            pieces = preparation.exact_pieces(own_share("truth", truth, self.model, self.ranks))
            found = integrator.integrals(pieces, theta, self.ranks, "truth")
            preparation.stage.release()
            return found
        source = self.norm.source
        assert not isinstance(source, Collapsed)
        with closing(source.passing()) as passing:
            return integrator.integrals(chain(source.resident, passing), theta, self.ranks)

    def check_truth(self, truth: SampleInput) -> None:
        """Refuse events that ``integrals`` could not use, before anything takes time; weights in files are looked at when they are read."""
        share = own_share("truth", truth, self.model, self.ranks)
        total = self.ranks.sum(1, lambda: np.array([share.part.count if share.weights is None else float(share.weights.sum())]), b"truth")
        if not share.part.total or total[0] <= 0:
            raise DataError("truth: there are no events, or their weights do not add up to more than 0\n fix: check the sample")

    def random_couplings(self, p: Any, n: int, seed: int = 0) -> np.ndarray:
        """Points [vector, parameter] with couplings of random size and phase, all waves about equally strong; the rest as at ``p``."""
        x = self._vector(p)
        integrals = self.integrals(x)
        V = self.parameters.feed_factors(x)
        share = np.zeros(len(self.coupling_names))
        own, feed = np.divmod(integrals.coupling, len(V))
        same = (own[:, None] == own) & (integrals.wave[:, None] == integrals.wave)
        np.add.at(share, own, np.where(same, V[feed].conj()[:, None] * integrals.matrix * V[feed], 0).sum(axis=1).real)
        typical = 1 / np.sqrt(np.where(share > 0, share, 1.0))
        rng = np.random.default_rng(seed)
        normal = partial(self.phases.normal_array, self.parameters.numbers)
        return np.array([self.parameters.random_numbers(x, typical, rng, normal) for _ in range(n)]).reshape(n, len(x))

    def memory(self) -> MemoryPlan:
        """Bytes per event and in all."""
        return self.resources.memory

    def __add__(self, other: Likelihood | LikelihoodSum) -> LikelihoodSum:
        return LikelihoodSum([self]) + other

    def _vector(self, p: Any) -> np.ndarray:
        return checked_vector(p, len(self.names))

    # relatives: they share spin amplitudes, event tables and kernels with this one

    def fixed(self, values: Mapping[str, float]) -> Likelihood:
        """The same with some of the free parameters fixed, for scans.

        Args:
            values:  name of a free parameter → its value
        """
        return relatives.fixed(self, values)

    def with_weights(self, weights: Any, background: Any = None) -> Likelihood:
        """The same events with other weights, for a bootstrap or sWeights.

        Args:
            weights:     one for each measured event, in the order of the input; with several ranks, of all of them
            background:  the same for events that are subtracted; default: they keep theirs
        """
        return relatives.with_weights(self, weights, background)

    def with_data(self, data: SampleInput, background: SampleInput | None = None) -> Likelihood:
        """Other measured events on the same normalisation, for toys.

        Args:
            data:        measured events, as for ``build_likelihood``
            background:  events that are subtracted
        """
        return relatives.with_data(self, data, background)

    @property
    def picks_events(self) -> bool:
        """Whether ``with_picked`` is possible: all events are on the device, of one process, and each is one point."""
        return relatives.picks_events(self)

    def with_picked(self, data: Mapping[str, np.ndarray], background: np.ndarray | None = None) -> Likelihood:
        """Measured events that are picked from its own samples, for toys: spin amplitudes are known already.

        Args:
            data:        ``phase space`` or ``background`` → numbers of events in the order of the input, each as often as it counts;
                         measured events have weight 1
            background:  numbers of events that are subtracted, which keep their weights
        """
        return relatives.with_picked(self, data, background)

    def subsample(self, n_events: int, seed: int = 0) -> Likelihood:
        """A random part of data and background, with weights that make up for the others.

        Args:
            n_events:  about how many measured events to keep
            seed:      which ones
        """
        return relatives.subsample(self, n_events, seed)

    def without(self, waves: Iterable[str]) -> Likelihood:
        """The same without some waves, for their significance.

        Args:
            waves:  names of waves, or of resonances, of which all waves are left out
        """
        return relatives.without(self, waves)

    def with_references(self, references: Sequence[str]) -> Likelihood:
        """The same with other couplings as references, such as the strongest one of each coherent set.

        Args:
            references:  the coupling that is 1, then those of other coherent sets whose phases are 0
        """
        return relatives.with_references(self, references)

    def with_still_lineshapes(self, p: Any) -> Likelihood:
        """The same with a normalisation with lineshapes fixed at ``p``: exact there, quick elsewhere.

        Args:
            p:  the free parameters
        """
        return replace(self, norm=relatives.still(self, self._vector(p)))

    def coarse(self, p: Any, n_events: int, seed: int = 0) -> Likelihood:
        """A quick likelihood for the search of starts: part of the data, and a normalisation with lineshapes fixed at ``p``.

        Args:
            p:         the free parameters
            n_events:  about how many measured events to keep
            seed:      which ones
        """
        return self.subsample(n_events, seed).with_still_lineshapes(p)

    def with_engine(self, engine: Engine) -> Likelihood:
        """The same computed by another engine, which works on the same tables and device."""
        return replace(self, amplitude=replace(self.amplitude, engine=engine))

    def in_double(self) -> Likelihood:
        """The same likelihood with spin amplitudes in double precision; they are computed again, in chunks, in every evaluation."""
        return relatives.in_double(self)
