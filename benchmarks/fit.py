"""Whole fits of J/psi -> K+ K- eta, fixed and with ten floating parameters: initialisation, every method from the same start, many starts.

    python benchmarks/fit.py [--device cpu|cuda] [--quick] [--starts 64] [--out FILE.json]

Toy data from the couplings of the example model; 33 waves, charge conjugates tied. The start has every coupling off by about 20 %.
Times are wall clock around the whole call, result and fractions included; each is the median of several runs where one is short.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import numpy as np
import torch
import yaml

import ctpwa

MODEL = Path(__file__).parents[1] / "examples" / "jpsi_kk_eta" / "model.yml"
METHODS = ("newton", "lbfgs", "minuit")


def load(*, floating: bool):
    """The demonstration's model, with or without floating resonances."""
    description = yaml.safe_load(MODEL.read_text(encoding="utf-8"))
    for key in ("samples", "data_sets", "fit"):
        description.pop(key, None)
    if not floating:
        for resonance in description["resonances"].values():
            resonance.pop("float", None)
    return ctpwa.load_model(description)


def timed(work, device: str, repeat: int = 1):
    """Median seconds of some calls, and the last result."""
    times, result = [], None
    for _ in range(repeat):
        if device == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        result = work()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return statistics.median(times), result


def perturbed(likelihood, seed: int) -> np.ndarray:
    """Generated values with couplings off by about 20 %, resonance parameters by a little."""
    rng = np.random.default_rng(seed)
    x = likelihood.start
    couplings = np.zeros(len(x), dtype=bool)
    couplings[likelihood.coupling_index] = True
    return x * (1 + np.where(couplings, 0.2, 0.005) * rng.normal(size=len(x)))


def run(floating: bool, n_data: int, n_phsp: int, device: str, n_starts: int, events: tuple) -> list[dict]:
    """All fits of one kind."""
    data, phsp = events
    model = load(floating=floating)
    kind = "floating" if floating else "fixed"
    ctpwa.Likelihood(model, {k: v[:2000] for k, v in data.items()}, {k: v[:2000] for k, v in phsp.items()}, device=device).hessian(
        np.ones(len(model.couplings) * 2 - 2 + 10 * floating)
    )  # kernels are compiled once per model, and kept on disk
    init, likelihood = timed(lambda: ctpwa.Likelihood(model, data, phsp, device=device), device)
    rows = [{"fit": kind, "what": "initialisation", "seconds": init, "N_data": n_data, "N_phsp": n_phsp, "free": len(likelihood.names)}]
    x = perturbed(likelihood, 1)
    likelihood.value_grad_hessian(x)
    best = None
    for method in METHODS:
        seconds, result = timed(lambda method=method: ctpwa.fit(likelihood, start=x, method=method), device, 3 if device == "cuda" else 1)
        best = result.nll if best is None else best
        record = result.record
        rows.append(
            {"fit": kind, "what": method, "seconds": seconds, "nll": result.nll, "above_newton": result.nll - best}
            | {"good": result.verdict.good, "minimising_s": record.seconds, "hessians": record.hessians}
            | {"gradients": record.gradients, "values": record.values}
        )
        shift = result.x - likelihood.start
        rows[-1]["chi2_per_parameter"] = float(shift @ np.linalg.solve(result.covariance, shift)) / len(shift)
        print(rows[-1], flush=True)
    if n_starts > 1:
        points = likelihood.random_couplings(likelihood.start, n_starts, seed=5)
        single = [timed(lambda k=k: ctpwa.fit(likelihood, start=points[k]), device)[0] for k in range(3)]
        seconds, result = timed(lambda: ctpwa.fit(likelihood, points), device)
        counts = [(round(m.nll - result.nll, 2), m.starts, m.refined) for m in result.minima]
        rows.append(
            {"fit": kind, "what": f"newton, {n_starts} random starts", "seconds": seconds, "nll": result.nll}
            | {"above_newton": result.nll - best, "good": result.verdict.good, "minima": len(counts), "in_best": counts[0][1]}
            | {"one_random_start_s": statistics.median(single), "times_one_fit": seconds / statistics.median(single)}
            | {"hessians": result.record.hessians, "values": result.record.values}
        )
        print(rows[-1], flush=True)
    return rows


def table(rows: list[dict]) -> None:
    """Print rows as Markdown."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    print("| " + " | ".join(keys) + " |")
    print("|" + "---|" * len(keys))
    for row in rows:
        print(
            "| "
            + " | ".join(f"{v:.4g}" if isinstance(v, float) and k != "nll" else str(v) for k, v in ((k, row.get(k, "")) for k in keys))
            + " |"
        )


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
    hardware = torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()}, {torch.get_num_threads()} threads"
    n_data, n_phsp = (1_000_000, 5_000_000) if device == "cuda" else (100_000, 500_000)
    if arguments.quick:
        n_data, n_phsp = n_data // 10, n_phsp // 10
    print(f"{hardware}, torch {torch.__version__}, {n_data} data and {n_phsp} phase-space events")
    model = load(floating=True)
    seconds, data = timed(lambda: ctpwa.generate_toy(model, n_data, seed=1, device=device), device)
    print(f"toy data: {seconds:.1f} s")
    phsp = ctpwa.generate_phase_space(model, n_phsp, seed=2, device=device)
    kinds = [kind for kind in ("fixed", "floating") if arguments.only in (None, kind)]
    rows = [
        row
        for kind in kinds
        for row in run(kind == "floating", n_data, n_phsp, device, arguments.starts if kind == "fixed" else 1, (data, phsp))
    ]
    table(rows)
    if arguments.out:
        arguments.out.write_text(json.dumps({"hardware": hardware, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
