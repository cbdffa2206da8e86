"""Nothing that is printed steers the terminal, and nothing about the terminal ends in a traceback."""

import ast
import io
import json
import os
import subprocess
import sys
import warnings
from contextlib import ExitStack, redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

import ctpwa
from ctpwa.base.errors import on_one_line, printable
from ctpwa.base.progress import Progress
from ctpwa.cli import console, streams
from ctpwa.cli.console import Commands, SafeConsole, echo, print_json
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings
from fitting.made_up import make_result

PACKAGE = Path(ctpwa.__file__).parent
# colours, title of the window, cursor, clearing, C1, carriage return, backspace, bell, bidi, separators, zero width, surrogates, NUL
HOSTILE = "\x1b[31mX\x1b]0;t\x07\x9b2J\r\b\x7f\0\u202e\u2066\u2028\u200b\ufeff\udc80\U000e0041[red]Y[/red][link=http://z]"
STEERING = [letter for letter in HOSTILE if not letter.isprintable()]
runner = CliRunner()


def is_safe(text):
    return not [letter for letter in text if letter in STEERING]


def app_of(body):
    small = typer.Typer(cls=Commands, pretty_exceptions_enable=False)
    small.callback()(lambda: None)
    small.command("go")(body)
    return small


class TestTexts:
    def test_control_characters_are_shown(self):
        assert printable("a\x1b[31m\r\x9b\u202e\udc80") == r"a\x1b[31m\r\x9b\u202e\udc80"
        assert is_safe(printable(HOSTILE))
        assert "[red]Y[/red]" in printable(HOSTILE)

    def test_what_can_be_read_stays(self):
        text = "J/ψ → K⁺ K⁻ η: 1.0 ± 0.1\u00a0σ, 99\u202f812, Λ 日本\n\tline"
        assert printable(text) == text
        assert on_one_line("a\nb\tc") == r"a\nb\tc"

    @pytest.mark.parametrize("kind", [ctpwa.CtpwaError, ctpwa.base.DataError, ctpwa.base.PhysicsError])
    def test_messages_of_errors(self, kind):
        assert is_safe(str(kind(f"no such file {HOSTILE}")))

    def test_a_result_in_python(self):
        result = make_result()
        first = replace(result.parameters[0], name=f"{HOSTILE}\nverdict: good")
        result = replace(result, decay=HOSTILE, parameters=(first, *result.parameters[1:]), model_file=HOSTILE)
        assert is_safe(str(result))
        assert "\nverdict: good" not in str(result)  # a name does not begin a line
        assert is_safe(str(ctpwa.compare([result, result], names=["a", HOSTILE])))


def test_everything_is_printed_by_the_console():
    """No other way to the terminal is used in the commands."""
    wrong = []
    for path in (PACKAGE / "cli").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            call = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if call in ("typer.echo", "typer.secho", "print", "rich.print", "Console", "sys.stdout.write", "sys.stderr.write"):
                wrong.append(f"{path.name}:{node.lineno} {call}")
    assert not wrong


