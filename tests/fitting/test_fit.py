"""ctpwa.fit on small models: three methods, limits, many starts, sums of likelihoods, wrong arguments, interruptions."""

import signal
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import ctpwa
from ctpwa.fitting.fit import METHODS
from ctpwa.fitting.fractions import FractionCalculator, wave_groups
from ctpwa.fitting.remarks import masses_out_of_range
from ctpwa.fitting.search_settings import SearchSettings
from engine.cases import likelihood as engine_likelihood
from fitting.cases import K2, PHI3, likelihood, make, part, phase_space, result, toy

MASS, WIDTH = "phi(1680).mass", "phi(1680).width"


def limited(like, limits):
    """The likelihood with other limits of some parameters."""
    every = [replace(p, lower=limits[p.name][0], upper=limits[p.name][1]) if p.name in limits else p for p in like.parameters.all]
    return replace(like, parameters=replace(like.parameters, all=tuple(every)))


def away(name):
    """A start that is some standard deviations from the minimum."""
    found = result(name)
    return found.x + 2.5 * found.errors * np.where(np.arange(len(found.x)) % 2, 1, -1)


@cache
def polar():
    return make("fixed", representation="polar")


class TestOneStart:
    @pytest.mark.parametrize("name", ["fixed", "floating"])
    @pytest.mark.parametrize("method", METHODS)
    def test_all_methods_find_the_same_minimum(self, name, method):
        expected = result(name)
        found = ctpwa.fit(likelihood(name), method=method, start=away(name))
        assert found.verdict.good, found.verdict
        assert found.method == method
        assert found.nll == pytest.approx(expected.nll, abs=1e-6)
        assert (np.abs(found.x - expected.x) < 1e-2 * expected.errors).all()
        np.testing.assert_allclose(found.errors, expected.errors, rtol=0.02)
        np.testing.assert_allclose(
            found.fractions[0].groups["waves"].values, expected.fractions[0].groups["waves"].values, rtol=0.01, atol=1e-4
        )

    @pytest.mark.parametrize("scale", [1.0, 3.0, 0.3])
    def test_a_curvature_saves_hessians(self, scale):
        """That of the minimum, or one that is wrong by a factor: gradients alone, and the same end."""
        like, expected = likelihood("floating"), result("floating")
        near = expected.x + 0.3 * expected.errors
        found = ctpwa.fit(like, start=near, curvature=scale * like.hessian(expected.x))
        assert found.verdict.good
        assert found.verdict.edm <= 1e-8
        assert (found.record.hessians, found.record.values) == (0, 0)
        assert (np.abs(found.x - expected.x) < 1e-3 * expected.errors).all()
        np.testing.assert_allclose(found.errors, expected.errors, rtol=1e-3)

    @pytest.mark.parametrize("kind", ["negative", "other units", "far"])
    def test_a_wrong_curvature_does_no_harm(self, kind):
        like, expected = likelihood("floating"), result("floating")
        H, start = like.hessian(expected.x), expected.x + 0.3 * expected.errors
        if kind == "far":
            start = away("floating")
        curvature = {"negative": -H, "other units": np.eye(len(H)), "far": H}[kind]
        found = ctpwa.fit(like, start=start, curvature=curvature)
        assert found.verdict.good
        assert found.verdict.edm <= 1e-8
        assert found.nll == pytest.approx(expected.nll, abs=1e-6)

    def test_a_result_is_what_the_likelihood_says(self):
        like, found = likelihood("floating"), result("floating")
        value, gradient, H = like.value_grad_hessian(found.x)
        assert found.nll == pytest.approx(value, abs=1e-9)
        assert found.verdict.edm == pytest.approx(gradient @ np.linalg.solve(H, gradient) / 2, abs=1e-15)
        assert found.names == like.names
        np.testing.assert_array_equal([p.start for p in found.parameters], like.start)
        assert (found[MASS].lower, found[MASS].upper) == (0.0, None)
        assert (found.n_events, found.weight, found.n_starts) == (400, 400.0, 1)
        assert found.fixed["phi(3)(1850).mass"] == like.model.resonances["phi(3)(1850)"].parameters["mass"]
        assert set(found.fixed).isdisjoint(found.names)
        assert found.decay == "J/psi(1S) -> K+ K- eta"
        assert found.version == ctpwa.__version__
        (minimum,) = found.minima
        assert (minimum.nll, minimum.starts, minimum.refined) == (found.nll, 1, True)
        np.testing.assert_array_equal(minimum.values, found.x)

    def test_it_is_a_minimum(self):
        """Nothing nearby is better."""
        like, found = likelihood("floating"), result("floating")
        rng = np.random.default_rng(2)
        for scale in (0.01, 0.1, 0.5):
            for _ in range(5):
                assert like.value(found.x + scale * rng.normal(size=len(found.x)) * found.errors) > found.nll

    def test_the_record(self):
        found = ctpwa.fit(likelihood("fixed"), start=away("fixed"))
        assert found.record.hessians > 1
        assert found.record.seconds > 0
        assert found.record.history == sorted(found.record.history, reverse=True)
        assert found.record.history[-1] == pytest.approx(found.nll, abs=1e-9)
        assert found.record.history[0] == pytest.approx(likelihood("fixed").value(away("fixed")), abs=1e-9)

    def test_watch_sees_every_better_point(self):
        seen = []
        found = ctpwa.fit(likelihood("fixed"), start=away("fixed"), watch=lambda x, value: seen.append((x.copy(), value)))
        assert [value for _, value in seen] == found.record.history
        for x, value in seen[::3]:
            assert likelihood("fixed").value(x) == pytest.approx(value, abs=1e-9)

    def test_a_start_by_name(self):
        found = ctpwa.fit(likelihood("floating"), start={MASS: 1.7})
        assert found[MASS].start == 1.7
        assert found[WIDTH].start == likelihood("floating").start[likelihood("floating").names.index(WIDTH)]
        assert found.nll == pytest.approx(result("floating").nll, abs=1e-6)

    def test_the_same_fit_twice(self):
        one, two = (ctpwa.fit(likelihood("fixed"), start=away("fixed")) for _ in range(2))
        np.testing.assert_array_equal(one.x, two.x)
        np.testing.assert_array_equal(one.covariance, two.covariance)

    def test_it_begins_at_the_minimum(self):
        found = ctpwa.fit(likelihood("floating"), start=result("floating").x)
        assert found.nll == pytest.approx(result("floating").nll, abs=1e-9)
        assert found.record.hessians <= 2

    def test_giving_up_is_said(self):
        for method in METHODS:
            found = ctpwa.fit(likelihood("fixed"), method=method, start=away("fixed"), max_iterations=2)
            assert not found.verdict.good
            assert "not converged after 2 iterations" in found.verdict.reasons[0] or "limit of calls" in found.verdict.reasons[0]

    def test_a_large_tolerance_is_seen_in_the_edm(self):
        found = ctpwa.fit(likelihood("fixed"), start=away("fixed"), tolerance=0.1)
        assert found.nll - result("fixed").nll == pytest.approx(found.verdict.edm, abs=1e-4)


