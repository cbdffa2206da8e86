"""K-matrix: against a direct inversion in high precision, unitarity, poles of the literature."""

import mpmath as mp
import numpy as np
import pytest

from ctpwa.base.errors import PhysicsError
from ctpwa.model.lineshapes import kmatrix
from ctpwa.model.lineshapes.formula import RADIUS, Vertex
from ctpwa.model.lineshapes.registry import build_lineshape
from lineshapes import mp_reference
from lineshapes.contract import ETA, PI, K
from lineshapes.evaluate import value_of

PIONS = Vertex(PI, PI, 0, 3.0)
TWO_CHANNELS = {
    "channels": {"pipi": "own", "KK": [K, K], "Keta": [K, ETA]},
    "poles": [{"mass": 0.9, "couplings": [0.5, -0.3, 0.1]}, {"mass": 1.4, "couplings": [0.2, 0.6, -0.4]}],
    "background": [[0.1, 0.2, 0.0], [0.2, -0.3, 0.1], [0.0, 0.1, 0.2]],
    "s0": -1.5,
    "adler": [-0.2, 0.01],
    "production_s0": -2.0,
}


def momentum2(s):
    return s / 4 - PI**2


def matrix_of(basis):
    """The KMatrix behind a basis."""
    return basis.evaluate.func.__self__


def exact(s, options, index, channel):
    """F of one production coupling, by inverting 1 − iKρ."""
    n_poles, labels = len(options["poles"]), list(options["channels"])
    coefficients = [0.0] * (n_poles + len(labels))
    coefficients[index] = 1.0
    rho = []
    for masses in options["channels"].values():
        m1, m2 = (PI, PI) if masses == "own" else masses
        m1, m2 = mp.mpf(m1), mp.mpf(m2)
        size = mp.sqrt(abs(4 * mp_reference.breakup2(s, m1, m2) / s))
        rho.append(size if s > (m1 + m2) ** 2 else 1j * size)
    return mp_reference.k_matrix(
        s,
        rho,
        [mp.mpf(pole["mass"]) for pole in options["poles"]],
        [[mp.mpf(g) for g in pole["couplings"]] for pole in options["poles"]],
        options["background"],
        mp.mpf(options["s0"]),
        options["adler"],
        coefficients[:n_poles],
        coefficients[n_poles:],
        mp.mpf(options["production_s0"]),
        labels.index(channel),
    )


@pytest.mark.parametrize("channel", ["pipi", "KK", "Keta"])
def test_production_amplitudes_equal_direct_inversion(channel):
    basis = build_lineshape("k_matrix", PIONS, channel=channel, **TWO_CHANNELS)
    assert basis.labels == ("beta_1", "beta_2", "f_pipi", "f_KK", "f_Keta")
    masses = np.array([0.3, 0.62, 0.89, 0.95, 1.02, 1.41, 2.3])
    s = masses**2
    values = basis.values(s, momentum2(s))
    assert values.shape == (5, len(s))
    with mp.workdps(40):
        for index in range(5):
            reference = [complex(exact(mp.mpf(x), TWO_CHANNELS, index, channel)) for x in s]
            np.testing.assert_allclose(values[index], reference, rtol=1e-12, atol=1e-13)


