"""What a fit has found is neither lost nor replaced by something worse: kills, full disks, other fits, --resume and --force."""

import errno
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.base.locks import OutputLock
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings
from ctpwa.fitting.checkpoint import Checkpoint

RESULT, CHECKPOINT = "model.result.json", "model.result.partial.json"


def fit(*options, **settings):
    return CliRunner().invoke(app, ["fit", "model.yml", *options], obj=CommandSettings(**settings))


def files(folder):
    return sorted(path.name for path in folder.iterdir() if path.name not in ("model.yml", "data.npz"))


def load(name=RESULT):
    return ctpwa.FitResult.load(name)


@pytest.fixture
def stopped_in_the_search(at_step):
    """SIGTERM comes when the first start of a search has ended."""
    return lambda patch: at_step("search", lambda: os.kill(os.getpid(), signal.SIGTERM), done=1, patch=patch)


# --resume and --force


def test_a_good_result_survives_a_search_that_is_stopped(fitted, small, monkeypatch, stopped_in_the_search):
    before = (small / RESULT).read_bytes()
    with monkeypatch.context() as patch:
        stopped_in_the_search(patch)
        stopped = fit("--resume", "--starts", "5")
    assert stopped.exit_code == 130
    assert stopped.stderr == "interrupted: nothing better was found, and model.result.json is as it was; continue with --resume\n"
    assert (small / RESULT).read_bytes() == before
    assert str(fitted) in stopped.stdout
    assert files(small) == [RESULT, CHECKPOINT]
    left = 5 - len(Checkpoint.load(CHECKPOINT).journal.ends)
    assert 0 < left < 5
    again = fit("--resume", "--starts", "5")
    assert again.exit_code == 0
    assert f"search: continues with {left} of 5 starts left, seed 0\n" in again.stdout
    found = load()
    assert found.nll <= fitted.nll + 1e-9
    assert (found.n_starts, found.verdict.good) == (5, True)
    assert files(small) == [RESULT]


def test_an_interrupted_search_goes_on_without_being_told_how(small, monkeypatch, stopped_in_the_search):
    """A new fit: its best point is in the result, and what its starts found in the checkpoint."""
    with monkeypatch.context() as patch:
        stopped_in_the_search(patch)
        stopped = fit("--starts", "5", "--seed", "3")
    assert stopped.exit_code == 130
    assert stopped.stderr == "interrupted: model.result.json has the best point so far; continue with --resume\n"
    assert load().minima[0].nll == load().nll == min(minimum.nll for minimum in load().minima)
    assert files(small) == [RESULT, CHECKPOINT]
    assert fit("--resume").exit_code == 0
    assert files(small) == [RESULT]
    assert fit("--starts", "5", "--seed", "3", "-o", "whole.json").exit_code == 0
    found, expected = load(), load("whole.json")
    assert found.nll == pytest.approx(expected.nll, abs=1e-8)
    assert (np.abs(found.x - expected.x) < 1e-5 * expected.errors).all()
    assert [m.starts for m in found.minima] == [m.starts for m in expected.minima]
    assert (found.n_starts, found.settings["seed"]) == (5, 3)


def test_another_search_may_be_asked_for(small, monkeypatch, stopped_in_the_search):
    with monkeypatch.context() as patch:
        stopped_in_the_search(patch)
        fit("--starts", "5")
    again = fit("--resume", "--starts", "2")
    assert again.exit_code == 0
    assert "search: that of 5 starts with seed 0 is replaced by a new one\n" in again.stdout
    assert load().n_starts == 2


def test_force_keeps_a_result_that_is_better(fitted, small, monkeypatch):
    """Of the same model and samples; it gets another name."""
    for nll, names in ((fitted.nll + 1, ["model.result.better.json"]), (fitted.nll + 0.99, ["model.result.better.json"])):
        worse = replace(fitted, nll=nll)
        monkeypatch.setattr(ctpwa.Analysis, "fit", lambda *_, worse=worse, **__: worse)
        result = fit("--force")
        assert result.exit_code == 0
        assert files(small) == sorted([RESULT, *names])
    assert load("model.result.better.json") == fitted
    assert result.stderr == ""
    fitted.save(RESULT)
    result = fit("--force")
    assert result.stderr == (
        "the existing result is better by 0.99 in -ln L, for the same model and samples: it is now model.result.better2.json\n"
    )
    assert load("model.result.better2.json") == fitted


# kills


