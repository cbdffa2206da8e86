"""Amplitudes versus mass: against intensities of events, sums of waves, and errors by finite differences of a fit."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.engine.likelihood.values import ModelValues, model_values
from ctpwa.observables.argand import argand
from fitting.cases import PHI, PHI3, likelihood, make, model, phase_space, result
from kk_eta import kk_eta

SEVERAL = kk_eta(
    {
        "phi(1020)": {"in": "K+ K-"},
        "phi(1680)": {"in": "K+ K-", "mass": 1.659, "width": 0.164},
        "NR1": {"in": "K+ K-", "JP": "1-", "lineshape": "exponential", "parameters": {"alpha": 0.4}},
        "phi(3)(1850)": {"in": "K+ K-"},
    },
    couplings={
        "phi(1020)[K+ K-] (1,1)(1,0)": 1,
        "phi(1680)[K+ K-] (1,1)(1,0)": [2, 3],
        "NR1[K+ K-] (1,1)(1,0)": [-4, 1],
        "phi(3)(1850)[K+ K-] (3,3)(3,0)": 200,
    },
)


def named(curves, name):
    return next(curve for curve in curves if curve.name == name)


def slopes(likelihood, x, curve_of, h=1e-5):
    """∂A/∂x of a curve by central differences."""
    columns = []
    for k in range(len(x)):
        step = np.zeros(len(x))
        step[k] = h * max(1.0, abs(x[k]))
        up, down = (curve_of(model_values(likelihood, x + sign * step)) for sign in (1, -1))
        columns.append((up - down) / (2 * step[k]))
    return np.array(columns).T


def check_covariance(fit, own, name):
    """Covariance of a curve against differences; the grid must be the same, so masses that move have few points of their own."""
    curve = named(argand(fit, own.model), name)

    def amplitude(values):
        moved = named(argand(values, own.model), name)
        re, im = (np.interp(curve.mass, moved.mass, part) for part in (moved.amplitude.real, moved.amplitude.imag))
        return re + 1j * im if len(moved.mass) != len(curve.mass) or (moved.mass != curve.mass).any() else moved.amplitude

    dA = slopes(own, fit.x, amplitude)
    parts = np.stack([dA.real, dA.imag], axis=1)
    expected = np.einsum("nif,fg,njg->nij", parts, fit.covariance, parts)
    assert curve.covariance == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())
    return curve


def test_sum_of_waves_times_one_spin_amplitude_is_what_events_see():
    own = ctpwa.load_model(SEVERAL)
    curves = argand(None, own, points=4000)
    total, alone = named(curves, "K+ K- 1⁻ (1,1)(1,0)"), named(curves, "phi(1680)[K+ K-] (1,1)(1,0)")
    events = ctpwa.generate_phase_space(own, 300, seed=1)
    p = events["K+"] + events["K-"]
    m = np.sqrt((p[:, 0] ** 2 - (p[:, 1:] ** 2).sum(dim=1)).numpy())
    intensity = ctpwa.ModelIntensity(own, engine="reference")
    of = {curve.name: intensity(events, waves=list(curve.waves)).numpy() for curve in (total, alone)}
    ratio = np.interp(m, total.mass, total.intensity) / np.interp(m, alone.mass, alone.intensity)
    assert ratio == pytest.approx(of[total.name] / of[alone.name], rel=2e-4)
    assert total.waves == tuple(f"{name}[K+ K-] (1,1)(1,0)" for name in ("phi(1020)", "phi(1680)", "NR1"))
    assert (total.total, alone.total) == (True, False)


def test_sums_are_sums_and_come_first():
    own = ctpwa.load_model(SEVERAL)
    curves = argand(None, own)
    assert [curve.total for curve in curves] == [True, False, False, False, False]
    total = curves[0]
    added = sum(
        np.interp(total.mass, curve.mass, curve.amplitude.real) + 1j * np.interp(total.mass, curve.mass, curve.amplitude.imag)
        for curve in curves[1:4]
    )
    assert added == pytest.approx(total.amplitude, abs=0.01 * np.abs(total.amplitude).max())
    assert (total.system, total.jp, total.resonances) == ("K+ K-", "1⁻", ("phi(1020)", "phi(1680)", "NR1"))
    assert total.masses == (pytest.approx(1.019461), 1.659)
    assert (total.mass[0], total.mass[-1]) == (pytest.approx(2 * 0.493677, abs=1e-5), pytest.approx(3.0969 - 0.547862, abs=1e-4))


def test_an_amplitude_of_zero_has_any_phase():
    """Errors 0.3 and 0.4 of two independent parts: where A is 0, that of the phase is infinite, elsewhere it is that across A over |A|."""
    curve = named(argand(None, ctpwa.load_model(SEVERAL)), "phi(1680)[K+ K-] (1,1)(1,0)")
    errors = np.tile(np.diag([0.09, 0.16]), (3, 1, 1))
    curve = replace(curve, mass=np.arange(3.0), amplitude=np.array([0, 2, 2j]), covariance=errors)
    with np.errstate(all="raise"):
        assert curve.phase_error == pytest.approx([np.inf, 0.2, 0.15])
        assert curve.magnitude_error == pytest.approx([0.3, 0.3, 0.4])
        assert curve.intensity_error == pytest.approx([0, 1.2, 1.6])


def test_amplitude_is_coupling_times_lineshape():
    own = ctpwa.load_model(SEVERAL)
    curve = named(argand(None, own), "phi(1680)[K+ K-] (1,1)(1,0)")
    m, m0, width, K, d = curve.mass, 1.659, 0.164, 0.493677, 3.0
    q2, q02 = m**2 / 4 - K**2, m0**2 / 4 - K**2
    running = width * (q2 / q02) ** 1.5 * (m0 / m) * (1 + q02 * d**2) / (1 + q2 * d**2)
    assert curve.amplitude == pytest.approx((2 + 3j) / (m0**2 - m**2 - 1j * m0 * running), rel=1e-10)
    assert curve.covariance is None
    assert curve.phase_error is None
    assert curve.phase == pytest.approx(np.unwrap(np.angle(curve.amplitude)))
    assert np.abs(np.diff(curve.phase)).max() < 0.2
    assert curve.phase[-1] - curve.phase[0] > 2.0  # a resonance turns the phase


def test_values_can_be_given():
    own = ctpwa.load_model(SEVERAL)
    name = "phi(1680)[K+ K-] (1,1)(1,0)"
    once, twice = (named(argand(ModelValues({name: c}, {"phi(1680).mass": 1.7}), own), name) for c in (1.0, 2j))
    assert twice.amplitude == pytest.approx(2j * once.amplitude)
    assert once.masses == (1.7,)
    with pytest.raises(ctpwa.base.PhysicsError, match="no coupling is called 'phi'"):
        argand(ModelValues({"phi": 1.0}), own)
    with pytest.raises(ctpwa.base.PhysicsError, match="1 points make no curve"):
        argand(None, own, points=1)


@pytest.mark.parametrize("name", [PHI3, "K(2)*(1430)+[K+ eta] (2,2)(2,0)"])
def test_errors_of_couplings(name):
    check_covariance(result("fixed"), likelihood("fixed"), name)


def test_errors_of_couplings_and_lineshapes():
    """The reference wave has no error of its coupling, but mass and width float."""
    fit, own = result("floating"), likelihood("floating")
    curve = named(argand(fit, own.model), PHI)
    x, m = fit.x, curve.mass

    def amplitude(values):
        a, b = values.parameters["phi(1680).mass"], values.parameters["phi(1680).width"]
        K, d = 0.493677, 3.0
        q2, q02 = m**2 / 4 - K**2, a**2 / 4 - K**2
        return values.couplings[PHI] / (a**2 - m**2 - 1j * a * b * (q2 / q02) ** 1.5 * (a / m) * (1 + q02 * d**2) / (1 + q2 * d**2))

    assert curve.amplitude == pytest.approx(amplitude(model_values(own, x)), rel=1e-9)
    dA = slopes(own, x, amplitude)
    parts = np.stack([dA.real, dA.imag], axis=1)
    expected = np.einsum("nif,fg,njg->nij", parts, fit.covariance, parts)
    assert curve.covariance == pytest.approx(expected, rel=1e-5, abs=1e-6 * np.abs(expected).max())
    # magnitude and phase
    d_size = (curve.amplitude.conj()[:, None] * dA).real / curve.magnitude[:, None]
    d_phase = (curve.amplitude.conj()[:, None] * dA).imag / curve.magnitude[:, None] ** 2
    for slope, error in (
        (d_size, curve.magnitude_error),
        (d_phase, curve.phase_error),
        (2 * curve.magnitude[:, None] * d_size, curve.intensity_error),
    ):
        assert error == pytest.approx(np.sqrt(np.einsum("nf,fg,ng->n", slope, fit.covariance, slope)), rel=1e-4)


@pytest.mark.parametrize("options", [{"representation": "polar"}, {"couplings": "vertex"}, {"reference_wave": PHI3}])
def test_every_way_to_parametrise_couplings(options):
    own = make("fixed", 200, **options)
    check_covariance(ctpwa.fit(own), own, "K(2)*(1430)+[K+ eta] (2,2)(2,0)")


def test_tied_couplings():
    ties = {PHI3: ("K(2)*(1430)+[K+ eta] (2,2)(2,0)", 5 - 7.5j)}
    own = make("fixed", 200, ties=ties)
    fit = ctpwa.fit(own)
    with pytest.raises(ctpwa.base.PhysicsError, match="does not fit the model"):
        argand(fit, own.model)
    for told in (ties, {PHI3: [ties[PHI3][0], "(5-7.5j)"]}):  # in Python, and from a file
        check_covariance(fit.with_origin(settings={"ties": told}), own, PHI3)


def test_result_of_another_model_is_refused():
    with pytest.raises(ctpwa.base.PhysicsError, match="another model"):
        argand(result("fixed"), ctpwa.load_model(SEVERAL))


def test_model_independent_wave_is_a_row_of_points():
    knots = [0.99, 1.3, 1.7, 2.1, 2.5]
    given = SEVERAL | {
        "resonances": {"phi(1680)": {"in": "K+ K-"}, "S": {"in": "K+ K-", "JP": "1-", "lineshape": "spline", "options": {"knots": knots}}}
    }
    del given["couplings"]
    own = ctpwa.load_model(given)
    values = np.array([1, 2j, -1 + 1j, 0.5, -0.2j])
    couplings = {f"S[K+ K-] (1,1)(1,0):knot_{k + 1}": value for k, value in enumerate(values)}
    curves = argand(ModelValues(couplings), own)
    points = named(curves, "S[K+ K-] (1,1)(1,0)")
    assert points.knots
    assert points.mass.tolist() == knots
    assert points.amplitude == pytest.approx(values)
    total, alone = named(curves, "K+ K- 1⁻ (1,1)(1,0)"), named(curves, "phi(1680)[K+ K-] (1,1)(1,0)")
    at = np.searchsorted(total.mass, knots[1:4])
    rest = (
        total.amplitude[at]
        - np.interp(total.mass[at], alone.mass, alone.amplitude.real)
        - 1j * np.interp(total.mass[at], alone.mass, alone.amplitude.imag)
    )
    assert rest == pytest.approx(values[1:4], abs=0.05)
    fit = ctpwa.fit(ctpwa.build_likelihood(own, phase_space("fixed", 1500, 2), phase_space("fixed", 1500, 5), engine="reference"))
    fitted = named(argand(fit, own), "S[K+ K-] (1,1)(1,0)")
    for k, error in enumerate(fitted.magnitude_error):
        coupling = next(c for c in fit.couplings if c.name == f"S[K+ K-] (1,1)(1,0):knot_{k + 1}")
        assert error == pytest.approx(coupling.magnitude_error, rel=1e-9)
        assert fitted.phase_error[k] == pytest.approx(coupling.phase_error, rel=1e-9)


def test_chain_with_several_resonances():
    own = ctpwa.load_model("examples/jpsi_phi_pi_pi/model.yml")
    curves = argand(None, own)
    wave = next(w for w in own.waves if "f(0)(980)" in w.name)
    both = [curve for curve in curves if curve.waves == (wave.name,)]
    assert [(curve.resonances, curve.left_out, curve.system) for curve in both] == [
        (("phi(1020)",), ("f(0)(980)",), "K+ K-"),
        (("f(0)(980)",), ("phi(1020)",), "pi+ pi-"),
    ]


def test_python_function_with_errors():
    from dataclasses import replace

    from ctpwa.model.lineshapes.custom import callback_from_function

    given = ctpwa.load_model(SEVERAL)
    shape = callback_from_function(lambda s, q2, p: 1 / (torch.complex(p["a"] ** 2 - s, -p["b"] * torch.sqrt(q2))), ["a", "b"])
    callback = replace(given.resonances["phi(1680)"], lineshape=shape, parameters={"a": 1.6, "b": 0.3}, floating=("a", "b"))
    waves = tuple(replace(w, resonances=tuple(callback if r.name == "phi(1680)" else r for r in w.resonances)) for w in given.waves)
    own = replace(given, resonances={**given.resonances, "phi(1680)": callback}, waves=waves)
    curve = named(argand(None, own), "phi(1680)[K+ K-] (1,1)(1,0)")
    q = np.sqrt(curve.mass**2 / 4 - 0.493677**2)
    assert curve.amplitude == pytest.approx((2 + 3j) / (1.6**2 - curve.mass**2 - 0.3j * q), rel=1e-12)


def test_repeats_nothing_for_charge_conjugate_waves():
    curves = argand(None, model("fixed"))
    assert [curve.name for curve in curves] == [PHI, PHI3, "K(2)*(1430)+[K+ eta] (2,2)(2,0)"]
