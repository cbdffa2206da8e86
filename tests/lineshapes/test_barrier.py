"""Barrier polynomials and the guard of the nominal break-up momentum."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from ctpwa.model.lineshapes.barrier import Q2_GUARD, barrier_polynomial, breakup_q2, effective_q2, nominal_q2
from ctpwa.model.lineshapes.formula import Vertex
from lineshapes import mp_reference

X = sp.Symbol("x", real=True)
M = sp.Symbol("mass", real=True)
CUT = float(Q2_GUARD)
GUARD = [sp.lambdify(X, sp.diff(effective_q2(X), X, n), "numpy") for n in range(3)]


def test_guard_changes_nothing_above_the_seam():
    for x in (CUT, 1.001 * CUT, 0.01, 0.3, 5.0, 100.0):
        assert GUARD[0](x) == pytest.approx(x, rel=1e-15)
        assert GUARD[1](x) == 1.0
        assert GUARD[2](x) == 0.0


def test_guard_is_the_documented_continuation_below():
    for x in (0.999 * CUT, 0.0, -0.001, -0.05, -3.0):
        v = 1 - x / CUT
        assert GUARD[0](x) == pytest.approx(CUT / (1 + v + v**2), rel=1e-14)
        assert 0 < GUARD[0](x) <= CUT


def test_guard_is_twice_continuously_differentiable_at_the_seam():
    step = 1e-9 * CUT
    for order in range(3):
        below, at, above = (GUARD[order](CUT + shift) for shift in (-step, 0.0, step))
        scale = CUT ** (1 - order)
        assert abs(below - at) < 1e-7 * scale
        assert abs(above - at) < 1e-7 * scale


@pytest.mark.parametrize(("m1", "m2"), [(0.493677, 0.493677), (0.13957, 0.493677), (0.0, 0.77)])
def test_nominal_momentum_is_finite_with_both_derivatives_for_every_mass(m1, m2):
    expression = nominal_q2(M, Vertex(m1, m2, 1, 3.0))
    threshold = m1 + m2
    masses = np.concatenate([np.linspace(0.01, 3.0, 300), [threshold, np.nextafter(threshold, 0), np.nextafter(threshold, 9)]])
    for order in range(3):
        values = sp.lambdify(M, sp.diff(expression, M, order), "numpy")(masses)
        assert np.isfinite(values).all()
        assert order or (values > 0).all()


@pytest.mark.parametrize("L", range(9))
def test_polynomial_is_the_spherical_hankel_function(L):
    d = 2.5
    q2 = sp.Symbol("q2")
    N = barrier_polynomial(L, q2, d)
    with mp.workdps(40):
        for q in (0.01, 0.3, 1.1):
            exact = mp_reference.barrier(L, mp.mpf(q), mp.mpf(d)) / mp.mpf(d) ** (2 * L)
            assert float(N.subs(q2, q**2)) == pytest.approx(float(exact), rel=1e-13)


def test_breakup_momentum():
    for m, m1, m2 in ((1.2, 0.3, 0.5), (1.0, 0.5, 0.5), (0.7, 0.3, 0.5)):
        q2 = float(breakup_q2(sp.Float(m**2), m1, m2))
        assert q2 == pytest.approx((m**2 - (m1 + m2) ** 2) * (m**2 - (m1 - m2) ** 2) / (4 * m**2), rel=1e-14, abs=1e-16)
        if q2 > 0:
            assert np.sqrt(m1**2 + q2) + np.sqrt(m2**2 + q2) == pytest.approx(m, rel=1e-14)
