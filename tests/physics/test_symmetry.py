"""Identical particles, charge conjugation, and the order in which a user writes daughters."""

from functools import cache

import numpy as np
import pytest

import ctpwa
from ctpwa.decay.clebsch import clebsch_gordan
from ctpwa.decay.rules import angular_momentum_couplings
from ctpwa.decay.spin import projections
from ctpwa.decay.structure import exchange_sign
from physics.helpers import assert_close, couplings_of, density_matrix, dressed_amplitudes, events_of, exchanged
from physics.models import MODELS, load

IDENTICAL = {
    "d0_k3pi": ((1, 2),),
    "gamma_pi0_pi0": ((1, 2),),
    "two_pi_pairs": ((0, 2), (1, 3)),
    "p_p_pi0": ((0, 1),),
    "two_p_pbar_pairs": ((0, 1), (2, 3)),
    "three_pi_pairs": ((0, 2, 4), (1, 3, 5)),
    "six_body": ((4, 5),),
}


def swapped(momenta, labels, i, j):
    return momenta | {labels[i]: momenta[labels[j]], labels[j]: momenta[labels[i]]}


def transposition(n, *pairs):
    new = list(range(n))
    for i, j in pairs:
        new[i], new[j] = new[j], new[i]
    return new


@pytest.mark.parametrize(("name", "group"), [(name, group) for name, groups in IDENTICAL.items() for group in groups])
def test_identical_particles_can_be_swapped(name, group):
    """Every wave with its propagators is symmetric for bosons and antisymmetric for fermions, spin axes included."""
    model, momenta = load(name), events_of(name)
    i, j = group[:2]
    sign = -1 if model.decay.final[i].fermion else 1
    rho = density_matrix(model.decay.parent.two_J)
    for options in ({}, {"polarisation": rho, "barrier": True}):
        A = dressed_amplitudes(model, momenta, **options)
        A_swapped = dressed_amplitudes(model, swapped(momenta, model.decay.labels, i, j), **options)
        assert_close(exchanged(A_swapped, transposition(len(model.decay.final), (i, j))), sign * A)


def test_identical_particles_are_found_where_they_are():
    assert {name: load(name).decay.identical_groups for name in MODELS} == {name: IDENTICAL.get(name, ()) for name in MODELS}


@pytest.mark.parametrize("name", IDENTICAL)
def test_intensity_is_the_same_for_swapped_identical_particles(name):
    model, momenta = load(name), events_of(name)
    c = couplings_of(model)

    def intensity(p):
        psi = np.tensordot(c, dressed_amplitudes(model, p), axes=1)
        return (np.abs(psi) ** 2).sum(axis=tuple(range(psi.ndim - 1)))

    expected = intensity(momenta)
    for group in model.decay.identical_groups:
        assert_close(intensity(swapped(momenta, model.decay.labels, *group[:2])), expected)


CONJUGATE = {
    "k_k_eta": (
        {
            "decay": "J/psi(1S) -> K+ K- eta",
            "resonances": {
                "phi(1680)": {"in": "K+ K-"},
                "K*(1410)": {"in": ["K+ eta", "K- eta"]},
                "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]},
            },
        },
        -1,  # C(J/ψ) · C(η)
    ),
    "k_k_pi0": (
        {"decay": "eta(c)(1S) -> K+ K- pi0", "resonances": {"K*(892)": {"in": ["K+ pi0", "K- pi0"]}, "a(0)(980)": {"in": "K+ K-"}}},
        +1,
    ),
    "p_pbar_eta": (MODELS["p_pbar_eta"], +1),  # −C(J/ψ) · C(η): one fermion pair
    "p_pbar_omega": (
        {
            "decay": "J/psi(1S) -> p p~ omega(782)",
            "resonances": {"NX": {"in": ["p omega(782)", "p~ omega(782)"], "JP": "1/2-", "mass": 1.9, "width": 0.1}},
        },
        -1,  # −C(J/ψ) · C(ω)
    ),
    "lambda_lambdabar_eta": (
        {
            "decay": "psi(2S) -> Lambda Lambda~ eta",
            "resonances": {"Lambda(1670)": {"in": ["Lambda eta", "Lambda~ eta"]}, "Lambda(1690)": {"in": ["Lambda eta", "Lambda~ eta"]}},
        },
        +1,
    ),
    "k1_k": (MODELS["k1_k"], -1),
    "two_pi_pairs": (MODELS["two_pi_pairs"], -1),
    "two_p_pbar_pairs": (MODELS["two_p_pbar_pairs"], -1),  # two fermion pairs: C(Y)
    "photon": (
        {
            "decay": "J/psi(1S) -> gamma K+ K-",
            "resonances": {"f(2)(1525)": {"particle": "f(2)'(1525)", "in": "K+ K-"}, "K(1)(1270)": {"in": ["gamma K+", "gamma K-"]}},
        },
        +1,  # C(J/ψ) · C(γ)
    ),
}


