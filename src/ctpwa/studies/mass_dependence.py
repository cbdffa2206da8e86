"""A mass-dependent fit to the couplings of many bins, with their full covariances.

Couplings of a wave against the mass are a sum of states, c_w(m) = Σ_r g_wr F_r(m), times what phase space does to their size in a bin. In
every bin and coherent set one phase is fixed, and perhaps the sign of all of them is open: the model is turned, and conjugated where that
brings it nearer, before it is compared. With d the difference in all other real and imaginary parts and C their covariance,

    χ² = Σ_bins d C⁻¹ d

Within a bin |c|² is averaged, and the phase is that of the mean amplitude.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from ctpwa.base.errors import DataError, suggest
from ctpwa.fitting.text import Section, with_error
from ctpwa.observables.tails import chi2_tail
from ctpwa.studies.bin_records import sizes_of
from ctpwa.studies.bin_solutions import Solution
from ctpwa.studies.bins_study import Bins
from ctpwa.studies.checks import checked_count, checked_seed

SIMPSON = ((0.0, 0.5, 1.0), (1 / 6, 4 / 6, 1 / 6))  # places in a bin, and weights
STARTS = 10
FACTOR = 5.0  # within which parameters of states stay, of their start
FIXED = 1e-12  # of the largest variance: a part of a coupling with less is the reference
Shape = Callable[..., np.ndarray]


def breit_wigner(m: np.ndarray, mass: float, width: float) -> np.ndarray:
    """m₀Γ/(m₀² − m² − i m₀Γ)."""
    return np.asarray(mass * width / (mass**2 - m**2 - 1j * mass * width))


def constant(m: np.ndarray) -> np.ndarray:
    """1: a background that does not change with the mass."""
    return np.ones_like(m, dtype=complex)


@dataclass(frozen=True)
class MassState:
    """A state that some waves have.

    Attributes:
        waves:   names of couplings; or what they begin with, such as ``2+``
        shape:   F(m, **start), m in GeV [mass] → complex [mass]
        start:   its parameters, all of which float between a fifth and five times this
    """

    waves: tuple[str, ...] | str
    shape: Shape = breit_wigner
    start: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class MassDependence:
    """What was found.

    Attributes:
        names:       of all parameters: ``a2.mass``, …, then ``WAVE a2.re`` and ``.im`` of couplings
        values:      of them
        covariance:  of them
        chi2, ndf:   χ² and its degrees of freedom
        couplings:   names of the waves
        states:      what was fitted
    """

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    chi2: float
    ndf: int
    couplings: tuple[str, ...]
    states: Mapping[str, MassState]

    @property
    def p_value(self) -> float:
        """Probability of a larger χ²."""
        return chi2_tail(self.chi2, self.ndf)

    def __getitem__(self, name: str) -> tuple[float, float]:
        if name not in self.names:
            raise DataError(f"no parameter is called {name!r}\n fix: {suggest(name, self.names)}")
        k = self.names.index(name)
        return float(self.values[k]), float(np.sqrt(max(self.covariance[k, k], 0.0)))

    def amplitude(self, wave: str, m: Any) -> np.ndarray:
        """Σ g F of a wave at masses m: complex numbers, for figures."""
        return _Layout(self.couplings, self.states).amplitudes(self.values, np.atleast_1d(np.asarray(m, dtype=float)))[
            self.couplings.index(wave)
        ]

    def section(self) -> Section:
        """Parameters of the states as a table."""
        own = [name for name in self.names if not name.endswith((".re", ".im"))]
        foot = f"χ²/ndf = {self.chi2:.1f}/{self.ndf}, p = {self.p_value:.2g}"
        return Section("mass-dependent fit", ("parameter", "value"), tuple((name, with_error(*self[name])) for name in own), foot)

    def __str__(self) -> str:
        own = self.section()
        return str(Section(own.title, own.columns, (own.columns, *own.rows), own.foot))


def fit_mass_dependence(
    study: Bins, states: Mapping[str, MassState], *, second: int = 0, starts: int = STARTS, seed: int = 0
) -> MassDependence:
    """Fit states to the best solutions of all bins of a mass whose fits are good.

    Args:
        study:   fits in bins of a mass
        states:  name → which waves have it, and its lineshape
        second:  number of the bin on the second axis
        starts:  random couplings to begin with; the best end counts
        seed:    of these
    """
    starts, seed = checked_count("starts", starts), checked_seed(seed)
    layout = _Layout(study.couplings, states)
    fitted = [row[0] for row in study.solutions if row and row[0].record.good]
    rows = [own for own in fitted if len(own.bin.place) == 1 or own.bin.place[1] == second]
    parts = [part for b, solution in enumerate(rows) for part in _parts(b, solution)]
    low, high = (np.array([getattr(own.bin, which)[0] for own in rows]) for which in ("low", "high"))
    n_data = sum(len(part.free) for part in parts)
    if n_data <= len(layout.names):
        raise DataError(f"{n_data} numbers of {len(rows)} bins for {len(layout.names)} parameters\n fix: fit more bins, or fewer states")
    rng = np.random.default_rng(seed)

    def residuals(x: np.ndarray) -> np.ndarray:
        c = layout.in_bins(x, low, high)
        return np.concatenate([part.residuals(c) for part in parts])

    ends = [least_squares(residuals, layout.start(rows, rng), bounds=layout.bounds, x_scale="jac") for _ in range(starts)]
    best = min(ends, key=lambda end: float(end.cost))
    Z = layout.determined(best.x, study.about.extent["sets"])
    covariance = Z @ np.linalg.inv((best.jac @ Z).T @ (best.jac @ Z)) @ Z.T
    return MassDependence(layout.names, best.x, covariance, 2 * float(best.cost), n_data - Z.shape[1], study.couplings, dict(states))


class _Layout:
    """Where parameters of states and couplings are."""

    def __init__(self, couplings: Sequence[str], states: Mapping[str, MassState]) -> None:
        self.couplings, self.states = tuple(couplings), states
        self.places: dict[str, dict[str, int]] = {}
        names: list[str] = []
        for state, own in states.items():
            self.places[state] = {parameter: len(names) + k for k, parameter in enumerate(own.start)}
            names += [f"{state}.{parameter}" for parameter in own.start]
        self.pairs: list[tuple[int, str, int]] = []
        for state, own in states.items():
            found = [name for name in couplings if (name.startswith(own.waves) if isinstance(own.waves, str) else name in own.waves)]
            unknown = [] if isinstance(own.waves, str) else [name for name in own.waves if name not in couplings]
            if unknown or not found:
                missing = unknown[0] if unknown else str(own.waves)
                raise DataError(f"{state!r} is in {missing!r}, which is no wave\n fix: {suggest(missing, couplings)}")
            for wave in found:
                self.pairs.append((self.couplings.index(wave), state, len(names)))
                names += [f"{wave} {state}.re", f"{wave} {state}.im"]
        left = [name for k, name in enumerate(self.couplings) if k not in {place for place, _, _ in self.pairs}]
        if left:
            raise DataError(f"{left[0]!r} has no state\n fix: give it one, such as  MassState({left[0]!r}, constant)")
        self.names = tuple(names)

    def amplitudes(self, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Σ g F of all waves, [wave, mass]."""
        F = {state: own.shape(m, **{name: x[k] for name, k in self.places[state].items()}) for state, own in self.states.items()}
        result = np.zeros((len(self.couplings), len(m)), dtype=complex)
        for wave, state, place in self.pairs:
            result[wave] += complex(x[place], x[place + 1]) * F[state]
        return result

    def in_bins(self, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Amplitudes of bins, [wave, bin]."""
        places, weights = (np.array(own) for own in SIMPSON)
        m = low[:, None] + (high - low)[:, None] * places
        c = self.amplitudes(x, m.ravel()).reshape(-1, *m.shape)
        return np.asarray(np.sqrt((np.abs(c) ** 2) @ weights) * np.exp(1j * np.angle(c @ weights)))

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Parameters of states stay within a factor of their start."""
        low, high = np.full(len(self.names), -np.inf), np.full(len(self.names), np.inf)
        for state, own in self.states.items():
            for name, k in self.places[state].items():
                pair = (own.start[name] / FACTOR, own.start[name] * FACTOR)
                low[k], high[k] = (min(pair), max(pair)) if own.start[name] else (-np.inf, np.inf)
        return low, high

    def determined(self, x: np.ndarray, sets: Sequence[int]) -> np.ndarray:
        """Orthogonal directions in which bins change, [parameter, direction]: not those that turn all couplings of a coherent set."""
        turns = np.zeros((len(x), max(sets) + 1))
        for wave, _, place in self.pairs:
            turns[place, sets[wave]], turns[place + 1, sets[wave]] = -x[place + 1], x[place]
        return np.asarray(np.linalg.qr(turns, mode="complete")[0][:, turns.shape[1] :])

    def start(self, rows: Sequence[Solution], rng: np.random.Generator) -> np.ndarray:
        """Given parameters of states, and couplings of the right size with random phases."""
        x = np.zeros(len(self.names))
        for state, own in self.states.items():
            for name, k in self.places[state].items():
                x[k] = own.start[name]
        centres = np.array([(row.bin.low[0] + row.bin.high[0]) / 2 for row in rows])
        seen = np.array([np.abs(row.values) / sizes_of(row.record, row.names) for row in rows]).T
        for wave, state, place in self.pairs:
            own = self.states[state]
            F = np.abs(own.shape(centres, **{name: x[k] for name, k in self.places[state].items()}))
            size = float((seen[wave] * F).sum() / (F**2).sum())
            z = size * np.exp(2j * np.pi * rng.random())
            x[place], x[place + 1] = z.real, z.imag
        return x


@dataclass(frozen=True, eq=False)
class _Part:
    """The couplings of one coherent set in one bin.

    Attributes:
        members:    places of its couplings among all
        reference:  which of them is real
        free:       parts that are compared: those of Re, then of Im
        values:     couplings in events
        root:       R with Rᵀ R = C⁻¹ of these parts
        sizes:      of waves with coupling 1
        bin:        number of its bin
        open_sign:  whether conjugate couplings are as good
    """

    members: np.ndarray
    reference: int
    free: np.ndarray
    values: np.ndarray
    root: np.ndarray
    sizes: np.ndarray
    bin: int
    open_sign: bool

    def residuals(self, amplitudes: np.ndarray) -> np.ndarray:
        """R d of amplitudes [wave, bin]."""
        c = amplitudes[self.members, self.bin] * self.sizes
        reference = c[self.reference]
        c = c * (np.conj(reference) / abs(reference) if reference else 1.0) * np.sign(self.values[self.reference].real)
        found = [self._difference(c)] + ([self._difference(c.conj())] if self.open_sign else [])
        return min(found, key=lambda r: float(r @ r))

    def _difference(self, c: np.ndarray) -> np.ndarray:
        d = np.concatenate([(c - self.values).real, (c - self.values).imag])[self.free]
        return np.asarray(self.root @ d)


def _parts(bin: int, solution: Solution) -> list[_Part]:
    sizes, n = sizes_of(solution.record, solution.names), len(solution.names)
    found = []
    for own in sorted(set(solution.sets)):
        members = np.flatnonzero(np.array(solution.sets) == own)
        index = np.concatenate([members, n + members])
        C = solution.covariance[np.ix_(index, index)]
        variances = np.diag(C)
        free = np.flatnonzero(variances > FIXED * variances.max())
        imaginary = np.flatnonzero(variances[len(members) :] <= FIXED * variances.max())
        reference = int(imaginary[np.abs(solution.values[members][imaginary]).argmax()])
        root = np.linalg.cholesky(np.linalg.inv(C[np.ix_(free, free)])).T
        sign = own in solution.open_sets
        found.append(_Part(members, reference, free, solution.values[members], root, sizes[members], bin, sign))
    return found
