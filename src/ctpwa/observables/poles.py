"""Pole positions, residues and couplings of resonances, with errors propagated from the fit.

    poles(result, model, sheets="nearest") -> tuple[Pole, ...]

``result`` is a ``FitResult``, ``ModelValues``, or None for the values that the model has. See docs/poles.md for sheets and conventions.

A pole w_p of F in w = √s is a zero of 1/F, and moves with the parameters θ of its lineshape as

    ∂w_p/∂θ = −(∂(1/F)/∂θ) / (∂(1/F)/∂w) .
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.base.words import counted
from ctpwa.decay.chain import Chain, Node
from ctpwa.engine.likelihood.values import ModelValues
from ctpwa.engine.plan.channels import ModelChannels, model_channels
from ctpwa.fitting.native_values import fitted_parameters, ordered, ordered_covariance
from ctpwa.fitting.result import FitResult
from ctpwa.fitting.take_over import fitted_values
from ctpwa.fitting.text import Section, with_error
from ctpwa.model.lineshapes.continuation import SAME_THRESHOLD, Continuation, FormulaContinuation, continuation
from ctpwa.model.lineshapes.formula import Basis, Formula, OtherChannel
from ctpwa.model.lineshapes.parts import NotAnalytic
from ctpwa.model.model import Model
from ctpwa.model.placing import PlacedLineshape
from ctpwa.observables.pole_search import Root, all_edges, below_threshold, find_roots, near_edges, starts_around, starts_everywhere

NEAREST, ALL = "nearest", "all"
ENDLESS = 10.0  # GeV; the largest mass of a system where nothing limits it
BROADEST = 0.6  # GeV; width of poles that are looked for without a start


@dataclass(frozen=True)
class PoleCoupling:
    """Coupling of a pole to a channel, g² = −Res_s(F) [1/F with q_j → −q_j] / 2iρ_j at the pole, in GeV².

    Attributes:
        channel:          its name
        value:            g²
        magnitude_error:  standard deviation of |g²|; None if it is not known
        phase_error:      standard deviation of arg g², rad; None if it is not known
    """

    channel: str
    value: complex
    magnitude_error: float | None = None
    phase_error: float | None = None


@dataclass(frozen=True, eq=False)
class Pole:
    """A pole of a lineshape in the complex mass √s_p = mass − i width/2, or why there is none.

    Attributes:
        resonance:   whose lineshape it is
        lineshape:   name of the lineshape
        decay:       the daughters of its vertex, e.g. ``K+ K-``
        channels:    names of the channels, by threshold
        thresholds:  of the channels, GeV
        sheet:       sign of Im q of every channel; 0 if the lineshape does not know the channel where the pole is continued from
        mass:        Re √s_p, GeV; None if there is no pole
        width:       −2 Im √s_p, GeV
        covariance:  of (mass, width); None if it is not known
        residue:     of F in √s; None for a lineshape with several functions
        residue_magnitude_error, residue_phase_error:  of |residue| and of its phase in rad; None if they are not known
        residues:    of every function of a basis, for a coupling of 1
        couplings:   g² of the channels, where the lineshape is unitary
        reached_from:  mass on the physical axis that is nearest on this sheet, GeV; None if the sheet does not touch the axis
        reason:      why there is no pole; empty if there is one
        note:        what else to know
    """

    resonance: str
    lineshape: str
    decay: str
    channels: tuple[str, ...] = ()
    thresholds: tuple[float, ...] = ()
    sheet: tuple[int, ...] = ()
    mass: float | None = None
    width: float | None = None
    covariance: np.ndarray | None = None
    residue: complex | None = None
    residue_magnitude_error: float | None = None
    residue_phase_error: float | None = None
    residues: Mapping[str, complex] = field(default_factory=dict)
    couplings: tuple[PoleCoupling, ...] = ()
    reached_from: float | None = None
    reason: str = ""
    note: str = ""

    @property
    def position(self) -> complex | None:
        """√s_p, GeV."""
        return None if self.mass is None or self.width is None else complex(self.mass, -self.width / 2)

    @property
    def mass_error(self) -> float | None:
        """Standard deviation of the mass, GeV; 0 if nothing that it depends on was fitted, None if it is not known."""
        return None if self.covariance is None else float(np.sqrt(self.covariance[0, 0]))

    @property
    def width_error(self) -> float | None:
        """Standard deviation of the width, GeV."""
        return None if self.covariance is None else float(np.sqrt(self.covariance[1, 1]))

    @property
    def sheet_text(self) -> str:
        """The sheet in signs, e.g. ``(−,+)``."""
        return "(" + ",".join({-1: "−", 0: "0", 1: "+"}[sign] for sign in self.sheet) + ")"

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts, lists and mappings; complex numbers as [re, im]."""

        def pair(z: complex | None) -> list[float] | None:
            return None if z is None else [z.real, z.imag]

        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {
            "channels": list(self.channels),
            "thresholds": list(self.thresholds),
            "sheet": list(self.sheet),
            "mass_error": self.mass_error,
            "width_error": self.width_error,
            "covariance": None if self.covariance is None else self.covariance.tolist(),
            "residue": pair(self.residue),
            "residues": {label: pair(value) for label, value in self.residues.items()},
            "couplings": [
                {"channel": c.channel, "value": pair(c.value), "magnitude_error": c.magnitude_error, "phase_error": c.phase_error}
                for c in self.couplings
            ],
        }


