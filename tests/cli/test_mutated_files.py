"""Files of results in which anything may be wrong: every command answers, or refuses with one message; what it believes is harmless."""

import json
from contextlib import chdir

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import ctpwa
from cli.mutations import damage, mutate, unchanged
from ctpwa.cli.main import app
from ctpwa.fitting.result import checksum

COMMANDS = [
    ["show", "bad.json", "--waves", "--correlations"],
    ["show", "bad.json", "--json"],
    ["compare", "good.json", "bad.json"],
    ["compare", "bad.json", "good.json", "--other-samples"],
    ["export", "bad.json", "--latex", "tex", "--csv", "csv", "--no-projections", "--force"],
]
OURS = settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="session")
def folder(_small_result, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mutated")
    _small_result.save(folder / "good.json")
    return folder


def make_bad(folder, random):
    """A bad file, half of them with a right checksum; what was changed and the content, None if it is no JSON."""
    good = json.loads((folder / "good.json").read_text(encoding="utf-8"))
    if random.random() < 0.2:
        (folder / "bad.json").write_bytes(damage((folder / "good.json").read_text(encoding="utf-8"), random))
        return good, None, []
    bad, changed = mutate(good, random)
    if random.random() < 0.6:
        bad["sha256"] = checksum(bad)
    (folder / "bad.json").write_text(json.dumps(bad, indent=1), encoding="utf-8")
    return good, bad, changed


def check_load(folder, random):
    """Load a bad file; what became of it."""
    good, bad, changed = make_bad(folder, random)
    try:
        loaded = ctpwa.FitResult.load(folder / "bad.json")
    except ctpwa.CtpwaError as error:
        message = str(error)
        assert "\n fix: " in message
        assert len(message) < 1500
        assert "".join(message.split("\n")).isprintable()
        return "changed" if "was changed after" in message else "contradicts" if "not a complete result" in message else "no result"
    if bad is None or json.loads(json.dumps(bad)) == good:
        assert loaded == ctpwa.FitResult.load(folder / "good.json")
        return "the same"
    for path in changed:
        assert unchanged(path, good, bad), path
    return "allowed"


def check_commands(folder, random):
    """Run commands with a bad file; the outcome of each."""
    make_bad(folder, random)
    outcomes = []
    with chdir(folder):
        for arguments in COMMANDS:
            result = CliRunner().invoke(app, arguments)
            assert result.exception is None or isinstance(result.exception, SystemExit), (arguments, result.exception)
            assert result.exit_code in (0, 1)
            assert all(letter.isprintable() or letter == "\n" for letter in result.output), arguments
            assert ("\n fix: " in result.stderr) == (result.exit_code == 1)
            outcomes.append(f"{arguments[0]} {'refused' if result.exit_code else 'answered'}")
    return outcomes


@settings(OURS, max_examples=150)
@given(random=st.randoms(use_true_random=False))
def test_a_mutated_file_is_refused_or_harmless(folder, random):
    check_load(folder, random)


@settings(OURS, max_examples=15)
@given(random=st.randoms(use_true_random=False))
def test_commands_with_a_mutated_file(folder, random):
    check_commands(folder, random)
