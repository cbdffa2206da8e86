"""J/psi -> K+ K- eta by hand: spin amplitudes, Breit-Wigners and logarithms in numpy, nothing of the engine."""

import math

import numpy as np
import pytest

from engine.cases import CASES, kk_eta, likelihood, make, model, point, samples

# N_L(z) as printed in papers, powers of z² ascending
BARRIER = {1: [1, 1], 2: [9, 3, 1], 3: [225, 45, 6, 1], 4: [11025, 1575, 135, 10, 1], 5: [893025, 99225, 6300, 315, 15, 1]}
D = 3.0  # GeV⁻¹


def mass_squared(p4):
    return p4[:, 0] ** 2 - (p4[:, 1:] ** 2).sum(axis=1)


def breakup_squared(s, s1, s2):
    return (s**2 + s1**2 + s2**2 - 2 * (s * s1 + s * s2 + s1 * s2)) / (4 * s)


def N(L, q2):
    return sum(n * (q2 * D**2) ** k for k, n in enumerate(BARRIER[L]))


def breit_wigner(s, q2, m0, width, L, m1, m2):
    q0_2 = breakup_squared(m0**2, m1**2, m2**2)
    running = width * np.sqrt(q2 / q0_2) ** (2 * L + 1) * m0 / np.sqrt(s) * N(L, q0_2) / N(L, q2)
    return 1 / (m0**2 - s - 1j * m0 * running)


def intensity(the_model, sample, values):
    labels = list(the_model.final_names)
    p4 = [sample[label].numpy() for label in labels]
    masses = [particle.mass for particle in the_model.decay.final]
    A = the_model.spin_amplitudes(sample, barrier=True).values.numpy()
    psi = np.zeros(A.shape[1:], dtype=complex)
    reference = the_model.waves[0].coupling
    for wave, amplitude in zip(the_model.waves, A, strict=True):
        i, j = wave.chain.nodes[1].leaves
        s = mass_squared(p4[i] + p4[j])
        q2 = breakup_squared(s, mass_squared(p4[i]), mass_squared(p4[j]))
        (resonance,) = wave.resonances
        L = wave.ls[1].L
        F = 1.0
        if resonance.lineshape != "constant":
            m0, width = (values.get(f"{resonance.name}.{p}", resonance.parameters[p]) for p in ("mass", "width"))
            F = breit_wigner(s, q2, m0, width, L, masses[i], masses[j])
        c = values.get(f"{wave.coupling}.re", 1.0) + 1j * values.get(f"{wave.coupling}.im", 0.0)
        assert wave.coupling == reference or f"{wave.coupling}.re" in values
        psi += wave.factor * c * F * amplitude
    return (abs(psi) ** 2).sum(axis=0)


@pytest.mark.parametrize("name", ["kk_eta", "kk_eta fixed"])
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_nll_equals_the_formula_by_hand(name, engine):
    like = make(name, engine, subtraction="plain")
    x = point(like)
    values = dict(zip(like.names, x, strict=True))
    I = {key: intensity(model(name), sample, values) for key, sample in samples(name).items()}
    w = {key: sample.weights.numpy() for key, sample in samples(name).items()}
    total = math.fsum(w["data"]) - math.fsum(w["background"])
    sigma = math.fsum(w["phase_space"] * I["phase_space"]) / math.fsum(w["phase_space"])
    nll = -math.fsum(w["data"] * np.log(I["data"])) + math.fsum(w["background"] * np.log(I["background"])) + total * math.log(sigma)
    for parameter, (mean, deviation) in CASES[name].options.get("constraints", {}).items():
        nll += ((values[parameter] - mean) / deviation) ** 2 / 2
    scale = math.fsum(abs(w["data"] * np.log(I["data"])))
    assert abs(like.value(x) - nll) <= 1e-12 * scale
    np.testing.assert_allclose(like.intensity(x), I["data"], rtol=1e-11)


def test_the_model_has_all_its_waves():
    like = likelihood("kk_eta", "reference")
    assert len(kk_eta().waves) == 33
    assert len(like.names) == 54  # 22 complex couplings next to the reference wave, masses and widths of five resonances