class TestPolar:
    def test_sizes_are_positive_and_phases_between_minus_and_plus_pi(self):
        """Starts at −|c| and with turns too many are the same fit."""
        like, expected = polar(), ctpwa.fit(polar())
        sizes, phases = ([i for i, name in enumerate(like.names) if name.endswith(end)] for end in (".abs", ".phase"))
        assert (expected.x[sizes] > 0).all()
        assert (np.abs(expected.x[phases]) <= np.pi).all()
        start = expected.x.copy()
        start[sizes] *= -1
        start[phases] += 5 * np.pi
        found = ctpwa.fit(like, start=start)
        np.testing.assert_allclose(found.x, expected.x, rtol=1e-5)
        np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-3, atol=1e-6 * np.abs(expected.covariance).max())

    def test_minima_that_differ_by_turns_are_one(self):
        expected = ctpwa.fit(polar())
        phases = np.array([name.endswith(".phase") for name in polar().names])
        points = np.array([expected.x, expected.x + 2 * np.pi * phases, expected.x - 4 * np.pi * phases])
        found = ctpwa.fit(polar(), points)
        assert [minimum.starts for minimum in found.minima] == [3]


class TestLimits:
    @pytest.mark.parametrize("method", METHODS)
    def test_a_limit_that_is_hit(self, method):
        """The minimum lies beyond it: the parameter ends there exactly, without an error, and the others as if it were fixed."""
        free = result("floating")
        upper = free[MASS].value - free[MASS].statistical
        like = limited(likelihood("floating"), {MASS: (1.5, upper)})
        found = ctpwa.fit(like, method=method, start={MASS: 1.6})
        assert found.verdict.good, found.verdict
        assert found[MASS].value == upper
        assert found[MASS].at_limit
        assert found[MASS].error is None
        assert found.verdict.at_limits == (MASS,)
        assert f"at a limit: {MASS}" in found.verdict.reasons
        assert (found[MASS].lower, found[MASS].upper) == (1.5, upper)
        assert found.nll == pytest.approx(free.nll + 0.5, abs=0.2)
        i = found.names.index(MASS)
        assert not found.covariance[i].any()
        others = [k for k in range(len(found.x)) if k != i]
        H = like.hessian(found.x)[np.ix_(others, others)]
        np.testing.assert_allclose(found.statistical_covariance[np.ix_(others, others)], np.linalg.inv(H), rtol=1e-8)
        assert not found[WIDTH].at_limit
        assert found[WIDTH].error > 0

    def test_all_methods_end_at_the_same_place(self):
        free = result("floating")
        limits = {MASS: (1.5, free[MASS].value - free[MASS].error), WIDTH: (free[WIDTH].value + 0.5 * free[WIDTH].error, 0.5)}
        like = limited(likelihood("floating"), limits)
        start = {MASS: 1.6, WIDTH: 0.3}
        ends = [ctpwa.fit(like, method=method, start=start) for method in METHODS]
        for end in ends:
            assert end.verdict.good, end.verdict
            assert set(end.verdict.at_limits) == set(ends[0].verdict.at_limits)
            assert end.nll == pytest.approx(ends[0].nll, abs=1e-6)

    def test_a_limit_that_is_not_hit_changes_nothing(self):
        free = result("floating")
        like = limited(likelihood("floating"), {MASS: (free[MASS].value - 0.1, free[MASS].value + 0.1)})
        found = ctpwa.fit(like)
        assert found.verdict.at_limits == ()
        assert found.nll == pytest.approx(free.nll, abs=1e-7)
        np.testing.assert_allclose(found.errors, free.errors, rtol=1e-3)

    def test_a_limit_at_which_a_formula_has_no_value(self):
        """A mass of 0 is allowed, and 1/m is not: the fit comes back from there without a warning."""
        like = engine_likelihood("small", "reference")
        start = {f"{name}.{part}": value for name in like.coupling_names[1:] for part, value in (("re", 0.3), ("im", 0.1))}
        found = ctpwa.fit(like, start=start | {"K*(1410).mass": 1e-3, "K*(1410).width": 2.0}, max_iterations=8)
        assert np.isfinite(found.nll)
        assert np.isfinite(found.covariance).all()
        assert np.isnan(like.value(np.where(np.array(like.names) == "K*(1410).mass", 0.0, like.start)))

    def test_a_start_outside_is_refused(self):
        like = limited(likelihood("floating"), {MASS: (1.6, 1.7)})
        with pytest.raises(ctpwa.base.DataError, match=r"the start of 'phi\(1680\).mass' is 1.8, outside its limits 1.6 to 1.7\n fix"):
            ctpwa.fit(like, start={MASS: 1.8})


