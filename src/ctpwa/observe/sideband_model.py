"""A density of background that is a model: resonances that do not interfere, and phase space, fitted to sideband events.

    b(x) = Σ_k f_k y_k(x)/⟨y_k⟩,    y = Σ_systems m0² Γ0² / ((m0² − s)² + m0² Γ0²),    y = 1 for phase space

⟨y⟩ is the mean over the phase-space sample, so that f_k is the part of the sideband events that component k has. The fractions maximise
Σ w ln b, which is concave in them: there is one maximum, and nothing to start from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.base.words import counted
from ctpwa.data.density import Density, Flat
from ctpwa.data.events import Events
from ctpwa.data.stream import EventStream, Piece
from ctpwa.decay.chain import Decay
from ctpwa.observe.densities import formula_density

PHASE_SPACE = "phase space"
FEWEST = 50  # phase-space events that count below a peak: its mean is then known to 14 %
MOST_STEPS = 200
SMALL = 1e-10  # what a step may still gain in −ln L
RIDGE = 1e-12  # of the Hessian's diagonal, for components that look alike


@dataclass(frozen=True)
class Peak:
    """A resonance of a background: the sum of its Breit-Wigner intensities in one or more systems of particles.

    Attributes:
        name:         of the resonance
        systems:      the particles that it decays to, such as ``K+ K-``
        mass, width:  GeV
    """

    name: str
    systems: tuple[str, ...]
    mass: float
    width: float

    @property
    def formula(self) -> str:
        """It, in the language of variables, 1 at the top of each peak."""
        m2, height = self.mass**2, (self.mass * self.width) ** 2
        return " + ".join(f"{height!r}/(({m2!r} - mass2({system}))**2 + {height!r})" for system in self.systems)


@dataclass(frozen=True, eq=False)
class SidebandModel:
    """What was fitted to sideband events.

    Attributes:
        names:       of the components: phase space, then resonances
        components:  their densities
        means:       of these over the phase-space sample
        fractions:   of the components
        errors:      their standard deviations; 0 for a fraction that is 0
        n_events:    sideband events
    """

    names: tuple[str, ...]
    components: tuple[Density, ...]
    means: np.ndarray
    fractions: np.ndarray
    errors: np.ndarray
    n_events: int

    def __call__(self, events: Piece) -> Tensor:
        """See ``Density``."""
        total = torch.zeros(events.n_events, dtype=torch.float64, device=events.p4[0].device)
        for component, factor in zip(self.components, self.fractions / self.means, strict=True):
            if factor:
                total += factor * component(events)
        return total

    def __str__(self) -> str:
        values = zip(self.names, self.fractions, self.errors, strict=True)
        return ", ".join(f"{name} {100 * value:.1f} ± {100 * error:.1f} %" if value else f"{name} 0 %" for name, value, error in values)


def fit_sideband(
    sideband: Events, phase_space: Events | EventStream, peaks: Sequence[Peak], decay: Decay, what: str, ranks: Ranks = ONE
) -> SidebandModel:
    """Fit resonances that do not interfere, and phase space, to sideband events.

    Args:
        sideband:     events that look like the background; with several ranks the part of this one
        phase_space:  events of the normalisation, likewise
        peaks:        the resonances
        decay:        whose events they are
        what:         which background it is, for messages
        ranks:        processes that share the events

    Raises:
        DataError: if there are no sideband events, if they count negatively, or if too few phase-space events are below a peak
    """
    names = (PHASE_SPACE, *(peak.name for peak in peaks))
    components: tuple[Density, ...] = (Flat(), *(formula_density(peak.formula, decay) for peak in peaks))
    means = _means(names, components, phase_space, decay, what, ranks)
    w = np.ones(sideband.n_events) if sideband.weights is None else sideband.weights.cpu().numpy()
    sums = ranks.sum(3, lambda: np.array([float(len(w)), w.sum(), np.count_nonzero(w < 0)]), b"sideband events")
    if not (sums[0] and sums[1] > 0):
        raise DataError(f"{what}: there are no sideband events to fit\n fix: check the files and the weights of the sideband")
    if sums[2]:
        raise DataError(
            f"{what}: {counted(int(sums[2]), 'sideband event has', 'sideband events have')} negative weights\n"
            " fix: give sideband events that count positively"
        )
    u = np.stack([values.cpu().numpy() for values in _values(components, sideband, decay)]) / means[:, None]
    fractions, errors = fit_fractions(u, w, ranks)
    return SidebandModel(names, components, means, fractions, errors, int(sums[0]))


def fit_fractions(u: np.ndarray, w: np.ndarray, ranks: Ranks = ONE) -> tuple[np.ndarray, np.ndarray]:
    """The fractions f ≥ 0, Σ f = 1, that maximise Σ w ln Σ_k f_k u_k, and their standard deviations.

    Σ w Σ f stands in for the condition: at the minimum of −Σ w ln f·u + Σ w Σ f it holds by itself. Newton's steps end at the minimum
    of the parabola where no fraction is negative.

    Args:
        u:      normalised densities, [component, event]
        w:      weights of the events
        ranks:  processes that share the events
    """
    n = len(u)

    def expand(f: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """−Σ w ln f·u, its gradient and Hessian, and the scatter of the gradient."""

        def local() -> np.ndarray:
            p = f @ u
            with np.errstate(divide="ignore", invalid="ignore"):
                d = u / p
                value = -(w @ np.log(p))
            return np.concatenate([[value, w.sum()], -(d @ w), ((d * w) @ d.T).ravel(), ((d * w**2) @ d.T).ravel()])

        found = ranks.sum(2 + n + 2 * n * n, local, b"sideband fractions")
        value, W, g = found[0], found[1], found[2 : 2 + n]
        H, S = found[2 + n :].reshape(2, n, n)
        return float(value + W * f.sum()), g + W, H, S

    f = np.full(n, 1 / n)
    value, g, H, S = expand(f)
    for _ in range(MOST_STEPS):
        step = _bounded_minimum(f, g, H) - f
        if not -(g @ step) > SMALL:
            break
        length = 1.0
        while length > SMALL:
            trial = np.clip(f + length * step, 0, None)
            found = expand(trial)
            if found[0] < value:
                break
            length /= 2
        else:
            break
        f, (value, g, H, S) = trial, found
    f = f / f.sum()
    return f, _errors(f, H, S)


def _bounded_minimum(f: np.ndarray, g: np.ndarray, H: np.ndarray) -> np.ndarray:
    """The minimum of g·(x − f) + (x − f)·H(x − f)/2 over x ≥ 0: with H = AᵀA it is that of |A x − b|², Aᵀb = H f − g."""
    A = np.linalg.cholesky(H + RIDGE * np.trace(H) * np.eye(len(f))).T
    from scipy.optimize import nnls

    return nnls(A, np.linalg.solve(A.T, H @ f - g))[0]


def _errors(f: np.ndarray, H: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Standard deviations of the fractions that are not 0, from the scatter of the gradient, with Σ f = 1."""
    free = f > 0
    inverse = np.linalg.pinv(H[np.ix_(free, free)], hermitian=True)
    projected = (np.eye(int(free.sum())) - np.outer(f[free], np.ones(int(free.sum())))) @ inverse
    errors = np.zeros(len(f))
    errors[free] = np.sqrt(np.diag(projected @ S[np.ix_(free, free)] @ projected.T).clip(0))
    return errors


