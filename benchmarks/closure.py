"""Closure: toys of a model are fitted back. Do the fits find what was put in, and are their errors right?

    python benchmarks/closure.py [--model NAME …] [--toys N] [--events N] [--phase-space N] [--starts N] [--seed N] [--jobs N]
                                 [--out FOLDER]

NAME is a folder of examples/ or a file of benchmarks/models/. For each model one toy is fitted back from the truth and from random
couplings; χ² = Δᵀ C⁻¹ Δ of all free parameters says whether what was put in comes out. With more than one toy (the default for
kk_eta_four) the pulls of couplings, masses, widths and fit fractions are collected over all of them: they should have mean 0 and width
1, the spread of the values over the toys should be the error that the fits claim, and so should MINOS errors. Everything is saved as
JSON, pulls as a figure.

Sizes. Each toy has its own phase-space sample, and errors contain what its finite size adds (see ctpwa/observables/closure.py), which is
printed as "norm": its variance over that of the data. For intensities with narrow peaks in a flat phase space it is much larger than
N_data/N_phsp. Errors from second derivatives hold for many events: with few, and many waves, likelihoods are not parabolic, so that
pulls are not normal although the fits are right. Hence few waves for many toys, and larger toys for large models. The likelihood ratio
2 ln(L/L_truth) does not need a parabola.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ctpwa
from ctpwa.base import parts
from ctpwa.base.output import written_whole
from ctpwa.observables.closure import Closure, ToyFit
from ctpwa.observables.pulls import PullSummary, pull_table, summarise_pulls
from ctpwa.report.figures.pulls import draw_pulls
from ctpwa.report.figures.style import save_figure

ROOT = Path(__file__).parents[1]
SAME_MINIMUM = 1e-3  # in −ln L


@dataclass(frozen=True)
class Size:
    """Default sizes for a model: events and phase space of a toy, random starts, toys."""

    events: int
    phase_space: int
    starts: int = 10
    toys: int = 1


SIZES = {
    "kk_eta_four": Size(2_000, 100_000, toys=200),
    "jpsi_kk_eta": Size(50_000, 500_000, starts=5),
    "jpsi_gamma_pi0_pi0": Size(20_000, 200_000),
    "jpsi_p_pbar_eta": Size(20_000, 200_000),
    "lambdac_p_k_pi": Size(20_000, 200_000),
    "jpsi_4pi": Size(5_000, 100_000),
    "jpsi_phi_pi_pi": Size(10_000, 500_000),
}


def model_file(name: str) -> Path:
    """A folder of examples/ or a file of benchmarks/models/."""
    files = [ROOT / "examples" / name / "model.yml", ROOT / "benchmarks" / "models" / f"{name}.yml"]
    for file in files:
        if file.exists():
            return file
    raise SystemExit(f"there is no model {name!r}; known are {', '.join(SIZES)}")


def kind(closure: Closure, i: int) -> str:
    """What the i-th quantity is."""
    if i >= len(closure.truth):
        return "fractions"
    return "couplings" if i in closure.reference.coupling_index else "masses and widths"


def single(closure: Closure, starts: int) -> tuple[dict[str, Any], ToyFit]:
    """One toy, fitted back from the truth and from random couplings."""
    names = closure.reference.names
    chosen = [names[i] for i in (*closure.reference.coupling_index[:1], *_lineshapes(closure)[:2])]  # for MINOS
    begin = time.perf_counter()
    toy = closure.run(0, minos=chosen)
    seconds = time.perf_counter() - begin
    result = toy.result
    norm = np.diag(result.covariance) / np.diag(result.statistical_covariance) - 1
    print(f"from the truth: {result.verdict}")
    ratio = f"2 ln(L/L_truth) = {toy.likelihood_ratio:.1f}, p = {toy.ratio_p_value:.3g}"
    print(f"  chi2 = {toy.chi2:.1f} for {len(names)} parameters, p = {toy.p_value:.3g}; {ratio}")
    print(f"  {seconds:.1f} s, {result.record.hessians} Hessians; norm {norm.min():.3f} to {norm.max():.3f}")
    found: dict[str, Any] = {"chi2": toy.chi2, "p": toy.p_value, "likelihood_ratio": toy.likelihood_ratio, "ratio_p": toy.ratio_p_value}
    found |= {"seconds": seconds, "good": result.verdict.good, "reasons": list(result.verdict.reasons), "norm": norm.tolist()}
    found["minos"] = {p.name: [p.error, p.minos.lower, p.minos.upper] for p in result.parameters if p.minos is not None}
    for name, (error, lower, upper) in found["minos"].items():
        print(f"  MINOS {name}: {lower:+.4g} {upper:+.4g}; error {error:.4g}; MINOS/error {(upper - lower) / 2 / error:.4f}")
    if starts:
        other = closure.run(0, random_starts=starts).result
        above = [minimum.nll - result.nll for minimum in other.minima]
        there = sum(minimum.starts for minimum, x in zip(other.minima, above, strict=True) if abs(x) < SAME_MINIMUM and minimum.refined)
        words = f"{there} of {starts} starts reach it" if there else f"best -ln L {above[0]:+.4f}"
        print(f"from random couplings: {words}; {len(above)} minima, {other.record.hessians} Hessians, {other.record.seconds:.1f} s")
        found["random_starts"] = {"starts": starts, "there": there, "nll_above": above, "seconds": other.record.seconds}
        if above[0] < -SAME_MINIMUM:
            print(f"  a deeper minimum than that of the truth, by {-above[0]:.3f} in -ln L")
    return found, toy


def _lineshapes(closure: Closure) -> np.ndarray:
    return np.setdiff1d(np.arange(len(closure.truth)), closure.reference.coupling_index)


def many(closure: Closure, first: ToyFit, fits: Iterator[ToyFit], n: int) -> tuple[dict[str, Any], list[PullSummary], np.ndarray]:
    """Pulls over many toys."""
    begin, toys = time.perf_counter(), [first]
    for toy in fits:
        toys.append(toy)
        if len(toys) % 20 == 0:
            print(f"  {len(toys)} of {n} toys, {time.perf_counter() - begin:.0f} s", flush=True)
    bad = [toy.number for toy in toys if not np.isfinite(toy.chi2)]
    good = [toy for toy in toys if np.isfinite(toy.chi2)]
    values, errors = (np.array([getattr(toy, what) for toy in good]) for what in ("values", "errors"))
    names = [f"fraction {name}" if i >= len(closure.truth) else name for i, name in enumerate(closure.names)]
    summaries = summarise_pulls(names, values, errors, closure.true_values)
    print(pull_table(summaries))
    flagged = [s.name for s in summaries if s.flag]
    print(f"{len(good)} toys, {len(bad)} not converged; flagged: {', '.join(flagged) or 'none'}")
    pulls = (values - closure.true_values) / errors
    found = {"toys": len(good), "not_converged": bad, "names": names, "truth": closure.true_values.tolist(), "flagged": flagged}
    found |= {"summaries": [asdict(s) for s in summaries], "values": values.tolist(), "errors": errors.tolist()}
    found |= {"p_values": [toy.p_value for toy in good], "ratio_p_values": [toy.ratio_p_value for toy in good]}
    return found, summaries, pulls


_closure: Closure  # of a worker process


def _begin(name: str, size: Size, seed: int, threads: int) -> None:
    global _closure
    _closure = make(name, size, seed, threads)


def _work(number: int) -> ToyFit:
    return _closure.run(number)


def make(name: str, size: Size, seed: int, threads: int) -> Closure:
    """The closure study of a model, computed by so many threads."""
    parts.set_num_threads(threads)
    torch.set_num_threads(threads)
    return Closure(ctpwa.load_model(model_file(name)), size.events, size.phase_space, seed=seed)


def run(name: str, size: Size, seed: int, jobs: int, out: Path) -> bool:
    """Everything for one model; returns whether it closes."""
    print(f"\n== {name}: {size.events} events, {size.phase_space} of phase space, seed {seed}", flush=True)
    cores = os.cpu_count() or 1
    closure = make(name, size, seed, cores)
    found, first = single(closure, size.starts)
    closes = found["good"] and found["p"] > 1e-3
    if size.toys > 1:
        numbers = range(1, size.toys)
        if jobs > 1:
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(jobs, context, _begin, (name, size, seed, max(1, cores // jobs))) as pool:
                found["pulls"], summaries, pulls = many(closure, first, pool.map(_work, numbers), size.toys)
        else:
            found["pulls"], summaries, pulls = many(closure, first, map(closure.run, numbers), size.toys)
        closes = closes and not any(s.flag for s in summaries)
        kinds = [kind(closure, i) for i in range(len(closure.names))]
        groups = {k: pulls[:, [i for i, own in enumerate(kinds) if own == k]] for k in dict.fromkeys(kinds)}
        print("figures:", *save_figure(draw_pulls(groups), out / f"pulls-{name}"))
    about = {
        "model": name,
        "events": size.events,
        "phase_space": size.phase_space,
        "seed": seed,
        "closes": closes,
        "ctpwa": ctpwa.__version__,
    }
    with written_whole(out / f"closure-{name}.json") as file:
        file.write_text(json.dumps(about | found, indent=1) + "\n")
    print("closes" if closes else "DOES NOT CLOSE", flush=True)
    return closes


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", nargs="+", default=list(SIZES), metavar="NAME", help="default: all of them")
    for option, text in (
        ("toys", "toys whose pulls are collected"),
        ("events", "measured events of a toy"),
        ("phase-space", "phase-space events of a toy"),
        ("starts", "random starts of the first toy"),
    ):
        parser.add_argument(f"--{option}", type=int, default=None, help=f"{text}; default: depends on the model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes that fit toys")
    parser.add_argument("--out", type=Path, default=Path("closure-output"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    closed = {}
    for name in arguments.model:
        default = SIZES.get(name, Size(10_000, 200_000))
        given = {key: getattr(arguments, key) for key in ("events", "phase_space", "starts", "toys")}
        size = Size(**{key: getattr(default, key) if value is None else value for key, value in given.items()})
        closed[name] = run(name, size, arguments.seed, arguments.jobs, arguments.out)
    if not all(closed.values()):
        raise SystemExit(f"not closed: {', '.join(name for name, good in closed.items() if not good)}")


if __name__ == "__main__":
    main()