def test_consoles_show_control_characters_and_markup(monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    table = Table(title=HOSTILE)
    table.add_column(Text(HOSTILE))
    table.add_row(Text(HOSTILE, style="bold"))
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogatepass")) as stream:
        for shown in (HOSTILE, Text(HOSTILE), table, Text.assemble((HOSTILE, "red"), HOSTILE)):
            SafeConsole().print(shown)
    stream.flush()
    text = stream.buffer.getvalue().decode("utf-8", "surrogatepass")
    assert is_safe(text)
    assert text.count("[red]Y[/red][link=http://z]") >= 5


def test_no_bar_without_a_terminal(capsys):
    """However long it takes."""
    with Progress("read", 3, patience=0.0) as bar:
        bar.advance(3)
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colours_are_still_colours(monkeypatch):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with redirect_stdout(Terminal()) as stream:
        SafeConsole().print(Text("good \x1b[32m", style="bold red"))
    assert "\x1b[1;31mgood \\x1b[32m\x1b[0m" in stream.getvalue()


def test_json_is_ascii_and_comes_back(capsys):
    print_json({"name": HOSTILE, "σ": "±"})
    text = capsys.readouterr().out
    assert text.isascii()
    assert is_safe(text)
    assert json.loads(text) == {"name": HOSTILE, "σ": "±"}


def test_titles_of_progress_bars(capsys):
    with Progress(f"read {HOSTILE}", 3, show=True) as bar:
        bar.advance(1)
        bar.describe(f"fit {HOSTILE}")
    text = capsys.readouterr().err
    assert "read" in text or "fit" in text
    assert is_safe(text)


@pytest.mark.parametrize(
    "arguments",
    [[HOSTILE], ["show", f"--{HOSTILE}"], ["show"], ["fit", "m.yml", "--starts", HOSTILE], ["fit", "m.yml", "--method", HOSTILE]],
)
def test_wrong_usage(arguments):
    result = runner.invoke(app, [argument.replace("\0", "") for argument in arguments])
    assert result.exit_code == 2
    assert is_safe(result.stderr)


@pytest.mark.parametrize("command", ["show", "check", "fit", "report", "compare", "export"])
def test_names_of_files_that_are_not_there(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = HOSTILE.replace("\0", "").replace("/", "")
    more = {"compare": [name], "export": ["--csv", "csv"]}.get(command, [])
    result = runner.invoke(app, [command, name, *more])
    assert (result.exit_code, result.stdout) == (1, "")
    assert is_safe(result.stderr)
    assert "[red]Y" in result.stderr


# terminals that do not have every letter


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("ascii", "J/psi -> K+ K- 1 +- 2 sigma Lambda \\u65e5 ... 0"), ("latin-1", "J/psi -> K+ K- 1 ± 2 sigma Lambda \\u65e5 ... 0")],
)
def test_letters_that_a_terminal_does_not_have(encoding, text):
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding=encoding)) as stream, streams.prepared_streams(pytest.fail):
        echo("J/ψ → K⁺ K⁻ 1 ± 2 σ Λ 日 … ⁰")
    assert stream.buffer.getvalue().decode(encoding) == f"{text}\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize("terminal", [False, True])
def test_a_result_on_such_a_terminal(tmp_path, encoding, terminal):
    make_result().save(tmp_path / "r.json")
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding=encoding)) as stream, pytest.raises(SystemExit) as end:
        app(["show", str(tmp_path / "r.json"), "--waves", "--correlations"], obj=CommandSettings(terminal=terminal))
    assert end.value.code == 0
    shown = stream.buffer.getvalue().decode(encoding)
    assert "J/psi(1S) -> K+ K- eta" in shown
    assert "phi(1680).mass" in shown


# streams that are not there


class Gone(io.StringIO):
    """A stream whose reader has gone, or whose disk is full."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def write(self, text):
        raise self.error

    def fileno(self):
        return self.file.fileno()


@pytest.fixture
def gone(tmp_path):
    with open(tmp_path / "stdout", "w") as file, ExitStack() as stack:

        def make(error):
            stream = Gone(error)
            stream.file = file
            stack.enter_context(redirect_stdout(stream))

        yield make


def test_a_reader_that_has_gone_does_not_stop_the_work(gone):
    gone(BrokenPipeError(32, "Broken pipe"))
    done = []
    echo("one")
    console.out().print("two")
    done.append("three")
    assert done == ["three"]


def test_a_full_disk_is_an_error(gone):
    gone(OSError(28, "No space left on device"))
    with pytest.raises(ctpwa.CtpwaError, match="cannot print: No space left on device\n fix: "):
        echo("one")
    with pytest.raises(ctpwa.CtpwaError, match="cannot print: No space left on device\n fix: "):
        console.out().print("one")


@pytest.mark.parametrize("terminal", [False, True])
def test_no_streams_at_all(tmp_path, monkeypatch, terminal):
    make_result().save(tmp_path / "r.json")
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    with pytest.raises(SystemExit) as end:
        app(["show", str(tmp_path / "r.json")], obj=CommandSettings(terminal=terminal))
    opened = sys.stdin, sys.stdout, sys.stderr
    assert end.value.code == 0
    assert [stream.name for stream in opened] == [os.devnull] * 3
    for stream in opened:
        stream.close()


def test_real_processes(tmp_path):
    """A pipe that is closed after one line, closed streams, a full disk, variables that make no sense; one shell for all."""
    make_result().save(tmp_path / "r.json")
    script = """
