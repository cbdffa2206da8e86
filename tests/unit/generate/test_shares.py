"""Couplings from fractions: they come out, whatever interferes, and what is impossible is refused."""

import pickle

import numpy as np
import pytest

import ctpwa
from ctpwa.base.errors import GenerationError
from ctpwa.generate.shares import GivenFraction, SharedCouplings, shared_couplings, wave_products

NAMES = ("a", "b", "c", "d")


def products(seed=1, n=4, rows=6):
    """Integrals of waves that interfere, of very different sizes."""
    random = np.random.default_rng(seed)
    A = (random.normal(size=(rows, n)) + 1j * random.normal(size=(rows, n))) * 10.0 ** random.uniform(-3, 3, n)
    return A.conj().T @ A


def fractions(M, c, groups):
    """Of groups of couplings, coherently."""
    total = (c.conj() @ M @ c).real
    masked = [np.where([name in group for name in NAMES[: len(c)]], c, 0) for group in groups]
    return [(own.conj() @ M @ own).real / total for own in masked]


class TestPhases:
    @pytest.mark.parametrize("seed", range(8))
    def test_all_are_named_and_phases_are_found(self, seed):
        M, wanted = products(seed), [0.4, 0.3, 0.2, 0.1]
        c = shared_couplings(NAMES, M, [GivenFraction(name, (name,), f) for name, f in zip(NAMES, wanted, strict=True)])
        np.testing.assert_allclose(fractions(M, c, NAMES), wanted, rtol=1e-8)
        assert abs(c[0]) == pytest.approx(1, abs=1e-9)

    def test_those_that_are_given_stay(self):
        M = products(3)
        shares = [
            GivenFraction("a", ("a",), 0.3, 0.5),
            GivenFraction("b", ("b",), 0.3, -1.0),
            GivenFraction("c", ("c",), 0.3),
            GivenFraction("d", ("d",), 0.2),
        ]
        c = shared_couplings(NAMES, M, shares)
        np.testing.assert_allclose(fractions(M, c, NAMES), [0.3, 0.3, 0.3, 0.2], rtol=1e-8)
        np.testing.assert_allclose(np.angle(c[:2]), [0.5, -1.0], atol=1e-9)

    def test_without_interference_nothing_is_turned(self):
        M = np.diag([1.0, 100.0, 1e-4, 9.0]).astype(complex)
        c = shared_couplings(NAMES, M, [GivenFraction(name, (name,), 0.25) for name in NAMES])
        np.testing.assert_allclose(c, [1, 0.1, 100, 1 / 3], rtol=1e-9)

    def test_the_waves_of_a_resonance_have_equal_integrals(self):
        M = products(5)
        c = shared_couplings(NAMES, M, [GivenFraction("ab", ("a", "b"), 0.5), GivenFraction("cd", ("c", "d"), 0.5)])
        np.testing.assert_allclose(fractions(M, c, [("a", "b"), ("c", "d")]), [0.5, 0.5], rtol=1e-8)
        own = np.abs(c) ** 2 * np.diag(M).real
        assert own[0] == pytest.approx(own[1], rel=1e-8)
        assert own[2] == pytest.approx(own[3], rel=1e-8)


class TestRest:
    @pytest.mark.parametrize("seed", range(8))
    def test_waves_that_nobody_named_share_it(self, seed):
        M = products(seed)
        c = shared_couplings(NAMES, M, [GivenFraction("b", ("b",), 0.3, 0.7), GivenFraction("c", ("c",), 0.1)])
        np.testing.assert_allclose(fractions(M, c, "bc"), [0.3, 0.1], rtol=1e-8)
        own = np.abs(c) ** 2 * np.diag(M).real
        assert own[0] == pytest.approx(own[3], rel=1e-8)

    def test_of_waves_that_do_not_interfere(self):
        M = np.diag([1.0, 4.0, 16.0, 1.0]).astype(complex)
        c = shared_couplings(NAMES, M, [GivenFraction("a", ("a",), 0.4), GivenFraction("b", ("b",), 0.2)])
        np.testing.assert_allclose(fractions(M, c, NAMES), [0.4, 0.2, 0.2, 0.2], rtol=1e-9)


