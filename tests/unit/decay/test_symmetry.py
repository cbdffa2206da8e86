"""Exchange permutations, terms of symmetrised waves, and the signs of charge conjugation."""

import pytest

import ctpwa
from ctpwa.base.errors import ConfigError
from ctpwa.decay.chain import Decay
from ctpwa.decay.pdg import ParticleTable
from ctpwa.decay.symmetry import Conjugation, conjugation_map, conjugation_sign, exchange_permutations, permutation_sign

table = ParticleTable()


def decay(text):
    parent, _, final = text.partition(" -> ")
    particles = tuple(table.get(name) for name in final.split())
    return Decay(table.get(parent), particles, tuple(f"p{i}" for i in range(len(particles))))


def test_permutations_are_the_full_product_over_groups():
    found = exchange_permutations(decay("J/psi(1S) -> pi+ pi- pi+ pi-"))
    assert sorted(new for new, _ in found) == [(0, 1, 2, 3), (0, 3, 2, 1), (2, 1, 0, 3), (2, 3, 0, 1)]
    assert {sign for _, sign in found} == {1}
    assert len(exchange_permutations(decay("psi(2S) -> pi0 pi0 pi0 pi0 eta"))) == 24


def test_odd_permutations_of_fermions_have_a_minus_sign():
    found = dict(exchange_permutations(decay("B0 -> p p p~ p~")))
    assert found == {(0, 1, 2, 3): 1, (1, 0, 2, 3): -1, (0, 1, 3, 2): -1, (1, 0, 3, 2): 1}


@pytest.mark.parametrize(("images", "sign"), [([0, 1, 2], 1), ([1, 0, 2], -1), ([1, 2, 0], 1), ([2, 1, 0], -1), ([], 1)])
def test_permutation_sign(images, sign):
    assert permutation_sign(images) == sign


@pytest.mark.parametrize(
    ("text", "images", "eta"),
    [
        ("J/psi(1S) -> K+ K- eta", (1, 0, 2), -1),
        ("J/psi(1S) -> K+ K- phi(1020)", (1, 0, 2), +1),
        ("J/psi(1S) -> p p~ eta", (1, 0, 2), +1),
        ("J/psi(1S) -> p p~ omega(782)", (1, 0, 2), -1),
        ("J/psi(1S) -> gamma pi+ pi-", (0, 2, 1), +1),
        ("eta(c)(1S) -> K+ K- pi0", (1, 0, 2), +1),
        ("psi(2S) -> pi+ pi- p p~", (1, 0, 3, 2), +1),
        ("B0 -> K+ K- pi0", (1, 0, 2), None),  # C of the parent is not defined
    ],
)
def test_conjugation_sign(text, images, eta):
    """η = C(parent) · Π C(neutral) · (−1)^(fermion pairs)."""
    assert conjugation_map(decay(text)) == images
    assert conjugation_sign(decay(text), images) == eta
    conjugation = Conjugation.of(decay(text))
    assert (None if conjugation is None else conjugation.eta) == eta


def test_final_states_that_are_not_self_conjugate_have_no_conjugation():
    assert conjugation_map(decay("Lambda(c)+ -> p K- pi+")) is None
    assert Conjugation.of(decay("J/psi(1S) -> K(S)0 K+ pi-")) is None


def test_repeated_pairs_are_matched_one_by_one():
    assert conjugation_map(decay("J/psi(1S) -> pi+ pi- pi+ pi-")) == (1, 0, 3, 2)


def test_weak_chains_are_not_tied():
    model = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "weak": True, "resonances": {"K*(1410)": {"in": ["K+ eta", "K- eta"]}}})
    assert len(model.couplings) == len(model.waves)


@pytest.mark.parametrize(
    ("mapping", "signs"),
    [
        ({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"K*(1410)": {"in": ["K+ eta", "K- eta"]}}}, {-1}),
        ({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"K(2)*(1430)": {"in": ["K+ eta", "K- eta"]}}}, {-1}),
        ({"decay": "J/psi(1S) -> p p~ eta", "resonances": {"N(1535)": {"in": ["p eta", "p~ eta"]}}}, {+1}),
        ({"decay": "eta(c)(1S) -> K+ K- pi0", "resonances": {"K*(892)": {"in": ["K+ pi0", "K- pi0"]}}}, {+1}),
    ],
)
def test_tied_waves_in_mirrored_order_have_the_sign_eta(mapping, signs):
    """If the conjugate chain is written with mirrored daughters, c(conjugate) = η c."""
    model = ctpwa.load_model(mapping)
    assert len(model.waves) == 2 * len(model.couplings)
    assert {wave.factor for wave in model.waves if wave.coupling != wave.name} == signs


@pytest.mark.parametrize(
    ("decay_text", "chain", "n_terms"),
    [
        ("J/psi(1S) -> pi+ pi- pi+ pi-", "J/psi(1S) -> rho(770)0 f(0)(980) ; rho(770)0 -> pi+ pi- ; f(0)(980) -> pi+ pi-", 4),
        ("J/psi(1S) -> gamma pi0 pi0", "J/psi(1S) -> gamma f(2)(1270) ; f(2)(1270) -> pi0 pi0", 1),
        ("J/psi(1S) -> gamma pi0 pi0", "J/psi(1S) -> omega(782) pi0 ; omega(782) -> gamma pi0", 2),
        ("chi(c0)(1P) -> K+ K- K+ K-", "chi(c0)(1P) -> phi(1020) phi(1020) ; phi(1020) -> K+ K- ; phi(1020) -> K+ K-", 2),
    ],
)
def test_terms_are_grouped_by_the_masses_their_propagators_see(decay_text, chain, n_terms):
    model = ctpwa.load_model({"decay": decay_text, "chains": [chain]})
    for wave in model.waves:
        assert len(wave.terms) == n_terms
        seen = {tuple(sorted(zip([r.name for r in wave.resonances], term.systems, strict=True))) for term in wave.terms}
        assert len(seen) == n_terms
        assert all(len(term.systems) == len(wave.resonances) for term in wave.terms)


def test_sum_over_equal_permutations_is_a_factor():
    """f2 → π0π0 is symmetric by itself: the two permutations add up to twice one structure."""
    model = ctpwa.load_model({"decay": "J/psi(1S) -> gamma pi0 pi0", "resonances": {"f(2)(1270)": {"in": "pi0 pi0"}}})
    for wave in model.waves:
        assert [abs(term.factor) for term in wave.terms] == [2]
        assert [count for term in wave.terms for _, count in term.parts] == [1]


def test_waves_that_vanish_under_exchange_are_refused():
    with pytest.raises(ConfigError, match="identical particles need even L\\+S"):
        ctpwa.load_model(
            {"decay": "J/psi(1S) -> gamma pi0 pi0", "resonances": {"X": {"in": "pi0 pi0", "JP": "1-", "mass": 1.2, "width": 0.1}}}
        )