@cache
def conjugate_model(name):
    model = ctpwa.load_model(CONJUGATE[name][0])
    return model, dict(ctpwa.generate_phase_space(model, 6, seed=2, weighted=True).momenta)


def pairs_of(decay):
    """Each particle with its antiparticle, the k-th of its name with the k-th of the other."""
    names = [particle.name for particle in decay.final]
    pairs = []
    for i, particle in enumerate(decay.final):
        if not particle.self_conjugate:
            k = names[:i].count(particle.name)
            partner = [j for j, name in enumerate(names) if name == particle.antiparticle][k]
            if i < partner:
                pairs.append((i, partner))
    return pairs


def total_and_conjugate(model, momenta):
    c = couplings_of(model)
    pairs = pairs_of(model.decay)
    other = momenta
    for i, j in pairs:
        other = swapped(other, model.decay.labels, i, j)
    psi, psi_conjugate = (np.tensordot(c, A, axes=1)[None] for A in (dressed_amplitudes(model, p) for p in (momenta, other)))
    return psi, exchanged(psi_conjugate, transposition(len(model.decay.final), *pairs))


@pytest.mark.parametrize("name", CONJUGATE)
def test_tied_waves_have_the_c_parity_of_the_decay(name):
    """Particles ↔ antiparticles: momenta and spins swapped give η times the amplitude."""
    model, momenta = conjugate_model(name)
    assert len(model.couplings) < len(model.waves) or name == "two_p_pbar_pairs"
    psi, psi_conjugate = total_and_conjugate(model, momenta)
    assert_close(psi_conjugate, CONJUGATE[name][1] * psi)


def test_untied_waves_have_no_c_parity():
    model = ctpwa.load_model(CONJUGATE["k_k_eta"][0] | {"tie_conjugates": False})
    assert len(model.couplings) == len(model.waves)
    psi, psi_conjugate = total_and_conjugate(model, conjugate_model("k_k_eta")[1])
    assert min(np.abs(psi_conjugate - psi).max(), np.abs(psi_conjugate + psi).max()) > 0.1 * np.abs(psi).max()


def test_c_parity_of_the_whole_chain_selects_waves_of_a_state_whose_own_c_parity_is_not_given():
    """J/ψ → X η needs C(X) = −: of X(1⁺) → p p̄ only ¹P₁ with L+S odd is left."""
    model = ctpwa.load_model({"decay": "J/psi(1S) -> p p~ eta", "resonances": {"X": {"in": "p p~", "JP": "1+", "lineshape": "constant"}}})
    assert {(wave.ls[1].L, int(wave.ls[1].S)) for wave in model.waves} == {(1, 0)}


ORDERS = {
    "J/psi(1S) -> p p~ eta": (
        ["J/psi(1S) -> {0} p~ ; {0} -> p eta", "J/psi(1S) -> p~ {0} ; {0} -> p eta", "J/psi(1S) -> p~ {0} ; {0} -> eta p"],
        ["J/psi(1S) -> {0} p ; {0} -> p~ eta", "J/psi(1S) -> p {0} ; {0} -> p~ eta", "J/psi(1S) -> p {0} ; {0} -> eta p~"],
        ["N(1520)+", "N(1520)~-"],
        +1,
    ),
    "J/psi(1S) -> K+ K- eta": (
        ["J/psi(1S) -> {0} K- ; {0} -> K+ eta", "J/psi(1S) -> K- {0} ; {0} -> eta K+"],
        ["J/psi(1S) -> {0} K+ ; {0} -> K- eta", "J/psi(1S) -> {0} K+ ; {0} -> eta K-", "J/psi(1S) -> K+ {0} ; {0} -> K- eta"],
        ["K*(1410)+", "K*(1410)-"],
        -1,
    ),
}


