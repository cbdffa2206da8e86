"""Jobs of several real processes, and what they did.

They are forked from one that has imported everything, so that a job starts at once, and end as any program does. Nothing here depends on
how fast they are: a test waits for what they do. ``LAST_RESORT`` only keeps a broken program from hanging for ever.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

LAST_RESORT = 900.0  # seconds
SERVER = """
import json, os, runpy, signal, sys, time
import awkward, scipy.optimize, sympy, torch.distributed, uproot
import ctpwa, ctpwa.cli.main

def wait(pid, seconds):
    end = time.monotonic() + seconds
    while not (found := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    return os.waitstatus_to_exitcode(found[1])

while line := os.read(0, 1 << 20):
    job = json.loads(line)
    if "wait" in job:
        print(wait(**job["wait"]), flush=True)
        continue
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        continue
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(job["folder"])
    os.environ.update(job["variables"])
    for number, name in ((1, job["out"]), (2, job["err"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = job["arguments"]
    runpy.run_path(sys.argv[0], run_name="__main__")
    break
"""


class Server:
    """The process that all others are forked from."""

    def __init__(self):
        command = [sys.executable, "-c", SERVER]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=one_thread())

    def ask(self, **job):
        """The number that it answers."""
        print(json.dumps(job), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self):
        """End it."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class Rank:
    """One process of a job.

    Attributes:
        pid:   its number
        code:  its exit code, once it has ended
    """

    def __init__(self, server, folder, arguments, variables):
        self._server, self._out, self._err = server, folder / f".out{variables['RANK']}", folder / f".err{variables['RANK']}"
        self.code = None
        job = {"folder": str(folder), "arguments": list(arguments), "variables": variables}
        self.pid = server.ask(**job, out=str(self._out), err=str(self._err))

    def wait(self):
        """Wait for its end."""
        if self.code is None:
            self.code = self._server.ask(wait={"pid": self.pid, "seconds": LAST_RESORT})
        return self.code

    def kill(self):
        """End it if it has not ended."""
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()

    @property
    def out(self):
        """What it has printed."""
        return self._out.read_text()

    @property
    def err(self):
        """What it has said."""
        return self._err.read_text()


def start(server, folder, n, *arguments, **variables):
    """``n`` processes without torchrun, as a batch system may start them."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    common = {"WORLD_SIZE": str(n), "MASTER_ADDR": "localhost", "MASTER_PORT": port} | variables
    return [Rank(server, folder, arguments, {"RANK": str(k)} | common) for k in range(n)]


def torchrun(n, *arguments, **variables):
    """Exit code and errors of torchrun and all that it starts."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={n}", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=one_thread() | variables, start_new_session=True) as process:
        try:
            _, errors = process.communicate(timeout=LAST_RESORT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, errors


def one_thread():
    """Variables of a process that computes in one thread."""
    return os.environ | {"OMP_NUM_THREADS": "1"}


def wait_for(path):
    """Wait until a process has made a file."""
    end = time.monotonic() + LAST_RESORT
    while not Path(path).exists():
        assert time.monotonic() < end, f"no process made {path}"
        time.sleep(0.02)
