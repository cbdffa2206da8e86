"""The report in a real browser: no errors, tables sort, curves can be switched on and off, zoom works."""

import pytest

import ctpwa
from ctpwa.analysis.write_report import write_report
from report.browser import needs_browser, visit

pytestmark = needs_browser
SCRIPT = """
const column = (k) => [...document.querySelectorAll("#parameter-table tbody tr")].map((row) => row.cells[k].dataset.v);
const head = (k) => document.querySelector("#parameter-table").tHead.rows[0].cells[k];
head(1).click(); note.up = column(1);
head(1).click(); note.down = column(1);
head(0).click(); note.names = column(0); note.ordered = [...note.names].sort((a, b) => a.localeCompare(b));
const filter = document.querySelector("input.filter[data-of=parameter-table]");
filter.value = ".width"; filter.dispatchEvent(new Event("input"));
const shown = [...document.querySelectorAll("#parameter-table tbody tr")].filter((row) => !row.hidden);
note.filtered = shown.map((row) => row.dataset.name);
filter.value = ""; filter.dispatchEvent(new Event("input"));
const curves = () => [...document.querySelectorAll("#projections svg path[data-group]")].map((path) => path.dataset.group);
const curve = (name) => document.querySelector(`#projections svg path[data-curve=${name}]`)?.getAttribute("d") ?? null;
const tick = (name) => { const box = document.querySelector(`label[data-toggle="${name}"] input`); box.click(); };
note.curves = curves();
tick("phi(1680)"); note.without = curves(); tick("phi(1680)");
tick("interference"); note.interference = curve("interference"); tick("interference");
tick("coherent"); note.all_together = curve("coherent"); note.fit = curve("fit");
tick("phi(1680)"); note.less = curve("coherent");
tick("phi(1680)"); tick("coherent");
const svg = document.querySelector("#projections svg.chart"), box = svg.getBoundingClientRect();
const pointer = (kind, share) => {
  const where = { clientX: box.left + share * box.width, clientY: box.top + 50 };
  svg.dispatchEvent(new PointerEvent(kind, { ...where, pointerId: 1, pointerType: "mouse", bubbles: true }));
};
svg.setPointerCapture = () => {};
const ticks = () => [...svg.querySelectorAll("text")].map((text) => text.textContent);
note.whole = ticks();
pointer("pointerdown", 0.4); pointer("pointermove", 0.6); note.tip = document.getElementById("tip").textContent; pointer("pointerup", 0.6);
note.zoomed = ticks();
svg.dispatchEvent(new MouseEvent("dblclick")); note.back = ticks();
const log = [...document.querySelectorAll("#projections button")].find((button) => button.textContent === "log scale");
log.click(); note.log = ticks(); note.log_fit = curve("fit"); log.click();
document.querySelector(".tabs button[data-tab=waves]").click();
note.tabs = [...document.querySelectorAll("[data-part-of=fractions0]")].map((part) => [part.dataset.tab, part.hidden]);
note.maps = document.querySelectorAll("#dalitz svg image").length;
note.painted = document.querySelectorAll("#correlations svg image").length;
note.matrix = [...document.querySelectorAll("#fractions [data-tab=resonances] svg.chart > text")].map((text) => text.textContent);
note.wide = document.documentElement.scrollWidth - window.innerWidth;
"""


@pytest.fixture(scope="module")
def note(page, tmp_path_factory):
    return visit(page.read_text(encoding="utf-8"), SCRIPT, tmp_path_factory.mktemp("browser"))


def test_no_errors(note):
    assert note["ready"] == "true"
    assert note["problems"] == []
    assert note["violations"] == []  # the page does nothing that its own policy forbids


def test_tables_sort(note):
    up = [float(value) for value in note["up"]]
    assert up == sorted(up)
    assert [float(value) for value in note["down"]] == up[::-1]
    assert note["names"] == note["ordered"]
    assert len(set(note["names"])) == len(up)
    assert note["filtered"] == ["phi(1680).width"]


