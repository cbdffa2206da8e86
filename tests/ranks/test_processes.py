"""Real processes that talk through gloo, and what becomes of a job when one of them does not go on."""

import json
import os
import re
import signal

import numpy as np
import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app
from ctpwa.fitting.checkpoint import Checkpoint
from kk_eta import THREE
from ranks.cases import MASS, model, toy
from ranks.jobs import Server, start, torchrun, wait_for

MODEL = (
    THREE
    + """couplings:
  phi(1680)[K+ K-] (1,1)(1,0): 1
  phi(3)(1850)[K+ K-] (3,3)(3,0): [90, 60]
  K(2)*(1430)+[K+ eta] (2,2)(2,0): [0, 12]
samples: {data: data.root, phase_space: {generate: 200, seed: 2, proposal: flat}}
fit: {engine: reference, starts: 1, start: {phi(1680).mass: 1.7}}
"""
)
OWN_SCRIPT = """
import numpy as np
import ctpwa
from ctpwa.cli.main import app

ranks = ctpwa.base.current_ranks()
analysis = ctpwa.load_analysis("model.yml")
like = analysis.likelihood()
result = analysis.fit(likelihood=like)
value, gradient, H = like.value_grad_hessian(like.start)
flat = ctpwa.generate_phase_space(analysis.model, 1, seed=3)
tiny = ctpwa.build_likelihood(analysis.model, flat, flat, engine="reference")
np.savez(f"rank{ranks.rank}.npz", x=result.x, nll=result.nll, value=value, gradient=gradient, hessian=H, covariance=result.covariance,
         tiny=tiny.value(tiny.start), own=sum(sample.n_events for sample in tiny.data.resident))
try:
    app(["fit", "wrong.yml"])
except SystemExit as end:
    assert end.code == 1
app(["fit", "model.yml", "--json"])
"""
LONG = "1e6"
# No limit of time is in use until a rank stops or a signal comes; then the others need not wait long to be sure.
BEGIN = """
import os, pathlib, signal, threading
from ctpwa.base import heartbeat
from ctpwa.cli import interrupt
from ctpwa.cli.commands import fit
from ctpwa.cli.main import app
from ctpwa.base.ranks import ProcessRanks

own_turn = os.environ["RANK"] == os.environ["WHO"]
trouble = heartbeat.Heartbeat.trouble

def soon(self):
    if pathlib.Path("stops").exists():
        self.silent_limit = 2.0
    return trouble(self)

def impatient(self):
    self.idle_limit = 1.0

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def stop():
    pathlib.Path("stops").touch()
    os.kill(os.getpid(), signal.SIGSTOP)

def do_nothing():
    threading.Event().wait()

heartbeat.Heartbeat.trouble, heartbeat.Heartbeat.be_quick = soon, impatient
"""
IN_THE_FIT = (
    BEGIN
    + """
real, seen = interrupt.BestPoint.__call__, []

def call(self, x, value):
    real(self, x, value)
    seen.append(value)
    if len(seen) == 2:
        if own_turn:
            WHAT()
        pathlib.Path("waits").touch()

interrupt.BestPoint.__call__ = call
app()
"""
)
IN_THE_END = (
    BEGIN
    + """
real = WHERE

def stops(*arguments):
    if own_turn:
        stop()
    real(*arguments)

WHERE = stops
app()
"""
)


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "model.yml").write_text(MODEL)
    ctpwa.write_events(tmp_path / "data.root", toy(100), model=model("fixed"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def job(server, folder):
    """Starts processes; what is left of them in the end is killed."""
    started = []

    def run(n, *arguments, **variables):
        started.extend(start(server, folder, n, *arguments, **variables, CTPWA_TIMEOUT=LONG))
        return started

    yield run
    for rank in started:
        rank.kill()


@pytest.fixture
def expected(folder):
    """What one process finds: likelihood and result."""
    analysis = ctpwa.load_analysis("model.yml")
    like = analysis.likelihood()
    return like, analysis.fit(likelihood=like)


def test_the_script_of_a_user(folder, job, expected):
    """Every rank gets the result of one process, to the last bit the same on all of them; one of them holds no event of a sample.

    The command line does the same, and one rank prints for all.
    """
    (folder / "own.py").write_text(OWN_SCRIPT)
    (folder / "wrong.yml").write_text(MODEL.replace("data.root", "nothing.root"))
    first, second = job(2, "own.py")
    codes = [first.wait(), second.wait()]
    errors = first.err + second.err
    assert codes == [0, 0], errors
    assert errors.count("there is no file 'nothing.root'") == 1
    assert errors.count("\n") == 2  # what is wrong, and what to do
    assert json.loads(first.out)["settings"]["ranks"] == 2
    assert second.out == ""
    ranks = [dict(np.load(f"rank{k}.npz")) for k in range(2)]
    assert sorted(int(rank.pop("own")) for rank in ranks) == [0, 1]
    for other in ranks[1:]:
        for name, value in ranks[0].items():
            np.testing.assert_array_equal(other[name], value, err_msg=name)
    like, result = expected
    value, gradient, H = like.value_grad_hessian(like.start)
    found = ranks[0]
    assert found["nll"] == pytest.approx(result.nll, rel=1e-10)
    assert ctpwa.FitResult.load("model.result.json").nll == found["nll"]
    assert (np.abs(found["x"] - result.x) < 1e-8 * result.errors).all()
    assert found["value"] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found["gradient"], gradient, rtol=1e-9, atol=1e-10 * np.abs(gradient).max())
    np.testing.assert_allclose(found["hessian"], H, rtol=1e-9, atol=1e-10 * np.abs(H).max())


SAVED = "the best point so far is in model.result.partial.json; continue with --resume\n"


def goes_on():
    """One process goes on from the best point of a job that has ended."""
    point = Checkpoint.load("model.result.partial.json")
    assert MASS in point.names
    assert not os.path.exists("model.result.json")
    assert CliRunner().invoke(app, ["fit", "model.yml", "--resume"]).exit_code == 0
    result = ctpwa.FitResult.load("model.result.json")
    expected = ctpwa.load_analysis("model.yml").fit(start=dict(zip(point.names, point.values, strict=True)))
    assert result.settings["resumed"]["nll"] == point.nll
    assert result.nll <= point.nll + 1e-9
    assert result.nll == pytest.approx(expected.nll, rel=1e-10)
    assert not os.path.exists("model.result.partial.json")


def test_a_rank_that_is_killed(folder, job):
    """The other one notices that its connection is closed: no limit of time is in use. One process goes on from the best point."""
    (folder / "dies.py").write_text(IN_THE_FIT.replace("WHAT", "die"))
    first, second = job(2, "dies.py", "fit", "model.yml", WHO="0")
    assert (first.wait(), second.wait()) == (-signal.SIGKILL, 1)
    assert "another process of this fit has ended or cannot be reached: rank 1 of 2 waited for it" in second.err
    assert SAVED in second.err
    goes_on()


def test_torchrun_when_a_rank_is_killed(folder):
    (folder / "dies.py").write_text(IN_THE_FIT.replace("WHAT", "die"))
    code, errors = torchrun(2, "dies.py", "fit", "model.yml", WHO="1", CTPWA_TIMEOUT=LONG)
    assert code == 1
    assert errors.count("another process of this fit has ended or cannot be reached") == 1, errors
    assert SAVED in errors
    assert MASS in Checkpoint.load("model.result.partial.json").names


@pytest.mark.parametrize(("who", "name"), [(1, "rank 1"), (0, "(rank 0|the first rank, or the torchrun that started it,)")])
def test_a_rank_that_is_stopped_in_the_fit(folder, job, who, name):
    """It cannot say anything; the other one says which it is, saves the best point, and ends. The first one keeps what ranks say."""
    (folder / "stops.py").write_text(IN_THE_FIT.replace("WHAT", "stop"))
    ranks = job(2, "stops.py", "fit", "model.yml", WHO=str(who))
    other = ranks[1 - who]
    assert other.wait() == 1
    assert re.match(f"{name} does not answer any more: stopped", other.err)
    assert other.err.endswith(SAVED)
    ranks[who].kill()
    assert ranks[who].code == -signal.SIGKILL
    assert MASS in Checkpoint.load("model.result.partial.json").names


@pytest.mark.parametrize(
    ("where", "message", "codes"),
    [
        ("fit._meet_others", "the result is in model.result.json, but rank 1 does not answer any more: stopped", {1}),
        (
            "ProcessRanks.leave",
            "all is done, but rank 1 does not answer any more: stopped",
            {0, 1},
        ),  # it may see that the other one is gone
    ],
)
def test_a_rank_that_is_stopped_in_the_end(folder, job, where, message, codes):
    """The result is written and printed; the first rank says who is missing and ends, with a code that makes torchrun end the other one.

    If that goes on after all it ends as well.
    """
    (folder / "stops.py").write_text(IN_THE_END.replace("WHERE", where))
    first, second = job(2, "stops.py", "fit", "model.yml", WHO="1")
    assert first.wait() == 1
    assert first.err.startswith(message)
    assert first.out.endswith("written to model.result.json\n")
    assert ctpwa.FitResult.load("model.result.json").settings["ranks"] == 2
    assert not (folder / "model.result.partial.json").exists()
    os.kill(second.pid, signal.SIGCONT)
    assert second.wait() in codes, second.err


def test_a_rank_that_waits_for_another_one_in_vain(folder, job):
    """Rank 1 is there, but nobody works: after a signal the other one ends, and the best point is saved."""
    (folder / "stuck.py").write_text(IN_THE_FIT.replace("WHAT", "do_nothing"))
    first, _ = job(2, "stuck.py", "fit", "model.yml", WHO="1")
    wait_for("waits")
    os.kill(first.pid, signal.SIGTERM)
    assert first.wait() == 1
    assert first.err.startswith("rank 1 does not make progress: no work was done for 1 s\n fix: ")
    assert first.err.endswith(SAVED)
    assert MASS in Checkpoint.load("model.result.partial.json").names


def test_a_command_that_fits_nothing_runs_in_one_process(folder, monkeypatch):
    for rank, lines in ((0, 1), (1, 0)):
        monkeypatch.setattr("ctpwa.base.ranks._current", None)
        for name, value in (("RANK", rank), ("WORLD_SIZE", 2), ("MASTER_ADDR", "localhost"), ("MASTER_PORT", 1)):
            monkeypatch.setenv(name, str(value))
        found = CliRunner().invoke(app, ["check", "model.yml"])
        assert found.exit_code == 0
        assert found.stderr.count("ctpwa check runs in one process: leave torchrun out") == lines
        assert bool(found.stdout) == (rank == 0)
    assert CliRunner().invoke(app, ["fit", "--nonsense"]).exit_code == 2  # wrong usage, which rank 0 explains
    assert CliRunner().invoke(app, ["fit", "--nonsense"]).output == ""


@pytest.mark.parametrize(("name", "value"), [("WORLD_SIZE", "abc"), ("WORLD_SIZE", "-2"), ("WORLD_SIZE", "²"), ("RANK", "1.5")])
def test_variables_that_make_no_sense(monkeypatch, name, value):
    variables = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"} | {name: value}
    for key, text in variables.items():
        monkeypatch.setenv(key, text)
    found = CliRunner().invoke(app, ["fit", "model.yml"])
    assert (found.exit_code, found.stdout) == (1, "")
    assert found.stderr.startswith(f"the environment variable {name} is {value!r}, not a whole number from ")


def test_a_port_that_nobody_listens_to(folder, monkeypatch):
    monkeypatch.setattr("ctpwa.base.ranks._current", None)
    for name, value in (("RANK", 1), ("WORLD_SIZE", 2), ("MASTER_ADDR", "localhost"), ("MASTER_PORT", 1), ("CTPWA_TIMEOUT", 1)):
        monkeypatch.setenv(name, str(value))
    with pytest.raises(ctpwa.CtpwaError, match=r"rank 1 of 2 cannot join the others at localhost:1: .*\n fix: check that all"):
        ctpwa.base.current_ranks()
    for wrong in ("soon", "0", "-1", "nan", "inf", "1e300"):
        monkeypatch.setenv("CTPWA_TIMEOUT", wrong)
        with pytest.raises(ctpwa.CtpwaError, match=f"CTPWA_TIMEOUT is '{wrong}'"):
            ctpwa.base.current_ranks()
