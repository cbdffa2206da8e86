"""Errors of bins that are not Gaussian: where profiles of −ln L cross, and what a study says of it."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import ctpwa
from ctpwa.report.content import deviations
from ctpwa.studies import Bins, bins
from ctpwa.studies.bin_fit import BinFit, BinOptions
from ctpwa.studies.bin_intervals import LEVELS, EventNumbers, Interval, ProfileStart, ProfileWalk, RootOfEvents, WithTotal, events_walk
from ctpwa.studies.bin_profiles import BinProfiles
from ctpwa.studies.bin_records import TOTAL, interval_numbers, intervals_key, intervals_of
from ctpwa.studies.bin_samples import BinnedSamples
from ctpwa.studies.bin_solutions import Solution
from ctpwa.studies.bins_study import _angle, _with_interval
from ctpwa.studies.fit_record import FitRecord
from studies.produced import write_analysis

IN = "mass(eta, pi0): 1.2..1.6/2"
FREE = (-math.inf, math.inf)


class Function:
    """f(x) + ½ (y − x)², whose profile over x is f."""

    names, bounds, rounding = ("x", "y"), np.array([[-np.inf, np.inf]] * 2), 1e-12

    def __init__(self, f):
        self.f = f  # → value, slope, curvature

    def value(self, p):
        return self.f(p[0])[0] + (p[1] - p[0]) ** 2 / 2

    def value_and_grad(self, p):
        return self.value_grad_hessian(p)[:2]

    def value_grad_hessian(self, p):
        value, slope, curvature = self.f(p[0])
        away = p[1] - p[0]
        return value + away**2 / 2, np.array([slope - away, away]), np.array([[curvature + 1, -1.0], [-1.0, 1.0]])


class First:
    """x."""

    period = None

    def at(self, p):
        return float(p[0]), np.array([1.0, 0.0])

    def second(self, p):
        return np.zeros((2, 2))


def walk(f, *minima, sigmas=1.0):
    """Along x, of minima of f and how far they are above the first one."""
    return ProfileWalk(Function(f), First(), tuple(ProfileStart(np.array([x, x]), x, rise) for x, rise in minima), sigmas)


def quartic(x):
    return 8 * x**4, 32 * x**3, 96 * x**2


def wells(x):
    """Minima at −1 and 1, the second one 0.2 higher."""
    return 3 * (x**2 - 1) ** 2 + 0.1 * (x + 1), 12 * x * (x**2 - 1) + 0.1, 36 * x**2 - 12


def saturated(x):
    """x²/2 up to 2, then a valley in which √(2 rise) goes on as 2 + (x − 2)/12."""
    if x <= 2:
        return x**2 / 2, x, 1.0
    root = 2 + (x - 2) / 12
    return root**2 / 2, root / 12, 1 / 144


def sigmas(sigma):
    """1, 2 and 3 standard deviations on both sides."""
    return [(n * sigma, n * sigma) for n in LEVELS]


class TestWalks:
    def test_a_parabola_needs_no_interval(self):
        own = walk(lambda x: (x**2 / 8, x / 4, 0.25), (0.0, 0.0))
        assert own.interval(sigmas(2.0), FREE) is None
        assert own.interval(sigmas(1.0), FREE) is not None  # if the error is wrong

    def test_tails_are_looked_at(self):
        """A parabola within two standard deviations that goes on as a valley: with errors of 1 a value of 7 is only 2.4 of them away."""
        own = walk(saturated, (0.0, 0.0))
        found = own.interval(sigmas(1.0), FREE)
        assert found is not None
        for end, n in zip(found.above, LEVELS, strict=True):
            assert math.sqrt(2 * saturated(end)[0]) == pytest.approx(n, rel=0.03)
        assert found.above[0] == pytest.approx(1, rel=0.1)
        assert found.above[2] > 8
        assert found.below == pytest.approx((1, 2, 3), rel=0.03)
        assert deviations(7.0, found.above) == pytest.approx(math.sqrt(2 * saturated(7.0)[0]), abs=0.25)

    @pytest.mark.parametrize("size", [1.0, 1.5])
    def test_other_functions_have_one(self, size):
        own = walk(quartic, (0.0, 0.0), sigmas=size).interval(sigmas(0.1), FREE)
        expected = [((n * size) ** 2 / 16) ** 0.25 for n in LEVELS]
        assert own.below == pytest.approx(expected, rel=0.02)
        assert own.above == pytest.approx(expected, rel=0.02)

    def test_another_solution_that_is_as_good_is_in_it(self):
        low, high = (root for root in np.roots([12, 0, -12, 0.1]).real if abs(root) > 0.5)
        low, high = min(low, high), max(low, high)
        rise = wells(high)[0] - wells(low)[0]
        own = walk(wells, (low, 0.0), (high, rise)).interval(sigmas(0.2), FREE)
        crossing = [x.real for x in np.roots([3, 0, -6, 0.1, 3 + 0.1 - wells(low)[0] - 0.5]) if abs(x.imag) < 1e-9]
        assert low - own.lower == pytest.approx(min(crossing), abs=0.02)
        assert low + own.upper == pytest.approx(max(crossing), abs=0.02)
        alone = walk(wells, (low, 0.0), (high, 0.6)).interval(sigmas(0.2), FREE)  # it is within two standard deviations
        assert low + alone.upper < 0
        assert low + alone.above[1] > high

    def test_limits_and_directions_that_never_end(self):
        def one_sided(x):
            return (x**2 if x < 0 else 0.0), (2 * x if x < 0 else 0.0), (2.0 if x < 0 else 1e-9)

        own = walk(one_sided, (0.0, 0.0)).interval(sigmas(0.1), (-0.5, math.inf))
        assert own == Interval((0.5, 0.5, 0.5), (math.inf,) * 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model file with 1500 events."""
    return write_analysis(tmp_path_factory.mktemp("intervals")).parent


