"""Events of γ p → η π0 p with a0(980), a2(1320) and π1(1600) in waves of positive reflectivity, and a flat S wave of negative one."""

import numpy as np
import torch

import ctpwa
from ctpwa.kinematics.lorentz import from_rest_frame

M_P, M_ETA, M_PI = 0.93827208816, 0.547862, 0.1349768
MODEL = """decay: X -> eta pi0
particles: {eta: {mass: 0.547862}, pi0: {mass: 0.1349768}}
production:
  kind: photoproduction
  polarisation: {degree: P, angle: alpha}
  waves:
    0+: {reflectivity: [1, -1]}
    1-: {m: 1, reflectivity: 1}
    2+: {m: 1, reflectivity: 1}
samples: {data: data.npz, phase_space: accepted.npz, truth: generated.npz}
fit: {engine: cpu}
"""
S, S_MINUS, P, D = "0+ (0,0) m=0 e=+", "0+ (0,0) m=0 e=-", "1- (1,0) m=+1 e=+", "2+ (2,0) m=+1 e=+"
STATES = {S: (0.98, 0.1, 1.0), P: (1.6, 0.25, 1.5 * np.exp(1.1j)), D: (1.318, 0.107, 4.0 * np.exp(0.9j))}


def breakup(M, a, b):
    return ((M**2 - (a + b) ** 2) * (M**2 - (a - b) ** 2)).sqrt() / (2 * M)


def around(p, mass, rng):
    """Momenta of this size in any direction."""
    v = torch.randn(3, len(p), generator=rng, dtype=torch.float64)
    return torch.cat([(mass**2 + p**2).sqrt()[None], p * v / v.norm(dim=0)])


def isotropic(E, M, degree, turn, rng):
    """Events with photons of these energies and X of these masses, all angles alike."""
    total, root_s = torch.stack([E + M_P, 0 * E, 0 * E, E]), (M_P**2 + 2 * M_P * E).sqrt()
    X = from_rest_frame(around(breakup(root_s, M, torch.tensor(M_P)), M, rng), total, root_s)
    eta = around(breakup(M, torch.tensor(M_ETA), torch.tensor(M_PI)), M_ETA, rng)
    pi0 = torch.cat([(M - eta[0])[None], -eta[1:]])
    momenta = {name: from_rest_frame(p4, X, M).T.contiguous() for name, p4 in (("eta", eta), ("pi0", pi0))}
    columns = {"beam": torch.stack([E, 0 * E, 0 * E, E], dim=1), "P": degree, "alpha": (4 * turn).floor() * np.pi / 4}
    return ctpwa.Events(momenta, None, columns)


def flat(n, seed, low, high):
    """Photons of 8 to 9 GeV, masses of X between limits, all angles alike."""
    rng = torch.Generator().manual_seed(seed)
    E, M, degree, turn = (torch.rand(n, generator=rng, dtype=torch.float64) for _ in range(4))
    E, M = 8 + E, low + (high - low) * M
    return isotropic(E, M, 0.3 + 0.2 * degree, turn, rng)


def mass(events):
    p = (events["eta"] + events["pi0"]).numpy()
    return np.sqrt(p[:, 0] ** 2 - (p[:, 1:] ** 2).sum(axis=1))


def factor(name, m):
    """The coupling of a wave at a mass."""
    if name == S_MINUS:
        return 0.4 + 0j * m
    m0, width, size = STATES[name]
    return size * m0 * width / (m0**2 - m**2 - 1j * m0 * width)


def amplitudes(model, events):
    """c F K of every wave, [wave, row, event]."""
    K = model.spin_amplitudes(events, barrier=True, progress=False).K.numpy()
    return np.stack([factor(wave.name, mass(events)) * K[k] for k, wave in enumerate(model.waves)])


def efficiency(events):
    return 0.6 + 0.3 * np.sin(3 * events["eta"][:, 1].numpy())


def write_samples(folder, model, n_data, n_generated, seed, low, high):
    """Data as the model has them, and phase space before and after acceptance."""
    rng = np.random.default_rng(seed)
    proposed = flat(12 * n_data, 1000 * seed, low, high)
    weight = (np.abs(amplitudes(model, proposed).sum(axis=0)) ** 2).sum(axis=0) * efficiency(proposed)
    kept = np.flatnonzero(rng.random(len(weight)) * weight.max() < weight)[:n_data]
    generated = flat(n_generated, 1000 * seed + 1, low, high)
    accepted = np.flatnonzero(rng.random(n_generated) < efficiency(generated))
    found = {
        "data": proposed.picked(torch.from_numpy(kept)),
        "generated": generated,
        "accepted": generated.picked(torch.from_numpy(accepted)),
    }
    for name, events in found.items():
        ctpwa.write_events(folder / f"{name}.npz", events, model=model)
    return found


def write_analysis(folder):
    """A model file with 1500 events of X between 1.2 and 1.6 GeV; returns it."""
    file = folder / "model.yml"
    file.write_text(MODEL)
    write_samples(folder, ctpwa.load_model(file), 1500, 6000, 3, 1.2, 1.6)
    return file
