"""Toys of γ p → η π0 p with a0(980), a2(1320) and π1(1600) in bins of m(η π0), with the numbers of events and phases that they have."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

import ctpwa
from ctpwa.data.events import concatenate
from ctpwa.kinematics.lorentz import from_rest_frame

LOW, HIGH = 1.04, 2.0  # GeV
M_P, M_ETA, M_PI = 0.93827208816, 0.547862, 0.1349768
MODEL = """decay: X -> eta pi0
particles: {eta: {mass: 0.547862}, pi0: {mass: 0.1349768}}
production:
  kind: photoproduction
  polarisation: {degree: P, angle: alpha}
  waves:
    0+: {reflectivity: 1}
    1-: {m: 1, reflectivity: 1}
    2+: {m: [0, 1, 2], reflectivity: 1}
samples: {data: data.npz, phase_space: accepted.npz, truth: generated.npz}
"""
A0, PI1, A2 = (0.98, 0.08), (1.6, 0.25), (1.3182, 0.107)  # mass and width
WAVES = {
    "0+ (0,0) m=0 e=+": (A0, 1.5),
    "1- (1,0) m=+1 e=+": (PI1, 1.0 * np.exp(1.1j)),
    "2+ (2,0) m=0 e=+": (A2, 2.5 * np.exp(0.4j)),
    "2+ (2,0) m=+1 e=+": (A2, 5.0 * np.exp(0.9j)),
    "2+ (2,0) m=+2 e=+": (A2, 2.0 * np.exp(-0.7j)),
}
PROPOSED = 20_000  # events with which the largest intensity of a bin is found


@dataclass(frozen=True)
class Truth:
    """What was generated.

    Attributes:
        names:   of the waves
        events:  expected numbers of produced events, [wave, bin]
        values:  amplitudes at the centres of the bins, [wave, bin]
    """

    names: tuple[str, ...]
    events: np.ndarray
    values: np.ndarray


def amplitude(name: str, m: np.ndarray) -> np.ndarray:
    """A Breit-Wigner with constant width."""
    (m0, width), size = WAVES[name]
    return np.asarray(size * m0 * width / (m0**2 - m**2 - 1j * m0 * width))


def _isotropic(p: torch.Tensor, mass: torch.Tensor | float, rng: torch.Generator) -> torch.Tensor:
    v = torch.randn(3, len(p), generator=rng, dtype=torch.float64)
    return torch.cat([(mass**2 + p**2).sqrt()[None], p * v / v.norm(dim=0)])


def flat(n: int, seed: int, low: float, high: float) -> ctpwa.Events:
    """Photons of 8 to 9 GeV, masses between limits, all angles alike."""
    rng = torch.Generator().manual_seed(seed)
    E, M, degree, turn = (torch.rand(n, generator=rng, dtype=torch.float64) for _ in range(4))
    E, M = 8 + E, low + (high - low) * M
    total, root_s = torch.stack([E + M_P, 0 * E, 0 * E, E]), (M_P**2 + 2 * M_P * E).sqrt()
    X = from_rest_frame(_isotropic(_breakup(root_s, M, M_P), M, rng), total, root_s)
    eta = _isotropic(_breakup(M, M_ETA, M_PI), M_ETA, rng)
    pi0 = torch.cat([(M - eta[0])[None], -eta[1:]])
    momenta = {name: from_rest_frame(p4, X, M).T.contiguous() for name, p4 in (("eta", eta), ("pi0", pi0))}
    columns = {"beam": torch.stack([E, 0 * E, 0 * E, E], dim=1), "P": 0.3 + 0.1 * degree, "alpha": (4 * turn).floor() * np.pi / 4}
    return ctpwa.Events(momenta, None, columns)


def _breakup(M: torch.Tensor, a: torch.Tensor | float, b: torch.Tensor | float) -> torch.Tensor:
    return ((M**2 - (a + b) ** 2) * (M**2 - (a - b) ** 2)).sqrt() / (2 * M)


def efficiency(events: ctpwa.Events) -> np.ndarray:
    """Of no special kind."""
    return np.asarray(0.6 + 0.3 * np.sin(3 * events["eta"][:, 1].numpy()))


def _mass(events: ctpwa.Events) -> np.ndarray:
    p = (events["eta"] + events["pi0"]).numpy()
    return np.asarray(np.sqrt(p[:, 0] ** 2 - (p[:, 1:] ** 2).sum(axis=1)))


def _waves(model: ctpwa.Model, events: ctpwa.Events, centre: float | None) -> np.ndarray:
    """Amplitudes of all waves with their lineshapes, [wave, row, event]; with a centre these are what they are there."""
    K = model.spin_amplitudes(events, barrier=True, progress=False).K.numpy()
    m = _mass(events) if centre is None else np.full(events.n_events, centre)
    return np.stack([amplitude(wave.name, m) * K[k] for k, wave in enumerate(model.waves)])


def _mean_squares(model: ctpwa.Model, events: ctpwa.Events, centre: float | None) -> np.ndarray:
    """⟨Σ_row |A|²⟩ of every wave, [wave]: that of Y_lm over all angles is 1/4π, so that only masses are averaged."""
    with_barrier, without = (model.spin_amplitudes(events, barrier=own, progress=False).K.numpy() for own in (True, False))
    mass = _mass(events)
    q = _breakup(torch.from_numpy(mass), M_ETA, M_PI).numpy()
    m = mass if centre is None else np.full(events.n_events, centre)
    found = []
    for k, wave in enumerate(model.waves):
        ratio = np.sqrt((with_barrier[k] ** 2).sum(axis=0) / (without[k] ** 2).sum(axis=0)) * q ** int(wave.name[0])
        found.append((np.abs(amplitude(wave.name, m)) ** 2 * ratio**2).mean() / (4 * np.pi))
    return np.array(found)


def make_toys(
    folder: Path, bins: int, n_events: int, simulated: int, seed: int, stepped: bool = False, limits: tuple[float, float] = (LOW, HIGH)
) -> Truth:
    """Write a model file, data with about so many events in every bin, and simulated events before and after acceptance.

    Args:
        folder:     where to write
        bins:       number of bins
        n_events:   mean number of measured events in a bin
        simulated:  generated events in a bin
        seed:       of random numbers
        stepped:    lineshapes are constant in every bin
        limits:     of masses
    """
    (folder / "model.yml").write_text(MODEL, encoding="utf-8")
    model = ctpwa.load_model(folder / "model.yml")
    rng = np.random.default_rng(seed)
    edges = np.linspace(*limits, bins + 1)
    data, generated, accepted, expected = [], [], [], []
    for b, (low, high) in enumerate(pairwise(edges)):
        centre = (low + high) / 2 if stepped else None
        first = flat(PROPOSED, 10_000 * seed + 4 * b, low, high)
        A = _waves(model, first, centre)
        I = (np.abs(A.sum(axis=0)) ** 2).sum(axis=0)
        most = 1.2 * float(I.max())
        n = rng.poisson(n_events * most / float((I * efficiency(first)).mean()))
        proposed = flat(n, 10_000 * seed + 4 * b + 1, low, high)
        own = _waves(model, proposed, centre)
        density = (np.abs(own.sum(axis=0)) ** 2).sum(axis=0)
        kept = rng.random(n) * most < density * efficiency(proposed)
        data.append(proposed.picked(torch.from_numpy(np.flatnonzero(kept))))
        scale = n_events / float((I * efficiency(first)).mean())
        expected.append(scale * _mean_squares(model, proposed, centre))
        simulation = flat(simulated, 10_000 * seed + 4 * b + 2, low, high)
        generated.append(simulation)
        accepted.append(simulation.picked(torch.from_numpy(np.flatnonzero(rng.random(simulated) < efficiency(simulation)))))
    for name, parts in (("data", data), ("generated", generated), ("accepted", accepted)):
        ctpwa.write_events(folder / f"{name}.npz", concatenate(parts), model=model)
    centres = (edges[1:] + edges[:-1]) / 2
    return Truth(tuple(WAVES), np.array(expected).T, np.array([amplitude(name, centres) for name in WAVES]))