@pytest.fixture(scope="module")
def study(folder):
    return bins(folder / "model.yml", IN, starts=4, progress=False)


@pytest.fixture
def fit(folder, study):
    """Of the first bin."""
    analysis = ctpwa.load_analysis(folder / "model.yml")
    return BinFit(BinnedSamples(analysis, study.axes), BinOptions(4), 0, study.bins[0])


def threefold(lower, upper):
    """An interval of a Gaussian on each side."""
    return Interval(tuple(n * lower for n in LEVELS), tuple(n * upper for n in LEVELS))


class Ends:
    """A walk that ends there, of a quantity with this value."""

    def __init__(self, value, lower, upper):
        self.places, self.ends = (ProfileStart(np.zeros(1), value, 0.0),), Interval((lower,) * 3, (upper,) * 3)

    def interval(self, errors, limits):
        return self.ends


def profiles(**walks):
    """Profiles of wave a, with 16 events and a phase of 1 degree, whose walks are known."""
    solution = SimpleNamespace(events={"a": (16.0, 8.0)}, names=("a", "b"), sets=(0, 0), phase=lambda a, b: (1.0, 20.0))
    made = BinProfiles(None, [solution], {0: "b"})
    made.__dict__.update(walks)
    return made


class TestEnds:
    def test_no_number_of_events_is_negative(self):
        """Also if no crossing was found on the way to 0."""
        found = profiles(event_walks={"a": Ends(4.0, math.inf, 1.0)})._event_intervals()["a"]
        assert found == Interval((16.0,) * 3, (9.0,) * 3)

    def test_half_a_turn_is_no_end(self):
        """Whatever its rounding."""
        at = np.linspace(-math.pi, math.pi, 999)
        below = [x - (x - math.pi) for x in at]
        assert min(math.degrees(end) for end in below) < 180
        for x, end in zip(at, below, strict=True):
            assert profiles(phase_walks={"a": Ends(x, end, 0.5)})._phase_intervals()["a"].lower == math.inf


@pytest.mark.parametrize(
    ("value", "lower", "upper", "text"),
    [
        (1083.2, 120.0, 270.0, "1083 +270 −120 (+810 −360)"),
        (12.34, 0.9, 2.0, "12.34 +2.00 −0.90 (+6.00 −2.70)"),
        (1e-13, 1e-13, 4.0, "0.00 +4.00 −0.00 (+12.00 −0.00)"),  # a wave that is absent
        (-0.2, 11.0, 12.0, "0 +12 −11 (+36 −33)"),
        (12.0, 12.0, math.inf, "12 +∞ −12 (+∞ −36)"),
        (5.0, math.inf, math.inf, "5 +∞ −∞ (+∞ −∞)"),
    ],
)
def test_intervals_as_text(value, lower, upper, text):
    assert _with_interval((value, 3.0), threefold(lower, upper)) == text
    before = Interval((lower, math.nan, math.nan), (upper, math.nan, math.nan))  # of an earlier version
    assert _with_interval((value, 3.0), before) == text.partition(" (")[0]


