"""A fit is the same whoever holds its events."""

import signal

import numpy as np
import pytest

import ctpwa
from ctpwa.base.errors import CtpwaError
from ctpwa.base.ranks import ONE
from ctpwa.fitting.search_settings import SearchSettings
from ranks.cases import MASS, make, pair, phase_space
from ranks.threads import on_ranks

BUILD = {
    "floating": lambda ranks: make("floating", "weighted", ranks),
    "fixed": lambda ranks: make("fixed", "plain", ranks),
    "two data sets": pair,
}


@pytest.mark.parametrize(
    ("case", "size", "options"),
    [
        ("floating", 2, {"method": "newton", "minos": [MASS]}),
        ("fixed", 2, {"method": "lbfgs"}),
        ("fixed", 2, {"method": "minuit"}),
        ("fixed", 4, {"starts": 4, "seed": 3, "truth": True}),
        ("two data sets", 2, {"tolerance": 1e-16}),
    ],
)
def test_fits_of_all_kinds(case, size, options):
    truth = phase_space("fixed", 200, 9) if options.pop("truth", False) else None

    def run(ranks):
        return ctpwa.fit(BUILD[case](ranks), truth=truth, progress=False, search=SearchSettings(events=100, per_parameter=1), **options)

    expected, found = run(ONE), on_ranks(size, run)
    first = found[0]
    assert first.verdict.good == expected.verdict.good
    assert first.nll == pytest.approx(expected.nll, rel=1e-10)
    assert (np.abs(first.x - expected.x) < 1e-8 * expected.errors).all() or options.get("method") == "minuit"
    assert (np.abs(first.x - expected.x) < 1e-4 * expected.errors).all()  # MIGRAD stops a little earlier or later
    np.testing.assert_allclose(first.covariance, expected.covariance, rtol=1e-4, atol=1e-6 * np.abs(expected.covariance).max())
    assert [m.starts for m in first.minima] == [m.starts for m in expected.minima]
    for a, b in zip(first.fractions, expected.fractions, strict=True):
        np.testing.assert_allclose(a.groups["waves"].values, b.groups["waves"].values, rtol=1e-5)
    for name in options.get("minos", ()):
        a, b = first[name].minos, expected[name].minos
        assert (a.lower, a.upper) == pytest.approx((b.lower, b.upper), rel=1e-6)
    assert first.settings["ranks"] == size
    for other in found[1:]:
        np.testing.assert_array_equal(other.x, first.x)
        np.testing.assert_array_equal(other.covariance, first.covariance)
        assert other.nll == first.nll


@pytest.mark.parametrize("case", ["floating", "fixed"])
def test_the_bias_of_mixed_precision(case):
    def run(ranks):
        return ctpwa.fit(make(case, "weighted", ranks, precision="mixed"), progress=False)

    expected, found = run(ONE), on_ranks(2, run)
    assert expected.precision.nll != 0
    for result in found:
        assert result.precision.nll == pytest.approx(expected.precision.nll, rel=1e-4)
        assert result.precision.largest == pytest.approx(expected.precision.largest, rel=1e-4)
        assert result.precision.parameter == expected.precision.parameter


def test_ranks_in_different_precision():
    with pytest.raises(CtpwaError, match="rank 1 has another model than rank 0"):
        on_ranks(2, lambda ranks: make("fixed", ranks=ranks, precision=("double", "mixed")[ranks.rank]))


def test_ranks_that_fit_in_different_ways():
    with pytest.raises(CtpwaError, match="rank 1 has another way to fit than rank 0"):
        on_ranks(2, lambda ranks: ctpwa.fit(make("fixed", ranks=ranks), seed=ranks.rank))


@pytest.mark.parametrize("starts", [1, 4])
def test_an_interrupt_on_one_rank_ends_the_fit_of_all_at_the_same_point(starts):
    """Rank 1 is interrupted; it says so with the next sum, and all end there."""

    def run(ranks):
        like = make("floating", "plain", ranks)
        real, calls = like.ranks.sum, []

        def counted(*arguments):
            calls.append(1)
            if len(calls) == 8 and ranks.rank == 1:
                ranks.interrupt()
            return real(*arguments)

        like.ranks.sum = counted
        return ctpwa.fit(like, starts, start=like.start * 1.02, progress=False)

    found = on_ranks(3, run)
    assert all("interrupted" in result.verdict.reasons for result in found)
    for other in found[1:]:
        np.testing.assert_array_equal(other.x, found[0].x)


def test_ctrl_c_waits_for_the_next_sum():
    """The handler of ``fit``, which only the main thread can have."""
    from ctpwa.base.ranks import SeveralRanks

    class Alone(SeveralRanks):
        def reduce(self, buffer, device):
            pass

        def gather(self, content):
            return [content]

        def go_on(self):
            went_on.append(True)

    went_on = []
    ranks = Alone(0, 1)
    before = signal.getsignal(signal.SIGINT)
    with ranks.interrupts_together():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            ranks.sum(1, lambda: np.zeros(1))
        np.testing.assert_array_equal(ranks.sum(1, lambda: np.ones(1)), [1.0])
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert (ranks.interrupts, went_on) == (1, [True])