@dataclass(frozen=True)
class _Fit:
    """What errors need: where the parameters of a lineshape stand among the free ones, and what is known of those."""

    names: tuple[str, ...]
    covariance: np.ndarray
    lost: frozenset[str]

    def rows(self, resonance: str, parameters: Sequence[str]) -> tuple[np.ndarray, np.ndarray, bool]:
        """Which parameters of a lineshape float, their covariance, and whether it is known."""
        names = [f"{resonance}.{name}" for name in parameters]
        floating = np.array([name in self.names for name in names], dtype=bool)
        index = [self.names.index(name) for name in names if name in self.names]
        return floating, self.covariance[np.ix_(index, index)], not self.lost & set(names)


def poles(
    result: FitResult | ModelValues | None, model: Model, sheets: str = NEAREST, *, resonances: Collection[str] | None = None
) -> tuple[Pole, ...]:
    """The poles of all lineshapes of a model.

    Args:
        result:  of a fit, for values and errors; or values; None: those of the model
        model:   the model that was fitted
        sheets:  ``nearest``: the pole of each lineshape that matters most in the physical region (of a K-matrix all that are near it);
                 ``all``: one pole for every sheet that has one
        resonances:  only those of these; default: all

    Returns:
        one or more entries for every lineshape; where there is no pole, ``reason`` says why
    """
    if sheets not in (NEAREST, ALL):
        raise PhysicsError(f"sheets = {sheets!r}", suggest(sheets, (NEAREST, ALL)))
    channels = model_channels(model)
    values, fit = _values(result, model, channels)
    found: list[Pole] = []
    seen: set[tuple[Any, ...]] = set()
    for wave, placed in zip(model.waves, channels.placed, strict=True):
        for entry in (entry for entry in placed if not wave.chain.is_held(entry.node)):
            key = (entry.resonance.name, entry.vertex)
            if key not in seen and (resonances is None or entry.resonance.name in resonances):
                seen.add(key)
                found += _poles_of(entry, _decay(wave.chain, entry.node), values, fit, sheets, _highest(model, entry.node))
    return tuple(found)


def moving_pole(model: Model, resonance: str) -> Callable[[Mapping[str, float]], tuple[complex, dict[str, complex]]]:
    """The pole of a resonance as a function of the lineshape parameters by name: where it is, and ∂√s_p over each of its own.

    Args:
        model:      the model
        resonance:  its name

    Raises:
        PhysicsError: if it has no pole, or several
    """
    entries = {
        entry.vertex: (entry, _highest(model, entry.node))
        for wave, placed in zip(model.waves, model_channels(model).placed, strict=True)
        for entry in placed
        if entry.resonance.name == resonance and not wave.chain.is_held(entry.node)
    }
    if not entries:
        raise PhysicsError(f"no resonance is called {resonance!r}", suggest(resonance, model.resonances))
    if len(entries) > 1:
        raise PhysicsError(f"the lineshape of {resonance!r} depends on its decay, and its poles do", "name a parameter of it instead")
    entry, highest = next(iter(entries.values()))
    lineshape, lowest = entry.lineshape, entry.vertex.m1 + entry.vertex.m2
    if isinstance(lineshape, Basis):
        raise PhysicsError(f"{lineshape.name} of {resonance!r} has poles that no fit moves", "name a coupling instead")
    names = {p.name: f"{resonance}.{p.name}" for p in lineshape.parameters}

    def pole(values: Mapping[str, float]) -> tuple[complex, dict[str, complex]]:
        own = {short: values[name] for short, name in names.items()}
        try:
            F = continuation(lineshape, entry.vertex, own)
        except NotAnalytic as problem:
            raise PhysicsError(f"{resonance!r} has no pole: {problem.what}", "name a parameter of it instead") from None
        found = _roots(F, lowest, highest, own.get("mass"), own.get("width"), NEAREST)
        if len(found) != 1:
            raise PhysicsError(
                f"{resonance!r} has {counted(len(found), 'pole')} near the physical region", "name a parameter of it instead"
            )
        slopes = dict(zip((names[short] for short in F.parameters), map(complex, found[0].slopes), strict=True))
        return found[0].w, slopes

    return pole


