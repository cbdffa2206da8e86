"""Amplitudes versus mass: coupling times propagator of every wave, and of waves that add up coherently, with errors from the fit.

    argand(result, model, points=200) -> tuple[ArgandCurve, ...]

``result`` is a ``FitResult``, ``ModelValues``, or None for the values that the model has; without a fit there are no errors.

    A(m) = Σ_w c_w F_w(m²)

Spin amplitudes and the barrier factors q^L/√N_L of the vertices are not in it. Waves that differ only in the resonance are summed:
same system, J^P, (L, S) of every vertex and barrier radius, so that events see their sum times one spin amplitude. A chain with several
resonances has a curve for each, in which the propagators of the others are left out; none for a resonance next to a spline or K-matrix,
which has no coupling of its own, and none where a propagator depends on an event column, since it is not a function of the mass alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import isinf
from typing import Any

import numpy as np
import torch

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.decay.spin import format_parity, format_spin
from ctpwa.engine.likelihood.values import ModelValues
from ctpwa.engine.plan.channels import ModelChannels, coupling_of, model_channels
from ctpwa.fitting.labels import group_latex, made_latex
from ctpwa.fitting.native_values import fitted_parameters, ordered, ordered_covariance
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.take_over import fitted_values
from ctpwa.model.lineshapes.continuation import FormulaContinuation
from ctpwa.model.lineshapes.formula import Basis, Callback, Formula, columns_of
from ctpwa.model.lineshapes.spline import Knots
from ctpwa.model.model import Model, Wave
from ctpwa.model.placing import PlacedLineshape

POINTS = 200
RESONANCE_POINTS = 61  # more, dense where a resonance changes quickly
REFINEMENTS, FAR, CLOSEST = 5, 0.03, 1e-5  # how often steps are halved, how long they may be compared to the curve, and in GeV
INSIDE = 1e-6  # GeV; the range begins this much above threshold
BEYOND = 2.0  # GeV; its length where nothing limits it


@dataclass(frozen=True, eq=False)
class ArgandCurve:
    """An amplitude versus mass.

    Attributes:
        name:        of the wave, or of the system, J^P and (L, S) of a sum
        latex:       the same in LaTeX, without dollar signs
        system:      the final particles of the system, e.g. ``K+ K-``
        system_latex: the same in LaTeX
        jp:          J^P of the system
        waves:       names of the waves in it
        resonances:  their resonances in the system
        masses:      nominal masses of these resonances inside the range, GeV
        mass:        GeV, increasing [point]
        amplitude:   A [point]
        covariance:  of (Re A, Im A) [point, 2, 2]; None if it is not known
        total:       whether it is the sum of several waves
        knots:       whether the points are the fitted values of a model-independent wave, with nothing between them
        left_out:    resonances of the same chain whose propagators are left out
    """

    name: str
    latex: str
    system: str
    system_latex: str
    jp: str
    waves: tuple[str, ...]
    resonances: tuple[str, ...]
    masses: tuple[float, ...]
    mass: np.ndarray
    amplitude: np.ndarray
    covariance: np.ndarray | None
    total: bool = False
    knots: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def magnitude(self) -> np.ndarray:
        """|A|."""
        return np.abs(self.amplitude)

    @property
    def magnitude_error(self) -> np.ndarray | None:
        """Standard deviation of |A|."""
        return self._error(self._direction(1.0))

    @property
    def intensity(self) -> np.ndarray:
        """|A|²."""
        return self.magnitude**2

    @property
    def intensity_error(self) -> np.ndarray | None:
        """Standard deviation of |A|²."""
        error = self.magnitude_error
        return None if error is None else 2 * self.magnitude * error

    @property
    def phase(self) -> np.ndarray:
        """Arg A in rad, without jumps of 2π; between −π and π at the first point."""
        return np.unwrap(np.angle(self.amplitude))

    @property
    def phase_error(self) -> np.ndarray | None:
        """Standard deviation of the phase, rad; infinite where A is 0."""
        error = self._error(self._direction(1j))
        if error is None:
            return None
        size = self.magnitude
        return np.where(size > 0, error / np.where(size > 0, size, 1.0), np.inf)

    def between(self, low: float, high: float) -> ArgandCurve:
        """The part of the curve in a range of masses, GeV."""
        inside = (self.mass >= low) & (self.mass <= high)
        if not inside.any():
            raise PhysicsError(
                f"{self.name!r} has no point from {low:g} to {high:g} GeV", f"it goes from {self.mass[0]:.3f} to {self.mass[-1]:.3f} GeV"
            )
        return replace(
            self,
            masses=tuple(m for m in self.masses if low <= m <= high),
            mass=self.mass[inside],
            amplitude=self.amplitude[inside],
            covariance=None if self.covariance is None else self.covariance[inside],
        )

    def _direction(self, turn: complex) -> np.ndarray:
        size = self.magnitude
        unit = turn * np.where(size > 0, self.amplitude / np.where(size > 0, size, 1.0), 1.0)
        return np.stack([unit.real, unit.imag], axis=1)

    def _error(self, direction: np.ndarray) -> np.ndarray | None:
        if self.covariance is None:
            return None
        return np.sqrt(np.einsum("ni,nij,nj->n", direction, self.covariance, direction).clip(min=0))


@dataclass(frozen=True)
class _Member:
    """A wave and the one of its resonances whose mass is the abscissa."""

    wave: Wave
    entry: PlacedLineshape
    left_out: tuple[str, ...]


def argand(result: FitResult | ModelValues | None, model: Model, points: int = POINTS) -> tuple[ArgandCurve, ...]:
    """Curves of all waves, and of all sums of two or more waves, which come first.

    Args:
        result:  of a fit, for values and errors; or values; None: those of the model
        model:   the model that was fitted
        points:  evenly spaced over the mass range; there are more where resonances are

    Raises:
        PhysicsError: if the result is that of another model
    """
    if points < 2:
        raise PhysicsError(f"{points} points make no curve", "give at least 2")
    channels = model_channels(model)
    values = _Values(result, model, channels)
    groups: dict[Any, list[_Member]] = {}
    seen = set()
    feeds = model.production.rows(model.decay).ways
    for (wave, placed), feed in product(zip(model.waves, channels.placed, strict=True), feeds):
        if any(columns_of(entry.lineshape) for entry in placed):  # no function of the mass alone
            continue
        wave = replace(wave, name=f"{wave.name}:{feed}", coupling=coupling_of(wave, feed)) if feed else wave
        for position, entry in enumerate(placed):
            if (wave.coupling, position) in seen:  # the same amplitude up to a sign
                continue
            if wave.chain.is_held(entry.node):  # it has one mass
                continue
            if any(isinstance(e.lineshape, Basis) for i, e in enumerate(placed) if i != position):  # no coupling of its own
                continue
            seen.add((wave.coupling, position))
            others = tuple(e.resonance.name for i, e in enumerate(placed) if i != position and not wave.chain.is_held(e.node))
            groups.setdefault((feed, _structure(wave, placed, position)), []).append(_Member(wave, entry, others))
    curves = _Curves(model, values, points)
    sums = [curves.total(members) for members in groups.values() if len(members) > 1]
    return (*sums, *(curves.wave(member) for members in groups.values() for member in members))


def _structure(wave: Wave, placed: Sequence[PlacedLineshape], position: int) -> Any:
    """What waves have in common that add up before anything else."""
    nodes = tuple((node.leaves, node.particle.two_J, node.particle.P, node.radius, node.made) for node in wave.chain.nodes)
    return position, nodes, wave.ls, tuple(e.resonance.name for i, e in enumerate(placed) if i != position)


class _Values:
    """Couplings and lineshape parameters with their derivatives over the free parameters."""

    def __init__(self, result: FitResult | ModelValues | None, model: Model, channels: ModelChannels) -> None:
        self.covariance: np.ndarray | None = None
        if isinstance(result, FitResult):
            at = fitted_values(result, model)
            parameters = fitted_parameters(result, model, channels)
            J = parameters.jacobian(ordered(result, parameters))
            n = len(channels.couplings)
            self.covariance = ordered_covariance(result, parameters)
            self.dc = dict(zip(channels.couplings, J[:n] + 1j * J[n : 2 * n], strict=True))
            self.dtheta = dict(zip(parameters.theta_names, J[2 * n :], strict=True))
        else:
            at = _given(result, model, channels)
        self.couplings, self.parameters = at.couplings, at.parameters

    def slope(self, terms: Sequence[tuple[str, np.ndarray]], theta: Mapping[str, np.ndarray]) -> np.ndarray:
        """∂A/∂x [point, free] from ∂A/∂c by coupling and ∂A/∂θ by parameter."""
        parts = [values[:, None] * self.dc[name] for name, values in terms]
        parts += [values[:, None] * self.dtheta[name] for name, values in theta.items()]
        return np.sum(parts, axis=0)

    def covariance_of(self, slope: np.ndarray) -> np.ndarray:
        """Covariance of real and imaginary part [point, 2, 2]."""
        assert self.covariance is not None
        parts = np.stack([slope.real, slope.imag], axis=1)
        return np.einsum("nif,njf->nij", parts @ self.covariance, parts)


def _given(values: ModelValues | None, model: Model, channels: ModelChannels) -> ModelValues:
    couplings = {name: complex(model.coupling_values.get(name, 1.0)) for name in channels.couplings}
    parameters = {p.name: p.value for p in channels.theta}
    if values is not None:
        for what, own, given in (("coupling", couplings, values.couplings), ("lineshape parameter", parameters, values.parameters)):
            for name in given:
                if name not in own:
                    raise PhysicsError(f"no {what} is called {name!r}", suggest(name, own))
        couplings |= {name: complex(c) for name, c in values.couplings.items()}
        parameters |= values.parameters
    return ModelValues(couplings, parameters)


class _Curves:
    def __init__(self, model: Model, values: _Values, points: int) -> None:
        self.model, self.values, self.points = model, values, points
        self._known: dict[Any, FormulaContinuation] = {}  # by resonance, formula and vertex

    def wave(self, member: _Member) -> ArgandCurve:
        """The curve of one wave; a model-independent one at its knots."""
        lineshape = member.entry.lineshape
        if isinstance(lineshape, Basis) and isinstance(lineshape.origin, Knots) and not member.left_out:
            return self._knots(member, lineshape, lineshape.origin)
        latex = group_latex(self.model, member.wave.name)
        name = member.wave.name
        if member.left_out:
            name, latex = (
                f"{member.entry.resonance.name} in {name}",
                rf"{group_latex(self.model, member.entry.resonance.name)}\ \mathrm{{in}}\ {latex}",
            )
        return self._curve([member], name, latex)

    def total(self, members: Sequence[_Member]) -> ArgandCurve:
        """The curve of a sum."""
        first = members[0]
        system, system_latex, jp, jp_latex = self._system(first)
        ls = first.wave.chain.ls_text(first.wave.ls)
        others = f" with {' '.join(first.left_out)}" if first.left_out else ""
        made = first.wave.chain.root.made
        state, state_latex = ("", "") if made is None else (f" {made}", rf"\ {made_latex(made)}")
        return self._curve(members, f"{system} {jp} {ls}{state}{others}", rf"{system_latex}\ {jp_latex}\ {ls}{state_latex}", total=True)

    def _system(self, member: _Member) -> tuple[str, str, str, str]:
        node, decay = member.entry.node, self.model.decay
        jp = f"{format_spin(node.particle.two_J)}{format_parity(node.particle.P)}"
        names = " ".join(decay.words(node.leaves))
        return names, "".join(particle.latex for particle in decay.particles(node.leaves)), jp, group_latex(self.model, jp)

    def _curve(self, members: Sequence[_Member], name: str, latex: str, total: bool = False) -> ArgandCurve:
        mass = self._refined(members, self._grid(members))
        amplitude = np.zeros(len(mass), dtype=complex)
        over_c: list[tuple[str, np.ndarray]] = []
        over_theta: dict[str, np.ndarray] = {}
        for member in members:
            for coupling, F, slopes in self._functions(member, mass):
                c = member.wave.factor * self.values.couplings[coupling]
                amplitude += c * F
                over_c.append((coupling, member.wave.factor * F))
                for parameter, slope in slopes.items():
                    over_theta[parameter] = over_theta.get(parameter, 0) + c * slope
        covariance = None
        if self.values.covariance is not None:
            covariance = self.values.covariance_of(self.values.slope(over_c, over_theta))
        return self._made(members, name, latex, mass, amplitude, covariance, total=total)

    def _refined(self, members: Sequence[_Member], mass: np.ndarray) -> np.ndarray:
        """More points where the amplitude changes much from one to the next, such as at the cusp of a threshold."""
        for _ in range(REFINEMENTS):
            functions = [(member, entry) for member in members for entry in self._functions(member, mass)]
            A = np.sum([member.wave.factor * self.values.couplings[coupling] * F for member, (coupling, F, _) in functions], axis=0)
            size = max(float(np.ptp(A.real)), float(np.ptp(A.imag)))
            far = (np.abs(np.diff(A)) > FAR * size) & (np.diff(mass) > CLOSEST)
            if not far.any():
                break
            mass = np.sort(np.concatenate([mass, (mass[1:] + mass[:-1])[far] / 2]))
        return mass

    def _made(
        self,
        members: Sequence[_Member],
        name: str,
        latex: str,
        mass: np.ndarray,
        amplitude: np.ndarray,
        covariance: np.ndarray | None,
        total: bool = False,
        knots: bool = False,
    ) -> ArgandCurve:
        system, system_latex, jp, _ = self._system(members[0])
        resonances = tuple(dict.fromkeys(member.entry.resonance.name for member in members))
        nominal = [self.values.parameters.get(f"{resonance}.mass") for resonance in resonances]
        return ArgandCurve(
            name,
            latex,
            system,
            system_latex,
            jp,
            tuple(member.wave.name for member in members),
            resonances,
            tuple(m for m in nominal if m is not None and mass[0] <= m <= mass[-1]),
            mass,
            amplitude,
            covariance,
            total,
            knots,
            members[0].left_out,
        )

    def _functions(self, member: _Member, mass: np.ndarray) -> list[tuple[str, np.ndarray, dict[str, np.ndarray]]]:
        """Coupling, F [point] and ∂F over the lineshape parameters by name, of every function of a wave."""
        wave, entry = member.wave, member.entry
        lineshape, vertex = entry.lineshape, entry.vertex
        if isinstance(lineshape, Basis):
            q2 = (mass**2 - (vertex.m1 + vertex.m2) ** 2) * (mass**2 - (vertex.m1 - vertex.m2) ** 2) / (4 * mass**2)
            functions = np.asarray(lineshape.values(mass**2, q2), dtype=complex)
            return [(f"{wave.coupling}:{label}", F, {}) for label, F in zip(lineshape.labels, functions, strict=True)]
        names = {p.name: f"{entry.resonance.name}.{p.name}" for p in lineshape.parameters}
        values = {short: self.values.parameters[name] for short, name in names.items()}
        if isinstance(lineshape, Formula):
            key = entry.resonance.name, lineshape, vertex
            if key not in self._known:
                self._known[key] = FormulaContinuation(lineshape, vertex, values)
            F, slopes = self._known[key].on_axis(mass)
        else:
            F, slopes = _callback(lineshape, vertex.m1, vertex.m2, values, mass)
        return [(wave.coupling, F, dict(zip(names.values(), slopes, strict=True)))]

    def _knots(self, member: _Member, lineshape: Basis, knots: Knots) -> ArgandCurve:
        names = [f"{member.wave.coupling}:{label}" for label in lineshape.labels]
        sign = member.wave.factor
        amplitude = np.array([sign * self.values.couplings[name] for name in names])
        covariance = None
        if self.values.covariance is not None:
            covariance = self.values.covariance_of(np.array([sign * self.values.dc[name] for name in names]))
        latex = group_latex(self.model, member.wave.name)
        return self._made([member], member.wave.name, latex, np.array(knots.masses), amplitude, covariance, knots=True)

    def _grid(self, members: Sequence[_Member]) -> np.ndarray:
        """Even steps over what the decay allows, and more points where resonances are."""
        low, high = _range(self.model, members[0].entry)
        grid = [np.linspace(low, high, self.points)]
        for member in members:
            name = member.entry.resonance.name
            mass, width = (self.values.parameters.get(f"{name}.{key}") for key in ("mass", "width"))
            if mass is not None and width:
                u = np.linspace(0, 1, RESONANCE_POINTS + 2)[1:-1]
                grid.append(mass + width / 2 * np.tan(np.pi * (u - 0.5)))
        every = np.unique(np.concatenate(grid))
        return every[(every >= low) & (every <= high)]


def _range(model: Model, entry: PlacedLineshape) -> tuple[float, float]:
    """Masses that a system can have; from where its daughters fit in with their nominal masses."""
    lowest, high = model.decay.mass_range(entry.node.leaves)
    low = max(lowest, entry.vertex.m1 + entry.vertex.m2) + INSIDE
    high = low + BEYOND if isinf(high) else high
    if high <= low:
        raise PhysicsError(
            f"{entry.resonance.name!r} has no mass range: from {low:.6g} to {high:.6g} GeV", "check the masses of its daughters"
        )
    return low, high


def _callback(lineshape: Callback, m1: float, m2: float, values: Mapping[str, float], mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A Python function and its derivatives."""
    s = torch.as_tensor(mass**2)
    q2 = (s - (m1 + m2) ** 2) * (s - (m1 - m2) ** 2) / (4 * s)
    theta = torch.tensor([values[p.name] for p in lineshape.parameters], dtype=torch.float64)

    def F(theta: torch.Tensor) -> torch.Tensor:
        parameters = {p.name: theta[i] for i, p in enumerate(lineshape.parameters)}
        return torch.view_as_real(lineshape.values(s, q2, parameters, {}).to(torch.complex128).expand_as(s))

    value = torch.view_as_complex(F(theta).contiguous()).numpy()
    slopes = [torch.func.jvp(F, (theta,), (unit,))[1] for unit in torch.eye(len(theta), dtype=torch.float64)]
    return value, np.array([torch.view_as_complex(slope.contiguous()).numpy() for slope in slopes]).reshape(len(theta), len(mass))
