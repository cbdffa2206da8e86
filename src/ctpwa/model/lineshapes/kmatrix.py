"""K-matrix with a production vector: unitary amplitudes of several poles in several channels.

    K = a(s) [Σ_α g_α g_αᵀ/(m_α² − s) + f (1 − s0)/(s − s0) + Σ_k c_k s^k],    F = (1 − iKρ)⁻¹ P
    P = Σ_α β_α g_α/(m_α² − s) + f' (1 − s0')/(s − s0')

Poles and couplings are fixed numbers, so the amplitude is linear in the production couplings β_α and f'_j: each of them is a wave.
All masses in GeV, and the 1 in 1 − s0 is 1 GeV². ``coupled_channels`` has poles that float.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.base.words import counted
from ctpwa.kinematics.two_body import barrier_coefficients
from ctpwa.model.lineshapes.channels import DecayChannel, besides_own, read_channels
from ctpwa.model.lineshapes.formula import Basis, LineshapeKind, Vertex

Array = np.ndarray[Any, Any]
PhaseSpace = Callable[[Array, Array], Array]  # (s, q2) → ρ

MAX_POLES = 50
MAX_POWERS = 10
CHUNK = 4096  # events whose matrices are in memory at a time
M_PION, M_KAON, M_ETA, M_ETA_PRIME = 0.13957039, 0.493677, 0.547862, 0.95778  # GeV

REFERENCE = "I. J. R. Aitchison, NPA 189, 417 (1972); S. U. Chung et al., Annalen Phys. 507, 404 (1995)"
# V. V. Anisovich and A. V. Sarantsev, EPJA 16, 229 (2003), as tabulated by FOCUS, PLB 585, 200 (2004), and in
# BaBar, PRD 78, 034023 (2008), table II
PIPI_REFERENCE = "V. V. Anisovich and A. V. Sarantsev, EPJA 16, 229 (2003); BaBar, PRD 78, 034023 (2008), table II"
PIPI_CHANNELS = ("pipi", "KK", "4pi", "etaeta", "etaetap")
PIPI_MASSES = (0.65100, 1.20360, 1.55817, 1.21000, 1.82206)
PIPI_COUPLINGS = (  # [pole][channel]
    (0.22889, -0.55377, 0.00000, -0.39899, -0.34639),
    (0.94128, 0.55095, 0.00000, 0.39065, 0.31503),
    (0.36856, 0.23888, 0.55639, 0.18340, 0.18681),
    (0.33650, 0.40907, 0.85679, 0.19906, -0.00984),
    (0.18171, -0.17558, -0.79658, -0.00355, 0.22358),
)
PIPI_SCATTERING = (0.23399, 0.15044, -0.20545, 0.32825, 0.35412)  # f_1j; the others are zero
PIPI_S0, PIPI_S_A0, PIPI_S_A = -3.92637, -0.15, 1.0
FIVE = f"five numbers, for {', '.join(PIPI_CHANNELS)}"


@dataclass(frozen=True)
class KMatrix:
    """A K-matrix with fixed poles.

    Attributes:
        masses:      m_α, GeV [pole]
        couplings:   g_αi, GeV [pole, channel]
        phase_space: ρ_i of every channel, complex below threshold
        scattering:  f_ij, symmetric [channel, channel]
        s0:          of the slowly varying part of K, GeV²
        production_s0: s0' of the slowly varying production, GeV²
        polynomial:  c_k, symmetric [power, channel, channel]
        adler:       (s_A0, zero) of the Adler factor a(s) = (1 − s_A0)/(s − s_A0) (s − zero), GeV²; None: a = 1
    """

    masses: Array
    couplings: Array
    phase_space: tuple[PhaseSpace, ...]
    scattering: Array
    s0: float = 0.0
    adler: tuple[float, float] | None = None
    production_s0: float = 0.0
    polynomial: Array | None = None

    def rho(self, s: Array, q2: Array) -> Array:
        """ρ [event, channel]."""
        return np.stack([np.asarray(rho(s, q2), dtype=complex) for rho in self.phase_space], axis=-1)

    def adler_factor(self, s: Array) -> Array:
        """a(s) [event]."""
        if self.adler is None:
            return np.ones_like(s)
        s_A0, zero = self.adler
        return (1 - s_A0) / (s - s_A0) * (s - zero)

    def smooth(self, s: Array) -> Array:
        """a(s) [f (1 − s0)/(s − s0) + Σ c_k s^k] [event, channel, channel]: K without its poles."""
        result = np.zeros((*s.shape, *self.scattering.shape), dtype=s.dtype)
        if self.scattering.any():
            result = result + ((1 - self.s0) / (s - self.s0))[:, None, None] * self.scattering
        for power, c in enumerate(() if self.polynomial is None else self.polynomial):
            result = result + (s**power)[:, None, None] * c
        return self.adler_factor(s)[:, None, None] * result

    def production(self, s: Array, q2: Array, channel: int, chunk: int = CHUNK) -> Array:
        """F_channel per unit of every production coupling [pole then channel, event].

        Instead of dividing by m_α² − s, the strengths y_α of the poles are unknowns next to the amplitudes x_i:

            (m_α² − s) y_α − i a Σ_i g_αi ρ_i x_i = β_α,    x_i − Σ_α g_αi y_α − i Σ_j f̃_ij ρ_j x_j = c_i

        so nothing is infinite when an event sits on a pole. One solution of the transposed system gives all couplings, of ``chunk``
        events at a time.
        """
        s, q2 = np.broadcast_arrays(np.atleast_1d(np.asarray(s, dtype=float)), np.asarray(q2, dtype=float))
        n_poles, n_channels = self.couplings.shape
        result = np.empty((n_poles + n_channels, s.size), dtype=complex)
        for start in range(0, s.size, chunk):
            part = slice(start, start + chunk)
            result[:, part] = self.production_at(s[part], self.rho(s[part], q2[part]), channel)
        return result

    def production_at(self, s: Array, rho: Array, channel: int) -> Array:
        """The same at any s, complex ones included, with any phase space ρ [event, channel]."""
        n_poles = len(self.masses)
        system = self.system(s, rho)
        unit = np.zeros((len(system), system.shape[1], 1))
        unit[:, n_poles + channel] = 1
        result = np.linalg.solve(system.swapaxes(1, 2), unit)[:, :, 0].T
        result[n_poles:] *= (1 - self.production_s0) / (s - self.production_s0)
        return result

    def system(self, s: Array, rho: Array) -> Array:
        """The matrix of the linear equations above, [event, unknown, unknown]."""
        n_poles, n_channels = self.couplings.shape
        rho = rho[:, None, :]
        system = np.zeros((s.size, n_poles + n_channels, n_poles + n_channels), dtype=complex)
        pole = np.arange(n_poles)
        system[:, pole, pole] = self.masses**2 - s[:, None]
        system[:, :n_poles, n_poles:] = -1j * self.adler_factor(s)[:, None, None] * self.couplings * rho
        system[:, n_poles:, :n_poles] = -self.couplings.T
        system[:, n_poles:, n_poles:] = np.eye(n_channels) - 1j * self.smooth(s) * rho
        return system

    def basis(self, name: str, labels: Sequence[str], channel: int, reference: str) -> Basis:
        """The waves of one channel: one for every pole, one for every channel's slowly varying production."""
        names = (*(f"beta_{pole + 1}" for pole in range(len(self.masses))), *(f"f_{label}" for label in labels))
        functions = tuple(partial(self._one, channel=channel, index=index) for index in range(len(names)))
        return Basis(name, names, functions, reference, partial(self.production, channel=channel), self)

    def _one(self, s: Array, q2: Array, channel: int, index: int) -> Array:
        return self.production(s, q2, channel)[index]


