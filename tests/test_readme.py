"""The README does what it says."""

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_it_starts_with_the_two_commands():
    assert README.split("\n\n")[1] == "    make demo\n    make test"


def test_the_python_example_prints_what_is_shown(capsys):
    (code,) = blocks("python")
    (shown,) = blocks("text")
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == shown


def test_the_figure_is_small():
    image = Path(__file__).parent.parent / "docs" / "images" / "dalitz.png"
    assert image.stat().st_size < 200_000
