"""Kills every study at random moments, starts it again until it is done, and looks at what is left.

    python benchmarks/kill_studies.py [--kills 20] [--only toys,scan] [--seed 0]

A small fit of three resonances. Every study runs undisturbed once; then its processes are killed (SIGKILL), the same command is given
again, and so on. A fit that had ended must be in the file ever after, with the seconds that it took then: so nothing is lost, and nothing
done twice. In the end all numbers must be those of the undisturbed run, and no hidden file may be left. Kills that come before the first
fit has ended count as well.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from typer.testing import CliRunner

import ctpwa
from common import print_table
from ctpwa.cli.main import app
from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.store import read_study

MODEL = """decay: J/psi(1S) -> K+ K- eta
polarisation: transverse
resonances:
  phi(1680):    {in: K+ K-, mass: 1.68, width: 0.15, float: mass}
  phi(3)(1850): {in: K+ K-}
  K(2)*(1430):  {in: [K+ eta, K- eta]}
samples: {data: data.npz, phase_space: {generate: 3000, seed: 2}}
fit: {engine: reference, starts: 1}
"""
TRUTH = {
    "phi(1680)[K+ K-] (1,1)(1,0)": 1,
    "phi(3)(1850)[K+ K-] (3,3)(3,0)": 100 + 150j,
    "K(2)*(1430)+[K+ eta] (2,2)(2,0)": 12 - 6j,
}
VARIATIONS = """- {name: width, shift: {phi(1680).width: 0.01}}
- {name: radius, up: {radius: 4.0}, down: {radius: 2.0}}
"""
STUDIES: Mapping[str, Sequence[str]] = {
    "toys": ("toys", "-n", "12"),
    "bootstrap": ("bootstrap", "-n", "12"),
    "scan": ("scan", "phi(1680).mass", "--points", "9", "--sigmas", "2"),
    "scan of a fraction": ("scan", "fraction(phi(3)(1850))", "--points", "7", "--sigmas", "1"),
    "scan of two": ("scan", "phi(1680).mass", "phase(phi(3)(1850), phi(1680))", "--points", "4", "--sigmas", "1"),
    "sample": ("sample", "-n", "30", "--chains", "2", "--warm-up", "20"),
    "significance": ("significance", "--toys", "3", "--starts", "2"),
    "hypotheses": ("hypotheses", "phi(3)(1850)", "--jp", "1-", "--toys", "2", "--starts", "2"),
    "search": ("search", "--add", "X: {in: K+ K-, JP: 1-, mass: 1.9, width: 0.1}", "--add", "K(3)*(1780)", "--starts", "2"),
    "mass scan": ("search", "--scan", "X: 1- in K+ K-, mass 1.4..2.2/8, width 0.1", "--refit", "4", "--toys", "2", "--starts", "1"),
    "selection": ("search", "--select", "aic", "--add", "X: {in: K+ K-, JP: 1-, mass: 1.9, width: 0.1}", "--starts", "1"),
    "systematics": ("systematics", "variations.yml", "--starts", "2"),
    "bins": ("bins", "--in", "mass(K+, K-): 1.0..2.4/4", "--starts", "2", "--bootstrap", "3"),
}


def make_fit(folder: Path, n_events: int) -> int:
    """Write a model, its data, and its result; gives 0."""
    (folder / "model.yml").write_text(MODEL, encoding="utf-8")
    (folder / "variations.yml").write_text(VARIATIONS, encoding="utf-8")
    model = ctpwa.load_model(folder / "model.yml")
    events = ctpwa.generate_toy(model, n_events, seed=7, couplings=TRUTH, engine="reference", progress=False)
    ctpwa.write_events(folder / "data.npz", events, model=model)
    result = ctpwa.load_analysis(folder / "model.yml").fit(progress=False)
    if not result.verdict.good:
        raise SystemExit(f"the fit to study did not end good: {result.verdict}")
    result.save(folder / "model.result.json")
    return 0


def forked(work: Callable[[], int]) -> int:
    """The number of a process, and group of processes, that does something and ends with the code it gives."""
    number = os.fork()
    if number:
        return number
    code = 1
    try:
        os.setsid()
        torch.set_num_threads(1)
        code = work()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def started(words: Sequence[str], path: Path) -> int:
    """A process that runs a command of ctpwa."""

    def run() -> int:
        result = CliRunner().invoke(app, [words[0], "model.result.json", *words[1:], "-o", str(path)])
        if result.exit_code:
            print(result.output, file=sys.stderr, flush=True)
        return result.exit_code

    return forked(run)


def ended(number: int) -> int:
    """The exit code of a process; negative: of the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def killed(number: int, after: float) -> bool:
    """Kill a process and its group after so many seconds; False if it has ended before, in order."""
    until = time.monotonic() + after
    while time.monotonic() < until:
        found, status = os.waitpid(number, os.WNOHANG)
        if found:
            if (code := os.waitstatus_to_exitcode(status)) != 0:
                raise SystemExit(f"it ended with code {code}")
            return False
        time.sleep(0.002)
    os.killpg(number, signal.SIGKILL)
    return ended(number) == -signal.SIGKILL