class TestUndetermined:
    def test_a_parameter_that_does_nothing(self):
        """Mass and width of a wave whose coupling is 0: the verdict names them, they have no error, the others do."""
        like = make("floating", reference_wave=K2)
        zero = [f"phi(1680)[K+ K-] (1,1)(1,0).{part}" for part in ("re", "im")]
        like = limited(like, dict.fromkeys(zero, (0.0, 0.0)))
        found = ctpwa.fit(like, start=dict.fromkeys(zero, 0.0))
        assert not found.verdict.good
        assert any(MASS in reason and "does not determine" in reason for reason in found.verdict.reasons)
        assert found[MASS].error is None
        assert found[WIDTH].error is None
        assert all(p.error > 0 for p in found.parameters if p.name.startswith("phi(3)"))


class TestManyStarts:
    @staticmethod
    @cache
    def found():
        return ctpwa.fit(likelihood("fixed"), 8, seed=4)

    def test_the_best_of_all_single_fits(self):
        like, found = likelihood("fixed"), self.found()
        points = np.concatenate([like.start[None], like.random_couplings(like.start, 7, 4)])
        single = [ctpwa.fit(like, start=x).nll for x in points]
        assert found.nll == pytest.approx(min(single), abs=1e-6)
        assert found.verdict.good
        near_best = sum(value < min(single) + 0.05 for value in single)
        assert found.minima[0].starts == near_best

    def test_every_start_is_counted(self):
        found = self.found()
        assert found.n_starts == 8
        assert sum(minimum.starts for minimum in found.minima) == 8
        values = [minimum.nll for minimum in found.minima if minimum.refined]
        assert values == sorted(values)
        assert found.minima[0].nll == found.nll
        np.testing.assert_array_equal(found.minima[0].values, found.x)
        assert found.minima[0].refined

    def test_minima_are_minima(self):
        like = likelihood("fixed")
        for minimum in self.found().minima:
            assert like.value(np.array(minimum.values)) == pytest.approx(minimum.nll, abs=1e-9 if minimum.refined else 0.05)

    @pytest.mark.parametrize("name", ["fixed", "floating"])
    def test_a_search_with_part_of_the_events(self, name):
        """A quarter of them: the minima are those of all events, and what was not refined says so."""
        found = ctpwa.fit(likelihood(name), 6, seed=4, search=SearchSettings(events=100, per_parameter=1))
        assert found.nll <= result(name).nll + 1e-6
        assert found.verdict.good
        assert sum(minimum.starts for minimum in found.minima) == 6
        assert found.record.history[-1] == pytest.approx(found.nll, abs=1e-9)  # not that of the search
        for minimum in found.minima:
            if minimum.refined:
                assert likelihood(name).value(np.array(minimum.values)) == pytest.approx(minimum.nll, abs=1e-9)

    def test_a_bad_first_start_does_not_matter(self):
        like = likelihood("fixed")
        found = ctpwa.fit(like, 5, start=like.start * 1e3, seed=1)
        assert found.nll == pytest.approx(result("fixed").nll, abs=1e-6)
        assert found.parameters[0].start == like.start[0] * 1e3

    def test_seeds(self):
        like = likelihood("fixed")
        one, two = (ctpwa.fit(like, 3, seed=9) for _ in range(2))
        np.testing.assert_array_equal(one.x, two.x)
        assert one.minima == two.minima

    def test_given_points(self):
        like = likelihood("fixed")
        points = like.random_couplings(like.start, 4, seed=2)
        found = ctpwa.fit(like, points)
        assert found.n_starts == 4
        assert sum(minimum.starts for minimum in found.minima) == 4
        assert found.nll == pytest.approx(min(ctpwa.fit(like, start=x).nll for x in points), abs=1e-6)
        np.testing.assert_array_equal([p.start for p in found.parameters], points[0])
        one = ctpwa.fit(like, points[1])
        assert one.n_starts == 1
        np.testing.assert_array_equal([p.start for p in one.parameters], points[1])

    def test_given_points_with_lineshapes_of_their_own(self):
        """The quick search would put all of them on the lineshapes of the first."""
        like = likelihood("floating")
        bad, good = result("floating").x.copy(), result("floating").x
        bad[like.names.index(MASS)] = 2.4
        bad[like.names.index(WIDTH)] = 0.02
        found = ctpwa.fit(like, np.array([bad, good]))
        assert found.nll == pytest.approx(result("floating").nll, abs=1e-7)
        assert sum(minimum.starts for minimum in found.minima) == 2

    def test_floating_lineshapes(self):
        found = ctpwa.fit(likelihood("floating"), 3, seed=3)
        assert found.nll <= result("floating").nll + 1e-6
        assert sum(minimum.starts for minimum in found.minima) == 3

    @pytest.mark.parametrize("method", ["lbfgs", "minuit"])
    def test_other_methods(self, method):
        found = ctpwa.fit(likelihood("fixed"), 4, method, seed=4)
        assert found.nll == pytest.approx(ctpwa.fit(likelihood("fixed"), 4, seed=4).nll, abs=1e-6)
        assert sum(minimum.starts for minimum in found.minima) == 4

    def test_it_is_printed(self):
        text = str(self.found())
        assert "8 starts, " in text
        assert f"{self.found().minima[0].starts} starts in the best one" in text


