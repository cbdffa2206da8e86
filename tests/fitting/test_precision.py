"""The bias of mixed precision that a fit measures is that of a fit in double precision."""

import numpy as np
import pytest

import ctpwa
from ctpwa.fitting import precision
from ctpwa.fitting.precision import PrecisionBias
from fitting import cases
from fitting.made_up import make_result


def polished(likelihood, x):
    """The minimum to the last digits, by Newton's method."""
    for _ in range(4):
        _, g, H = likelihood.value_grad_hessian(x)
        x = x - np.linalg.solve(H, g)
    return x


@pytest.mark.parametrize("name", ["fixed", "floating", "several rows"])
def test_the_bias_is_the_difference_to_a_fit_in_double_precision(name):
    data = cases.toy(300, name=name) if name == "several rows" else cases.toy(400)
    mixed, double = (cases.make(name, data=data, precision=p) for p in ("mixed", "double"))
    fitted, again = ctpwa.fit(mixed), ctpwa.fit(double)
    bias = fitted.precision
    assert bias is not None
    assert again.precision is None
    assert fitted.verdict.good
    assert (fitted.settings["precision"], again.settings["precision"]) == ("mixed", "double")
    # −ln L at the same point
    assert abs(bias.nll - (double.value(fitted.x) - mixed.value(fitted.x))) <= 1e-12 * abs(again.nll)
    assert 1e-9 < abs(bias.nll) < 1e-3
    # where the minima are
    shift = polished(double, again.x) - polished(mixed, fitted.x)
    assert np.abs(shift).max() > 0
    sigma = again.errors
    assert np.abs((np.array(bias.shifts) - shift) / sigma).max() <= 1e-3 * np.abs(shift / sigma).max()
    most = int(np.argmax(np.abs(shift / sigma)))
    assert bias.parameter == fitted.names[most]
    assert bias.largest == pytest.approx(abs(shift[most]) / sigma[most], rel=1e-3)
    assert bias.largest < 1e-4
    # where the minimiser stopped does not count
    rough = ctpwa.fit(mixed, tolerance=1e-3, start=fitted.x + 0.02 * sigma)
    np.testing.assert_allclose(rough.precision.shifts, bias.shifts, rtol=0.1, atol=0.05 * np.abs(bias.shifts).max())


def test_weighted_events_and_a_parameter_at_a_limit():
    flat = cases.toy(400)
    weights = np.random.default_rng(3).uniform(0.5, 1.5, 400)
    mass = cases.result("floating")["phi(1680).mass"].value
    limits = {"phi(1680).mass": (1.0, mass - 0.01)}
    mixed = cases.make("floating", data=cases.part(flat, np.arange(400), weights), limits=limits, precision="mixed")
    result = ctpwa.fit(mixed, start={"phi(1680).mass": mass - 0.02})
    assert result.corrected
    assert result["phi(1680).mass"].at_limit
    assert result.precision.shifts[result.names.index("phi(1680).mass")] == 0
    assert 0 < result.precision.largest < 1e-4
    assert result.precision.parameter != "phi(1680).mass"


def test_a_sum_of_data_sets():
    one = cases.make("fixed", precision="mixed")
    both = ctpwa.fit(one + cases.make("fixed", data=cases.toy(300, 5)))
    alone = ctpwa.fit(one)
    assert both.settings["precision"] == "mixed"
    assert both.precision.nll != 0
    assert abs(both.precision.nll) < 100 * abs(alone.precision.nll)


def test_a_large_bias_is_a_reason(monkeypatch):
    other = cases.make("fixed", data=cases.toy(300, 5))
    monkeypatch.setattr(ctpwa.Likelihood, "in_double", lambda _: other)  # as if single precision changed everything
    result = ctpwa.fit(cases.make("fixed", precision="mixed"), simulation=False)
    (reason,) = result.verdict.reasons
    assert result.verdict.good
    name = result.precision.parameter
    assert reason.startswith(f"mixed precision shifts {name} by ")
    assert reason.endswith(" % of its uncertainty; fit again with precision: double")
    assert reason in str(result)


def test_warnings_begin_at_a_hundredth_of_an_uncertainty():
    assert PrecisionBias(1e-6, (0.1,), 0.0099, "a").warning == ""
    assert PrecisionBias(1e-6, (0.1,), 0.031, "a").warning.startswith("mixed precision shifts a by 3.1 % of its uncertainty")
    assert PrecisionBias(float("nan"), (0.1,), float("nan"), "a").warning


def test_in_text_and_in_a_file(tmp_path):
    bias = PrecisionBias(-1.23e-5, (1 / 3, -2e-9, 0.0), 4.5e-6, "φ(1680).mass")
    result = make_result(precision=bias)
    line = "mixed precision: -1.2e-05 in -ln L in double precision, largest shift of a parameter 4.5e-06 of its uncertainty (φ(1680).mass)"
    assert line in str(result).splitlines()
    result.save(tmp_path / "result.json")
    loaded = ctpwa.FitResult.load(tmp_path / "result.json")
    assert loaded.precision == bias
    assert loaded == result
    assert "mixed precision" not in str(make_result())


def test_no_parameter_with_an_error():
    likelihood = cases.make("fixed", precision="mixed")
    x = likelihood.start
    value, gradient, H = likelihood.value_grad_hessian(x)
    bias = precision.measure_bias(likelihood, x, value, gradient, np.zeros_like(H), np.full(len(x), np.nan))
    assert (bias.largest, bias.parameter) == (0.0, "")
    assert str(bias).endswith("of its uncertainty")
