"""Where the time of every command goes, as users run them: python benchmarks/commands.py [--events N] [--only fit,report] [--device cuda]

Each command is a process of its own with ``ctpwa --timing``; seconds by wall clock. ``whole`` is what the user waits for: more than all
phases together by what Python needs to start and to end. The model is the demonstration, J/psi -> K+ K- eta; kernels are compiled in the
first command that needs them, and then found on disk.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from common import KK_ETA, hardware

PHASE = re.compile(r"^(\S.*?) +(\d+\.\d{3}) s +\d+\.\d %$", re.MULTILINE)
LEAST = 0.005  # seconds of a phase that is printed
GOOD = 0, 3  # a fit whose verdict is not good is a fit


@dataclass(frozen=True)
class Timed:
    """A command that is timed.

    Attributes:
        arguments:  of ``ctpwa``
        needs:      the commands that write what it reads
        computes:   whether it takes ``--device``
    """

    arguments: list[str]
    needs: tuple[str, ...] = ()
    computes: bool = False


def commands(events: int, folder: Path) -> dict[str, Timed]:
    """What can be run, in this order."""
    model, result, other = (str(folder / name) for name in ("model.yml", "model.result.json", "other.result.json"))
    data, flat = (str(folder / name) for name in ("data.parquet", "flat.parquet"))
    samples = ("generate", "generate --phase-space")
    fitted = (*samples, "fit, first")
    return {
        "--version": Timed(["--version"]),
        "--help": Timed(["--help"]),
        "init": Timed(["init", "J/psi(1S) -> K+ K- eta", "--out", str(folder / "proposed.yml")]),
        "check --no-samples": Timed(["check", model, "--no-samples"]),
        "generate": Timed(["generate", model, "-n", str(events), "--seed", "1", "-o", data], computes=True),
        "generate --phase-space": Timed(
            ["generate", model, "--phase-space", "-n", str(5 * events), "--seed", "2", "-o", flat], computes=True
        ),
        "check": Timed(["check", model], samples),
        "fit, first": Timed(["fit", model, "--starts", "1"], samples, computes=True),
        "fit": Timed(["fit", model, "--starts", "1", "-o", other], fitted, computes=True),
        "show": Timed(["show", result], fitted),
        "compare": Timed(["compare", result, other], (*fitted, "fit")),
        "export": Timed(["export", result, "--csv", str(folder / "tables")], fitted, computes=True),
        "report": Timed(["report", result], fitted, computes=True),
    }


def chosen(all_of_them: Mapping[str, Timed], wanted: Collection[str]) -> dict[str, Timed]:
    """The commands that are wanted and those that they need, in their order; nothing wanted is all."""
    if not wanted:
        return dict(all_of_them)
    needed = {*wanted, *(name for own in wanted for name in all_of_them[own].needs)}
    return {name: timed for name, timed in all_of_them.items() if name in needed}


def run(name: str, arguments: list[str], env: Mapping[str, str]) -> tuple[float, dict[str, float]]:
    """Seconds of one command, and those of its phases, the longest first."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "ctpwa", *([] if name.startswith("--") else ["--timing"]), *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    whole = time.perf_counter() - begin
    if done.returncode not in GOOD:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr}")
    phases = {phase: float(seconds) for phase, seconds in PHASE.findall(done.stderr) if phase != "all"}
    return whole, dict(sorted(phases.items(), key=lambda item: -item[1]))


def print_row(*cells: str) -> None:
    """One line of the table, at once: the next one may take minutes."""
    print(f"| {' | '.join(cells)} |", flush=True)


def write_model(folder: Path) -> None:
    """The demonstration with its samples in this folder."""
    text = re.sub(r"^samples:\n(?:[ #].*\n|\n)*", "", KK_ETA.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (folder / "model.yml").write_text(text + "\nsamples: {data: data.parquet, phase_space: flat.parquet}\n", encoding="utf-8")


def main() -> None:
    """Run them, and print a line of the table for each as soon as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000, help="of data; five times as many of phase space; default: 100000")
    parser.add_argument("--only", default="", help="some of the commands, separated by commas; what these need is run before; default: all")
    parser.add_argument(
        "--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cpu or cuda; default: a GPU if there is one"
    )
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ctpwa-commands-"))
    try:
        all_of_them = commands(arguments.events, folder)
        wanted = [name.strip() for name in re.split(r",(?! first)", arguments.only) if name.strip()]
        if unknown := [name for name in wanted if name not in all_of_them]:
            parser.error(f"unknown command {unknown[0]!r}; known are {', '.join(all_of_them)}")
        write_model(folder)
        (folder / "cache").mkdir()
        env = os.environ | {"CTPWA_CACHE": str(folder / "cache")}
        print(f"{hardware(arguments.device)}, {arguments.events} + {5 * arguments.events} events, seconds\n", flush=True)
        print_row("command", "whole", "phases")
        print_row("---", "---", "---")
        for name, timed in chosen(all_of_them, wanted).items():
            device = ["--device", arguments.device] if timed.computes else []
            whole, phases = run(name, [*timed.arguments, *device], env)
            if not wanted or name in wanted:
                print_row(f"`{name}`", f"{whole:.2f}", ", ".join(f"{phase} {s:.2f}" for phase, s in phases.items() if s >= LEAST))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