def _means(
    names: Sequence[str], components: Sequence[Density], phase_space: Events | EventStream, decay: Decay, what: str, ranks: Ranks
) -> np.ndarray:
    """The mean of every component over the phase-space sample."""

    def local() -> np.ndarray:
        sums = np.zeros((3, len(components)))  # Σ v y, Σ v² y², Σ v
        for events in [phase_space] if isinstance(phase_space, Events) else phase_space.pieces():
            v = torch.ones(events.n_events, dtype=torch.float64) if events.weights is None else events.weights.cpu()
            y = torch.stack([values.cpu() for values in _values(components, events, decay)])
            sums += torch.stack([y @ v, y.square() @ v.square(), v.sum().expand(len(y))]).numpy()
        return sums.ravel()

    first, second, weight = ranks.sum(3 * len(components), local, b"sideband model").reshape(3, -1)
    for name, one, two in zip(names, first, second, strict=True):
        count = one**2 / two if one > 0 and two > 0 else 0.0
        if count < FEWEST:
            raise DataError(
                f"{what}: only {count:.0f} phase-space events count below {name}\n"
                " fix: use more phase space, or give the resonance the width that it has with the resolution of the detector"
            )
    return first / weight


def _values(components: Sequence[Density], events: Events, decay: Decay) -> list[Tensor]:
    piece = Piece([events[label] for label in decay.labels])
    return [component(piece) for component in components]
