"""Remarks beside the verdict: fractions that cancel, minima that are doubtful, few phase-space events, poles elsewhere."""

from dataclasses import replace

import numpy as np

import ctpwa
from ctpwa.engine.likelihood.simulation import NormalisationSize
from ctpwa.fitting.fractions import Fractions, chain_groups
from ctpwa.fitting.remarks import ONE_START, doubtful_minimum, large_fractions, masses_out_of_range, weak_reference
from ctpwa.fitting.result import FittedCoupling, FittedParameter, FoundMinimum
from ctpwa.fitting.simulation import few_for_parameters, too_few_events
from ctpwa.observables.poles import far_poles, poles
from fitting.cases import FIXED, FLOATING, K2, PHI, PHI3, make, model, part, phase_space, result
from fitting.made_up import make_result


def fractions(matrix, names="ABC"):
    F = np.array(matrix, dtype=float)
    return Fractions(tuple(names[: len(F)]), np.diag(F).copy(), 0 * F, F, 0 * F)


class TestFractions:
    def test_a_large_sum_names_the_pair_that_cancels(self):
        found = fractions([[0.9, 0.1, -0.8], [0.1, 0.2, -0.2], [-0.8, -0.2, 0.8]])  # 190 % and -90 % are 100 %
        assert large_fractions(found) == [
            "the fractions add up to 190 %: amplitudes cancel, most of all A and C (interference -80 %); try without one of them"
        ]
        assert large_fractions(found, "2018")[0].startswith("the fractions of 2018 add up to 190 %")

    def test_150_percent_is_not_much(self):
        assert large_fractions(fractions([[0.75, -0.5], [-0.5, 0.75]])) == []
        assert large_fractions(fractions([[1.0]])) == []

    def test_the_waves_of_a_cascade_count_once(self):
        cascade = ctpwa.load_model(
            {
                "decay": "J/psi(1S) -> pi+ pi- pi+ pi-",
                "resonances": {
                    "a(1)(1260)": {"in": ["pi+ pi- pi+", "pi- pi+ pi-"], "mass": 1.23, "width": 0.42},
                    "rho(770)": {"in": "pi+ pi-"},
                },
            }
        )
        groups = chain_groups(cascade)
        assert list(groups) == ["a(1)(1260) rho(770)"]
        assert sorted(index for group in groups.values() for index in group) == list(range(len(cascade.waves)))

    def test_a_fit_says_so(self):
        """Two broad states of the same spin parity at the same place: their difference is fitted, and each alone is huge."""
        twin = {"in": "K+ K-", "JP": "1-", "lineshape": "exponential"}
        twins = ctpwa.load_model(
            FLOATING
            | {"resonances": {"NRA": twin | {"parameters": {"alpha": 0.4}}, "NRB": twin | {"parameters": {"alpha": 0.6}}}, "couplings": {}}
        )
        flat = phase_space("tiny", 4000, 31)
        values = {"NRA[K+ K-] (1,1)(1,0)": 1.0, "NRB[K+ K-] (1,1)(1,0)": -1.3}
        I = ctpwa.ModelIntensity(twins, couplings=values, engine="reference")(flat).numpy()
        keep = np.flatnonzero(np.random.default_rng(3).random(len(I)) * I.max() < I)
        like = ctpwa.build_likelihood(twins, part(flat, keep), flat, engine="reference")
        found = ctpwa.fit(like, start={"NRB[K+ K-] (1,1)(1,0).re": -1.3})
        total = found.fractions[0].groups["resonances"].sum
        assert total > 1.5
        (remark,) = [reason for reason in found.verdict.reasons if reason.startswith("the fractions add up to")]
        assert f"{100 * total:.0f} %: amplitudes cancel, most of all NRA and NRB" in remark
        assert found.verdict.good
        assert not any("add up" in reason for reason in result("fixed").verdict.reasons)


