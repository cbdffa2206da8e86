"""Bugg's forms of the broad scalars σ and κ: widths with an Adler zero."""

from __future__ import annotations

from typing import Any

import sympy as sp

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.lineshapes.barrier import Q0, nominal_q2
from ctpwa.model.lineshapes.formula import Formula, LineshapeKind, LineshapeParameter, OtherChannel, Vertex, csqrt, s
from ctpwa.model.lineshapes.phase_space import own_rho, rho

M_PION, M_KAON, M_ETA = 0.13957039, 0.493677, 0.547862  # GeV

SIGMA_REFERENCE = "D. V. Bugg, J. Phys. G 34, 151 (2007), arXiv:hep-ph/0608081"
ONE_CHANNEL_REFERENCE = "D. V. Bugg, PLB 572, 1 (2003); numbers of the σ: BES, PLB 598, 149 (2004), arXiv:hep-ex/0406038"
BELOW_THRESHOLD = ("continued", "closed")
SIGMA_PARAMETERS = (
    LineshapeParameter("mass", "GeV", "M", lower=2 * M_PION, default=0.953),
    LineshapeParameter("b_1", "GeV", "b_1", default=1.302),
    LineshapeParameter("b_2", "GeV⁻¹", "b_2", default=0.340),
    LineshapeParameter("A", "GeV²", "A", lower=0.0, default=2.426),
    LineshapeParameter("g_4pi", "GeV", r"g_{4\pi}", lower=0.0, default=0.011),
    LineshapeParameter("r_KK", "", r"r_{K\bar K}", default=0.6),
    LineshapeParameter("r_etaeta", "", r"r_{\eta\eta}", default=0.2),
    LineshapeParameter("alpha", "GeV⁻²", r"\alpha", default=1.3),
)
# the σ in J/ψ → ω π+ π-; its pole is at 542 − 249i MeV
ONE_CHANNEL_SIGMA = {"mass": 0.9264, "b_1": 0.5843, "b_2": 1.6663, "A": 1.082}


def build_sigma(vertex: Vertex, adler_zero: Any = 0.41 * M_PION**2, below_threshold: str = "continued") -> Formula:
    """The σ of Bugg with ππ, KK, ηη and 4π widths.

        F    = 1 / (M² − s − g²(s) a(s) z(s) − i [g²(s) a(s) ρ_ππ + Σ_j r_j g²(s) (s/M²) e^(−α|s − 4m_j²|) ρ_j + M g_4π ρ_4π(s)/ρ_4π(M²)])
        g²   = M (b1 + b2 s) e^(−(s − M²)/A),    a = (s − s_A)/(M² − s_A),    j = KK, ηη
        z    = j(s) − j(M²),    j = [2 + ρ_ππ ln((1 − ρ_ππ)/(1 + ρ_ππ))]/π
        ρ_4π = 1 / (1 + e^(7.082 − 2.845 s))

    Below their thresholds ρ_KK and ρ_ηη are i|ρ|, or zero; both are in use.
    """
    if below_threshold not in BELOW_THRESHOLD:
        raise PhysicsError(
            f"option 'below_threshold' of lineshape 'bugg_sigma' is {below_threshold!r}", suggest(str(below_threshold), BELOW_THRESHOLD)
        )
    if vertex.L != 0 or max(abs(vertex.m1 - M_PION), abs(vertex.m2 - M_PION)) > 0.01:
        raise PhysicsError(
            f"lineshape 'bugg_sigma' is the S wave of two pions, not L = {vertex.L} of {vertex.m1:g} and {vertex.m2:g} GeV",
            "use flatte, breit_wigner or an expression",
        )
    s_A = _adler_zero(adler_zero, "bugg_sigma")
    M, b_1, b_2, A, g_4pi, r_KK, r_etaeta, alpha = (p.symbol for p in SIGMA_PARAMETERS)
    rho_event = own_rho()
    j_event = (2 + rho_event * sp.log((1 - rho_event) / (1 + rho_event))) / sp.pi

    def propagator(q0_2: sp.Expr, rho_KK: sp.Expr, rho_etaeta: sp.Expr) -> sp.Expr:
        rho_0 = 2 * sp.sqrt(q0_2) / M
        j_0 = (2 + rho_0 * sp.log((1 - rho_0) / (1 + rho_0))) / sp.pi
        g2 = M * (b_1 + b_2 * s) * sp.exp(-(s - M**2) / A)
        adler = (s - s_A) / (M**2 - s_A)
        pipi = g2 * adler * rho_event
        KK = r_KK * g2 * s / M**2 * sp.exp(-alpha * _distance(M_KAON)) * rho_KK
        etaeta = r_etaeta * g2 * s / M**2 * sp.exp(-alpha * _distance(M_ETA)) * rho_etaeta
        four_pi = M * g_4pi * _rho_4pi(s) / _rho_4pi(M**2)
        return 1 / (M**2 - s - g2 * adler * (j_event - j_0) - sp.I * (pipi + KK + etaeta + four_pi))

    phase_space = _open_rho if below_threshold == "closed" else _continued_rho
    expression = propagator(nominal_q2(M, vertex), phase_space(M_KAON), phase_space(M_ETA))
    printed = propagator(Q0**2, sp.Symbol(r"\rho_{K\bar K}"), sp.Symbol(r"\rho_{\eta\eta}"))
    others = OtherChannel("KK", M_KAON, M_KAON), OtherChannel("etaeta", M_ETA, M_ETA)
    return Formula("bugg_sigma", expression, SIGMA_PARAMETERS, SIGMA_REFERENCE, printed, others, unitary=True)


