"""Gounaris-Sakurai: a P-wave resonance of two particles of equal mass, made for ρ → ππ."""

from __future__ import annotations

import sympy as sp

from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes.barrier import Q0, barrier_polynomial, nominal_q2
from ctpwa.model.lineshapes.breit_wigner import MASS, WIDTH
from ctpwa.model.lineshapes.formula import Formula, LineshapeKind, Vertex, q2, s

REFERENCE = "G. J. Gounaris and J. J. Sakurai, PRL 21, 244 (1968)"
MAX_MASS_DIFFERENCE = 0.05  # of the mean; π± and π0 differ by 3.4 %


def build_gounaris_sakurai(vertex: Vertex, barrier: bool = False) -> Formula:
    """Gounaris-Sakurai, with F(s = 0) = 1/m0².

        F    = (1 + D Γ0/m0) / (m0² − s + f(s) − i m0 Γ(s)),    Γ(s) = Γ0 (q/q0)³ m0/√s
        f(s) = Γ0 m0²/q0³ [q² (h(s) − h(m0²)) + (m0² − s) q0² h'(m0²)]
        h(s) = (2/π) (q/√s) ln[(√s + 2q)/2μ]
        D    = (3/π) (μ²/q0²) ln[(m0 + 2q0)/2μ] + m0/(2π q0) − μ² m0/(π q0³)

    μ is the mass of a daughter, the mean of both where they differ a little. With ``barrier`` the width has the factor N_1(q0 d)/N_1(q d).
    """
    mu = sp.Float((vertex.m1 + vertex.m2) / 2)
    if not isinstance(barrier, bool):
        raise PhysicsError(f"option 'barrier' of lineshape 'gounaris_sakurai' is {barrier!r}", "write true or false")
    if vertex.L != 1:
        raise PhysicsError(f"lineshape 'gounaris_sakurai' is a P wave, but this vertex has L = {vertex.L}", "use breit_wigner")
    if abs(vertex.m1 - vertex.m2) > MAX_MASS_DIFFERENCE * float(mu):
        raise PhysicsError(
            f"lineshape 'gounaris_sakurai' is for two particles of equal mass, not {vertex.m1:g} and {vertex.m2:g} GeV", "use breit_wigner"
        )
    m0, gamma0 = MASS.symbol, WIDTH.symbol
    m, q = sp.sqrt(s), sp.sqrt(q2)
    h = 2 / sp.pi * q / m * sp.log((m + 2 * q) / (2 * mu))

    def propagator(q0_2: sp.Expr) -> sp.Expr:
        q0 = sp.sqrt(q0_2)
        log0 = sp.log((m0 + 2 * q0) / (2 * mu))
        h0 = 2 / sp.pi * q0 / m0 * log0
        slope = h0 * (1 / (8 * q0_2) - 1 / (2 * m0**2)) + 1 / (2 * sp.pi * m0**2)
        scale = gamma0 * m0**2 / q0**3
        shift = scale * (q2 * h - q2 * h0 + (m0**2 - s) * (q0_2 * slope))
        D = 3 / sp.pi * mu**2 / q0_2 * log0 + m0 / (2 * sp.pi * q0) - mu**2 * m0 / (sp.pi * q0**3)
        damping = barrier_polynomial(1, q0_2, vertex.d) / barrier_polynomial(1, q2, vertex.d) if barrier else sp.Integer(1)
        return (1 + D * gamma0 / m0) / (m0**2 - s + shift - sp.I * scale * (q**3 / m) * damping)

    unitary = not barrier
    return Formula("gounaris_sakurai", propagator(nominal_q2(m0, vertex)), (MASS, WIDTH), REFERENCE, propagator(Q0**2), unitary=unitary)


KINDS = (
    LineshapeKind(
        "gounaris_sakurai",
        build_gounaris_sakurai,
        "Gounaris-Sakurai, for ρ → ππ",
        {"barrier": "whether the running width has a Blatt-Weisskopf factor; false unless given"},
    ),
)
