"""Fits in bins of mass: how long 40 bins from 20 starts take, and whether numbers of events and phases come back.

    python benchmarks/bins.py [--bins 40] [--events 10000] [--starts 20] [--device cpu] [--closure] [--toys 1] [--stepped]
                              [--simulated 3] [--out FILE.json]

γ p → η π0 p with linearly polarised photons, a0(980), a2(1320) and π1(1600) in five waves between 1.04 and 2.0 GeV, with an efficiency.
Printed are the time of a gradient per event, alone and in a batch, and that of all fits with errors. ``--closure`` compares numbers of
events and phase differences with those that were generated: pulls should have mean 0 and width 1 (see ``bins_pulls.py``). ``--stepped``
generates lineshapes that are constant in a bin, which leaves out that couplings change within it. ``--simulated`` is how many events are
generated for each measured one: 2 Δ(−ln L) of the truth follows χ² with as many degrees of freedom as parameters where it is large.
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
from bins_pulls import Pulls, add_pulls
from bins_toys import HIGH, LOW, make_toys
from common import hardware, markdown, timed
from ctpwa.studies import Bins, bins
from ctpwa.studies.bin_axes import BinAxis, all_bins
from ctpwa.studies.bin_fit import BinFit, BinOptions
from ctpwa.studies.bin_samples import BinnedSamples

SIMULATED = 3  # generated events for each measured one
BATCH = 20  # points of a batch


def measure(folder: Path, n_bins: int, starts: int, device: str | None) -> tuple[dict[str, float], Bins, BinnedSamples]:
    """Times of evaluations in the bin in the middle, and of all fits with errors, sweeps and intervals."""
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
    return (
        {
            "events of the bin": float(n),
            "parameters": float(len(likelihood.names)),
            "gradient, ns per event": 1e9 * single / n,
            f"gradient in a batch of {BATCH}, ns per event": 1e9 * batch / n / BATCH,
            "Hessian, ns per event": 1e9 * hessian / n,
            "all bins, s": whole,
            "of these sweeps, s": sum(own.seconds for own in study.records if "sweep" in own.key),
            "of these intervals, s": sum(own.seconds for own in study.records if "intervals" in own.key),
            "one bin, s": whole / n_bins,
        },
        study,
        binned,
    )


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, value in (("bins", 40), ("events", 10_000), ("starts", 20), ("toys", 1), ("seed", 1), ("simulated", SIMULATED)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--device", default=None)
    parser.add_argument("--closure", action="store_true", help="pulls of what was generated")
    parser.add_argument("--stepped", action="store_true", help="lineshapes that are constant in a bin")
    parser.add_argument("--out", type=Path, help="a JSON file for all numbers")
    given = parser.parse_args()
    where = hardware(given.device or "cpu")
    print(where)
    results: dict[str, Any] = {"hardware": where, "options": {k: str(v) for k, v in vars(given).items()}}
    pulls, p_values = Pulls(), []
    for toy in range(given.toys if given.closure else 1):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            truth = make_toys(folder, given.bins, given.events, given.simulated * given.events, given.seed + toy, given.stepped)
            times, study, binned = measure(folder, given.bins, given.starts, given.device)
            if toy == 0:
                print(study.headline)
                print("\n" + markdown(["", "ctpwa"], [[what, f"{value:.4g}"] for what, value in times.items()]))
                results["ctpwa"] = times
            if given.closure:
                add_pulls(pulls, study, binned, truth)
                p_values.append([study.tests.p_values(kind) for kind in ("decay", "inside")])
    if given.closure:
        print("\n" + markdown(["pulls", "of", "number", "mean", "width", "largest"], pulls.rows()))
        print(pulls.text())
        print(f"2 Δ(−ln L) of the true couplings: mean {np.mean(pulls.joint):.2f}, largest {np.max(pulls.joint):.2f}")
        for kind, own in zip(("decay", "inside"), np.concatenate(p_values, axis=1), strict=True):
            print(f"p {kind}: {len(own)} bins, mean {own.mean():.3f}, {(own < 0.05).sum()} below 0.05, {(own < 0.01).sum()} below 0.01")
        results["closure"], results["pulls"] = pulls.rows(), {" ".join(key): own for key, own in pulls.values.items()}
    if given.out is not None:
        given.out.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