def test_pipi_s_wave_equals_direct_inversion():
    basis = build_lineshape("pipi_s_wave", PIONS)
    s = np.array([0.29, 0.5, 0.85, 0.97, 1.1, 1.3, 1.55, 1.9]) ** 2
    values = basis.values(s, momentum2(s))
    pion = mp.mpf(0.13957039)
    thresholds = [2 * pion, 2 * mp.mpf(0.493677), None, 2 * mp.mpf(0.547862), mp.mpf(0.547862) + mp.mpf(0.95778)]
    scattering = [[0.0] * 5 for _ in range(5)]
    for j, f in enumerate((0.23399, 0.15044, -0.20545, 0.32825, 0.35412)):
        scattering[0][j] = scattering[j][0] = f
    with mp.workdps(40):
        for e, x in enumerate(map(mp.mpf, s)):
            low = 1.2274 + 0.00370909 / x**2 - 0.111203 / x - 6.39017 * x + 16.8358 * x**2 - 21.8845 * x**3 + 11.3153 * x**4
            rho = [mp_reference.ranked_sqrt(1 - t**2 / x) if t else None for t in thresholds]
            rho[2] = low * mp.sqrt(1 - 16 * pion**2) if x < 1 else mp.sqrt(1 - 16 * pion**2 / x)
            for index in range(10):
                c = [0.0] * 10
                c[index] = 1.0
                adler = (mp.mpf(-0.15), pion**2 / 2)
                s0 = mp.mpf(-3.92637)
                reference = mp_reference.k_matrix(
                    x, rho, kmatrix.PIPI_MASSES, kmatrix.PIPI_COUPLINGS, scattering, s0, adler, c[:5], c[5:], s0, 0
                )
                assert abs(values[index, e] - complex(reference)) < 1e-12 * max(1e-2, abs(complex(reference)))


def test_finite_on_the_poles_and_continuous_there():
    basis = build_lineshape("pipi_s_wave", PIONS)
    poles = np.array(kmatrix.PIPI_MASSES) ** 2
    at = basis.values(poles, momentum2(poles))
    beside = basis.values(poles * (1 + 1e-9), momentum2(poles * (1 + 1e-9)))
    assert np.isfinite(at).all()
    np.testing.assert_allclose(at, beside, rtol=1e-6, atol=1e-7)


def test_one_function_at_a_time_is_the_same():
    basis = build_lineshape("k_matrix", PIONS, **TWO_CHANNELS)
    s = np.linspace(0.1, 4, 11)
    together = basis.values(s, momentum2(s))
    for function, row in zip(basis.functions, together, strict=True):
        np.testing.assert_array_equal(function(s, momentum2(s)), row)


def test_chunks_do_not_show():
    matrix = matrix_of(build_lineshape("pipi_s_wave", PIONS))
    s = np.linspace(0.1, 3, 37)
    whole = matrix.production(s, momentum2(s), 0)
    np.testing.assert_array_equal(matrix.production(s, momentum2(s), 0, chunk=10), whole)


def scattering(matrix, s, q2):
    """T = (1 − iKρ)⁻¹ K [event, channel, channel], with K infinite at its poles."""
    residues = np.einsum("ai,aj->aij", matrix.couplings, matrix.couplings)
    poles = np.einsum("ea,aij->eij", 1 / (matrix.masses**2 - s[:, None]), residues)
    k = matrix.adler_factor(s)[:, None, None] * poles + matrix.smooth(s)
    return np.linalg.solve(np.eye(k.shape[1]) - 1j * k * matrix.rho(s, q2)[:, None, :], k)


@pytest.mark.parametrize(("spec", "options"), [("k_matrix", TWO_CHANNELS), ("pipi_s_wave", {})])
def test_scattering_is_unitary_above_all_thresholds(spec, options):
    matrix = matrix_of(build_lineshape(spec, PIONS, **options))
    s = np.linspace(2.4, 4.0, 13)
    root = np.sqrt(matrix.rho(s, momentum2(s)))
    assert np.abs(root.imag).max() == 0
    S = np.eye(root.shape[1]) + 2j * root[:, :, None] * scattering(matrix, s, momentum2(s)) * root[:, None, :]
    np.testing.assert_allclose(S @ S.conj().swapaxes(1, 2), np.broadcast_to(np.eye(root.shape[1]), S.shape), atol=1e-12)
    np.testing.assert_allclose(S, S.swapaxes(1, 2), atol=1e-12)


def test_production_in_the_elastic_region_has_the_phase_of_scattering():
    """Watson's theorem: with real production couplings, F is T times a real function below the second threshold."""
    options = {**TWO_CHANNELS, "background": None, "adler": None}
    basis = build_lineshape("k_matrix", PIONS, **options)
    s = np.linspace(0.1, 0.9, 9)
    T = scattering(matrix_of(basis), s, momentum2(s))[:, 0, 0]
    for row in basis.values(s, momentum2(s)):
        ratio = row / T
        np.testing.assert_allclose(ratio.imag, 0, atol=1e-12 * np.abs(ratio).max())