@pytest.mark.parametrize("decay", ORDERS)
def test_c_parity_holds_for_every_daughter_order_a_user_writes(decay):
    particles, antiparticles, (name, anti), eta = ORDERS[decay]
    momenta = None
    for first in particles:
        for second in antiparticles:
            model = ctpwa.load_model({"decay": decay, "chains": [first.format(name), second.format(anti)]})
            momenta = momenta or dict(ctpwa.generate_phase_space(model, 3, seed=2, weighted=True).momenta)
            assert len(model.waves) == 2 * len(model.couplings)
            psi, psi_conjugate = total_and_conjugate(model, momenta)
            assert_close(psi_conjugate, eta * psi)


@pytest.mark.parametrize(
    ("decay", "one", "other", "vertex"),
    [
        ("J/psi(1S) -> p p~ eta", "J/psi(1S) -> N(1680)+ p~ ; N(1680)+ -> p eta", "J/psi(1S) -> p~ N(1680)+ ; N(1680)+ -> p eta", 0),
        ("J/psi(1S) -> p p~ eta", "J/psi(1S) -> N(1680)+ p~ ; N(1680)+ -> p eta", "J/psi(1S) -> N(1680)+ p~ ; N(1680)+ -> eta p", 1),
        ("J/psi(1S) -> gamma pi0 eta", "J/psi(1S) -> omega(782) eta ; omega(782) -> gamma pi0", "J/psi(1S) -> eta omega(782) ; omega(782) -> gamma pi0", 0),  # noqa: E501
        ("J/psi(1S) -> gamma pi0 eta", "J/psi(1S) -> omega(782) eta ; omega(782) -> gamma pi0", "J/psi(1S) -> omega(782) eta ; omega(782) -> pi0 gamma", 1),  # noqa: E501
        ("Lambda(c)+ -> p K- pi+", "Lambda(c)+ -> K*(892)~0 p ; K*(892)~0 -> K- pi+", "Lambda(c)+ -> p K*(892)~0 ; K*(892)~0 -> K- pi+", 0),
        (
            "J/psi(1S) -> K+ K- pi+ pi-",
            "J/psi(1S) -> phi(1020) f(2)(1270) ; phi(1020) -> K+ K- ; f(2)(1270) -> pi+ pi-",
            "J/psi(1S) -> f(2)(1270) phi(1020) ; phi(1020) -> K+ K- ; f(2)(1270) -> pi+ pi-",
            0,
        ),
    ],
)  # fmt: skip
def test_daughter_order_changes_a_wave_by_a_sign_only(decay, one, other, vertex):
    """The sign is (−1)^(L+s1+s2−S) of the vertex whose daughters change places."""
    first, second = (ctpwa.load_model({"decay": decay, "chains": [chain]}) for chain in (one, other))
    momenta = dict(ctpwa.generate_phase_space(first, 4, seed=2, weighted=True).momenta)
    rho = density_matrix(first.decay.parent.two_J)
    A, A_other = (model.spin_amplitudes(momenta, polarisation=rho).values.numpy() for model in (first, second))
    by_L = {tuple(sorted(wave.ls)): k for k, wave in enumerate(second.waves)}
    for k, wave in enumerate(first.waves):
        node = wave.chain.nodes[vertex]
        s1, s2 = (wave.chain.particle(d).two_J for d in node.daughters)
        sign = exchange_sign(wave.ls[vertex], s1, s2)
        assert_close(A_other[by_L[tuple(sorted(wave.ls))]], sign * A[k], 1e-13)


def test_exchange_sign_of_a_vertex_is_that_of_its_clebsch_gordan_coefficient_and_harmonic():
    for two_J, two_s1, two_s2 in [(2, 1, 3), (3, 2, 1), (4, 2, 2), (2, 4, 2)]:
        for ls in angular_momentum_couplings(two_J, two_s1, two_s2):
            for m1 in projections(two_s1):
                for m2 in projections(two_s2):
                    there = clebsch_gordan(two_s1, m1, two_s2, m2, ls.two_S, m1 + m2)
                    back = clebsch_gordan(two_s2, m2, two_s1, m1, ls.two_S, m1 + m2) * (-1) ** ls.L  # q → −q
                    assert back == pytest.approx(exchange_sign(ls, two_s1, two_s2) * there, abs=1e-15)
