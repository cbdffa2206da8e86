"""From the couplings of waves to the complex numbers that are fitted: one each, tied to others, or products over vertices."""

from __future__ import annotations

from cmath import isfinite
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.factorise import solve_products
from ctpwa.model.model import Model, Wave
from ctpwa.model.parameters import Product

WAVE, VERTEX = "wave", "vertex"
Ties = Mapping[str, tuple[str, complex]]


@dataclass(frozen=True)
class CouplingMap:
    """How couplings are made of fitted numbers.

    Attributes:
        numbers:   names of the complex numbers
        products:  every coupling as a constant times a product of them
        fixed:     numbers that are fixed to 1
        tied:      couplings that are a constant times another
    """

    numbers: tuple[str, ...]
    products: tuple[Product, ...]
    fixed: tuple[str, ...]
    tied: frozenset[str] = frozenset()

    def solve(self, names: Sequence[str], values: Mapping[str, complex]) -> dict[str, complex]:
        """The numbers behind values of couplings, all divided by a common factor so that the fixed ones are 1.

        Args:
            names:   all couplings, in the order of ``products``
            values:  couplings by name; those left out are 1, or follow from their ties
        """
        if not values:
            return {}
        given = {name: complex(values.get(name, 1.0)) for name in names if name in values or name not in self.tied}
        fixed = [self.numbers.index(name) for name in self.fixed]
        z = solve_products(dict(zip(names, self.products, strict=True)), len(self.numbers), fixed, given)
        return dict(zip(self.numbers, map(complex, z), strict=True))


def coupling_names(waves: Sequence[Wave]) -> tuple[str, ...]:
    """All complex couplings of these waves; a lineshape that is a basis has one for each of its functions, ``NAME:LABEL``."""
    names: dict[str, None] = {}
    for wave in waves:
        labels = ([f":{label}" for label in resonance.labels] or [""] for resonance in wave.resonances)
        names.update(dict.fromkeys(wave.coupling + "".join(choice) for choice in product(*labels)))
    return tuple(names)


def map_couplings(model: Model, names: Sequence[str], kind: str, ties: Ties, reference: str | None) -> CouplingMap:
    """The map of all couplings of a model.

    Args:
        model:      the model
        names:      its couplings
        kind:       ``wave``: one number per coupling; ``vertex``: a product of one number for each vertex and (L, S)
        ties:       coupling → (other coupling, complex factor): it is factor times the other
        reference:  the coupling whose number is fixed to 1; default: the first
    """
    if reference is not None and reference not in names:
        raise PhysicsError(f"reference wave {reference!r} is not a coupling of the model", suggest(reference, names))
    if kind == WAVE:
        return _with_asymmetries(_per_wave(names, ties, reference), names, model.asymmetries)
    if kind == VERTEX:
        if ties:
            raise PhysicsError(
                "couplings that are products over vertices cannot be tied one by one", "leave 'ties' out, or use couplings='wave'"
            )
        return _with_asymmetries(_per_vertex(model, names, reference or names[0]), names, model.asymmetries)
    raise PhysicsError(f"unknown kind of couplings {kind!r}", suggest(kind, [WAVE, VERTEX]))


def _with_asymmetries(mapped: CouplingMap, names: Sequence[str], asymmetries: Mapping[str, str]) -> CouplingMap:
    """Couplings with their Δ."""
    if not asymmetries:
        return mapped
    products = (replace(own, asymmetry=asymmetries.get(name, "")) for name, own in zip(names, mapped.products, strict=True))
    return replace(mapped, products=tuple(products))


def _per_wave(names: Sequence[str], ties: Ties, reference: str | None) -> CouplingMap:
    for name, (other, _) in ties.items():
        for coupling in (name, other):
            if coupling not in names:
                raise PhysicsError(f"tie of {coupling!r}, which is not a coupling of the model", suggest(coupling, names))
    followed = {name: _follow(name, ties) for name in names}  # an error if a row of ties has no end
    reference = reference or next(name for name in names if name not in ties)
    if reference in ties:
        raise PhysicsError(
            f"the reference wave {reference!r} is tied to {ties[reference][0]!r}", "choose another reference wave, or untie it"
        )
    numbers = [name for name in names if name not in ties]
    products = []
    for name in names:
        source, factor = followed[name]
        products.append(Product((numbers.index(source),), factor))
    return CouplingMap(tuple(numbers), tuple(products), (reference,), frozenset(ties))


def _follow(name: str, ties: Ties) -> tuple[str, complex]:
    """The untied coupling at the end of a row of ties, and the product of the factors along it."""
    seen, factor = [name], 1.0 + 0j
    while name in ties:
        name, own = ties[name]
        factor *= own
        if name in seen:
            raise PhysicsError(f"couplings are tied in a circle: {' -> '.join([*seen, name])}", "leave one of them untied")
        seen.append(name)
    if not isfinite(factor) or factor == 0:
        raise PhysicsError(f"the ties of {seen[0]!r} multiply to {factor:g}", "write factors of the order of 1")
    return name, factor


def _per_vertex(model: Model, names: Sequence[str], reference: str) -> CouplingMap:
    """C = Π_vertices g(vertex, L, S). The first (L, S) of every vertex of a resonance is 1: its scale is in the vertex above.

    At the parent's vertex the number in the reference coupling is 1.
    """
    waves = {wave.coupling: wave for wave in reversed(model.waves)}
    numbers: dict[str, int] = {}
    products: dict[str, Product] = {}
    fixed: dict[str, str] = {}
    for name in names:
        if name not in waves:
            raise PhysicsError(f"the coupling {name!r} belongs to a function of a basis", "splines and K-matrices need couplings='wave'")
        wave = waves[name]
        own = [f"{wave.chain.vertex(node)} {ls} {node.made or ''}".rstrip() for node, ls in zip(wave.chain.nodes, wave.ls, strict=True)]
        products[name] = Product(tuple(numbers.setdefault(vertex, len(numbers)) for vertex in own))
        for node, vertex in zip(wave.chain.nodes[1:], own[1:], strict=True):
            fixed.setdefault(wave.chain.vertex(node), vertex)
        if name == reference:
            fixed[""] = own[0]
    return CouplingMap(tuple(numbers), tuple(products[name] for name in names), tuple(fixed.values()))
