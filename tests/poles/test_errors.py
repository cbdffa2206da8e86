"""Errors of poles: against finite differences and toys of the parameters."""

import numpy as np
import pytest

import ctpwa
from ctpwa.engine.likelihood.values import ModelValues
from ctpwa.observables.poles import poles
from poles.fits import fitted

K = 0.493677
RESONANCES = {
    "flatte": {
        "lineshape": "flatte",
        "JP": "0+",
        "mass": 0.965,
        "parameters": {"g_pipi": 0.41, "g_KK": 0.84},
        "options": {"channels": {"pipi": "own", "KK": [K, K]}},
        "float": ["mass", "g_pipi", "g_KK"],
    },
    "breit_wigner": {"JP": "2+", "mass": 1.2754, "width": 0.1866, "float": ["mass", "width"]},
    "gounaris_sakurai": {"JP": "1-", "lineshape": "gounaris_sakurai", "mass": 0.7753, "width": 0.1491, "float": ["mass", "width"]},
    "bugg_sigma": {"JP": "0+", "lineshape": "bugg_sigma", "float": ["mass", "b_1", "A", "g_4pi"]},
}


def case(name):
    parent = "pi0" if name == "gounaris_sakurai" else "omega(782)"
    model = ctpwa.load_model({"decay": f"J/psi(1S) -> {parent} pi+ pi-", "resonances": {"X": {"in": "pi+ pi-"} | RESONANCES[name]}})
    (pole,) = poles(None, model)
    shape = {f"X.{key}": value for key, value in model.resonances["X"].parameters.items()}
    free = {
        f"X.{p}": shape.get(f"X.{p}", {"b_1": 1.302, "A": 2.426, "g_4pi": 0.011, "mass": 0.953}.get(p)) for p in RESONANCES[name]["float"]
    }
    return model, free, pole


def quantities(pole):
    """Mass, width, |residue|, phase, then |g²| and phase of each channel."""
    numbers = [pole.residue, *(c.value for c in pole.couplings)]
    return np.array([pole.mass, pole.width, *(f(z) for z in numbers for f in (np.abs, np.angle))])


def claimed(pole):
    errors = [pole.residue_magnitude_error, pole.residue_phase_error]
    return np.array([pole.mass_error, pole.width_error, *errors, *(e for c in pole.couplings for e in (c.magnitude_error, c.phase_error))])


def moved(model, free, shift):
    return quantities(poles(ModelValues({}, {name: v + s for (name, v), s in zip(free.items(), shift, strict=True)}), model)[0])


@pytest.mark.parametrize("name", RESONANCES)
def test_errors_are_those_of_finite_differences(name):
    model, free, pole = case(name)
    rng = np.random.default_rng(3)
    A = rng.normal(size=(len(free), len(free))) * 1e-3
    covariance = A @ A.T
    (with_errors,) = poles(fitted(model, free, covariance), model)
    assert quantities(with_errors) == pytest.approx(quantities(pole), rel=1e-12)
    h = 1e-4
    unit = np.eye(len(free))
    J = np.array(
        [
            (
                8 * (moved(model, free, h * e) - moved(model, free, -h * e))
                - (moved(model, free, 2 * h * e) - moved(model, free, -2 * h * e))
            )
            / (12 * h)
            for e in unit
        ]
    ).T
    expected = J @ covariance @ J.T
    assert claimed(with_errors) == pytest.approx(np.sqrt(np.diag(expected)), rel=1e-6)
    assert with_errors.covariance == pytest.approx(expected[:2, :2], rel=1e-6)


def test_errors_are_those_of_toys():
    model, free, _ = case("flatte")
    covariance = np.array([[4.0, 1.0, -1.5], [1.0, 9.0, 3.0], [-1.5, 3.0, 16.0]]) * 1e-6
    (pole,) = poles(fitted(model, free, covariance), model)
    shifts = np.random.default_rng(5).multivariate_normal(np.zeros(3), covariance, size=150)
    toys = np.array([moved(model, free, shift) for shift in shifts])
    spread = toys.std(axis=0, ddof=1)
    assert claimed(pole) == pytest.approx(spread, rel=4 / np.sqrt(2 * len(toys)))
    assert np.corrcoef(toys[:, :2].T)[0, 1] == pytest.approx(pole.covariance[0, 1] / (pole.mass_error * pole.width_error), abs=0.2)


def test_other_parameters_do_not_matter_and_fixed_ones_have_no_error():
    model, free, _ = case("breit_wigner")
    covariance = np.diag([4e-6, 9e-6, 1.0])
    (pole,) = poles(fitted(model, {**free, "unrelated.re": 3.0}, covariance), model)
    (alone,) = poles(fitted(model, free, covariance[:2, :2]), model)
    assert claimed(pole) == pytest.approx(claimed(alone), rel=1e-14)
    (fixed,) = poles(fitted(model, {"unrelated.re": 3.0}, np.eye(1)), model)
    assert claimed(fixed) == pytest.approx(0.0)


def test_a_parameter_that_the_fit_does_not_determine_leaves_no_error():
    model, free, _ = case("breit_wigner")
    (pole,) = poles(fitted(model, free, np.diag([4e-6, 0.0]), lost=("X.width",)), model)
    assert pole.mass is not None
    assert (pole.mass_error, pole.width_error, pole.residue_phase_error, pole.covariance) == (None, None, None, None)


def test_values_of_the_fit_are_used():
    model, free, _ = case("breit_wigner")
    (pole,) = poles(fitted(model, {"X.mass": 1.3, "X.width": 0.2}, np.eye(2) * 1e-6), model)
    assert quantities(pole) == pytest.approx(moved(model, free, [1.3 - free["X.mass"], 0.2 - free["X.width"]]), rel=1e-12)


def test_wrong_questions_are_refused():
    model, free, _ = case("breit_wigner")
    with pytest.raises(ctpwa.base.PhysicsError, match="sheets = 'al'"):
        poles(None, model, "al")
    with pytest.raises(ctpwa.base.PhysicsError, match="no lineshape parameter is called"):
        poles(ModelValues({}, {"X.masss": 1.0}), model)
    other = ctpwa.load_model(
        {"decay": "J/psi(1S) -> omega(782) pi+ pi-", "resonances": {"Y": {"in": "pi+ pi-", "JP": "0+", "mass": 1.5, "width": 0.1}}}
    )
    with pytest.raises(ctpwa.base.PhysicsError, match="another model"):
        poles(fitted(model, free, np.eye(2)), other)
