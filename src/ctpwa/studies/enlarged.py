"""Models with candidates in them, on the samples of a fit: one likelihood for many, and fits of some of them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.engine.likelihood.values import ModelValues, free_parameters
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.result import FitResult
from ctpwa.studies.baseline import Baseline
from ctpwa.studies.candidates import Candidate, analysis_with, couplings_of, described
from ctpwa.studies.run import StudyRun

SMALL = 0.3  # size of random couplings of a candidate, relative to those at which all waves are about equally strong


@dataclass(frozen=True)
class Enlarged:
    """A likelihood with candidates among its waves.

    Attributes:
        likelihood:  of all data sets, with the waves of all candidates
        names:       the candidates
    """

    likelihood: Fittable
    names: tuple[str, ...]

    def couplings(self, name: str) -> tuple[str, ...]:
        """Couplings of a candidate that it shares with no other one."""
        others = [other for other in self.names if other != name]
        found = [couplings_of(term.model, name, others) for term in terms_of(self.likelihood)]
        return tuple(dict.fromkeys(coupling for own in found for coupling in own))

    def without(self, names: Iterable[str]) -> Fittable:
        """The same without some resonances."""
        left_out = list(names)
        if not left_out:
            return self.likelihood
        terms = [term.without(left_out) for term in terms_of(self.likelihood)]
        return terms[0] if isinstance(self.likelihood, Likelihood) else LikelihoodSum(terms)


class EnlargedModels:
    """Makes likelihoods with candidates, and keeps the latest: usually those of one group at a time are in memory.

    Args:
        study:  the study that they are for
        keep:   how many are kept
    """

    def __init__(self, study: StudyRun, keep: int = 1) -> None:
        self._study, self._keep = study, keep
        self._kept: dict[tuple[str, ...], Enlarged] = {}

    def of(self, candidates: Sequence[Candidate]) -> Enlarged:
        """The likelihood of the model of the study with all of these."""
        key = tuple(own.key for own in candidates)
        if key not in self._kept:
            while len(self._kept) >= self._keep:
                del self._kept[next(iter(self._kept))]
            study, analysis = self._study, self._study.baseline.analysis
            larger = analysis_with(analysis, described(analysis, candidates))
            larger.share_samples(analysis)
            likelihood = larger.likelihood(study.engine, study.device, study.progress)
            self._kept[key] = Enlarged(likelihood, tuple(own.name for own in candidates))
        return self._kept[key]


def fit_enlarged(
    own: Baseline,
    likelihood: Fittable,
    values: ModelValues,
    step: Mapping[str, complex],
    n: int,
    seed: Sequence[int],
    **options: Any,
) -> FitResult:
    """Fit a model with more waves than the one that values belong to.

    Args:
        own:         the fit that a study is of
        likelihood:  of the model with more waves
        values:      couplings and parameters of the smaller one
        step:        new couplings where the first fit starts; without any they are random there as well
        n:           number of starts; from the second on new couplings are random
        seed:        of the random numbers
        options:     of ``ctpwa.fit``
    """
    old = set(values.couplings)
    known = {name for term in terms_of(likelihood) for name in term.coupling_names}
    thetas = {name for term in terms_of(likelihood) for name in term.parameters.theta_names}
    couplings = {name: z for name, z in (dict(values.couplings) | dict(step)).items() if name in known}
    parameters = {name: value for name, value in values.parameters.items() if name in thetas}
    first = _within(likelihood, free_parameters(likelihood, couplings, parameters, strict=False))
    new = _new_parts(likelihood, old)
    random = likelihood.random_couplings(first, n, int(np.random.default_rng(list(seed)).integers(2**31)))
    points = np.tile(first, (n, 1))
    sizes = np.array([1.0 if likelihood.names[k].endswith(".phase") else SMALL for k in new])
    begin = 1 if step else 0
    points[begin:, new] = sizes * random[begin:, new]
    points = _within(likelihood, points)
    return own.refit(likelihood, points[0], **options) if n == 1 else own.refit(likelihood, points=points, **options)


def _new_parts(likelihood: Fittable, old: Collection[str]) -> list[int]:
    """Free parameters that are parts of new couplings alone."""
    shared, every = set(), set()
    for term in terms_of(likelihood):
        for name, product in zip(term.coupling_names, term.parameters.couplings, strict=True):
            numbers = {term.parameters.numbers[k] for k in product.numbers}
            every |= numbers
            if name in old:
                shared |= numbers
    return [k for k, name in enumerate(likelihood.names) if name.rpartition(".")[0] in every - shared]


def _within(likelihood: Fittable, points: np.ndarray) -> np.ndarray:
    lower, upper = likelihood.bounds.T
    return np.clip(points, lower, upper)


def number_of(text: str) -> int:
    """A number that belongs to a text, for seeds."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