def kept(path: Path) -> dict[str, FitRecord]:
    """What is on disk of a study: its file, and the hidden ones beside it."""
    found = {record.key: record for record in read_study(path)[1]} if path.exists() else {}
    for journal in sorted(path.parent.glob(f".{path.name}.*.journal")):
        for line in journal.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("}\n"):
                content = json.loads(line)
                content.pop("of")
                record = FitRecord.from_dict(content)
                found[record.key] = record
    return found


def differences(name: str, found: Mapping[str, FitRecord], expected: Mapping[str, FitRecord], *, seconds: bool) -> list[str]:
    """What is wrong with records, ``expected`` being among them; ``seconds``: whether they must have taken the same time."""
    wrong = []
    for key, record in expected.items():
        if key not in found:
            wrong.append(f"{name}: fit {key!r} is lost")
        elif replace(found[key], seconds=0.0).as_dict() != replace(record, seconds=0.0).as_dict():
            wrong.append(f"{name}: fit {key!r} has other numbers")
        elif seconds and found[key].seconds != record.seconds:
            wrong.append(f"{name}: fit {key!r} was done twice")
    return wrong


def kill(name: str, words: Sequence[str], folder: Path, n_kills: int, chance: random.Random) -> dict[str, object]:
    """Kill one study so many times, in as many runs from beginning to end as that takes."""
    own = folder / "".join(letter if letter.isalnum() else "-" for letter in name)
    whole, part = (own.with_name(f"{own.name}-{which}.parquet") for which in ("whole", "killed"))
    begin = time.monotonic()
    if code := ended(started(words, whole)):
        raise SystemExit(f"{name}: the undisturbed run ended with code {code}")
    length, expected = time.monotonic() - begin, kept(whole)
    before: dict[str, FitRecord] = {}
    wrong: list[str] = []
    kills = runs = 0
    while True:
        if kills < n_kills and killed(started(words, part), length * chance.random()):
            kills += 1
            finished = False
        elif kills < n_kills:
            finished = True
        else:
            if code := ended(started(words, part)):
                raise SystemExit(f"{name}: the last run ended with code {code}")
            finished = True
        now = kept(part)
        wrong += differences(name, now, before, seconds=True)
        before = now
        if not finished:
            continue
        runs += 1
        wrong += differences(name, now, expected, seconds=False)
        wrong += [f"{name}: fit {key!r} is too much" for key in now if key not in expected]
        wrong += [f"{name}: {entry.name} is left" for entry in folder.glob(f".*{part.name}*")]
        if kills == n_kills:
            break
        part.unlink()  # once more from the beginning
        before = {}
    for line in wrong:
        print(f"WRONG: {line}", flush=True)
    return {"study": name, "fits": len(expected), "undisturbed s": length, "kills": kills, "runs to the end": runs, "wrong": len(wrong)}


def main() -> None:
    """Kill all studies, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="of each study")
    parser.add_argument("--events", type=int, default=600, help="measured events of the fit")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--only", help="names of studies with commas between them")
    arguments = parser.parse_args()
    names = list(STUDIES) if arguments.only is None else arguments.only.split(",")
    unknown = [name for name in names if name not in STUDIES]
    if unknown:
        parser.error(f"there is no study {unknown[0]!r}; known: {', '.join(STUDIES)}")
    torch.set_num_threads(1)
    chance, rows = random.Random(arguments.seed), []
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        if ended(forked(lambda: make_fit(Path(place), arguments.events))):  # here nothing computes: forks want no threads
            raise SystemExit("the fit to study could not be made")
        for name in names:
            rows.append(kill(name, STUDIES[name], Path(place), arguments.kills, chance))
            print(rows[-1], flush=True)
        os.chdir("/")
    print_table("killed at random moments", rows)
    if any(row["wrong"] for row in rows):
        raise SystemExit("some fits were lost or done twice, or have other numbers")


if __name__ == "__main__":
    main()
