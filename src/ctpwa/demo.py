"""``make demo``: a coherent model of J/psi → K⁺K⁻η, from a model description to a Dalitz plot.

Phase-space events are generated, the spin amplitudes of all waves are computed once, the waves are summed with Breit-Wigner
propagators, and the events are weighted with the intensity.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ctpwa.config.read import load_model
from ctpwa.data.events import Events
from ctpwa.generate.phase_space import generate_phase_space
from ctpwa.kinematics.lorentz import mass_squared
from ctpwa.kinematics.two_body import barrier_polynomial, breakup_momentum_squared
from ctpwa.model.model import Model, Wave
from ctpwa.model.resonance import Resonance
from ctpwa.spin.amplitudes import SpinAmplitudes

N_EVENTS = 200_000
OUTPUT = Path("demo-output")

MODEL = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "polarisation": "transverse",
    "resonances": {
        "phi(1020)": {"in": "K+ K-", "mass": 1.0195, "width": 0.005},
        "phi(1680)": {"in": "K+ K-", "mass": 1.659, "width": 0.164},
        "phi(3)(1850)": {"in": "K+ K-", "mass": 1.854, "width": 0.160},
        "rho(2150)": {"in": "K+ K-", "JP": "1-", "mass": 2.044, "width": 0.163, "latex": r"\rho(2150)"},
        "K*(1410)": {"in": ["K+ eta", "K- eta"], "mass": 1.368, "width": 0.232, "latex": "K^{*}(1410)"},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"], "mass": 1.427, "width": 0.100, "latex": "K_{2}^{*}(1430)"},
        "K(3)*(1780)": {"in": ["K+ eta", "K- eta"], "mass": 1.711, "width": 0.333, "latex": "K_{3}^{*}(1780)"},
        "K(4)*(2045)": {"in": ["K+ eta", "K- eta"], "mass": 2.186, "width": 0.241, "latex": "K_{4}^{*}(2045)"},
    },
}
# size of each resonance alone, relative to the others, and phase of its coupling
STRENGTHS = {
    "phi(1020)": (0.03, 0.0),
    "phi(1680)": (0.22, 1.9),
    "phi(3)(1850)": (0.12, -0.8),
    "rho(2150)": (0.05, 2.6),
    "K*(1410)": (0.10, 0.9),
    "K(2)*(1430)": (0.30, -1.2),
    "K(3)*(1780)": (0.08, 2.2),
    "K(4)*(2045)": (0.14, -2.0),
}


def breit_wigner(resonance: Resonance, s: Tensor, m1: float, m2: float, L: int) -> Tensor:
    """Relativistic Breit-Wigner with mass-dependent width.

        F = 1 / (m0² − s − i m0 Γ(m)),   Γ(m) = Γ0 (q/q0)^(2L+1) (m0/m) N_L(q0 d) / N_L(q d)          (F8)

    Args:
        resonance:  gives m0, Γ0 and the barrier radius d
        s:          m² of the pair it decays to, GeV², [event]
        m1, m2:     masses of the pair, GeV
        L:          orbital angular momentum of its decay
    """
    assert resonance.mass is not None
    assert resonance.width is not None
    m0 = torch.tensor(resonance.mass, dtype=s.dtype)
    q2 = breakup_momentum_squared(s, m1, m2).clamp(min=0)
    q2_0 = breakup_momentum_squared(m0.square(), m1, m2)
    d2 = resonance.radius**2
    barrier = barrier_polynomial(L, q2_0 * d2) / barrier_polynomial(L, q2 * d2)
    width = resonance.width * (q2 / q2_0).pow(L + 0.5) * (m0 / s.sqrt()) * barrier
    return 1 / torch.complex(m0.square() - s, -m0 * width)


def wave_amplitude(model: Model, spin: SpinAmplitudes, index: int, s: Mapping[tuple[int, ...], Tensor]) -> Tensor:
    """Spin amplitude times propagators of one wave, identical particles summed over, [row, event]."""
    wave = model.waves[index]
    total = torch.zeros(spin.K.shape[1:], dtype=torch.complex128)
    for term in spin.terms[index]:
        F = prod(_propagators(model, wave, term.systems, s), start=torch.ones((), dtype=torch.complex128))
        total += term.factor * spin.phase(term.structure) * F * spin.K[term.structure]
    return total


def _propagators(model: Model, wave: Wave, systems: tuple[tuple[int, ...], ...], s: Mapping[tuple[int, ...], Tensor]) -> Iterator[Tensor]:
    for resonance, ls, system in zip(wave.resonances, wave.ls[1:], systems, strict=True):
        m1, m2 = (model.decay.final[i].mass or 0.0 for i in system)
        yield breit_wigner(resonance, s[system], m1, m2, ls.L)


def coherent_sums(model: Model, spin: SpinAmplitudes, s: Mapping[tuple[int, ...], Tensor]) -> dict[str, Tensor]:
    """ψ of every resonance with the couplings of the demonstration, [row, event]; their sum is the amplitude.

    Charge-conjugate waves have one coupling and the sign that C gives them.
    """
    psi: dict[str, Tensor] = {}
    for index, wave in enumerate(model.waves):
        name = wave.resonances[0].name
        psi[name] = psi.get(name, torch.zeros(())) + wave.factor * wave_amplitude(model, spin, index, s)
    for name, (fraction, phase) in STRENGTHS.items():
        norm = psi[name].abs().square().sum(dim=0).mean()
        psi[name] = psi[name] * torch.polar((fraction / norm).sqrt(), torch.tensor(phase, dtype=torch.float64))
    return psi


def invariant_masses_squared(model: Model, events: Events) -> dict[tuple[int, ...], Tensor]:
    """m² of all pairs of final particles, GeV², [event]."""
    p4 = [events[name].T for name in model.final_names]
    return {(i, j): mass_squared(p4[i] + p4[j]) for i in range(len(p4)) for j in range(i + 1, len(p4))}


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print what is done and how long it took."""
    print(f"{what:<58}", end="", flush=True)
    start = time.perf_counter()
    yield
    print(f"{time.perf_counter() - start:6.2f} s")


