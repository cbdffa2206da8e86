"""Labels for drawings, and lines that differ."""

import pytest

from ctpwa.report.html.runs import Run, label_runs, plain_label
from ctpwa.report.palette import line_style


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (r"$M(K^{+}K^{-})$", "M(K⁺K⁻)"),
        (r"$\cos\theta_{K^{+}}(K^{+}\eta)$", "cos\u2009θ_K⁺(K⁺η)"),
        (r"GeV$^{2}$", "GeV²"),
        (r"$K_{2}^{*}(1430)$", "K₂*(1430)"),
        (r"$J/\psi(1S) \to \overline{p} p$", "J/ψ(1S) → p\u0304p"),
        (r"$\arg c$", "arg c"),
        (r"$\frac{<img src=x>$", r"\frac{<img src=x>"),
        ("100 $ and more", "100 $ and more"),
    ],
)
def test_labels_without_formulas(label, expected):
    assert plain_label(label) == expected


def test_scripts_are_higher_lower_and_smaller():
    assert label_runs(r"$K_{2}^{*}$ [GeV]") == [
        Run("K", 0.0, 1.0, True),
        Run("2", -0.22, 0.72, False),
        Run("*", 0.42, 0.72, False),
        Run(" [GeV]"),
    ]


def test_no_two_lines_are_alike():
    assert len({line_style(k) for k in range(128)}) == 128
    assert len({line_style(k)[0] for k in range(32)}) == 32