class TestSums:
    @staticmethod
    @cache
    def split():
        """400 events in two data sets with the same phase space."""
        halves = [part(toy(400), range(150)), part(toy(400), range(150, 400))]
        one, other = (make("floating", data=half, phase_space=phase_space("floating", 1500, 2)) for half in halves)
        return one + other

    @pytest.mark.parametrize("method", METHODS)
    def test_a_split_sample_is_the_whole_sample(self, method):
        whole, found = result("floating"), ctpwa.fit(self.split(), method=method)
        assert found.verdict.good
        assert found.names == whole.names
        assert found.nll == pytest.approx(whole.nll, abs=1e-7)
        assert (found.n_events, found.weight) == (400, 400.0)
        if method == "newton":
            scale = np.outer(whole.errors, whole.errors)
            # a fit stops where no more than 1e-9 is left to gain: 4e-5 standard deviations at most
            np.testing.assert_allclose(found.x / whole.errors, whole.x / whole.errors, rtol=0, atol=1e-5)
            own, other = found.statistical_covariance, whole.statistical_covariance
            np.testing.assert_allclose(own / scale, other / scale, rtol=0, atol=1e-6)

    def test_fractions_of_every_data_set(self):
        found, whole = (ctpwa.fit(like, simulation=False) for like in (self.split(), likelihood("floating")))
        assert [entry.data_set for entry in found.fractions] == ["data set 1", "data set 2"]
        for entry, n in zip(found.fractions, (150, 250), strict=True):
            for kind in ("waves", "resonances", "jp"):
                np.testing.assert_allclose(entry.groups[kind].values, whole.fractions[0].groups[kind].values, rtol=1e-6)
                np.testing.assert_allclose(entry.groups[kind].errors, whole.fractions[0].groups[kind].errors, rtol=1e-5)
            for name, value in zip(entry.groups["resonances"].names, entry.groups["resonances"].values, strict=True):
                assert entry.yields[name][0] == pytest.approx(n * value)

    def test_parameters_of_their_own(self):
        """A constraint and another reference wave in one of them: names that are shared are one parameter, others are not."""
        one = make("fixed")
        two = make("floating", constraints={MASS: (1.66, 0.01)})
        found = ctpwa.fit(one + two)
        assert found.verdict.good
        assert found.names == two.names
        assert [len(entry.groups["waves"].names) for entry in found.fractions] == [4, 4]
        x = found.x[[found.names.index(name) for name in one.names]]
        expected = FractionCalculator(one, x).fractions(wave_groups(one.model)["waves"], np.zeros((4, 4)))
        np.testing.assert_allclose(found.fractions[0].groups["waves"].values, expected.values, rtol=1e-12)

    def test_many_starts(self):
        found = ctpwa.fit(make("fixed", data=part(toy(400), range(200))) + make("fixed", data=part(toy(400), range(200, 400))), 4, seed=1)
        assert found.nll == pytest.approx(ctpwa.fit(likelihood("fixed"), 4, seed=1).nll, abs=1e-6)
        assert sum(minimum.starts for minimum in found.minima) == 4


