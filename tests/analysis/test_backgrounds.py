"""Backgrounds as densities from a model file to projections, reports and exports."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import ctpwa
from ctpwa.analysis.export import export
from ctpwa.analysis.reopen import open_fit
from ctpwa.analysis.toys import generate_data, recipe
from ctpwa.analysis.write_report import goodness_rows, write_report
from ctpwa.base.errors import ConfigError, CtpwaError, DataError, PhysicsError
from ctpwa.cli.main import app
from ctpwa.data.density import Flat
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.fitting.fractions import FractionCalculator, SignalEvents, wave_groups
from ctpwa.generate.toys import ToySettings
from ctpwa.observe.densities import formula_density, sideband_density
from ctpwa.observe.sideband_model import Peak, fit_sideband
from ctpwa.observe.variable import ProjectionSpec, parse_variable

MODEL = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
columns: [b]
resonances:
  phi(1680):   {in: K+ K-, mass: 1.659, width: 0.164, float: mass}
  K(2)*(1430): {in: [K+ eta, K- eta]}
couplings:
  K(2)*(1430)+[K+ eta] (2,2)(2,0): 8
"""
FORMULA = "1 + mass2(K+, K-)"
SIDE = 'side: {density: {sideband: side.npz, variables: ["mass(K+, K-)"], smoothing: 2}, fraction: {value: 0.1, float: true}}'
FLAT = "flat: {density: flat, fraction: 0.02}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """230 events of signal and 70 of background that is flat; sideband events; phase space with a column; a histogram."""
    folder = tmp_path_factory.mktemp("backgrounds")
    (folder / "model.yml").write_text(MODEL)
    model = ctpwa.load_model(folder / "model.yml")
    signal = ctpwa.generate_toy(model, 230, seed=1, columns={"b": 1.0}, engine="reference")
    flat = ctpwa.generate_phase_space(model, 1270, seed=2)
    momenta = {name: torch.cat([signal[name], flat[name][:70]]) for name in flat}
    column = {"b": torch.linspace(1, 2, 300, dtype=torch.float64)}
    ctpwa.write_events(folder / "data.npz", ctpwa.Events(momenta, None, column))
    ctpwa.write_events(folder / "side.npz", ctpwa.Events({name: p[70:270] for name, p in flat.items()}, None, {"b": torch.ones(200)}))
    b = torch.linspace(1, 3, 1000, dtype=torch.float64)
    ctpwa.write_events(folder / "mc.npz", ctpwa.Events({name: p[270:] for name, p in flat.items()}, b.flip(0), {"b": b}))
    histogram = {"axes": [{"variable": "mass(K+, K-)", "edges": [0.9, 1.5, 2.6]}], "values": [1, 30]}
    (folder / "b.json").write_text(json.dumps(histogram))
    (folder / "hole.json").write_text(json.dumps(histogram | {"values": [0, 1]}))
    (folder / "tiny.json").write_text(json.dumps(histogram | {"values": [1e-300, 1e-300]}))
    (folder / "twice.json").write_text(json.dumps(histogram)[:-1] + ', "values": [1, 2]}')
    return folder


@pytest.fixture
def analysis(folder):
    def load(*backgrounds, fit="", more=""):
        entries = "".join(f"    {own}\n" for own in backgrounds)
        samples = f"samples:\n  data: data.npz\n  phase_space: mc.npz\n{more}  backgrounds:\n{entries}"
        (folder / "model.yml").write_text(MODEL + samples + f"fit: {{engine: reference, starts: 1{fit}}}\n")
        return ctpwa.load_analysis(folder / "model.yml")

    return load


@pytest.fixture(scope="module")
def fitted(folder):
    """A result with one background that floats and one that is fixed."""
    entries = f"    {SIDE}\n    {FLAT}\n"
    text = MODEL + f"samples:\n  data: data.npz\n  phase_space: mc.npz\n  backgrounds:\n{entries}fit: {{engine: reference, starts: 1}}\n"
    (folder / "fitted.yml").write_text(text)
    result = ctpwa.load_analysis(folder / "fitted.yml").fit(progress=False)
    result.save(folder / "fitted.json")
    return folder / "fitted.json"


def test_a_likelihood_is_that_of_the_same_densities(analysis):
    """The densities that a file describes are those made by hand."""
    loaded = analysis(SIDE, f"formula: {{density: '{FORMULA}', fraction: 0.03}}", FLAT, "column: {density: {column: b}, fraction: 0.04}")
    samples, decay = loaded.read(), loaded.model.decay
    side = ctpwa.read_events(loaded.model, loaded.data_sets[0].backgrounds[0].density.sideband.sources[0].files[0])
    axes = [ProjectionSpec(parse_variable("mass(K+, K-)", decay), 20)]
    by_hand = [
        Background("side", sideband_density(side, samples.phase_space, axes, 2, ""), 0.1, floating=True),
        Background("formula", formula_density(FORMULA, decay), 0.03),
        Background("flat", Flat(), 0.02),
        Background("column", lambda piece: piece.columns["b"], 0.04),
    ]
    expected = ctpwa.build_likelihood(loaded.model, samples.data, samples.phase_space, engine="reference", backgrounds=by_hand)
    found = loaded.likelihood()
    assert found.names == expected.names
    assert "side.fraction" in found.names
    x = loaded.start(found)
    assert found.value(x) == pytest.approx(expected.value(x), rel=1e-13)


def test_settings_reach_the_likelihood(analysis):
    loaded = analysis(SIDE, FLAT, fit=", extended: true, limits: {side.yield: [1, 99]}, start: {side.yield: 7}")
    likelihood = loaded.likelihood()
    start = dict(zip(likelihood.names, loaded.start(likelihood), strict=True))
    assert start["side.yield"] == 7
    assert start["flat.yield"] == pytest.approx(0.02 * 300)
    assert start["signal.yield"] == pytest.approx(0.88 * 300)
    assert likelihood.bounds[likelihood.names.index("side.yield")].tolist() == [1, 99]
    related = analysis(SIDE, FLAT, fit=", relations: {flat.fraction: side.fraction/5}").likelihood()
    assert "flat.fraction" in related.parameters.derived
    subtracted = "  background: {file: side.npz, scale: 0.2}\n"
    ratios = [analysis(FLAT, fit=f", subtraction: {kind}", more=subtracted).likelihood().samples.floor for kind in ("plain", "bounded")]
    assert ratios[0] is None
    assert ratios[1].ratio == pytest.approx(40 / 260)


def test_histograms_are_remembered(analysis, folder):
    loaded = analysis(SIDE, "map: {density: {histogram: b.json}, fraction: 0.1}")
    assert [summary.name for summary in loaded.summaries] == ["data", "phase space", "sideband 'side'", "background 'map'"]
    assert {folder / "b.json", folder / "side.npz"} <= set(loaded.files)
    result = loaded.fit(progress=False)
    opened = open_fit(result)
    assert [own.name for own in opened.read()[0].backgrounds] == ["side", "map"]
    content = (folder / "b.json").read_text()
    (folder / "b.json").write_text(content.replace("30", "31"))
    with pytest.raises(DataError, match=r"b.json' is not the file that was fitted"):
        open_fit(result).read()
    (folder / "b.json").write_text(content)


def test_a_model_of_sideband_events(analysis, folder):
    """The likelihood is that of the same density made by hand; check, fit and result say what was found, and toys follow it."""
    entry = "model: {density: {sideband: side.npz, resonances: {phi(1680): {in: K+ K-, width: 0.3}}}, fraction: {value: 0.1, float: true}}"
    loaded = analysis(entry)
    samples = loaded.read()
    side = ctpwa.read_events(loaded.model, folder / "side.npz")
    density = fit_sideband(side, samples.phase_space, [Peak("phi(1680)", ("K+ K-",), 1.68, 0.3)], loaded.model.decay, "")
    by_hand = [Background("model", density, 0.1, floating=True)]
    expected = ctpwa.build_likelihood(loaded.model, samples.data, samples.phase_space, engine="reference", backgrounds=by_hand)
    found = loaded.likelihood()
    x = loaded.start(found)
    assert found.value(x) == pytest.approx(expected.value(x), rel=1e-12)
    line = f"background 'model': 200 events; fitted to its sideband: {density}"
    shown = CliRunner().invoke(app, ["check", str(folder / "model.yml")], catch_exceptions=False).output
    assert "density: sideband as phi(1680) and phase space\n" in shown
    assert line + "\n" in shown
    result = loaded.fit(likelihood=found, progress=False)
    result.save(folder / "model.json")
    opened = open_fit(folder / "model.json")
    assert [str(ctpwa.data.SampleSummary.from_dict(own)) for own in opened.result.samples][-1] == line
    assert opened.project(engine="reference")[""].added["model"].sum() == pytest.approx(300 * result.value("model.fraction"), rel=1e-9)
    assert [own.name for own in loaded.read_backgrounds()] == ["model"]


@pytest.mark.parametrize(
    ("density", "message"),
    [
        (
            '{sideband: side.npz, variables: [{variable: "mass(K+, K-)", bins: 60}], smoothing: 0}',
            r"data: the density of background 'x' is 0 at event \d+\n fix: .*smooth it, or use fewer bins",
        ),
        ('"mass(K+, K-) - 1.5"', r"the density of background 'x' is -0\.\d+ at event \d+\n fix: a density is finite and not negative"),
        ("{histogram: none.json}", r"^background 'x': there is no file .*none.json'\n fix: "),
        ('"sqrt(mass(K+, K-) - 1.5)"', r"^data: density of background 'x': sqrt.* has no finite value in event \d+"),
        ("{histogram: tiny.json}", r"^phase space: the density of background 'x' has the mean .*e-300\n fix: multiply it by a number"),
        ("{histogram: twice.json}", r"^background 'x': .*twice.json' is not a histogram: a key is there twice"),
        ("{sideband: data.npz, variables: mass(K+ K-)}", r"^sideband 'x': .*data.npz' is the same file as the data\n fix: "),
        (
            '{sideband: side.npz, variables: [{variable: "mass(K+, K-)", range: [5, 6]}]}',
            r"^background 'x': no sideband event has mass\(K\+, K-\) from 5 to 6\n fix: correct the range",
        ),
        ("{sideband: none.npz, variables: mass(K+ K-)}", r"none.npz"),
        ("{sideband: side.npz, resonances: {X: {in: K+ K-, mass: 1.5, width: 1.0e-6}}}", r"^background 'x': only \d+ phase-space events"),
    ],
)
def test_what_is_wrong_with_events(analysis, density, message):
    with pytest.raises(DataError, match=message):
        analysis(f"x: {{density: {density}, fraction: 0.1}}").likelihood()


def test_a_histogram_with_a_gap_is_remarked(analysis):
    """A background that is in a part of phase space only; the remark says how many events all else has to explain."""
    loaded = analysis("x: {density: {histogram: hole.json}, fraction: {value: 0.1, float: true}}")
    result, data = loaded.fit(progress=False), loaded.read().data
    low = int((parse_variable("mass(K+, K-)", loaded.model.decay)(data) < 1.5).sum())
    assert result.verdict.good
    assert any(f"'x' is 0 at {low} of 300 measured events, which all else has to explain" in own for own in result.verdict.reasons)


@pytest.mark.parametrize("where", ["start", "fix"])
def test_nothing_is_left_for_the_signal(analysis, where):
    floating = "density: flat, fraction: {value: 0.1, float: true}"
    loaded = analysis(f"x: {{{floating}}}", f"y: {{{floating}}}", fit=f", {where}: {{x.fraction: 0.6, y.fraction: 0.5}}")
    with pytest.raises(PhysicsError, match=r"the backgrounds leave -0\.1 for the signal where the fit starts"):
        loaded.fit(progress=False)


@pytest.mark.parametrize("extended", [False, True])
def test_yields_are_of_the_signal(analysis, extended):
    """N f and its error from numerical derivatives over all parameters, and that of the number of events."""
    loaded = analysis(SIDE, FLAT, fit=", extended: true" if extended else "")
    likelihood = loaded.likelihood()
    result = loaded.fit(likelihood=likelihood, progress=False, simulation=False)
    groups = wave_groups(likelihood.model)["resonances"]

    def events(x):
        values = dict(zip(likelihood.names, x, strict=True))
        signal = values["signal.yield"] if extended else 300 * (0.98 - values["side.fraction"])
        f = FractionCalculator(likelihood, x).fractions(groups, np.zeros((len(x), len(x)))).values
        return signal * f

    x, h = result.x, 1e-6
    slopes = np.array([(events(x + h * e) - events(x - h * e)) / (2 * h) for e in np.eye(len(x))]).T
    variances = np.einsum("gi,ij,gj->g", slopes, result.covariance, slopes)
    own = events(x)
    fractions = result.fractions[0].groups["resonances"]
    calculator = FractionCalculator(likelihood, x)
    _, df = calculator.values_and_slopes(groups)
    first = np.einsum("gi,ij,gj->g", df, result.covariance, df)
    second = np.diag(calculator._second_order(groups, result.covariance))
    assert (second < 0.01 * first).all()  # all of them are far from 0
    np.testing.assert_allclose(np.diag(fractions.covariance), first + second, rtol=1e-12)
    variances += (own / fractions.values) ** 2 * second
    if not extended:
        variances += own**2 / 300
    found = result.fractions[0].yields
    np.testing.assert_allclose([found[name][0] for name in groups], own, rtol=1e-12)
    np.testing.assert_allclose([found[name][1] for name in groups], np.sqrt(variances), rtol=1e-6)
    assert SignalEvents.of(likelihood, x).value < 290


def test_projections_hold_backgrounds(fitted):
    """Every bin against sums over weighted phase space; everything adds up to the data."""
    opened = open_fit(fitted)
    (samples,), projected = opened.read(), opened.project(engine="reference")[""]
    f = opened.result.value("side.fraction")
    v = samples.phase_space.weights.numpy()
    spec = ProjectionSpec(parse_variable("mass(K+, K-)", opened.model.decay), 20)
    side = ctpwa.read_events(opened.model, opened.analysis.data_sets[0].backgrounds[0].density.sideband.sources[0].files[0])
    density = sideband_density(side, samples.phase_space, [spec], 2, "")
    x = spec.variable(samples.phase_space)
    b = density.values[np.clip(np.searchsorted(density.axes[0][1], x, side="right") - 1, 0, 19)]
    weights = {"side": 300 * f * v * b / (v * b).sum(), "flat": 300 * 0.02 * v / v.sum()}
    for name, own in weights.items():
        np.testing.assert_allclose(projected.added[name], own, rtol=1e-12)
    assert projected.weights.sum() == pytest.approx(300 * (0.98 - f), rel=1e-12)
    projection = projected.projections[0]
    for name, own in weights.items():
        expected = np.histogram(x, projection.fine_edges, weights=own)[0]
        np.testing.assert_allclose(projection.added[name], expected, rtol=1e-10, atol=1e-12)
    assert projection.expected.sum() + projection.outside[1] == pytest.approx(300, rel=1e-12)
    everything = projected.weights + weights["side"] + weights["flat"]
    np.testing.assert_allclose(projected.all_weights, everything, rtol=1e-12)
    variance = np.histogram(x, projection.edges, weights=everything**2)[0]
    np.testing.assert_allclose(projection.expected_variance, variance, rtol=1e-10, atol=1e-12)
    assert projected.grids[0].expected.sum() == pytest.approx(300, rel=1e-6)


def test_an_extended_fit_draws_its_yields(analysis):
    opened = open_fit(analysis(SIDE, FLAT, fit=", extended: true, constraints: {side.yield: [200, 1]}").fit(progress=False))
    projected = opened.project(engine="reference")[""]
    assert projected.added["side"].sum() == pytest.approx(opened.result.value("side.yield"), rel=1e-12)
    assert projected.weights.sum() == pytest.approx(opened.result.value("signal.yield"), rel=1e-12)


def test_tests_of_the_fit_count_backgrounds(fitted):
    opened = open_fit(fitted)
    (samples,), projected = opened.read(), opened.project(engine="reference")[""]
    with_them = goodness_rows(opened, samples, projected)
    without = goodness_rows(opened, samples, replace(projected, added={}))
    assert [row.p_value for row in with_them] != [row.p_value for row in without]


def test_everything_that_is_written(fitted, tmp_path):
    """Report, figures, CSV and ROOT files name every background."""
    import uproot

    opened = open_fit(fitted)
    write_report(opened, tmp_path / "report.html", engine="reference", progress=False)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '"name":"side"' in page.replace(" ", "")
    export(opened, root=tmp_path / "fit.root", csv=tmp_path / "csv", engine="reference", progress=False)
    projected = opened.project(engine="reference")[""]
    head = min((tmp_path / "csv").glob("projection_*.csv")).read_text(encoding="utf-8").splitlines()[0]
    assert "background side,background flat" in head
    with uproot.open(tmp_path / "fit.root") as root:
        tree = root["phase_space"].arrays(library="np")
        np.testing.assert_allclose(tree["background_side"], projected.added["side"], rtol=1e-12)
        name = next(key for key in root.keys(cycle=False) if key.endswith("backgrounds/side"))
        assert root[name].values().sum() <= projected.added["side"].sum() * (1 + 1e-12)
        assert json.loads(str(root["names"]))["backgrounds"] == {"side": "side", "flat": "flat"}


def test_check_lists_them(analysis, folder):
    analysis(SIDE, FLAT)
    shown = CliRunner().invoke(app, ["check", str(folder / "model.yml")], catch_exceptions=False).output
    assert "  side.fraction                    10 %         floating 0 to 1, density: sideband in mass(K+, K-)\n" in shown
    assert "  flat.fraction                    2 %          fixed, density: flat\n" in shown
    assert "1 of lineshapes, 1 of backgrounds" in shown
    analysis(SIDE, FLAT, fit=", extended: true, limits: {side.yield: [1, 50]}, fix: [flat.yield]")
    shown = CliRunner().invoke(app, ["check", str(folder / "model.yml")], catch_exceptions=False).output
    assert "  signal.yield                     88 %         floating > 0\n" in shown
    assert "  side.yield                       10 %         floating 1 to 50, density: sideband" in shown
    assert "1 of lineshapes, 2 of backgrounds" in shown


def test_several_data_sets_share_a_fraction(folder, fitted):
    entry = "{data: DATA, phase_space: mc.npz, backgrounds: {flat: {density: flat, fraction: {value: 0.1, float: true}}}}"
    model = ctpwa.load_model(folder / "fitted.yml")
    other = ctpwa.generate_phase_space(model, 100, seed=9)
    ctpwa.write_events(folder / "other.npz", replace(other, columns={"b": torch.ones(100, dtype=torch.float64)}))
    sets = "".join(f"  '{k}': {entry.replace('DATA', name)}\n" for k, name in enumerate(("data.npz", "other.npz")))
    (folder / "sets.yml").write_text(MODEL + f"data_sets:\n{sets}fit: {{engine: reference, starts: 1}}\n")
    result = ctpwa.load_analysis(folder / "sets.yml").fit(progress=False)
    f = result.value("flat.fraction")
    for samples, projected in zip(open_fit(result).read(), open_fit(result).project(engine="reference").values(), strict=True):
        assert projected.added["flat"].sum() == pytest.approx(f * samples.data.n_events, rel=1e-12)
    result.save(folder / "sets.json")
    assert ctpwa.FitResult.load(folder / "sets.json").value("flat.fraction") == f


def test_fractions_of_one_of_several_data_sets_are_limited_constrained_fixed_and_related(folder, mc_copy):
    def load(first, second, fit):
        entries = [f"{{data: {data}, phase_space: {mc}, backgrounds: {{{own}}}}}" for data, mc, own in (first, second)]
        sets = f"data_sets:\n  one: {entries[0]}\n  two: {entries[1]}\n"
        (folder / "model.yml").write_text(MODEL + sets + f"fit: {{engine: reference, starts: 1, {fit}}}\n")
        return ctpwa.load_analysis(folder / "model.yml")

    floating = "fraction: {value: 0.1, float: true"
    one = ("data.npz", "mc.npz", f"a: {{density: flat, {floating}}}}}")
    two = (
        "side.npz",
        mc_copy,
        f"b: {{density: flat, {floating}, limits: [0, 0.4]}}}}, c: {{density: {{histogram: b.json}}, fraction: 0.1}}",
    )
    analysis = load(one, two, "constraints: {b.fraction: [0.2, 0.01], a.fraction: [0.3, 0.1]}, relations: {c.fraction: 2*b.fraction}")
    checked = CliRunner().invoke(app, ["check", str(folder / "model.yml")])
    assert checked.exit_code == 0, checked.output
    assert "normalisation of two: " in checked.stdout
    likelihood = analysis.likelihood()
    x = dict(zip(likelihood.names, likelihood.start, strict=True))
    np.testing.assert_array_equal(likelihood.bounds[likelihood.names.index("b.fraction")], [0, 0.4])
    values = [own.value([x[name] for name in own.names]) for own in likelihood.terms]
    without = load(one, two, "relations: {c.fraction: 2*b.fraction}").likelihood()
    plain = [own.value([x[name] for name in own.names]) for own in without.terms]
    np.testing.assert_allclose(np.subtract(values, plain), [0.5 * ((0.1 - 0.3) / 0.1) ** 2, 0.5 * ((0.1 - 0.2) / 0.01) ** 2], rtol=1e-9)
    analysis.fit(progress=False).save(folder / "several.json")
    opened = open_fit(folder / "several.json")
    projected, b = opened.project(engine="reference")["two"], opened.result.value("b.fraction")
    assert projected.added["c"].sum() == pytest.approx(2 * b * 200, rel=1e-9)
    fixed = load(one, two, "fix: {c.fraction: 0.2, b.fraction: 0.1}").likelihood()
    y = [x[name] for name in fixed.names]
    assert fixed.value(y) == pytest.approx(sum(plain), abs=1e-9)
    with pytest.raises(ConfigError, match=r"'b\.fraction' follows from 'a\.fraction', which data set 'two' does not have"):
        load(one, (two[0], two[1], "b: {density: flat, fraction: 0.1}"), "relations: {b.fraction: a.fraction}")


def test_every_data_set_has_its_yields(tmp_path):
    """Toys of two data sets with other backgrounds: yields are found again, drawn, saved, and the truth of further toys."""
    sets = """data_sets:
  one:
    data: one.npz
    phase_space: {generate: 4000, seed: 1}
    backgrounds: {side: {density: "1 + mass2(K+, K-)", fraction: 0.2}, flat: {density: flat, fraction: 0.1}}
  two:
    data: two.npz
    phase_space: {generate: 4000, seed: 2, efficiency: "0.3 + 0.1*cos_theta(K+; K+ K-)"}
    backgrounds: {side: {density: "exp(-3*mass(K+, K-))", fraction: 0.4}}