def poles_section(found: Sequence[Pole]) -> Section:
    """Poles as rows of text."""
    rows = []
    fitted = any(pole.covariance is not None for pole in found)
    for pole in found:
        if pole.mass is None or pole.width is None:
            rows.append((pole.resonance, pole.decay, "", "none", "", pole.reason))
            continue
        place = f"{pole.sheet_text} of {', '.join(pole.channels)}" if pole.channels else "one sheet"
        rows.append(
            (
                pole.resonance,
                pole.decay,
                place,
                _text(pole.mass, pole.mass_error, fitted),
                _text(pole.width, pole.width_error, fitted),
                "; ".join(text for text in (_polar_text(pole, fitted), pole.note) if text),
            )
        )
    columns = ("resonance", "decay", "sheet", "mass", "width", "residue: magnitude, phase in degrees")
    title = "poles √s = mass − i width/2 in GeV, sheet as sign of Im q, residue of the lineshape in √s"
    return Section(title, columns, tuple(rows))


def far_poles(result: FitResult, model: Model) -> list[str]:
    """Remarks on fitted resonances whose pole is farther from the mass parameter than half its width, −Im √s_p.

    Args:
        result:  of a fit
        model:   the model that was fitted
    """
    names = [*result.names, *(p.name for p in result.derived)]
    fitted = {name.rpartition(".")[0] for name in names} & model.resonances.keys()
    remarks = {}
    with np.errstate(all="ignore"):  # a fit may end anywhere
        found = poles(result, model, resonances=fitted) if fitted else ()
    for pole in found:
        mass = result.values.get(f"{pole.resonance}.mass")
        if mass is not None and pole.mass is not None and pole.width is not None and abs(pole.mass - mass) > pole.width / 2:
            remarks[pole.resonance] = (
                f"the pole of {pole.resonance} is at {pole.mass:.4g} - {pole.width / 2:.3g}i GeV, far from its mass parameter {mass:.4g}:"
                " quote the pole, see ctpwa show --poles"
            )
    return list(remarks.values())


def _text(value: float, error: float | None, fitted: bool) -> str:
    return with_error(value, error) if fitted else f"{value:.6g}"


def _polar_text(pole: Pole, fitted: bool) -> str:
    if pole.residue is None:
        return ""
    degrees = None if pole.residue_phase_error is None else math.degrees(pole.residue_phase_error)
    size = _text(abs(pole.residue), pole.residue_magnitude_error, fitted)
    return f"{size}, {_text(math.degrees(np.angle(pole.residue)), degrees, fitted)}"


def _values(result: FitResult | ModelValues | None, model: Model, channels: ModelChannels) -> tuple[dict[str, float], _Fit | None]:
    own = {p.name: p.value for p in channels.theta}
    if result is None:
        return own, None
    if isinstance(result, ModelValues):
        for name in result.parameters:
            if name not in own:
                raise PhysicsError(f"no lineshape parameter is called {name!r}", suggest(name, own))
        return own | dict(result.parameters), None
    lost = frozenset(p.name for p in result.parameters if p.error is None and not p.at_limit)
    fit = _Fit(result.names, result.covariance, lost)
    return dict(fitted_values(result, model).parameters), _with_formulas(fit, result, model, channels) if result.derived else fit