import os, subprocess, sys
from ctpwa.cli.main import app
def run(prepare, **variables):
    child = os.fork()
    if not child:
        os.environ.update(variables)
        prepare()
        status = 1
        try:
            app(["show", "r.json"])
        except SystemExit as end:
            status = end.code
        try:
            sys.stdout is None or sys.stdout.flush()
        except OSError:
            status = 120
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
def pipe():
    read, write = os.pipe()
    os.close(read)
    os.dup2(write, 1)
def full():
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
def closed():
    os.close(1)
for prepare, variables in [(pipe, {}), (full, {}), (closed, {}),
    (lambda: None, {"WORLD_SIZE": "abc", "RANK": "0", "MASTER_ADDR": "x", "MASTER_PORT": "1"})]:
    print(run(prepare, **variables), file=sys.stderr, flush=True)
"""
    bare = {key: value for key, value in os.environ.items() if key not in ("HOME", "TERM", "COLUMNS")}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, env=bare | {"COLUMNS": "0"})
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    assert [line for line in lines if line.isdigit()] == ["0", "1", "1", "1"]
    assert "cannot print: No space left on device" in lines
    assert "cannot print: Bad file descriptor" in lines
    assert "the environment variable WORLD_SIZE is 'abc', not a whole number from 1 to 2147483647" in lines


@pytest.mark.parametrize("name", streams.SIZES)
@pytest.mark.parametrize("value", ["0", "abc", "-5", "", "99999999999", "²"])
def test_sizes_that_no_terminal_has(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    result = runner.invoke(app, ["show", "--help"])
    assert result.exit_code == 0
    assert "ctpwa show model.result.json" in " ".join(result.stdout.split())
    assert name not in os.environ


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("WORLD_SIZE", value) for value in ("abc", "0", "1e3", "", "9" * 50)),
        *(("RANK", value) for value in ("x", "-1", "2", "²", HOSTILE.replace("\0", ""))),
    ],
)
def test_variables_of_torchrun(monkeypatch, name, value):
    good = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    for key, text in (good | {name: value}).items():
        monkeypatch.setenv(key, text)
    result = runner.invoke(app, ["show", "r.json"])
    assert result.exit_code == 1
    assert f"the environment variable {name} is " in result.stderr
    assert f"\n fix: let torchrun set it, or unset it:  unset {name}\n" in result.stderr
    assert is_safe(result.stderr)


def test_a_file_that_nobody_looked_at_before():
    def body():
        open("no/such/file")  # noqa: SIM115

    result = runner.invoke(app_of(body), ["go"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "'no/such/file': No such file or directory\n fix: check paths, permissions and free space\n"


def test_warnings_of_ours_are_lines_and_those_of_libraries_are_not_printed(monkeypatch):
    monkeypatch.setattr(sys, "warnoptions", [])

    def body():
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn_explicit(f"of ours {HOSTILE}", UserWarning, str(PACKAGE / "engine" / "stream.py"), 1)
            warnings.warn_explicit("of a library", UserWarning, "/site-packages/torch/x.py", 1)

    result = runner.invoke(app_of(body), ["go"])
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: of ours ")
    assert len(result.stderr.splitlines()) == 1
    assert is_safe(result.stderr)
    assert warnings.showwarning is not None