def test_scattering_is_real_below_all_thresholds():
    options = {**TWO_CHANNELS, "channels": {"KK": [K, K], "Keta": [K, ETA], "etaeta": [ETA, ETA]}}
    T = scattering(matrix_of(build_lineshape("k_matrix", PIONS, **options)), np.linspace(0.3, 0.9, 7), np.ones(7))
    assert np.abs(T.imag).max() < 1e-14


@pytest.mark.parametrize(("mass", "half_width", "closed"), [(1.019, 0.038, (1, 3, 4)), (1.489, 0.058, ())])
def test_published_poles_of_the_pipi_s_wave(mass, half_width, closed):
    """Poles quoted with the parametrisation: f0(980) at 1.019 − 0.038i and f0(1500) at 1.489 − 0.058i GeV.

    The masses and the 4π phase space here are not exactly those of the fit, hence 3 MeV.
    """
    thresholds = [2 * PI, 2 * K, 4 * PI, 2 * ETA, ETA + 0.95778]

    def determinant(z):
        rho = [mp.sqrt(1 - t**2 / z) * (-1 if i in closed else 1) for i, t in enumerate(thresholds)]
        system = mp.eye(5)
        adler = 1.15 / (z + 0.15) * (z - PI**2 / 2)
        for i in range(5):
            for j in range(5):
                poles = sum(g[i] * g[j] / (m**2 - z) for m, g in zip(kmatrix.PIPI_MASSES, kmatrix.PIPI_COUPLINGS, strict=True))
                f = kmatrix.PIPI_SCATTERING[max(i, j)] if min(i, j) == 0 else 0.0
                system[i, j] -= 1j * adler * (poles + f * (1 + 3.92637) / (z + 3.92637)) * rho[j]
        return mp.det(system)

    found = complex(mp.sqrt(mp.findroot(determinant, mp.mpc(mass, -half_width) ** 2)))
    assert found.real == pytest.approx(mass, abs=0.003)
    assert -found.imag == pytest.approx(half_width, abs=0.003)


def test_one_pole_one_channel_is_a_breit_wigner():
    options = {"channels": {"pipi": "own"}, "poles": [{"mass": 0.8, "couplings": [0.4]}]}
    s = np.linspace(0.1, 2, 7)
    rho = 2 * np.sqrt(momentum2(s) / s)
    expected = 0.4 / (0.8**2 - s - 1j * 0.4**2 * rho)
    np.testing.assert_allclose(build_lineshape("k_matrix", PIONS, **options).values(s, momentum2(s))[0], expected, rtol=1e-13)


@pytest.mark.parametrize("form", kmatrix.FOUR_PIONS)
def test_four_pion_phase_space(form):
    s = np.array([16 * PI**2, 0.5, 0.999999, 1.0, 2.0])
    rho = kmatrix.FOUR_PIONS[form](s, s)
    assert (np.diff(rho) > 0).sum() >= 3
    assert abs(rho[0]) < 1e-2
    assert rho[3] == pytest.approx(np.sqrt(1 - 16 * PI**2), rel=1e-6)
    assert rho[2] == pytest.approx(rho[3], rel=5e-3)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"poles": None}, "poles"),
        ({"poles": [{"mass": 1.0}]}, "poles"),
        ({"poles": [{"mass": 1.0, "couplings": [1, 2]}]}, "poles"),
        ({"poles": [{"mass": "a", "couplings": [1, 2, 3]}]}, "poles"),
        ({"channels": None}, "channels"),
        ({"channels": {"a": [1.0]}}, "channels"),
        ({"channels": {"a": [1.0, 1.0, 1.5], "b": [1, 1], "c": [1, 1]}}, "channels"),
        ({"polynomial": [[1, 2], [2, 1]]}, "polynomial"),
        ({"polynomial": []}, "polynomial"),
        ({"channels": {"a": "own", "b": "own", "c": [1, 1]}}, "channels"),
        ({"channel": "KKK"}, "channel"),
        ({"background": [[1, 2], [2, 1]]}, "background"),
        ({"background": [[1, 2, 3], [0, 1, 2], [3, 2, 1]]}, "background"),
        ({"adler": [1]}, "adler"),
        ({"s0": "x"}, "s0"),
        ({"production_s0": True}, "production_s0"),
    ],
)
def test_wrong_options_are_named(changes, word):
    with pytest.raises(PhysicsError, match=f"option '{word}' of lineshape 'k_matrix'"):
        build_lineshape("k_matrix", PIONS, **{**TWO_CHANNELS, **changes})


