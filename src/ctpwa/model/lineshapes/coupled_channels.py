"""Poles that share decay channels, all of whose numbers may float: a K-matrix with production vector, or its dispersive form.

    K_ij = Σ_α g_αi g_αj/(m_α² − s) + Σ_k c_ij,k s^k,    P_i = Σ_α β_α g_αi/(m_α² − s) + p_i,    F = [(1 − K Σ)⁻¹ P]_channel

Σ_i = iρ_i n_i², or the Chew-Mandelstam function of the channel. Nothing is divided by m_α² − s: the strengths y_α of the poles are
unknowns beside the amplitudes x_i,

    (m_α² − s) y_α − Σ_i g_αi Σ_i x_i = β_α,    x_i − Σ_α g_αi y_α − Σ_j c_ij Σ_j x_j = p_i .

Without c the second line gives x at once, and what is inverted has one row for each pole, whatever the number of channels.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from ctpwa.base.errors import PhysicsError, suggest
from ctpwa.model.lineshapes.barrier import barrier_momentum, barrier_polynomial
from ctpwa.model.lineshapes.channels import DecayChannel, besides_own, read_channels
from ctpwa.model.lineshapes.chew_mandelstam import real_part
from ctpwa.model.lineshapes.formula import Formula, LineshapeKind, LineshapeParameter, Vertex, csqrt, q2, s

Matrix = list[list[sp.Expr]]

NAME = "coupled_channels"
REFERENCE = "I. J. R. Aitchison, NPA 189, 417 (1972); PDG review of resonances; G. F. Chew and S. Mandelstam, PR 119, 467 (1960)"
MAX_POLES, MAX_DEGREE, MAX_MIXED = 4, 4, 3  # MAX_MIXED: channels with a background, whose matrix is inverted as a formula


def build_coupled_channels(
    vertex: Vertex,
    channels: Any = None,
    poles: Any = 1,
    channel: Any = None,
    background: Any = None,
    production: Any = False,
    dispersive: Any = False,
) -> Formula:
    """The amplitude of one channel; the wave's coupling is β of the first pole."""
    found = read_channels(channels, vertex, NAME)
    labels = [c.label for c in found]
    n_poles, degree = _whole(poles, "poles", 1, MAX_POLES), -1 if background is None else _whole(background, "background", 0, MAX_DEGREE)
    for option, value in (("production", production), ("dispersive", dispersive)):
        if not isinstance(value, bool):
            raise PhysicsError(f"option {option!r} of lineshape {NAME!r} is {value!r}", "write true or false")
    if degree >= 0 and len(found) > MAX_MIXED:
        raise PhysicsError(
            f"lineshape {NAME!r} with 'background' has {len(found)} channels", f"give at most {MAX_MIXED}, or leave the background out"
        )
    observed = str(channel) if channel is not None else next((c.label for c in found if c.own), labels[0])
    if observed not in labels:
        raise PhysicsError(f"option 'channel' of lineshape {NAME!r} is {observed!r}", suggest(observed, labels))
    loops = {sp.Dummy(f"loop_{c.label}"): _loop(c, vertex, dispersive) for c in found}
    masses = [LineshapeParameter(f"mass{a}", "GeV", f"m_{{{a}}}", lower=0.0) for a in range(1, n_poles + 1)]
    couplings = [[LineshapeParameter(f"g{a}_{c}", "GeV", f"g_{{{a},{c}}}") for c in labels] for a in range(1, n_poles + 1)]
    betas = [_complex(f"beta{a}", "", rf"\beta_{{{a}}}", None) for a in range(2, n_poles + 1)]
    smooth = {
        (i, j): [LineshapeParameter(f"c{k}_{labels[i]}_{labels[j]}", _unit(-2 * k), default=0.0) for k in range(degree + 1)]
        for i in range(len(found) if degree >= 0 else 0)
        for j in range(i, len(found))
    }
    direct = [_complex(f"p_{c}", "GeV^-1", f"p_{{{c}}}", 0.0) for c in labels] if production else []
    G = [[g.symbol for g in row] for row in couplings]
    beta = [sp.Integer(1), *(re.symbol + sp.I * im.symbol for re, im in betas)]
    p = [re.symbol + sp.I * im.symbol for re, im in direct] or [sp.Integer(0)] * len(found)
    B = {pair: sp.Add(*(c.symbol * s**k for k, c in enumerate(terms))) for pair, terms in smooth.items()}
    B |= {(j, i): value for (i, j), value in B.items()}
    own = labels.index(observed)
    if B:
        F = _mixed(G, masses, beta, p, B, list(loops), own)
    else:
        shared = [[sp.Add(*(g * h * loop for g, h, loop in zip(u, v, loops, strict=True))) for v in G] for u in G]
        D = [[(m.symbol**2 - s if a == b else 0) - shared[a][b] for b in range(n_poles)] for a, m in enumerate(masses)]
        source = [b + sp.Add(*(g * loop * p_i for g, loop, p_i in zip(row, loops, p, strict=True))) for b, row in zip(beta, G, strict=True)]
        F = p[own] + _solved(D, source, [row[own] for row in G])
    F = F.xreplace(loops)
    parameters = (
        *masses,
        *(g for row in couplings for g in row),
        *(part for pair in betas for part in pair),
        *(c for terms in smooth.values() for c in terms),
        *(part for pair in direct for part in pair),
    )
    return Formula(NAME, F, parameters, REFERENCE, _printed(observed), besides_own(found))


