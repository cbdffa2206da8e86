"""The report in a real browser without a screen: no errors, tables sort, curves can be switched on and off, zoom works.

A script at the end of a copy of the page does what a person would do and writes down what it sees.
"""

import json
import os
import re
import shutil
import subprocess

import pytest

BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium; name it in the variable CHROMIUM")
FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update"
BEFORE = """<script>
window.problems = [];
window.addEventListener("error", (event) => problems.push(String(event.message)));
for (const kind of ["error", "warn"]) console[kind] = (...words) => problems.push(words.join(" "));
</script>"""
AFTER = """<script>
{
const note = {};
try {
const column = (k) => [...document.querySelectorAll("#parameter-table tbody tr")].map((row) => row.cells[k].dataset.v);
const head = (k) => document.querySelector("#parameter-table").tHead.rows[0].cells[k];
head(1).click(); note.up = column(1);
head(1).click(); note.down = column(1);
head(0).click(); note.names = column(0); note.ordered = [...note.names].sort((a, b) => a.localeCompare(b));
const filter = document.querySelector("input.filter[data-of=parameter-table]");
filter.value = "phi(3)"; filter.dispatchEvent(new Event("input"));
const shown = [...document.querySelectorAll("#parameter-table tbody tr")].filter((row) => !row.hidden);
note.filtered = shown.map((row) => row.cells[0].textContent);
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
note.painted = document.querySelectorAll("#correlations canvas").length;
note.wide = document.documentElement.scrollWidth - window.innerWidth;
note.ready = document.documentElement.dataset.ready;
} catch (error) { problems.push(String(error)); }
note.problems = problems;
const block = document.createElement("script");
block.type = "application/json"; block.id = "note"; block.textContent = JSON.stringify(note);
document.body.append(block);
}
</script>"""


def visit(page, tmp_path_factory, width):
    folder = tmp_path_factory.mktemp("browser")
    copy = folder / "page.html"
    source = page.read_text(encoding="utf-8").replace("<head>", "<head>" + BEFORE).replace("</body>", AFTER + "</body>")
    copy.write_text(source, encoding="utf-8")
    command = [BROWSER, *FLAGS.split(), f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900", "--virtual-time-budget=4000"]
    run = subprocess.run([*command, "--dump-dom", copy.as_uri()], capture_output=True, text=True, check=False)
    found = re.search(r'<script type="application/json" id="note">(.*?)</script>', run.stdout, re.DOTALL)
    assert found, run.stderr[-2000:]
    return json.loads(found[1])


@pytest.fixture(scope="module")
def note(page, tmp_path_factory):
    return visit(page, tmp_path_factory, 1200)


def test_no_errors(note):
    assert note["ready"] == "true"
    assert note["problems"] == []


def test_tables_sort(note):
    up = [float(value) for value in note["up"]]
    assert up == sorted(up)
    assert [float(value) for value in note["down"]] == up[::-1]
    assert note["names"] == note["ordered"]
    assert len(set(note["names"])) == len(up)
    assert note["filtered"]
    assert all("phi(3)" in name for name in note["filtered"])


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


@pytest.mark.parametrize("width", [500, 1200])
def test_nothing_is_wider_than_the_screen(page, tmp_path_factory, width):
    seen = visit(page, tmp_path_factory, width)
    assert seen["wide"] <= 0
    assert seen["problems"] == []
