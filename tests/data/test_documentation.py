"""What docs/samples.md shows is what is printed, and its numbers are those of the code."""

import re
import shutil
from pathlib import Path

import pytest

from ctpwa.data.checks import MASS_TOLERANCE, PARENT_TOLERANCE, ROUNDING, WIDTHS
from ctpwa.data.located import SUFFIXES
from ctpwa.data.momenta import LIGHT_CONE_TOLERANCE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "samples.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHOWN = [(code, BLOCKS[i + 1][1]) for i, (kind, code) in enumerate(BLOCKS[:-1]) if kind == "python" and BLOCKS[i + 1][0] == "text"]


@pytest.mark.parametrize(("code", "text"), SHOWN, ids=range(len(SHOWN)))
def test_examples_print_what_is_shown(code, text, tmp_path, monkeypatch, capsys):
    shutil.copy(ROOT / "examples" / "jpsi_kk_eta" / "model.yml", tmp_path / "model.yml")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "samples.md", "exec"), {})
    assert capsys.readouterr().out.startswith(text)


def test_there_are_two():
    assert len(SHOWN) == 2


def test_tolerances_are_those_of_the_page():
    assert f"nominal mass ± ({1000 * MASS_TOLERANCE:g} MeV + {WIDTHS:g} Γ)" in PAGE
    assert f"mass of the parent ± ({1000 * PARENT_TOLERANCE:g} MeV + {WIDTHS:g} Γ)" in PAGE
    assert (LIGHT_CONE_TOLERANCE, ROUNDING) == (1e-3, 1e-6)
    assert "|m²\\| ≤ 10⁻³ E²" in PAGE
    assert "off by 10⁻⁶ E²" in PAGE


def test_every_suffix_is_on_the_page():
    for suffix in SUFFIXES:
        assert f"`{suffix}`" in PAGE
