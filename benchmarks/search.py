"""Does a search find a small resonance with its J^P, and nothing else?

    python benchmarks/search.py [--seeds N] [--first N] [--events N] [--phase-space N] [--masses N] [--engine NAME] [--out FILE]

J/psi -> K+ K- eta with a small phi(3)(1850), fitted without it. For each seed: the significance of phi(3)(1850); that of K(3)*(1780),
which is absent, in the model that has phi(3)(1850), and in the one that lacks it, where it may stand in for what is missing; a scan of
the mass of a 3- state in K+ K-; the rank correlation of the score test with fits at all masses of the scan; and by how much −ln L is worse
if phi(3)(1850) is 1-. Asked for: more than 5 σ for what is there, less than 3 σ for what is not once nothing is missing, the wrong J^P
behind the right one, and a fitted mass within 2 σ of the true one. That a mass is more than 2 σ off happens in one of twenty seeds if
errors are right, and so is asked of all but as many as chance allows. In the end the rank correlation over all of these of all seeds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom, norm, spearmanr

import ctpwa
from ctpwa.base.output import written_whole
from ctpwa.fitting.result import FitResult
from ctpwa.studies import hypotheses, mass_scan, search
from ctpwa.studies.hypotheses_study import FITTED

SMALL, ABSENT = "phi(3)(1850)", "K(3)*(1780)"
MASS, WIDTH = 1.854, 0.087
WRONG = "1-"
UNLIKELY = 0.01  # so many masses that are off are not put down to chance
MODEL: dict[str, Any] = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "polarisation": "transverse",
    "resonances": {
        "phi(1680)": {"in": "K+ K-", "mass": 1.659, "width": 0.164},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"], "mass": 1.427, "width": 0.1},
    },
    "couplings": {"phi(1680)[K+ K-] (1,1)(1,0)": 1, "K(2)*(1430)+[K+ eta] (2,2)(2,0)": [0, 12]},
}
TRUTH = MODEL | {
    "resonances": MODEL["resonances"] | {SMALL: {"in": "K+ K-", "mass": MASS, "width": WIDTH}},
    "couplings": MODEL["couplings"] | {"phi(3)(1850)[K+ K-] (3,3)(3,0)": [40, 25]},
}


def main() -> None:
    """One line for every seed, and how many are as they should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--events", type=int, default=6000)
    parser.add_argument("--phase-space", type=int, default=100_000)
    parser.add_argument("--masses", type=int, default=7)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    names = (("seed", 4), ("fraction", 9), (SMALL, 14), (ABSENT, 13), ("instead", 9), ("mass", 18), ("off", 6))
    names += (("rank correlation", 17), (f"-ln L if {WRONG}", 13), ("seconds", 8))
    print(" ".join(f"{name:>{width}}" for name, width in names), flush=True)
    rows = []
    for seed in range(options.first, options.first + options.seeds):
        row = one(seed, options)
        rows.append(row)
        significances = f"{row['present']:12.1f} σ {row['absent']:11.1f} σ {row['instead']:7.1f} σ"
        mass = f"{row['mass']:8.4f} ± {row['error']:7.4f} {row['off']:+5.1f}σ"
        more = f"{row['correlation']:17.2f} {row['wrong']:+13.1f} {row['seconds']:8.1f}"
        print(f"{seed:4d} {row['fraction']:9.2%} {significances} {mass} {more}", flush=True)
    met = [
        ("above 5 σ", [row["present"] > 5 for row in rows], len(rows)),
        ("absent one below 3 σ", [row["absent"] < 3 for row in rows], len(rows)),
        ("wrong J^P behind", [row["wrong"] > 0 for row in rows], len(rows)),
        ("mass within 2 σ", [abs(row["off"]) < 2 for row in rows], int(binom.ppf(UNLIKELY, len(rows), norm.cdf(2) - norm.cdf(-2)))),
    ]
    for what, good, least in met:
        print(f"{what}: {sum(good)} of {len(rows)}, asked for {least}")
    pairs = np.concatenate([row["pairs"] for row in rows])
    print(f"rank correlation of score test and fits, {len(pairs)} candidates and masses of all seeds: {spearmanr(*pairs.T).statistic:.3f}")
    if options.out is not None:
        with written_whole(options.out) as temporary:
            temporary.write_text(json.dumps({"options": {k: str(v) for k, v in vars(options).items()}, "seeds": rows}, indent=1))
    if missed := [what for what, good, least in met if sum(good) < least]:
        raise SystemExit(f"not met: {', '.join(missed)}")


def one(seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """All of it for one toy."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        result = fitted(seed, options, Path(folder))
        found = {own.name: own for own in search(result, [SMALL, ABSENT], refit=None, progress=False).tried}
        whole = completed(result)
        (absent,) = search(whole, [ABSENT], progress=False).tried
        ranked = {own.name: own.nll for own in hypotheses(whole, SMALL, jp=[WRONG], starts=3, progress=False).ranked}
        text = f"X: 3- in K+ K-, mass {MASS - 0.3}..{MASS + 0.3}/{options.masses}, width {WIDTH}"
        scan = mass_scan(result, text, refit=None, starts=1, progress=False)
    mass, error = scan.peak_mass or (float("nan"), float("nan"))
    right = ranked.pop(FITTED)
    (wrong,) = ranked.values()
    (group,) = (entry.groups["resonances"] for entry in whole.fractions)
    return {
        "fraction": group.values[list(group.names).index(SMALL)],
        "present": found[SMALL].sigma,
        "absent": absent.sigma,
        "instead": found[ABSENT].sigma,
        "mass": mass,
        "error": error,
        "off": (mass - MASS) / error,
        "correlation": scan.correlation[0],
        "wrong": wrong - right,
        "pairs": [(own.S, own.gain) for own in (*found.values(), absent, *scan.tried) if isfinite(own.S + own.gain)],
        "seconds": time.perf_counter() - begin,
    }


def fitted(seed: int, options: argparse.Namespace, folder: Path) -> FitResult:
    """A toy with the small resonance, fitted without it."""
    events = ctpwa.generate_toy(ctpwa.load_model(TRUTH), options.events, seed=seed, engine=options.engine, progress=False)
    ctpwa.write_events(folder / "data.npz", events)
    samples = {"data": str(folder / "data.npz"), "phase_space": {"generate": options.phase_space, "seed": 1000 + seed}}
    description = MODEL | {"samples": samples, "fit": {"engine": options.engine, "starts": 3}}
    return ctpwa.load_analysis(description).fit(progress=False, simulation=False)


def completed(result: FitResult) -> FitResult:
    """The fit of the same events with the small resonance."""
    description = dict(result.model or {}) | {"resonances": TRUTH["resonances"]}
    return ctpwa.load_analysis(description).fit(progress=False, simulation=False)


if __name__ == "__main__":
    main()
