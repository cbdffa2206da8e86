"""Where the time of every command goes, as users run them: python benchmarks/commands.py [--events N] [--only fit,report]

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
from pathlib import Path
from typing import Any

from common import KK_ETA, hardware, print_table

PHASE = re.compile(r"^(\S.*?) +(\d+\.\d{3}) s +\d+\.\d %$", re.MULTILINE)
GOOD = 0, 3  # a fit whose verdict is not good is a fit


def commands(events: int, folder: Path) -> dict[str, list[str]]:
    """What is run, in this order: some need what others write."""
    model, result, other = (str(folder / name) for name in ("model.yml", "model.result.json", "other.result.json"))
    data, flat = (str(folder / name) for name in ("data.parquet", "flat.parquet"))
    return {
        "--version": ["--version"],
        "--help": ["--help"],
        "init": ["init", "J/psi(1S) -> K+ K- eta", "--out", str(folder / "proposed.yml")],
        "check --no-samples": ["check", model, "--no-samples"],
        "generate": ["generate", model, "-n", str(events), "--seed", "1", "-o", data],
        "generate --phase-space": ["generate", model, "--phase-space", "-n", str(5 * events), "--seed", "2", "-o", flat],
        "check": ["check", model],
        "fit, first": ["fit", model, "--starts", "1"],
        "fit": ["fit", model, "--starts", "1", "-o", other],
        "show": ["show", result],
        "compare": ["compare", result, other],
        "export": ["export", result, "--csv", str(folder / "tables")],
        "report": ["report", result],
    }


def run(name: str, arguments: list[str], env: dict[str, str]) -> dict[str, Any]:
    """One command and its phases."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "ctpwa", *([] if name.startswith("--") else ["--timing"]), *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    whole = time.perf_counter() - begin
    if done.returncode not in GOOD:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr}")
    phases = {phase: float(seconds) for phase, seconds in PHASE.findall(done.stderr)}
    return {"command": name, "whole": whole} | {phase: s for phase, s in phases.items() if phase != "all"}


def write_model(folder: Path) -> None:
    """The demonstration with its samples in this folder."""
    text = re.sub(r"^samples:\n(?:[ #].*\n|\n)*", "", KK_ETA.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (folder / "model.yml").write_text(text + "\nsamples: {data: data.parquet, phase_space: flat.parquet}\n", encoding="utf-8")


def main() -> None:
    """Run all of them, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000, help="of data; five times as many of phase space; default: 100000")
    parser.add_argument("--only", default="", help="some of the commands, separated by commas, and those they need; default: all")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ctpwa-commands-"))
    try:
        write_model(folder)
        (folder / "cache").mkdir()
        wanted = [name for name in arguments.only.split(",") if name]
        all_of_them = commands(arguments.events, folder)
        if unknown := [name for name in wanted if name not in all_of_them]:
            parser.error(f"unknown command {unknown[0]!r}; known are {', '.join(all_of_them)}")
        last = max(map(list(all_of_them).index, wanted), default=len(all_of_them) - 1)
        env = os.environ | {"CTPWA_CACHE": str(folder / "cache")}
        rows = [run(name, own, env) for name, own in list(all_of_them.items())[: last + 1]]
        print(f"{hardware('cpu')}, {arguments.events} + {5 * arguments.events} events, seconds")
        print_table("commands", [row for row in rows if not wanted or row["command"] in wanted])
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
