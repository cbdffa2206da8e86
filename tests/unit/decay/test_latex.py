"""Which LaTeX of users is used, and the way between text and LaTeX."""

import re
import string

import pytest
from latex2mathml.converter import convert
from matplotlib.mathtext import MathTextParser

from ctpwa.decay.latex import COMMANDS, GREEK, label_parts, label_problem, latex_of_text, latex_problem, text_of_latex, written_out

TAKE_ONE = {"mathrm", "mathit", "mathbf", "mathsf", "mathtt", "mathcal", "text", "bar", "overline", "tilde", "widetilde", "hat", "widehat"}
TAKE_ONE |= {"vec", "dot", "ddot", "sqrt"}


@pytest.mark.parametrize(
    "latex",
    [r"\phi_{3}(1850)^{+}", r"{\rm NR}", r"\overline{D}{}^{*0}", r"\text{<img/src=x>}", r"f_0(980)", r"\chi_{c1}'", r"\{\_\%\#\&\$\}", "ρ"],
)
def test_names_in_latex(latex):
    assert latex_problem(latex) == ""


@pytest.mark.parametrize(
    ("latex", "why"),
    [
        (r"\input{/etc/passwd}", r"\input is not among"),
        (r"\write18{ls}", r"\write is not among"),
        (r"\immediate\openin5=a", r"\immediate is not"),
        (r"\def\a{\a\a}\a", r"\def is not"),
        (r"\catcode`\%=12", r"\catcode is not"),
        (r"\href{javascript:a}{b}", r"\href is not"),
        (r"\end{tabular}", r"\end is not"),
        ("a \\\\ b", r"\\ is not"),
        ("a^^5cinput b", "^^ means"),
        ("a$b", "$ means"),
        ("a & b", "& means"),
        ("a % b", "% means"),
        ("a#1", "# means"),
        ("{a", "{ is never closed"),
        ("a}b{", "} has no {"),
        (r"\{a}", "} has no {"),
        ("{" * 9 + "}" * 9, "8 braces"),
        ("a" * 201, "201 characters"),
        ("a\nb", "cannot be printed"),
        ("a\x1b[31m", "cannot be printed"),
        (" ", "empty"),
        ("a\\", "is not among"),
    ],
)
def test_other_latex(latex, why):
    assert why in latex_problem(latex)
    plain = latex_of_text(latex.strip() or "a")
    assert set(re.findall(r"\\([A-Za-z]+|.)", plain)) <= COMMANDS
    assert "^^" not in plain
    assert text_of_latex(plain.removeprefix(r"\mathrm{").removesuffix("}")) in {latex, "a", latex.replace("\n", " ").replace("\x1b", "?")}


@pytest.mark.parametrize("command", sorted(COMMANDS - {"&"}))  # which matplotlib spells without a backslash: figure_label
def test_everybody_understands_these_commands(command):
    latex = rf"b\{command}" + ("{a}{b}" if command == "frac" else "{a}" if command in TAKE_ONE else " a")
    MathTextParser("path").parse(f"${latex}$")
    assert "\\" not in convert(latex).replace(r"<mi>\</mi>", "") or command == "backslash"


def test_text_and_back():
    text = string.printable[:95] + "".join("αβΓφΛΩ")
    assert text_of_latex(latex_of_text(text).removeprefix(r"\mathrm{").removesuffix("}")) == text
    assert [text_of_latex(rf"\{name} x") for name in sorted(GREEK)] != sorted(GREEK)
    assert all(len(text_of_latex(rf"\{name}")) == 1 for name in GREEK)
    assert text_of_latex(r"\unknown x") == r"\unknown x"


def test_labels():
    assert label_parts(r"a $b$ \$c $d$") == [("a ", False), ("b", True), (" $c ", False), ("d", True)]
    assert label_parts("a $ b") == [("a $ b", False)]
    assert label_problem(r"$M(K)$ [GeV$^{2}$] \input") == ""
    assert label_problem(r"a $\input{b}$") == r"\input is not among the commands for names"
    assert written_out(r"a $\input{b}$ \$") == r"a \input{b} \$"
    assert label_parts(written_out(r"a $\input{b}$")) == [(r"a \input{b}", False)]
