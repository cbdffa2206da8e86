"""Kπ S wave of FOCUS: a K-matrix of Kπ and Kη' with isospin 1/2, and one of Kπ with isospin 3/2.

K_½ = (s − s_½)/s_N [g gᵀ/(s_1 − s) + Σ_k C_k x^k],    K_3/2 = (s − s_3/2)/s_N Σ_k D_k x^k,    x = s/s_N − 1,    s_N = m_K² + m_π²
"""

from __future__ import annotations

import sympy as sp

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.lineshapes.formula import Formula, LineshapeKind, OtherChannel, Vertex, s
from ctpwa.model.lineshapes.phase_space import own_rho, rho

NAME = "kpi_s_wave"
REFERENCE = "FOCUS, PLB 653, 1 (2007)"
M_PION, M_KAON, M_ETA_PRIME = 0.13957039, 0.493677, 0.95778  # GeV
S_NORM = M_KAON**2 + M_PION**2
POLE, G_KPI, G_KETAP = 1.7919, 0.31072, -0.02323  # GeV², GeV
C_11, C_12, C_22 = (0.79299, -0.15099, 0.00811), (0.15040, -0.038266, 0.0022596), (0.17054, -0.0219, 0.00085655)
D_11 = (-0.22147, 0.026637, -0.00092057)
ADLER_HALF, ADLER_THREE_HALVES = 0.23, 0.27  # GeV²
PARTS = ("Kpi", "Ketap", "three_halves")


def build_kpi_s_wave(vertex: Vertex, part: str = "Kpi") -> Formula:
    """One part of the amplitude.

    Kpi, Ketap:    T_11 and T_12 of T = (1 − iK_½ρ)⁻¹ K_½: what is produced as Kπ or as Kη' and seen as Kπ
    three_halves:  1/(1 − iK_3/2 ρ_Kπ)
    """
    if part not in PARTS:
        raise PhysicsError(f"option 'part' of lineshape {NAME!r} is {part!r}", suggest(str(part), PARTS))
    light, heavy = sorted((vertex.m1, vertex.m2))
    if vertex.L != 0 or abs(light - M_PION) > 0.01 or abs(heavy - M_KAON) > 0.01:
        raise PhysicsError(
            f"lineshape {NAME!r} is the S wave of Kπ, not L = {vertex.L} of {vertex.m1:g} and {vertex.m2:g} GeV", "use lass or k_matrix"
        )
    x = s / sp.Float(S_NORM) - 1
    rho_1, rho_2 = own_rho(), rho(s, M_KAON, M_ETA_PRIME)
    if part == "three_halves":
        K = (s - sp.Float(ADLER_THREE_HALVES)) / sp.Float(S_NORM) * _polynomial(D_11, x)
        return Formula(NAME, 1 / (1 - sp.I * K * rho_1), (), REFERENCE, sp.Symbol(r"(1 - iK_{3/2}\rho_{K\pi})^{-1}"))
    # everything times s_1 − s, so that nothing is infinite at the pole
    adler, pole = (s - sp.Float(ADLER_HALF)) / sp.Float(S_NORM), sp.Float(POLE) - s
    smooth = [_polynomial(c, x) for c in (C_11, C_12, C_22)]
    k11, k12, k22 = (sp.Float(a * b) + pole * c for a, b, c in zip((G_KPI, G_KPI, G_KETAP), (G_KPI, G_KETAP, G_KETAP), smooth, strict=True))
    # (s_1 − s) det: the term in (s_1 − s)⁻² of k11 k22 − k12² cancels
    c11, c12, c22 = smooth
    determinant = sp.Float(G_KPI**2) * c22 + sp.Float(G_KETAP**2) * c11 - sp.Float(2 * G_KPI * G_KETAP) * c12 + pole * (c11 * c22 - c12**2)
    below = pole - adler**2 * rho_1 * rho_2 * determinant - sp.I * adler * (rho_1 * k11 + rho_2 * k22)
    above = adler * (k11 - sp.I * adler * rho_2 * determinant) if part == "Kpi" else adler * k12
    label = "11" if part == "Kpi" else "12"
    channels = (OtherChannel("Ketap", M_KAON, M_ETA_PRIME),)
    return Formula(NAME, above / below, (), REFERENCE, sp.Symbol(rf"[(1 - iK_{{1/2}}\rho)^{{-1}}K_{{1/2}}]_{{{label}}}"), channels)


def _polynomial(coefficients: tuple[float, ...], x: sp.Expr) -> sp.Expr:
    value: sp.Expr = sp.Integer(0)
    for c in reversed(coefficients):
        value = value * x + sp.Float(c)
    return value


KINDS = (
    LineshapeKind(
        "kpi_s_wave",
        build_kpi_s_wave,
        "Kπ S wave with isospin 1/2 and 3/2 (FOCUS)",
        {"part": f"{PARTS[0]} (default), {PARTS[1]} or {PARTS[2]}"},
    ),
)
