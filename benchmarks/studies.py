"""Studies of the demonstration's fit: how long they take, and whether the errors that they give agree.

    python benchmarks/studies.py [--device cpu|cuda] [--quick] [--only toys,scan] [--agreement] [--out FILE.json]

J/psi -> K+ K- eta as in ``ctpwa demo``, 15 000 events and 75 000 of phase space, 24 free parameters. 500 toys, a scan of 40 points,
significances of all resonances and 100 bootstrap replicas. Times of a fit are compared with that of a single warm fit: the same
likelihood from the start of the toys, errors and fractions included, spin amplitudes and kernels not. With ``--agreement`` the table of
errors follows, of every parameter: Hessian, MINOS, profile, bootstrap, toys and posterior side by side.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ctpwa
from common import hardware, print_table, timed
from ctpwa.analysis.reopen import OpenedFit, open_fit
from ctpwa.cli.demonstration import MODEL
from ctpwa.minimise.minos import minos
from ctpwa.minimise.objective import Scaled
from ctpwa.studies import Study, bootstrap, sample, scan, significance, toys
from ctpwa.studies.baseline import Baseline, baseline
from ctpwa.studies.significance_study import STARTS
from ctpwa.studies.toy_data import ToySource

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
    draws: int


WHOLE, QUICK = Size(15_000, 75_000, 500, 40, 100, 500), Size(4_000, 20_000, 10, 9, 6, 100)


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


def single_fit(own: Baseline, source: ToySource, device: str) -> float:
    """Median seconds of single fits of toys from the truth, with errors and fractions; no initialisation, and nothing that studies know."""

    def fit(number: int) -> Callable[[], Any]:
        likelihood = source.likelihood(own.likelihood, number)
        return lambda: own.refit(likelihood, curvature=None)

    fit(0)()
    return statistics.median(timed(fit(k), device)[0] for k in range(SINGLE))


def measure(names: list[str], opened: OpenedFit, size: Size, device: str, single: float) -> tuple[list[dict[str, Any]], dict[str, Study]]:
    """Do the studies, and say how long each of them took."""
    run: dict[str, Any] = {"device": device, "progress": None}
    studies: dict[str, tuple[Callable[[], Study], int]] = {
        "toys": (lambda: toys(opened, size.toys, **run), 1),
        "scan": (lambda: scan(opened, SCANNED, points=size.points, **run), 1),
        "significance": (lambda: significance(opened, **run), STARTS),
        "bootstrap": (lambda: bootstrap(opened, size.replicas, **run), 1),
    }
    rows, found = [], {}
    for name in names:
        work, starts = studies[name]
        begin = time.perf_counter()
        found[name] = work()
        whole = time.perf_counter() - begin
        taken = [own.seconds for own in found[name].records if own.seconds > 0]
        each = sum(taken) / len(taken) / starts
        row = {"study": name, "fits": len(taken), "starts each": starts, "whole s": whole, "s per fit": each, "single fits": each / single}
        rows.append(row | {"not good": sum(not own.good for own in found[name].records)})
        print(rows[-1], flush=True)
    return rows, found


def agreement(opened: OpenedFit, size: Size, device: str, done: dict[str, Study]) -> list[dict[str, Any]]:
    """Errors of every parameter in units of that of the Hessian, by every way there is."""
    run: dict[str, Any] = {"device": device, "progress": None}
    own = baseline(opened, device=device)
    names = own.likelihood.names
    spreads = {
        "bootstrap": (done.get("bootstrap") or bootstrap(opened, size.replicas, **run)).spreads,
        "toys": (done.get("toys") or toys(opened, size.toys, **run)).spreads,
    }
    widths = {kind: {one.name: one.width for one in found if one.kind == "parameter"} for kind, found in spreads.items()}
    posterior = sample(opened, size.draws, **run)
    widths["posterior"] = {one.name: one.width for one in posterior.marginals if one.kind == "parameter"}
    limits = minos(Scaled(own.likelihood, own.likelihood.unit), own.x, names)
    rows = []
    for name, sigma in zip(names, np.sqrt(np.diag(own.result.statistical_covariance)), strict=True):
        profile = [one.value for one in scan(opened, name, points=3, sigmas=1, **run).crossings]
        row: dict[str, Any] = {"parameter": name, "fitted": own.result.value(name), "Hessian": float(sigma)}
        found = limits[name]
        row["MINOS"] = (found.upper - found.lower) / 2 / sigma if found.valid else None
        row["profile"] = None if None in profile else (profile[1] - profile[0]) / 2 / sigma
        rows.append(row | {kind: of_kind[name] / sigma for kind, of_kind in widths.items()})
    print(posterior.headline)
    return rows


def main() -> None:
    """Run everything, print the tables, write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="few events, few fits")
    parser.add_argument(
        "--only", default="toys,scan,significance,bootstrap", help="names of studies with commas between them; may be empty"
    )
    parser.add_argument("--agreement", action="store_true", help="also the table of errors by all ways")
    parser.add_argument("--out", type=Path, help="write all numbers as JSON")
    arguments = parser.parse_args()
    device, size = arguments.device, QUICK if arguments.quick else WHOLE
    print(hardware(device), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        opened = make_fit(Path(folder), size, device)
        own = baseline(opened, device=device)
        single = single_fit(own, ToySource(opened, opened.intensity("auto", device)), device)
        print(f"a single warm fit of {len(own.likelihood.names)} parameters to {size.events} events: {single:.3f} s", flush=True)
        rows, done = measure([name for name in arguments.only.split(",") if name], opened, size, device, single)
        total = sum(row["whole s"] for row in rows)
        print_table(f"studies, {total:.1f} s in all", rows)
        errors = agreement(opened, size, device, done) if arguments.agreement else []
        if errors:
            print_table("errors in units of those of the Hessian", errors)
    if arguments.out is not None:
        content = {"hardware": hardware(device), "single_s": single, "total_s": total, "studies": rows, "errors": errors}
        arguments.out.write_text(json.dumps(content, indent=1), encoding="utf-8")
    if not arguments.quick:
        slow = [row["study"] for row in rows if row["single fits"] > MOST_TIMES]
        if slow or total > MOST_SECONDS:
            raise SystemExit(f"too slow: {', '.join(slow) or 'all together'}; allowed are {MOST_TIMES} single fits and {MOST_SECONDS:g} s")


if __name__ == "__main__":
    main()