@pytest.mark.parametrize(
    ("own", "ends", "text"),
    [
        ((-179.9, 12.0), None, "180 ± 12"),
        ((-0.3, 11.0), None, "0 ± 11"),
        ((-180.0, 119.0), None, "unknown (± 119)"),
        ((20.0, math.inf), None, ""),  # a wave that may be absent
        ((20.0, 30.0), (math.inf, math.inf), "unknown"),
        ((20.0, 30.0), (40.0, 20.0), "20 +20 −40 (+60 −120)"),
    ],
)
def test_phases_as_text(own, ends, text):
    assert _angle(own, None if ends is None else threefold(*ends)) == text


def test_deviations():
    assert deviations(3.0, (2.0, 4.0, 10.0)) == 1.5
    assert deviations(13.0, (2.0, 4.0, 10.0)) == 3.5
    assert deviations(13.0, (2.0, math.inf, math.inf)) == 1.0  # no more than that anywhere
    assert deviations(13.0, (2.0, math.nan, math.nan)) == 6.5  # of an earlier version
    assert math.isnan(deviations(1.0, (math.nan,) * 3))


class TestEvents:
    def test_all_events_are_a_poisson_number(self, folder):
        likelihood = ctpwa.load_analysis(folder / "model.yml").likelihood(progress=False)
        result = ctpwa.fit(likelihood, 2, seed=1, simulation=False, progress=False)
        integrals, n = likelihood.integrals(result.x), 1500.0
        quantity = RootOfEvents(likelihood, [EventNumbers(n, integrals, integrals)], range(4))
        own = events_walk(WithTotal(likelihood, [(n, n)]), quantity, [(np.append(result.x, 0.0), 0.0)], 1.0)
        assert own.places[0].value ** 2 == pytest.approx(n)
        found = own.interval(sigmas(0.005 * math.sqrt(n)), (0.0, math.inf))
        for k, level in enumerate(LEVELS):
            for end in ((own.places[0].value + step) ** 2 for step in (-found.below[k], found.above[k])):
                assert end - n - n * math.log(end / n) == pytest.approx(level**2 / 2, rel=0.06)

    def test_slopes(self, folder):
        likelihood = ctpwa.load_analysis(folder / "model.yml").likelihood(progress=False)
        x = np.append(likelihood.random_couplings(likelihood.start, 1, seed=2)[0], [0.2, 0.1])
        objective = WithTotal(likelihood, [(900.0, 1000.0), (1500.0, 1800.0)])
        first, second = (likelihood.integrals(at) for at in (likelihood.random_couplings(likelihood.start, 1, seed=3)[0], x[:-2]))
        quantity = RootOfEvents(likelihood, [EventNumbers(900.0, second, first), EventNumbers(1500.0, second, second)], [2])
        for function in (objective.value_and_grad, quantity.at):
            slope = function(x)[1]
            for k in range(len(x)):
                step = np.zeros(len(x))
                step[k] = 1e-6
                numeric = (function(x + step)[0] - function(x - step)[0]) / 2e-6
                assert slope[k] == pytest.approx(numeric, rel=1e-5, abs=1e-4)
        value, gradient, H = objective.value_grad_hessian(x)
        assert value == pytest.approx(objective.value(x), rel=1e-12)
        np.testing.assert_allclose(gradient, objective.value_and_grad(x)[1], rtol=1e-9, atol=1e-9)
        assert H[-1, -1] == pytest.approx(1500**2 / 1800 * math.exp(0.1))


