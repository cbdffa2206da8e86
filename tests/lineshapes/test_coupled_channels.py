"""Coupled channels: dispersion relations, unitarity, limits with other lineshapes, poles, and what is refused."""

import mpmath as mp
import numpy as np
import pytest

import ctpwa
from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes.formula import Vertex
from ctpwa.model.lineshapes.registry import build_lineshape
from lineshapes import mp_reference
from lineshapes.contract import ETA, PI, K
from lineshapes.evaluate import value_of

PIONS = Vertex(PI, PI, 0, 3.0)
TWO = {"pipi": "own", "KK": [K, K]}


@pytest.mark.parametrize(("m1", "m2"), [(K, K), (PI, ETA)])
def test_chew_mandelstam_function_is_its_dispersion_integral(m1, m2):
    """(s − s_t)/π ∫ ρ(x)/((x − s_t)(x − s)) dx from the threshold s_t, below it."""
    m1, m2, s = mp.mpf(m1), mp.mpf(m2), mp.mpf(0.35)
    threshold = (m1 + m2) ** 2

    def integrand(t):  # x = threshold + t²
        x = threshold + t**2
        return 2 * mp.sqrt(x - (m1 - m2) ** 2) / (x * (x - s))

    integral = (s - threshold) / mp.pi * mp.quad(integrand, [0, 1, 10, 100, mp.inf])
    assert float(mp_reference.chew_mandelstam(s, m1, m2)) == pytest.approx(float(integral), rel=1e-12)


@pytest.mark.parametrize("dispersive", [False, True])
def test_scattering_is_unitary_between_both_thresholds(dispersive):
    """One pole in two channels: Im T⁻¹ = −ρ of the open one, T_11 = g F."""
    options = {"channels": TWO, "dispersive": dispersive}
    formula = build_lineshape("coupled_channels", PIONS, **options)
    numbers = {"mass1": 0.9, "g1_pipi": 0.5, "g1_KK": 0.8}
    for s in (0.2, 0.5, 0.9):
        q2 = s / 4 - PI**2
        T = 0.5 * value_of(formula, s, q2, numbers)
        assert (1 / T).imag == pytest.approx(-2 * np.sqrt(q2 / s), rel=1e-12)


def test_one_pole_is_a_flatte():
    options = {"channels": {"pipi": [PI, PI], "KK": "own", "etaeta": [ETA, ETA]}}
    kaons = Vertex(K, K, 0, 3.0)
    coupled, flatte = (build_lineshape(name, kaons, **options) for name in ("coupled_channels", "flatte"))
    g = {"pipi": 0.3, "KK": 0.7, "etaeta": 0.2}
    for s in (0.98, 1.1, 1.7):
        q2 = s / 4 - K**2
        F = value_of(coupled, s, q2, {"mass1": 0.97, **{f"g1_{c}": v for c, v in g.items()}})
        expected = 0.7 * value_of(flatte, s, q2, {"mass": 0.97, **{f"g_{c}": v for c, v in g.items()}})
        assert pytest.approx(expected, rel=1e-13) == F


def test_background_and_direct_production():
    """Every number of a K-matrix with a background of second degree, against the inversion in high precision."""
    channels = {"pipi": "own", "KK": [K, K], "etaeta": [ETA, ETA]}
    options = {"channels": channels, "poles": 2, "background": 2, "production": True}
    formula = build_lineshape("coupled_channels", PIONS, **options)
    numbers = {p.name: 0.1 + 0.37 * ((7 * i) % 5) for i, p in enumerate(formula.parameters)} | {"mass1": 0.98, "mass2": 1.4}
    for s in (0.3, 1.1, 2.2):
        expected = mp_reference.coupled_channels(mp.mpf(s), mp.mpf(s / 4 - PI**2), PIONS, **options, **numbers)
        assert value_of(formula, s, s / 4 - PI**2, numbers) == pytest.approx(complex(expected), rel=1e-12)


def test_the_pole_on_the_real_axis_of_k_is_no_pole_of_the_amplitude():
    formula = build_lineshape("coupled_channels", PIONS, channels=TWO, poles=2)
    numbers = {"mass1": 0.9, "g1_pipi": 0.5, "g1_KK": 0.8, "mass2": 1.5, "g2_pipi": 0.3, "g2_KK": 0.1, "beta2_re": 1.0, "beta2_im": 0.5}
    at = [value_of(formula, s, s / 4 - PI**2, numbers) for s in (0.81, 0.81 + 1e-9)]
    assert at[0] == pytest.approx(at[1], rel=1e-7)


