"""Models of resonances of TF-PWA: its formulas written out, and compared through their interference with a constant."""

import copy

import numpy as np
import pytest
import torch
import yaml

import ctpwa
from ctpwa.base.errors import CtpwaError
from ctpwa.interchange import read_tfpwa

M, PI, K = 1.9, 0.14, 0.49
CHANNELS = [[PI, PI], [K, K]]
TOTAL = {"R": (0.8, 0.4), "NR": (1.3, -1.1)}
BASE = {
    "data": {},
    "decay": {"A": [["RR", "D"]], "RR": ["B", "C"]},
    "particle": {
        "$top": {"A": {"J": 0, "P": -1, "mass": M}},
        "$finals": {name: {"J": 0, "P": -1, "mass": PI} for name in "BCD"},
        "RR": ["R", "NR"],
        "R": {"J": 0, "P": 1},
        "NR": {"J": 0, "P": 1, "model": "one"},
    },
}


def q_of(m, m1, m2):
    return np.sqrt(((m**2 - (m1 + m2) ** 2) * (m**2 - (m1 - m2) ** 2)).astype(complex)) / (2 * m)


def N(l, z2):
    return {0: 1.0 + 0 * z2, 1: 1 + z2, 2: 9 + 3 * z2 + z2**2}[l]


def gamma(m, m0, g0, l, d=3.0):
    q, q0 = q_of(m, PI, PI).real, q_of(np.array(m0), PI, PI).real
    return g0 * (q / q0) ** (2 * l + 1) * m0 / m * N(l, (q0 * d) ** 2) / N(l, (q * d) ** 2)


def flatte(m, sign, l=(0, 0), g=(0.3, 0.5), m0=1.1, q0=False, bprime=True, mass=True):
    total = 0
    for (m1, m2), li, gi in zip(CHANNELS, l, g, strict=True):
        q, nominal = q_of(m, m1, m2), abs(q_of(np.array(m0), m1, m2)) if q0 else 1.0
        term = gi * q / m * (m0 / nominal if q0 else 1) * abs(q / nominal) ** (2 * li)
        if bprime and li:
            term = term * N(li, 9 * nominal**2) / N(li, 9 * abs(q) ** 2)
        total = total + term
    return 1 / (m0**2 - m**2 + sign * 1j * (m0 if mass else 1) * total)


def gounaris_sakurai(m, m0=0.77, g0=0.15, l=1, a=0.13957039, b=0.1349768):
    pi = 3.14159265359
    k, k0 = q_of(m, a, b).real, q_of(np.array(m0), a, b).real

    def h(x, q):
        return 2 / pi * q / x * np.log((x + 2 * q) / (a + b))

    slope = h(m0, k0) * (1 / (8 * k0**2) - 1 / (2 * m0**2)) + 1 / (2 * pi * m0**2)
    f = g0 * m0**2 / k0**3 * (k**2 * (h(m, k) - h(m0, k0)) + (m0**2 - m**2) * k0**2 * slope)
    mu2 = (a + b) ** 2 / 4
    D = 3 / pi * mu2 / k0**2 * np.log((m0 + 2 * k0) / (a + b)) + m0 / (2 * pi * k0) - mu2 * m0 / (pi * k0**3)
    return (1 + D * g0 / m0) / (m0**2 - m**2 + f - 1j * m0 * gamma(m, m0, g0, l))


def k_matrix(m):
    kernel = sum(mi * gamma(m, mi, gi, 1) / (mi**2 - m**2) for mi, gi in ((0.8, 0.1), (1.4, 0.2)))
    source = sum(b * mi * gi / (mi**2 - m**2) for b, mi, gi in ((1, 0.8, 0.1), (0.7 * np.exp(0.5j), 1.4, 0.2)))
    return source / (1 - 1j * kernel)


def spline(kind):
    points, values = [0.3, 0.6, 0.9, 1.2, 1.7], np.array([0, 0.4 * np.exp(0.3j), np.exp(1j), 0.5 * np.exp(2j), 0])

    def curve(m):
        from scipy.interpolate import CubicSpline

        if kind == "linear":
            inside = np.interp(m, points, values.real) + 1j * np.interp(m, points, values.imag)
        else:
            inside = CubicSpline(points, values, bc_type="not-a-knot")(m)
        return np.where((m >= points[0]) & (m < points[-1]), inside, 0)

    return curve