def build_one_channel(vertex: Vertex, adler_zero: Any = None) -> Formula:
    """One-channel form of Bugg, for σ → ππ and κ → Kπ.

        F = 1 / (M² − s − i M ρ(s) (s − s_A)/(M² − s_A) (b1 + b2 s) e^(−(s − M²)/A)),    ρ = 2q/√s

    s_A = m_π²/2 for ππ and m_K² − m_π²/2 for Kπ. The parameters of the σ have default values, those of the κ do not.
    """
    if vertex.L != 0:
        raise PhysicsError(f"lineshape 'bugg_one_channel' is an S wave, but this vertex has L = {vertex.L}", "use breit_wigner")
    light, heavy = sorted((vertex.m1, vertex.m2))
    s_A = _adler_zero(heavy**2 - light**2 / 2 if adler_zero is None else adler_zero, "bugg_one_channel")
    defaults = ONE_CHANNEL_SIGMA if heavy < M_PION + 0.01 else dict.fromkeys(ONE_CHANNEL_SIGMA)
    parameters = (
        LineshapeParameter("mass", "GeV", "M", lower=0.0, default=defaults["mass"]),
        LineshapeParameter("b_1", "GeV", "b_1", default=defaults["b_1"]),
        LineshapeParameter("b_2", "GeV⁻¹", "b_2", default=defaults["b_2"]),
        LineshapeParameter("A", "GeV²", "A", lower=0.0, default=defaults["A"]),
    )
    M, b_1, b_2, A = (p.symbol for p in parameters)
    width = M / (M**2 - s_A) * (b_1 + b_2 * s) * sp.exp(-(s - M**2) / A) * ((s - s_A) * own_rho())
    return Formula("bugg_one_channel", 1 / (M**2 - s - sp.I * width), parameters, ONE_CHANNEL_REFERENCE, unitary=True)


def _continued_rho(mass: float) -> sp.Expr:
    return rho(s, mass, mass)


def _open_rho(mass: float) -> sp.Expr:
    threshold = sp.Float(4 * mass**2)
    return csqrt(sp.Piecewise((1 - threshold / s, sp.Gt(s, threshold)), (sp.Integer(0), True)))


def _adler_zero(value: Any, lineshape: str) -> sp.Float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -100 < value < 100:
        raise PhysicsError(f"option 'adler_zero' of lineshape {lineshape!r} is {value!r}", "give the position of the Adler zero in GeV²")
    return sp.Float(value)


def _distance(mass: float) -> sp.Expr:
    """|s − 4m²|."""
    x = s - sp.Float(4 * mass**2)
    return sp.Piecewise((x, sp.Ge(x, 0)), (-x, True))


def _rho_4pi(s: sp.Expr) -> sp.Expr:
    return 1 / (1 + sp.exp(sp.Float(7.082) - sp.Float(2.845) * s))


KINDS = (
    LineshapeKind(
        "bugg_sigma",
        build_sigma,
        "σ/f0(500) with ππ, KK, ηη and 4π widths (Bugg)",
        {
            "adler_zero": "s_A in GeV²; 0.41 m_π² unless given",
            "below_threshold": "KK and ηη phase space below threshold: continued, i|ρ| (default), or closed, zero",
        },
    ),
    LineshapeKind(
        "bugg_one_channel",
        build_one_channel,
        "one-channel form with an Adler zero (Bugg), for σ → ππ and κ → Kπ",
        {"adler_zero": "s_A in GeV²; m_heavy² − m_light²/2 unless given"},
    ),
)
