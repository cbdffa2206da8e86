"""Waves that are zero because identical particles are exchanged are refused: the data could say nothing of their couplings."""

import pytest

import ctpwa
from ctpwa.base.errors import PhysicsError
from ctpwa.decay.spin import LS
from ctpwa.decay.symmetry import symmetrised_terms
from ctpwa.decay.waves import chain_waves


@pytest.fixture(scope="module")
def chain():
    """χ_c1 → φ φ → K⁺K⁻ K⁺K⁻: exchanging both φ gives (−1)^(L+S), so L + S must be even."""
    model = ctpwa.load_model({"decay": "chi(c1)(1P) -> K+ K- K+ K-", "resonances": {"phi(1020)": {"in": "K+ K-"}}})
    assert {wave.ls for wave in model.waves} == {((2, 2), (1, 0), (1, 0))}
    return model.waves[0].chain


def waves(*first):
    return [(LS(*ls), LS(1, 0), LS(1, 0)) for ls in first]


def test_an_odd_wave_of_two_identical_states_vanishes(chain):
    (even, odd) = waves((2, 2), (2, 1))
    assert symmetrised_terms(chain, even)
    with pytest.raises(PhysicsError, match=r"with \(L,S\) = \(2,1\) \(1,0\) \(1,0\) vanishes when identical particles are exchanged"):
        symmetrised_terms(chain, odd)


def test_it_is_left_out_and_an_error_if_nothing_is_left(chain):
    choices = [[LS(0, 1), LS(2, 1), LS(2, 2)], [LS(1, 0)], [LS(1, 0)]]
    assert chain_waves(chain, choices) == waves((2, 2))
    with pytest.raises(PhysicsError, match="vanishes when identical particles are exchanged"):
        chain_waves(chain, [choices[0][:2], *choices[1:]])
