"""Several data sets fitted together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ctpwa.base.errors import DataError, PhysicsError, suggest
from ctpwa.base.markup import element, simple_table, together
from ctpwa.base.ranks import CPU, ONE, Ranks
from ctpwa.base.words import counted
from ctpwa.engine.likelihood.rank_sums import run_together
from ctpwa.engine.likelihood.simulation import SimulationScatter
from ctpwa.engine.samples.precision import DOUBLE, MIXED
from ctpwa.model.model import Model
from ctpwa.model.reference_phases import find_reference_phases


def checked_vector(p: Any, n: int) -> np.ndarray:
    """Parameters [parameter] or [vector, parameter] as an array; refuses a wrong number of them."""
    x = np.asarray(p, dtype=float)
    if x.shape[-1:] != (n,) or x.ndim > 2:
        raise DataError(f"parameters have shape {x.shape}; this likelihood has {counted(n, 'free parameter')}\n fix: see .names")
    return x


def advice(name: str, likelihood: Any) -> str:
    """What to do about a name that is not a free parameter of a likelihood or a sum of them."""
    terms = getattr(likelihood, "terms", (likelihood,))
    if any(name in term.phases.fixed for term in terms):
        return "it is fixed as reference of waves that do not interfere with the others: leave it out, and give phases relative to it"
    return advice_on(name, likelihood.names, [term.model for term in terms])


def advice_on(name: str, names: Sequence[str], models: Sequence[Model]) -> str:
    """The same for free parameters of some models."""
    resonance, _, parameter = name.rpartition(".")
    for model in models:
        if name in model.relations:
            return f"it follows from others, {model.relations[name]}: name one of those"
        if any(parameter in own.parameters for wave in model.waves for own in wave.resonances if own.name == resonance):
            return f"it is fixed; to fit it, write  float: {parameter}  in the model, under {resonance!r} of resonances"
    return suggest(name, names)


def _with_common_phases(terms: Sequence[Any]) -> Sequence[Any]:
    """The likelihoods of a sum with the same reference phases: what none of them determines."""
    if all(term.phases is terms[0].phases for term in terms):
        return terms
    about = [(term.phases.fixed, dict(zip(term.coupling_names, term.amplitude.sets, strict=True))) for term in terms]
    if all(own == about[0] for own in about) and not any(term.model.asymmetries for term in terms):
        return [replace(term, phases=terms[0].phases) for term in terms]
    free = [replace(term, parameters=term.phases.released(term.parameters)) for term in terms]
    phases = find_reference_phases([term.observed for term in free])
    return [replace(term, parameters=phases.applied(term.parameters), phases=phases) for term in free]


def _check_yields(terms: Sequence[Any]) -> None:
    """Refuse data sets that would have the same number of events."""
    every = [name for term in terms if term.mixture is not None and term.mixture.extended for name in term.mixture.parameters]
    if len(every) > len(set(every)):
        name = next(own for own in every if every.count(own) > 1)
        raise PhysicsError(f"{name!r} would be the same in several data sets", "build each likelihood with a data_set='…' of its own")


class LikelihoodSum:
    """Several likelihoods with parameters shared by name.

    Args:
        terms:  the likelihoods
    """

    def __init__(self, terms: Sequence[Any]) -> None:
        terms = _with_common_phases(terms)
        self.terms: tuple[Any, ...] = tuple(terms)
        self.names = tuple(dict.fromkeys(name for term in terms for name in term.names))
        constrained = [name for term in terms for name in term.constraints]
        if len(constrained) > len(set(constrained)):
            name = next(n for n in constrained if constrained.count(n) > 1)
            raise PhysicsError(
                f"{name!r} is constrained in more than one likelihood of a sum", "give the constraint to one of them, or it counts twice"
            )
        _check_yields(terms)
        self.ranks: Ranks = terms[0].ranks if terms else ONE
        self._index = [np.array([self.names.index(name) for name in term.names], dtype=np.int64) for term in terms]

    def __repr__(self) -> str:
        return "\n".join([f"LikelihoodSum: {self._words()}", *(f"  {term!r}" for term in self.terms)])

    def _repr_html_(self) -> str:
        """For notebooks: the likelihoods, and the free parameters with where they start and whose they are."""
        whose = {name: [k for k, term in enumerate(self.terms, 1) if name in term.names] for name in self.names}
        everywhere = list(range(1, len(self.terms) + 1))
        rows = [
            (name, f"{value:.6g}", "all" if whose[name] == everywhere else ", ".join(map(str, whose[name])))
            for name, value in zip(self.names, self.start.tolist(), strict=True)
        ]
        terms = element("ol", (element("li", repr(term)) for term in self.terms))
        table = simple_table(("free parameter", "start", "of likelihood"), rows)
        return together(element("p", element("strong", self._words())), terms, table).source

    def _words(self) -> str:
        return f"{counted(len(self.terms), 'likelihood')} with {counted(len(self.names), 'free parameter')} together"

    @property
    def start(self) -> np.ndarray:
        """Start values; of a shared parameter the one of the first likelihood."""
        values = dict(pair for term in reversed(self.terms) for pair in zip(term.names, term.start, strict=True))
        return np.array([values[name] for name in self.names])

    def __add__(self, other: Any) -> LikelihoodSum:
        return LikelihoodSum([*self.terms, *(other.terms if isinstance(other, LikelihoodSum) else [other])])

    def value(self, p: Any) -> Any:
        """Sum of the NLLs; an array for a batch [vector, parameter]."""
        return self._evaluate(p, 0)[0]

    def value_and_grad(self, p: Any) -> tuple[Any, np.ndarray]:
        """Sum of the NLLs and its gradient."""
        return self._evaluate(p, 1)[:2]

    def hessian(self, p: Any) -> np.ndarray:
        """Second derivatives of the sum."""
        return self._evaluate(p, 2)[2]

    def value_grad_hessian(self, p: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian of the sum in one go; arrays for a batch [vector, parameter]."""
        return self._evaluate(p, 2)

    def _evaluate(self, p: Any, order: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """With one sum over all ranks for all terms."""
        x = checked_vector(p, len(self.names))
        tasks = [term.task(x[..., index], order) for term, index in zip(self.terms, self._index, strict=True)]
        device = self.terms[0].engine.device if self.terms else CPU
        value, grad, H = np.zeros(x.shape[:-1]), np.zeros_like(x), np.zeros((*x.shape, x.shape[-1]) if order == 2 else 0)
        results = run_together(self.ranks, tasks, x.tobytes(), device)
        for (own_value, own_grad, own_H), index in zip(results, self._index, strict=True):
            value = value + own_value
            if order >= 1:
                grad[..., index] += own_grad
            if order >= 2:
                H[..., index[:, None], index[None, :]] += own_H
        return value, grad, H

    def fixed(self, values: Mapping[str, float]) -> LikelihoodSum:
        """The same with some of the free parameters fixed, see ``Likelihood.fixed``."""
        for name in values:
            if name not in self.names:
                raise PhysicsError(f"{name!r} cannot be fixed: it is not a free parameter", suggest(name, self.names))
        return LikelihoodSum([term.fixed({name: v for name, v in values.items() if name in term.names}) for term in self.terms])

    # what a fit needs besides

    @property
    def bounds(self) -> np.ndarray:
        """Limits of the free parameters, [parameter, 2]; of a shared one the narrowest."""
        limits = np.tile([-np.inf, np.inf], (len(self.names), 1))
        for term, index in zip(self.terms, self._index, strict=True):
            limits[index, 0] = np.maximum(limits[index, 0], term.bounds[:, 0])
            limits[index, 1] = np.minimum(limits[index, 1], term.bounds[:, 1])
        return limits

    @property
    def precision(self) -> str:
        """``mixed`` if any of the likelihoods is."""
        return MIXED if any(term.precision == MIXED for term in self.terms) else DOUBLE

    def in_double(self) -> LikelihoodSum:
        """The same sum in double precision, see ``Likelihood.in_double``."""
        return LikelihoodSum([term.in_double() for term in self.terms])

    @property
    def rounding(self) -> float:
        """Differences of the NLL that are lost in rounding."""
        return sum(term.rounding for term in self.terms)

    @property
    def weighted(self) -> bool:
        """Whether any term has weights other than 1 or background."""
        return any(term.weighted for term in self.terms)

    @property
    def n_events(self) -> int:
        """Measured events of all data sets."""
        return sum(term.n_events for term in self.terms)

    @property
    def weight(self) -> float:
        """Σ w of data minus background of all data sets."""
        return sum(term.weight for term in self.terms)

    @property
    def weight_variance(self) -> float:
        """Σ w² of all data sets."""
        return sum(term.weight_variance for term in self.terms)

    @property
    def unit(self) -> float:
        """Twice what one standard deviation adds to the sum, see ``Likelihood.unit``."""
        return self.weight_variance / self.weight

    @property
    def coupling_index(self) -> np.ndarray:
        """Which of the free parameters belong to couplings."""
        return np.unique(np.concatenate([index[term.coupling_index] for term, index in zip(self.terms, self._index, strict=True)]))

    def score_products(self, p: Any) -> np.ndarray:
        """How the gradient scatters: the sum over all data sets, which are independent."""
        x = checked_vector(p, len(self.names))
        S = np.zeros((len(x), len(x)))
        for term, index in zip(self.terms, self._index, strict=True):
            S[np.ix_(index, index)] += term.score_products(x[index])
        return S

    def simulation_scatter(self, p: Any) -> SimulationScatter:
        """How the gradient scatters because phase-space samples are finite: the sum over all data sets, whose samples are independent."""
        x = checked_vector(p, len(self.names))
        S, sizes, influences = np.zeros((len(x), len(x))), [], []
        for term, index in zip(self.terms, self._index, strict=True):
            own = term.simulation_scatter(x[index])
            S[np.ix_(index, index)] += own.products
            sizes += own.sizes
            influences += own.influences
        return SimulationScatter(S, tuple(sizes), tuple(influences))

    def coarse(self, p: Any, n_events: int, seed: int = 0) -> LikelihoodSum:
        """A quick likelihood for the search of starts, see ``Likelihood.coarse``."""
        x = checked_vector(p, len(self.names))
        share = n_events / max(self.n_events, 1)
        parts = zip(self.terms, self._index, strict=True)
        return LikelihoodSum([term.coarse(x[index], round(share * term.n_events), seed + i) for i, (term, index) in enumerate(parts)])

    def random_couplings(self, p: Any, n: int, seed: int = 0) -> np.ndarray:
        """Points with random couplings, see ``Likelihood.random_couplings``; of a shared one those of the first likelihood."""
        x = checked_vector(p, len(self.names))
        result = np.tile(x, (n, 1))
        for i, (term, index) in reversed(list(enumerate(zip(self.terms, self._index, strict=True)))):
            result[:, index] = term.random_couplings(x[index], n, seed + i)
        return result

    def part(self, term: int, x: np.ndarray) -> np.ndarray:
        """The free parameters of one of the likelihoods."""
        return x[self._index[term]]