class TestImpossible:
    orthogonal = np.eye(4, dtype=complex)

    @pytest.mark.parametrize(
        ("shares", "message"),
        [
            ([0.7, 0.2, 0.2, 0.1], "add up to 100.0 to 100.0 %, whatever their phases, not to 120.0 %"),
            ([0.4, 0.2, 0.2, 0.1], "whatever their phases, not to 90.0 %: waves interfere\n fix: give other fractions, or leave"),
            ([0.7, 0.6], "a 70 %, b 60 % make up 130.0 % together with their interference, and leave nothing for the other waves"),
        ],
    )  # fmt: skip
    def test_sums(self, shares, message):
        with pytest.raises(GenerationError) as caught:
            shared_couplings(NAMES, self.orthogonal, [GivenFraction(name, (name,), f) for name, f in zip(NAMES, shares, strict=False)])
        assert message in str(caught.value)

    def test_with_all_phases_given_the_sum_follows(self):
        """cos of the angle between two waves is 0.6: ½ + ½ + 2·½·0.6 = 1.6."""
        M = np.array([[1, 0.6], [0.6, 1]], dtype=complex)
        shares = [GivenFraction("a", ("a",), 0.5, 0.0), GivenFraction("b", ("b",), 0.5, 0.0)]
        with pytest.raises(
            GenerationError, match=r"add up to 62.5 %, not to 100.0 %: waves interfere\n fix: multiply all of them by 0.625"
        ):
            shared_couplings(NAMES[:2], M, shares)
        c = shared_couplings(NAMES[:2], M, [GivenFraction("a", ("a",), 0.3125, 0.0), GivenFraction("b", ("b",), 0.3125, 0.0)])
        np.testing.assert_allclose(fractions(M, c, "ab"), [0.3125, 0.3125], rtol=1e-9)

    def test_few_digits_are_enough(self):
        c = shared_couplings(NAMES, self.orthogonal, [GivenFraction(name, (name,), 0.249) for name in NAMES])
        np.testing.assert_allclose(fractions(self.orthogonal, c, NAMES), 0.25, rtol=1e-9)

    def test_waves_that_vanish(self):
        M = np.diag([1.0, 0.0]).astype(complex)
        with pytest.raises(GenerationError, match="the wave 'b' vanishes everywhere"):
            shared_couplings(NAMES[:2], M, [GivenFraction("a", ("a",), 0.5), GivenFraction("b", ("b",), 0.5)])
        with pytest.raises(GenerationError, match="the waves of 'X' cancel everywhere"):
            shared_couplings(NAMES[:2], np.array([[1, -1], [-1, 1]], dtype=complex), [GivenFraction("X", ("a", "b"), 1.0)])


class TestModels:
    content = {
        "decay": "J/psi(1S) -> K+ K- eta",
        "polarisation": "transverse",
        "resonances": {"phi(1680)": {"in": "K+ K-"}, "phi(1020)": {"in": "K+ K-"}, "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]}},
        "fractions": {"phi(1680)": "50 %", "K(2)*(1430)": 0.2},
    }

    def test_integrals_are_those_of_a_likelihood(self):
        """M of flat events is another sum of the same integral."""
        model = ctpwa.load_model(
            self.content | {"fractions": {}, "resonances": {"phi(1680)": {"in": "K+ K-"}, "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]}}}
        )
        M = wave_products(model, 6000)
        flat = ctpwa.generate_phase_space(model, 20_000, seed=3)
        intensity = ctpwa.ModelIntensity(model, couplings=dict.fromkeys(model.couplings, 1.0), engine="reference")
        own = intensity.components(flat, {name: intensity.waves_of(name) for name in model.couplings} | {"": None})
        a, b, both = (float(I.mean()) for I in own.values())
        assert M[1, 1].real / M[0, 0].real == pytest.approx(b / a, rel=0.05)
        coherence = (both - a - b) / (2 * np.sqrt(a * b))
        assert M[0, 1].real / np.sqrt(M[0, 0].real * M[1, 1].real) == pytest.approx(coherence, abs=0.02)

    def test_they_are_computed_when_they_are_asked_for(self):
        values = SharedCouplings(
            ctpwa.load_model(self.content | {"fractions": {}}), (GivenFraction("phi(1680)", ("phi(1680)[K+ K-] (1,1)(1,0)",), 0.5),), 500
        )
        assert len(values) == len(list(values)) == 3
        assert "_values" not in vars(values)
        assert values.get("no such coupling", 7.0) == 7.0
        assert "_values" not in vars(values)
        again = pickle.loads(pickle.dumps(values))
        assert dict(again) == dict(values)

    def test_a_toy_has_these_fractions(self):
        model = ctpwa.load_model(self.content)
        assert any(note.startswith("couplings follow from fractions over phase space") and "share the rest" in note for note in model.notes)
        toy = ctpwa.generate_phase_space(model, 2000, seed=8)
        like = ctpwa.build_likelihood(model, toy, ctpwa.generate.sample_phase_space(model, 8000, seed=9), engine="reference")
        found = like.integrals(like.start)
        c = like.parameters.native(like.start)[0][found.coupling]
        total = (c.conj() @ found.matrix @ c).real
        for resonance, wanted in (("phi(1680)", 0.5), ("K(2)*(1430)", 0.2)):
            own = np.where([resonance in [r.name for r in model.waves[k].resonances] for k in found.wave], c, 0)
            assert (own.conj() @ found.matrix @ own).real / total == pytest.approx(
                wanted, rel=0.06
            )  # four standard deviations of the samples
