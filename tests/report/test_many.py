"""A report of 23 resonances and 60 parameters in a real browser: no table is cut, no two curves are alike, figures can be saved."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from ctpwa.analysis.reopen import open_fit
from ctpwa.analysis.write_report import report_content
from ctpwa.fitting.fractions import Fractions
from ctpwa.fitting.result import FittedParameter
from ctpwa.report.html.page import report_page
from report.browser import needs_browser, visit

pytestmark = needs_browser
N_PARAMETERS, N_GROUPS = 60, 23
LOOK = """
for (const part of document.querySelectorAll("details")) part.open = true;
for (const part of document.querySelectorAll("[hidden]")) part.hidden = false;
const clipping = (node) => getComputedStyle(node).overflowY !== "visible" || getComputedStyle(node).overflowX !== "visible";
const cut = (row, down) => {
  for (let box = row.parentElement; box !== document.body; box = box.parentElement) {
    if (clipping(box) && (down ? box.scrollHeight > box.clientHeight + 1 : box.scrollWidth > box.clientWidth + 1)) return true;
  }
  return false;
};
const rows = [...document.querySelectorAll("main table tbody tr")];
note.rows = rows.length;
note.cut = rows.filter((row) => cut(row, true)).length;
note.beyond = rows.filter((row) => cut(row, false)).length;
note.masses = [...document.querySelectorAll("#parameter-table tbody tr")].map((row) => row.getBoundingClientRect().height > 0);
note.shown = [...document.querySelectorAll("#parameter-table tbody tr:first-child td")].map((cell) => {
  const box = cell.getBoundingClientRect();
  return [cell.textContent, box.width > 0 && box.left >= 0 && box.right <= window.innerWidth, getComputedStyle(cell, "::before").content];
});
note.wide = document.documentElement.scrollWidth - window.innerWidth;
note.position = getComputedStyle(document.querySelector(".legend")).position;
"""
SAVE = """
note.files = {};
note.names = [];
const real = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
URL.createObjectURL = (blob) => {
  const at = note.names.length, seen = (text) => (blob.type === "image/png" ? text.slice(1, 4) : text);
  blob.text().then((text) => { note.files[note.names[at]] = [blob.type, seen(text)]; });
  return real.call(URL, blob);
};
HTMLAnchorElement.prototype.click = function () { note.names.push(this.download); };
for (const box of document.querySelectorAll("#projections .legend input")) if (!box.checked) box.click();
const curves = [...document.querySelectorAll("#projections figure:first-child path[data-group]")];
note.lines = curves.map((path) => [path.getAttribute("stroke"), path.getAttribute("stroke-dasharray")]);
for (const place of ["#projections figure", "#dalitz figure", "#fractions [data-matrix]", "#moments figure"]) {
  for (const button of document.querySelector(place).querySelectorAll("button[data-save]")) button.click();
}
setTimeout(() => { // this one is really saved
  HTMLAnchorElement.prototype.click = click;
  URL.createObjectURL = real;
  document.querySelector("#dalitz button[data-save=csv]").click();
}, 400);
"""


@pytest.fixture(scope="module")
def content(folder):
    """The report of a small fit with many more parameters, resonances and contributions put in."""
    opened = open_fit(folder / "result.json")
    found = report_content(opened, opened.project("reference"))
    names = [f"r({1000 + k}).{part}" for k in range(N_PARAMETERS // 2) for part in ("mass", "width")]
    parameters = tuple(FittedParameter(name, 1.5, 0.012, 1.4, lower=0.0, simulation=0.003) for name in names)
    groups = tuple(f"R({1000 + 10 * k})" for k in range(N_GROUPS))
    size = np.linspace(1.0, 3.0, N_GROUPS)
    fractions = Fractions(groups, size / 100, np.diag(size) * 1e-6, np.outer(size, size) / 1000, np.outer(size, size) / 1e5)
    entry = replace(found.result.fractions[0], groups={"resonances": fractions}, yields={})
    covariance = 0.012**2 * np.eye(N_PARAMETERS)
    result = replace(found.result, parameters=parameters, covariance=covariance, fractions=(entry,), simulation=None)
    view = found.data_sets[0]
    projections = tuple(
        replace(p, groups=groups, matrix=np.abs(p.total)[:, None, None] * np.diag(size / size.sum())) for p in view.projected.projections
    )
    projected = replace(view.projected, projections=projections, groups=dict.fromkeys(groups, ()))
    return replace(found, result=result, data_sets=(replace(view, projected=projected),))


@pytest.fixture(scope="module")
def source(content):
    return report_page(content)


@pytest.mark.parametrize("width", [1200, 500])
def test_no_table_is_cut(source, tmp_path, width):
    note = visit(source, LOOK, tmp_path, width=width)
    assert note["problems"] == []
    assert note["rows"] > N_PARAMETERS + N_GROUPS
    assert note["cut"] == 0
    assert note["beyond"] == 0
    assert note["masses"] == [True] * N_PARAMETERS
    assert note["wide"] <= 0
    assert note["position"] == "sticky"
    _, value, error = note["shown"][:3]
    assert value[:2] == ["1.500", True]
    assert error == ["0.012", True, '"± "' if width < 700 else "none"]


def test_figures_can_be_saved(content, source, tmp_path):
    note = visit(source, SAVE, tmp_path)
    assert note["problems"] == note["violations"] == []
    assert len(note["names"]) == len(set(note["names"])) == 12
    kinds = {"svg": "image/svg+xml", "png": "image/png", "csv": "text/csv"}
    for name, (kind, start) in note["files"].items():
        assert kind == kinds[name.rpartition(".")[2]]
        assert start == "PNG" or kind != "image/png"
    assert set(note["files"]) == set(note["names"])
    projection = content.data_sets[0].projected.projections[0]
    table = list(csv.reader(io.StringIO(note["files"]["mass_K+_K-.csv"][1])))
    numbers = {name: np.array([float(row[k] or "nan") for row in table[1:]]) for k, name in enumerate(table[0])}
    np.testing.assert_allclose(numbers["data"], projection.data, rtol=1e-4)
    np.testing.assert_allclose(numbers["fit"], projection.expected, rtol=1e-4)
    np.testing.assert_allclose(numbers["R(1100)"], projection.rebinned(projection.component("R(1100)")), rtol=1e-4)
    np.testing.assert_allclose(numbers["low"], projection.edges[:-1], rtol=1e-9)
    drawing = note["files"]["mass_K+_K-.svg"][1]
    assert drawing.count("<svg") == 1
    assert 'xmlns="http://www.w3.org/2000/svg"' in drawing
    assert "class=" not in drawing
    assert "R(1100)" in drawing  # its legend
    matrix = list(csv.reader(io.StringIO(note["files"]["interference_of_resonances.csv"][1])))
    assert matrix[0][1:] == list(content.result.fractions[0].groups["resonances"].names)


def test_every_curve_has_a_line_of_its_own(source, tmp_path):
    note = visit(source, SAVE, tmp_path)
    assert len(note["lines"]) == N_GROUPS
    assert len({tuple(line) for line in note["lines"]}) == N_GROUPS
    assert len({colour for colour, _ in note["lines"]}) == N_GROUPS
