"""Commands are found by themselves: the files of ctpwa, and what other packages register."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli import Command, main, register_command
from ctpwa.cli.command import all_commands, unregister_command
from ctpwa.cli.main import app, make_app
from ctpwa.cli.plugins import GROUP, load_plugins

FOLDER = Path(ctpwa.__file__).parent / "cli" / "commands"


def hello(name: str) -> None:
    """Say hello."""
    main.echo(f"hello {name}")


STUDIES = ["scan", "significance", "hypotheses", "search", "toys", "bootstrap", "systematics", "sample", "bins"]


@pytest.fixture
def registered():
    register_command("hello", Command(hello, "ctpwa hello you", exit_codes="4 nobody is there"))
    yield
    unregister_command("hello")


def test_every_file_is_a_command_in_its_place():
    assert set(all_commands()) == {file.stem for file in FOLDER.glob("[!_]*.py")}
    first, studies, last = ["init", "import", "check", "generate", "fit", "show", "report", "compare"], STUDIES, ["export", "demo"]
    assert list(all_commands()) == [*first, *studies, *last]
    assert len({command.place for command in all_commands().values()}) == len(all_commands())
    assert all(command.example.startswith(f"ctpwa {name} ") for name, command in all_commands().items())


def test_a_command_of_another_package(registered):
    program = make_app()
    assert CliRunner().invoke(program, ["hello", "world"]).stdout == "hello world\n"
    shown = CliRunner().invoke(program, ["hello", "--help"], env={"COLUMNS": "200"}).stdout
    assert "Example: ctpwa hello you" in shown
    assert "2 wrong usage, 4 nobody is there, 130 interrupted" in shown
    assert list(all_commands())[-1] == "hello"
    with pytest.raises(ctpwa.CtpwaError, match="a command 'hello' already exists\n fix: give it another name"):
        register_command("hello", Command(hello, "ctpwa hello"))


def test_packages_that_cannot_be_loaded_are_named_and_the_rest_works(monkeypatch, tmp_path):
    (tmp_path / "plugin_that_works.py").write_text("loaded = True\n")
    (tmp_path / "plugin_that_fails.py").write_text("raise ValueError('no \\x1b[31mluck')\n")
    monkeypatch.syspath_prepend(tmp_path)
    entries = [EntryPoint(name, f"plugin_that_{name}", GROUP) for name in ("fails", "works", "is_missing")]
    problems = load_plugins(entries)
    assert [problem.split(" is left out: ")[0] for problem in problems] == [
        f"'plugin_that_{name}' of package 'plugin_that_{name}'" for name in ("fails", "is_missing")
    ]
    monkeypatch.setattr(main, "load_plugins", lambda: problems)
    result = CliRunner().invoke(make_app(), ["--version"])
    assert result.exit_code == 0
    assert result.stdout == CliRunner().invoke(app, ["--version"]).stdout
    assert "is left out: no \\x1b[31mluck\n fix: update this package, or remove it" in result.stderr