def own_phase_space(s: Array, q2: Array) -> Array:
    """2q/√s of the event."""
    return 2 * np.sqrt(q2 / s)


def two_body_phase_space(s: Array, q2: Array, m1: float, m2: float) -> Array:
    """√{[1 − (m1 + m2)²/s] [1 − (m1 − m2)²/s]}, i|ρ| everywhere below threshold."""
    return threshold_phase_space(s, q2, m1, m2) * np.sqrt(np.abs(1 - (m1 - m2) ** 2 / s))


def threshold_phase_space(s: Array, q2: Array, m1: float, m2: float) -> Array:
    """√[1 − (m1 + m2)²/s], the form of the published ππ parametrisation; i|ρ| below threshold."""
    return np.sqrt((1 - (m1 + m2) ** 2 / s).astype(complex))


def barrier_phase_space(s: Array, q2: Array, L: int, d: float, masses: tuple[float, float] | None) -> Array:
    """ρ (q d)^2L/N_L(q d) of a channel with L > 0, which is closed below its threshold; ``masses`` None: that of the event."""
    own = q2 if masses is None else (s - sum(masses) ** 2) * (s - (masses[0] - masses[1]) ** 2) / (4 * s)
    z2 = np.maximum(own, 0.0) * d**2
    return 2 * np.sqrt(np.maximum(own, 0.0) / s) * z2**L / sum(n * z2**k for k, n in enumerate(barrier_coefficients(L)))


@dataclass(frozen=True)
class FourPions:
    """Phase space of four pions: √(1 − 16m_π²/s) above 1 GeV², a function fitted to the ρρ integral below.

    Attributes:
        below:  the function below 1 GeV²
    """

    below: Callable[[Array], Array]

    def __call__(self, s: Array, q2: Array) -> Array:
        """ρ of every event."""
        return np.where(s < 1, self.below(s), np.sqrt(np.maximum(1 - 16 * M_PION**2 / s, 0)))