def main(n_events: int = N_EVENTS, output: Path = OUTPUT) -> None:
    """Run the demonstration.

    Args:
        n_events:  number of phase-space events
        output:    folder for the figure
    """
    with step("read the model and build its waves"):
        model = load_model(MODEL)
    print(f"\n{model}\n")
    with step(f"generate {n_events:,} phase-space events"):
        events = generate_phase_space(model, n_events, seed=1)
    with step(f"spin amplitudes of {len(model.waves)} waves"):
        spin = model.spin_amplitudes(events, barrier=True)
    kind = "real" if spin.real else "complex"
    print(f"    {len(spin.structures)} wave structures x {spin.K.shape[1]} polarisation rows, {kind}: {spin.K.nbytes / 1e6:.0f} MB")
    with step("sum the waves with Breit-Wigner propagators"):
        s = invariant_masses_squared(model, events)
        psi = coherent_sums(model, spin, s)
        intensity = torch.stack(list(psi.values())).sum(dim=0).abs().square().sum(dim=0)
        own = {name: amplitude.abs().square().sum(dim=0) for name, amplitude in psi.items()}
        random = torch.Generator().manual_seed(2)
        accepted = torch.rand(n_events, generator=random, dtype=torch.float64) * intensity.max() < intensity
    fractions = {name: 100 * float(I.sum() / intensity.sum()) for name, I in own.items()}
    print("\n    fractions: " + ", ".join(f"{name} {fraction:.0f} %" for name, fraction in fractions.items()))
    print(f"    interference: {100 - sum(fractions.values()):+.1f} %")
    print(f"    {int(accepted.sum()):,} events accepted as toy data\n")
    with step("draw the Dalitz plot"):
        files = _draw(model, s, intensity, accepted, own, output)
    print("\nThe figure is in " + " and ".join(str(file) for file in files))


def _draw(
    model: Model, s: Mapping[tuple[int, ...], Tensor], intensity: Tensor, accepted: Tensor, own: Mapping[str, Tensor], output: Path
) -> list[Path]:
    from ctpwa.report.dalitz import DalitzSample, draw_dalitz, save_figure

    decay = model.decay
    first, second, third = decay.final
    s12, s13, s23 = (np.asarray(s[pair]) for pair in ((0, 1), (0, 2), (1, 2)))
    sample = DalitzSample(
        parent=decay.parent.mass or 0.0,
        masses=(first.mass or 0.0, second.mass or 0.0, third.mass or 0.0),
        names=(first.latex, second.latex, third.latex),
        s=(s12, s13, s23),
        intensity=intensity.numpy(),
        accepted=accepted.numpy(),
        components={f"${model.resonances[name].latex}$": I.numpy() for name, I in own.items()},
    )
    title = rf"${decay.parent.latex} \to {first.latex} {second.latex} {third.latex}$"
    return save_figure(draw_dalitz(sample, title), output / "dalitz")


if __name__ == "__main__":
    main()
