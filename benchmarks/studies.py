"""Studies of the demonstration's fit: how long they take, and whether the errors that they give agree.

    python benchmarks/studies.py [--device cpu|cuda] [--quick] [--only toys,scan] [--agreement] [--events N] [--out FILE.json]

J/psi -> K+ K- eta as in ``ctpwa demo``, 15 000 events and 75 000 of phase space, 24 free parameters. 500 toys, a scan of 40 points,
significances of all resonances and 100 bootstrap replicas. Times of a fit are compared with that of a single warm fit: a toy from the
truth, errors and fractions included, spin amplitudes and kernels not; those without a resonance, each from several starts, with the fit of
a model file that lacks it, from as many starts. Times of the processor are given as well, for computers that do other things. With
``--agreement`` the table of errors follows, of every parameter: Hessian, MINOS, profile, bootstrap, toys and posterior side by side,
with the Monte Carlo error of each (``error_agreement.py``); ``--only '' --agreement --events 8000 --toys 300 --replicas 300`` prints it
alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

import ctpwa
from common import hardware, print_table, timed
from ctpwa.analysis.reopen import OpenedFit, open_fit
from ctpwa.cli.demonstration import MODEL
from ctpwa.config.changes import Changes
from ctpwa.fitting.fittable import terms_of
from ctpwa.fitting.take_over import take_over
from ctpwa.studies import Study, bootstrap, scan, significance, toys
from ctpwa.studies.baseline import Baseline, baseline
from ctpwa.studies.removal import named_resonances
from ctpwa.studies.significance_study import STARTS
from ctpwa.studies.toy_data import ToySource
from error_agreement import agreement, print_agreement

MOST_TIMES, MOST_SECONDS = 1.2, 600.0  # of a single warm fit; of all studies on two cores
SCANNED = "K*(1410).mass"
SINGLE = 5  # fits whose median is the time of one


@dataclass(frozen=True)
class Size:
    """How much is done."""

    events: int
    phase_space: int
    toys: int
    points: int
    replicas: int


WHOLE, QUICK = Size(15_000, 75_000, 500, 40, 100), Size(4_000, 20_000, 10, 9, 6)


def make_fit(folder: Path, size: Size, device: str) -> OpenedFit:
    """Toy data of the demonstration's model, and their fit from the truth."""
    text = MODEL.partition("  start:\n")[0].replace("{folder}", ".").replace("{phase_space}", str(size.phase_space))
    (folder / "model.yml").write_text(text, encoding="utf-8")
    model = ctpwa.load_model(folder / "model.yml")
    ctpwa.write_events(folder / "toy.root", ctpwa.generate_toy(model, size.events, seed=1, progress=False), model=model)
    analysis = ctpwa.load_analysis(folder / "model.yml")
    likelihood = analysis.likelihood(device=device, progress=False)
    result = analysis.fit(likelihood=likelihood, starts=1, progress=False)
    if not result.verdict.good:
        raise SystemExit(f"the fit to study did not end good: {result.verdict}")
    result.save(folder / "model.result.json")
    return open_fit(folder / "model.result.json")


@dataclass(frozen=True)
class Seconds:
    """How long something took: by the clock, and on all cores together."""

    clock: float
    cpu: float


def taken(work: Callable[[], Any], device: str) -> Seconds:
    """How long it takes."""
    begin = time.process_time()
    clock = timed(work, device)[0]
    return Seconds(clock, time.process_time() - begin)


def single_fit(own: Baseline, source: ToySource, device: str) -> Seconds:
    """Median of single fits of toys from the truth, with errors and fractions; no initialisation, and nothing that studies know."""

    def fit(number: int) -> Callable[[], Any]:
        likelihood = source.likelihood(own.likelihood, number)
        return lambda: own.refit(likelihood, curvature=None)

    fit(0)()
    found = [taken(fit(k), device) for k in range(SINGLE)]
    return Seconds(statistics.median(each.clock for each in found), statistics.median(each.cpu for each in found))