def four_pions_usual(s: Array) -> Array:
    """The form of most analyses, which joins at 1 GeV²."""
    return (1.2274 + 0.00370909 / s**2 - 0.111203 / s - 6.39017 * s + 16.8358 * s**2 - 21.8845 * s**3 + 11.3153 * s**4) * np.sqrt(
        1 - 16 * M_PION**2
    )


def four_pions_polynomial(s: Array) -> Array:
    """A polynomial without the terms in 1/s, as AmpGen has it."""
    return np.polynomial.polynomial.polyval(s, (0.00051, -0.01933, 0.13851, -0.20840, -0.29744, 0.13655, 1.07885))


FOUR_PIONS = {"usual": FourPions(four_pions_usual), "polynomial": FourPions(four_pions_polynomial)}


def build_pipi_s_wave(
    vertex: Vertex,
    channel: str = "pipi",
    production_s0: Any = PIPI_S0,
    poles: Any = None,
    scattering: Any = None,
    s0: Any = PIPI_S0,
    adler: Any = None,
    four_pions: str = "usual",
) -> Basis:
    """The ππ S wave of Anisovich and Sarantsev: five poles in ππ, KK, 4π, ηη and ηη'; options are numbers of other fits."""
    name = "pipi_s_wave"
    if channel not in PIPI_CHANNELS:
        raise PhysicsError(f"option 'channel' of lineshape {name!r} is {channel!r}", suggest(str(channel), PIPI_CHANNELS))
    if four_pions not in FOUR_PIONS:
        raise PhysicsError(f"option 'four_pions' of lineshape {name!r} is {four_pions!r}", suggest(str(four_pions), FOUR_PIONS))
    if vertex.L != 0:
        raise PhysicsError(f"lineshape {name!r} is an S wave, but this vertex has L = {vertex.L}", "use it for scalars only")
    phase_space: tuple[PhaseSpace, ...] = (
        partial(threshold_phase_space, m1=M_PION, m2=M_PION),
        partial(threshold_phase_space, m1=M_KAON, m2=M_KAON),
        FOUR_PIONS[four_pions],
        partial(threshold_phase_space, m1=M_ETA, m2=M_ETA),
        partial(threshold_phase_space, m1=M_ETA, m2=M_ETA_PRIME),
    )
    given = (
        PIPI_SCATTERING if scattering is None else [_number(f, "scattering", name) for f in _list(scattering, 5, "scattering", FIVE, name)]
    )
    matrix = np.zeros((5, 5))
    matrix[0] = matrix[:, 0] = given
    masses, couplings = (np.array(PIPI_MASSES), np.array(PIPI_COUPLINGS)) if poles is None else _poles(poles, 5, name)
    zero = (PIPI_S_A0, PIPI_S_A * M_PION**2 / 2) if adler is None else _adler(adler, name)
    k = KMatrix(masses, couplings, phase_space, matrix, _number(s0, "s0", name), zero, _number(production_s0, "production_s0", name))
    return replace(k.basis(name, PIPI_CHANNELS, PIPI_CHANNELS.index(channel), PIPI_REFERENCE), all_channels=PIPI_CHANNELS)


def build_k_matrix(
    vertex: Vertex,
    channels: Any = None,
    poles: Any = None,
    channel: Any = None,
    background: Any = None,
    s0: Any = 0.0,
    adler: Any = None,
    production_s0: Any = 0.0,
    polynomial: Any = None,
) -> Basis:
    """A K-matrix of the user: any number of poles and channels."""
    name = "k_matrix"
    found = read_channels(channels, vertex, name)
    labels = [c.label for c in found]
    own = next((c.label for c in found if c.own), labels[0])
    chosen = own if channel is None else str(channel)
    if chosen not in labels:
        raise PhysicsError(f"option 'channel' of lineshape 'k_matrix' is {chosen!r}", suggest(chosen, labels))
    masses, couplings = _poles(poles, len(found), name)
    matrix = KMatrix(
        masses,
        couplings,
        tuple(_phase_space(c, vertex) for c in found),
        _background(background, len(found)),
        _number(s0, "s0", name),
        None if adler is None else _adler(adler, name),
        _number(production_s0, "production_s0", name),
        _polynomial(polynomial, len(found)),
    )
    return replace(matrix.basis(name, labels, labels.index(chosen), REFERENCE), channels=besides_own(found))


def _phase_space(channel: DecayChannel, vertex: Vertex) -> PhaseSpace:
    if channel.L and not isinstance(vertex.d, float | int):
        raise PhysicsError("lineshape 'k_matrix' with L > 0 has fixed numbers, and its radius floats", "fix it, or use coupled_channels")
    if channel.L:
        masses = None if channel.own else (channel.m1, channel.m2)
        return partial(barrier_phase_space, L=channel.L, d=float(vertex.d), masses=masses)
    return own_phase_space if channel.own else partial(two_body_phase_space, m1=channel.m1, m2=channel.m2)


