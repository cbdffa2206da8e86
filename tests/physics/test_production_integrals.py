"""Integrals of produced waves over the directions of X → ππ, up to F waves, and what a change of frame does to them."""

import numpy as np
import pytest
import torch
from scipy.linalg import expm

import ctpwa
from ctpwa.kinematics.lorentz import from_rest_frame
from ctpwa.kinematics.production_frame import FRAMES, ProductionFrame

WAVES = ["0+", "1-", "2+", "3-"]
M, M_PI, E, M_P = 1.7, 0.13957039, 9.0, 0.938272
Q = np.sqrt(M**2 / 4 - M_PI**2)


def production_of(kind, frame, rank=1):
    own = {"kind": kind, "frame": frame, "target": [M_P, 0, 0, 0], "waves": WAVES, "rank": rank}
    return own | ({"polarisation": {"degree": "P", "direction": "e"}} if kind == "photoproduction" else {})


def model_of(kind="photoproduction", frame="helicity", rank=1):
    return ctpwa.load_model({"decay": "X -> pi+ pi-", "production": production_of(kind, frame, rank), "particles": {"pi+": {"mass": M_PI}}})


def one_reaction(n):
    """Beam, target and X of all events."""
    beam, target = (torch.tensor(p, dtype=torch.float64)[:, None].expand(4, n) for p in ([E, 0, 0, E], [M_P, 0, 0, 0]))
    s = M_P**2 + 2 * M_P * E
    p = np.sqrt((s - (M + M_P) ** 2) * (s - (M - M_P) ** 2) / (4 * s))
    theta, phi = 0.4, 2.1
    X = [np.hypot(M, p), p * np.sin(theta) * np.cos(phi), p * np.sin(theta) * np.sin(phi), p * np.cos(theta)]
    X = torch.tensor(X, dtype=torch.float64)[:, None].expand(4, n)
    return beam, target, from_rest_frame(X, beam + target, torch.full((n,), np.sqrt(s), dtype=torch.float64))


def decays(directions, frame, P=0.0, Phi=0.0):
    """Events of one reaction with these directions of π+ on the axes of a frame, [3, event]; the polarisation at Φ."""
    n = directions.shape[1]
    beam, target, X = one_reaction(n)
    mass = torch.full((n,), M, dtype=torch.float64)
    own = ProductionFrame.of([X / 2, X / 2], beam, target, frame)
    p3 = sum(Q * torch.tensor(component) * axis for component, axis in zip(directions, own.axes, strict=True))
    momenta = {
        name: from_rest_frame(torch.cat([mass[None] / 2, sign * p3]), X, mass).T.contiguous() for name, sign in (("pi+", 1), ("pi-", -1))
    }
    y = torch.linalg.cross(beam[1:], X[1:], dim=0)
    y = y / y.norm(dim=0)
    z = beam[1:] / E
    e = np.cos(Phi) * torch.linalg.cross(y, z, dim=0) + np.sin(Phi) * y
    columns = {"beam": beam.T.contiguous(), "P": torch.full((n,), P, dtype=torch.float64), "e": e.T.contiguous()}
    return ctpwa.Events(momenta, None, columns)


def sphere():
    """Directions and weights whose sums are exact integrals of all products of these waves."""
    cos, weights = np.polynomial.legendre.leggauss(6)
    phi = 2 * np.pi * np.arange(12) / 12
    cos, phi = (a.ravel() for a in np.meshgrid(cos, phi, indexing="ij"))
    sin = np.sqrt(1 - cos**2)
    return np.stack([sin * np.cos(phi), sin * np.sin(phi), cos]), np.repeat(weights, 12) * 2 * np.pi / 12


