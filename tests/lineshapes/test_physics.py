"""What must hold whatever the parameters: unitarity, analyticity, limits; and numbers from the literature."""

import cmath
import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from ctpwa.model.lineshapes.barrier import barrier_momentum, nominal_q2
from ctpwa.model.lineshapes.formula import Vertex, csqrt, q2, s
from ctpwa.model.lineshapes.registry import build_lineshape
from lineshapes.contract import CASES, ETA, PI, K
from lineshapes.evaluate import numpy_values, torch_values


def breakup(m, m1, m2):
    return (m**2 - (m1 + m2) ** 2) * (m**2 - (m1 - m2) ** 2) / (4 * m**2)


def value(formula, m, q2_value, **parameters):
    return numpy_values(formula, m**2, q2_value, {p.name: parameters.get(p.name, p.default) for p in formula.parameters})[0]


@pytest.mark.parametrize("L", range(4))
def test_elastic_breit_wigner_is_unitary(L):
    vertex = Vertex(PI, PI, L, 3.0)
    formula = build_lineshape("breit_wigner", vertex)
    parameters = {"mass": 0.77, "width": 0.15}
    q0_2 = float(nominal_q2(sp.Float(0.77), vertex))
    for m in (0.3, 0.6, 0.77, 1.5):
        q_2 = breakup(m, PI, PI)
        F = value(formula, m, q_2, **parameters)
        growth = [float(barrier_momentum(L, sp.Float(x), 3.0)) for x in (q_2, q0_2)]
        T = 0.77**2 * 0.15 / m * growth[0] / growth[1] * F
        assert abs(T) ** 2 == pytest.approx(T.imag, rel=1e-12)


def test_breit_wigner_at_its_mass_is_imaginary():
    formula = build_lineshape("breit_wigner", Vertex(K, PI, 1, 3.0))
    F = value(formula, 0.8955, breakup(0.8955, K, PI), mass=0.8955, width=0.0473)
    assert abs(F * 0.8955 * 0.0473 - 1j) < 1e-12


@pytest.mark.parametrize("m", [0.64, 0.9, 1.435, 2.0])
def test_lass_is_elastic(m):
    vertex = Vertex(K, PI, 0, 3.0)
    q_2 = breakup(m, K, PI)
    F = value(build_lineshape("lass", vertex), m, q_2, mass=1.435, width=0.279)
    T = math.sqrt(q_2) / m * F
    assert abs(T) ** 2 == pytest.approx(T.imag, rel=1e-12)
    assert value(build_lineshape("generalised_lass", vertex), m, q_2, mass=1.435, width=0.279) == pytest.approx(T, rel=1e-12)


def test_lass_background_alone_has_the_phase_of_the_effective_range():
    vertex = Vertex(K, PI, 0, 3.0)
    m, a, r = 1.0, 2.07, 3.32
    q = math.sqrt(breakup(m, K, PI))
    F = value(build_lineshape("lass", vertex), m, q**2, mass=1.435, width=0.0, a=a, r=r)
    assert cmath.phase(F) == pytest.approx(math.atan(1 / (1 / (a * q) + r * q / 2)), rel=1e-12)


@pytest.mark.parametrize("m", [0.75, 0.98, 0.9873, 1.0, 1.3])
def test_flatte_is_unitary_in_the_open_channels(m):
    channels = {"pieta": "own", "KK": [K, K], "pietap": [PI, 0.95778]}
    formula = build_lineshape("flatte", Vertex(PI, ETA, 0, 3.0), channels=channels)
    g = {"g_pieta": 0.32, "g_KK": 0.4, "g_pietap": 0.2}
    F = value(formula, m, breakup(m, PI, ETA), mass=0.98, **g)
    open_widths = 0.0
    for (label, masses), coupling in zip(channels.items(), g.values(), strict=True):
        m1, m2 = (PI, ETA) if label == "pieta" else masses
        if m > m1 + m2:
            open_widths += coupling**2 * 2 * math.sqrt(breakup(m, m1, m2)) / m
    assert F.imag == pytest.approx(abs(F) ** 2 * open_widths, rel=1e-11)


def test_flatte_is_real_below_all_thresholds_and_obeys_schwarz_reflection():
    formula = build_lineshape("flatte", Vertex(PI, PI, 0, 3.0), channels={"KK": [K, K], "etaeta": [ETA, ETA]})
    point = {"mass": 0.98, "g_KK": 0.5, "g_etaeta": 0.3}
    assert value(formula, 0.9, 0.18, **point).imag == 0.0
    # on the physical sheet i√x is −√−x with the principal root
    names = [p.symbol for p in formula.parameters]
    F = sp.lambdify([s, *names], formula.expression, [{"csqrt": lambda x: 1j * mp.sqrt(-x)}, "mpmath"])
    for z in (mp.mpc(0.7, 0.3), mp.mpc(1.2, 0.01), mp.mpc(2.5, 1.0)):
        above, below = F(z, *point.values()), F(mp.conj(z), *point.values())
        assert abs(below - mp.conj(above)) < 1e-14 * abs(above)
    edge = complex(F(mp.mpc(1.3, 1e-15), *point.values()))
    assert edge == pytest.approx(value(formula, math.sqrt(1.3), 0.18, **point), rel=1e-12)


