"""Spin density matrix elements of a vector meson that polarised photons made: from amplitudes, and directly from events.

    W = 3/4π { w⁰ − P cos 2Φ w¹ − P sin 2Φ w² + P_C w³ }                                                                      (F13)
    w⁰ = ½(1 − ρ⁰₀₀) + ½(3ρ⁰₀₀ − 1) cos²θ − √2 Re ρ⁰₁₀ sin 2θ cos φ − ρ⁰₁₋₁ sin²θ cos 2φ
    w¹ = ρ¹₁₁ sin²θ + ρ¹₀₀ cos²θ − √2 Re ρ¹₁₀ sin 2θ cos φ − ρ¹₁₋₁ sin²θ cos 2φ
    w² = √2 Im ρ²₁₀ sin 2θ sin φ + Im ρ²₁₋₁ sin²θ sin 2φ,     w³: the same with ρ³

θ and φ are those of one of two pseudoscalars, or of the normal p₊ × p₋ of ω → π⁺π⁻π⁰.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ctpwa.base.errors import PhysicsError
from ctpwa.data.events import Events
from ctpwa.engine.plan.channels import model_channels
from ctpwa.fitting.native_values import fitted_couplings
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.text import Section, with_error
from ctpwa.model.model import Model
from ctpwa.observables.correlated import CorrelatedNumbers
from ctpwa.observables.linear_density import LIKELIHOOD, LinearSample, fit_linear
from ctpwa.observables.photon_density import QuadraticForms, photon_states, quadratic
from ctpwa.observables.produced_angles import ProducedAngles, produced_angles
from ctpwa.observables.projections import event_weights

ROOT2 = np.sqrt(2.0)
# name → α, (m, m'), part
ELEMENTS: dict[str, tuple[int, tuple[int, int], str]] = {
    "rho0_00": (0, (0, 0), "re"),
    "Re rho0_10": (0, (1, 0), "re"),
    "rho0_1-1": (0, (1, -1), "re"),
    "rho1_11": (1, (1, 1), "re"),
    "rho1_00": (1, (0, 0), "re"),
    "Re rho1_10": (1, (1, 0), "re"),
    "rho1_1-1": (1, (1, -1), "re"),
    "Im rho2_10": (2, (1, 0), "im"),
    "Im rho2_1-1": (2, (1, -1), "im"),
    "Im rho3_10": (3, (1, 0), "im"),
    "Im rho3_1-1": (3, (1, -1), "im"),
}
N_LINEAR = 9  # of them are measured with linear polarisation, all with elliptical


@dataclass(frozen=True, eq=False)
class SpinDensity(CorrelatedNumbers[str]):
    """Elements of the spin density matrix of a vector meson, with their covariance.

    Attributes:
        names:   ``rho0_00``, ``Re rho0_10``, …
        origin:  ``amplitudes``, ``likelihood`` or ``sums``
    """

    def W(self, angles: ProducedAngles) -> np.ndarray:
        """The angular distribution, whose integral over Ω and mean over Φ is 1."""
        return np.concatenate([np.ones(1), self.values]) @ _functions(angles)[: 1 + len(self.names)]

    @property
    def naturality(self) -> tuple[float, float]:
        """(σ_N − σ_U)/(σ_N + σ_U) = 2ρ¹₁₋₁ − ρ¹₀₀, and its standard deviation."""
        g = np.zeros(len(self.names))
        g[self.names.index("rho1_1-1")], g[self.names.index("rho1_00")] = 2.0, -1.0
        return float(g @ self.values), float(np.sqrt(max(g @ self.covariance @ g, 0.0)))

    def section(self) -> Section:
        """As a table."""
        rows = [(name, with_error(*self[name])) for name in self.names]
        rows.append(("(σN − σU)/(σN + σU)", with_error(*self.naturality)))
        return Section(self.titled("spin density matrix of 1⁻"), ("element", "value"), tuple(rows))


def spin_density(result: FitResult, model: Model) -> SpinDensity:
    """The spin density matrix of the waves 1⁻ of a fit, with errors from the covariance of its couplings.

    Args:
        result:  of a fit of photoproduction
        model:   what was fitted

    Raises:
        PhysicsError: if there are no such waves, or some of their states have several waves
    """
    names, c, C = fitted_couplings(result, model, model_channels(model))
    return spin_density_of(model, names, c, C)


def spin_density_of(model: Model, names: tuple[str, ...], c: np.ndarray, covariance: np.ndarray) -> SpinDensity:
    """The same of given couplings.

    Args:
        model:       of photoproduction
        names:       of the couplings
        c:           their values
        covariance:  of all real, then all imaginary parts
    """
    states = photon_states(model)
    vector = [k for k, name in enumerate(names) if _is_vector(model, name)]
    if not vector:
        raise PhysicsError("there is no wave 1-", "density matrices of vector mesons need one")
    own = [states[names[k]] for k in vector]
    if len({state.lineshapes for state in own}) > 1:
        raise PhysicsError("the waves 1- have different lineshapes: their density matrix changes with the mass", "fit bins of the mass")
    forms, n = QuadraticForms.of(own), len(names)
    z = c[vector]
    norm, d_norm = float((np.abs(z) ** 2).sum()), 2 * np.concatenate([z.real, z.imag])
    elliptical = model.production.rows(model.decay).real is False
    wanted = list(ELEMENTS)[: None if elliptical else N_LINEAR]
    values, slopes = [], []
    for name in wanted:
        alpha, (m, other), part = ELEMENTS[name]
        A = forms.matrix(alpha, {((1, m), (1, other)): 1.0})
        q, dq = quadratic(A if part == "re" else -1j * A, z)
        values.append(q / norm)
        slopes.append(dq / norm - q * d_norm / norm**2)
    index = [*vector, *(n + k for k in vector)]
    J = np.array(slopes)
    return SpinDensity(tuple(wanted), np.array(values), J @ covariance[np.ix_(index, index)] @ J.T, "amplitudes")


def measured_spin_density(
    model: Model,
    data: Events,
    phase_space: Events,
    truth: Events | None = None,
    background: Events | None = None,
    *,
    method: str = LIKELIHOOD,
) -> SpinDensity:
    """The spin density matrix of events, without any amplitude: W is fitted to them, or found by weighted sums.

    Args:
        model:        of photoproduction; says frame and polarisation
        data:         measured events
        phase_space:  simulated events that were accepted, flat in the angles of the decay before
        truth:        all simulated events; default: all were accepted. It changes no element, only how many events there are
        background:   events that are subtracted
        method:       ``likelihood``, or ``sums``, which need no positive density
    """
    samples = [(data, 1.0), *([] if background is None else [(background, -1.0)])]
    measured = [(produced_angles(model, events), sign * event_weights(events)) for events, sign in samples]
    rows = 1 + (N_LINEAR if model.production.rows(model.decay).real else len(ELEMENTS))
    own = LinearSample(np.concatenate([_functions(a)[:rows].T for a, _ in measured]), np.concatenate([w for _, w in measured]))
    accepted = LinearSample(_functions(produced_angles(model, phase_space))[:rows].T, event_weights(phase_space))
    generated = float(event_weights(phase_space if truth is None else truth).sum())
    found = fit_linear(own, accepted, generated, 4 * np.pi, method)
    N, rho = found.values[0], found.values[1:] / found.values[0]
    J = np.column_stack([-rho / N, np.eye(len(rho)) / N])
    return SpinDensity(tuple(list(ELEMENTS)[: rows - 1]), rho, J @ found.covariance @ J.T, method)


def _functions(a: ProducedAngles) -> np.ndarray:
    """What multiplies 1 and every element in W, [1 + element, event]."""
    cos2, sin2 = a.cos_theta**2, 1 - a.cos_theta**2
    sin_2theta = 2 * a.cos_theta * np.sqrt(sin2)
    across, flip = -ROOT2 * sin_2theta * np.cos(a.phi), -sin2 * np.cos(2 * a.phi)
    odd = [ROOT2 * sin_2theta * np.sin(a.phi), sin2 * np.sin(2 * a.phi)]
    one, two = -a.degree * np.cos(2 * a.Phi), -a.degree * np.sin(2 * a.Phi)
    found = [sin2 / 2, (3 * cos2 - 1) / 2, across, flip, *(one * f for f in (sin2, cos2, across, flip))]
    found += [two * f for f in odd] + [a.circular * f for f in odd]
    return 3 / (4 * np.pi) * np.array(found)


def _is_vector(model: Model, coupling: str) -> bool:
    return any(w.coupling == coupling and w.chain.root.particle.two_J == 2 and w.chain.root.particle.P == -1 for w in model.waves)
