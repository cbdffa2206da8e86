"""The README does what it says."""

import re
import shlex
from pathlib import Path

import typer

from ctpwa.cli.main import app

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


def test_the_commands_can_be_given():
    lines = re.findall(r"^    ctpwa (.*?)(?:  +#.*)?$", README, re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["init", "check", "generate", "fit", "show", "report"]
    program = typer.main.get_command(app)
    for line in lines:
        name, command, arguments = program.resolve_command(typer.Context(program), shlex.split(line))
        command.make_context(name, arguments)


def test_the_figure_is_small():
    image = Path(__file__).parent.parent / "docs" / "images" / "dalitz.png"
    assert image.stat().st_size < 200_000
