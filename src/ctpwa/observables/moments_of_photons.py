"""Moments H⁰, H¹, H² of two pseudoscalars that polarised photons made: from amplitudes, and directly from events.

    I^α(Ω) = Σ (2L+1)/4π H^α(LM) D^{L*}_{M0}(φ, θ, 0),     I = I⁰ − P cos 2Φ I¹ − P sin 2Φ I²                                   (F13)
    H^α(LM) = Σ √((2l'+1)/(2l+1)) ⟨l' 0; L 0|l 0⟩ ⟨l' m'; L M|l m⟩ ρ^α_{lm,l'm'}

H⁰ and H¹ are real, H² is imaginary; those with M < 0 follow. H⁰(00) is the number of events if couplings are counted in events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ctpwa.base.errors import DataError, PhysicsError
from ctpwa.data.events import Events
from ctpwa.decay.clebsch import clebsch_gordan
from ctpwa.fitting.event_couplings import EventCouplings
from ctpwa.fitting.text import Section, with_error
from ctpwa.model.model import Model
from ctpwa.observables.correlated import CorrelatedNumbers
from ctpwa.observables.linear_density import SUMS, LinearSample, fit_linear
from ctpwa.observables.moments import spherical_harmonic
from ctpwa.observables.photon_density import PhotonState, QuadraticForms, State, photon_states, quadratic
from ctpwa.observables.produced_angles import ProducedAngles, produced_angles
from ctpwa.observables.projections import event_weights

Index = tuple[int, int, int]  # α, L, M


@dataclass(frozen=True, eq=False)
class PhotonMoments(CorrelatedNumbers[Index]):
    """Moments with M ≥ 0, with their covariance.

    Attributes:
        names:   (α, L, M) of every moment, also ``indices``
        values:  H⁰(LM), H¹(LM), and Im H²(LM)
        origin:  ``amplitudes``, ``sums`` or ``likelihood``
    """

    @property
    def indices(self) -> tuple[Index, ...]:
        """(α, L, M) of every moment."""
        return self.names

    def intensity(self, angles: ProducedAngles) -> np.ndarray:
        """I of events with these angles."""
        return self.values @ _functions(angles, self.indices)

    def section(self) -> Section:
        """As a table: a row for every L, M."""
        pairs = list(dict.fromkeys((L, M) for _, L, M in self.indices))
        cells = {index: with_error(*self[index]) for index in self.indices}
        rows = tuple((f"H({L}{M})", *(cells.get((alpha, L, M), "") for alpha in (0, 1, 2))) for L, M in pairs)
        return Section(self.titled("moments"), ("moment", "H0", "H1", "Im H2"), rows)


def moment_indices(max_L: int) -> tuple[Index, ...]:
    """All moments up to L with M ≥ 0; H²(L0) is 0."""
    return tuple((alpha, L, M) for alpha in (0, 1, 2) for L in range(max_L + 1) for M in range(alpha == 2, L + 1))


def photon_moments(couplings: EventCouplings, model: Model) -> PhotonMoments:
    """Moments of fitted amplitudes, in events, up to twice the highest spin.

    Args:
        couplings:  in events, with their covariance
        model:      photoproduction of two pseudoscalars

    Raises:
        PhysicsError: if it is another model
    """
    states = moment_states(model)
    return moments_of_states([states[name] for name in couplings.names], couplings.values, couplings.covariance)


def moment_states(model: Model) -> dict[str, PhotonState]:
    """The coupling of every wave → its state, of two pseudoscalars without lineshapes.

    Raises:
        PhysicsError: if it is another model
    """
    _check_two(model)
    states = photon_states(model)
    for name, state in states.items():
        if state.lineshapes:
            raise PhysicsError(
                f"{name!r} has a lineshape: how it interferes changes with the mass", "fit waves without lineshapes in bins of the mass"
            )
    return states


def moments_of_states(states: Sequence[PhotonState], c: np.ndarray, covariance: np.ndarray) -> PhotonMoments:
    """Moments of couplings in events.

    Args:
        states:      of the couplings
        c:           their values
        covariance:  of all real, then all imaginary parts
    """
    forms = QuadraticForms.of(states)
    indices = moment_indices(2 * max(l for l, _ in forms.states))
    values, slopes = [], []
    for alpha, L, M in indices:
        G = {(a, b): factor for a in forms.states for b in forms.states if (factor := _coefficient(a, b, L, M))}
        A = forms.matrix(alpha, G)
        q, dq = quadratic(-1j * A if alpha == 2 else A, c)
        values.append(q)
        slopes.append(dq)
    J = np.array(slopes)
    return PhotonMoments(indices, np.array(values), J @ covariance @ J.T, "amplitudes")


def measured_moments(
    model: Model,
    data: Events,
    phase_space: Events,
    max_L: int,
    truth: Events | None = None,
    background: Events | None = None,
    *,
    method: str = SUMS,
) -> PhotonMoments:
    """Moments of events, without any amplitude, corrected for acceptance.

    Args:
        model:        photoproduction of two pseudoscalars; says frame and polarisation
        data:         measured events
        phase_space:  simulated events that were accepted, flat in the angles of the decay before
        max_L:        highest L; all moments of the data must be among them
        truth:        all simulated events; default: all were accepted, and moments count measured events
        background:   events that are subtracted
        method:       ``sums``, or ``likelihood``, which keeps the density positive at all events
    """
    _check_two(model)
    if not isinstance(max_L, (int, np.integer)) or not 0 <= max_L <= 16:
        raise DataError(f"moments up to L = {max_L!r}\n fix: give a whole number from 0 to 16")
    indices = moment_indices(int(max_L))
    samples = [(data, 1.0), *([] if background is None else [(background, -1.0)])]
    b = np.concatenate([_functions(produced_angles(model, events), indices).T for events, _ in samples])
    w = np.concatenate([sign * event_weights(events) for events, sign in samples])
    accepted = LinearSample(_functions(produced_angles(model, phase_space), indices).T, event_weights(phase_space))
    generated = float(event_weights(phase_space if truth is None else truth).sum())
    found = fit_linear(LinearSample(b, w), accepted, generated, 4 * np.pi, method)
    return PhotonMoments(indices, found.values, found.covariance, method)


def _coefficient(a: State, b: State, L: int, M: int) -> float:
    """√((2l'+1)/(2l+1)) ⟨l' 0; L 0|l 0⟩ ⟨l' m'; L M|l m⟩."""
    (l, m), (other, own) = a, b
    first = clebsch_gordan(2 * other, 0, 2 * L, 0, 2 * l, 0)
    return float(np.sqrt((2 * other + 1) / (2 * l + 1)) * first * clebsch_gordan(2 * other, 2 * own, 2 * L, 2 * M, 2 * l, 2 * m))


def _functions(a: ProducedAngles, indices: tuple[Index, ...]) -> np.ndarray:
    """What multiplies every moment in the intensity, with that of −M, [moment, event]."""
    light = (np.ones_like(a.Phi), -a.degree * np.cos(2 * a.Phi), -a.degree * np.sin(2 * a.Phi))
    found = []
    for alpha, L, M in indices:
        phi = a.phi - np.pi / (2 * M) if alpha == 2 else a.phi  # cos(Mφ − π/2) = sin Mφ
        both = -2.0 if alpha == 2 else 2.0 if M else 1.0
        found.append(both * np.sqrt((2 * L + 1) / (4 * np.pi)) * spherical_harmonic(L, M, a.cos_theta, phi) * light[alpha])
    return np.array(found)


def _check_two(model: Model) -> None:
    if len(model.decay.final) != 2 or any(particle.two_J for particle in model.decay.final):
        raise PhysicsError(f"{model.decay} has no moments of two pseudoscalars", "take X that decays to two particles without spin")
