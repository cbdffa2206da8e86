"""The verdict: minima, maxima, flat directions by name, limits, fits that did not end; and the covariance that goes with it."""

import numpy as np
import pytest

from ctpwa.minimise.steps import Stop
from ctpwa.minimise.verdict import judge
from minimise.functions import Function, monkey_saddle, positive_definite, quadratic, rosenbrock, run, saddle


def judged(function, x, converged=True, reason="converged"):
    x = np.asarray(x, dtype=float)
    value, gradient, H = function.value_grad_hessian(x)
    return judge(function.names, Stop(x, value, converged, reason, 1), gradient, H, function.bounds)


def test_a_minimum(rng):
    H = positive_definite(rng, 5, 1e3)
    found = judged(quadratic(H, np.arange(5.0)), np.arange(5.0))
    assert found.verdict.good
    assert found.verdict.reasons == ()
    assert found.verdict.edm == 0
    assert found.verdict.gradient_norm == 0
    assert found.verdict.at_limits == found.undetermined == ()
    assert found.verdict.flat == found.verdict.negative == ()
    assert str(found.verdict) == "good: a minimum, all parameters determined (EDM 0.0e+00)"


def test_eigenvalues_are_those_in_units_of_the_diagonal():
    H = np.array([[4e10, 1e5], [1e5, 1.0]])
    found = judged(quadratic(H, [0.0, 0.0]), [0.0, 0.0])
    np.testing.assert_allclose(found.verdict.eigenvalues, [0.5, 1.5], rtol=1e-12)


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8])
def test_the_covariance_of_a_quadratic_is_the_inverse(condition, rng):
    H = positive_definite(rng, 6, condition)
    found = judged(quadratic(H, np.zeros(6)), np.zeros(6))
    scale = np.sqrt(np.outer(np.diag(found.covariance), np.diag(found.covariance)))
    np.testing.assert_allclose(found.covariance / scale, np.linalg.inv(H) / scale, atol=1e-15 * condition + 1e-12)


def test_the_covariance_has_the_units_of_the_parameters(rng):
    scales = np.array([1e-8, 1.0, 1e11])
    H = positive_definite(rng, 3, 20.0)
    found = judged(quadratic(H / np.outer(scales, scales), np.zeros(3)), np.zeros(3))
    assert found.verdict.good
    np.testing.assert_allclose(found.covariance / np.outer(scales, scales), np.linalg.inv(H), rtol=1e-12)


def test_distance_to_the_minimum():
    H = np.array([[2.0, 0.3], [0.3, 1.0]])
    function = quadratic(H, [1.0, 2.0])
    x = [1.1, 1.8]
    found = judged(function, x)
    assert found.verdict.edm == pytest.approx(function.value(x), rel=1e-12)
    assert not found.verdict.good
    assert found.verdict.reasons == ("the minimum is still 0.024 below in -ln L",)
    assert found.verdict.gradient_norm == pytest.approx(np.abs(function.value_and_grad(x)[1]).max())


def test_a_small_distance_is_good():
    assert judged(quadratic(np.eye(2), [1.0, 2.0]), [1.01, 2.01]).verdict.good


def test_a_fit_that_did_not_converge():
    found = judged(rosenbrock(2), [1.0, 1.0], converged=False, reason="not converged after 3 iterations")
    assert not found.verdict.good
    assert found.verdict.reasons == ("not converged after 3 iterations",)
    assert str(found.verdict) == "NOT good (EDM 0.0e+00)\n  not converged after 3 iterations"


def test_a_saddle_point():
    found = judged(saddle(), [0.0, 0.0])
    assert not found.verdict.good
    assert found.verdict.negative == ({"x1": pytest.approx(1.0)},) or found.verdict.negative == ({"x1": pytest.approx(-1.0)},)
    assert found.verdict.flat == ()
    (reason,) = found.verdict.reasons
    assert reason.startswith("not a minimum: it goes down along ")
    assert "(x1)" in reason
    assert "(x0)" not in reason
    assert found.undetermined == ("x1",)
    assert found.covariance[1, 1] == 0
    assert found.covariance[0, 0] == pytest.approx(0.5)


