"""A report of a fit whose names, labels, paths and messages try to run scripts: none does, and everything is there to be read."""

import re

import pytest

from ctpwa.analysis.write_report import write_report
from report import hostile
from report.browser import needs_browser, visit

PLANTED = """<svg onload="ran('planted')"></svg>"""  # shows that a script which gets into the page would be noticed
SECTIONS = {"model", "parameters", "fractions", "projections", "dalitz", "moments", "amplitudes", "poles", "goodness", "correlations"}
SECTIONS |= {"convergence", "samples", "reproduce", "study1"}
SCRIPT = r"""
for (const part of document.querySelectorAll("details")) part.open = true;
for (const button of document.querySelectorAll("button")) { button.click(); button.click(); }
for (const button of document.querySelectorAll("button")) if (button.textContent === "all") button.click();
for (const box of document.querySelectorAll("input[type=checkbox]")) { box.click(); box.click(); }
for (const select of document.querySelectorAll("select")) {
  for (const option of select.options) { select.value = option.value; select.dispatchEvent(new Event("change")); }
}
for (const head of document.querySelectorAll("table.sortable th")) head.click();
note.tips = [];
for (const node of document.querySelectorAll("svg.chart, svg.chart image")) {
  const box = node.getBoundingClientRect();
  const middle = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
  node.dispatchEvent(new PointerEvent("pointermove", { ...middle, bubbles: true }));
  note.tips.push(document.getElementById("tip").textContent);
}
const roots = [document, ...[...document.querySelectorAll("template")].map((template) => template.content)];
const everything = roots.flatMap((root) => [...root.querySelectorAll("*")]);
note.elements = [...new Set(everything.map((node) => node.localName))];
note.attributes = [...new Set(everything.flatMap((node) => node.getAttributeNames()))];
note.links = everything.filter((node) => node.hasAttribute("href")).map((node) => node.getAttribute("href").slice(0, 11));
const sources = everything.filter((node) => node.hasAttribute("src"));
note.images = sources.map((node) => [node.localName, node.getAttribute("src").slice(0, 22), node.naturalWidth]);
note.text = document.querySelector("main").textContent;
note.title = document.title;
note.sections = [...document.querySelectorAll("section")].map((section) => section.id);
note.charts = document.querySelectorAll("#projections svg.chart").length;
note.curves = [...document.querySelectorAll("#projections svg path[data-group]")].map((path) => path.dataset.group);
note.toggles = [...document.querySelectorAll("label[data-toggle]")].map((label) => label.dataset.toggle);
note.legend = [...document.querySelectorAll(".legend label")].map((label) => label.textContent);
note.heads = [...document.querySelectorAll("#projections h3")].map((head) => head.textContent);
note.axes = [...document.querySelectorAll("#projections svg.chart")].map((svg) => svg.lastChild.textContent);
note.maps = document.querySelectorAll("#dalitz svg image").length;
const hosts = [...document.querySelectorAll("[data-chart]")];
note.small = [hosts.length, hosts.filter((host) => host.querySelector("svg.chart path, svg.chart circle")).length];
note.cells = document.querySelectorAll("[data-matrix] svg text").length;
try { document.createElement("div").innerHTML = "<b>"; note.markup = true; } catch { note.markup = false; }
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    return hostile.hostile_fit(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def source(opened, tmp_path_factory):
    page = tmp_path_factory.mktemp("page") / "report.html"
    study = hostile.hostile_study(page.with_name("result.toys.parquet"))
    write_report(opened, page, engine="reference", studies=[study.view()])
    text = page.read_text(encoding="utf-8")
    assert text.count("</main>") == 1
    return text.replace("</main>", PLANTED + "</main>")


@pytest.fixture(scope="module", params=[True, False], ids=["policy", "no policy"])
def note(request, source, tmp_path_factory):
    found = visit(source, SCRIPT, tmp_path_factory.mktemp("browser"), policy=request.param)
    return found | {"policy": request.param}


@needs_browser
def test_no_script_runs(note):
    assert note["called"] == ([] if note["policy"] else ["planted"])
    forbidden = ["script-src-attr", "require-trusted-types-for"]  # the planted one and what SCRIPT tries; the page itself tries nothing
    assert note["violations"] == (forbidden if note["policy"] else [])
    assert note["markup"] != note["policy"]
    assert note["problems"] == []


@needs_browser
def test_nothing_becomes_markup(note):
    assert not {"iframe", "object", "embed", "form", "base"} & set(note["elements"])
    assert {name for name in note["attributes"] if name.startswith("on")} == {"onload"}  # the planted one
    assert not {"srcdoc", "action", "formaction", "xlink:href"} & set(note["attributes"])
    assert note["elements"].count("img") == 1
    assert [image[:2] for image in note["images"]] == [["img", "data:image/png;base64,"]] * 2
    assert all(width > 100 for *_, width in note["images"])
    assert {link[:1] for link in note["links"] if link not in {"data:,", "data:image/"}} == {"#"}


@needs_browser
def test_nothing_is_missing(note):
    assert note["ready"] == "true"
    assert set(note["sections"]) == SECTIONS
    assert note["title"] == f"J/ψ(1S) → K⁺K⁻{hostile.IMAGE.removeprefix(chr(92) + 'text{').removesuffix('}')}"
    for text in (hostile.NAME, hostile.QUOTED, hostile.DATA_SET, hostile.FILE, hostile.MESSAGE, hostile.LINK, hostile.STUDY):
        assert text in note["text"]
    assert {hostile.NAME, hostile.QUOTED} <= set(note["curves"]) <= set(note["toggles"])
    latex = hostile.IMAGE.removeprefix(r"\text{").removesuffix("}")
    assert note["legend"][:3] == [hostile.NAME, hostile.QUOTED, hostile.LINK]
    assert latex in note["text"]
    assert [head for head in note["heads"] if head != hostile.DATA_SET] == [hostile.NOT_CLOSED.removeprefix("$"), hostile.IMAGE]
    assert note["axes"] == [f"{hostile.NOT_CLOSED.removeprefix('$')} [{hostile.COMMENT}]", f"{hostile.IMAGE} [$]"]
    assert any(hostile.QUOTED in tip for tip in note["tips"])


@needs_browser
def test_everything_is_drawn(note):
    assert note["charts"] == 2
    assert note["maps"] == 3
    small, drawn = note["small"]
    assert small == drawn > 20
    assert note["cells"] >= 9


def test_no_text_can_end_the_data(source):
    blocks = re.findall(r"<script[^>]*>(.*?)</script>", source, re.DOTALL)
    assert len(blocks) == 2
    assert not set("<>&") & set(blocks[0])
    assert "onerror" in blocks[0]