KILLED = """
import os, signal
import ctpwa.base.output
from ctpwa.cli.main import app
from ctpwa.cli.settings import CommandSettings

real, seen = os.fsync, []

def fsync(number):
    seen.append(1)
    if len(seen) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    real(number)

ctpwa.base.output.os.fsync = fsync
app(obj=CommandSettings(checkpoint_every=0.0))
"""


def test_a_search_that_is_killed_while_it_writes_goes_on(small):
    """Nothing is lost, and nothing that it had hidden stays."""
    command = [sys.executable, "-c", KILLED, "fit", "model.yml", "--starts", "6"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (-signal.SIGKILL, "")
    hidden = [name for name in files(small) if name.startswith(".")]
    assert len(hidden) == 2  # a lock that nobody holds, and half a checkpoint
    assert [name for name in files(small) if name not in hidden] == [CHECKPOINT]
    killed = Checkpoint.load(CHECKPOINT)
    assert killed.journal.starts == 6
    assert 0 < len(killed.journal.ends) < 6
    assert fit("--resume").exit_code == 0
    assert files(small) == [RESULT]
    assert fit("--starts", "6", "-o", "whole.json").exit_code == 0
    assert load().nll == pytest.approx(load("whole.json").nll, abs=1e-8)
    assert [m.starts for m in load().minima] == [m.starts for m in load("whole.json").minima]


# a full disk


def full(monkeypatch, *folders):
    """No room in some folders, or for some files."""
    real = os.replace

    def replaced(source, goal):
        if {Path(goal).resolve(), Path(goal).resolve().parent} & {folder.resolve() for folder in folders}:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, goal)

    monkeypatch.setattr("ctpwa.base.output.os.replace", replaced)


def test_a_result_for_which_there_is_no_room_is_printed_and_saved_elsewhere(small, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    full(monkeypatch, small)
    result = fit(elsewhere=elsewhere)
    assert result.exit_code == 1
    (place,) = elsewhere.iterdir()
    found = load(place)
    assert str(found) in result.stdout
    assert f"\nwritten to {place}\n" in result.stdout
    why, fix = result.stderr.splitlines()[-2:]
    assert why == "cannot write 'model.result.json': No space left on device"
    assert fix == f" fix: make room or check permissions, and move {place} there, which is the result"
    assert files(small) == []


def test_a_result_for_which_there_is_no_room_anywhere_is_printed(small, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    full(monkeypatch, small, elsewhere)
    result = fit("--json", elsewhere=elsewhere)
    assert result.exit_code == 1
    assert '"file": null' in result.stdout
    assert '"nll": ' in result.stdout
    assert result.stderr.endswith("; the result is only what is printed here\n")
    assert list(elsewhere.iterdir()) == []


def test_the_checkpoint_stays_until_the_result_is_written(small, monkeypatch):
    with monkeypatch.context() as patch:
        full(patch, small / RESULT)
        result = fit(checkpoint_every=0.0, elsewhere=small / "nowhere")
    assert result.exit_code == 1
    assert "its point is in model.result.partial.json, from which --resume continues" in result.stderr
    assert files(small) == [CHECKPOINT]
    assert fit("--resume").exit_code == 0
    assert files(small) == [RESULT]


# two fits at once


def test_two_fits_with_the_same_output(small):
    lock = OutputLock(Path(RESULT))
    lock.acquire()
    result = fit("--force")
    assert result.exit_code == 1
    who = f"process {os.getpid()} on {socket.gethostname()}, since "
    assert result.stderr.startswith(f"another fit is writing 'model.result.json': {who}")
    assert result.stderr.endswith("\n fix: wait until it has ended, or name another file with --out\n")
    assert files(small) == [f".{RESULT}.ctpwa-lock"]
    assert fit("-o", "other.json").exit_code == 0
    lock.release()
    assert fit().exit_code == 0
    assert files(small) == [RESULT, "other.json"]


def test_a_result_that_came_while_a_fit_waited_to_begin_is_not_overwritten(small, monkeypatch):
    """Both saw that nothing was there; the other one was quicker."""
    real = OutputLock.acquire

    def late(self):
        real(self)
        Path(RESULT).write_text("of the other fit")

    monkeypatch.setattr(OutputLock, "acquire", late)
    assert fit().exit_code == 1
    assert files(small) == [RESULT]
    assert Path(RESULT).read_text() == "of the other fit"


def test_file_systems_without_locks(small, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("ctpwa.base.locks.fcntl.flock", flock)
    result = fit()
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: the file system of model.result.json has no locks")
    assert files(small) == [RESULT]
