"""Quantities that follow from the free parameters of a fit, with exact gradients: fractions, phases, derived parameters, poles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ctpwa.base.errors import PhysicsError
from ctpwa.engine.likelihood.integrals import WaveIntegrals
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.fitting.fittable import Fittable
from ctpwa.fitting.fractions import FractionCalculator
from ctpwa.observables.poles import moving_pole

STEP = 1e-3  # standard deviations: of differences of gradients
KEPT = 4  # integrals at so many points are kept


def _index(likelihood: Fittable, term: Likelihood) -> np.ndarray:
    """Where the parameters of one data set are among all of them."""
    return np.array([likelihood.names.index(name) for name in term.names], dtype=np.int64)


class FreeParameter:
    """One of the free parameters.

    Args:
        index:  its number
        n:      how many there are
    """

    period = None

    def __init__(self, index: int, n: int) -> None:
        self.index, self._n = index, n

    def at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Its value and gradient."""
        return float(x[self.index]), np.eye(self._n)[self.index]

    def second(self, x: np.ndarray) -> np.ndarray:
        """Its Hessian, which is 0."""
        return np.zeros((self._n, self._n))


class _OfTerm(ABC):
    """A quantity of the parameters of one data set; its Hessian is made of differences of exact gradients.

    Args:
        likelihood:  of all data sets
        term:        of this one
        steps:       standard deviations of all free parameters, roughly
    """

    period: float | None = None

    def __init__(self, likelihood: Fittable, term: Likelihood, steps: np.ndarray) -> None:
        self.term, self._own = term, _index(likelihood, term)
        self._steps, self._n = STEP * steps[self._own], len(likelihood.names)

    @abstractmethod
    def _at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Its value and gradient, of the parameters of this data set."""

    def _second(self, x: np.ndarray) -> np.ndarray:
        return self._differences(x, range(len(x)))

    def at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Its value and gradient."""
        value, own = self._at(x[self._own])
        slope = np.zeros(self._n)
        slope[self._own] = own
        return value, slope

    def second(self, x: np.ndarray) -> np.ndarray:
        """Its Hessian."""
        H, own = np.zeros((self._n, self._n)), self._second(x[self._own])
        H[np.ix_(self._own, self._own)] = (own + own.T) / 2
        return H

    def _differences(self, x: np.ndarray, rows: Sequence[int]) -> np.ndarray:
        """Some rows of the Hessian; the others are 0."""
        H = np.zeros((len(x), len(x)))
        for i in rows:
            step = np.zeros(len(x))
            step[i] = self._steps[i]
            H[i] = (self._at(x + step)[1] - self._at(x - step)[1]) / (2 * self._steps[i])
        return H


class DerivedQuantity(_OfTerm):
    """A parameter that is a formula of free ones.

    Args:
        likelihood, term, steps:  as above
        name:                     of the parameter
    """

    def __init__(self, likelihood: Fittable, term: Likelihood, steps: np.ndarray, name: str) -> None:
        super().__init__(likelihood, term, steps)
        self._place = [p.name for p in term.parameters.all].index(name)

    def _at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        own = self.term.parameters
        return float(own.full(x)[self._place]), own.slopes(x)[self._place]


class PhaseDifference(_OfTerm):
    """arg c_A − arg c_B of two couplings without asymmetries, in radians: ∂arg c = Im(∂c/c).

    Args:
        likelihood, term, steps:  as above
        names:                    of the couplings
    """

    period = 2 * np.pi

    def __init__(self, likelihood: Fittable, term: Likelihood, steps: np.ndarray, names: tuple[str, str]) -> None:
        super().__init__(likelihood, term, steps)
        self._places = [term.coupling_names.index(name) for name in names]

    def _at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        bare, n = self.term.parameters.bare, len(self.term.coupling_names)
        c, _ = bare.native(x)
        J = bare.jacobian(x)
        (a, da), (b, db) = ((c[k], J[k] + 1j * J[n + k]) for k in self._places)
        return float(np.angle(a * np.conj(b))), (da / a - db / b).imag


class Fraction(_OfTerm):
    """The fraction of some waves.

    Integrals are the same while lineshapes stand still, so that of its Hessian only the part of lineshape parameters alone takes passes
    over the events; that part is the one at the fit, wherever it is asked for: points must not depend on those before them.

    Args:
        likelihood, term, steps:  as above
        fitted:                   the free parameters at the fit
        waves:                    numbers of the waves
        truth:                    events to integrate over instead of the phase-space sample
    """

    def __init__(
        self, likelihood: Fittable, term: Likelihood, steps: np.ndarray, fitted: np.ndarray, waves: Sequence[int], truth: Any = None
    ) -> None:
        super().__init__(likelihood, term, steps)
        self._fitted, self._waves, self._truth = fitted[self._own], list(waves), truth
        self._kept: dict[bytes, WaveIntegrals] = {}

    @cached_property
    def _of_lineshapes(self) -> np.ndarray:
        """The Hessian of lineshape parameters at the fit; 0 for couplings."""
        return self._differences(self._fitted, np.setdiff1d(np.arange(len(self._fitted)), self.term.coupling_index).tolist())

    def _at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        key = self.term.parameters.native(x)[1][self.term.floating_order].tobytes()
        if key not in self._kept:
            if len(self._kept) == KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = self.term.integrals(x, self._truth)
        values, slopes = FractionCalculator(self.term, x, integrals=self._kept[key]).values_and_slopes({"": self._waves})
        return float(values[0]), slopes[0]

    def _second(self, x: np.ndarray) -> np.ndarray:
        couplings = self.term.coupling_index
        rest = np.setdiff1d(np.arange(len(x)), couplings)
        H = self._differences(x, couplings.tolist())
        H[np.ix_(rest, couplings)] = H[np.ix_(couplings, rest)].T
        H[np.ix_(rest, rest)] = self._of_lineshapes[np.ix_(rest, rest)]
        return H


class PolePart(_OfTerm):
    """Mass or width of a pole, √s_p = mass − i width/2, in GeV.

    Args:
        likelihood, term, steps:  as above
        resonance:                its name
        part:                     ``mass`` or ``width``
    """

    def __init__(self, likelihood: Fittable, term: Likelihood, steps: np.ndarray, resonance: str, part: str) -> None:
        super().__init__(likelihood, term, steps)
        self._pole, self._is_mass, self._resonance = moving_pole(term.model, resonance), part == "mass", resonance

    def _at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        own = self.term.parameters
        theta = dict(zip(own.theta_names, own.native(x)[1].tolist(), strict=True))
        w, slopes = self._pole(theta)
        over_x = own.jacobian(x)[2 * self.term.plan.n_couplings :]
        slope = np.zeros(len(x), dtype=complex)
        for name, own_slope in slopes.items():
            slope += own_slope * over_x[own.theta_names.index(name)]
        if not np.abs(slope).any():
            raise PhysicsError(f"the pole of {self._resonance!r} does not move", "let parameters of its lineshape float")
        return (w.real, slope.real) if self._is_mass else (-2 * w.imag, -2 * slope.imag)
