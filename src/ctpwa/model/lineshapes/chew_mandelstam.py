"""The Chew-Mandelstam function of two particles: phase space with the real part that analyticity asks for.

    C(s) = ρ/π ln[(m1² + m2² − s + 2q√s)/(2 m1 m2)] − (m1² − m2²)/π (1/s − 1/(m1 + m2)²) ln(m1/m2),    ρ = 2q/√s

Im C = ρ above threshold, C = 0 at threshold, and C has no other cut. Every root, logarithm and arc tangent below is taken of a positive
number whatever the event is: where a piece does not hold, it is evaluated at a mass where it does.
"""

from __future__ import annotations

import math

import sympy as sp

from ctpwa.model.lineshapes.formula import s


def real_part(m1: float, m2: float) -> sp.Expr:
    """C(s) − iρ(s), with ρ = i|ρ| below threshold: real, and smooth at the threshold.

    With r = √[(s − (m1 + m2)²)/(s − (m1 − m2)²)] it is ρ/π ln[(1 − r)/(1 + r)] above threshold and 2|ρ|/π atan |r| below.
    """
    threshold, pseudo = (m1 + m2) ** 2, (m1 - m2) ** 2
    pieces = [(_above(threshold, pseudo), sp.Gt(s, sp.Float(threshold)))]
    if pseudo > 0:
        pieces += [(_between(threshold, pseudo), sp.Gt(s, sp.Float(pseudo))), (_below(threshold, pseudo), True)]
    else:
        pieces += [(_between(threshold, pseudo), True)]
    subtraction = sp.Integer(0)
    if pseudo > 0 and min(m1, m2) > 0:
        subtraction = -sp.Float((m1**2 - m2**2) / math.pi * math.log(m1 / m2)) * (1 / s - 1 / sp.Float(threshold))
    return sp.Piecewise(*pieces) + subtraction


def _above(threshold: float, pseudo: float) -> sp.Expr:
    x = sp.Piecewise((s, sp.Gt(s, sp.Float(threshold))), (sp.Float(2 * threshold), True))
    root = sp.sqrt((x - sp.Float(threshold)) * (x - sp.Float(pseudo)))
    r = root / (x - sp.Float(pseudo))
    return root / x / sp.pi * sp.log((1 - r) / (1 + r))


def _between(threshold: float, pseudo: float) -> sp.Expr:
    middle = sp.Float((threshold + pseudo) / 2)
    x = sp.Piecewise((middle, sp.Gt(s, sp.Float(threshold))), (s, sp.Gt(s, sp.Float(pseudo))), (middle, True))
    root = sp.sqrt((sp.Float(threshold) - x) * (x - sp.Float(pseudo)))
    return 2 * root / x / sp.pi * sp.atan(root / (x - sp.Float(pseudo)))


def _below(threshold: float, pseudo: float) -> sp.Expr:
    """Below (m1 − m2)², where C = ρ/π ln[(r + 1)/(r − 1)] is real, and i · i|ρ| is taken away."""
    x = sp.Piecewise((s, sp.Le(s, sp.Float(pseudo))), (sp.Float(pseudo / 2), True))
    root = sp.sqrt((sp.Float(threshold) - x) * (sp.Float(pseudo) - x))
    inverse = root / (sp.Float(threshold) - x)  # 1/r
    return root / x * (1 + sp.log((1 + inverse) / (1 - inverse)) / sp.pi)
