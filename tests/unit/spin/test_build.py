"""From momenta to K: barrier factors, shared structures, numerical edges."""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.spin.build import collect_structures

KKETA = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "radius": 2.0,
    "resonances": {
        "phi(1680)": {"in": "K+ K-", "radius": 5.0},
        "phi(3)(1850)": {"in": "K+ K-"},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]},
    },
}


def momentum_squared(P4, p4, q4):
    """|q|² of P → p q from invariants."""

    def dot(a, b):
        return a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(axis=1)

    s, m1, m2 = dot(P4, P4), dot(p4, p4), dot(q4, q4)
    return ((s - m1 - m2) ** 2 - 4 * m1 * m2) / (4 * s)


def test_barrier_factors_are_those_of_every_vertex():
    """K with barriers = K · Π 1/√N_L(|q| d): radius of the resonance where it decays, of the model where the parent does."""
    polynomial = {1: lambda z2: z2 + 1, 2: lambda z2: z2**2 + 3 * z2 + 9, 3: lambda z2: z2**3 + 6 * z2**2 + 45 * z2 + 225}
    model = ctpwa.load_model(KKETA)
    events = ctpwa.generate_phase_space(model, 20, seed=1, weighted=True)
    p4 = {name: p.numpy() for name, p in events.momenta.items()}
    plain, dressed = (model.spin_amplitudes(events, barrier=barrier).values.numpy() for barrier in (False, True))
    for wave, A, A_dressed in zip(model.waves, plain, dressed, strict=True):
        first, second = (model.final_names[i] for i in wave.chain.nodes[1].leaves)
        (bachelor,) = set(p4) - {first, second}
        pair = p4[first] + p4[second]
        radius = 5.0 if wave.resonances[0].name == "phi(1680)" else 2.0
        inner = polynomial[wave.ls[1].L](momentum_squared(pair, p4[first], p4[second]) * radius**2)
        outer = polynomial[wave.ls[0].L](momentum_squared(pair + p4[bachelor], pair, p4[bachelor]) * 2.0**2)
        np.testing.assert_allclose(A_dressed, A / np.sqrt(inner * outer), rtol=0, atol=1e-13 * np.abs(A).max())


def test_structures_are_listed_once():
    model = ctpwa.load_model(KKETA)
    structures, terms = collect_structures(model.waves, barrier=True)
    assert len(set(structures)) == len(structures)
    assert {term.structure for wave in terms for term in wave} == set(range(len(structures)))
    assert all(
        term.systems == tuple(tuple(sorted(n.leaves)) for n in w.chain.nodes[1:])
        for w, t in zip(model.waves, terms, strict=True)
        for term in t
    )


def test_amplitudes_are_in_double_precision():
    model = ctpwa.load_model(KKETA)
    spin = model.spin_amplitudes(ctpwa.generate_phase_space(model, 3, seed=1, weighted=True))
    assert spin.K.dtype == torch.float64
    assert spin.values.dtype == torch.complex128


def test_amplitudes_are_finite_where_two_particles_are_at_rest_to_each_other():
    """At threshold of K⁺K⁻ every L > 0 vanishes, without a division by |q|."""
    model = ctpwa.load_model(KKETA)
    m_k, m_eta, M = 0.493677, 0.547862, 3.0969
    q = np.sqrt((M**2 - (2 * m_k + m_eta) ** 2) * (M**2 - (2 * m_k - m_eta) ** 2)) / (2 * M)
    kaon = [np.sqrt(m_k**2 + q**2 / 4), 0, 0, q / 2]
    momenta = {"K+": [kaon], "K-": [kaon], "eta": [[np.sqrt(m_eta**2 + q**2), 0, 0, -q]]}
    A = model.spin_amplitudes(momenta, barrier=True).values.numpy()
    assert np.all(np.isfinite(A))
    in_pair = np.array([wave.chain.nodes[1].leaves == (0, 1) for wave in model.waves])
    assert np.abs(A[in_pair]).max() < 1e-7
    assert in_pair.any()


@pytest.mark.parametrize("shift", [0.0, 3e-16, 1e-15])
def test_light_fermions_on_the_light_cone_are_finite(shift):
    """e⁺ rounded to E = |p|: a boost makes its m² −1e-17 in some events, which must not become NaN."""
    model = ctpwa.load_model(
        {"decay": "J/psi(1S) -> e+ e- eta", "resonances": {"V": {"in": "e+ e-", "JP": "1--", "lineshape": "constant"}}}
    )
    momenta = dict(ctpwa.generate_phase_space(model, 1000, seed=1, weighted=True).momenta)
    positron = momenta["e+"].clone()
    positron[:, 0] = positron[:, 1:].norm(dim=1) * (1 + shift)
    kept = positron[:, 0].square() >= positron[:, 1:].square().sum(dim=1)
    assert kept.sum() > 300
    slower = positron.clone()
    slower[:, 0] = (positron[:, 1:].square().sum(dim=1) + 1e-14).sqrt()  # m = 0.1 keV is as good as none
    A, expected = (
        model.spin_amplitudes({name: p4[kept] for name, p4 in (momenta | {"e+": p}).items()}).values.numpy() for p in (positron, slower)
    )
    np.testing.assert_allclose(A, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_errors_of_one_chunk_stop_the_whole_computation():
    model = ctpwa.load_model(KKETA)
    momenta = dict(ctpwa.generate_phase_space(model, 100, seed=1, weighted=True).momenta)
    momenta["K+"][77, 0] = float("nan")
    with pytest.raises(ctpwa.base.DataError, match="event 77"):
        model.spin_amplitudes(momenta, chunk_size=10)