class TestYieldsAndTruth:
    def test_yields(self):
        entry = result("fixed").fractions[0]
        group = entry.groups["resonances"]
        for name, f, e in zip(group.names, group.values, group.errors, strict=True):
            assert entry.yields[name][0] == pytest.approx(400 * f)
            assert entry.yields[name][1] == pytest.approx(np.sqrt((400 * e) ** 2 + f**2 * 400))  # of the fraction, and of √N
        assert entry.over == "phase space"

    def test_truth(self):
        truth = phase_space("fixed", 700, 21)
        found = ctpwa.fit(likelihood("fixed"), start=result("fixed").x, truth=truth)
        assert found.fractions[0].over == "truth"
        expected = FractionCalculator(likelihood("fixed"), found.x, truth).fractions(
            wave_groups(likelihood("fixed").model)["jp"], found.covariance
        )
        np.testing.assert_allclose(found.fractions[0].groups["jp"].values, expected.values)
        np.testing.assert_allclose(found.fractions[0].groups["jp"].errors, expected.errors)


class TestMinos:
    def test_asymmetric_errors(self):
        """Where the profile, from fits with the parameter held, has risen by ½."""
        like = likelihood("fixed")
        name = f"{K2}.im"
        found = ctpwa.fit(like, start=result("fixed").x, minos=[name])
        errors = found[name].minos
        assert errors.valid
        assert errors.upper == pytest.approx(found[name].statistical, rel=0.2)
        for shift in (errors.lower, errors.upper):
            value = found[name].value + shift
            held = ctpwa.fit(limited(like, {name: (value, value)}), start=found.x + (np.array(found.names) == name) * shift)
            assert held.nll - found.nll == pytest.approx(0.5, abs=0.01)
        assert found[f"{PHI3}.re"].minos is None

    def test_a_bad_fit_gets_none(self):
        found = ctpwa.fit(likelihood("fixed"), start=away("fixed"), max_iterations=1, minos=[f"{K2}.im"])
        assert not found.verdict.good
        assert found[f"{K2}.im"].minos is None