def _loop(channel: DecayChannel, vertex: Vertex, dispersive: bool) -> sp.Expr:
    """Σ of a channel: iρn², closed below threshold if L > 0; or C(s)."""
    if channel.L == 0:
        return sp.I * channel.rho + (real_part(channel.m1, channel.m2) if dispersive else 0)
    if dispersive:
        raise PhysicsError(
            f"lineshape {NAME!r} is dispersive, and channel {channel.label!r} has L = {channel.L}",
            "the Chew-Mandelstam function is that of S waves: leave  dispersive  out",
        )
    if channel.own:
        return sp.I * 2 / sp.sqrt(s) * barrier_momentum(channel.L, q2, vertex.d)
    open_q2 = sp.Piecewise((channel.q2, sp.Gt(s, sp.Float((channel.m1 + channel.m2) ** 2))), (sp.Integer(0), True))
    return sp.I * 2 / sp.sqrt(s) * open_q2**channel.L * csqrt(open_q2) / barrier_polynomial(channel.L, open_q2, vertex.d)


def _mixed(
    G: Matrix, masses: list[LineshapeParameter], beta: list[sp.Expr], p: list[sp.Expr], B: dict[Any, sp.Expr], loops: list[Any], own: int
) -> sp.Expr:
    """The amplitude of one channel from all equations: poles first, then channels."""
    n_poles, n = len(G), len(p)
    rows = [
        [*(masses[a].symbol ** 2 - s if a == b else sp.Integer(0) for b in range(n_poles)), *(-G[a][i] * loops[i] for i in range(n))]
        for a in range(n_poles)
    ]
    rows += [[*(-G[a][i] for a in range(n_poles)), *(int(i == j) - B[i, j] * loops[j] for j in range(n))] for i in range(n)]
    return _solved(rows, [*beta, *p], [sp.Integer(k == n_poles + own) for k in range(n_poles + n)])


def _solved(matrix: Matrix, source: list[sp.Expr], weights: list[sp.Expr]) -> sp.Expr:
    """Weights · matrix⁻¹ · source as one fraction, by cofactors; nothing is multiplied out."""
    n = len(matrix)
    terms = [
        weights[j] * source[i] * (-1) ** (i + j) * _determinant(_minor(matrix, i, j))
        for i in range(n)
        for j in range(n)
        if weights[j] != 0 and source[i] != 0
    ]
    return sp.Add(*terms) / _determinant(matrix)


def _minor(matrix: Matrix, i: int, j: int) -> Matrix:
    return [[value for l, value in enumerate(row) if l != j] for k, row in enumerate(matrix) if k != i]


def _determinant(matrix: Matrix) -> sp.Expr:
    if not matrix:
        return sp.Integer(1)
    return sp.Add(*((-1) ** j * matrix[0][j] * _determinant(_minor(matrix, 0, j)) for j in range(len(matrix))))


def _complex(name: str, unit: str, latex: str, default: float | None) -> tuple[LineshapeParameter, LineshapeParameter]:
    return tuple(  # type: ignore[return-value]
        LineshapeParameter(f"{name}_{part}", unit, rf"\mathrm{{{part.title()}}}\,{latex}", default=default) for part in ("re", "im")
    )


def _unit(power: int) -> str:
    return f"GeV^{power}" if power else ""


def _whole(value: Any, option: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise PhysicsError(f"option {option!r} of lineshape {NAME!r} is {value!r}", f"give a whole number from {low} to {high}")
    return value


def _printed(observed: str) -> sp.Expr:
    label = observed.replace("_", r"\_")
    return sp.Symbol(rf"\left[(1 - K\Sigma)^{{-1}} P\right]_{{\mathrm{{{label}}}}}")


KINDS = (
    LineshapeKind(
        "coupled_channels",
        build_coupled_channels,
        "poles that share channels, with numbers that may float: K-matrix of any L, or dispersive",
        {
            "channels": "table of channels: {label: own}, {label: [m1, m2]} or {label: [m1, m2, L]}",
            "poles": f"how many, up to {MAX_POLES}; 1 unless given",
            "channel": "label of the channel that is observed; the own one, or the first, unless given",
            "background": f"degree of the polynomial in s that is added to K, up to {MAX_DEGREE}; none unless given",
            "production": "whether channels are also produced directly, with constants p; false unless given",
            "dispersive": "whether phase space is the Chew-Mandelstam function, of S waves; false unless given",
        },
    ),
)
