"""Free parameters of a fit and the smooth map from them to what the engine works with.

    free x  →  native (Re c, Im c, θ)

A coupling c is a constant times a product of complex numbers, each cartesian (re, im) or polar (abs, phase), and may be multiplied by
1 + Δ in a decay and 1 − Δ in its charge conjugate; θ are the lineshape parameters, and Re Δ and Im Δ of every Δ. Any of these may be a
formula of others. Where a production has several feeds whose factors V follow from parameters, the engine has a coupling c V_feed for each
of them. First and second derivatives of the map are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.parameter import (
    CARTESIAN,
    PARTS,
    Parameter,
    as_cartesian,
    asymmetry_parts,
    check_names,
    parts_of,
    relations_of,
    with_formulas,
    within,
)
from ctpwa.model.relations import Relation
from ctpwa.spin.production import FeedFactors

MAX_STARTS = 100_000  # points that a fit may start from: each costs a fit
SPREAD = 0.7  # of the logarithm of random couplings
EDGE = 1e-6  # so far from the edge of what is physical fits stay, as slopes of V are infinite there


@dataclass(frozen=True)
class Product:
    """A coupling of the engine: factor · Π numbers, times 1 ± Δ if it has an asymmetry, whose parts are two real parameters."""

    numbers: tuple[int, ...]
    factor: complex = 1.0
    asymmetry: str = ""


@dataclass(frozen=True)
class Parameters:
    """All parameters of a model, free and fixed, and the map to native ones; ``make_parameters`` makes them.

    Attributes:
        representation:  cartesian or polar
        numbers:         names of the complex numbers
        couplings:       each coupling as a product of numbers
        all:             the parts of every number, then the lineshape parameters
        sign:            in front of Δ: 1 for a decay, −1 for its charge conjugate, 0 for couplings without asymmetry
        feeds:           what multiplies every coupling in the feeds of the production; None: there is one, or they have their own
        cartesian:       numbers that are cartesian in any case: a polar one that is 0 has no slope over its phase
    """

    representation: str
    numbers: tuple[str, ...]
    couplings: tuple[Product, ...]
    all: tuple[Parameter, ...]
    sign: int = 1
    feeds: FeedFactors | None = None
    cartesian: frozenset[str] = frozenset()

    def representation_of(self, number: str) -> str:
        """Of one of the complex numbers: cartesian or polar."""
        return CARTESIAN if number in self.cartesian else self.representation

    @cached_property
    def _cartesian(self) -> np.ndarray:
        """Which of the numbers are cartesian."""
        return np.array([self.representation_of(name) == CARTESIAN for name in self.numbers], dtype=bool)

    def _z(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The complex numbers of their parts, [..., number]."""
        if self._cartesian.all():
            return a + 1j * b
        return np.where(self._cartesian, a + 1j * b, a * np.exp(1j * b))

    @cached_property
    def free(self) -> tuple[Parameter, ...]:
        """Those that are fitted."""
        return tuple(p for p in self.all if not p.fixed)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        return tuple(p.name for p in self.free)

    @cached_property
    def theta_names(self) -> tuple[str, ...]:
        """Names of the lineshape parameters, fixed ones included."""
        return tuple(p.name for p in self.all[2 * len(self.numbers) :])

    @property
    def n_theta(self) -> int:
        """How many lineshape parameters there are, fixed ones included."""
        return len(self.all) - 2 * len(self.numbers)

    def holding(self, values: Mapping[str, float]) -> Parameters:
        """The same with some of the free parameters fixed.

        Args:
            values:  name of a free parameter → its value, within its limits
        """
        for name, value in values.items():
            if name not in self.names:
                raise PhysicsError(f"{name!r} cannot be fixed: it is not a free parameter", suggest(name, self.names))
            own = self.free[self.names.index(name)]
            if not own.lower <= value <= own.upper:
                raise PhysicsError(f"{name!r} cannot be fixed at {value}", f"give a number from {own.lower:g} to {own.upper:g}")
        held = (replace(p, value=float(values[p.name]), fixed=True) if p.name in values else p for p in self.all)
        return replace(self, all=with_formulas(list(held)))

    def within(self, limits: Mapping[str, tuple[float, float]]) -> Parameters:
        """The same with narrower limits of some parameters.

        Args:
            limits:  name of a parameter → lower and upper limit
        """
        own = [(p, limits.get(p.name, (p.lower, p.upper))) for p in self.all]
        return replace(self, all=tuple(replace(p, lower=max(p.lower, low), upper=min(p.upper, high)) for p, (low, high) in own))

    def signed(self, sign: int) -> Parameters:
        """The same with another sign in front of Δ."""
        return self if sign == self.sign else replace(self, sign=sign)

    @cached_property
    def bare(self) -> Parameters:
        """The same with couplings without their asymmetries, and once for all feeds."""
        return self.signed(0) if self.feeds is None else replace(self, sign=0, feeds=None)

    @cached_property
    def _feed_index(self) -> np.ndarray:
        """Where the parameters of feeds are among all."""
        place = {p.name: k for k, p in enumerate(self.all)}
        return np.array([place[name] for name in (() if self.feeds is None else self.feeds.names)], dtype=np.int64)

    @cached_property
    def _feeds_moving(self) -> np.ndarray:
        """Which of them change during a fit."""
        return np.array([not self.all[k].fixed or self.all[k].name in self.derived for k in self._feed_index], dtype=bool)

    def feed_factors(self, x: np.ndarray) -> np.ndarray:
        """V of every feed; 1 if there is one."""
        return self._feed_factors(self.full(x))

    @property
    def feeds_move(self) -> bool:
        """Whether they change during a fit."""
        return bool(self._feeds_moving.any())

    def feed_room(self, x: np.ndarray) -> float:
        """How far the parameters of feeds are from the edge of what is physical."""
        assert self.feeds is not None
        return self.feeds.room(self.full(x)[self._feed_index])

    def feed_barrier(self, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """What grows without limit towards that edge, with its derivatives over the free parameters."""
        assert self.feeds is not None
        values, D = self.full(x), self.slopes(x)
        barrier, slope, curvature = self.feeds.barrier(values[self._feed_index])
        own = D[self._feed_index]
        H = own.T @ curvature @ own
        by_place = dict(zip(self._feed_index.tolist(), slope, strict=True))
        for k, arguments, relation in self._relations:
            if k in by_place:
                H += by_place[k] * (D[arguments].T @ relation.second(values[arguments]) @ D[arguments])
        return barrier, slope @ own, H

    def _feed_factors(self, values: np.ndarray) -> np.ndarray:
        return np.ones(1, dtype=complex) if self.feeds is None else self.feeds.values(values[self._feed_index])

    @cached_property
    def _asymmetric(self) -> tuple[np.ndarray, np.ndarray]:
        """Couplings with an asymmetry, and where Re Δ and Im Δ are among all parameters, [coupling, 2]."""
        place = {p.name: k for k, p in enumerate(self.all)}
        rows = [row for row, product in enumerate(self.couplings) if product.asymmetry and self.sign]
        parts = [[place[name] for name in asymmetry_parts(self.couplings[row].asymmetry)] for row in rows]
        return np.array(rows, dtype=np.int64), np.array(parts, dtype=np.int64).reshape(-1, 2)

    def _split(self, values: np.ndarray) -> np.ndarray:
        """1 ± Δ of every coupling; 1 without an asymmetry."""
        rows, parts = self._asymmetric
        factors = np.ones(len(self.couplings), dtype=complex)
        factors[rows] += self.sign * (values[parts[:, 0]] + 1j * values[parts[:, 1]])
        return factors

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """Parameters that are formulas, as functions of those that are not."""
        return relations_of(self.all)

    @cached_property
    def derived(self) -> tuple[str, ...]:
        """Names of the parameters that follow from free ones."""
        return tuple(relation.name for relation in self.relations if any(name in self.names for name in relation.arguments))

    @cached_property
    def related(self) -> frozenset[str]:
        """Names of the parameters that others follow from."""
        return frozenset(name for relation in self.relations for name in relation.arguments)

    @cached_property
    def _relations(self) -> list[tuple[int, list[int], Relation]]:
        """Where a formula and its arguments are among all parameters."""
        place = {p.name: k for k, p in enumerate(self.all)}
        return [(place[own.name], [place[name] for name in own.arguments], own) for own in self.relations]

    @cached_property
    def _free_index(self) -> np.ndarray:
        return np.array([i for i, p in enumerate(self.all) if not p.fixed], dtype=np.int64)

    @cached_property
    def _base(self) -> np.ndarray:
        return np.array([p.value for p in self.all])

    @cached_property
    def _single(self) -> bool:
        return all(len(product.numbers) == 1 for product in self.couplings)

    @cached_property
    def _number_of(self) -> np.ndarray:
        return np.array([product.numbers[0] if product.numbers else -1 for product in self.couplings], dtype=np.int64)

    @cached_property
    def _factors(self) -> np.ndarray:
        return np.array([product.factor for product in self.couplings], dtype=complex)

    @cached_property
    def _constant_jacobian(self) -> np.ndarray | None:
        return self._jacobian(self.start) if self.linear else None

    @property
    def start(self) -> np.ndarray:
        """Start values of the free parameters."""
        return self._base[self._free_index].copy()

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper limits of the free parameters, [free, 2]; those of feeds keep away from the edge of what is physical."""
        limits = np.array([[p.lower, p.upper] for p in self.free]).reshape(-1, 2)
        for k, p in enumerate(self.free):
            if self.feeds is not None and p.name in self.feeds.names:
                lower, upper = self.feeds.range(p.name)
                limits[k] = max(p.lower, lower + EDGE), min(p.upper, upper - EDGE)
        return limits

    def full(self, x: np.ndarray) -> np.ndarray:
        """All parameters, fixed ones included."""
        values = self._base.copy()
        values[self._free_index] = x
        for k, arguments, relation in self._relations:
            values[k] = within(self.all[k], relation.value(values[arguments]))
        return values

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """∂(all parameters)/∂x, [all, free]."""
        D = np.zeros((len(self.all), len(self._free_index)))
        D[self._free_index, np.arange(len(self._free_index))] = 1.0
        values = self.full(x)
        for k, arguments, relation in self._relations:
            D[k] = relation.first(values[arguments]) @ D[arguments]
        return D

    def numbers_at(self, x: np.ndarray) -> np.ndarray:
        """The complex numbers."""
        return self._numbers(self.full(x))[0]

    def native(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Couplings c of the engine, with feeds changing fastest, and lineshape parameters θ."""
        values = self.full(x)
        c = self._couplings(values)
        if self.feeds is not None:
            c = np.outer(c, self._feed_factors(values)).ravel()
        return c, values[2 * len(self.numbers) :]

    def _couplings(self, values: np.ndarray) -> np.ndarray:
        a, b = values[0 : 2 * len(self.numbers) : 2], values[1 : 2 * len(self.numbers) : 2]
        z = self._z(a, b)
        if self._single:
            c = self._factors * z[self._number_of]
        else:
            c = np.array([product.factor * np.prod(z[list(product.numbers)]) for product in self.couplings], dtype=complex)
        return c * self._split(values) if len(self._asymmetric[0]) else c

    def free_from(self, numbers: Mapping[str, complex], theta: Mapping[str, float], *, strict: bool = True) -> np.ndarray:
        """Free parameters at given values; what is not given has its start value.

        Args:
            numbers:  complex numbers by name
            theta:    lineshape parameters by name
            strict:   refuse values of fixed parameters and formulas that differ from what they are here
        """
        given = dict(theta)
        for name, z in numbers.items():
            own = self.representation_of(name)
            given.update(zip((f"{name}.{part}" for part in PARTS[own]), parts_of(z, own), strict=True))
        check_names(self.all, list(given))
        x = np.array([given.get(p.name, p.value) for p in self.free])
        here = self.full(x)
        for k, p in enumerate(self.all if strict else ()):
            if p.fixed and p.name in given and self._differ(k, given[p.name], here[k]):
                what, fix = ("is fixed", "leave it out, or let it float") if not p.formula else (f"is {p.formula}", "leave it out")
                raise PhysicsError(f"{p.name!r} {what} in this fit, and its value differs", fix)
        return x

    def _differ(self, k: int, a: float, b: float) -> bool:
        """Whether two values of a parameter are different; phases are the same after a turn."""
        difference = a - b
        if k < 2 * len(self.numbers) and k % 2 and not self._cartesian[k // 2]:
            difference = (difference + np.pi) % (2 * np.pi) - np.pi
        return bool(abs(difference) > 1e-9 * self._size_of(k))

    def _size_of(self, k: int) -> float:
        """What a change of a parameter is compared with: its value, for a part of a complex number that of the number, for a phase 1."""
        if k >= 2 * len(self.numbers):
            return max(abs(self.all[k].value), 1e-9)
        first, own = k // 2 * 2, self.representation_of(self.numbers[k // 2])
        if own != CARTESIAN and k > first:
            return 1.0
        return abs(complex(*as_cartesian([p.value for p in self.all[first : first + 2]], own)))

    def random_numbers(
        self, x: np.ndarray, typical: np.ndarray, rng: np.random.Generator, normal: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> np.ndarray:
        """``x`` with every free complex number replaced by one of random phase and log-normal size.

        Args:
            x:        free parameters
            typical:  size of every coupling at which all waves are about equally strong
            rng:      random numbers
            normal:   turns phases that nothing determines to what they are fixed at
        """
        n = len(self.numbers)
        size = np.ones(n)
        if self._single:
            for number, factor, own in zip(self._number_of, self._factors, typical, strict=True):
                size[number] = own / abs(factor)
        values = self.full(x)
        fixed = [k for k in range(n) if all(p.fixed and not p.formula for p in self.all[2 * k : 2 * k + 2])]
        if fixed and self._single:
            size /= size[fixed[0]] / abs(self._numbers(values)[0][fixed[0]])
        size *= rng.lognormal(0.0, SPREAD, n)
        phase = 2 * np.pi * rng.random(n)
        z = size * np.exp(1j * phase)
        for k, number in enumerate(z if normal is None else normal(z)):
            values[2 * k : 2 * k + 2] = parts_of(number, self.representation_of(self.numbers[k]))
        return values[self._free_index]

    def couplings_of(self, x: np.ndarray) -> np.ndarray:
        """Couplings of many vectors, [vector, coupling]."""
        if not self._single or self._relations or len(self._asymmetric[0]) or self.feeds is not None:
            return np.array([self.native(row)[0] for row in x])
        values = np.repeat(self._base[None], len(x), axis=0)
        values[:, self._free_index] = x
        a, b = values[:, 0 : 2 * len(self.numbers) : 2], values[:, 1 : 2 * len(self.numbers) : 2]
        z = self._z(a, b)
        return self._factors * z[:, self._number_of]

    def _numbers(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """z, ∂z over its two parts [number, 2], and ∂²z over pairs of them [number, 2, 2]."""
        a, b = values[0 : 2 * len(self.numbers) : 2], values[1 : 2 * len(self.numbers) : 2]
        zero, one = np.zeros(len(a), dtype=complex), np.ones(len(a), dtype=complex)
        first, second = np.stack([one, 1j * one], axis=1), np.zeros((len(a), 2, 2), dtype=complex)
        if not self._cartesian.all():
            turn = np.exp(1j * b)
            polar = np.stack([np.stack([zero, 1j * turn], axis=1), np.stack([1j * turn, -a * turn], axis=1)], axis=1)
            first = np.where(self._cartesian[:, None], first, np.stack([turn, 1j * a * turn], axis=1))
            second = np.where(self._cartesian[:, None, None], second, polar)
        return self._z(a, b), first, second

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """∂(Re c, Im c, θ)/∂x, [native, free]."""
        return self._jacobian(x) if self._constant_jacobian is None else self._constant_jacobian

    def _jacobian(self, x: np.ndarray) -> np.ndarray:
        J = self._over_all(self.full(x))
        return J @ self.slopes(x) if self._relations else J[:, self._free_index]

    def _over_all(self, values: np.ndarray) -> np.ndarray:
        """∂(Re c, Im c, θ)/∂(all parameters); 0 over parameters of feeds that stand still."""
        n_z = len(self.numbers)
        dc = self._couplings_over_all(values)
        if self.feeds is not None:
            V, (dV, _) = self._feed_factors(values), self._feed_slopes(values)
            dc = (V[:, None] * dc[:, None] + self._couplings(values)[:, None, None] * dV).reshape(-1, len(self.all))
        n_c = len(dc)
        J = np.zeros((2 * n_c + self.n_theta, len(self.all)))
        J[:n_c], J[n_c : 2 * n_c] = dc.real, dc.imag
        J[2 * n_c :, 2 * n_z :] = np.eye(self.n_theta)
        return J

    def _feed_slopes(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂V/∂(all parameters) [feed, all], and ∂²V over pairs of those of feeds."""
        assert self.feeds is not None
        first, second = self.feeds.derivatives(values[self._feed_index], self._feeds_moving)
        dV = np.zeros((self.feeds.n_feeds, len(self.all)), dtype=complex)
        dV[:, self._feed_index] = first
        return dV, second

    def _couplings_over_all(self, values: np.ndarray) -> np.ndarray:
        """∂c/∂(all parameters) of couplings before feeds multiply them."""
        dc = self._split(values)[:, None] * self._over_numbers(values)
        rows, parts = self._asymmetric
        if len(rows):
            bare = self.bare._couplings(values)[rows]
            dc[rows, parts[:, 0]], dc[rows, parts[:, 1]] = self.sign * bare, 1j * self.sign * bare
        return dc

    def _over_numbers(self, values: np.ndarray) -> np.ndarray:
        """∂c/∂(all parameters) as if there were no asymmetry."""
        z, dz, _ = self._numbers(values)
        dc = np.zeros((len(self.couplings), len(self.all)), dtype=complex)
        for row, product in enumerate(self.couplings):
            for position, k in enumerate(product.numbers):
                others = product.factor * np.prod([z[j] for i, j in enumerate(product.numbers) if i != position])
                dc[row, 2 * k : 2 * k + 2] += others * dz[k]
        return dc

    def second(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Σ_native weights ∂²native/∂x∂x, [free, free]; weights of θ may be left out if they are 0."""
        if self.linear:
            return np.zeros((len(x), len(x)))
        values = self.full(x)
        H = self._second_over_all(values, weights)
        if not self._relations:
            return H[np.ix_(self._free_index, self._free_index)]
        D = self.slopes(x)
        over_all = weights @ self._over_all(values)[: len(weights)]
        H = D.T @ H @ D
        for k, arguments, relation in self._relations:
            H += over_all[k] * (D[arguments].T @ relation.second(values[arguments]) @ D[arguments])
        return H

    def _second_over_all(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The same over pairs of all parameters, as if none were a formula."""
        z, dz, d2z = self._numbers(values)
        V = self._feed_factors(values)
        n_c = len(self.couplings) * len(V)
        # Σ g_re ∂²Re c + g_im ∂²Im c = Re Σ conj(g) ∂²c with g = g_re + i g_im
        of_feeds = (weights[:n_c] - 1j * weights[n_c : 2 * n_c]).reshape(-1, len(V))
        g = of_feeds @ V
        H = np.zeros((len(self.all), len(self.all)))
        if self.feeds is not None:
            dV, d2V = self._feed_slopes(values)
            mixed = (self._couplings_over_all(values).T @ of_feeds @ dV).real
            H += mixed + mixed.T
            H[np.ix_(self._feed_index, self._feed_index)] += np.tensordot(self._couplings(values) @ of_feeds, d2V, axes=1).real
        for weight, product in zip(g * self._split(values), self.couplings, strict=True):
            members = product.numbers
            for i, k in enumerate(members):
                others = product.factor * np.prod([z[m] for n, m in enumerate(members) if n != i])
                H[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] += (weight * others * d2z[k]).real
                for j, l in enumerate(members):
                    if j != i:
                        rest = product.factor * np.prod([z[m] for n, m in enumerate(members) if n not in (i, j)])
                        H[2 * k : 2 * k + 2, 2 * l : 2 * l + 2] += (weight * rest * np.outer(dz[k], dz[l])).real
        rows, parts = self._asymmetric
        dc = self._over_numbers(values)[rows] if len(rows) else np.zeros((0, len(self.all)))
        for weight, slope, (re, im) in zip(self.sign * g[rows], dc, parts, strict=True):
            for place, mixed in ((re, (weight * slope).real), (im, (1j * weight * slope).real)):
                H[place] += mixed
                H[:, place] += mixed
        return H

    @cached_property
    def linear(self) -> bool:
        """Whether the map is linear, so that its Jacobian is constant."""
        single = bool(self._cartesian.all()) and self._single and not len(self._asymmetric[0]) and not self._feeds_moving.any()
        return single and all(relation.affine for relation in self.relations)