def _adler(given: Any, name: str) -> tuple[float, float]:
    s_A0, zero = (_number(value, "adler", name) for value in _list(given, 2, "adler", "[s_A0, position of the zero]", name))
    return s_A0, zero


def _polynomial(given: Any, n_channels: int) -> Array | None:
    if given is None:
        return None
    if not isinstance(given, Sequence) or isinstance(given, str) or not 1 <= len(given) <= MAX_POWERS:
        raise PhysicsError(
            "option 'polynomial' of lineshape 'k_matrix' is not a list of matrices", f"give 1 to {MAX_POWERS}, that of s^0 first"
        )
    return np.array([_background(matrix, n_channels, "polynomial") for matrix in given])


def _poles(poles: Any, n_channels: int, name: str) -> tuple[Array, Array]:
    form = f"give [{{mass: 1.2, couplings: [...]}}, ...] with {counted(n_channels, 'coupling')} in GeV each, one for every channel"
    if not isinstance(poles, Sequence) or isinstance(poles, str) or not poles:
        raise PhysicsError(f"option 'poles' of lineshape {name!r} is missing or not a list", form)
    if len(poles) > MAX_POLES:
        raise PhysicsError(f"option 'poles' of lineshape {name!r} has {len(poles)} entries", f"give at most {MAX_POLES}")
    masses, couplings = [], []
    for number, pole in enumerate(poles, start=1):
        if not isinstance(pole, Mapping) or set(pole) != {"mass", "couplings"}:
            raise PhysicsError(f"option 'poles' of lineshape {name!r}: pole {number} is {pole!r}", form)
        given = pole["couplings"]
        if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != n_channels:
            raise PhysicsError(f"option 'poles' of lineshape {name!r}: couplings of pole {number} are {given!r}", form)
        masses.append(_number(pole["mass"], "poles", name))
        couplings.append([_number(g, "poles", name) for g in given])
    return np.array(masses), np.array(couplings)


def _background(background: Any, n_channels: int, option: str = "background") -> Array:
    if background is None:
        return np.zeros((n_channels, n_channels))
    rows = _list(background, n_channels, option, f"a symmetric {n_channels} x {n_channels} matrix")
    matrix = np.array([[_number(f, option, "k_matrix") for f in _list(row, n_channels, option, "rows of numbers")] for row in rows])
    if not np.array_equal(matrix, matrix.T):
        raise PhysicsError(f"option {option!r} of lineshape 'k_matrix' is not symmetric", "a K-matrix that is not symmetric is not unitary")
    return matrix


def _list(value: Any, length: int, option: str, form: str, name: str = "k_matrix") -> Sequence[Any]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != length:
        raise PhysicsError(f"option {option!r} of lineshape {name!r} is {value!r}", f"give {form}")
    return value


def _number(value: Any, option: str, lineshape: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise PhysicsError(f"option {option!r} of lineshape {lineshape!r} holds {value!r}", "give a number")
    return float(value)


KINDS = (
    LineshapeKind(
        "k_matrix",
        build_k_matrix,
        "K-matrix with a production vector: any number of poles and channels",
        {
            "channels": "table of channels: {label: own}, {label: [m1, m2]} or {label: [m1, m2, L]}",
            "poles": "list of {mass: GeV, couplings: [GeV for every channel]}",
            "channel": "label of the channel that is observed; the own one, or the first, unless given",
            "background": "matrix f of the slowly varying part of K; none unless given",
            "s0": "s0 of that part, GeV²; 0 unless given",
            "polynomial": "list of matrices c_0, c_1, … that are added to K times powers of s; none unless given",
            "adler": "[s_A0, position of the zero] of the Adler factor, GeV²; none unless given",
            "production_s0": "s0' of the slowly varying production, GeV²; 0 unless given",
        },
    ),
    LineshapeKind(
        "pipi_s_wave",
        build_pipi_s_wave,
        "ππ S wave with five poles and five channels (Anisovich and Sarantsev)",
        {
            "channel": f"channel that is observed: {', '.join(PIPI_CHANNELS)}; pipi unless given",
            "production_s0": f"s0' of the slowly varying production, GeV²; {PIPI_S0} unless given",
            "poles": "other poles: list of {mass: GeV, couplings: [GeV for the five channels]}",
            "scattering": "other numbers f_1j: a list of five",
            "s0": f"s0 of the slowly varying part of K, GeV²; {PIPI_S0} unless given",
            "adler": "[s_A0, position of the zero] of the Adler factor, GeV²",
            "four_pions": "phase space of 4π below 1 GeV: usual (default) or polynomial",
        },
    ),
)
