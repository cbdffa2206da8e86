"""Phases that no data can determine, because some waves do not interfere with others, and which of them are fixed as references.

A coherent set is made of couplings that interfere with each other, directly or through others. A coupling c_a = f_a Π_{n∈a} z_n turns by
Σ_{n∈a} α_n if every number z_n turns by α_n. That changes no intensity if all couplings of a coherent set turn by the same angle, in every
data set:

    Σ_{n∈a} α_n = Σ_{n∈b} α_n   for a, b in one set,   α_n = 0   for numbers whose phase is known

Each independent solution is a phase that nothing determines. The phase of one number in it is fixed at 0: its reference.

With asymmetries, c(1 + Δ) and c(1 − Δ) turn independently of each other, and the same holds for the imaginary part of one Δ of each set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ctpwa.model.parameter import CARTESIAN, PARTS, Parameter, asymmetry_parts, with_formulas
from ctpwa.model.parameters import Parameters

RANK = 1e-9  # of the largest singular value: what is smaller is 0
TURN = 2 * np.pi


@dataclass(frozen=True)
class Observed:
    """What one data set says about phases.

    Attributes:
        parameters:  of its likelihood
        sets:        number of the coherent set of each of its couplings
        constrained: names of parameters that are known from elsewhere
    """

    parameters: Parameters
    sets: tuple[int, ...]
    constrained: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class ReferencePhases:
    """The phases that are fixed because nothing determines them; ``find_reference_phases`` finds them.

    Attributes:
        fixed:       names of the parameters that are fixed
        references:  numbers whose phase is 0
        numbers:     all numbers that turn with them
        turns:       how far each of these turns when a reference turns by 1, [number, reference]
        turned:      by how much numbers were turned so that references begin with phase 0
    """

    fixed: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    turns: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    turned: Mapping[str, float] = field(default_factory=dict)

    def towards_zero(self, z: Mapping[str, complex]) -> dict[str, float]:
        """By how much numbers must turn so that references have phase 0; those that are not given or are 0 stay."""
        return self.together({name: -float(np.angle(z[name])) for name in self.references if z.get(name)})

    def together(self, angles: Mapping[str, float]) -> dict[str, float]:
        """By how much all numbers turn when references turn by given angles."""
        t = np.array([angles.get(name, 0.0) for name in self.references])
        return dict(zip(self.numbers, (self.turns @ t).tolist(), strict=True)) if t.any() else {}

    def normal(self, z: Mapping[str, complex]) -> dict[str, complex]:
        """The same numbers with references that have phase 0."""
        return self.after(z, self.towards_zero(z))

    def after(self, z: Mapping[str, complex], angles: Mapping[str, float]) -> dict[str, complex]:
        """Numbers after they have turned; references are real without rounding."""
        turned = {name: own * _unit(angles.get(name, 0.0)) for name, own in z.items()}
        return {name: complex(own.real) if name in self.references else own for name, own in turned.items()}

    def normal_array(self, names: Sequence[str], z: np.ndarray) -> np.ndarray:
        """The same for an array of numbers with these names."""
        return np.array(list(self.normal(dict(zip(names, z.tolist(), strict=True))).values())) if self.references else z

    def applied(self, parameters: Parameters) -> Parameters:
        """Parameters with references fixed, and numbers that were turned."""
        if not self.fixed:
            return parameters
        turned = _turned(parameters, self.turned)
        ends = {_phase_part(name, parameters) for name in self.references}
        return _with(
            parameters, (replace(p, fixed=True, value=0.0 if p.name in ends else p.value) if p.name in self.fixed else p for p in turned)
        )

    def released(self, parameters: Parameters) -> Parameters:
        """Parameters with references free again; numbers are turned back unless a part of one was fixed in the meantime."""
        free = freed(parameters, self.fixed)
        back = {name: -angle for name, angle in self.turned.items() if angle and name in parameters.numbers}
        held = any(free.all[2 * k + i].fixed for name in back for k in [free.numbers.index(name)] for i in (0, 1))
        return free if held else _with(free, _turned(free, back))


NONE = ReferencePhases()


def find_reference_phases(data_sets: Sequence[Observed], kept: Collection[str] = ()) -> ReferencePhases:
    """The phases that have to be fixed so that data determine all others.

    Args:
        data_sets:  that are fitted together; they share numbers by name
        kept:       parameters that are fixed as references already, and stay it
    """
    free = [replace(own, parameters=freed(own.parameters, kept)) for own in data_sets]
    if all(len(set(own.sets)) < 2 for own in free):
        return ReferencePhases(tuple(kept)) if kept else NONE
    loose = _loose_numbers(free)
    if not loose:
        return ReferencePhases(tuple(kept))
    N = _null_space(_equations(free, loose))
    candidates = _candidates(free, loose, kept)
    chosen = _independent(N, [loose.index(name) for name in candidates])
    references = tuple(loose[k] for k in chosen)
    turns = N @ np.linalg.pinv(N[chosen]) if chosen else np.zeros((len(loose), 0))
    turns = np.where(np.abs(turns - np.round(turns)) < RANK, np.round(turns), turns)
    own = [candidates[name] for name in references]
    z: dict[str, complex] = {}
    for one in reversed(free):
        z |= dict(zip(one.parameters.numbers, one.parameters.numbers_at(one.parameters.start).tolist(), strict=True))
    fixed = tuple(dict.fromkeys([*(name for name in kept if name not in own), *own]))
    found = ReferencePhases(fixed, references, tuple(loose), turns)
    found = replace(found, turned=found.towards_zero(z))
    held = [replace(one, parameters=found.applied(one.parameters)) for one in free]
    return replace(found, fixed=(*fixed, *_asymmetry_references(held)))


def freed(parameters: Parameters, names: Collection[str]) -> Parameters:
    """Parameters of which some that were fixed are free."""
    return _with(parameters, (replace(p, fixed=False) if p.name in names else p for p in parameters.all)) if names else parameters


def _loose_numbers(data_sets: Sequence[Observed]) -> list[str]:
    """Numbers that can turn: nothing that changes with their phase is fixed, constrained, or used by a formula, and couplings need them."""
    names = dict.fromkeys(own.parameters.numbers[k] for own in data_sets for product in own.parameters.couplings for k in product.numbers)
    for own in data_sets:
        everything = own.parameters.all
        for k, name in enumerate(own.parameters.numbers):
            moving = everything[2 * k : 2 * k + 2] if own.parameters.representation == CARTESIAN else everything[2 * k + 1 : 2 * k + 2]
            if any(p.fixed or p.name in own.constrained or p.name in own.parameters.related for p in moving):
                names.pop(name, None)
    return list(names)


def _equations(data_sets: Sequence[Observed], loose: Sequence[str]) -> np.ndarray:
    """Couplings of a coherent set turn by the same angle, [equation, number]."""
    place = {name: k for k, name in enumerate(loose)}
    rows = []
    for own in data_sets:
        first: dict[int, np.ndarray] = {}
        for product, number in zip(own.parameters.couplings, own.sets, strict=True):
            row = np.zeros(len(loose))
            for k in product.numbers:
                if own.parameters.numbers[k] in place:
                    row[place[own.parameters.numbers[k]]] += 1
            rows.append(row - first.setdefault(number, row))
    return np.array(rows)


def _candidates(data_sets: Sequence[Observed], loose: Iterable[str], kept: Collection[str]) -> dict[str, str]:
    """Numbers that may be references, with the parameter that is their phase: first those that are one already, last those with limits."""
    result, order = {}, {}
    for name in loose:
        own = [one.parameters for one in data_sets if name in one.parameters.numbers]
        parts = [_phase_part(name, parameters) for parameters in own]
        phases = [p for parameters, part in zip(own, parts, strict=True) for p in parameters.all if p.name == part]
        if len(set(parts)) == 1 and all(p.lower <= 0 <= p.upper for p in phases):
            result[name] = parts[0]
            order[name] = parts[0] not in kept, any(np.isfinite([p.lower, p.upper]).any() for p in phases)
    return dict(sorted(result.items(), key=lambda pair: order[pair[0]]))


def _asymmetry_references(data_sets: Sequence[Observed]) -> list[str]:
    """Imaginary parts of Δ that nothing determines, although there are samples of the decay and of its conjugate.

    At a point of no special kind but with real Δ, tangents of free parameters are looked for along which all couplings of a data set are
    scaled by the same factor, and those of a coherent set turn by the same angle: Re d ln c = dλ, Im d ln c = dα.
    """
    constrained = {name for own in data_sets for name in own.constrained}
    imaginary = dict.fromkeys(asymmetry_parts(p.asymmetry)[1] for own in data_sets for p in own.parameters.couplings if p.asymmetry)
    if not imaginary or {own.parameters.sign for own in data_sets} != {1, -1}:
        return []
    moving = dict.fromkeys(name for own in data_sets for name in _moving(own.parameters) if name not in constrained)
    columns, x = list(moving), _anywhere(data_sets, moving)
    rows = []
    for d, own in enumerate(data_sets):
        point = np.array([x.get(p.name, p.value) for p in own.parameters.free])
        c, J, n = own.parameters.native(point)[0], own.parameters.jacobian(point), len(own.sets)
        u = np.zeros((n, len(columns) + len(data_sets)), dtype=complex)
        u[:, len(columns) + d] = -1  # dλ
        shared = [(i, columns.index(name)) for i, name in enumerate(own.parameters.names) if name in moving]
        for i, column in shared:
            u[:, column] = (J[:n, i] + 1j * J[n : 2 * n, i]) / np.where(c == 0, 1, c)
        first: dict[int, np.ndarray] = {}
        rows += [
            part for row, number in zip(u, own.sets, strict=True) for part in (row.real, row.imag - first.setdefault(number, row.imag))
        ]
    M = np.array(rows)
    if not np.isfinite(M).all():  # a formula has no value there
        return []
    chosen = _independent(_null_space(M), [columns.index(name) for name in imaginary if name in moving])
    return [columns[k] for k in chosen]


def _moving(parameters: Parameters) -> list[str]:
    """Free parameters of numbers and of asymmetries."""
    parts = {name for product in parameters.couplings if product.asymmetry for name in asymmetry_parts(product.asymmetry)}
    own = {p.name for p in parameters.all[: 2 * len(parameters.numbers)]} | parts
    return [name for name in parameters.names if name in own]


def _anywhere(data_sets: Sequence[Observed], moving: Collection[str]) -> dict[str, float]:
    """Values of no special kind; Δ is real and below 1."""
    rng = np.random.default_rng(0)
    of_delta = {name for own in data_sets for name in own.parameters.theta_names}
    values = {name: float(rng.uniform(0.3, 1.3)) * float(rng.choice([-1, 1])) for name in moving}
    return {name: (0.0 if name.endswith(".im") else 0.4 * value) if name in of_delta else value for name, value in values.items()}


def _null_space(M: np.ndarray) -> np.ndarray:
    """Columns that span what a matrix maps to 0."""
    _, sizes, vectors = np.linalg.svd(np.linalg.qr(M, mode="r"))  # there may be many more equations than numbers
    rank = int((sizes > RANK * max(sizes.max(initial=0.0), 1.0)).sum())
    return vectors[rank:].T


def _independent(N: np.ndarray, rows: Iterable[int]) -> list[int]:
    """The first rows of a matrix that do not depend on those before them."""
    left, chosen = N.copy(), []
    for row in rows:
        size = float(np.linalg.norm(left[row])) if left.shape[1] else 0.0
        if size > np.sqrt(RANK):
            direction = left[row] / size
            left = left - np.outer(left @ direction, direction)
            chosen.append(row)
    return chosen


def _phase_part(number: str, parameters: Parameters) -> str:
    """The parameter that is 0 if a number has phase 0."""
    return f"{number}.{PARTS[parameters.representation][1]}"


def _turned(parameters: Parameters, angles: Mapping[str, float]) -> list[Parameter]:
    """All parameters after numbers have turned."""
    own = list(parameters.all)
    for k, name in enumerate(parameters.numbers):
        angle = angles.get(name, 0.0)
        if not angle:
            continue
        a, b = own[2 * k].value, own[2 * k + 1].value
        if parameters.representation == CARTESIAN:
            z = complex(a, b) * _unit(angle)
            a, b = z.real, z.imag
        else:
            a, b = (a, b + angle) if a >= 0 else (-a, b + angle + np.pi)
            b -= TURN * round(b / TURN)
        own[2 * k], own[2 * k + 1] = replace(own[2 * k], value=a), replace(own[2 * k + 1], value=b)
    return own


def _with(parameters: Parameters, own: Iterable[Parameter]) -> Parameters:
    return replace(parameters, all=with_formulas(list(own)))


def _unit(angle: float) -> complex:
    return complex(np.exp(1j * angle)) if angle else 1.0 + 0j
