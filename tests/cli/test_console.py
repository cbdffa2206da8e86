"""Errors, interruption, version and help: what all commands share."""

import os
import runpy
import signal
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli import console
from ctpwa.cli.console import Commands, print_json
from ctpwa.cli.main import app

runner = CliRunner()


def app_of(body):
    small = typer.Typer(cls=Commands, pretty_exceptions_enable=False)
    small.callback()(lambda: None)
    small.command("go")(body)
    return small


def test_an_error_of_ctpwa_ends_with_its_message_and_exit_code_1():
    def body():
        raise ctpwa.base.DataError("event 7 has no momentum\n fix: give it one")

    result = runner.invoke(app_of(body), ["go"])
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "event 7 has no momentum\n fix: give it one\n")


def test_that_nobody_reads_any_more_is_no_error(monkeypatch):
    """Of what is printed by others, such as help."""
    monkeypatch.setattr(console, "redirected_to_nowhere", lambda stream: None)

    def body():
        raise BrokenPipeError(32, "Broken pipe")

    result = runner.invoke(app_of(body), ["go"])
    assert (result.exit_code, result.stderr) == (0, "")


def test_an_error_of_the_program_is_not_hidden():
    def body():
        raise ZeroDivisionError

    assert isinstance(runner.invoke(app_of(body), ["go"]).exception, ZeroDivisionError)


def test_an_interruption_ends_with_one_line_and_exit_code_130():
    def body():
        raise KeyboardInterrupt

    result = runner.invoke(app_of(body), ["go"])
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted\n")


def test_ctrl_c_in_a_real_process():
    code = (
        "import typer, time\nfrom ctpwa.cli.console import Commands\napp = typer.Typer(cls=Commands)\n"
        "@app.callback()\ndef main(): pass\n"
        "@app.command()\ndef go():\n    print('ready', flush=True)\n    while True: time.sleep(1)\napp()"
    )
    process = subprocess.Popen([sys.executable, "-c", code, "go"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    os.kill(process.pid, signal.SIGINT)
    _, stderr = process.communicate()
    assert (process.returncode, stderr) == (130, "interrupted\n")


def test_version():
    assert runner.invoke(app, ["--version"]).stdout == f"ctpwa {ctpwa.__version__}\n"


def test_python_dash_m(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["ctpwa", "--version"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("ctpwa", run_name="__main__")
    assert (end.value.code, capsys.readouterr().out) == (0, f"ctpwa {ctpwa.__version__}\n")


def test_wrong_usage_is_exit_code_2():
    result = runner.invoke(app, ["chekc"])
    assert result.exit_code == 2
    assert "chekc" in result.stderr


@pytest.mark.parametrize("command", [command.name or command.callback.__name__ for command in app.registered_commands])
def test_every_command_has_help_with_an_example(command):
    result = runner.invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert f"Example: ctpwa {command}" in result.stdout
    assert "130 interrupted" in result.stdout


def test_json_has_no_numbers_that_json_does_not_have():
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"limit": float("inf")})