class TestGroups:
    def test_every_group_has_a_profile(self, fit, study):
        solutions = [Solution.of(fit.bin, 0, study.by_key["0"], study.couplings, study.about.extent["sets"])]
        walks = BinProfiles(fit, solutions, study.references).event_walks
        assert set(walks) == set(study.groups) - {TOTAL}
        assert any(n > 1 for name, n in study.groups.items() if name != TOTAL)
        for name, walk in walks.items():
            assert walk.places[0].value ** 2 == pytest.approx(solutions[0].events[name][0], rel=1e-6)

    def test_ends_are_where_the_profile_has_risen(self, fit, study):
        """Of waves of positive reflectivity: with their events held, −ln L of the rest is ½ (1 + r) above the best."""
        solutions = [Solution.of(fit.bin, 0, study.by_key["0"], study.couplings, study.about.extent["sets"])]
        profiles = BinProfiles(fit, solutions, study.references)
        walk, value = profiles.event_walks["e=+"], math.sqrt(solutions[0].events["e=+"][0])
        found = walk.interval(sigmas(0.01), (0.0, math.inf))  # errors that are far too small
        for k, n in enumerate(LEVELS):
            for end in (value - found.below[k], value + found.above[k]):
                if end > 0:
                    assert walk.root(end, walk.places[0].x) == pytest.approx(n * walk.sigmas, rel=0.03)

    def test_they_are_shown(self, study):
        numbers = interval_numbers("events", {"e=+": threefold(12.0, 30.0)})
        changed = FitRecord(intervals_key("0"), 0.0, True, numbers=numbers)
        own = Bins(study.about, (*(record for record in study.records if record.key != changed.key), changed))
        assert (own.events("e=+").lower[0], own.events("e=+").upper[0]) == (12.0, 30.0)


class TestStudies:
    def test_every_bin_is_looked_at(self, study):
        assert all(study.by_key[intervals_key(own.key)].good for own in study.bins)

    def test_intervals_are_shown(self, study):
        name = study.couplings[2]
        numbers = interval_numbers("events", {name: threefold(12.0, 30.0)}) | interval_numbers("phase", {name: threefold(3.0, 40.0)})
        changed = FitRecord(intervals_key("0"), 0.0, True, numbers=numbers)
        own = Bins(study.about, (*(record for record in study.records if record.key != changed.key), changed))
        curve = own.events(name)
        assert (curve.lower[0], curve.upper[0], curve.errors[0]) == (12.0, 30.0, 21.0)
        assert not curve.gaussian[0]
        phases = own.phases(name)
        assert {phases.lower[0], phases.upper[0]} == {3.0, 40.0}
        assert "+30 −12 (+90 −36)" in str(own)
        assert own.events(name).deviations(curve.values + 75.0)[0] == 2.5
        assert "no parabola" in str(own)
        assert own.figures()

    def test_conjugate_couplings_have_intervals_on_the_other_side(self, study):
        name = study.couplings[2]
        own = replace(study.solutions[0][0], of_phases={name: threefold(3.0, 40.0)})
        assert own.conjugated([0, 1]).of_phases == {name: threefold(40.0, 3.0)}

    def test_what_failed_is_said(self, study):
        failed = FitRecord.failed(intervals_key("1"), "there is no memory\n fix: buy some")
        own = Bins(study.about, (*(record for record in study.records if record.key != failed.key), failed))
        assert "bin 1 intervals: there is no memory" in own.notes

    def test_signs_that_are_not_clear_are_both_in_it(self, study):
        own = study.solutions[0][0]
        members = np.array(own.sets) == 0
        other = own.conjugated([0])
        assert len(other.images(own)) == 1  # it is the same
        assert other.images(own)[0].distance(own) == pytest.approx(0, abs=1e-12)
        far = replace(own, values=np.where(members, 1j ** np.arange(len(members)) * np.abs(own.values), own.values))
        real = replace(own, values=np.abs(own.values).astype(complex) * np.exp(1e-3j * np.arange(len(members))))
        assert len(far.images(real)) == 2

    def test_they_may_be_left_out(self, folder, study):
        own = bins(folder / "model.yml", IN, starts=4, intervals=False, progress=False)
        assert intervals_key("0") not in own.by_key
        assert own.about.identity == study.about.identity
        assert own.events().gaussian.all()

    def test_records_are_read_again(self):
        own = {"a b": Interval((1.5, 3.0, 7.0), (math.inf,) * 3)}
        record = FitRecord("0 intervals", 0.0, True, numbers=interval_numbers("phase", own))
        again = FitRecord.from_dict(record.as_dict())
        assert intervals_of(again, "phase") == own
        assert intervals_of(again, "events") == {}
        assert intervals_of(None, "phase") == {}
        (before,) = intervals_of(
            FitRecord("0 intervals", 0.0, True, numbers={"lower phase a": 1.0, "upper phase a": 2.0}), "phase"
        ).values()
        assert (before.lower, before.upper) == (1.0, 2.0)
        assert np.isnan(before.below[1:]).all()