def test_a_maximum():
    found = judged(quadratic(-np.eye(3), np.zeros(3)), np.zeros(3))
    assert len(found.verdict.negative) == 3
    assert found.undetermined == ("x0", "x1", "x2")
    np.testing.assert_array_equal(found.covariance, np.zeros((3, 3)))


def test_a_flat_direction_of_two_parameters():
    """(x0 − 2 x1)² determines a combination; x0 = 2 x1 is free. x2 is not touched by that."""
    a = np.array([1.0, -2.0, 0.0])
    H = np.outer(a, a) + np.diag([0.0, 0.0, 4.0])
    found = judged(quadratic(H, np.zeros(3)), np.zeros(3))
    assert not found.verdict.good
    (flat,) = found.verdict.flat
    assert set(flat) == {"x0", "x1"}
    assert flat["x0"] / flat["x1"] == pytest.approx(2.0)
    assert found.undetermined == ("x0", "x1")
    (reason,) = found.verdict.reasons
    assert reason.startswith("the likelihood does not determine ")
    assert reason.endswith("; fix one of these or simplify the model")
    assert found.covariance[2, 2] == pytest.approx(0.25)
    assert np.isfinite(found.covariance).all()


def test_a_flat_direction_in_very_different_units():
    """Both parameters are named, though one is 1e11 times the other."""
    a = np.array([1e8, -1e-3])
    found = judged(quadratic(np.outer(a, a), np.zeros(2)), np.zeros(2))
    (flat,) = found.verdict.flat
    assert set(flat) == {"x0", "x1"}
    assert flat["x1"] / flat["x0"] == pytest.approx(1e11)


def test_a_parameter_that_does_nothing():
    found = judged(quadratic(np.diag([2.0, 0.0]), np.zeros(2)), np.zeros(2))
    assert found.verdict.flat == ({"x1": 1.0},)
    assert found.undetermined == ("x1",)
    assert not found.verdict.good


def test_no_curvature_at_all():
    found = judged(monkey_saddle(), [0.0, 0.0])
    assert len(found.verdict.flat) == 2
    assert found.undetermined == ("x0", "x1")


@pytest.mark.parametrize("factor", [1e-3, 1e-7])
def test_a_badly_determined_direction_is_not_flat(factor):
    """Correlation 1 − 1e-7: a large error, but an error."""
    H = np.array([[1.0, 1 - factor], [1 - factor, 1.0]])
    found = judged(quadratic(H, np.zeros(2)), np.zeros(2))
    assert found.verdict.good
    np.testing.assert_allclose(found.covariance, np.linalg.inv(H), rtol=1e-7)


def test_a_parameter_at_a_limit():
    """Held by the slope: its error is zero, those of the others are what they are when it is fixed."""
    H = np.array([[2.0, 0.9], [0.9, 1.0]])
    function = quadratic(H, [3.0, 0.4], bounds=[[0, 1], [-5, 5]])
    stop, _ = run("newton", function, [0.5, 0.5])
    found = judged(function, stop.x)
    assert found.verdict.good
    assert found.verdict.at_limits == ("x0",)
    assert found.verdict.reasons == ("at a limit: x0",)
    np.testing.assert_allclose(found.covariance, [[0, 0], [0, 1]], atol=1e-12)
    assert found.verdict.edm < 1e-9
    assert found.verdict.gradient_norm < 1e-4


def test_a_parameter_at_a_limit_that_wants_to_leave_it():
    function = quadratic(np.eye(2), [3.0, 0.0], bounds=[[1, 5], [-5, 5]])
    found = judged(function, [1.0, 0.0])
    assert not found.verdict.good
    assert found.verdict.at_limits == ("x0",)
    assert found.verdict.edm == pytest.approx(2.0)


