"""Covariances: inverse Hessian, constraints, and the correction for weighted events, H⁻¹ S H⁻¹.

What the finite simulation adds to them is in test_simulation.py.
"""

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.data.events import Events
from fitting.cases import likelihood, make, model, phase_space, result, toy


def with_weights(events, weights):
    return Events(events.momenta, torch.as_tensor(np.broadcast_to(np.asarray(weights, dtype=float), (events.n_events,)).copy()))


def sandwich(like, x):
    """From the scores of single events."""
    inverse = np.linalg.inv(like.hessian(x))
    return inverse @ like.score_products(x) @ inverse


@pytest.mark.parametrize("name", ["fixed", "floating"])
def test_without_weights_it_is_the_inverse_hessian(name):
    found = result(name)
    assert not found.corrected
    np.testing.assert_allclose(found.statistical_covariance, np.linalg.inv(likelihood(name).hessian(found.x)), rtol=1e-9)
    np.testing.assert_allclose(found.errors, np.sqrt(np.diag(found.covariance)), rtol=1e-14)


def test_weights_of_one_are_no_weights():
    found = ctpwa.fit(make("fixed", data=with_weights(toy(400), 1.0)))
    assert not found.corrected
    np.testing.assert_array_equal(found.covariance, result("fixed").covariance)
    assert found.weight == found.n_events == 400


def test_a_common_weight_changes_no_error():
    """With weights c the NLL is c times the old one, H⁻¹ is 1/c times the old one, and S is c² times the old one.

    H⁻¹ S H⁻¹ is thus independent of c, and c times H⁻¹ up to the difference of S and H of unweighted events, which is statistical.
    """
    half, two = (make("fixed", data=with_weights(toy(400), c)) for c in (0.5, 2.0))
    one = likelihood("fixed")
    found = ctpwa.fit(two)
    assert found.corrected
    assert found.weight == 800
    assert found.n_events == 400
    x = found.x
    np.testing.assert_allclose(x, result("fixed").x, rtol=1e-4, atol=1e-3)
    assert found.nll == pytest.approx(2 * result("fixed").nll, abs=1e-6)
    np.testing.assert_allclose(found.statistical_covariance, sandwich(one, x), rtol=1e-8)  # that of weights 1, exactly
    np.testing.assert_allclose(found.statistical_covariance, sandwich(half, x), rtol=1e-8)
    naive = np.linalg.inv(two.hessian(x))
    ratio = np.diag(found.statistical_covariance) / np.diag(naive)
    np.testing.assert_allclose(ratio, 2.0, rtol=0.25)
    assert not np.allclose(ratio, 2.0, rtol=1e-6)


def contaminated(name, n, weight, **options):
    """400 events of the model and 30 that are flat; the latter are subtracted with the help of n others."""
    signal, extra = toy(400, 1, name), phase_space(name, 30, 13)
    data = Events({label: torch.cat([p4, extra.momenta[label]]) for label, p4 in signal.momenta.items()})
    return make(name, data=data, background=with_weights(phase_space(name, n, 11), weight), **options)


def test_background_is_a_weight():
    like = contaminated("several rows", 300, 0.1)
    found = ctpwa.fit(like)
    assert found.verdict.good
    assert found.corrected
    assert found.weight == pytest.approx(400)
    assert found.n_events == 430
    np.testing.assert_allclose(found.statistical_covariance, sandwich(like, found.x), rtol=1e-8)


@pytest.mark.parametrize(("method", "starts"), [("newton", 1), ("newton", 4), ("lbfgs", 1)])
def test_a_subtracted_event_that_vanishes(tmp_path, method, starts):
    """With one amplitude alone ψ = 0 at a background event can be reached, and −ln L falls without limit. The fit stops there."""
    found = ctpwa.fit(contaminated("fixed", 60, 0.5, subtraction="plain"), starts, method)
    (reason,) = found.verdict.reasons
    assert not found.verdict.good
    assert reason.startswith("-ln L has no lower limit")
    assert "subtraction: bounded" in reason
    assert found.record.hessians + found.record.gradients < 60 * starts
    assert all(p.error is None for p in found.parameters)
    found.save(tmp_path / "result.json")
    assert ctpwa.FitResult.load(tmp_path / "result.json").verdict == found.verdict
    if starts == 1:
        assert ctpwa.fit(contaminated("fixed", 60, 0.5)).verdict.good


