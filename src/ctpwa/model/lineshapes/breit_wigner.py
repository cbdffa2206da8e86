"""Breit-Wigner propagators: mass-dependent width, constant width, several decay channels."""

from __future__ import annotations

from typing import Any

import sympy as sp

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.lineshapes.barrier import Q0, barrier_momentum, barrier_polynomial, effective_q2, nominal_q2
from ctpwa.model.lineshapes.channels import DecayChannel, besides_own, read_channels
from ctpwa.model.lineshapes.formula import Formula, LineshapeKind, LineshapeParameter, Vertex, csqrt, q2, s

MASS = LineshapeParameter("mass", "GeV", "m_0", lower=0.0)
"""The parameter m0, from the PDG unless a model gives it."""
WIDTH = LineshapeParameter("width", "GeV", r"\Gamma_0", lower=0.0)
"""The parameter Γ0, from the PDG unless a model gives it."""
MOMENTA = ("nominal", "event")
REFERENCE = "J. M. Blatt and V. F. Weisskopf, Theoretical Nuclear Physics (1952); F. von Hippel and C. Quigg, PRD 5, 624 (1972)"


def build_breit_wigner(vertex: Vertex, q0: str = "nominal") -> Formula:
    """Breit-Wigner with the width of a two-body decay with orbital angular momentum L.

        F = 1 / (m0² − s − i m0 Γ(s)),    Γ(s) = Γ0 (q/q0)^(2L+1) (m0/√s) N_L(q0 d)/N_L(q d)

    q0 is that of the nominal masses of the daughters, or of their masses in the event.
    """
    if q0 not in MOMENTA:
        raise PhysicsError(f"option 'q0' of lineshape 'breit_wigner' is {q0!r}", suggest(str(q0), MOMENTA))
    m0, gamma0 = MASS.symbol, WIDTH.symbol
    at_nominal = nominal_q2(m0, vertex) if q0 == "nominal" else _q0_of_event(m0, vertex)

    def propagator(q0_2: sp.Expr) -> sp.Expr:
        at_nominal_mass = m0**2 * gamma0 / barrier_momentum(vertex.L, q0_2, vertex.d)
        in_event = barrier_momentum(vertex.L, q2, vertex.d) / sp.sqrt(s)
        return 1 / (m0**2 - s - sp.I * at_nominal_mass * in_event)

    return Formula("breit_wigner", propagator(at_nominal), (MASS, WIDTH), REFERENCE, propagator(Q0**2), unitary=q0 == "nominal")


def _q0_of_event(m0: sp.Expr, vertex: Vertex) -> sp.Expr:
    """Effective q0² with the mass that the daughter which is a resonance has in the event.

    With m of the other daughter its energy is √(q² + m²), so M² = s + m² − 2√s √(q² + m²), and q0² = ((m0² + m² − M²)/2m0)² − m².
    """
    if all(vertex.varying):
        raise PhysicsError("lineshape 'breit_wigner' with q0: event has two daughters that are resonances", "say  q0: nominal")
    if not any(vertex.varying):
        return nominal_q2(m0, vertex)
    m = sp.Float(vertex.m2 if vertex.varying[0] else vertex.m1)
    M2 = s + m**2 - 2 * sp.sqrt(s) * sp.sqrt(q2 + m**2)
    return effective_q2(((m0**2 + m**2 - M2) / (2 * m0)) ** 2 - m**2)


def build_constant_width(vertex: Vertex) -> Formula:
    """F = 1 / (m0² − s − i m0 Γ0)."""
    m0, gamma0 = MASS.symbol, WIDTH.symbol
    return Formula("breit_wigner_constant_width", 1 / (m0**2 - s - sp.I * m0 * gamma0), (MASS, WIDTH), "PDG review of resonances")


def build_channels(vertex: Vertex, channels: Any = None) -> Formula:
    """Breit-Wigner with a partial width for every decay channel; a channel is closed below its threshold.

    F = 1 / (m0² − s − i m0 Σ_j Γ_j(s)),    Γ_j(s) = Γ_j (q_j/q_j0)^(2L_j+1) (m0/√s) N_Lj(q_j0 d)/N_Lj(q_j d)
    """
    m0 = MASS.symbol
    found = read_channels(channels, vertex, "breit_wigner_channels")
    widths = [LineshapeParameter(f"width_{c.label}", "GeV", c.symbol(r"\Gamma").name, lower=0.0) for c in found]

    def propagator(nominal: list[sp.Expr], in_event: list[sp.Expr]) -> sp.Expr:
        parts = zip(found, widths, nominal, in_event, strict=True)
        terms = [m0**2 * width.symbol / barrier_momentum(c.L, q0_2, vertex.d) * momentum / sp.sqrt(s) for c, width, q0_2, momentum in parts]
        return 1 / (m0**2 - s - sp.I * sp.Add(*terms))

    expression = propagator([c.nominal_q2(m0) for c in found], [_open_momentum(c, vertex.d) for c in found])
    printed = propagator([c.symbol("q", "0,") ** 2 for c in found], [barrier_momentum(c.L, c.symbol("q") ** 2, vertex.d) for c in found])
    return Formula("breit_wigner_channels", expression, (MASS, *widths), REFERENCE, printed, besides_own(found), unitary=True)


def _open_momentum(channel: DecayChannel, d: float | sp.Symbol) -> sp.Expr:
    """q^(2L+1)/N_L above the threshold of the channel, zero below."""
    if channel.own:
        return barrier_momentum(channel.L, q2, d)
    open_q2 = sp.Piecewise((channel.q2, sp.Gt(s, sp.Float((channel.m1 + channel.m2) ** 2))), (sp.Integer(0), True))
    # csqrt instead of a half-integer power: sympy would move the power into the branch that is not taken
    return open_q2**channel.L * csqrt(open_q2) / barrier_polynomial(channel.L, open_q2, d)


KINDS = (
    LineshapeKind(
        "breit_wigner",
        build_breit_wigner,
        "Breit-Wigner with mass-dependent width and Blatt-Weisskopf barriers",
        {"q0": "masses of the daughters in q0: nominal (default), or event"},
    ),
    LineshapeKind("breit_wigner_constant_width", build_constant_width, "Breit-Wigner with constant width"),
    LineshapeKind(
        "breit_wigner_channels",
        build_channels,
        "Breit-Wigner with a mass-dependent partial width for every decay channel",
        {"channels": "table of decay channels: {label: own} or {label: [m1, m2]} or {label: [m1, m2, L]}"},
    ),
)