def fits_without(own: Baseline, folder: Path, device: str) -> Seconds:
    """Mean of single fits of model files that lack a resonance, from several starts, of which the first has the fitted values."""
    found = []
    for name in named_resonances(own.opened.model):
        likelihood = ctpwa.load_analysis(folder / "model.yml", changes=Changes(without=(name,))).likelihood(device=device, progress=False)
        start = take_over(likelihood, own.result).values
        for term in terms_of(likelihood):
            term.engine.prepare()
        likelihood.value_grad_hessian(likelihood.start)
        found.append(taken(partial(ctpwa.fit, likelihood, STARTS, start=start, simulation=False, progress=False), device))
    return Seconds(statistics.mean(each.clock for each in found), statistics.mean(each.cpu for each in found))


def measure(
    names: list[str], opened: OpenedFit, size: Size, device: str, single: Callable[[str], Seconds]
) -> tuple[list[dict[str, Any]], dict[str, Study]]:
    """Do the studies, and say how long each of them took, also in units of the single fit that belongs to it."""
    run: dict[str, Any] = {"device": device, "progress": None}
    studies: dict[str, Callable[[], Study]] = {
        "toys": lambda: toys(opened, size.toys, **run),
        "scan": lambda: scan(opened, SCANNED, points=size.points, **run),
        "significance": lambda: significance(opened, **run),
        "bootstrap": lambda: bootstrap(opened, size.replicas, **run),
    }
    rows, found = [], {}
    for name in names:
        own = single(name)
        begin, cpu = time.perf_counter(), time.process_time()
        study = found[name] = studies[name]()
        whole = Seconds(time.perf_counter() - begin, time.process_time() - cpu)
        seconds = [record.seconds for record in study.records if record.seconds > 0]
        each = statistics.mean(seconds)
        row = {"study": name, "fits": len(seconds), "whole s": whole.clock, "s per fit": each, "single fit s": own.clock}
        row |= {"single fits": each / own.clock, "CPU s": whole.cpu, "single fits of CPU": whole.cpu / len(seconds) / own.cpu}
        rows.append(row | {"not good": sum(not record.good for record in study.records)})
        print(rows[-1], flush=True)
    return rows, found


def main() -> None:
    """Run everything, print the tables, write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="few events, few fits")
    parser.add_argument(
        "--only", default="toys,scan,significance,bootstrap", help="names of studies with commas between them; may be empty"
    )
    parser.add_argument("--agreement", action="store_true", help="also the table of errors by all ways")
    parser.add_argument("--events", type=int, help="measured events, with five times as many of phase space")
    parser.add_argument("--toys", type=int, help="how many")
    parser.add_argument("--replicas", type=int, help="of the bootstrap")
    parser.add_argument("--out", type=Path, help="write all numbers as JSON")
    arguments = parser.parse_args()
    device, size = arguments.device, QUICK if arguments.quick else WHOLE
    given = {"events": arguments.events, "toys": arguments.toys, "replicas": arguments.replicas}
    given["phase_space"] = arguments.events and 5 * arguments.events
    size = replace(size, **{name: number for name, number in given.items() if number})
    print(hardware(device), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        opened = make_fit(Path(folder), size, device)
        own = baseline(opened, device=device)
        single = single_fit(own, ToySource(opened, opened.intensity("auto", device)), device)
        words = f"a single warm fit of {len(own.likelihood.names)} parameters to {size.events} events"
        print(f"{words}: {single.clock:.3f} s, {single.cpu:.3f} s of CPU", flush=True)
        names = [name for name in arguments.only.split(",") if name]
        rows, done = measure(
            names, opened, size, device, lambda name: fits_without(own, Path(folder), device) if name == "significance" else single
        )
        total = sum(row["whole s"] for row in rows)
        if rows:
            print_table(f"studies, {total:.1f} s in all", rows)
        errors = agreement(opened, size.toys, size.replicas, device, done) if arguments.agreement else []
        if errors:
            print_agreement(errors)
    if arguments.out is not None:
        content = {
            "hardware": hardware(device),
            "single_s": single.clock,
            "single_cpu_s": single.cpu,
            "total_s": total,
            "studies": rows,
            "errors": errors,
        }
        arguments.out.write_text(json.dumps(content, indent=1), encoding="utf-8")
    if not arguments.quick:
        slow = [row["study"] for row in rows if row["single fits"] > MOST_TIMES]
        if slow or total > MOST_SECONDS:
            raise SystemExit(f"too slow: {', '.join(slow) or 'all together'}; allowed are {MOST_TIMES} single fits and {MOST_SECONDS:g} s")


if __name__ == "__main__":
    main()