BW = {"m0": 0.77, "g0": 0.15}
G = {"R_g_0": 0.3, "R_g_1": 0.5}
POINTS = {
    f"R_point_{i}{part}": v for i, pair in enumerate(((0.4, 0.3), (1.0, 1.0), (0.5, 2.0))) for part, v in zip("ri", pair, strict=True)
}
POLY = {"R_c_1r": 0.5, "R_c_1i": 0.7, "R_c_2r": 0.2, "R_c_2i": -1.0, "R_c_0r": 1.0, "R_c_0i": 0.0}
MODELS = {
    "BWR_normal": (
        {**BW, "bw_l": 1},
        {},
        lambda m: np.sqrt(0.77 * gamma(m, 0.77, 0.15, 1)) / (0.77**2 - m**2 - 1j * 0.77 * gamma(m, 0.77, 0.15, 1)),
    ),
    "BWR_coupling": (
        {**BW, "bw_l": 2},
        {},
        lambda m: 1 / (0.77**2 - m**2 - 1j * 0.77 * 0.15 * q_of(m, PI, PI).real ** 5 / m * 13 / N(2, 9 * q_of(m, PI, PI).real ** 2)),
    ),
    "GS_rho": ({**BW, "bw_l": 1}, {}, gounaris_sakurai),
    "Flatte": ({"mass": 1.1, "mass_list": CHANNELS}, G, lambda m: flatte(m, 1)),
    "FlatteC": ({"mass": 1.1, "mass_list": CHANNELS, "g_0": 0.3, "g_1": 0.5}, {}, lambda m: flatte(m, -1)),
    "FlatteGen": ({"mass": 1.1, "mass_list": CHANNELS, "l_list": [0, 1]}, G, lambda m: flatte(m, -1, (0, 1), q0=True)),
    "FlatteGen no_q0 no_m0": (
        {"mass": 1.1, "mass_list": CHANNELS, "l_list": [1, 0], "no_q0": True, "no_m0": True, "has_bprime": False},
        G,
        lambda m: flatte(m, -1, (1, 0), bprime=False, mass=False),
    ),
    "Flatte2": ({"mass": 1.1, "mass_list": CHANNELS}, G, lambda m: flatte(m, -1, g=(0.09, 0.25), q0=True)),
    "KMatrixSingleChannel": (
        {"mass_list": [0.8, 1.4], "width_list": [0.1, 0.2], "m1": PI, "m2": PI, "bw_l": 1},
        {"R_beta2r": 0.7, "R_beta2i": 0.5, "R_beta1r": 1.0, "R_beta1i": 0.0},
        k_matrix,
    ),
    "poly": ({"mass": 0.9, "n_order": 2}, POLY, lambda m: (m - 0.9) ** 2 + 0.5 * np.exp(0.7j) * (m - 0.9) + 0.2 * np.exp(-1j)),
    "x": ({}, {}, lambda m: m + 0j),
    "exp": ({}, {"R_a": -0.7}, lambda m: np.exp(-0.7 * m)),
    "exp_com": ({}, {"R_a": 0.7, "R_b": -2.0}, lambda m: np.exp(-(0.7 - 2j) * m**2)),
    "interp_c": ({"points": [0.3, 0.6, 0.9, 1.2, 1.7]}, POINTS, spline("linear")),
    "spline_c": ({"points": [0.3, 0.6, 0.9, 1.2, 1.7]}, POINTS, spline("cubic")),
}


def imported(tmp_path, model, keys, params):
    config = copy.deepcopy(BASE)
    config["particle"]["R"] |= {"model": model, **keys}
    (tmp_path / "config.yml").write_text(yaml.safe_dump(config))
    totals = {f"A->{name}.D{name}->B.C_total_0{part}": v for name, pair in TOTAL.items() for part, v in zip("ri", pair, strict=True)}
    return read_tfpwa(tmp_path / "config.yml", {**totals, **params})


@pytest.mark.parametrize("name", MODELS)
def test_formula(tmp_path, name):
    keys, params, formula = MODELS[name]
    found = imported(tmp_path, name.split()[0], keys, params)
    assert "nothing uses" not in "\n".join(found.notes)
    intensity = ctpwa.ModelIntensity(found.model, engine="reference")
    events = ctpwa.generate_phase_space(found.model, 40, seed=5)
    pair = events["B"] + events["C"]
    m = (pair[:, 0] ** 2 - pair[:, 1:].square().sum(dim=1)).sqrt().numpy()
    totals = {own: r * np.exp(1j * phase) for own, (r, phase) in TOTAL.items()}
    expected = abs(totals["R"] * formula(m) + totals["NR"]) ** 2 * (4 * np.pi / (4 * np.pi)) ** 2
    torch.testing.assert_close(intensity(events), torch.from_numpy(expected), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    ("model", "keys", "what"),
    [
        ("Flatte", {"mass": 1.1}, "mass_list of 'R' is not a list of pairs"),
        ("Flatte", {"mass": 1.1, "mass_list": CHANNELS}, "'g_0' of 'R' is not given"),
        ("Flatte", {"mass": 1.1, "mass_list": CHANNELS, "l_list": [0, 1]}, "'l_list' of 'R' cannot be imported"),
        ("Flatte", {"mass": 1.1, "mass_list": CHANNELS, "g_0": 1, "g_1": 1, "im_sign": 2}, "im_sign is 2"),
        ("FlatteGen", {"mass": 1.1, "mass_list": CHANNELS, "cut_phsp": True}, "cut_phsp cannot be imported"),
        ("FlatteGen", {"mass": 1.1, "mass_list": CHANNELS, "l_list": [0]}, "l_list of 'R'"),
        ("poly", {"mass": 0.9, "n_order": 50}, "n_order is 50"),
        ("poly", {"mass": 0.9}, "'c_1' of 'R' is not given"),
        ("spline_c", {"points": [1, 2]}, "'points' of 'R' is not a list of numbers"),
        ("spline_c", {"min_m": 1, "max_m": 2, "interp_N": 1000}, "give 4 to 60 points"),
        ("spline_c", {"points": [0.3, 0.6, 0.9, 1.2], "bc_type": "natural"}, "bc_type 'natural'"),
        ("interp_c", {"points": [0.3, 0.6, 0.9, 1.2], "with_bound": True}, "with_bound cannot be imported"),
        ("KMatrixSingleChannel", {"mass_list": [1], "width_list": [0.1, 0.2], "m1": PI, "m2": PI}, "of equal length"),
        ("GS_rho", {**BW, "c_daug2Mass": "x"}, "masses of the daughters"),
        ("MLP", {**BW}, "the model 'MLP' of 'R' cannot be imported"),
        ("exp", {}, "'a' of 'R' is not given"),
    ],
)
def test_what_is_refused(tmp_path, model, keys, what):
    with pytest.raises(CtpwaError, match=what):
        imported(tmp_path, model, keys, {})