def test_a_model_file_that_floats_poles():
    """Poles are zeros of the determinant, written out with complex numbers on the sheet of each."""
    numbers = {"mass1": 0.9, "g1_pipi": 0.4, "g1_KK": 0.3, "mass2": 1.5, "g2_pipi": 0.5, "g2_KK": 0.2, "beta2_re": 1.0, "beta2_im": 0.0}
    model = ctpwa.load_model(
        {
            "decay": "J/psi(1S) -> pi+ pi- omega(782)",
            "resonances": {
                "S": {
                    "in": "pi+ pi-",
                    "JP": "0+",
                    "lineshape": "coupled_channels",
                    "parameters": numbers,
                    "options": {"channels": TWO, "poles": 2, "dispersive": True},
                    "float": ["mass1", "g2_KK", "beta2_im"],
                }
            },
        }
    )
    data, phase_space = (ctpwa.generate_phase_space(model, n, seed=n) for n in (20, 100))
    likelihood = ctpwa.build_likelihood(model, data, phase_space, engine="reference")
    x, step = likelihood.start, 1e-5
    assert [name for name in likelihood.names if name.startswith("S.")] == ["S.mass1", "S.g2_KK", "S.beta2_im"]
    differences = [(likelihood.value(x + step * e) - likelihood.value(x - step * e)) / (2 * step) for e in np.eye(len(x))]
    np.testing.assert_allclose(likelihood.value_and_grad(x)[1], differences, rtol=1e-6, atol=1e-7)
    found = ctpwa.poles(None, model)
    assert [pole.sheet for pole in found] == [(-1, 1), (-1, -1), (-1, -1)]
    g = np.array([[0.4, 0.3], [0.5, 0.2]])
    for pole in found:
        s = pole.position**2
        rho = [sign * 1j * np.sqrt(-(1 - 4 * m**2 / s)) for sign, m in zip(pole.sheet, (PI, K), strict=True)]
        loops = [1j * r + r / np.pi * np.log((1 - r) / (1 + r)) for r in rho]
        assert abs(np.linalg.det(np.diag([0.9**2 - s, 1.5**2 - s]) - g @ np.diag(loops) @ g.T)) < 1e-12


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"poles": 0}, "option 'poles'"),
        ({"poles": True}, "option 'poles'"),
        ({"background": 7}, "option 'background'"),
        ({"production": "yes"}, "option 'production'"),
        ({"channel": "KKK"}, "option 'channel'"),
        ({"channels": {str(i): [0.1 * i, 0.2] for i in range(1, 5)}, "background": 0}, "has 4 channels"),
        ({"channels": {"a": "own", "b": [K, K, 1]}, "dispersive": True}, "has L = 1"),
        ({"channels": None}, "no channels given"),
    ],
)
def test_wrong_options_are_named(options, what):
    with pytest.raises(PhysicsError, match=what):
        build_lineshape("coupled_channels", PIONS, **{"channels": TWO, **options})


@pytest.mark.parametrize(
    ("kind", "options", "what"),
    [
        ("table", {"masses": [1, 2, 3, 4]}, "needs 'real' and 'imaginary'"),
        ("table", {"masses": [1, 2, 3, 4], "real": [1, 2, 3, 4], "phase": [0, 0, 0, 0]}, "needs 'real' and 'imaginary'"),
        ("table", {"masses": [1, 2, 3, 4], "imaginary": [1, 2, 3, 4]}, "needs 'real' and 'imaginary'"),
        ("table", {"masses": [1, 2, 3, 4], "real": [1, 2, 3]}, "option 'real'"),
        ("table", {"masses": [1, 2, 3, 4, 5], "real": [1, 2, 3, 4]}, "have 5 and 4 numbers"),
        ("table", {"masses": [1, 2, 2, 4], "real": [1, 2, 3, 4]}, "does not ascend"),
        ("breit_wigner_table", {"masses": [1, 2, 3, 4], "widths": [1, 2, 3, 4], "variable": "s"}, "option 'variable'"),
        ("kpi_s_wave", {}, "is the S wave of Kπ"),
        ("kpi_s_wave", {"part": "I32"}, "option 'part'"),
    ],
)
def test_wrong_tables_are_named(kind, options, what):
    with pytest.raises(PhysicsError, match=what):
        build_lineshape(kind, PIONS, **options)
