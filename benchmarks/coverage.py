"""Coverage: are estimates unbiased and errors right, with background, weights, yields, resolution and a finite phase-space sample?

    python benchmarks/coverage.py [--quick | --demonstration] [--device cuda] [--toys N] [--settings NAME,…] [--jobs N] [--events N]
                                  [--minutes M] [--table] [--out FOLDER]

Toys of J/psi -> K+ K- eta, 15 000 signal events and ten floating masses and widths (--quick: four resonances, 5000 events;
--demonstration: the model of  ctpwa demo, whose closest poles may merge), are fitted from the truth in all settings of coverage_toys.py.
The ideal likelihood, that of the signal events alone, is always among them: even its pulls are not exactly normal, so others are compared
with it on the same toys. Each toy has its own phase-space sample. Resolution is tested with the phi(1020) in the model, against fits of
the masses before they were measured.

It passes if no fit is NOT good, all means of pulls are within three standard errors of the ideal ones, widths are in 0.95 to 1.05 on
average, also those of fractions of resonances, and none is outside of 0.85 to 1.15, and 68.3 % and 95.4 % are covered to 1.5 %. The
largest of many numbers exceeds a limit now and then: with 200 toys a right width is off by 0.15 once in 370 times, and there are about
300 widths. What is outside of a limit is printed with the probability that any of all numbers of its kind is as far off by chance, and
fails if that is less than 5 %; the column of verdicts counts the others. Fractions and yields of background, which the ideal likelihood
does not have, are compared with 0. A floating fraction has a bias of second order, as
any estimate of a likelihood that is no parabola: with --quick --events 2000 its pulls had mean −0.44 ± 0.13. Such a bias falls like 1/√N
in units of the error.

Fits are kept in FOLDER/toys.jsonl: a second call continues there, also after --minutes have passed or on another machine to which the
file was copied; --table fits nothing and shows what is done. The summary is in FOLDER/results.json, and in the line COVERAGE.
"""

from __future__ import annotations

if __name__ == "coverage":  # who looks for the package of that name finds this folder first
    raise ImportError("this is a benchmark, not the package coverage")

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import replace
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import ctpwa
from common import hardware
from coverage_table import judged, significant, summarise, table
from coverage_toys import DEMONSTRATION, QUICK, SETTINGS, Experiment, begin, work
from ctpwa.base.output import written_whole

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SAY = 20.0  # seconds between lines that say how far it is


class Journal:
    """Fits that are done, one in each line of a file; the first line says what they are fits of.

    Args:
        file:   where they are
        about:  what they are fits of; a file with other ones is refused
    """

    def __init__(self, file: Path, about: dict[str, Any]) -> None:
        self.file = file
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        complete = text[: text.rfind("\n") + 1]  # a process that was killed may have left half a line
        lines = [json.loads(line) for line in complete.splitlines()]
        if lines and lines[0] != about:
            raise SystemExit(f"{file} has toys of another model, size, device or version\n fix: choose another --out, or remove it")
        self.records = lines[1:]
        if not lines or complete != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(complete or json.dumps(about) + "\n", encoding="utf-8")

    def add(self, records: Sequence[dict[str, Any]]) -> None:
        """Keep more of them."""
        self.records += records
        with self.file.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(record) + "\n" for record in records))

    def missing(self, n_toys: int, names: Sequence[str]) -> dict[int, list[str]]:
        """Toys that are not done yet, each with its settings."""
        done = {(r["toy"], r["setting"]) for r in self.records}
        todo = {toy: [name for name in names if (toy, name) not in done] for toy in range(n_toys)}
        return {toy: own for toy, own in todo.items() if own}

    def of(self, name: str, n_toys: int) -> list[dict[str, Any]]:
        """The fits of a setting, of the first toys."""
        return [r for r in self.records if r["setting"] == name and r["toy"] < n_toys]


