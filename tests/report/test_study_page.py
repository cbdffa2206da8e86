"""A study on a page of its own: it stands alone, names are formulas, and pictures can be read on a phone."""

import re

import pytest

from ctpwa.fitting.text import Section
from ctpwa.report.content import FigureView, StudyPage, StudyView
from ctpwa.report.figures.style import Figure, png_of
from ctpwa.report.html.labels import NamedFormulas
from ctpwa.report.html.page import study_page, write_study_page
from report.browser import needs_browser, visit
from report.test_page import Outline

WAVE = "2+ (2,0) m=0 e=+"


def pixels(inches):
    return FigureView(png_of(Figure(figsize=(inches, 1.0)), 100), f"{inches} inches")


@pytest.fixture(scope="module")
def source():
    table = Section("bins", ("bin", "events", "p inside"), (("1 … 2", "100 ± 10", "0.5"), ("2 … 3", "90 ± 9", "<b>")), "a foot")
    view = StudyView("Fits in bins", f"2 bins, strongest {WAVE}", (table,), ("a note & more",), (pixels(7.0), pixels(3.0)))
    return study_page(StudyPage(view, "X -> eta pi0 <script>", {WAVE: r"$2^{+}\,(2,0)$"}, "1.2", "2026-01-02T03:04:05"))


def test_it_is_a_whole_page(source):
    page = Outline(source)
    tags = [tag for tag, _ in page.found]
    assert tags.count("h1") == 1
    assert tags.count("img") == 2
    assert '<meta name="generator" content="ctpwa 1.2">' in source
    assert "Fits in bins, 2026-01-02 03:04" in source
    assert re.findall(r"X -&gt; eta pi0 &lt;script&gt;", source)
    assert not re.findall(r'(?:src|href)="(?!data:|#)', source)
    for words in ("100 ± 10", "a foot", "a note &amp; more", "&lt;b&gt;"):
        assert words in source


def test_names_are_formulas(source):
    assert f'<span title="{WAVE}"><math' in source
    assert NamedFormulas({}).text("nothing to find").source == "nothing to find"
    both = NamedFormulas({"a": "$a$", "a b": "$c$"}).text("a b, a").source
    assert [title for title in re.findall('title="([^"]*)"', both)] == ["a b", "a"]


def test_only_wide_pictures_are_moved_sideways(source):
    assert re.findall(r'<figure class="(picture[^"]*)">', source) == ["picture wide", "picture"]


@needs_browser
def test_on_a_phone(source, tmp_path):
    """Wide pictures keep their size, the page does not get wider by that; nothing goes wrong."""
    script = "note.wide = document.documentElement.scrollWidth - window.innerWidth;"
    script += " note.images = [...document.images].map((image) => image.clientWidth);"
    found = visit(source, script, tmp_path, width=500)
    assert found["images"] == [700, 300]
    assert found["wide"] <= 0
    assert not found["problems"]
    assert not found["violations"]


def test_it_is_written_whole(source, tmp_path):
    write_study_page(StudyPage(StudyView("Toys", "2 toys"), "D -> K pi", {}), tmp_path / "page.html")
    assert "2 toys" in (tmp_path / "page.html").read_text(encoding="utf-8")
