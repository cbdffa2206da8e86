"""The numbers of docs/samples.md are those of the code; tests/docs/test_pages.py runs its examples."""

from pathlib import Path

from ctpwa.data.checks import MASS_TOLERANCE, PARENT_TOLERANCE, ROUNDING, WIDTHS
from ctpwa.data.located import SUFFIXES
from ctpwa.data.momenta import LIGHT_CONE_TOLERANCE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "samples.md").read_text(encoding="utf-8")


def test_tolerances_are_those_of_the_page():
    assert f"nominal mass ± ({1000 * MASS_TOLERANCE:g} MeV + {WIDTHS:g} Γ)" in PAGE
    assert f"mass of the parent ± ({1000 * PARENT_TOLERANCE:g} MeV + {WIDTHS:g} Γ)" in PAGE
    assert (LIGHT_CONE_TOLERANCE, ROUNDING) == (1e-3, 1e-6)
    assert "|m²\\| ≤ 10⁻³ E²" in PAGE
    assert "off by 10⁻⁶ E²" in PAGE


def test_every_suffix_is_on_the_page():
    for suffix in SUFFIXES:
        assert f"`{suffix}`" in PAGE