def test_waves_can_be_switched_on_and_off(note):
    assert "phi(1680)" in note["curves"]
    assert "phi(1680)" not in note["without"]
    assert set(note["curves"]) - set(note["without"]) == {"phi(1680)"}
    assert note["interference"]


def test_the_coherent_sum_follows_the_choice(note):
    assert note["less"] != note["all_together"]
    assert note["all_together"] is not None


def test_zoom(note):
    assert note["zoomed"] != note["whole"]
    assert note["back"] == note["whole"]
    assert "data" in note["tip"]
    assert note["log"] != note["whole"]
    assert "NaN" not in note["log_fit"]


def test_tabs_and_maps(note):
    assert dict(note["tabs"]) == {"resonances": True, "waves": False, "jp": True}
    assert note["maps"] == 3
    assert note["painted"] == 1
    assert [text for text in note["matrix"] if "(" in text] == [name for name in ("ϕ(1680)", "ϕ3(1850)", "K2*(1430)") for _ in range(2)]


def test_nothing_is_wider_than_the_screen(note, page, tmp_path):
    assert note["wide"] <= 0
    narrow = visit(
        page.read_text(encoding="utf-8"), "note.wide = document.documentElement.scrollWidth - window.innerWidth;", tmp_path, width=500
    )
    assert narrow["wide"] <= 0
    assert narrow["problems"] == []


# heads of tables stay in view where a table is not wider than its box; where it is, they would be moved onto its first rows
HEADS = """
for (const own of document.querySelectorAll(".scroll")) own.classList.remove("fits");
const box = (node) => node.getBoundingClientRect();
const tables = [...document.querySelectorAll(".scroll > table")].filter((table) => table.tHead && box(table).height);
note.heads = tables.map((table) => box(table.tHead.rows[0].cells[0]).bottom - box(table.tBodies[0]).top);
"""


def test_heads_of_wide_tables_hide_no_rows(page, tmp_path):
    note = visit(page.read_text(encoding="utf-8"), HEADS, tmp_path)
    assert len(note["heads"]) > 3
    assert max(note["heads"]) < 1.5


PRODUCED = """\
decay: X -> eta pi0
production:
  kind: photoproduction
  polarisation: {degree: P, angle: alpha}
  waves: {0+: {reflectivity: 1}, 2+: {m: [0, 1], reflectivity: 1}}
  generate: {energy: 8.5, mass: [1.2, 1.4], degree: 0.35, angle: [0, 0.785, 1.571, 2.356]}
samples: {data: toy.npz, phase_space: {generate: 2000, seed: 2}}
fit: {engine: reference, starts: 2}
"""


def test_a_report_without_resonances(tmp_path):
    """X itself is no resonance: there is nothing to draw for resonances, and all else is drawn."""
    (tmp_path / "model.yml").write_text(PRODUCED, encoding="utf-8")
    model = ctpwa.load_model(tmp_path / "model.yml")
    ctpwa.write_events(tmp_path / "toy.npz", ctpwa.generate_toy(model, 300, seed=1, engine="reference"), model=model)
    ctpwa.load_analysis(tmp_path / "model.yml").fit().save(tmp_path / "result.json")
    write_report(tmp_path / "result.json", tmp_path / "report.html", engine="reference")
    script = """
note.tabs = [...document.querySelectorAll("[data-part-of=fractions0]")].map((part) => part.dataset.tab);
note.painted = document.querySelectorAll("#correlations svg image").length;
note.charts = document.querySelectorAll("#convergence svg.chart").length;
"""
    note = visit((tmp_path / "report.html").read_text(encoding="utf-8"), script, tmp_path)
    assert (note["ready"], note["problems"]) == ("true", [])
    assert note["tabs"] == ["waves", "jp"]
    assert (note["painted"], note["charts"]) == (1, 2)