def test_p_waves_and_a_polynomial_are_those_of_coupled_channels():
    """The same amplitude as a basis of fixed functions and as a formula, which is compared with mpmath elsewhere."""
    vertex = Vertex(PI, PI, 1, 5.0)
    channels = {"pipi": "own", "KK": [K, K, 1]}
    poles = [{"mass": 0.77, "couplings": [0.45, 0.3]}, {"mass": 1.45, "couplings": [0.2, -0.4]}]
    c = [[[0.3, 0.1], [0.1, -0.2]], [[0.05, 0.0], [0.0, 0.1]]]
    basis = build_lineshape("k_matrix", vertex, channels=channels, poles=poles, polynomial=c)
    formula = build_lineshape("coupled_channels", vertex, channels=channels, poles=2, background=1)
    numbers = {f"g{k}_{label}": g for k, pole in enumerate(poles, 1) for label, g in zip(channels, pole["couplings"], strict=True)}
    numbers |= {f"mass{k}": pole["mass"] for k, pole in enumerate(poles, 1)} | {"beta2_re": 0.7, "beta2_im": -0.3}
    numbers |= {
        f"c{k}_{a}_{b}": c[k][i][j] for k in (0, 1) for (i, a, j, b) in ((0, "pipi", 0, "pipi"), (0, "pipi", 1, "KK"), (1, "KK", 1, "KK"))
    }
    for s in (0.3, 0.6, 1.4, 2.0):
        beta_1, beta_2, *_ = basis.values(np.array([s]), momentum2(np.array([s])))[:, 0]
        assert value_of(formula, s, momentum2(s), numbers) == pytest.approx(beta_1 + (0.7 - 0.3j) * beta_2, rel=1e-11)


def test_a_floating_radius_needs_a_formula():
    with pytest.raises(PhysicsError, match="its radius floats"):
        build_lineshape("k_matrix", Vertex(PI, PI, 1, RADIUS.symbol), channels={"a": "own"}, poles=[{"mass": 1, "couplings": [0.3]}])


def test_other_numbers_of_the_pipi_s_wave():
    """The table of the published numbers, given as options, changes nothing; those of another four-pion phase space do."""
    s = np.array([0.2, 0.7, 1.3])
    published = build_lineshape("pipi_s_wave", PIONS).values(s, momentum2(s))
    poles = [{"mass": m, "couplings": list(g)} for m, g in zip(kmatrix.PIPI_MASSES, kmatrix.PIPI_COUPLINGS, strict=True)]
    options = {"poles": poles, "scattering": list(kmatrix.PIPI_SCATTERING), "s0": -3.92637, "adler": [-0.15, kmatrix.M_PION**2 / 2]}
    np.testing.assert_array_equal(build_lineshape("pipi_s_wave", PIONS, **options).values(s, momentum2(s)), published)
    other = build_lineshape("pipi_s_wave", PIONS, four_pions="polynomial").values(s, momentum2(s))
    np.testing.assert_array_equal(other[:, 2], published[:, 2])  # above 1 GeV
    assert abs(other[:, 1] / published[:, 1] - 1).max() > 1e-4
    for wrong in ({"four_pions": "x"}, {"scattering": [1, 2]}, {"poles": [{"mass": 1}]}, {"adler": 3}, {"s0": None}):
        with pytest.raises(PhysicsError, match=f"option '{next(iter(wrong))}' of lineshape 'pipi_s_wave'"):
            build_lineshape("pipi_s_wave", PIONS, **wrong)
