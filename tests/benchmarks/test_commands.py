"""benchmarks/commands.py: which commands are run, and that each has its line as soon as it is done."""

import importlib
import sys

import pytest

from conftest import ROOT


@pytest.fixture
def bench():
    """The benchmark as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield importlib.import_module("commands")
    for name in ("commands", "common"):
        sys.modules.pop(name, None)


def main(bench, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["commands.py", "--events", "10", *arguments])
    bench.main()


def test_what_a_command_needs_comes_before_it(bench, tmp_path):
    own = bench.commands(10, tmp_path)
    assert list(bench.chosen(own, ["report"])) == ["generate", "generate --phase-space", "fit, first", "report"]
    assert list(bench.chosen(own, ["compare"])) == ["generate", "generate --phase-space", "fit, first", "fit", "compare"]
    assert list(bench.chosen(own, ["--help", "init"])) == ["--help", "init"]
    assert list(bench.chosen(own, [])) == list(own)


def test_every_line_is_printed_when_it_is_done(bench, monkeypatch, capsys):
    """A command that fails still leaves the lines before it."""
    ran = []

    def run(name, arguments, env):
        ran.append((name, arguments[-2:]))
        if name == "report":
            raise SystemExit("failed")
        return 1.5, {"import": 1.0, "other": 0.001}

    monkeypatch.setattr(bench, "run", run)
    monkeypatch.setattr(bench, "hardware", lambda device: f"the name of {device}")
    with pytest.raises(SystemExit, match="failed"):
        main(bench, monkeypatch, "--only", "show,fit, first,report", "--device", "cuda:1")
    assert capsys.readouterr().out.splitlines() == [
        "the name of cuda:1, 10 + 50 events, seconds",
        "",
        "| command | whole | phases |",
        "| --- | --- | --- |",
        "| `fit, first` | 1.50 | import 1.00 |",
        "| `show` | 1.50 | import 1.00 |",
    ]
    computing = {name for name, last in ran if last == ["--device", "cuda:1"]}
    assert computing == {"generate", "generate --phase-space", "fit, first", "report"}


def test_an_unknown_command(bench, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        main(bench, monkeypatch, "--only", "reprot")
    assert "unknown command 'reprot'; known are --version, --help, init" in capsys.readouterr().err


def test_a_command_as_users_run_it(bench, monkeypatch, capsys):
    main(bench, monkeypatch, "--only", "check --no-samples", "--device", "cpu")
    assert capsys.readouterr().out.splitlines()[-1].startswith("| `check --no-samples` | ")
