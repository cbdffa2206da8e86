"""Real processes, started by torchrun, that talk through gloo."""

import json
import os
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import ctpwa
from ctpwa.cli.main import app
from ctpwa.results.checkpoint import Checkpoint
from ranks.cases import MASS, model, toy

MODEL = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1680):    {in: K+ K-, mass: 1.659, width: 0.164, float: mass}
  phi(3)(1850): {in: K+ K-}
  K(2)*(1430):  {in: [K+ eta, K- eta]}
couplings:
  phi(1680)[K+ K-] (1,1)(1,0): 1
  phi(3)(1850)[K+ K-] (3,3)(3,0): [90, 60]
  K(2)*(1430)+[K+ eta] (2,2)(2,0): [0, 12]
samples: {data: data.root, phase_space: {generate: 200, seed: 2}}
fit: {engine: reference, starts: 1, start: {phi(1680).mass: 1.7}}
"""
OWN_SCRIPT = """
import numpy as np
import ctpwa
from ctpwa.cli.main import app

ranks = ctpwa.current_ranks()
analysis = ctpwa.load_analysis("model.yml")
like = analysis.likelihood()
result = analysis.fit(likelihood=like)
value, gradient, H = like.value_grad_hessian(like.start)
flat = ctpwa.generate_phase_space(analysis.model, 1, seed=3)
tiny = ctpwa.Likelihood(analysis.model, flat, flat, engine="reference")
np.savez(f"rank{ranks.rank}.npz", x=result.x, nll=result.nll, value=value, gradient=gradient, hessian=H, covariance=result.covariance,
         tiny=tiny.value(tiny.start), own=sum(sample.n_events for sample in tiny.data.resident))
try:
    app(["fit", "wrong.yml"])
except SystemExit as end:
    assert end.code == 1
app(["fit", "model.yml", "--json"])
"""
DYING = """
import os, pathlib, signal, time
from ctpwa.cli import interrupt
from ctpwa.cli.main import app

real, seen = interrupt.BestPoint.__call__, []

def call(self, x, value):
    real(self, x, value)
    seen.append(value)
    if len(seen) == 2 and os.environ["RANK"] == os.environ["DIES"]:
        pathlib.Path("died").write_text(str(time.time()))
        os.kill(os.getpid(), signal.SIGKILL)

interrupt.BestPoint.__call__ = call
app()
"""
PATIENCE = 60.0  # seconds that a job may take in all, the start of its processes included
SECONDS = 20.0  # from the death of a rank to the end of all others


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "model.yml").write_text(MODEL)
    ctpwa.write_events(tmp_path / "data.root", toy(100), model=model("fixed"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def expected(folder):
    """What one process finds: likelihood and result."""
    analysis = ctpwa.load_analysis("model.yml")
    like = analysis.likelihood()
    return like, analysis.fit(likelihood=like)


def variables(**more):
    return os.environ | {"OMP_NUM_THREADS": "1"} | more


def torchrun(n, *arguments, **more):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={n}", *arguments]
    found = subprocess.run(command, capture_output=True, text=True, env=variables(**more), timeout=PATIENCE, check=False)
    return [(found.returncode, found.stdout, found.stderr)]


def started(n, *arguments, **more):
    """Processes without torchrun, as a batch system may start them."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    common = {"WORLD_SIZE": str(n), "MASTER_ADDR": "localhost", "MASTER_PORT": port} | more
    return [
        subprocess.Popen(
            [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables(RANK=str(k), **common)
        )
        for k in range(n)
    ]


def by_hand(n, *arguments, **more):
    """Exit code, output and errors of each of them."""
    processes = started(n, *arguments, **more)
    try:
        written = [process.communicate(timeout=PATIENCE) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, *both) for process, both in zip(processes, written, strict=True)]


def test_the_script_of_a_user(folder, expected):
    """Every rank gets the result of one process, to the last bit the same on all of them; one of them holds no event of a sample.

    The command line does the same, and one rank prints for all.
    """
    (folder / "own.py").write_text(OWN_SCRIPT)
    (folder / "wrong.yml").write_text(MODEL.replace("data.root", "nothing.root"))
    found = by_hand(2, "own.py")
    errors = "".join(stderr for _, _, stderr in found)
    assert [code for code, _, _ in found] == [0, 0], errors
    assert errors.count("there is no file 'nothing.root'") == 1
    assert errors.count("\n") == 2  # what is wrong, and what to do
    assert json.loads(found[0][1])["settings"]["ranks"] == 2
    assert [stdout for _, stdout, _ in found[1:]] == [""]
    ranks = [dict(np.load(f"rank{k}.npz")) for k in range(2)]
    assert sorted(int(rank.pop("own")) for rank in ranks) == [0, 1]
    for other in ranks[1:]:
        for name, value in ranks[0].items():
            np.testing.assert_array_equal(other[name], value, err_msg=name)
    like, result = expected
    value, gradient, H = like.value_grad_hessian(like.start)
    first = ranks[0]
    assert first["nll"] == pytest.approx(result.nll, rel=1e-10)
    assert ctpwa.FitResult.load("model.result.json").nll == first["nll"]
    assert (np.abs(first["x"] - result.x) < 1e-8 * result.errors).all()
    assert first["value"] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(first["gradient"], gradient, rtol=1e-9, atol=1e-10 * np.abs(gradient).max())
    np.testing.assert_allclose(first["hessian"], H, rtol=1e-9, atol=1e-10 * np.abs(H).max())