class TestMinima:
    best = FoundMinimum(-100.0, 4, True, (1.0,))

    def test_one_start(self):
        lonely = replace(self.best, starts=1)
        assert doubtful_minimum([lonely], 1) == []
        assert doubtful_minimum([self.best], 4) == []
        assert doubtful_minimum([lonely, replace(self.best, nll=-50.0)], 20) == [
            "only 1 of 20 starts reached the best minimum, and there may be a better one: try more starts"
        ]

    def test_one_start_from_couplings_that_nobody_gave(self):
        """They are all 1: where that leads is chance. Given values, or other starts, are the user's or the search's choice."""
        data, flat = phase_space("tiny", 300, 32), phase_space("tiny", 4000, 31)
        resonances = {"phi(1680)": {"in": "K+ K-"}, "phi(1020)": {"in": "K+ K-"}}
        bare = {"decay": "J/psi(1S) -> K+ K- eta", "resonances": resonances}

        def reasons(description, starts=1, **options):
            like = ctpwa.build_likelihood(ctpwa.load_model(description), data, flat, engine="reference")
            return ctpwa.fit(like, starts, seed=1, **options).verdict.reasons

        assert ONE_START in reasons(bare)
        assert ONE_START not in reasons(bare, 2)
        assert ONE_START not in reasons(bare | {"couplings": {"phi(1020)[K+ K-] (1,1)(1,0)": 0.9}})
        assert ONE_START not in reasons(bare, start={"phi(1020)[K+ K-] (1,1)(1,0).re": 0.9})
        assert ONE_START not in reasons(bare | {"resonances": {"phi(1680)": {"in": "K+ K-", "float": "mass"}}}), "no coupling is free"

    def test_another_one_is_near(self):
        others = [replace(self.best, nll=nll, refined=False) for nll in (-98.75, -97.5, -97.0)]
        assert doubtful_minimum([self.best, others[2]], 9) == []
        assert doubtful_minimum([self.best, replace(others[0], refined=True)], 9) == [
            "another minimum is only 1.25 above in -ln L: the data hardly tell them apart; compare their values, which are under 'minima'"
            " in the result"
        ]
        (several,) = doubtful_minimum([self.best, *others], 9)
        assert several.startswith("another minimum is only 1.25 above in -ln L (part of the events), and 1 more within 3:")
        assert doubtful_minimum([self.best, *others], 9, unit=0.1) == []  # of weights of 0.1 each

    def test_what_is_said_of_ambiguities_is_not_said_again(self):
        others = [replace(self.best, nll=nll) for nll in (-100.0, -99.0)]
        assert doubtful_minimum([self.best, *others], 9, same={1: "", 2: ""}) == []
        (remark,) = doubtful_minimum([self.best, *others], 9, same={1: ""})
        assert remark.startswith("another minimum is only 1.00 above in -ln L: the data")

    def test_it_is_part_of_the_verdict(self):
        found = ctpwa.fit(make("fixed"), 2, seed=5)
        expected = doubtful_minimum(found.minima, 2, 1.0)
        assert [reason for reason in found.verdict.reasons if "minimum" in reason] == expected


class TestReference:
    def test_a_weak_one_is_named_with_the_strongest(self):
        (remark,) = weak_reference("A", {"A": 1.26, "B": 7.0, "C": 25.0})
        assert remark.startswith("the reference wave A is weak: its fraction is 1.3 of its errors from 0")
        assert remark.endswith("reference_wave: C")

    def test_there_may_be_none_that_is_better(self):
        assert weak_reference("A", {"A": 2.9, "B": 5.0}) == []
        assert weak_reference("A", {"A": 3.1, "B": 50.0}) == []
        assert weak_reference("A", {"B": 50.0}) == []  # another set, or a vertex
        assert weak_reference("A", {}) == []

    def test_a_fit_says_so(self):
        """There is hardly any phi3 in these data."""
        without = ctpwa.load_model(FIXED | {"couplings": {PHI: 1.0, PHI3: 1e-3, K2: [0.0, 12.0]}})
        data = ctpwa.generate_toy(without, 1500, seed=8, engine="reference", progress=False)
        flat = phase_space("fixed", 5000, 31)
        weak, strong = (
            ctpwa.fit(ctpwa.build_likelihood(without, data, flat, engine="reference", reference_wave=name)) for name in (PHI3, K2)
        )
        (remark,) = [reason for reason in weak.verdict.reasons if "is weak" in reason]
        fractions = weak.fractions[0].groups["waves"]
        size = dict(zip(fractions.names, fractions.values / fractions.errors, strict=True))
        assert f"the reference wave {PHI3} is weak: its fraction is {size[PHI3]:.1f} of its errors" in remark
        assert remark.endswith(max(PHI, K2, key=size.get))
        assert not any("is weak" in reason for reason in strong.verdict.reasons)