def test_errors_of_everything_use_the_corrected_covariance():
    weights = np.random.default_rng(3).uniform(0.3, 4, 400)
    like = make("fixed", data=with_weights(toy(400), weights))
    found = ctpwa.fit(like)
    naive = np.linalg.inv(like.hessian(found.x))
    np.testing.assert_allclose(found.statistical_covariance, sandwich(like, found.x), rtol=1e-8)
    assert (np.sqrt(np.diag(found.statistical_covariance) / np.diag(naive)) > 1.2).all()
    slope = np.array([entry.magnitude_error for entry in found.couplings][1:])
    assert (slope > 1.2 * np.array([_magnitude_error(like, found.x, naive, k) for k in (1, 2)])).all()


def _magnitude_error(like, x, covariance, k):
    J = like.parameters.jacobian(x)
    n = like.plan.n_couplings
    c = like.parameters.native(x)[0][k]
    slope = (c.conjugate() * (J[k] + 1j * J[n + k])).real / abs(c)
    return np.sqrt(slope @ covariance @ slope)


def test_a_constraint_shrinks_the_error():
    """A Gaussian constraint of width s adds 1/s² to the curvature, with everything else at the same point."""
    free = result("floating")
    i = free.names.index("phi(1680).mass")
    error, value = free.parameters[i].statistical, free.x[i]
    for factor in (0.5, 1.0, 3.0):
        constrained = ctpwa.fit(make("floating", constraints={"phi(1680).mass": (value, factor * error)}), start=free.x)
        np.testing.assert_allclose(constrained.x, free.x, rtol=1e-5, atol=1e-3)  # the constraint agrees: the minimum stays
        expected = 1 / np.sqrt(1 / error**2 + 1 / (factor * error) ** 2)
        assert constrained.parameters[i].statistical == pytest.approx(expected, rel=1e-3)
        assert constrained.nll == pytest.approx(free.nll, abs=1e-7)
        assert not constrained.corrected


def test_a_constraint_pulls():
    free = result("floating")
    i = free.names.index("phi(1680).mass")
    error, value = free.parameters[i].statistical, free.x[i]
    pulled = ctpwa.fit(make("floating", constraints={"phi(1680).mass": (value + 2 * error, error)}), start=free.x)
    assert pulled.x[i] == pytest.approx(value + error, abs=0.25 * error)  # equal errors: half way, up to the shape of the likelihood
    assert pulled.nll == pytest.approx(free.nll + 1, abs=0.15)  # ½ (1² + 1²)


def test_a_constraint_counts_in_a_weighted_fit():
    """A strong constraint alone determines the parameter: its error is that of the constraint, whatever the weights are."""
    width = 1e-5
    data = with_weights(toy(400), 2.0)
    like = make("floating", data=data, constraints={"phi(1680).mass": (1.67, width)})
    found = ctpwa.fit(like, start={"phi(1680).mass": 1.67})
    assert found.corrected
    assert found.verdict.at_limits == ()
    assert found["phi(1680).mass"].error == pytest.approx(width, rel=1e-3)


def test_pulls_of_weighted_fits():
    """60 toys with weights that scatter: pulls have unit width with the correction, and are far too wide without."""
    n_toys, n, n_all = 60, 200, 2000
    weights = np.where(np.random.default_rng(5).random(n_all) < 5 / 6, 0.2, 5.0)  # ⟨w⟩ = 1, ⟨w²⟩ = 4.2
    data = with_weights(toy(n_all, 3, "tiny"), weights)
    like = ctpwa.build_likelihood(model("tiny"), data, phase_space("tiny", 3000, 12), engine="reference")
    centre = ctpwa.fit(like, simulation=False).x  # of all events, and of this phase-space sample
    corrected, naive = [], []
    for seed in range(n_toys):
        part = like.coarse(centre, n, seed)
        found = ctpwa.fit(part, start=centre, simulation=False)  # all of them have the same phase-space sample
        assert found.corrected
        corrected.append((found.x - centre) / found.errors)
        naive.append((found.x - centre) / np.sqrt(np.diag(np.linalg.inv(part.hessian(found.x)))))
    shrink = np.sqrt(1 - n / n_all)  # each toy is part of the sample that the centre comes from
    np.testing.assert_allclose(np.std(corrected, axis=0) / shrink, 1.0, atol=0.28)  # 3 standard deviations of a width from 60 numbers
    assert (np.std(naive, axis=0) / np.sqrt(n_all / n) > 1.6).all()  # √4.2, and the weights that make up for the events left out
