"""What a busy core costs the CPU engine: python benchmarks/busy.py [--busy N] [--other TREE]

Times of two threads relative to one in the same run, by turns: K+ K- eta with fixed and with floating lineshapes. ``--busy 1`` starts as
many processes that only count, on any core. With ``--other`` the same is measured by turns for another tree of the package, such as
that of an earlier version; each runs in a process of its own. Other programs on the machine change times, and ratios less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
N_BATCH = 16  # coupling vectors


@contextmanager
def busy(n: int) -> Iterator[None]:
    """So many processes that never rest."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def calls(n_data: int, *, floating: bool) -> dict[str, Callable[[], Any]]:
    """What is timed."""
    import numpy as np

    import ctpwa
    from common import load_kk_eta, perturbed
    from ctpwa.engine.likelihood.build import build_likelihood

    model = load_kk_eta(floating=floating)
    data, phase_space = (ctpwa.generate_phase_space(model, n, seed=seed) for n, seed in ((n_data, 3), (5 * n_data, 4)))
    likelihood = build_likelihood(model, data, phase_space, engine="cpu")
    likelihood.engine.prepare()
    x = perturbed(likelihood, 1)
    some = np.stack([x * (1 + 0.01 * k) for k in range(N_BATCH)])
    found: dict[str, Callable[[], Any]] = {
        "value": lambda: likelihood.value(x),
        "gradient": lambda: likelihood.value_and_grad(x),
        "Hessian": lambda: likelihood.hessian(x),
    }
    return found if floating else found | {f"batch of {N_BATCH}": lambda: likelihood.value_and_grad(some)}


def measure(n_data: int, n_busy: int, seconds: float) -> list[dict[str, Any]]:
    """Times with one and two threads, by turns."""
    import torch

    from ctpwa.base.parts import set_num_threads

    rows = []
    for floating in (False, True):
        for name, call in calls(n_data, floating=floating).items():
            times: dict[int, list[float]] = {1: [], 2: []}
            with busy(n_busy):
                end = time.perf_counter() + seconds
                while time.perf_counter() < end or len(times[2]) < 6:
                    for threads, own in times.items():
                        set_num_threads(threads)
                        torch.set_num_threads(threads)
                        for k in range(3):
                            begin = time.perf_counter()
                            call()
                            if k:  # the first after a change is not typical
                                own.append(1e3 * (time.perf_counter() - begin))
            one, two = (statistics.median(own) for own in times.values())
            row = {"lineshapes": "floating" if floating else "fixed", "call": name, "one thread [ms]": one, "two threads [ms]": two}
            rows.append(row | {"ratio": two / one, "90 % below": statistics.quantiles(times[2], n=10)[-1] / one, "calls": len(times[2])})
    return rows


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", type=int, default=0, help="processes that keep a core busy; default: 0")
    parser.add_argument("--data", type=int, default=100_000, help="events of data; five times as many of phase space; default: 100000")
    parser.add_argument("--seconds", type=float, default=3.0, help="for every kind of call; default: 3")
    parser.add_argument("--other", type=Path, help="root of another tree to compare with")
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)  # for a process of this program
    arguments = parser.parse_args()
    if arguments.json:
        print(json.dumps(measure(arguments.data, arguments.busy, arguments.seconds)))
        return
    from common import hardware, print_table

    print(f"{hardware('cpu')}, {arguments.data} + {5 * arguments.data} events, {arguments.busy} busy")
    numbers = ["--busy", str(arguments.busy), "--data", str(arguments.data), "--seconds", str(arguments.seconds)]
    for tree in (ROOT, *([] if arguments.other is None else [arguments.other])):
        command = [sys.executable, str(Path(__file__)), "--json", *numbers]
        run = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(tree / "src")}, stdout=subprocess.PIPE, text=True, check=True)
        print_table(str(tree.resolve().name), json.loads(run.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