fit: {engine: reference, starts: 1, extended: true, constraints: {one.flat.yield: [80, 9], two.side.yield: [240, 50]}}
"""
    (tmp_path / "model.yml").write_text(MODEL.replace("columns: [b]\n", "") + sets)
    loaded = ctpwa.load_analysis(tmp_path / "model.yml")
    short = ToySettings(pilot_rounds=1, pilot_events=256, maximum_events=2048)
    made = {
        name: generate_data(loaded, n, seed, data_set=name, engine="reference", settings=short)
        for name, n, seed in (("one", 800, 3), ("two", 600, 4))
    }
    for name, data in made.items():
        ctpwa.write_events(tmp_path / f"{name}.npz", data.toy.events)
    likelihood = loaded.likelihood()
    assert [list(term.constraints) for term in likelihood.terms] == [["one.flat.yield"], ["two.side.yield"]]
    result = loaded.fit(likelihood=likelihood, progress=False)
    assert result.verdict.good
    counts = {f"{name}.{own}.yield": n for name, data in made.items() for own, n in data.counts.items()}
    assert set(counts) == {name for name in result.names if name.endswith(".yield")}
    for name, n in counts.items():
        assert abs(result.value(name) - n) < 3 * result[name].error
    assert sum(result.value(name) for name in counts) == pytest.approx(1400, abs=8)  # Poisson terms, and a constraint
    result.save(tmp_path / "result.json")
    opened = open_fit(tmp_path / "result.json")
    for entry, (name, projected) in zip(opened.result.fractions, opened.project(engine="reference").items(), strict=True):
        signal = result.value(f"{name}.signal.yield")
        assert projected.weights.sum() == pytest.approx(signal, rel=1e-12)
        assert projected.added["side"].sum() == pytest.approx(result.value(f"{name}.side.yield"), rel=1e-12)
        group = entry.groups["resonances"]
        np.testing.assert_allclose([entry.yields[own][0] for own in group.names], signal * group.values, rtol=1e-9)
    mixed = recipe(loaded, "two", False, {}, {"two.signal.yield": 10.0, "two.side.yield": 30.0, "one.side.yield": 1e6})
    assert mixed.fractions == (0.75,)
    first, second = result.fractions
    events, error = second.yields["phi(1680)"]
    changed = replace(second, yields={**second.yields, "phi(1680)": (1.5 * events, error)})
    replace(result, fractions=(first, changed)).save(tmp_path / "changed.json")
    with pytest.raises(CtpwaError, match=r"fractions\[1\]\.yields\['phi\(1680\)'\] is not the fraction of"):
        ctpwa.FitResult.load(tmp_path / "changed.json")


@pytest.fixture
def mc_copy(folder):
    model = ctpwa.load_model(folder / "model.yml")
    ctpwa.write_events(folder / "mc2.npz", replace(ctpwa.generate_phase_space(model, 500, seed=5), columns={"b": torch.ones(500)}))
    return "mc2.npz"
