"""Couplings as the part of the amplitude that they make: coordinates in which a posterior is nearly normal where lineshapes float.

    ψ = Σ_k A_k(θ) ζ_k        of the waves whose lineshapes float, ζ_k their couplings
    a = W(θ) ζ                W(θ) = Qᴴ A(θ),  A(θ₀) = Q R at the minimum,  Qᴴ Q = 1

over some events of phase space. Data determine ψ, not ζ: two resonances with the same quantum numbers and nearly the same pole make the
same ψ with couplings as large as one likes, ζ ∝ 1/(difference of the poles). In ζ that is a valley that becomes ever longer and thinner;
a hardly changes along it. A density that is flat in ζ cannot even be normalised there, as dζ = da/|det W|²; so it is flat in a.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from ctpwa.base.turns import in_turn
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.samples.build import CallbackValues
from ctpwa.engine.samples.own_events import SampleInput, own_share
from ctpwa.engine.samples.sample import Sample
from ctpwa.model.parameter import CARTESIAN, Parameter
from ctpwa.model.parameters import Parameters

EVENTS = 1000  # of phase space; any few will do, as a is only a coordinate
DEPENDENT = 1e-8  # smallest singular value of A(θ₀), columns of length 1: less, and waves are the same


@dataclass(frozen=True)
class ProjectedPoint:
    """A point.

    Attributes:
        x:       the free parameters
        W:       [wave, wave]
        slopes:  ∂W/∂x ζ [wave, parameter]
        turn:    e^{i phase} of polar ζ, 1 of cartesian ones [wave]
        size:    |ζ| of polar ζ, 1 of cartesian ones [wave]
    """

    x: np.ndarray
    W: np.ndarray
    slopes: np.ndarray
    turn: np.ndarray
    size: np.ndarray


class WaveProjections:
    """The map between free parameters x and y, in which Re a and Im a stand where the two parameters of ζ do.

    Args:
        likelihood:  whose waves
        names:       of all free parameters: of a sum of likelihoods there are more
        sample:      events that ψ is compared over
        numbers:     which complex numbers of its parameters are ζ
        x:           where the waves are those that ψ is projected on, [parameter]

    Attributes:
        places:       the two parameters of every ζ, among all of them
        independent:  whether the waves differ over the sample; the map exists only then
    """

    def __init__(self, likelihood: Likelihood, names: Sequence[str], sample: Sample, numbers: Sequence[int], x: np.ndarray) -> None:
        self._likelihood, self._sample = likelihood, sample
        parameters, self._own = likelihood.parameters, np.array([list(names).index(name) for name in likelihood.names])
        pairs = [[parameters.all[2 * k + part].name for part in (0, 1)] for k in numbers]
        self.places = np.array([[list(names).index(name) for name in pair] for pair in pairs])  # [wave, 2], among all parameters
        self._cartesian = np.array([parameters.representation_of(parameters.numbers[k]) == CARTESIAN for k in numbers])
        self._F = np.array([[own.factor if own.numbers == (k,) else 0.0 for k in numbers] for own in parameters.couplings], dtype=complex)
        self._root = np.sqrt(np.abs(sample.w.cpu().numpy()))
        columns = self._columns(x).T
        A = columns[:, : len(self._members)] @ self._F[self._members]
        size = np.linalg.norm(A, axis=0)
        enough = len(A) >= len(size) and bool((size > 0).all())
        self.independent = enough and bool(np.linalg.svd(A / size, compute_uv=False)[-1] > DEPENDENT)
        self._Q = np.linalg.qr(A)[0].conj().T

    @property
    def _members(self) -> np.ndarray:
        return self._likelihood.amplitude.integrator.coupling

    def to_projections(self, x: np.ndarray) -> np.ndarray:
        """Y of free parameters."""
        y, (re, im) = x.copy(), self.places.T
        W, _ = self._projected(x)
        a = W @ self._numbers(x)
        y[re], y[im] = a.real, a.imag
        return y

    def from_projections(self, y: np.ndarray) -> ProjectedPoint:
        """The free parameters, and what ``pulled`` needs."""
        x, (first, second) = y.copy(), self.places.T
        W, over = self._projected(y)  # they do not depend on couplings
        zeta = np.linalg.solve(W, y[first] + 1j * y[second])
        size = np.where(self._cartesian, 1.0, np.abs(zeta))
        x[first] = np.where(self._cartesian, zeta.real, size)
        x[second] = np.where(self._cartesian, zeta.imag, np.angle(zeta))
        return ProjectedPoint(x, W, self._slopes(y, over, zeta), np.where(self._cartesian, 1.0, zeta / size), size)

    def pulled(self, at: ProjectedPoint, g: np.ndarray) -> np.ndarray:
        """The gradient over y of a function with gradient g over x: ∂ζ = W⁻¹ (∂a − ∂W ζ)."""
        first, second = self.places.T
        G = np.linalg.solve(at.W.conj().T, at.turn * (g[first] + 1j * g[second] / at.size))
        result = g.copy()
        result[first], result[second] = G.real, G.imag
        return result - (G.conj() @ at.slopes).real

    def _numbers(self, x: np.ndarray) -> np.ndarray:
        """ζ."""
        first, second = x[self.places.T]
        return np.where(self._cartesian, first + 1j * second, first * np.exp(1j * second))

    def _projected(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W, and Qᴴ ∂A/∂p of the numbers p of single waves that float."""
        found, n = self._Q @ self._columns(x).T, len(self._members)
        return found[:, :n] @ self._F[self._members], found[:, n:]

    def _slopes(self, x: np.ndarray, over: np.ndarray, zeta: np.ndarray) -> np.ndarray:
        likelihood, integrator = self._likelihood, self._likelihood.amplitude.integrator
        own = x[self._own]
        theta = likelihood.parameters.native(own)[1][likelihood.floating_order]
        dp = likelihood.plan.iteration.jacobian(theta)[integrator.source]
        c = (self._F @ zeta)[self._members][integrator.owner]
        J = likelihood.parameters.jacobian(own)[2 * likelihood.plan.n_couplings :][likelihood.floating_order]
        result = np.zeros((len(over), len(x)), dtype=complex)
        result[:, self._own] = (over * c) @ dp @ J
        return result

    @in_turn
    def _columns(self, x: np.ndarray) -> np.ndarray:
        """√w A and √w ∂A/∂p [member or number, row · event]."""
        likelihood, integrator = self._likelihood, self._likelihood.amplitude.integrator
        theta = likelihood.parameters.native(x[self._own])[1][likelihood.floating_order]
        CallbackValues(likelihood.plan, theta, likelihood.engine.device)(self._sample, 1)
        found, numbers = [], integrator.own_numbers(theta)
        integrator.engine.set_numbers(np.ones(len(self._members), dtype=complex), numbers)
        for start, stop, piece in integrator.engine.raw_columns(self._sample, numbers, 0):
            values = piece.cpu().numpy().reshape(2, len(piece) // 2, -1, stop - start) * self._root[start:stop]
            found.append((values[0] + 1j * values[1]).reshape(len(piece) // 2, -1))
        return np.concatenate(found, axis=1)


def wave_projections(likelihood: Likelihood, names: Sequence[str], x: np.ndarray, phase_space: SampleInput) -> WaveProjections | None:
    """The map of a likelihood; None if no lineshape floats, or if couplings are no free complex numbers of their own.

    Args:
        likelihood:   whose waves
        names:        of all free parameters
        x:            they at the minimum
        phase_space:  events, of which some are used
    """
    if not len(likelihood.floating_order):
        return None
    integrator, parameters = likelihood.amplitude.integrator, likelihood.parameters
    if parameters.feeds is not None or any(len(own.numbers) != 1 or own.asymmetry for own in parameters.couplings):
        return None
    moving = {parameters.couplings[k].numbers[0] for k in integrator.coupling[integrator.owner]}
    numbers = sorted(k for k in moving if _is_free(parameters, k))
    if not numbers:
        return None
    share = own_share("truth", phase_space, likelihood.model, likelihood.ranks)
    preparation = likelihood.resources.preparation
    with closing(preparation.exact_pieces(share, step=max(share.part.count // EVENTS, 1))) as pieces:
        sample = next(pieces)
    preparation.stage.release()
    found = WaveProjections(likelihood, names, sample, numbers, x)
    return found if found.independent else None


def _is_free(parameters: Parameters, k: int) -> bool:
    """Whether both parts of a complex number float, without limits of their own, and nothing follows from them."""
    first, second = parameters.all[2 * k : 2 * k + 2]
    least = -np.inf if parameters.representation_of(parameters.numbers[k]) == CARTESIAN else 0.0
    limited = first.lower > least or bool(np.isfinite([first.upper, second.lower, second.upper]).any())
    return _floats(first, parameters) and _floats(second, parameters) and not limited


def _floats(parameter: Parameter, parameters: Parameters) -> bool:
    return not parameter.fixed and not parameter.formula and parameter.name not in parameters.related