def test_all_parameters_at_limits():
    function = quadratic(np.eye(2), [3.0, 3.0], bounds=[[0, 1], [0, 1]])
    found = judged(function, [1.0, 1.0])
    assert found.verdict.good
    assert found.verdict.at_limits == ("x0", "x1")
    assert found.verdict.eigenvalues == ()
    np.testing.assert_array_equal(found.covariance, np.zeros((2, 2)))


def test_negative_curvature_behind_a_limit_does_not_matter():
    """At the limit the slope holds the parameter; that f bends down there is no saddle point."""
    function = Function(
        lambda x: -(x[0] ** 2) - x[0] + x[1] ** 2, lambda x: [-2 * x[0] - 1, 2 * x[1]], lambda x: np.diag([-2.0, 2.0]), 2, [[0, 1], [-5, 5]]
    )
    assert judged(function, [1.0, 0.0]).verdict.good


def test_no_parameters():
    found = judge((), Stop(np.zeros(0), 3.0, True, "converged", 0), np.zeros(0), np.zeros((0, 0)), np.zeros((0, 2)))
    assert found.verdict.good
    assert found.covariance.shape == (0, 0)


def test_many_parameters_in_a_direction_are_cut_short():
    a = np.ones(12)
    H = np.eye(12) * 12 - np.outer(a, a)
    (reason,) = judged(quadratic(H, np.zeros(12)), np.zeros(12)).verdict.reasons
    assert reason.count("·(") == 4
    assert "…" in reason


def test_a_bad_verdict_says_the_worst_and_the_rest_on_request():
    """Twelve directions go down and twelve are flat: one line for each kind, and no wall of lines."""
    names = tuple(f"p{k}" for k in range(26))
    H = np.diag([-1.0] * 12 + [0.0] * 12 + [1.0, 1.0])
    gradient = np.zeros(26)
    bounds = np.tile([-np.inf, np.inf], (26, 1))
    bounds[24:, 0] = 0.0
    stop = Stop(np.zeros(26), 0.0, False, "not converged after 3 iterations", 3)
    verdict = judge(names, stop, gradient, H, bounds).verdict
    assert [reason.split(":")[0].split(" +")[0].split(" -")[0] for reason in verdict.reasons] == [
        "not converged after 3 iterations",
        "not a minimum",
        "the likelihood does not determine",
        "at a limit",
    ]
    assert "and 11 more directions; try more starts" in verdict.reasons[1]
    lines = str(verdict).splitlines()
    assert len(lines) == 5
    assert lines[-1] == "  and 1 more reason, see ctpwa show --reasons"
    assert (len(verdict.negative), len(verdict.flat)) == (12, 12)
    everything = verdict.text(everything=True)
    assert everything.count("goes down: ") == everything.count("not determined: ") == 11
    assert "at a limit: p24, p25" in everything
    assert all(f"({name})" in everything for name in names[:24])


def test_many_parameters_at_a_limit_are_counted():
    bounds = np.tile([0.0, np.inf], (6, 1))
    stop = Stop(np.zeros(6), 0.0, True, "converged", 3)
    verdict = judge(tuple("abcdef"), stop, np.ones(6), np.eye(6), bounds).verdict
    assert verdict.reasons == ("at a limit: a, b, c, d and 2 more",)
    assert verdict.at_limits == tuple("abcdef")


def test_what_is_worse_comes_first():
    verdict = judged(saddle(), [0.0, 0.0]).verdict.with_reasons(["worst"], ["least", "worst"])
    assert verdict.reasons[0] == "worst"
    assert verdict.reasons[-1] == "least"
    assert len(verdict.reasons) == 3


def test_a_limit_does_not_hide_that_nothing_tells_two_parameters_apart():
    """f depends on x0 + x1 alone: where x1 ends at its limit by chance, nothing holds it there."""
    function = quadratic(np.ones((2, 2)), [0.2, 0.0], bounds=[[0, 1], [0, 1]])
    found = judged(function, [0.2 + 1e-9, 0.0])
    assert not found.verdict.good
    assert found.verdict.at_limits == ("x1",)
    assert "does not determine" in found.verdict.reasons[0]
    assert set(found.undetermined) == {"x0", "x1"}
