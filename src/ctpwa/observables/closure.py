"""Closure: toys of a model are fitted back, and what comes out is compared with what went in.

Every toy is an experiment of its own, with its own data and its own phase-space sample. That sample is finite, which moves the fitted
parameters; errors of a fit count it (``engine/likelihood/simulation.py``), so that pulls have width 1 for any size of the sample. For a
flat intensity it adds C N_data/N_phsp to the covariance C, and the more the peaks of I stand out of a flat phase space, the more. One
sample shared by all toys would shift all of them together.

Fractions are integrals over one large reference sample, the same for the truth and for all toys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.intensity import ModelIntensity
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.values import free_parameters
from ctpwa.fitting.fit import fit
from ctpwa.fitting.fractions import FractionCalculator, wave_groups
from ctpwa.fitting.result import FitResult
from ctpwa.generate.phase_space import generate_phase_space
from ctpwa.generate.toys import USUAL, ToyGenerator, ToySettings
from ctpwa.minimise.verdict import SMALL_EDM
from ctpwa.model.model import Model
from ctpwa.observables.tails import chi2_tail

DATA, PHASE_SPACE, REFERENCE = range(3)  # streams of random numbers


@dataclass(frozen=True)
class ToyFit:
    """A toy that was fitted back.

    Attributes:
        number:           which toy
        result:           what the fit found
        fractions:        of the resonances, over the reference sample
        fraction_errors:  their standard deviations
        chi2:             (x − truth)ᵀ covariance⁻¹ (x − truth); infinite if it did not end in a minimum
        likelihood_ratio: 2 ln(L / L at the truth), which needs no parabola to be a χ²
    """

    number: int
    result: FitResult
    fractions: np.ndarray
    fraction_errors: np.ndarray
    chi2: float
    likelihood_ratio: float

    @property
    def p_value(self) -> float:
        """Probability of a larger χ²."""
        return chi2_tail(self.chi2, len(self.result.parameters))

    @property
    def ratio_p_value(self) -> float:
        """Probability of a larger likelihood ratio.

        The finite phase-space sample makes it Σ λ χ²(1), with λ the eigenvalues of the covariance in units of that of the measured
        events alone; a scaled χ² with the same mean and variance stands for it.
        """
        if not np.isfinite(self.chi2):
            return 0.0
        scale = eigh(self.result.covariance, self.result.statistical_covariance, eigvals_only=True)
        mean, variance = float(scale.sum()), 2 * float((scale**2).sum())
        return chi2_tail(self.likelihood_ratio * 2 * mean / variance, 2 * mean**2 / variance)

    @property
    def values(self) -> np.ndarray:
        """Free parameters, then fractions."""
        return np.concatenate([self.result.x, self.fractions])

    @property
    def errors(self) -> np.ndarray:
        """Standard deviations of ``values``."""
        return np.concatenate([np.sqrt(np.diag(self.result.covariance)), self.fraction_errors])


class Closure:
    """Makes toys of a model, with its own couplings and lineshape parameters as the truth, and fits them back.

    Args:
        model:          the model
        n_events:       measured events of a toy
        n_phase_space:  phase-space events of a toy
        n_reference:    phase-space events that fractions are integrated over
        seed:           of all random numbers
        engine:         engine of the likelihoods
        toys:           how toys are generated
    """

    def __init__(
        self,
        model: Model,
        n_events: int,
        n_phase_space: int,
        *,
        n_reference: int = 100_000,
        seed: int = 0,
        engine: str = "auto",
        toys: ToySettings = USUAL,
    ) -> None:
        self.model, self.n_events, self.n_phase_space = model, n_events, n_phase_space
        self.seed, self.engine, self.toys = seed, engine, toys
        true = ModelIntensity(model, engine=engine, device="cpu")
        phase_space = generate_phase_space(model, n_reference, self._seed(REFERENCE, 0), progress=False)
        self.reference = build_likelihood(model, phase_space, phase_space, engine=engine)
        self.truth = free_parameters(self.reference, true.couplings, true.parameters)
        self._groups = wave_groups(model)["resonances"]
        self.true_fractions, _ = self._fractions(self.truth, np.zeros((len(self.truth),) * 2))

    @cached_property
    def generator(self) -> ToyGenerator:
        """Makes the toys."""
        return ToyGenerator(self.model, engine=self.engine, settings=self.toys)

    @property
    def names(self) -> tuple[str, ...]:
        """Free parameters, then resonances, whose fractions are meant."""
        return (*self.reference.names, *self._groups)

    @property
    def true_values(self) -> np.ndarray:
        """What the numbers in ``names`` should be."""
        return np.concatenate([self.truth, self.true_fractions])

    def likelihood(self, number: int) -> Likelihood:
        """The likelihood of a toy."""
        data = self.generator.generate(self.n_events, self._seed(DATA, number), progress=False).events
        phase_space = generate_phase_space(self.model, self.n_phase_space, self._seed(PHASE_SPACE, number), progress=False)
        return build_likelihood(self.model, data, phase_space, engine=self.engine, progress=False)

    def run(self, number: int, *, random_starts: int = 0, minos: Sequence[str] = ()) -> ToyFit:
        """Generate a toy and fit it back.

        Args:
            number:         which toy; the same number gives the same toy
            random_starts:  start from this many points with random couplings; 0: start from the truth
            minos:          parameters that get asymmetric errors
        """
        likelihood = self.likelihood(number)
        starts = likelihood.random_couplings(self.truth, random_starts, self.seed) if random_starts else self.truth
        return self.compare(fit(likelihood, starts, minos=minos, progress=False), float(likelihood.value(self.truth)), number)

    def compare(self, result: FitResult, nll_at_truth: float, number: int = 0) -> ToyFit:
        """Compare the fit of a toy with the truth.

        Args:
            result:        of the fit
            nll_at_truth:  −ln L of the toy at the truth
            number:        which toy it was
        """
        fractions, errors = self._fractions(result.x, result.covariance)
        off = result.x - self.truth
        verdict = result.verdict
        known = verdict.edm <= SMALL_EDM and not (verdict.flat or verdict.negative or verdict.at_limits)
        distance = float(off @ np.linalg.solve(result.covariance, off)) if known else np.inf
        return ToyFit(number, result, fractions, errors, distance, 2 * (nll_at_truth - result.nll))

    def _fractions(self, x: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = FractionCalculator(self.reference, x).fractions(self._groups, covariance)
        return found.values, found.errors

    def _seed(self, stream: int, number: int) -> int:
        """Seeds of different streams and toys are independent."""
        return int(np.random.SeedSequence([self.seed, stream, number]).generate_state(1, np.uint32)[0])
