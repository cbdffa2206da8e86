"""X made by polarised photons and by a pion: numbers of an independent implementation."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.kinematics.lorentz import from_rest_frame, mass_squared, to_rest_frame
from ctpwa.kinematics.production_frame import FRAMES

TOLERANCE = 1e-11
VECTORS = Path(__file__).parent / "vectors"
PHOTONS = json.loads((VECTORS / "photo_eta_pi.json").read_text())
PIONS = json.loads((VECTORS / "diffractive_3pi.json").read_text())
LINEAR = {"degree": "P", "direction": "e"}
SOURCES = {"beam": "beam", "target": "target", "P": "P", "e": "polarisation", "alpha": "pol_angle", "circular": "P_circ"}


def column(source, name):
    return torch.tensor([event[name] for event in source["events"]], dtype=torch.float64)


def photon_model(frame="helicity", polarisation=LINEAR, rank=1, waves=("0+", "1-", "2+")):
    production = {"kind": "photoproduction", "frame": frame, "target": "target", "polarisation": polarisation, "rank": rank}
    return ctpwa.load_model({"decay": "X -> eta pi0", "production": production | {"waves": list(waves)}})


def photon_events(**others):
    columns = {name: column(PHOTONS, source) for name, source in SOURCES.items()} | others
    return ctpwa.Events({name: column(PHOTONS, name) for name in ("eta", "pi0")}, None, columns)


def breakup(first, second):
    s, a, b = (mass_squared(p.T).numpy() for p in (first + second, first, second))
    return np.sqrt((s - a - b) ** 2 - 4 * a * b) / (2 * np.sqrt(s))


def wave_amplitudes(model, events):
    """Of every wave its number among the vectors, its rank, and K without |q|^l, [row, event]."""
    spin, q = model.spin_amplitudes(events), breakup(events["eta"], events["pi0"])
    found = []
    for wave, (term,) in zip(model.waves, spin.terms, strict=True):
        made, l = wave.chain.root.made, wave.chain.root.particle.two_J // 2
        number = PHOTONS["waves"].index([l, made.two_m // 2, made.reflectivity])
        found.append((number, made.rank, wave.factor * term.factor * spin.K[term.structure].numpy() / q**l))
    return found


def couplings(source, ranks):
    return np.array([[complex(*z) for z in source["couplings"][name]] for name in ranks]).T


def mixed(c, eps):
    """The same amplitudes with c = 0 for the first wave in rank 1: ranks of one reflectivity are mixed by a unitary matrix."""
    result = c.copy()
    for sign in (1, -1):
        own = [i for i, e in enumerate(eps) if e == sign]
        a, b = c[own[0]] / np.linalg.norm(c[own[0]])
        result[own] = c[own] @ np.array([[a.conjugate(), -b], [b.conjugate(), a]])
        assert abs(result[own[0], 1]) < 1e-15
    return result


def intensity(amplitudes, c):
    return (np.abs(sum(c[number, rank] * K for number, rank, K in amplitudes)) ** 2).sum(axis=0)


def assert_close(found, expected):
    assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize(("frame", "polarisation"), list(product(FRAMES, (LINEAR, {"degree": "P", "angle": "alpha"}))))
def test_rows_of_linear_polarisation(frame, polarisation):
    model = photon_model(frame, polarisation)
    rows = model.production.rows(model.decay)
    assert rows.real
    assert rows.n_rows == 4
    for number, _, K in wave_amplitudes(model, photon_events()):
        expected = np.array([event["K"][frame][number] for event in PHOTONS["events"]]).T
        first = 2 * rows.sectors.index((PHOTONS["waves"][number][2], 0))
        assert np.abs(K[first : first + 2] - expected).max() < TOLERANCE
        assert not np.delete(K, (first, first + 1), axis=0).any()


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("key", "polarisation", "rank", "others"),
    [
        ("rank1", LINEAR, 1, {}),
        ("rank2", LINEAR, 2, {}),
        ("rank2_unpolarised", LINEAR, 2, {"P": torch.zeros(6)}),
        ("rank2_unpolarised", {"circular": 0.0}, 2, {}),
        ("rank2_elliptical", LINEAR | {"circular": "circular"}, 2, {}),
    ],
)
def test_intensities_of_photons(frame, key, polarisation, rank, others):
    c = couplings(PHOTONS, ("k0", "k1"))
    eps = [wave[2] for wave in PHOTONS["waves"]]
    found = intensity(wave_amplitudes(photon_model(frame, polarisation, rank), photon_events(**others)), c if rank == 1 else mixed(c, eps))
    assert_close(found, np.array([event["intensity"][frame][key] for event in PHOTONS["events"]]))


@pytest.mark.parametrize("frame", FRAMES)
def test_any_frame_of_momenta(frame):
    # turned and boosted together, polarisation vectors as well, momenta are those of another observer
    turn = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64))[0]
    turn = turn * torch.linalg.det(turn)
    observer = torch.tensor([[1.5, 0.3, -0.7, 0.4]], dtype=torch.float64).expand(6, 4)
    M = mass_squared(observer.T).sqrt()

    def seen(p4):
        turned = torch.cat([p4[:, :1], p4[:, 1:] @ turn.T], dim=1)
        return to_rest_frame(turned.T, observer.T, M).T

    events = photon_events()
    e4 = seen(torch.cat([torch.zeros(6, 1), events.columns["e"]], dim=1))
    beam = seen(events.columns["beam"])
    moved = {"beam": beam, "target": seen(events.columns["target"]), "e": e4[:, 1:] - e4[:, :1] / beam[:, :1] * beam[:, 1:]}
    other = ctpwa.Events({name: seen(p4) for name, p4 in events.items()}, None, events.columns | moved)
    model = photon_model(frame)
    for (_, _, K), (_, _, expected) in zip(wave_amplitudes(model, other), wave_amplitudes(model, events), strict=True):
        assert np.abs(K - expected).max() < TOLERANCE


def test_moments():
    """H(LM) of the intensity, integrated over a grid of angles that is exact for all waves."""
    cos, weights = np.polynomial.legendre.leggauss(6)
    phi = 2 * np.pi * np.arange(10) / 10
    cos, phi, w = (a.ravel() for a in (*np.meshgrid(cos, phi, indexing="ij"), np.repeat(weights[:, None], 10, 1) * 2 * np.pi / 10))
    n, sin = len(cos), np.sqrt(1 - cos**2)
    X = torch.tensor([np.hypot(1.6, 1.2), 0, 0, 1.2], dtype=torch.float64)[:, None].expand(4, n)  # the c.m. frame; X has 1.6 GeV
    q, m = 0.5, (1.6**2 - 0.5**2) / 3.2
    eta_energy = m  # of daughters with masses that make |q| what it is
    direction = torch.tensor(np.stack([sin * np.cos(phi), sin * np.sin(phi), cos]))
    momenta = {}
    for name, sign, energy in (("eta", 1, eta_energy), ("pi0", -1, 1.6 - eta_energy)):
        own = torch.cat([torch.full((1, n), energy, dtype=torch.float64), sign * q * direction])
        momenta[name] = from_rest_frame(own, X, torch.full((n,), 1.6, dtype=torch.float64)).T.contiguous()
    k = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64)
    beam, target = (torch.cat([torch.tensor([9.0]), sign * k]).expand(n, 4) for sign in (1, -1))
    y, own_k = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64), k / k.norm()
    eps = [wave[2] for wave in PHOTONS["waves"]]
    c, model = mixed(couplings(PHOTONS, ("k0", "k1")), eps), photon_model(rank=2)

    def of(P, Phi):
        e = (np.cos(Phi) * torch.linalg.cross(y, own_k) + np.sin(Phi) * y).expand(n, 3)
        columns = {"beam": beam, "target": target, "P": torch.full((n,), P, dtype=torch.float64), "e": e}
        return intensity(wave_amplitudes(model, ctpwa.Events(momenta, None, columns)), c)

    I0 = of(0.0, 0.0)
    parts = I0, I0 - of(1.0, 0.0), (I0 - of(0.5, np.pi / 4)) / 0.5
    from scipy.special import sph_harm_y

    for name, expected in PHOTONS["moments"].items():
        L, M = map(int, name)
        D = np.sqrt(4 * np.pi / (2 * L + 1)) * sph_harm_y(L, M, np.arccos(cos), phi).conj()
        for part, (re, im) in zip(parts, expected, strict=True):
            assert abs((w * part * D).sum() - complex(re, im)) < TOLERANCE * PHOTONS["moments"]["00"][0][0]


ISOBARS = {"f(0)(980)": "f0(980)", "rho(770)0": "rho(770)", "f(2)(1270)": "f2(1270)"}


def pion_model(rank=1):
    resonances = {name: {"in": "pi+ pi-", "lineshape": "constant"} for name in ("f(0)(980)", "rho(770)", "f(2)(1270)")}
    production = {"kind": "diffraction", "target": "target", "rank": rank, "waves": ["0-", "1+", "1-", "2+", "2-"]}
    return ctpwa.load_model({"decay": "X -> pi- pi+ pi-", "resonances": resonances, "production": production})


def pion_events(rest_frame):
    names = {"pi-_1": "pi-(1)", "pi+": "pi+", "pi-_2": "pi-(2)"}
    if not rest_frame:
        columns = {name: column(PIONS, name) for name in ("beam", "target")}
        return ctpwa.Events({name: column(PIONS, source) for name, source in names.items()}, None, columns)
    own = {
        name: torch.tensor([e["gottfried-jackson"][source] for e in PIONS["events"]], dtype=torch.float64) for name, source in names.items()
    }
    beam, target = torch.tensor([[5.0, 0, 0, 5.0]]).double().expand(6, 4), torch.tensor([[2.0, -0.5, 0, 0.3]]).double().expand(6, 4)
    return ctpwa.Events(own, None, {"beam": beam, "target": target})


def pion_amplitudes(model, rest_frame=True):
    """Of every wave among the vectors its number, its rank and K of both terms, [term, row, event]."""
    spin = model.spin_amplitudes(pion_events(rest_frame))
    found = []
    for wave, terms in zip(model.waves, spin.terms, strict=True):
        state, made = wave.chain.root.particle, wave.chain.root.made
        own = [state.two_J // 2, state.P, made.two_m // 2, made.reflectivity, ISOBARS[wave.chain.nodes[1].particle.name], wave.ls[0].L]
        if own in PIONS["waves"]:
            by_system = {term.systems[0]: term.factor * spin.K[term.structure].numpy() for term in terms}
            found.append((PIONS["waves"].index(own), made.rank, np.stack([by_system[0, 1], by_system[1, 2]])))
    return found


@pytest.mark.parametrize(("rest_frame", "tolerance"), [(True, TOLERANCE), (False, 1e-8)])
def test_rows_of_diffraction(rest_frame, tolerance):
    model = pion_model()
    rows = model.production.rows(model.decay)
    amplitudes = pion_amplitudes(model, rest_frame)
    assert rows.real
    assert rows.n_rows == 2
    assert sorted(number for number, _, _ in amplitudes) == list(range(15))
    for number, _, K in amplitudes:
        row = rows.sectors.index((PIONS["waves"][number][3], 0))
        expected = np.array([event["K"][number] for event in PIONS["events"]]).T
        assert np.abs(K[:, row] - expected).max() < tolerance * np.abs(expected).max()
        assert not K[:, 1 - row].any()


@pytest.mark.parametrize("rank", [1, 2])
def test_intensities_of_diffraction(rank):
    c = couplings(PIONS, ("r0", "r1"))
    if rank == 2:
        c = mixed(c, [wave[3] for wave in PIONS["waves"]])
    F = np.array([[[complex(*z) for z in terms] for terms in event["F"]] for event in PIONS["events"]])  # [event, wave, term]
    psi = sum(c[n, k] * np.einsum("et,tre->re", F[:, n], K) for n, k, K in pion_amplitudes(pion_model(rank)))
    assert_close((np.abs(psi) ** 2).sum(axis=0), np.array([event["intensity"][f"rank{rank}"] for event in PIONS["events"]]))