class TestWrongArguments:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"method": "newtn"}, "unknown method 'newtn'\n fix: did you mean 'newton'"),
            ({"starts": 0}, "0 starts\n fix: give at least 1"),
            ({"starts": -3}, "-3 starts"),
            ({"starts": "many"}, "starts: 'many' is not made of numbers"),
            ({"starts": np.zeros((2, 3))}, r"starts have shape \(2, 3\)"),
            ({"starts": np.zeros((0, 4))}, r"starts have shape \(0, 4\)"),
            ({"starts": np.full((2, 4), np.nan)}, "finite numbers"),
            ({"starts": np.zeros((2, 4)), "start": np.zeros(4)}, "both start and points"),
            ({"start": [1.0, 2.0]}, r"the start has shape \(2,\)\n fix: give 4 numbers"),
            ({"start": [1.0, 2.0, 3.0, np.inf]}, r"the start of 'K\(2\)\*.*im' is inf"),
            ({"start": "here"}, "the start: 'here' is not made of numbers"),
            ({"start": {"mass": 1.0}}, "start value of 'mass', which is not a free parameter"),
            ({"seed": -1}, "the seed is -1"),
            ({"seed": 1.5}, "the seed is 1.5"),
            ({"tolerance": 0.0}, "the tolerance is 0.0"),
            ({"tolerance": np.nan}, "the tolerance is nan"),
            ({"max_iterations": 0}, "max_iterations is 0"),
            ({"minos": ["nothing"]}, "MINOS of 'nothing', which is not a free parameter"),
            ({"minos": "a"}, "minos is the text 'a'"),
            ({"curvature": np.eye(3)}, "no Hessian of 4 free parameters"),
            ({"curvature": np.zeros((4, 4))}, "no Hessian of 4 free parameters"),
            ({"curvature": np.eye(4), "starts": 2}, "a curvature, and 2 starts"),
            ({"truth": [None, None]}, "2 truth samples for 1 likelihood\n"),
            ({"truth": {"K+": np.zeros((3, 4))}}, "truth: "),
        ],
    )
    def test_it_is_said(self, arguments, words):
        with pytest.raises(ctpwa.CtpwaError, match=words) as caught:
            ctpwa.fit(likelihood("fixed"), **arguments)
        assert "fix: " in str(caught.value)

    @pytest.mark.parametrize("method", METHODS)
    def test_a_start_without_a_likelihood(self, method):
        like = likelihood("fixed")
        like = replace(like, norm=replace(like.norm, weight=np.nan))
        with pytest.raises(ctpwa.base.DataError, match="not finite where the fit ended"):
            ctpwa.fit(like, method=method)
        with pytest.raises(ctpwa.base.DataError, match="no start has a finite likelihood"):
            ctpwa.fit(like, 3, method)

    def test_nothing_to_fit(self):
        own = ctpwa.load_model({"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"phi(1680)": {"in": "K+ K-"}}})
        flat = ctpwa.generate_phase_space(own, 20, seed=1)
        with pytest.raises(ctpwa.base.PhysicsError, match="no parameter is free"):
            ctpwa.fit(ctpwa.build_likelihood(own, flat, flat, engine="reference"))


class Interrupted:
    """Raises KeyboardInterrupt at the n-th evaluation of a likelihood, or of what it makes."""

    def __init__(self, monkeypatch, n, kinds=("_evaluate",)):
        from ctpwa.engine.likelihood.likelihood import Likelihood

        self.left = n
        for kind in kinds:
            monkeypatch.setattr(Likelihood, kind, self.counted(getattr(Likelihood, kind)))

    def counted(self, method):
        def wrapper(like, *arguments, **options):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return method(like, *arguments, **options)

        return wrapper


class TestInterruption:
    @pytest.mark.parametrize("method", METHODS)
    def test_the_best_point_is_kept(self, method, monkeypatch):
        like, seen = likelihood("fixed"), []
        Interrupted(monkeypatch, 6)
        found = ctpwa.fit(like, method=method, start=away("fixed"), watch=lambda x, value: seen.append(value))
        assert not found.verdict.good
        assert found.verdict.reasons[0] == "interrupted"
        assert found.nll == min(seen)
        assert like.value(found.x) == pytest.approx(found.nll, abs=1e-9)
        assert found.nll <= like.value(away("fixed"))
        assert found.fractions[0].groups["waves"].values.shape == (4,)
        assert np.isfinite(found.covariance).all()

    def test_before_there_is_anything(self, monkeypatch):
        like = likelihood("fixed")
        Interrupted(monkeypatch, 1)
        with pytest.raises(KeyboardInterrupt):
            ctpwa.fit(like)

    @pytest.mark.parametrize("n", [4, 8, 10, 12, 14, 15])
    def test_in_the_search_of_many_starts(self, n, monkeypatch):
        """The best point of the search, and all starts that have ended are counted; no fit follows."""
        like = likelihood("fixed")
        Interrupted(monkeypatch, n)
        found = ctpwa.fit(like, 6, seed=4)
        assert found.verdict.reasons[0] == "interrupted"
        assert not found.verdict.good
        assert found.n_starts == 6
        assert (sum(minimum.starts for minimum in found.minima) == 6) == (n == 15)  # then all have ended, and the first whole fit begins
        assert found.minima[0].nll == found.nll == min(minimum.nll for minimum in found.minima)
        assert like.value(found.x) == pytest.approx(found.nll, abs=1e-9)

    def test_between_the_fits_of_many_starts(self, at_step):
        """Minima from which no fit ran any more are still there, above the best one."""
        at_step("fit", lambda: signal.raise_signal(signal.SIGINT), done=1)
        found = ctpwa.fit(likelihood("fixed"), 4, seed=4, search=SearchSettings(same_value=0.0))  # every start is a minimum of its own
        assert found.verdict.reasons[0] == "interrupted"
        assert [minimum.refined for minimum in found.minima] == [True, False, False, False]
        assert sum(minimum.starts for minimum in found.minima) == 4
        assert min(minimum.nll for minimum in found.minima) == found.nll

    def test_while_errors_are_computed(self, monkeypatch):
        like = likelihood("fixed")
        Interrupted(monkeypatch, 1, ("integrals",))
        found = ctpwa.fit(like, start=away("fixed"))
        assert found.nll == pytest.approx(result("fixed").nll, abs=1e-6)
        assert found.verdict.reasons[0] == "interrupted"
        assert found.fractions
        np.testing.assert_allclose(found.errors, result("fixed").errors, rtol=1e-2)

    def test_during_minos(self, monkeypatch):
        like = likelihood("fixed")
        plain = ctpwa.fit(like, start=result("fixed").x)
        n = plain.record.values + plain.record.gradients + plain.record.hessians
        Interrupted(monkeypatch, n + 1 + 10)
        found = ctpwa.fit(like, start=result("fixed").x, minos=like.names)
        assert found.verdict.reasons[0] == "interrupted"
        assert found.nll == pytest.approx(plain.nll, abs=1e-9)


class TestGivenLimits:
    def test_a_fit_stays_within_limits(self):
        """The best mass is beyond: it ends at the limit, the verdict says so, and the other parameters are at their best there."""
        free = result("floating")
        name = next(p.name for p in free.parameters if p.name.endswith(".mass"))
        best, error = free[name].value, free[name].error
        limited = make("floating", limits={name: (best + error, best + 10 * error)})
        assert limited.bounds[limited.names.index(name)].tolist() == [best + error, best + 10 * error]
        found = ctpwa.fit(limited, start={**dict(zip(free.names, free.x, strict=True)), name: best + 2 * error})
        assert found[name].value == best + error
        assert found[name].at_limit
        assert found.verdict.at_limits == (name,)
        assert free.nll < found.nll < free.nll + 1.0


class TestRemarks:
    def test_a_mass_that_no_event_can_have_is_said(self):
        model = likelihood("floating").model
        (name,) = [r.name for r in model.resonances.values() if "mass" in r.floating][:1]
        low, high = masses_out_of_range(model, {f"{name}.mass": 0.1}), masses_out_of_range(model, {f"{name}.mass": 7.0})
        assert low[0].startswith(f"{name}.mass is 0.1 GeV, outside ")
        assert len(high) == 1
        assert masses_out_of_range(model, {f"{name}.mass": 1.5, "other.mass": 9.0}) == []

    def test_it_is_part_of_the_verdict(self):
        free = result("floating")
        name = next(p.name for p in free.parameters if p.name.endswith(".mass"))
        far = make("floating", limits={name: (4.0, 5.0)})
        found = ctpwa.fit(far, start={name: 4.5}, max_iterations=3)
        assert any(reason.startswith(f"{name} is ") and "where events are" in reason for reason in found.verdict.reasons)
        assert not any("where events are" in reason for reason in free.verdict.reasons)