def amplitudes(model, events):
    """K of every wave without |q|^l, [wave, row, event]."""
    spin = model.spin_amplitudes(events)
    return np.array(
        [
            wave.factor * term.factor * spin.K[term.structure].numpy() / Q ** (wave.chain.root.particle.two_J // 2)
            for wave, (term,) in zip(model.waves, spin.terms, strict=True)
        ]
    )


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(("P", "Phi"), [(0.0, 0.0), (0.7, 0.3), (1.0, 1.9)])
def test_integral_at_one_angle_of_polarisation(frame, P, Phi):
    """Σ |c_m|² + ε P cos 2Φ (−1)^m Re c_m c*_{−m}, which has no interference of different spins."""
    model = model_of(frame=frame, rank=2)
    directions, w = sphere()
    rng = np.random.default_rng(4)
    c = rng.normal(size=(len(model.waves), 2)) @ [1, 1j]
    psi = np.einsum("w,wre->re", c, amplitudes(model, decays(directions, frame, P, Phi)))
    made = [(wave.chain.root.particle.two_J, wave.chain.root.made) for wave in model.waves]
    of = {(J, own.sector, own.two_m // 2): value for (J, own), value in zip(made, c, strict=True)}
    expected = sum(
        abs(value) ** 2 + sector[0] * P * np.cos(2 * Phi) * (-1) ** m * (value * np.conj(of.get((J, sector, -m), 0))).real
        for (J, sector, m), value in of.items()
    )
    assert abs((w * (np.abs(psi) ** 2).sum(axis=0)).sum() - expected) < 1e-12 * expected


def test_states_of_definite_reflectivity_are_orthonormal():
    model = model_of("diffraction", "gottfried-jackson")
    directions, w = sphere()
    K = amplitudes(model, decays(directions, "gottfried-jackson"))
    products = np.einsum("wre,vre,e->wv", K.conj(), K, w)
    assert len(model.waves) == sum(2 * J + 1 for J in range(4))
    np.testing.assert_allclose(products, np.eye(len(products)), atol=1e-12)


@pytest.mark.parametrize("other", ["gottfried-jackson", "adair"])
def test_frames_differ_by_a_rotation(other):
    """X_m of one frame is Σ X_m' d_{m'm}(β) of another, with the angle β between their z axes, in every row of both reflectivities."""
    directions, _ = sphere()
    events = decays(directions, "helicity", 0.6, 0.8)
    beam, target, X = one_reaction(1)
    axes, turned = (ProductionFrame.of([X / 2, X / 2], beam, target, frame).axes for frame in ("helicity", other))
    beta = float(torch.atan2((turned[2] * axes[0]).sum(), (turned[2] * axes[2]).sum()))
    assert abs(beta) > 0.1
    models = [model_of(frame=frame) for frame in ("helicity", other)]
    K, K_other = (amplitudes(model, events) for model in models)
    made = [(wave.chain.root.particle.two_J // 2, wave.chain.root.made) for wave in models[0].waves]
    for w, (J, own) in enumerate(made):
        m = np.arange(J, -J - 1, -1)
        ladder = np.diag(np.sqrt(J * (J + 1) - m[1:] * (m[1:] + 1)), 1)
        d = expm(-1j * beta * (ladder - ladder.T) / 2j).real  # exp(−iβ J_y), rows and columns m = J … −J
        column = d[:, J - own.two_m // 2]
        expected = sum(
            column[J - state.two_m // 2] * K[v] for v, (J_v, state) in enumerate(made) if J_v == J and state.sector == own.sector
        )
        np.testing.assert_allclose(K_other[w], expected, atol=1e-12)


def test_turned_polarisation():
    """Φ + π is the same as Φ, and Φ + π/2 exchanges the parts of the photon with and without: I(P, Φ) + I(P, Φ + π/2) = 2 I(0)."""
    model = model_of()
    directions = np.random.default_rng(2).normal(size=(3, 30))
    directions /= np.linalg.norm(directions, axis=0)
    c = np.random.default_rng(3).normal(size=(len(model.waves), 2)) @ [1, 1j]

    def intensity(P, Phi):
        return (np.abs(np.einsum("w,wre->re", c, amplitudes(model, decays(directions, "helicity", P, Phi)))) ** 2).sum(axis=0)

    np.testing.assert_allclose(intensity(0.6, 0.4 + np.pi), intensity(0.6, 0.4), rtol=1e-11)
    np.testing.assert_allclose(intensity(0.6, 0.4) + intensity(0.6, 0.4 + np.pi / 2), 2 * intensity(0.0, 0.0), rtol=1e-11)
