"""Helicity couplings of a model file: exactly those that come out, parity relations, and what is not determined."""

import itertools
import re

import numpy as np
import pytest

import ctpwa
from ctpwa.base.errors import ConfigError
from ctpwa.decay.helicity_couplings import chain_helicities, chain_matrix, helicity_matrix, helicity_pairs, to_ls
from ctpwa.decay.rules import angular_momentum_couplings
from ctpwa.interchange import helicity_couplings
from ctpwa.interchange.particles import spin_state

LAMBDA = {"decay": "Lambda(c)+ -> p K- pi+", "resonances": {"Lambda(1520)": {"in": "p K-"}, "K*(892)": {"in": "K- pi+"}}}


@pytest.mark.parametrize(("two_J", "two_s1", "two_s2"), [(2, 2, 2), (3, 1, 4), (4, 3, 1), (1, 3, 2), (0, 2, 2)])
def test_ls_and_helicities_are_one_space(two_J, two_s1, two_s2):
    """As many of one as of the other, and there and back is nothing."""
    first, second = spin_state(two_s1), spin_state(two_s2)
    pairs = angular_momentum_couplings(two_J, two_s1, two_s2)
    random = np.random.default_rng(1)
    c = {ls: complex(*random.normal(size=2)) for ls in pairs}
    values = helicity_matrix(two_J, first, second, pairs) @ np.array([c[ls] for ls in pairs])
    H = dict(zip(helicity_pairs(two_J, first, second), values.tolist(), strict=True))
    assert len(H) == len(pairs)
    again = to_ls(two_J, first, second, H)
    assert all(abs(again[ls] - c[ls]) < 1e-12 for ls in pairs)


def test_there_and_back_in_a_model():
    couplings = {"Lambda(1520)[p K-] (1,3/2)(2,1/2)": [0.3, 0.8]}
    before = ctpwa.ModelIntensity(ctpwa.load_model({**LAMBDA, "couplings": couplings}), engine="reference")
    found = helicity_couplings(before)
    given = {name: {text: [H.real, H.imag] for text, H in own.items()} for name, own in found.items()}
    after = ctpwa.ModelIntensity(ctpwa.load_model({**LAMBDA, "helicity_couplings": given}), engine="reference")
    for name, value in before.couplings.items():
        assert after.couplings[name] == pytest.approx(value, abs=1e-12)


def test_parity_gives_the_other_half():
    """Λ(1520) -> p K- conserves parity: one of its two helicities is enough."""
    given = {"Lambda(1520)[p K-]": {"(1/2,0)(1/2,0)": [0.2, 0.1], "(-1/2,0)(1/2,0)": 0.5}}
    model = ctpwa.load_model({**LAMBDA, "helicity_couplings": given})
    found = helicity_couplings(ctpwa.ModelIntensity(model, engine="reference"))["Lambda(1520)[p K-]"]
    assert found["(1/2,0)(1/2,0)"] == pytest.approx(0.2 + 0.1j, abs=1e-12)
    assert found["(1/2,0)(-1/2,0)"] == pytest.approx(-(0.2 + 0.1j), abs=1e-12)  # η = P P1 P2 (-1)^(J-s1-s2) of a 3/2- state
    assert len(found) == 4


def test_helicities_of_a_cascade():
    """A spin-0 parent makes two vectors with equal helicities only."""
    scalar = {"JP": "0-", "mass": 0.2, "charge": 0}
    V = {"JP": "1-", "lineshape": "constant", "weak": True}
    text = {
        "decay": "P -> a1:a b1:b a2:a b2:b",
        "weak": True,
        "particles": {"P": {**scalar, "mass": 3.0}, "a": scalar, "b": {**scalar, "mass": 0.3}},
        "resonances": {"V": V, "W": V},
        "chains": ["P -> V W ; V -> a1 b1 ; W -> a2 b2"],
    }
    model = ctpwa.load_model(text)
    assert [row[0] for row in chain_helicities(model.waves[0].chain)] == [(2, 2), (0, 0), (-2, -2)]
    matrix = chain_matrix(model.waves[0].chain, [wave.ls for wave in model.waves], chain_helicities(model.waves[0].chain))
    assert np.linalg.matrix_rank(matrix) == 3 == len(model.waves)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"Lambda(1520)": {"(1/2,0)(1/2,0)": 1}}, "no chain is called"),
        ({"Lambda(1520)[p K-]": {"(1/2,0)": 1}}, "does not give helicities for 2 vertices"),
        ({"Lambda(1520)[p K-]": {"(1/2,0)(1/2,0)x": 1}}, "does not give helicities"),
        ({"Lambda(1520)[p K-]": {"(1/2,0)(1/2,0)": 1}}, "do not determine its 2 waves"),
        ({"Lambda(1520)[p K-]": {"(1/2,0)(1/2,0)": 1, "(-1/2,0)(1/2,0)": 1, "(1/2,0)(-1/2,0)": 1}}, "contradicts the others"),
        ({"Lambda(1520)[p K-]": {"(1/2,0)(1/2,0)": "x", "(-1/2,0)(1/2,0)": 1}}, "not a complex number"),
    ],
)
def test_what_is_wrong_is_said(given, what):
    with pytest.raises(ConfigError, match=re.escape(what)):
        ctpwa.load_model({**LAMBDA, "helicity_couplings": given})


def test_all_pairs_of_a_vertex():
    pairs = chain_helicities(ctpwa.load_model(LAMBDA).waves[0].chain)
    assert set(pairs) == set(itertools.product([(1, 0), (-1, 0)], [(1, 0), (-1, 0)]))
