"""Profiles of quantities agree with MINOS, with brute force, and with profiles of the parameters that they follow from."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import ctpwa
from ctpwa.base.errors import CtpwaError
from ctpwa.fitting.fractions import FractionCalculator, wave_groups
from ctpwa.minimise.constrained import Condition, constrained_minimum
from ctpwa.minimise.minos import minos
from ctpwa.minimise.objective import Scaled
from ctpwa.studies import Scan, load_study, scan
from ctpwa.studies.baseline import baseline
from ctpwa.studies.profile import Profile
from ctpwa.studies.quantity_names import read_quantity
from ctpwa.studies.scan_study import confidence
from ctpwa.studies.store import save_study
from studies.cases import DENSITY, MODEL, PHASE_SPACE, PLAIN, SUBTRACTED, TWO

MASS = "phi(1680).mass"
PHASE = "phase(phi(3)(1850)[K+ K-] (3,3)(3,0), phi(1680)[K+ K-] (1,1)(1,0))"


@pytest.fixture(scope="module")
def own_fit(plain):
    """The fit with its likelihood."""
    return baseline(plain)


@pytest.fixture(scope="module")
def mass_scan(plain, tmp_path_factory):
    path = tmp_path_factory.mktemp("scan") / "mass.parquet"
    return scan(plain, MASS, points=5, sigmas=1, path=path), path


def quantity(own, text):
    return Profile(own, [read_quantity(text, own.result, own.opened.model)])


def test_crossings_are_those_of_minos(mass_scan, own_fit):
    found, _ = mass_scan
    found_by_minos = minos(Scaled(own_fit.likelihood, own_fit.likelihood.unit), own_fit.x, [MASS])[MASS]
    lower, upper = (own.value - found.value() for own in found.crossings)
    assert found_by_minos.valid
    assert [lower, upper] == pytest.approx([found_by_minos.lower, found_by_minos.upper], rel=1e-5)
    assert found.better is None
    assert "all good" in found.headline


def test_points_are_fits_with_the_parameter_fixed(mass_scan, own_fit):
    found, _ = mass_scan
    record = found.record_at(4)
    value = float(found.grid()[4])
    again = own_fit.refit(own_fit.likelihood.fixed({MASS: value}))
    assert record.good
    assert record.values[MASS] == value
    assert record.nll == pytest.approx(again.nll, abs=1e-6)
    assert found.rises[2] == pytest.approx(0, abs=1e-6)
    assert (found.rises[[0, 4]] > 0.8).all()  # 1.1 errors away


def test_a_finished_scan_is_read_and_not_done_again(mass_scan, plain):
    found, path = mass_scan
    again = scan(plain, "phi(1680).mass", points=5, sigmas=1, path=path)
    assert [own.seconds for own in again.records] == [own.seconds for own in found.records]
    assert str(load_study(path)) == str(found)
    assert set(found.figures()) == {"scan"}
    with pytest.raises(CtpwaError, match="points was 5 and is 4"):
        scan(plain, MASS, points=4, sigmas=1, path=path)


def test_fraction_against_brute_force(own_fit):
    """A general constrained minimiser, which knows values only through their differences, ends at the same −ln L."""
    own, likelihood = own_fit, own_fit.likelihood
    profile = quantity(own, "fraction(phi(1680))")
    target = profile.values[0] + profile.errors[0]
    point = profile.at([target], profile.errors)
    waves = wave_groups(likelihood.model)["resonances"]["phi(1680)"]

    def fraction(x):
        return FractionCalculator(likelihood, x).values_and_slopes({"": waves})[0][0]

    sigma = np.sqrt(np.diag(own.result.statistical_covariance))
    found = minimize(
        lambda t: likelihood.value(own.x + sigma * t) - own.result.nll,
        (point.x - own.x) / sigma + 0.2,
        method="SLSQP",
        constraints={"type": "eq", "fun": lambda t: (fraction(own.x + sigma * t) - target) / profile.errors[0]},
        options={"ftol": 1e-10, "maxiter": 100},
    )
    assert point.good
    assert found.success
    assert fraction(point.x) == pytest.approx(target, abs=1e-8 * profile.errors[0])
    assert point.rise == pytest.approx(found.fun, abs=1e-5)
    assert point.rise == pytest.approx(likelihood.value(point.x) - own.result.nll, abs=1e-9)


def test_phase_of_a_coupling_relative_to_the_fixed_one(own_fit):
    """The reference coupling is 1, so the phase difference is the angle of the other one in the plane of its parts."""
    own = own_fit
    profile = quantity(own, PHASE)
    re, im = (own.result.value(f"phi(3)(1850)[K+ K-] (3,3)(3,0).{part}") for part in ("re", "im"))
    assert profile.values[0] == pytest.approx(np.arctan2(im, re), rel=1e-12)
    assert profile.errors[0] > 0
    target = profile.values[0] + profile.errors[0] / 2
    point = profile.at([target + 2 * np.pi], profile.errors)  # an angle is what it is
    names = own.likelihood.names
    z = complex(*(point.x[names.index(f"phi(3)(1850)[K+ K-] (3,3)(3,0).{part}")] for part in ("re", "im")))
    assert point.good
    assert 0.05 < point.rise < 0.3
    assert abs(np.angle(z * np.exp(-1j * target))) < 1e-8


@pytest.mark.parametrize("text", ["fraction(phi(1680))", PHASE, "pole(phi(1680)).width"])
def test_gradients_of_quantities(own_fit, text):
    own = own_fit
    found = quantity(own, text).quantities[0]
    sigma = np.sqrt(np.diag(own.result.statistical_covariance))
    direction = sigma * np.random.default_rng(3).standard_normal(len(sigma))
    slopes = [(found.at(own.x + h * direction)[0] - found.at(own.x - h * direction)[0]) / (2 * h) for h in (1e-3, 5e-4)]
    assert found.at(own.x)[1] @ direction == pytest.approx((4 * slopes[1] - slopes[0]) / 3, rel=1e-6)
    H = found.second(own.x)
    change = (found.at(own.x + 1e-4 * direction)[1] - found.at(own.x - 1e-4 * direction)[1]) / 2e-4
    assert H @ direction * sigma == pytest.approx(change * sigma, rel=1e-4, abs=1e-4 * np.abs(change * sigma).max())


def test_two_quantities_with_a_range(plain, own_fit):
    centre = own_fit.result.value(MASS)
    low, high = round(centre - 0.004, 3), round(centre + 0.005, 3)
    found = scan(plain, f"{MASS}={low}..{high}", "phase(phi(3)(1850), phi(1680))", points=3, sigmas=1)
    assert found.rises.shape == (3, 3)
    assert np.isfinite(found.rises).all()
    assert found.grid(0)[[0, -1]].tolist() == [low, high]
    assert found.quantities == (MASS, PHASE)
    assert set(found.figures()) == {"scan"}
    assert len(found.sections()[0].rows) == 2


def test_a_parameter_at_a_limit(tmp_path, plain, own_fit):
    """It has no error; its profile rises from the limit on, and to the other side the limit comes first."""
    limit = round(own_fit.result.value(MASS) - 0.5 * own_fit.result[MASS].error, 4)
    text = MODEL.replace("SAMPLES", PLAIN).replace("starts: 1}", f"starts: 1, limits: {{{MASS}: [1.6, {limit}]}}}}")
    (tmp_path / "model.yml").write_text(text)
    shutil.copy(plain.with_name("data.npz"), tmp_path)
    result = ctpwa.load_analysis(tmp_path / "model.yml").fit(start={MASS: limit - 0.01})
    assert result[MASS].at_limit
    result.save(tmp_path / "model.result.json")
    found = scan(tmp_path / "model.result.json", MASS, points=3, sigmas=1)
    lower, upper = found.crossings
    assert found.error() is None
    assert found.grid()[-1] == found.value() == limit
    assert upper.reason == "a limit comes first"
    own = baseline(tmp_path / "model.result.json")
    again = own.refit(own.likelihood.fixed({MASS: lower.value}))
    assert again.nll - result.nll == pytest.approx(0.5, abs=1e-4)
    assert found.rises[0] > found.rises[1] > found.rises[2] == pytest.approx(0, abs=1e-6)


def test_levels_of_two_quantities():
    assert [confidence(k, 2) for k in (1, 2, 3)] == pytest.approx([2.29575, 6.18007, 11.82916], rel=1e-5)
    assert confidence(2, 1) == pytest.approx(4)


class _Bowl:
    """½ (x−a)·A·(x−a) with limits: everything about it is known."""

    names, rounding = ("x", "y", "z"), 0.0
    A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.5]])

    def __init__(self, lower=-np.inf):
        self.bounds = np.array([[lower, np.inf], [-np.inf, np.inf], [-np.inf, np.inf]])

    def value(self, p):
        return self.value_grad_hessian(p)[0]

    def value_and_grad(self, p):
        return self.value_grad_hessian(p)[:2]

    def value_grad_hessian(self, p):
        return float(p @ self.A @ p) / 2, self.A @ p, self.A


class _Circle:
    """x² + y² + z, which is curved."""

    period = None

    def at(self, x):
        return float(x[0] ** 2 + x[1] ** 2 + x[2]), np.array([2 * x[0], 2 * x[1], 1.0])

    def second(self, x):
        return np.diag([2.0, 2.0, 0.0])


@pytest.mark.parametrize("lower", [-np.inf, 0.4])
@pytest.mark.parametrize("start", [(0.5, 0.6, 0.7), (0.45, 0.1, 1.0)])
def test_constrained_minimum_obeys_lagrange(lower, start):
    bowl, target = _Bowl(lower), 1.5
    stop = constrained_minimum(bowl, np.array(start), {}, [Condition(_Circle(), target, 0.5)])
    value, slope = _Circle().at(stop.x)
    assert stop.converged
    assert value == pytest.approx(target, abs=1e-8)
    gradient = bowl.A @ stop.x
    free = stop.x > lower
    multiplier = -(gradient[free] @ slope[free]) / (slope[free] @ slope[free])
    assert gradient[free] + multiplier * slope[free] == pytest.approx(np.zeros(free.sum()), abs=1e-4)
    assert (gradient + multiplier * slope)[~free] == pytest.approx(np.abs((gradient + multiplier * slope)[~free]))  # pushed outwards
    beside = [bowl.value(x) for x in _on_circle(target, lower) if x[1] * stop.x[1] > 0]  # there is another minimum with the other sign of y
    assert stop.value <= min(beside) + 1e-6


def _on_circle(target, lower):
    for x in np.linspace(max(lower, -1.5), 1.5, 41):
        for y in np.linspace(-1.5, 1.5, 41):
            yield np.array([x, y, target - x**2 - y**2])


def test_a_value_that_cannot_be_reached_is_not_good():
    class Square(_Circle):
        def at(self, x):
            return float(x @ x), 2 * x

        def second(self, x):
            return 2 * np.eye(3)

    stop = constrained_minimum(_Bowl(), np.array([0.5, 0.5, 0.5]), {}, [Condition(Square(), -1.0, 0.5)])
    assert not stop.converged
    assert "no point" in stop.reason


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["phi(1680).mss"], "phi\\(1680\\).mass"),
        (["phi(3)(1850).mass"], "is fixed; to fit it"),
        (["fraction(f(0)(980))"], "no fraction is called"),
        (["pole(phi(1680))"], "write  pole\\(phi\\(1680\\)\\).mass"),
        (["pole(K(2)*(1430)).mass"], "does not move"),
        (["phase(phi(1680))"], "does not name two couplings"),
        ([f"{MASS}=2..1"], "no lower and upper end"),
        ([f"{MASS}=-1..2"], "goes beyond 0 to inf"),
        ([MASS, MASS], "named twice"),
        ([], "0 quantities to scan"),
    ],
)
def test_what_makes_no_sense(plain, texts, message):
    with pytest.raises(CtpwaError, match=message):
        scan(plain, *texts, points=3)


def test_a_scan_that_was_cut_short_goes_on_with_the_same_numbers(mass_scan, plain, tmp_path):
    found, _ = mass_scan
    path = tmp_path / "part.parquet"
    kept = [record for record in found.records if record.key in ("fit", "2", "3", "upper 1")]
    save_study(path, found.about, kept)
    again = scan(plain, MASS, points=5, sigmas=1, path=path)
    assert {own.key for own in again.records} == {own.key for own in found.records}
    assert all(again.by_key[own.key].seconds == own.seconds for own in kept)
    assert again.rises.tolist() == found.rises.tolist()
    assert [own.value for own in again.crossings] == [own.value for own in found.crossings]


@pytest.mark.parametrize("samples", [TWO, DENSITY, SUBTRACTED, "weights"])
def test_all_kinds_of_samples(fitted, sweights, samples):
    """Crossings are where a fit with the parameter fixed there has risen by half a unit, which is Σw²/Σw of weighted events."""
    path = fitted(PLAIN, sweights) if samples == "weights" else fitted(samples)
    found, own = scan(path, MASS, points=3, sigmas=1), baseline(path)
    for crossing in found.crossings:
        again = own.refit(own.likelihood.fixed({MASS: crossing.value}))
        assert (again.nll - own.result.nll) / own.likelihood.unit == pytest.approx(0.5, abs=1e-4)
    assert found.rises[1] == pytest.approx(0, abs=1e-6)
    assert (found.rises[[0, 2]] > 0.5).all()
    assert (own.likelihood.unit == 1) == (samples in (TWO, DENSITY))


def test_a_fraction_of_one_of_several_data_sets(fitted):
    own = baseline(fitted(TWO))
    profile = quantity(own, "fraction(two: phi(1680))")
    value = own.record.fractions["two: phi(1680)"]
    assert profile.values[0] == pytest.approx(value, rel=1e-12)
    target = value + profile.errors[0] / 2
    point = profile.at([target], profile.errors)
    term = own.likelihood.terms[1]
    x = point.x[[own.likelihood.names.index(name) for name in term.names]]
    waves = wave_groups(term.model)["resonances"]["phi(1680)"]
    assert point.good
    assert FractionCalculator(term, x).values_and_slopes({"": waves})[0][0] == pytest.approx(target, abs=1e-8)
    assert 0 < point.rise < 0.3


def test_a_fraction_over_a_truth_sample(fitted):
    own = baseline(fitted(f"samples: {{data: data.npz, {PHASE_SPACE}, truth: {{generate: 800, seed: 5}}}}"))
    profile = quantity(own, "fraction(phi(1680))")
    assert own.result.fractions[0].over == "truth"
    assert profile.values[0] == pytest.approx(own.record.fractions["phi(1680)"], rel=1e-12)
    point = profile.at([profile.values[0] - profile.errors[0] / 2], profile.errors)
    waves = wave_groups(own.likelihood.model)["resonances"]["phi(1680)"]
    over = [FractionCalculator(own.likelihood, point.x, truth).values_and_slopes({"": waves})[0][0] for truth in (own.truths[0], None)]
    assert point.good
    assert over[0] == pytest.approx(point.values[0], abs=1e-8)
    assert abs(over[0] - over[1]) > 1e-4  # over phase space it is another one


def test_a_derived_parameter_is_scanned_like_the_one_it_follows_from(folder_of, own_fit):
    """phi(3)(1850).mass = phi(1680).mass + 0.17: what is held is the same, by another way of solving it."""
    path = folder_of("phi(3)(1850): {in: K+ K-, mass: phi(1680).mass + 0.17, width: 0.1}")
    derived, free = (scan(path, name, points=3, sigmas=1) for name in ("phi(3)(1850).mass", MASS))
    assert derived.value() == pytest.approx(free.value() + 0.17, rel=1e-12)
    assert derived.error() == pytest.approx(free.error(), rel=1e-9)
    assert derived.rises == pytest.approx(free.rises, abs=1e-6)
    assert [own.value - 0.17 for own in derived.crossings] == pytest.approx([own.value for own in free.crossings], abs=1e-7)


@pytest.fixture
def folder_of(plain, tmp_path):
    """Makes fits of the same events by another model: the line of a resonance, and where the fit begins → path of the result."""

    def made(line="", **start):
        text = MODEL.replace("SAMPLES", PLAIN)
        if line:
            name = line.partition(":")[0]
            text = "\n".join(f"  {line}" if own.strip().startswith(name) else own for own in text.splitlines())
        (tmp_path / "model.yml").write_text(text)
        shutil.copy(plain.with_name("data.npz"), tmp_path)
        result = ctpwa.load_analysis(tmp_path / "model.yml").fit(progress=False, **start)
        assert result.verdict.good, result.verdict
        result.save(tmp_path / "model.result.json")
        return tmp_path / "model.result.json"

    return made


def test_a_better_minimum_is_found_from_a_worse_one(folder_of, plain):
    """A local minimum 93 above the best: on the way around the circle of a phase −ln L falls below it."""
    values = (-181.25, -176.98, 14.799, -4.9802, 1.6655)
    path = folder_of(start=np.array(values))
    best, worse = ctpwa.FitResult.load(plain).nll, ctpwa.FitResult.load(path).nll
    assert worse - best == pytest.approx(92.73, abs=0.01)
    found = scan(path, f"{PHASE}=-2.4..1.1", points=4, sigmas=1)
    assert found.better.key == "better"
    assert found.better.nll == pytest.approx(best, abs=1e-6)
    assert found.headline.startswith("A BETTER MINIMUM WAS FOUND: -ln L is 92.730 lower at")
    assert found.better.numbers["value 1"] == pytest.approx(np.angle(80.734 + 134.44j), abs=1e-4)
    _not_good_points_below(path, found)


def _not_good_points_below(path, found):
    """Points below the fit count, whether they are good or not: the fit from the lowest finds the same minimum."""
    points = [own for own in found.records if own.key != "better"]
    bad = [replace(own, good=False, reasons="made up") if own.numbers.get("rise", 0) < 0 else own for own in points]
    save_study(path.with_name("bad.parquet"), found.about, bad)
    before = load_study(path.with_name("bad.parquet"))
    assert before.better is None
    assert "NOT good and below the fit, by up to 34.9" in before.headline
    again = scan(path, f"{PHASE}=-2.4..1.1", points=4, sigmas=1, path=path.with_name("bad.parquet"))
    assert again.better.nll == pytest.approx(found.better.nll, abs=1e-6)
    doubtful = Scan(again.about, tuple(replace(own, good=False, reasons="why") if own.key == "better" else own for own in again.records))
    assert "What a fit from there finds is NOT good: why." in doubtful.headline


def test_a_better_minimum_is_said_first(mass_scan):
    found, _ = mass_scan
    record = found.by_key["4"]
    lower = replace(record, nll=found.about.base.nll - 2.5, numbers=dict(record.numbers) | {"rise": -2.5})
    study = Scan(found.about, tuple(lower if own.key == "4" else own for own in found.records))
    assert study.better is lower
    assert study.headline.startswith("A BETTER MINIMUM WAS FOUND: -ln L is 2.500 lower")
    bad = Scan(found.about, tuple(replace(own, good=False, reasons="made up") if own.key == "4" else own for own in found.records))
    assert "1 of them NOT good" in bad.headline
    assert ("4", "made up") in bad.sections()[-1].rows
    assert np.isnan(bad.rises[4])
