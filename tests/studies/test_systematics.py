"""Systematic errors: every variation is the fit that a model file of its own gives; shifts add up as they should; nothing is lost."""

import csv
import json
import math
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
import yaml
from typer.testing import CliRunner

import ctpwa
from ctpwa.analysis.analysis import analysis_of
from ctpwa.analysis.reopen import open_fit
from ctpwa.base.errors import ConfigError, DataError
from ctpwa.cli.main import app
from ctpwa.config.read import load_document
from ctpwa.studies import load_study, systematics
from ctpwa.studies.about import About
from ctpwa.studies.files import find_studies
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.shifts import ENVELOPE, HALF, LARGER, LARGEST, VariedFits, group_effect, quantities, shift_of
from ctpwa.studies.systematics_study import Systematics

PHI, PHI3, K2 = "phi(1680)[K+ K-] (1,1)(1,0)", "phi(3)(1850)[K+ K-] (3,3)(3,0)", "K(2)*(1430)+[K+ eta] (2,2)(2,0)"
MASS, WIDTH = "phi(1680).mass", "phi(1680).width"
TRUTH = {PHI: 1, PHI3: 100 + 150j, K2: 12 - 6j}
MODEL = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "polarisation": "transverse",
    "resonances": {
        "phi(1680)": {"in": "K+ K-", "mass": 1.68, "width": 0.15, "float": ["mass"]},
        "phi(3)(1850)": {"in": "K+ K-", "mass": 1.854, "width": 0.087},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"]},
    },
    "couplings": {name: [complex(value).real, complex(value).imag] for name, value in TRUTH.items()},
    "samples": {
        "data": "data.npz",
        "phase_space": {"generate": 900, "seed": 2, "proposal": "flat"},
        "backgrounds": {"sideband": {"density": "flat", "fraction": 0.05}},
    },
    "fit": {"engine": "reference", "starts": 1},
}
SHIFT = {"name": "width", "shift": {WIDTH: 0.01}}
RADIUS = {"name": "radius", "up": {"radius": 4.0}, "down": {"radius": 2.0}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model file, events, some of them, and the result of a fit."""
    folder = tmp_path_factory.mktemp("varied")
    (folder / "model.yml").write_text(yaml.safe_dump(MODEL, allow_unicode=True, sort_keys=False))
    model = ctpwa.load_model(MODEL)
    events = ctpwa.generate_phase_space(model, 4000, seed=7)
    I = np.asarray(ctpwa.ModelIntensity(model, couplings=TRUTH, engine="reference")(events))
    keep = torch.as_tensor(np.random.default_rng(1).random(len(I)) * I.max() < I)
    found = {name: p[keep] for name, p in events.items()}
    ctpwa.write_events(folder / "data.npz", ctpwa.Events(found), model=model)
    n = 3 * int(keep.sum()) // 4
    ctpwa.write_events(folder / "most.npz", ctpwa.Events({name: p[:n] for name, p in found.items()}), model=model)
    ctpwa.write_events(folder / "rest.npz", ctpwa.Events({name: p[n // 2 :] for name, p in found.items()}), model=model)
    ctpwa.load_analysis(folder / "model.yml").fit().save(folder / "model.result.json")
    return folder


@pytest.fixture(scope="module")
def opened(folder):
    return open_fit(folder / "model.result.json")


@pytest.fixture(scope="module")
def base(opened):
    return FitRecord.of("base", opened.result)


def independent(folder, opened, change):
    """The fit that a model file of its own gives, with the phase space of the fit as a file."""
    data = deepcopy(MODEL)
    change(data)
    ctpwa.write_events(folder / "same.npz", opened.analysis.read().phase_space, model=opened.model)
    data["samples"]["phase_space"] = "same.npz"
    (folder / "other.yml").write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False))
    own = dict(zip(opened.result.names, opened.result.x.tolist(), strict=True))
    analysis = ctpwa.load_analysis(folder / "other.yml")
    likelihood = analysis.likelihood()
    return analysis.fit(likelihood=likelihood, start={name: own[name] for name in likelihood.names if name in own}, simulation=False)


def set_(data, *path, value):
    for step in path[:-1]:
        data = data[step]
    data[path[-1]] = value


CASES = {
    "radius": ({"radius": 4.0}, lambda d: set_(d, "radius", value=4.0)),
    "a lineshape": (
        {"lineshape": {"phi3(1850)": {"lineshape": "1/(mass**2 - s - i*mass*width)"}}},
        lambda d: set_(d, "resonances", "phi(3)(1850)", "lineshape", value="1/(mass**2 - s - i*mass*width)"),
    ),
    "a fraction of background": (
        {"samples": {"backgrounds": {"sideband": {"fraction": 0.08}}}},
        lambda d: set_(d, "samples", "backgrounds", "sideband", "fraction", value=0.08),
    ),
    "a density": (
        {"samples": {"backgrounds": {"sideband": {"density": "mass2(K+, K-)"}}}},
        lambda d: set_(d, "samples", "backgrounds", "sideband", "density", value="mass2(K+, K-)"),
    ),
    "resolution": (
        {"samples": {"resolution": {"masses": {"K+ K-": 0.01}, "points": 5}}},
        lambda d: set_(d, "samples", "resolution", value={"masses": {"K+ K-": 0.01}, "points": 5}),
    ),
    "other data": ({"data": "most.npz"}, lambda d: set_(d, "samples", "data", value="most.npz")),
    "a resonance less": ({"without": "phi(3)(1850)"}, lambda d: (d["resonances"].pop("phi(3)(1850)"), d["couplings"].pop(PHI3))),
    "settings of the fit": (
        {"fit": {"constraints": {MASS: [1.6, 0.01]}}},
        lambda d: set_(d, "fit", "constraints", value={MASS: [1.6, 0.01]}),
    ),
}


@pytest.fixture(scope="module")
def all_cases(opened):
    return systematics(opened, [{"name": name, **change} for name, (change, _) in CASES.items()], starts=1, progress=False)


@pytest.fixture(scope="module", autouse=True)
def here(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield


@pytest.mark.parametrize("name", CASES)
def test_a_variation_is_the_fit_of_another_file(name, all_cases, folder, opened):
    expected = FitRecord.of("", independent(folder, opened, CASES[name][1]))
    (varied,) = (own for own in all_cases.variations if own.name == name)
    found = all_cases.by_key[varied.keys[0]]
    assert found.good
    assert found.nll == pytest.approx(expected.nll, abs=1e-6)
    assert found.values.keys() == expected.values.keys()
    for own, value in expected.values.items():
        assert found.values[own] == pytest.approx(value, abs=1e-4 * expected.errors.get(own, 1.0))
    assert found.fractions == pytest.approx(expected.fractions, rel=1e-5)


def test_efficiency_keeps_the_events(opened, base):
    """An efficiency that is the same everywhere changes nothing; phase space is not generated anew for another model."""
    flat = {"name": "flat", "samples": {"phase_space": {"efficiency": "0.5 + 0*cos_theta(K+; K+ K-)"}}}
    slope = {"name": "slope", "samples": {"phase_space": {"efficiency": "0.5 + 0.1*cos_theta(K+; K+ K-)"}}}
    study = systematics(opened, [flat, slope], progress=False)
    assert not any(own.phase_space or own.data for own in study.variations)
    same, other = (study.by_key[own.keys[0]] for own in study.variations)
    assert same.values == pytest.approx(dict(base.values), abs=1e-6)
    assert other.values != pytest.approx(dict(base.values), abs=1e-6)


def test_generated_phase_space_is_that_of_the_fit():
    """It is sampled along the resonances of the fit, whatever those of a variation are: another sample would move values by chance."""
    description = {**MODEL, "samples": {**MODEL["samples"], "phase_space": {"generate": 200}}}
    base = ctpwa.load_analysis(description)
    other = {**description, "resonances": {**MODEL["resonances"], "phi(1680)": {"in": "K+ K-", "mass": 1.5, "width": 0.1}}}
    less = {**other, "samples": {**other["samples"], "data": "most.npz"}}
    one, two = (analysis_of(load_document(each), like=base) for each in (other, less))
    assert one.read() is base.read()
    expected, found = base.read().phase_space, two.read().phase_space
    assert two.read().data.n_events < base.read().data.n_events
    assert not torch.equal(expected.weights, ctpwa.load_analysis(less).read().phase_space.weights)
    assert torch.equal(expected.weights, found.weights)
    assert all(torch.equal(p, q) for p, q in zip(expected.values(), found.values(), strict=True))


def test_two_sides_of_a_shift(opened, base, folder):
    study = systematics(opened, [SHIFT], two_sided=HALF, progress=False)
    up, down = (
        FitRecord.of("", independent(folder, opened, lambda d, w=w: set_(d, "resonances", "phi(1680)", "width", value=w)))
        for w in (0.16, 0.14)
    )
    shift = study.shifts["width"]["parameter", MASS]
    error = base.errors[MASS]
    assert shift.sides[0] == pytest.approx(up.values[MASS] - base.values[MASS], abs=1e-4 * error)
    assert shift.sides[1] == pytest.approx(down.values[MASS] - base.values[MASS], abs=1e-4 * error)
    assert shift.value == pytest.approx((up.values[MASS] - down.values[MASS]) / 2, abs=1e-4 * error)
    assert "half of their difference" in str(study)
    larger = replace(study, about=replace(study.about, extent={**study.about.extent, "two_sided": LARGER}))
    assert abs(larger.shifts["width"]["parameter", MASS].value) == max(map(abs, shift.sides))
    assert "the larger shift counts" in str(larger)


def test_other_model_files(opened, folder, base):
    """One without samples has those of the fit; one of another decay is refused."""
    own = {key: value for key, value in MODEL.items() if key != "samples"}
    there = folder / "there"
    there.mkdir(exist_ok=True)
    (there / "wide.yml").write_text(yaml.safe_dump({**own, "radius": 4.0}, allow_unicode=True, sort_keys=False))
    (there / "wrong.yml").write_text("decay: J/psi(1S) -> K+ K- pi0\nresonances: {phi(1020): {in: K+ K-}}\n")
    (there / "variations.yml").write_text("- {name: other, model: wide.yml}\n- {name: radius, radius: 4.0}\n")
    study = systematics(opened, there / "variations.yml", progress=False)
    one, other = (study.by_key[each.keys[0]] for each in study.variations)
    assert one.nll == pytest.approx(other.nll, abs=1e-8)
    assert one.values == pytest.approx(other.values, rel=1e-6)
    assert one.values != pytest.approx(dict(base.values), rel=1e-6)
    (there / "variations.yml").write_text("- {name: other, model: wrong.yml}\n")
    with pytest.raises(ConfigError, match=r"variations.yml:1:24: variation 'other': it is of J/psi\(1S\) -> K\+ K- pi0"):
        systematics(opened, there / "variations.yml")


def test_an_added_resonance_is_fitted_from_several_starts(opened, base):
    study = systematics(opened, [{"name": "more", "add": {"phi(1020)": {"in": "K+ K-"}}}], starts=3, progress=False)
    (record,) = study.records
    assert record.nll < base.nll
    assert {name for name in record.fractions} == {*base.fractions, "phi(1020)"}
    assert set(study.errors.fractions) == set(base.fractions)


def test_couplings_are_not_compared_with_those_relative_to_another_reference(opened):
    study = systematics(opened, [{"name": "no phi", "without": "phi(1680)"}], starts=1, progress=False)
    (record,) = study.records
    assert f"{K2}.re" in study.about.base.values
    assert f"{K2}.re" not in record.values
    assert record.fractions.keys() == {"phi(3)(1850)", "K(2)*(1430)"}
    assert math.isnan(study.shifts["no phi"]["parameter", f"{K2}.re"].value)
    assert study.errors.parameters[f"{K2}.re"] == 0
    assert any(row[1] == "–" for row in study.sections()[1].rows)


def test_chance_where_events_are_others(opened, base):
    """Three quarters of the events: what chance gives is σ² = |σ₁² − σ₂²|, which is taken out of shifts."""
    study = systematics(opened, [{"name": "fewer", "data": "most.npz"}], progress=False)
    (varied,) = study.variations
    assert (varied.data, varied.phase_space, varied.scatter) == (True, False, "subset")
    record = study.records[0]
    for name in base.statistical:
        shift = study.shifts["fewer"]["parameter", name]
        expected = math.sqrt(abs(record.statistical[name] ** 2 - base.statistical[name] ** 2))
        assert shift.scatter == pytest.approx(expected, rel=1e-9)
        left = max(shift.value**2 - expected**2, 0.0)
        assert shift.effect == pytest.approx(math.copysign(math.sqrt(left), shift.value), rel=1e-6)
    small = [own for own in study.quantities if not study.shifts["fewer"][own.kind, own.name].counted]
    assert small  # some of so many
    assert f"({study.shifts['fewer'][small[0].kind, small[0].name].value:+.2g})" in str(study)
    none = systematics(opened, [{"name": "fewer", "data": "most.npz", "scatter": "none"}], progress=False)
    assert all(own.scatter == 0 for own in none.shifts["fewer"].values())


def test_other_phase_space_is_independent_if_its_seed_is_another(opened, base):
    study = systematics(opened, [{"name": "seed", "samples": {"phase_space": {"seed": 3}}}], progress=False)
    (varied,) = study.variations
    assert (varied.data, varied.phase_space, varied.scatter) == (False, True, "independent")
    record = study.records[0]
    parts = [math.sqrt(own.errors[MASS] ** 2 - own.statistical[MASS] ** 2) for own in (base, record)]
    assert min(parts) > 0
    assert study.shifts["seed"]["parameter", MASS].scatter == pytest.approx(math.hypot(*parts), rel=1e-9)


@pytest.mark.parametrize("counted", [True, False])
def test_a_phase_space_sample_that_is_too_small(counted, opened):
    """Also if errors of the fit do not count that phase space is finite."""
    fit = opened if counted else replace(opened, result=replace(opened.result, simulation=None))
    few = {"name": "few", "samples": {"phase_space": {"generate": 30, "seed": 3}}}
    record = next(own for own in systematics(fit, [few], progress=False).records if own.key.startswith("few"))
    assert not record.good
    assert "phase-space events count" in record.reasons


def made_up(**values):
    return FitRecord("", 0.0, True, values=values, errors=dict.fromkeys(values, 0.1), fractions={"a": 0.5}, fraction_errors={"a": 0.1})


def test_how_shifts_are_combined():
    base = made_up(x=1.0, y=0.0)
    fits = {"up": made_up(x=1.3, y=-0.2), "down": made_up(x=0.9, y=0.2), "same": made_up(x=1.2), "bad": replace(made_up(x=9.0), good=False)}
    x, y = quantities(base)[:2]
    both = VariedFits("v", "", "subset", False, False, ("up", "down"))
    assert shift_of(x, both, base, fits, LARGER).value == pytest.approx(0.3)
    assert shift_of(x, both, base, fits, HALF).value == pytest.approx(0.2)
    assert shift_of(y, both, base, fits, HALF).value == pytest.approx(-0.2)
    down = VariedFits("v", "", "subset", False, False, ("same", "up"))  # the lower side moves x more, to the same side
    assert shift_of(x, down, base, fits, LARGER).value == pytest.approx(-0.3)
    half_good = VariedFits("v", "", "subset", False, False, ("up", "bad"))
    assert shift_of(x, half_good, base, fits, HALF).value == pytest.approx(0.3)
    assert math.isnan(shift_of(y, VariedFits("v", "", "subset", False, False, ("same",)), base, fits).value)
    assert group_effect([0.1, -0.3, math.nan], LARGEST) == -0.3
    assert group_effect([0.1, -0.3, math.nan], ENVELOPE) == pytest.approx(-0.2)
    assert group_effect([0.1, 0.3], ENVELOPE) == pytest.approx(0.15)
    assert math.isnan(group_effect([math.nan]))


def test_totals_and_their_covariance():
    base = made_up(x=1.0, y=2.0, z=0.0)
    fits = [made_up(x=1.3, y=2.4, z=0.0), made_up(x=0.9, y=2.0, z=0.1), made_up(x=1.4, y=1.9, z=0.0)]
    records = [replace(fit, key=key) for fit, key in zip(fits, "abc", strict=True)]
    records.append(FitRecord.failed("d", "it <failed>"))
    varied = [("a", ""), ("b", "g"), ("c", "g"), ("d", "")]
    extent = {
        "variations": [{"name": n, "group": g, "scatter": "subset", "data": False, "phase_space": False, "keys": [n]} for n, g in varied],
        "two_sided": LARGER,
        "groups": LARGEST,
    }
    study = Systematics(About("systematics", {}, base, "", "X -> Y", extent=extent), tuple(records))
    first, second = np.array([0.3, 0.4, 0.0]), np.array([0.4, -0.1, 0.1])
    expected = np.outer(first, first) + np.outer(second, second)
    np.testing.assert_allclose(study.errors.covariance, expected, atol=1e-12)
    np.testing.assert_allclose([*study.errors.parameters.values()], np.sqrt(np.diag(expected)))
    assert study.errors.fractions == {"a": 0.0}
    assert "1 of them NOT good. Systematic errors do not count what is not good: d." in study.headline
    assert study.sections()[-1].rows == (("d", "it <failed>"),)
    assert not study.complete


def test_nothing_is_fitted_again(opened, folder, tmp_path):
    path = tmp_path / "s.parquet"
    first = systematics(opened, [SHIFT, {"name": "radius", "radius": 4.0}], path=path, progress=False)
    kept = {record.key: record for record in first.records}
    assert str(load_study(path)) == str(first)
    edited = [SHIFT, {"name": "radius", "radius": 5.0}, {"name": "third", "radius": 2.0}]
    second = systematics(opened, edited, path=path, progress=False)
    again = {record.key: record for record in second.records}
    assert all(again[key] == record for key, record in kept.items())  # seconds, too
    assert len(again) == len(kept) + 2
    assert [own.name for own in second.variations] == ["width", "radius", "third"]
    fewer = systematics(opened, [SHIFT], path=path, progress=False)
    assert fewer.totals.tolist() == [math.sqrt(own.effect**2) for own in first.shifts["width"].values()]


def test_several_data_sets(folder, opened):
    data = {**MODEL, "data_sets": {"a": {**MODEL["samples"], "data": "data.npz"}, "b": {**MODEL["samples"], "data": "most.npz"}}}
    del data["samples"]
    (folder / "two.yml").write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False))
    result = ctpwa.load_analysis(folder / "two.yml").fit()
    result.save(folder / "two.result.json")
    variations = [
        {"name": "b alone", "data_sets": {"b": {"backgrounds": {"sideband": {"density": "mass2(K+, K-)"}}}}},
        {"name": "other b", "data": {"b": "rest.npz"}},
    ]
    with pytest.raises(ConfigError, match="the model has no 'samples'"):
        systematics(folder / "two.result.json", [{"name": "x", "samples": {"data": "most.npz"}}])
    study = systematics(folder / "two.result.json", variations, progress=False)
    assert all(record.good for record in study.records)
    assert set(study.errors.fractions) == {f"{name}: {own}" for name in "ab" for own in ("phi(1680)", "phi(3)(1850)", "K(2)*(1430)")}
    assert [own.data for own in study.variations] == [False, True]


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def test_the_commands(folder, tmp_path):
    (folder / "variations.yml").write_text(yaml.safe_dump([SHIFT, RADIUS]))
    ended = run("systematics", "model.result.json", "variations.yml", "--csv", tmp_path / "csv", "--latex", tmp_path / "tex")
    assert ended.exit_code == 0, ended.output
    study = load_study(folder / "model.systematics.parquet")
    assert study.headline in ended.stdout.replace("\n", " ")
    rows = list(csv.DictReader((tmp_path / "csv" / "systematics.csv").read_text(encoding="utf-8").splitlines()))
    assert [float(row["systematic"]) for row in rows] == study.totals.tolist()
    assert [*rows[0]][5:] == ["width up", "width down", "radius up", "radius down"]
    matrix = list(csv.reader((tmp_path / "csv" / "systematic_covariance.csv").read_text(encoding="utf-8").splitlines()))
    np.testing.assert_array_equal(np.array([row[1:] for row in matrix[1:]], dtype=float), study.covariance)
    value, error, total = study.about.base.values[MASS], study.about.base.errors[MASS], study.errors.parameters[MASS]
    digits = 1 - math.floor(math.log10(min(error, total)))
    both = rf"$M[\phi(1680)]$ & ${value:.{digits}f} \pm {error:.{digits}f} \pm {total:.{digits}f}$"
    assert both + r" \\" in (tmp_path / "tex" / "systematics_parameters.tex").read_text()
    again = run("systematics", "model.result.json", "variations.yml", "--csv", tmp_path / "csv", "--force", "--json")
    assert json.loads(again.stdout)["study"] == "systematics"

    save_other(folder, study)
    page = tmp_path / "report.html"
    ended = run("report", "model.result.json", "-o", page, "--paper", tmp_path / "paper", "--engine", "reference", "--phase-space", 300)
    assert ended.exit_code == 0, ended.output
    assert "model.other.parquet: it belongs to another fit" in ended.stderr
    assert page.read_text(encoding="utf-8").count('<section id="study') == 1
    assert both in (tmp_path / "paper" / "parameters.tex").read_text()
    assert "second systematic" in (tmp_path / "paper" / "fractions.tex").read_text()
    assert "of the fit alone" in (tmp_path / "paper" / "waves.tex").read_text()
    (folder / "model.other.parquet").unlink()


def save_other(folder, study):
    """A study of another fit, and a file that is none, next to the result."""
    replace(study, about=replace(study.about, result="0" * 64)).save(folder / "model.other.parquet")
    (folder / "model.none.parquet").write_bytes(b"nothing")
    found = find_studies(folder / "model.result.json", open_fit(folder / "model.result.json").result)
    assert [path.name for path in found.studies] == ["model.systematics.parquet"]
    assert [path.name for path in found.left_out] == ["model.other.parquet"]


def test_wrong_options(opened):
    with pytest.raises(DataError, match="two_sided is 'both'\n fix: give larger or half"):
        systematics(opened, [SHIFT], two_sided="both")
    with pytest.raises(DataError, match=r"variation 'x': there is no file .*nothing.npz"):
        systematics(opened, [{"name": "x", "data": "nothing.npz"}])
