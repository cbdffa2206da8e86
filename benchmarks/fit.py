"""Whole fits of J/psi -> K+ K- eta, fixed and with ten floating parameters: initialisation, every method from the same start, many starts.

    python benchmarks/fit.py [--device cpu|cuda] [--quick] [--starts 64] [--out FILE.json]

Toy data from the couplings of the example model; 33 waves, charge conjugates tied. The start has every coupling off by about 20 %.
Times are wall clock around the whole call, result and fractions included; each is the median of several runs where one is short.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

import numpy as np
import torch

import ctpwa
from common import hardware, load_kk_eta, perturbed, print_table, timed

METHODS = ("newton", "lbfgs", "minuit")


def run(floating: bool, n_data: int, n_phsp: int, device: str, n_starts: int, events: tuple) -> list[dict]:
    """All fits of one kind."""
    data, phsp = events
    model = load_kk_eta(floating=floating)
    kind = "floating" if floating else "fixed"
    ctpwa.build_likelihood(model, {k: v[:2000] for k, v in data.items()}, {k: v[:2000] for k, v in phsp.items()}, device=device).hessian(
        np.ones(len(model.couplings) * 2 - 2 + 10 * floating)
    )  # kernels are compiled once per model, and kept on disk
    init, likelihood = timed(lambda: ctpwa.build_likelihood(model, data, phsp, device=device), device)
    rows = [{"fit": kind, "what": "initialisation", "seconds": init, "N_data": n_data, "N_phsp": n_phsp, "free": len(likelihood.names)}]
    x = perturbed(likelihood, 1)
    likelihood.value_grad_hessian(x)
    best = None
    for method in METHODS:
        row, _ = whole_fit(likelihood, x, method, device)
        best = row["nll"] if best is None else best
        rows.append({"fit": kind} | row | {"above_newton": row["nll"] - best})
        print(rows[-1], flush=True)
    if n_starts > 1:
        row = many_starts(likelihood, n_starts, device)
        rows.append({"fit": kind} | row | {"above_newton": row["nll"] - best})
        print(rows[-1], flush=True)
    return rows


def whole_fit(likelihood: ctpwa.Likelihood, x: np.ndarray, method: str, device: str) -> tuple[dict, ctpwa.FitResult]:
    """One fit with errors and fractions, and its result."""
    seconds, result = timed(lambda: ctpwa.fit(likelihood, start=x, method=method), device, 3 if device == "cuda" else 1)
    record, shift = result.record, result.x - likelihood.start
    row = {"what": method, "seconds": seconds, "nll": result.nll, "good": result.verdict.good, "minimising_s": record.seconds}
    row |= {"hessians": record.hessians, "gradients": record.gradients, "values": record.values}
    return row | {"chi2_per_parameter": float(shift @ np.linalg.solve(result.covariance, shift)) / len(shift)}, result


def many_starts(likelihood: ctpwa.Likelihood, n_starts: int, device: str) -> dict:
    """Fits from random couplings, all together, and how long one of them takes alone."""
    points = likelihood.random_couplings(likelihood.start, 5, seed=5)
    single = [timed(lambda x=x: ctpwa.fit(likelihood, start=x), device)[0] for x in points]
    if device == "cuda":
        ctpwa.fit(likelihood, n_starts, seed=6)  # kernels are compiled
    seconds, result = timed(lambda: ctpwa.fit(likelihood, n_starts, seed=5), device, 3 if device == "cuda" else 1)
    row = {"what": f"newton, {n_starts} random starts", "seconds": seconds, "nll": result.nll, "good": result.verdict.good}
    row |= {"minima": len(result.minima), "in_best": result.minima[0].starts, "one_random_start_s": statistics.median(single)}
    return row | {"times_one_fit": seconds / row["one_random_start_s"], "hessians": result.record.hessians, "values": result.record.values}


def main() -> None:
    """Run everything, print the table, write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    parser.add_argument("--starts", type=int, default=64, help="number of random starts; 1 for none")
    parser.add_argument("--only", choices=["fixed", "floating"], help="one of the two fits")
    parser.add_argument("--out", type=Path, help="write all numbers as JSON")
    arguments = parser.parse_args()
    device = arguments.device
    n_data, n_phsp = (1_000_000, 5_000_000) if device == "cuda" else (100_000, 500_000)
    if arguments.quick:
        n_data, n_phsp = n_data // 10, n_phsp // 10
    print(f"{hardware(device)}, torch {torch.__version__}, {n_data} data and {n_phsp} phase-space events")
    model = load_kk_eta(floating=True)
    seconds, data = timed(lambda: ctpwa.generate_toy(model, n_data, seed=1, device=device), device)
    print(f"toy data: {seconds:.1f} s")
    phsp = ctpwa.generate_phase_space(model, n_phsp, seed=2, device=device)
    kinds = [kind for kind in ("fixed", "floating") if arguments.only in (None, kind)]
    rows = [
        row
        for kind in kinds
        for row in run(kind == "floating", n_data, n_phsp, device, arguments.starts if kind == "fixed" else 1, (data, phsp))
    ]
    print_table("Fits", rows)
    if arguments.out:
        arguments.out.write_text(json.dumps({"hardware": hardware(device), "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