class TestPhaseSpace:
    def test_between_five_and_ten_events_for_each_parameter(self):
        size = NormalisationSize(1000, 70.0, {"A": 70.0})
        assert too_few_events(size, 8, [1.0]) == []
        assert few_for_parameters(size, 7) == []
        (remark,) = few_for_parameters(size, 8, "2018")
        assert remark.startswith(
            "70 of 1000 phase-space events of 2018 count, fewer than 10 for each of 8 free parameters: errors may be 6 % too large; use"
        )

    def test_it_leaves_the_verdict_good(self):
        small = make("tiny", phase_space=part(phase_space("tiny", 5000, 5), np.arange(40)))
        found = ctpwa.fit(small, start=result("tiny").x)
        (size,), n = found.simulation.sizes, len(found.names)
        assert (few_for_parameters(size, n)[0] in found.verdict.reasons) is (25 <= size.total < 10 * n)


def test_a_mass_out_of_range_comes_with_advice():
    name = "phi(1680)"
    (remark,) = masses_out_of_range(model("floating"), {f"{name}.mass": 7.0})
    assert remark.endswith(f"where events are: give it limits, or leave {name} out")


class TestPoles:
    flatte = {
        "decay": "J/psi(1S) -> gamma pi0 pi0",
        "resonances": {
            "f(0)(980)": {
                "in": "pi0 pi0",
                "lineshape": "flatte",
                "mass": 0.965,
                "parameters": {"g_pipi": 0.41, "g_KK": 0.84},
                "options": {"channels": {"pipi": "own", "KK": [0.493677, 0.493677]}},
                "float": ["mass"],
            },
            "f(0)(1500)": {"in": "pi0 pi0", "float": ["mass"]},
        },
    }

    def fitted(self, names):
        fitted = ctpwa.load_model(self.flatte)
        couplings = tuple(FittedCoupling(name, 1.0, 0.0, 1.0, None, 0.0, None) for name in fitted.couplings)
        values = {f"{name}.{key}": value for name, r in fitted.resonances.items() for key, value in r.parameters.items()}
        free = tuple(FittedParameter(name, values.pop(name), 0.01, values.get(name, 0.0)) for name in names)
        covariance = np.eye(len(names)) * 1e-4
        return make_result(parameters=free, covariance=covariance, couplings=couplings, fixed=values, derived=(), simulation=None), fitted

    def test_a_pole_far_from_the_mass_parameter(self):
        found, own = self.fitted(["f(0)(980).mass", "f(0)(1500).mass"])
        (pole,) = [pole for pole in poles(found, own) if pole.resonance == "f(0)(980)"]
        assert abs(pole.mass - 0.965) > pole.width / 2
        assert far_poles(found, own) == [
            f"the pole of f(0)(980) is at {pole.mass:.4g} - {pole.width / 2:.3g}i GeV, far from its mass parameter 0.965: quote the pole,"
            " see ctpwa show --poles"
        ]

    def test_what_was_not_fitted_is_no_news(self):
        assert far_poles(*self.fitted(["f(0)(1500).mass"])) == []

    def test_only_some_resonances(self):
        assert {pole.resonance for pole in poles(None, ctpwa.load_model(self.flatte), resonances=["f(0)(1500)"])} == {"f(0)(1500)"}

    def test_it_is_in_the_result_of_an_analysis(self, tmp_path):
        own = ctpwa.load_model(self.flatte)
        ctpwa.write_events(tmp_path / "data.npz", ctpwa.generate_phase_space(own, 60, seed=1), model=own)
        samples = {"data": str(tmp_path / "data.npz"), "phase_space": {"generate": 300, "proposal": "flat"}}
        content = self.flatte | {
            "samples": samples,
            "fit": {"starts": 1, "engine": "reference", "limits": {"f(0)(980).mass": [0.96, 0.97]}},
        }
        found = ctpwa.load_analysis(content).fit()
        assert far_poles(found, own)[0] in found.verdict.reasons
