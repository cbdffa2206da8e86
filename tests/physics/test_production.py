"""Laws of production by a beam: parity, orthogonality, spin density matrix elements, and that rows may be real."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.kinematics.lorentz import from_rest_frame
from ctpwa.kinematics.sequential_decays import SequentialDecays

MASSES = {"pi+": 0.13957, "pi-": 0.13957, "pi0": 0.13498, "eta": 0.547862, "p": 0.938272, "p~": 0.938272, "gamma": 0.0}
RHO = {"rho(770)": {"in": "pi+ pi-", "lineshape": "constant"}}
# what X decays to, its waves, and how it gets there
DECAYS = {
    "pi+ pi-": (["0+", "1-", "2+", "3-"], {}),
    "pi+ pi- pi0": (["1+", "1-", "2-"], RHO),
    "pi+ pi- eta": (["1+", "1-"], RHO),
    "p p~": (["0-", "1-", "2+"], {}),
    "gamma pi0": (["1-", "1+", "2+"], {}),
    "gamma pi+ pi-": (["0-", "1+"], RHO),
}
ELLIPTICAL = {"degree": "P", "direction": "e", "circular": "circular"}


def model_of(final, polarisation, rank=1, kind="photoproduction", frame="helicity", waves=None):
    every, resonances = DECAYS[final]
    particles = {name: {"mass": MASSES[name]} for name in final.split() if name != "gamma"}
    production = {"kind": kind, "frame": frame, "target": "target", "waves": waves or every, "rank": rank, "polarisation": polarisation}
    return ctpwa.load_model({"decay": f"X -> {final}", "resonances": resonances, "particles": particles, "production": production})


def events_of(final, n=40, seed=3):
    """Events with X of one mass in different directions, polarisation vectors across the beam."""
    rng = torch.Generator().manual_seed(seed)
    names = final.split()
    M, m_p, E = 2.3, 0.938272, 9.0
    s = m_p**2 + 2 * m_p * E
    p_X = np.sqrt((s - (M + m_p) ** 2) * (s - (M - m_p) ** 2) / (4 * s))
    X = torch.randn(3, n, generator=rng, dtype=torch.float64)
    X = torch.cat([torch.full((1, n), np.hypot(M, p_X), dtype=torch.float64), p_X * X / X.norm(dim=0)])
    X = from_rest_frame(X, torch.tensor([[E + m_p, 0, 0, E]], dtype=torch.float64).T, torch.tensor([np.sqrt(s)]))
    at_rest = SequentialDecays(M, [MASSES[name] for name in names], torch.device("cpu"), seed=seed).momenta(n)
    mass = torch.full((n,), M, dtype=torch.float64)
    momenta = {name: from_rest_frame(p4, X, mass).T.contiguous() for name, p4 in zip(names, at_rest, strict=True)}
    beam = torch.tensor([[E, 0, 0, E]], dtype=torch.float64).expand(n, 4)
    alpha = 6 * torch.rand(n, generator=rng, dtype=torch.float64)
    columns = {
        "beam": beam,
        "target": torch.tensor([[m_p, 0, 0, 0]], dtype=torch.float64).expand(n, 4),
        "P": 0.6 * torch.rand(n, generator=rng, dtype=torch.float64),
        "circular": 1.2 * torch.rand(n, generator=rng, dtype=torch.float64) - 0.6,
        "e": torch.stack([alpha.cos(), alpha.sin(), 0 * alpha], dim=1),
    }
    return ctpwa.Events(momenta, None, columns)


def with_columns(events, **columns):
    own = {name: torch.full((events.n_events,), values, dtype=torch.float64) for name, values in columns.items()}
    return ctpwa.Events(events.momenta, None, {**events.columns, **own})


def couplings_of(model, seed=0):
    rng = np.random.default_rng(seed)
    return {wave.name: complex(*rng.normal(size=2)) for wave in model.waves}


def intensity(model, events, c=None):
    spin = model.spin_amplitudes(events)
    c = couplings_of(model) if c is None else c
    psi = 0
    for wave, terms in zip(model.waves, spin.terms, strict=True):
        psi = psi + c[wave.name] * wave.factor * sum(term.factor * spin.K[term.structure].numpy() for term in terms)
    return (np.abs(psi) ** 2).sum(axis=0)


def close(a, b, tolerance=1e-12):
    return np.abs(a - b).max() < tolerance * np.abs(b).max()


@pytest.mark.parametrize("final", DECAYS)
def test_real_rows_are_complex_ones(final):
    """(F13.4) of real numbers and (F13.5) of complex ones, which does not use that the former are conjugate, agree."""
    events = with_columns(events_of(final), circular=0.0)
    linear, any_ = (model_of(final, polarisation, rank=2) for polarisation in ({"degree": "P", "direction": "e"}, ELLIPTICAL))
    assert linear.production.rows(linear.decay).real
    assert not any_.production.rows(any_.decay).real
    assert close(intensity(linear, events), intensity(any_, events))


@pytest.mark.parametrize("final", DECAYS)
def test_reflected_amplitude(final):
    """τ_X (−1)^m X_{−m}: of photons with helicity −1, from those with helicity +1 and the other projection."""
    model = model_of(final, {"circular": "circular"})
    spins = [model.spin_amplitudes(with_columns(events_of(final), circular=sign)) for sign in (1.0, -1.0)]
    (right, left), n = (spin.K.numpy() for spin in spins), len(model.production.rows(model.decay).final.states)
    place = {(w.name.rpartition(" m=")[0], w.chain.root.made): terms for w, terms in zip(model.waves, spins[0].terms, strict=True)}
    for (name, made), (term,) in place.items():
        state = next(w.chain.root.particle for w in model.waves if w.name.startswith(name + " m="))
        tau = state.P * (-1) ** (state.two_J // 2)
        first = 2 * n * model.production.sectors.index(made.sector)
        other = next(own for (start, m), own in place.items() if (start, m.sector, m.two_m) == (name, made.sector, -made.two_m))[0]
        expected = tau * (-1) ** (made.two_m // 2) * other.factor * right[other.structure][first : first + n]
        found = -made.reflectivity * term.factor * left[term.structure][first + n : first + 2 * n]
        assert np.abs(found - expected).max() < 1e-12 * np.abs(right[term.structure]).max()


@pytest.mark.parametrize("kind", ["photoproduction", "diffraction"])
@pytest.mark.parametrize("final", DECAYS)
def test_mirror_image(final, kind):
    """Parity: all momenta and the polarisation reflected, circular polarisation reversed."""
    events = events_of(final)
    flip = torch.tensor([1.0, 1, -1, 1], dtype=torch.float64)
    columns = {name: values * (flip if values.ndim > 1 and values.shape[1] == 4 else 1) for name, values in events.columns.items()}
    columns |= {"e": events.columns["e"] * flip[1:], "circular": -events.columns["circular"]}
    mirrored = ctpwa.Events({name: p4 * flip for name, p4 in events.items()}, None, columns)
    model = model_of(final, ELLIPTICAL if kind == "photoproduction" else None, kind=kind)
    assert close(intensity(model, mirrored), intensity(model, events), 1e-11)


def test_no_polarisation():
    """Photons without polarisation make states of definite reflectivity of X: c = [T_M − ε τ (−1)^M T_{−M}]/√2 and T_0."""
    events = events_of("pi+ pi-")
    polarised = model_of("pi+ pi-", {"circular": 0.0})
    c = couplings_of(polarised)
    folded = model_of("pi+ pi-", None, rank=4)
    assert folded.production.rows(folded.decay).n_rows == 8
    # two pseudoscalars have τ = 1: the density matrix of M and −M from sectors ε and helicities λ of the photon
    spin = model_of("pi+ pi-", None).spin_amplitudes(events)
    total = 0
    waves = {
        (w.chain.root.particle.two_J // 2, w.chain.root.made): t[0]
        for w, t in zip(model_of("pi+ pi-", None).waves, spin.terms, strict=True)
    }
    T = {
        (w.chain.root.particle.two_J // 2, w.chain.root.made.two_m // 2, w.chain.root.made.reflectivity): c[w.name] for w in polarised.waves
    }
    for sign in (1, -1):
        for helicity in (1, -1):
            psi = {1: 0, -1: 0}
            for (J, made), term in waves.items():
                M, eps = made.two_m // 2, made.reflectivity
                own = [T[J, m, sign] if helicity == 1 else -sign * (-1) ** m * T[J, -m, sign] for m in (M, -M)]
                coupling = own[0] if M == 0 else (own[0] - eps * (-1) ** M * own[1]) / np.sqrt(2)
                psi[eps] = psi[eps] + coupling * term.factor * spin.K[term.structure].numpy()
            total = total + sum((np.abs(own) ** 2).sum(axis=0) for own in psi.values()) / 2
    assert close(total, intensity(polarised, events, c))


def test_vector_meson():
    """W of spin density matrix elements is the intensity of amplitudes over Σ |c|²."""
    final = "pi+ pi-"
    model = model_of(final, ELLIPTICAL, waves=["1-"])
    events, c = events_of(final), couplings_of(model)
    rows = model.production.rows(model.decay)
    p4, light = rows.prepare(
        [events[name].T for name in final.split()], {name: v.T if v.ndim > 1 else v for name, v in events.columns.items()}
    )
    x, y, z = (p4[0][1:] / p4[0][1:].norm(dim=0)).numpy()
    q = p4[0][1:].norm(dim=0).numpy()
    rho = np.zeros((4, 3, 3), dtype=complex)
    for eps in (1, -1):
        t = np.array([c[f"1- (1,0) m={m} e={'+-'[eps < 0]}"] for m in ("+1", "0", "-1")])
        u = np.array([-1, 1, -1]) * t[::-1]
        tt, uu, ut, tu = (np.outer(a, b.conj()) for a, b in ((t, t), (u, u), (u, t), (t, u)))
        rho += [tt + uu, -eps * (ut + tu), -1j * eps * (ut - tu), tt - uu]
    norm = sum(abs(value) ** 2 for value in c.values())
    rho /= 2 * norm
    sin2, cos2 = 1 - z**2, z**2
    s2c, s2s = 2 * z * x, 2 * z * y  # sin 2θ cos φ, sin 2θ sin φ
    c2, w2s = x**2 - y**2, 2 * x * y  # sin²θ cos 2φ, sin²θ sin 2φ
    w = [
        0.5 * (1 - rho[0, 1, 1].real)
        + 0.5 * (3 * rho[0, 1, 1].real - 1) * cos2
        - np.sqrt(2) * rho[0, 0, 1].real * s2c
        - rho[0, 0, 2].real * c2,
        rho[1, 0, 0].real * sin2 + rho[1, 1, 1].real * cos2 - np.sqrt(2) * rho[1, 0, 1].real * s2c - rho[1, 0, 2].real * c2,
        *(np.sqrt(2) * rho[a, 0, 1].imag * s2s + rho[a, 0, 2].imag * w2s for a in (2, 3)),
    ]
    P, turn = light["P"].numpy(), light["turn"].numpy()
    cos2Phi, sin2Phi = (turn**2).real, -(turn**2).imag
    W = 3 / (4 * np.pi) * (w[0] - P * cos2Phi * w[1] - P * sin2Phi * w[2] + light["circular"].numpy() * w[3])
    assert close(intensity(model, events, c) / norm / q**2, W)


def test_waves_are_orthogonal():
    """∫ conj X_w X_v over the directions of a two-step decay is 0 for other J^P, L and m, and the same for all m."""
    cos, weights = np.polynomial.legendre.leggauss(4)
    turns = 2 * np.pi * np.arange(7) / 7
    grid = np.stack(np.meshgrid(cos, turns, cos, turns, indexing="ij")).reshape(4, -1)
    w = (weights[:, None, None, None] * weights[None, None, :, None] * np.ones((4, 7, 4, 7))).ravel() * (2 * np.pi / 7) ** 2
    n = grid.shape[1]

    def direction(c, phi):
        return torch.tensor(np.stack([np.sqrt(1 - c**2) * np.cos(phi), np.sqrt(1 - c**2) * np.sin(phi), c]))

    M, m_rho, m = 1.5, 0.8, MASSES["pi+"]
    q = np.sqrt((M**2 - (m_rho + m) ** 2) * (M**2 - (m_rho - m) ** 2)) / (2 * M)
    k = np.sqrt(m_rho**2 / 4 - m**2)
    full = torch.full((n,), 1.0, dtype=torch.float64)
    rho = torch.cat([full[None] * np.hypot(m_rho, q), q * direction(*grid[:2])])
    pions = [torch.cat([full[None] * m_rho / 2, sign * k * direction(*grid[2:])]) for sign in (1, -1)]
    plus, minus = (from_rest_frame(p4, rho, m_rho * full) for p4 in pions)
    last = torch.cat([full[None] * np.hypot(m, q), -rho[1:]])
    momenta = {"pi+": plus.T.contiguous(), "pi-": minus.T.contiguous(), "eta": last.T.contiguous()}
    columns = {"beam": torch.tensor([[5.0, 0, 0, 5.0]]), "target": torch.tensor([[2.0, -0.5, 0, 0.3]]), "circular": torch.ones(1)}
    columns = {name: v.double().expand(n, *v.shape[1:]) for name, v in columns.items()}
    production = {"kind": "photoproduction", "frame": "gottfried-jackson", "target": "target", "polarisation": {"circular": "circular"}}
    production["waves"] = {jp: {"reflectivity": 1} for jp in ("0-", "1+", "1-", "2-", "2+")}
    particles = {"eta": {"mass": m}}
    model = ctpwa.load_model({"decay": "X -> pi+ pi- eta", "resonances": RHO, "particles": particles, "production": production})
    spin = model.spin_amplitudes(ctpwa.Events(momenta, None, columns))
    X = spin.K[[term.structure for (term,) in spin.terms], 0].numpy()
    norms = (X.conj() * w) @ X.T
    size = np.sqrt(norms.diagonal().real)
    assert len(X) == 1 + 2 * 3 + 3 + 2 * 5 + 5
    assert np.abs(norms / np.outer(size, size) - np.eye(len(X))).max() < 1e-12
    by_wave = {}
    for wave, own in zip(model.waves, size, strict=True):
        by_wave.setdefault(wave.ls[0].L, []).append(own)
    assert all(np.ptp(own) < 1e-12 * max(own) for own in by_wave.values())
