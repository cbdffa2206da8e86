"""Fits in bins of mass: how long 40 bins from 20 starts take, and whether numbers of events and phases come back.

    python benchmarks/bins.py [--bins 40] [--events 10000] [--starts 20] [--device cpu] [--closure] [--toys 1] [--stepped]
                              [--out FILE.json]

γ p → η π0 p with linearly polarised photons, a0(980), a2(1320) and π1(1600) in five waves between 1.04 and 2.0 GeV, with an efficiency.
Printed are the time of a gradient per event, alone and in a batch, and that of all fits with errors. ``--closure`` compares numbers of
events and phase differences with those that were generated: pulls should have mean 0 and width 1. ``--stepped`` generates lineshapes
that are constant in a bin, which leaves out that couplings change within it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import ctpwa
from bins_toys import HIGH, LOW, Truth, make_toys
from common import hardware, markdown, timed
from ctpwa.studies import Bins, bins
from ctpwa.studies.bin_axes import BinAxis, all_bins
from ctpwa.studies.bin_fit import BinFit, BinOptions
from ctpwa.studies.bin_samples import BinnedSamples
from ctpwa.studies.bin_solutions import Solution, apart

SIMULATED = 3  # generated events for each measured one
BATCH = 20  # points of a batch


def measure(folder: Path, n_bins: int, starts: int, device: str | None) -> tuple[dict[str, float], Bins]:
    """Times of evaluations in the bin in the middle, and of all fits."""
    analysis = ctpwa.load_analysis(folder / "model.yml")
    text = f"mass(eta, pi0): {LOW}..{HIGH}/{n_bins}"
    axis = BinAxis.read(text, analysis.model)
    binned = BinnedSamples(analysis, (axis,))
    middle = n_bins // 2
    likelihood = BinFit(binned, BinOptions(1, device=device), middle, all_bins((axis,))[middle]).likelihood
    x = likelihood.random_couplings(likelihood.start, BATCH, seed=1)
    kind = device or "cpu"
    likelihood.value_and_grad(x[0]), likelihood.value_and_grad(x), likelihood.hessian(x[0])
    single, _ = timed(lambda: likelihood.value_and_grad(x[0]), kind, 20)
    batch, _ = timed(lambda: likelihood.value_and_grad(x), kind, 20)
    hessian, _ = timed(lambda: likelihood.hessian(x[0]), kind, 20)
    begin = time.perf_counter()
    study = bins(analysis, text, starts=starts, seed=1, device=device)
    whole = time.perf_counter() - begin
    n = likelihood.n_events
    return {
        "events of the bin": float(n),
        "parameters": float(len(likelihood.names)),
        "gradient, ns per event": 1e9 * single / n,
        f"gradient in a batch of {BATCH}, ns per event": 1e9 * batch / n / BATCH,
        "Hessian, ns per event": 1e9 * hessian / n,
        "all bins, s": whole,
        "one bin with all its starts and errors, s": whole / n_bins,
    }, study


def pulls(study: Bins, truth: Truth) -> tuple[dict[str, np.ndarray], int]:
    """Pulls of numbers of events and of phase differences; and how many bins have the true solution, but not as the best.

    Of several solutions the one that is nearest to the truth counts, with the sign of its phases.
    """
    names, strongest = truth.names, int(truth.events.sum(axis=1).argmax())
    found: dict[str, list[float]] = {"events": [], "phases": []}
    second = 0
    for b, row in enumerate(study.solutions):
        if not row:
            continue
        c = np.sqrt(truth.events[:, b]) * np.exp(1j * np.angle(truth.values[:, b]))
        order = [study.couplings.index(name) for name in names]
        best = min(row, key=lambda own: apart(c, own.values[order], True))
        second += best.k > 0
        turned = _nearer(best, c, order)
        for w, name in enumerate(names):
            value, error = turned.events[name]
            found["events"].append((value - truth.events[w, b]) / error)
            if w != strongest:
                angle, sigma = turned.phase(name, names[strongest])
                expected = np.degrees(np.angle(c[w] * np.conj(c[strongest])))
                if sigma < 30:
                    found["phases"].append(((angle - expected + 180) % 360 - 180) / sigma)
    return {name: np.array(values) for name, values in found.items()}, second


def _nearer(own: Solution, c: np.ndarray, order: list[int]) -> Solution:
    """A solution with the sign of all phases that is nearer to the truth."""
    plain, conjugate = (abs(np.vdot(c, z[order])) for z in (own.values, own.values.conj()))
    return own.conjugated([0]) if conjugate > plain else own


def closure_rows(found: dict[str, list[np.ndarray]]) -> list[list[str]]:
    """Mean and width of pulls with their errors, and the largest."""
    rows = []
    for name, parts in found.items():
        own = np.concatenate(parts)
        n, width = len(own), float(own.std(ddof=1))
        spread = f"{width:.3f} ± {width / np.sqrt(2 * n):.3f}"
        rows.append([name, str(n), f"{own.mean():+.3f} ± {width / np.sqrt(n):.3f}", spread, f"{np.abs(own).max():.2f}"])
    return rows


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, value in (("bins", 40), ("events", 10_000), ("starts", 20), ("toys", 1), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--device", default=None)
    parser.add_argument("--closure", action="store_true", help="pulls of what was generated")
    parser.add_argument("--stepped", action="store_true", help="lineshapes that are constant in a bin")
    parser.add_argument("--out", type=Path, help="a JSON file for all numbers")
    given = parser.parse_args()
    where = hardware(given.device or "cpu")
    print(where)
    results: dict[str, Any] = {"hardware": where, "options": {k: str(v) for k, v in vars(given).items()}}
    collected: dict[str, list[np.ndarray]] = {"events": [], "phases": []}
    second = 0
    for toy in range(given.toys if given.closure else 1):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            truth = make_toys(folder, given.bins, given.events, SIMULATED * given.events, given.seed + toy, given.stepped)
            times, study = measure(folder, given.bins, given.starts, given.device)
            if toy == 0:
                print(study.headline)
                print("\n" + markdown(["", "ctpwa"], [[what, f"{value:.4g}"] for what, value in times.items()]))
                results["ctpwa"] = times
            if given.closure:
                found, more = pulls(study, truth)
                second += more
                for what, values in found.items():
                    collected[what].append(values)
    if given.closure:
        rows = closure_rows(collected)
        print("\n" + markdown(["pulls", "number", "mean", "width", "largest"], rows))
        print(f"{second} of {given.toys * given.bins} bins have the true solution, but another one is better")
        results["closure"] = rows
        results["another is better"] = second
    if given.out is not None:
        given.out.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