def _with_formulas(fit: _Fit, result: FitResult, model: Model, channels: ModelChannels) -> _Fit:
    """What errors need if lineshape parameters follow from each other: the covariance of all of them that move."""
    parameters = fitted_parameters(result, model, channels)
    slopes = parameters.jacobian(ordered(result, parameters))[2 * len(channels.couplings) :]
    moving = np.flatnonzero(np.abs(slopes).sum(axis=1))
    names = tuple(parameters.theta_names[k] for k in moving)
    lost = [k for k, name in enumerate(parameters.names) if name in fit.lost]
    unknown = frozenset(name for name, k in zip(names, moving, strict=True) if slopes[k, lost].any())
    return _Fit(names, slopes[moving] @ ordered_covariance(result, parameters) @ slopes[moving].T, unknown)


def _decay(chain: Chain, node: Node) -> str:
    return " ".join(chain.particle(daughter).name for daughter in node.daughters)


def _highest(model: Model, node: Node) -> float:
    """The largest mass that a system can have."""
    high = model.decay.mass_range(node.leaves)[1]
    return high if math.isfinite(high) else ENDLESS


def _poles_of(entry: PlacedLineshape, decay: str, values: Mapping[str, float], fit: _Fit | None, sheets: str, highest: float) -> list[Pole]:
    """The poles of one lineshape, or one entry that says why there is none."""
    resonance, vertex, lineshape = entry.resonance, entry.vertex, entry.lineshape
    none = Pole(resonance.name, lineshape.name, decay)
    own = {} if isinstance(lineshape, Basis) else {p.name: values[f"{resonance.name}.{p.name}"] for p in lineshape.parameters}
    try:
        F = continuation(lineshape, vertex, own)
    except NotAnalytic as problem:
        return [replace(none, reason=problem.what)]
    if isinstance(F, FormulaContinuation) and not F.has_pole:
        return [replace(none, reason=f"{lineshape.name} is finite at all masses")]
    lowest = vertex.m1 + vertex.m2
    mass, width = own.get("mass"), own.get("width")
    roots = _roots(F, lowest, highest, mass, width, sheets)
    known = _known_channels(entry, decay)
    named = tuple(_name(channel.threshold, known) for channel in F.channels)
    base = replace(none, channels=named, thresholds=tuple(channel.threshold for channel in F.channels))
    if not roots:
        where = f"{mass:g} GeV" if mass is not None else f"{lowest:.3f} to {highest:.3f} GeV"
        return [replace(base, reason=f"no pole was found near {where} on the sheets next to the physical region")]
    return [_pole(base, F, root, entry, known, fit) for root in roots]


def _roots(F: Continuation, lowest: float, highest: float, mass: float | None, width: float | None, sheets: str) -> list[Root]:
    edges = near_edges(F, lowest) if sheets == NEAREST else all_edges(F, lowest)
    if mass is None:
        starts = starts_everywhere(lowest, highest)
        found = [root for edge in edges for root in find_roots(F, edge, starts)]
        found = [root for root in found if -2 * root.w.imag < BROADEST and lowest < root.w.real < highest]
        # those that are no farther to the side of the axis that their sheet touches than below it
        return [root for root in found if root.edge.low is None or abs(root.w.real - root.at) <= max(-root.w.imag, 1e-6)]
    if mass < lowest and sheets == NEAREST:
        edges = [below_threshold(F, lowest), *edges]
    starts = starts_around(mass, width)
    enough = width / 2 if width else 0.0
    roots = [find_roots(F, edge, starts, enough) for edge in edges]
    near = [root for own in roots for root in own if root.edge.low is not None]
    if not near:
        return [min(own, key=lambda root: abs(root.w - starts[0])) for own in roots if own]
    best = max(near, key=_weight)
    if sheets == NEAREST:
        return [best]
    return [
        max(own, key=_weight) if own[0].edge.low is not None else min(own, key=lambda root: abs(root.w - best.w)) for own in roots if own
    ]


def _weight(root: Root) -> float:
    """Size of the pole term at the nearest point of the physical axis."""
    return float(np.abs(root.residues).max() / max(root.distance, 1e-15))


def _known_channels(entry: PlacedLineshape, decay: str) -> list[OtherChannel]:
    """Channels that have a name: the own one, and those that the lineshape declares."""
    own = OtherChannel(decay, entry.vertex.m1, entry.vertex.m2)
    return [own, *getattr(entry.lineshape, "channels", ())]


