"""The part of a barrier that depends on parameters: a radius that floats, and what a vertex is at its nominal masses."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ctpwa.decay.barrier import DAMPED, EXPONENTIAL
from ctpwa.decay.chain import Chain, Node
from ctpwa.decay.spin import LS
from ctpwa.model.lineshapes.barrier import barrier_polynomial, breakup_q2, effective_q2
from ctpwa.model.lineshapes.breit_wigner import MASS
from ctpwa.model.lineshapes.formula import RADIUS, Formula, LineshapeParameter, q2, symbols_of
from ctpwa.model.placing import Places, UnknownMassError


@dataclass(frozen=True)
class VertexFactor:
    """A formula in q² of a vertex and parameters, and the names of these in the model."""

    formula: Formula
    names: tuple[str, ...]


class VertexFactors:
    """Factors of vertices that are not in the spin amplitudes, each made once.

    Args:
        places:  the lineshapes at their vertices
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._known: dict[tuple[tuple[str, ...], sp.Expr], VertexFactor] = {}

    def of(self, chain: Chain, node: Node, ls: LS) -> VertexFactor | None:
        """The factor of a vertex with (L, S); None if all of its barrier is in the spin amplitude.

            d^l √N_l(q0 d) q0^−l / d^l √N_l(q d),    exp(½ (q0² − q²) d²) q0^−l

        Raises:
            UnknownMassError: if it is normalised at nominal masses, and a daughter has none
        """
        barrier = node.growth
        l = barrier.of(ls.L)
        exponential = barrier.form == EXPONENTIAL
        if (l == 0 and not exponential) or (not barrier.parameter and barrier.normalised == "no"):
            return None
        names: dict[LineshapeParameter, str] = {RADIUS: barrier.parameter} if barrier.parameter else {}
        d = RADIUS.symbol if barrier.parameter else sp.Float(barrier.radius)
        damped = barrier.form in DAMPED
        expression: sp.Expr = sp.Integer(1)

        def damping(q2: sp.Expr) -> sp.Expr:
            return sp.exp(-(d**2) * q2 / 2) if exponential else d**-l / sp.sqrt(barrier_polynomial(l, q2, d))

        if damped and barrier.parameter:
            expression = damping(q2)
        if barrier.normalised != "no":
            q0_2 = effective_q2(self._nominal_q2(chain, node, names))
            if damped:
                expression = expression / damping(q0_2)
            if barrier.normalised == "all":
                expression = expression / q0_2 ** sp.Rational(l, 2)
        used = [(p, name) for p, name in names.items() if p.symbol in symbols_of(expression)]
        key = tuple(name for _, name in used), expression
        if key not in self._known:
            self._known[key] = VertexFactor(Formula("barrier", expression, tuple(p for p, _ in used)), key[0])
        return self._known[key]

    def _nominal_q2(self, chain: Chain, node: Node, names: dict[LineshapeParameter, str]) -> sp.Expr:
        """q² at nominal masses, of which those that are parameters are symbols."""
        masses: list[sp.Expr] = []
        for i, state in enumerate((node, *node.daughters)):
            mass = self._mass(chain, state, f"mass_{i}", names)
            if mass is None:
                raise UnknownMassError(state.resonance if isinstance(state, Node) else "", chain.vertex(node), "barrier")
            masses.append(mass)
        M, m1, m2 = masses
        return breakup_q2(M**2, m1, m2)

    def _mass(self, chain: Chain, state: Node | int, symbol: str, names: dict[LineshapeParameter, str]) -> sp.Expr | None:
        if isinstance(state, Node) and state.resonance and self._places.has_mass_parameter(state.resonance):
            parameter = LineshapeParameter(symbol, MASS.unit, MASS.latex, MASS.lower)
            names[parameter] = f"{state.resonance}.mass"
            return parameter.symbol
        known = chain.decay.parent.mass if state == chain.root and not chain.root.resonance else self._places.nominal_mass(chain, state)
        return None if known is None else sp.Float(known)