def fits(experiment: Experiment, todo: dict[int, list[str]], jobs: int, minutes: float) -> Iterator[list[dict[str, Any]]]:
    """Fits of toys as they come, computed by so many processes; no toy is begun after so many minutes."""
    end, toys = time.perf_counter() + 60 * minutes, iter(todo.items())
    if not todo or minutes < 0:
        return
    if jobs == 1:
        begin(experiment)
        yield from (work(*toy) for toy in takewhile(lambda _: time.perf_counter() < end, toys))
        return
    os.environ.update(dict.fromkeys(THREADS, "1"))
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), begin, (experiment,)) as pool:
        running = {pool.submit(work, *toy) for toy in islice(toys, jobs)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            if time.perf_counter() < end:
                running |= {pool.submit(work, *toy) for toy in islice(toys, len(done))}
            yield from (future.result() for future in done)


def run(experiment: Experiment, names: Sequence[str], n_toys: int, jobs: int, out: Path, minutes: float = math.inf) -> dict[str, Any]:
    """Fit what is missing, and summarise all of it.

    Args:
        experiment:  what toys are made of
        names:       settings
        n_toys:      how many
        jobs:        processes
        out:         folder for results, and for fits that are done
        minutes:     no further toy is begun afterwards
    """
    journal = Journal(out / "toys.jsonl", experiment.about | {"ctpwa": ctpwa.__version__})
    n_done, todo = len(journal.records), journal.missing(n_toys, names)
    start = said = time.perf_counter()
    for i, records in enumerate(fits(experiment, todo, min(jobs, len(todo)), minutes), start=1):
        journal.add(records)
        if time.perf_counter() - said > SAY:
            said = time.perf_counter()
            print(f"{i} of {len(todo)} toys, {said - start:.0f} s", file=sys.stderr, flush=True)
    done = {name: own for name in names if (own := journal.of(name, n_toys))}
    summaries = judged({name: summarise(own, journal.of(SETTINGS[name].ideal, n_toys)) for name, own in done.items()})
    about = {"model": experiment.file.stem if experiment.file.stem != "model" else experiment.file.parent.name}
    about |= {"events": experiment.events, "toys": n_toys, "device": experiment.device, "hardware": hardware(experiment.device)}
    about |= {"ctpwa": ctpwa.__version__, "jobs": jobs, "seconds": round(time.perf_counter() - start, 1), "begun_with": n_done}
    results = {"about": about, "settings": summaries}
    with written_whole(out / "results.json") as file:
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


def one_line(results: dict[str, Any]) -> str:
    """The results without those of single parameters."""
    left_out = ("parameters", "fractions", "checks", "reasons")
    short = {
        name: {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in own.items() if key not in left_out}
        | {"failed": {check["what"]: check["found"] for check in own["checks"] if check["failed"]}}
        for name, own in results["settings"].items()
    }
    return "COVERAGE " + json.dumps({"about": results["about"], "settings": short})


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 1 if a setting fails with enough toys."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    smaller = parser.add_mutually_exclusive_group()
    smaller.add_argument("--quick", action="store_true", help="a smaller model and fewer events, for two cores")
    smaller.add_argument(
        "--demonstration", action="store_true", help="the model of  ctpwa demo, in which two poles are so close that they may merge"
    )
    parser.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    parser.add_argument("--toys", type=int, default=200)
    known = f"some of {', '.join(SETTINGS)}; default: all. What they are compared with is always fitted"
    parser.add_argument("--settings", default=",".join(SETTINGS), help=known)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes of one thread each; they may share a GPU")
    parser.add_argument("--events", type=int, help="signal events of a toy")
    parser.add_argument("--minutes", type=float, default=math.inf, help="no further toy is begun afterwards")
    parser.add_argument("--table", action="store_true", help="fit nothing, show what is done")
    parser.add_argument("--out", type=Path, default=Path("build/coverage"), help="where fits are kept; copy toys.jsonl to go on elsewhere")
    given = parser.parse_args(arguments)
    asked = given.settings.split(",")
    if unknown := [name for name in asked if name not in SETTINGS]:
        parser.error(f"unknown setting {unknown[0]!r}; known are {', '.join(SETTINGS)}")
    if given.toys < 1 or given.jobs < 1:
        parser.error("toys and jobs are at least 1")
    chosen = QUICK if given.quick else DEMONSTRATION if given.demonstration else Experiment()
    experiment = replace(chosen, device=given.device)
    if given.events:
        experiment = replace(experiment, events=given.events)
    ideal = {SETTINGS[name].ideal for name in asked}
    names = [name for name in SETTINGS if name in asked or name in ideal]
    if given.table and not (given.out / "toys.jsonl").exists():
        parser.error(f"no toys in {given.out}\n fix: give the folder of an earlier run as --out")
    results = run(experiment, names, given.toys, given.jobs, given.out, -1.0 if given.table else given.minutes)
    print(table(results["settings"]))
    print(one_line(results), flush=True)
    return int(any(significant(own) and not own["passed"] for own in results["settings"].values()))


if __name__ == "__main__":
    sys.exit(main())