def _name(threshold: float, known: Sequence[OtherChannel]) -> str:
    for channel in known:
        if abs(channel.m1 + channel.m2 - threshold) <= SAME_THRESHOLD:
            return channel.name
    return f"{threshold:.3f} GeV"


def _pole(base: Pole, F: Continuation, root: Root, entry: PlacedLineshape, known: Sequence[OtherChannel], fit: _Fit | None) -> Pole:
    """What is known of one pole, with errors."""
    w, lineshape = root.w, entry.lineshape
    notes = [f"from the piece of the formula at {root.at:.3f} GeV"] if F.piece(root.at) else []
    if root.edge.low is not None and not root.edge.low <= w.real <= (root.edge.high or np.inf):
        notes = [f"around the threshold at {min((root.edge.low, root.edge.high or 0.0), key=lambda t: abs(t - root.at)):.3f} GeV", *notes]
    reached_from = None if root.edge.low is None else root.at
    pole = replace(base, sheet=root.edge.sheet, mass=w.real, width=-2 * w.imag + 0.0, reached_from=reached_from, note="; ".join(notes))
    if isinstance(lineshape, Basis):
        names = lineshape.all_channels or base.channels
        residues = dict(zip(lineshape.labels, map(complex, root.residues), strict=True))
        return replace(pole, channels=names, residues=residues, covariance=None if fit is None else np.zeros((2, 2)))
    assert isinstance(lineshape, Formula)
    errors = _Errors(fit, entry.resonance.name, F.parameters)
    residue = complex(root.residues[0])
    size, phase = errors.polar(residue, root.residue_slopes[0])
    couplings = []
    if lineshape.unitary:
        for number, name in enumerate(base.channels):
            channel = next((c for c in known if c.name == name), None)
            if channel is not None and root.edge.sheet[number] != 0:
                g2, slopes = _coupling(F, root, number, channel)
                couplings.append(PoleCoupling(name, g2, *errors.polar(g2, slopes)))
    return replace(
        pole,
        covariance=errors.covariance(np.array([root.slopes.real, -2 * root.slopes.imag])),
        residue=residue,
        residue_magnitude_error=size,
        residue_phase_error=phase,
        couplings=tuple(couplings),
    )


def _coupling(F: Continuation, root: Root, number: int, channel: OtherChannel) -> tuple[complex, np.ndarray]:
    """g² = i w Res_w G/ρ, where G is 1/F at the pole with the other sign of one momentum; and its derivatives."""
    w, residue = root.w, complex(root.residues[0])
    other = tuple(-sign if i == number else sign for i, sign in enumerate(root.edge.sheet))
    G, slopes = F.inverse(w, other, root.at)
    a, b = (channel.m1 + channel.m2) ** 2 / w**2, (channel.m1 - channel.m2) ** 2 / w**2
    rho = root.edge.sheet[number] * 1j * np.sqrt(-(1 - a) * (1 - b))
    g2 = complex(1j * w * residue * G / rho)
    d_log_rho = (a / (1 - a) + b / (1 - b)) / w
    d_log = root.slopes * (1 / w + slopes[0] / G - d_log_rho) + root.residue_slopes[0] / residue + slopes[1:] / G
    return g2, g2 * d_log


class _Errors:
    """Propagation from the parameters of one lineshape."""

    def __init__(self, fit: _Fit | None, resonance: str, parameters: Sequence[str]) -> None:
        self.known = fit is not None
        if fit is not None:
            self.floating, self.own, self.known = fit.rows(resonance, parameters)

    def covariance(self, slopes: np.ndarray) -> np.ndarray | None:
        """Of real quantities [quantity, parameter]."""
        if not self.known:
            return None
        J = np.asarray(slopes)[:, self.floating]
        return J @ self.own @ J.T

    def polar(self, z: complex, slopes: np.ndarray) -> tuple[float | None, float | None]:
        """Standard deviations of magnitude and phase."""
        if not self.known or z == 0:
            return None, None
        relative = slopes / z
        covariance = self.covariance(np.array([abs(z) * relative.real, relative.imag]))
        assert covariance is not None
        return float(np.sqrt(max(covariance[0, 0], 0.0))), float(np.sqrt(max(covariance[1, 1], 0.0)))
