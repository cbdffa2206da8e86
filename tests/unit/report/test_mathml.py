"""Formulas: what they look like, and that nothing but MathML comes out of them."""

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctpwa.decay.latex import latex_of_text
from ctpwa.report.html.mathml import ATTRIBUTES, ELEMENTS, labelled, math


def tags(source):
    return set(re.findall(r"<(\w+)", source))


def attributes(source):
    return set(re.findall(r' ([\w-]+)="', source))


def shown(source):
    from html import unescape

    return unescape(re.sub("<[^>]*>", "", source)).replace("\xa0", " ")


def test_formulas():
    source = math(r"\phi_{3}(1850)^{+}").source
    assert source.startswith("<math")
    assert shown(source) == "ϕ3(1850)+"
    assert {"msub", "msup"} <= tags(source)
    assert tags(math(r"\frac{q^{2}}{\sqrt{s}}\,\left|A\right|").source) >= {"mfrac", "msqrt", "msup", "mspace", "mo"}


def test_names_stand_as_they_are():
    name = string.printable[:95] + "αΛφ"
    assert shown(math(latex_of_text(name)).source) == name
    assert tags(math(latex_of_text(name)).source) == {"math", "mrow", "mtext"}
    assert "<msup>" in math(latex_of_text("a⁺b")).source


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\text{<img/src=x/onerror=a()>}", "<img/src=x/onerror=a()>"),
        (r"\mathrm{<svg/onload=a()>}", "<svg/onload=a()>"),
        ("<svg onload=a()>", "<svgonload=a()>"),
        (r"\href{javascript:a()}{x}", "x"),
        (r"\style{color:red}{x}", "x"),
        (r"\class{a}{x}", "x"),
        (r"\color{red\" onclick=\"a}{x}", "x"),
        (r"\fbox{<b>}", "<b>"),
        (r"\text{&lt;&#60;}", "&lt;&#60;"),
        (r"\frac{<b>", "<b>"),
        (r"<b>{", "<b>{"),
        ("{" * 2000, "{" * 2000),
        (r"\left", r"\left"),
    ],
)
def test_hostile_formulas(latex, text):
    source = math(latex).source
    assert shown(source) == text
    assert tags(source) <= ELEMENTS | {"span"}
    assert attributes(source) <= ATTRIBUTES | {"class"}
    assert set(re.findall('class="(.*?)"', source)) <= {"latex"}


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from([*"<>&\"'{}[]_^$\\/= ax#;", r"\text{", r"\href{", r"\mathrm{", "onload=", "<svg ", "javascript:", "\ue000"]),
        max_size=25,
    ).map("".join)
)
def test_no_formula_makes_anything_else(latex):
    for source in (math(latex).source, labelled(latex).source):
        assert tags(source) <= ELEMENTS | {"span"}
        assert attributes(source) <= ATTRIBUTES | {"class"}


def test_labels_are_text_with_formulas():
    source = labelled(r"<b> $K^{+}$ at \$5").source
    assert shown(source) == "<b> K+ at $5"
    assert source.count("<math") == 1
    assert shown(labelled("a $ b").source) == "a $ b"
    assert "<math" not in labelled("a $ b").source
