"""The report as a file: it stands alone, is well-formed, and holds the numbers of the result."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.analysis.reopen import open_fit
from ctpwa.analysis.write_report import moment_views
from ctpwa.cli.main import app
from ctpwa.fitting.precision import PrecisionBias
from ctpwa.report.figures.dalitz import draw_dalitz
from ctpwa.report.html.charts import _matrix, rounded, starts_chart
from ctpwa.report.html.labels import Labels
from ctpwa.report.html.sections import head

VOID = {"meta", "link", "input", "br", "img"}


class Outline(HTMLParser):
    """Elements with their attributes; complains about what is not closed."""

    def __init__(self, source):
        super().__init__()
        self.open, self.found, self.text = [], [], []
        self.feed(source)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def source(page):
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def data(source):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', source, re.DOTALL)[1])


@pytest.fixture(scope="module")
def result(folder):
    return ctpwa.FitResult.load(folder / "result.json")


def test_it_is_well_formed_and_every_link_has_a_target(source):
    outline = Outline(source)
    identifiers = [attributes["id"] for _, attributes in outline.found if "id" in attributes]
    assert len(set(identifiers)) == len(identifiers)
    links = [attributes["href"] for tag, attributes in outline.found if tag == "a"]
    assert len(links) >= 8
    assert {link.removeprefix("#") for link in links} <= set(identifiers)


def test_it_needs_no_network(source):
    addresses = set(re.findall(r"https?://[^\s\"'<>)\\\\]+", source))
    assert addresses <= {"http://www.w3.org/1998/Math/MathML", "http://www.w3.org/2000/svg"}  # names, not addresses
    assert not re.search(r"<script[^>]+src=|@import|url\((?!#)(?!\$)", source.replace("url(#", ""))


def test_all_parameters_and_fractions_are_there(source, result):
    for parameter in result.parameters:
        assert f'data-name="{parameter.name}"' in source
        assert f'title="{parameter.name}"' in source
    for name in ("phi(1680)", "phi(3)(1850)", "K(2)*(1430)"):
        assert f'data-name="{name}"' in source
    assert f"{result.nll:.3f}" in source
    assert result.samples[0]["files"][0]["sha256"] in source


def test_numbers_of_projections(data, folder):
    projected = open_fit(folder / "result.json").project("reference")[""]
    shown = data["data_sets"][0]
    assert len(shown["projections"]) == 3
    for drawn, projection in zip(shown["projections"], projected.projections, strict=True):
        np.testing.assert_allclose(drawn["data"], projection.data, rtol=1e-4)
        np.testing.assert_allclose(drawn["total"], projection.total, rtol=1e-4)
        np.testing.assert_allclose(drawn["background"], projection.background, rtol=1e-4)
        n = len(drawn["groups"])
        at = [g * n - g * (g - 1) // 2 for g in range(n)]  # as the page finds the diagonal
        for g, name in enumerate(drawn["groups"]):
            np.testing.assert_allclose(drawn["matrix"][at[g]], projection.component(name), rtol=1e-4)
        weight = np.array([1.0 if i == j else 2.0 for i in range(n) for j in range(i, n)])
        np.testing.assert_allclose(weight @ np.array(drawn["matrix"]), drawn["total"], rtol=1e-3)
    grid = shown["grids"][0]
    np.testing.assert_allclose(np.array(grid["data"]).T, projected.grids[0].data, rtol=1e-3)


def test_pulls_of_a_dalitz_plot_are_those_of_its_figure(data, folder):
    grid = open_fit(folder / "result.json").project("reference")[""].grids[0]
    pulls = draw_dalitz(grid).axes[2].collections[0].get_array().reshape(grid.data.T.shape)
    shown = np.array([[np.nan if pull is None else pull for pull in row] for row in data["data_sets"][0]["grids"][0]["pulls"]])
    np.testing.assert_allclose(shown, np.ma.filled(pulls, np.nan), rtol=1e-2)
    few = (grid.expected > 0) & (grid.expected < 0.9)
    assert few.sum() > 3
    assert np.isnan(shown.T[few]).all()
    assert np.isfinite(shown.T[grid.expected > 1.1]).all()


def test_matrices(data, result):
    np.testing.assert_allclose(data["matrices"]["correlation"]["values"], result.correlation, atol=1e-3)
    fractions = result.fractions[0].groups["resonances"]
    np.testing.assert_allclose(data["matrices"]["interference0resonances"]["values"], 100 * fractions.interference, atol=1e-2)


def test_identical_particles_are_formulas():
    """The decay of a pole is K- pi+ where the final particles are K-, pi+_1 and pi+_2."""
    model = ctpwa.load_model({"decay": "D+ -> K- pi+ pi+", "resonances": {"K*(892)": {"in": "K- pi+"}}})
    labels = Labels(model, SimpleNamespace(couplings=()))
    assert labels.particles("K- pi+").source == labels.particles("K- pi+_1").source
    assert "pi+" not in labels.particles("K- pi+").source


def test_moments_of_identical_particles_do_not_depend_on_their_order(tmp_path):
    samples = "samples: {data: toy.npz, phase_space: {generate: 4000, seed: 2}}"
    text = f"{{decay: D+ -> K- pi+ pi+, resonances: {{K*(892): {{in: K- pi+}}, K(2)*(1430): {{in: K- pi+}}}}, {samples}}}"
    (tmp_path / "model.yml").write_text(text)
    model = ctpwa.load_model(tmp_path / "model.yml")
    toy = ctpwa.generate_toy(model, 1000, seed=1, engine="reference")
    first, second = toy["pi+_1"], toy["pi+_2"]
    larger = (first[:, :1] > second[:, :1]).double()
    ordered = {"K-": toy["K-"], "pi+_1": larger * first + (1 - larger) * second, "pi+_2": larger * second + (1 - larger) * first}
    ctpwa.write_events(tmp_path / "toy.npz", ordered, model=model)
    ctpwa.load_analysis(tmp_path / "model.yml").fit(starts=1).save(tmp_path / "result.json")
    opened = open_fit(tmp_path / "result.json")
    found = opened.project("reference")[""]
    views = moment_views(opened.model.decay, opened.read()[0], found)
    assert [view.pair for view in views] == ["K- pi+", "pi+ pi+"]
    assert (views[0].moments.p_values[:3] > 1e-3).all()


def test_matrices_are_rounded_once():
    """32.9498 % is 32.9 in a table, and not 33.0, by way of 32.95, beside it."""
    values = np.array([[32.949803, -6.5567], [-6.5567, 73.6069]])
    shown = _matrix("interference", ["a", "b"], ["a", "b"], values, 100.0, 1)["values"]
    assert [f"{own:.1f}" for row in shown for own in row] == [f"{own:.1f}" for own in values.ravel()]


def test_rounding():
    assert rounded([1.23456789, 0.0, -1234567.0, float("nan"), float("inf")], 3) == [1.23, 0, -1230000, None, None]
    assert rounded(np.array([[1e-30, 2.0]])) == [[1e-30, 2]]


def test_command(folder, tmp_path):
    out = tmp_path / "r.html"
    run = CliRunner().invoke(app, ["report", str(folder / "result.json"), "-o", str(out), "--engine", "reference"])
    assert run.exit_code == 0, run.output
    assert run.stdout.strip() == str(out)
    again = CliRunner().invoke(app, ["report", str(folder / "result.json"), "-o", str(out)])
    assert again.exit_code == 1
    assert "--force" in again.output
    nowhere = CliRunner().invoke(app, ["report", str(folder / "result.json"), "-o", str(tmp_path / "no" / "r.html")])
    assert nowhere.exit_code == 1
    assert "folder" in nowhere.output


def test_figures(folder, tmp_path):
    arguments = [
        "report",
        str(folder / "result.json"),
        "-o",
        str(tmp_path / "r.html"),
        "--figures",
        str(tmp_path / "f"),
        "--engine",
        "reference",
    ]
    run = CliRunner().invoke(app, arguments)
    assert run.exit_code == 0, run.output
    files = run.stdout.split()
    stems = ["projections", "dalitz", "moments-K+_K-", "moments-K+_eta", "moments-K-_eta"]
    stems += ["interference-resonances", "interference-jp", "correlations"]
    assert files[1:] == [str(tmp_path / "f" / f"{stem}{suffix}") for stem in stems for suffix in (".png", ".pdf")]
    assert sorted(str(file) for file in (tmp_path / "f").iterdir()) == sorted(files[1:])
    again = CliRunner().invoke(app, [*arguments[:3], str(tmp_path / "s.html"), *arguments[4:]])
    assert again.exit_code == 1
    assert "--force" in again.output
    assert not (tmp_path / "s.html").exists()


def test_the_bias_of_mixed_precision_is_shown(result, source):
    assert "in double precision" not in source
    content = SimpleNamespace(
        result=replace(result, precision=PrecisionBias(-1.2e-5, (), 3.4e-6, "a")), model=ctpwa.load_model(result.model)
    )
    shown = head(content).source
    assert '−ln L in double precision</div><div class="number">-1.2e-05<' in shown
    assert 'largest shift in double precision</div><div class="number">3.4e-06 σ<' in shown


def test_everything_that_is_found_is_shown(source, data):
    for part in ("moments", "amplitudes", "poles", "goodness", "correlations", "convergence", "samples", "reproduce"):
        assert f'<section id="{part}">' in source
    assert {name.split(".")[0] for name in data["charts"] if name.startswith("moment")} == {"moment0"}
    assert len([name for name in data["charts"] if name.startswith("moment")]) == 15
    assert "adaptive bins" in source
    assert "phi(1680)" in source[source.index('id="poles"') :]


def test_starts_of_an_interrupted_search_may_have_ended_nowhere(result):
    chart = starts_chart(replace(result, minima=(replace(result.minima[0], starts=0),)))
    assert chart["series"][0]["x"] == []


def test_numbers_of_charts_are_short():
    """As few digits as asked for, in which no rounding of binary numbers is seen; whole numbers without a point."""
    assert rounded([0.123456, -98765.4, 3.0, 0.0], 4) == [0.1235, -98770, 3, 0]
    assert [type(value) for value in rounded([2.0, 2.5])] == [int, float]
    assert rounded([[np.nan, 1.0], [np.inf, -np.inf]]) == [[None, 1], [None, None]]
    values = np.random.default_rng(1).normal(size=2000) * 10.0 ** np.random.default_rng(2).uniform(-12, 12, 2000)
    assert rounded(values, 5) == [float(f"{value:.4e}") for value in values]
    assert rounded(1.25) == 1.25
