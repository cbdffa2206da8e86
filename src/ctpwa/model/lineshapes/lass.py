"""LASS: the Kπ S wave as K0*(1430) plus an effective-range background, elastic and unitary."""

from __future__ import annotations

from typing import Any

import sympy as sp

from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes.barrier import Q0, nominal_q2
from ctpwa.model.lineshapes.breit_wigner import MASS, WIDTH
from ctpwa.model.lineshapes.formula import Formula, LineshapeKind, LineshapeParameter, Vertex, q2, s

REFERENCE = "D. Aston et al. (LASS), NPB 296, 493 (1988); a and r from BaBar, PRD 72, 072003 (2005)"
GENERALISED_REFERENCE = "BaBar, PRD 78, 034023 (2008); LASS, NPB 296, 493 (1988)"
LENGTH = LineshapeParameter("a", "GeV⁻¹", "a", default=2.07)
RANGE = LineshapeParameter("r", "GeV⁻¹", "r", default=3.32)
WEIGHTS = (
    LineshapeParameter("B", "", "B", default=1.0),
    LineshapeParameter("phi_B", "rad", r"\phi_B", default=0.0),
    LineshapeParameter("R", "", "R", default=1.0),
    LineshapeParameter("phi_R", "rad", r"\phi_R", default=0.0),
)


def build_lass(vertex: Vertex, cutoff: Any = None) -> Formula:
    """LASS; (q/√s) F = sin δ e^iδ with δ = δ_B + δ_R.

        F = √s/(q cot δ_B − iq) + e^(2iδ_B) (m0² Γ0/q0) / (m0² − s − i m0 Γ0 (q/√s)(m0/q0)),    q cot δ_B = 1/a + r q²/2

    e^(2iδ_B) = (q cot δ_B + iq)/(q cot δ_B − iq), and everything is multiplied by a, so that a = 0 is no background.
    """
    _check(vertex, "lass")
    a, r = LENGTH.symbol, RANGE.symbol
    switch = _switch(cutoff)
    q = sp.sqrt(q2)
    real, imaginary = 1 + a * r * q2 / 2, a * q * switch

    def amplitude(q0_2: sp.Expr) -> sp.Expr:
        background = sp.sqrt(s) * a * switch / (real - sp.I * imaginary)
        return background + (real + sp.I * imaginary) / (real - sp.I * imaginary) * _resonance(q0_2)

    m0 = MASS.symbol
    return Formula("lass", amplitude(nominal_q2(m0, vertex)), (MASS, WIDTH, LENGTH, RANGE), REFERENCE, amplitude(Q0**2), unitary=True)


def build_generalised_lass(vertex: Vertex) -> Formula:
    """LASS with free strengths and phases of background and resonance, normalised as published: without the factor √s/q of ``lass``.

    F = B sin(δ_B + φ_B) e^i(δ_B + φ_B) + R e^iφ_R e^2i(δ_B + φ_B) sin δ_R e^iδ_R
    """
    _check(vertex, "generalised_lass")
    a, r = LENGTH.symbol, RANGE.symbol
    B, phi_B, R, phi_R = (p.symbol for p in WEIGHTS)
    q = sp.sqrt(q2)
    # tan δ_B = aq/(1 + a r q²/2); turn that vector by φ_B
    real, imaginary = 1 + a * r * q2 / 2, a * q
    turned_real = real * sp.cos(phi_B) - imaginary * sp.sin(phi_B)
    turned_imaginary = imaginary * sp.cos(phi_B) + real * sp.sin(phi_B)
    turn = sp.cos(phi_R) + sp.I * sp.sin(phi_R)

    def amplitude(q0_2: sp.Expr) -> sp.Expr:
        resonance = R * turn * (turned_real + sp.I * turned_imaginary) * _resonance(q0_2) * (q / sp.sqrt(s))
        return (B * turned_imaginary + resonance) / (turned_real - sp.I * turned_imaginary)

    m0 = MASS.symbol
    parameters = (MASS, WIDTH, LENGTH, RANGE, *WEIGHTS)
    return Formula("generalised_lass", amplitude(nominal_q2(m0, vertex)), parameters, GENERALISED_REFERENCE, amplitude(Q0**2))


def _resonance(q0_2: sp.Expr) -> sp.Expr:
    """(√s/q) sin δ_R e^iδ_R."""
    m0, gamma0 = MASS.symbol, WIDTH.symbol
    coupling = m0**2 * gamma0 / sp.sqrt(q0_2)
    return coupling / (m0**2 - s - sp.I * coupling * (sp.sqrt(q2) / sp.sqrt(s)))


def _check(vertex: Vertex, name: str) -> None:
    if vertex.L != 0:
        raise PhysicsError(f"lineshape {name!r} is an S wave, but this vertex has L = {vertex.L}", "use breit_wigner")


def _switch(cutoff: Any) -> sp.Expr:
    """One below the mass where the background ends, zero above."""
    if cutoff is None:
        return sp.Integer(1)
    if isinstance(cutoff, bool) or not isinstance(cutoff, int | float) or not 0 < cutoff < 100:
        raise PhysicsError(f"option 'cutoff' of lineshape 'lass' is {cutoff!r}", "give the mass in GeV where the background ends")
    return sp.Piecewise((sp.Integer(1), sp.Lt(s, sp.Float(cutoff**2))), (sp.Integer(0), True))


KINDS = (
    LineshapeKind(
        "lass",
        build_lass,
        "Kπ S wave: K0*(1430) with an effective-range background (LASS)",
        {"cutoff": "mass in GeV above which the effective-range background is switched off; none unless given"},
    ),
    LineshapeKind("generalised_lass", build_generalised_lass, "LASS with free strengths and phases of background and resonance"),
)