def test_gounaris_sakurai_is_normalised_at_zero_and_has_its_phase_at_the_mass():
    vertex = Vertex(PI, PI, 1, 3.0)
    formula = build_lineshape("gounaris_sakurai", vertex)
    mass, width = 0.7753, 0.1491
    F = sp.lambdify([s, q2, *(p.symbol for p in formula.parameters)], formula.expression, "mpmath")
    zero = F(mp.mpf("1e-14"), mp.mpf("1e-14") / 4 - mp.mpf(PI) ** 2, mass, width)
    assert complex(zero * mass**2) == pytest.approx(1.0, abs=1e-6)
    at_mass = value(formula, mass, breakup(mass, PI, PI), mass=mass, width=width)
    assert abs(at_mass.real) < 1e-12 * abs(at_mass)


def test_gounaris_sakurai_of_the_rho_has_the_published_d():
    """Gounaris and Sakurai give d = 0.48 for the ρ: m0² F(m0²) = i (m0/Γ0) (1 + d Γ0/m0)."""
    mass, width = 0.770, 0.130
    formula = build_lineshape("gounaris_sakurai", Vertex(PI, PI, 1, 3.0))
    peak = value(formula, mass, breakup(mass, PI, PI), mass=mass, width=width)
    d = (abs(peak) * mass * width - 1) * mass / width
    assert d == pytest.approx(0.48, abs=0.005)


def pole(denominator, guess):
    return complex(mp.sqrt(mp.findroot(denominator, mp.mpc(*guess) ** 2)))


def continued(formula, vertex):
    """1/F as a function of complex s, on the sheet below the own cut and above those of closed channels."""
    smooth = formula.expression.replace(lambda node: isinstance(node, sp.Piecewise) and s in node.free_symbols, _branch)
    names = [p.symbol for p in formula.parameters]
    F = sp.lambdify([s, q2, *names], 1 / smooth, [{"csqrt": lambda x: 1j * mp.sqrt(-x)}, "mpmath"])
    defaults = [p.default for p in formula.parameters]

    def denominator(z):
        momentum2 = (z - (vertex.m1 + vertex.m2) ** 2) * (z - (vertex.m1 - vertex.m2) ** 2) / (4 * z)
        # the two roots √s and √q² each continue from the real axis above threshold
        return F(z, momentum2, *defaults)

    return denominator


def _branch(node):
    """The branch of a Piecewise in s that holds at 0.25 GeV²."""
    return next(value for value, test in node.args if test == sp.true or bool(test.subs(s, sp.Rational(1, 4))))


def test_one_channel_sigma_has_the_pole_of_bes():
    """BES, PLB 598, 149: (541 ± 39) − i (252 ± 42) MeV."""
    vertex = Vertex(PI, PI, 0, 3.0)
    found = pole(continued(build_lineshape("bugg_one_channel", vertex), vertex), (0.54, -0.25))
    assert found.real == pytest.approx(0.541, abs=0.005)
    assert -found.imag == pytest.approx(0.252, abs=0.005)


def test_sigma_of_bugg_has_its_pole_near_the_published_one():
    """J. Phys. G 34, 151: (472 ± 30) − i (271 ± 30) MeV; the two treatments of closed channels lie on both sides of it."""
    vertex = Vertex(PI, PI, 0, 3.0)
    found = {
        how: pole(continued(build_lineshape("bugg_sigma", vertex, below_threshold=how), vertex), (0.47, -0.27))
        for how in ("continued", "closed")
    }
    assert all(abs(z.real - 0.472) < 0.030 for z in found.values())
    assert -found["closed"].imag < 0.271 < -found["continued"].imag
    assert all(abs(-z.imag - 0.271) < 0.050 for z in found.values())


FORMULAS = {case.spec: case for case in CASES if isinstance(case.spec, str) and case.spec.isidentifier()}


@pytest.mark.parametrize("spec", FORMULAS)
def test_finite_and_differentiable_everywhere(spec):
    """At threshold, just above, far above; nominal mass below, at and above every threshold; torch's derivatives included."""
    case = FORMULAS[spec]
    formula, vertex = case.build(), case.vertex
    threshold = vertex.m1 + vertex.m2
    nominal = [case.parameters.get("mass")]
    if "mass" in case.parameters:
        nominal += [0.5 * threshold, np.nextafter(threshold, 0), threshold, threshold + 1e-9, 2 * K, 2 * ETA, 3.0]
    lowest = max((p.lower or 0.0) for p in formula.parameters if p.name == "mass") if "mass" in case.parameters else 0.0
    for mass in nominal:
        parameters = dict(case.parameters) if mass is None else {**case.parameters, "mass": max(mass, lowest)}
        for m in (threshold, np.nextafter(threshold, 9), 1.0001 * threshold, 2 * K + 1e-12, 2 * ETA, 1.7, 4.0):
            q2_value = max(breakup(m, vertex.m1, vertex.m2), 0.0)
            if m < threshold or (q2_value == 0 and mass is not None and abs(m**2 - mass**2) < 1e-12):
                continue  # not an event, or the pole itself: without phase space there is no width
            for values in (numpy_values, torch_values) if m in (threshold, 1.7) else (numpy_values,):
                F, first, second = values(formula, m**2, q2_value, parameters)
                assert np.isfinite([F, *first, *second]).all(), f"m0 = {mass}, m = {m}"


def test_csqrt():
    x = sp.Symbol("x", real=True)
    assert csqrt(sp.Integer(4)) == 2
    assert csqrt(sp.Integer(-4)) == 2 * sp.I
    assert sp.diff(csqrt(x), x) == 1 / (2 * csqrt(x))