@pytest.mark.parametrize(("start", "dies"), [(by_hand, 0), (torchrun, 1)])
def test_a_rank_that_is_killed(folder, start, dies):
    """The job ends at once with a message and the best point, from which one process goes on."""
    (folder / "dying.py").write_text(DYING)
    begin = time.monotonic()
    found = start(2, "dying.py", "fit", "model.yml", DIES=str(dies))
    ended = time.time()
    errors = "".join(stderr for _, _, stderr in found)
    assert all(code != 0 for code, _, _ in found)
    assert errors.count("another process of this fit has ended or cannot be reached") == 1, errors
    assert "the best point so far is in model.result.partial.json; go on with --resume" in errors
    assert time.monotonic() - begin < PATIENCE
    assert ended - float((folder / "died").read_text()) < SECONDS
    assert not (folder / "model.result.json").exists()
    point = Checkpoint.load("model.result.partial.json")
    assert MASS in point.names
    assert CliRunner().invoke(app, ["fit", "model.yml", "--resume"]).exit_code == 0
    result = ctpwa.FitResult.load("model.result.json")
    expected = ctpwa.load_analysis("model.yml").fit(start=dict(zip(point.names, point.values, strict=True)))
    assert result.settings["resumed"]["nll"] == point.nll
    assert result.nll <= point.nll + 1e-9
    assert result.nll == pytest.approx(expected.nll, rel=1e-10)
    assert not (folder / "model.result.partial.json").exists()


STUCK = """
import os, pathlib, time
from ctpwa.cli import interrupt
from ctpwa.cli.main import app

real, interrupt.STUCK = interrupt.BestPoint.__call__, 1.0

def call(self, x, value):
    real(self, x, value)
    if os.environ["RANK"] == "1":
        time.sleep(600)
    pathlib.Path("waits").touch()

interrupt.BestPoint.__call__ = call
app()
"""


def test_a_rank_that_waits_for_another_one_in_vain(folder):
    """A signal ends it, although Python does not see signals while it waits; the best point is saved."""
    (folder / "stuck.py").write_text(STUCK)
    processes = started(2, "stuck.py", "fit", "model.yml")
    try:
        begin = time.monotonic()
        while not (folder / "waits").exists() and time.monotonic() - begin < PATIENCE:
            time.sleep(0.1)
        time.sleep(0.5)
        processes[0].terminate()
        _, errors = processes[0].communicate(timeout=SECONDS)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert processes[0].returncode == 1
    message = (
        "other processes of this fit do not answer any more\nthe best point so far is in model.result.partial.json; go on with --resume\n"
    )
    assert errors == message
    assert MASS in Checkpoint.load("model.result.partial.json").names


def test_a_command_that_fits_nothing_runs_in_one_process(folder, monkeypatch):
    for rank, lines in ((0, 1), (1, 0)):
        monkeypatch.setattr("ctpwa.ranks._current", None)
        for name, value in (("RANK", rank), ("WORLD_SIZE", 2), ("MASTER_ADDR", "localhost"), ("MASTER_PORT", 1)):
            monkeypatch.setenv(name, str(value))
        found = CliRunner().invoke(app, ["check", "model.yml"])
        assert found.exit_code == 0
        assert found.stderr.count("ctpwa check runs in one process: leave torchrun out") == lines
        assert bool(found.stdout) == (rank == 0)
    assert CliRunner().invoke(app, ["fit", "--nonsense"]).exit_code == 2  # wrong usage, which rank 0 explains
    assert CliRunner().invoke(app, ["fit", "--nonsense"]).output == ""


def test_a_port_that_nobody_listens_to(folder, monkeypatch):
    monkeypatch.setattr("ctpwa.ranks._current", None)
    for name, value in (("RANK", 1), ("WORLD_SIZE", 2), ("MASTER_ADDR", "localhost"), ("MASTER_PORT", 1), ("CTPWA_TIMEOUT", 1)):
        monkeypatch.setenv(name, str(value))
    with pytest.raises(ctpwa.CtpwaError, match=r"rank 1 of 2 cannot join the others at localhost:1: .*\n fix: check that all"):
        ctpwa.current_ranks()
    monkeypatch.setenv("CTPWA_TIMEOUT", "soon")
    with pytest.raises(ctpwa.CtpwaError, match="CTPWA_TIMEOUT is 'soon'"):
        ctpwa.current_ranks()
