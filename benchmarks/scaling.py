"""Weak and strong scaling of the likelihood over processes, with the model of J/psi -> K+ K- eta and ten floating parameters.

    python benchmarks/scaling.py [--processes 1 2] [--device cpu|cuda] [--data 20000] [--phase-space 100000] [--out FILE.json]

Every process uses one CPU thread or one GPU. Strong: all of them share the events. Weak: each brings as many. Times are medians of calls of
the whole likelihood, the sum over all processes included, and in brackets the quickest call, which tells more on a machine that others use
as well, as does the CPU time of the first process per call; "sum" is that of as many numbers alone.

On a cluster, start the workers yourself, once for every number of processes, and read the line that rank 0 prints:

    srun torchrun ... benchmarks/scaling.py --worker --device cuda --data 1000000 --phase-space 5000000
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch

import ctpwa
from common import load_kk_eta
from ctpwa.base.parts import set_num_threads
from ctpwa.base.ranks import HEADER

SECONDS, MIN_CALLS, MAX_CALLS = 3.0, 7, 500


def timed(work, ranks) -> tuple[float, float, float]:
    """Seconds of a call, median and least, and its mean CPU time; all ranks make as many of them."""
    work()
    begin = time.perf_counter()
    work()
    calls = min(max(int(SECONDS / max(time.perf_counter() - begin, 1e-9)), MIN_CALLS), MAX_CALLS)
    calls = int(ranks.sum(1, lambda: np.array([float(calls if ranks.first else 0)]))[0])
    times, cpu = [], time.process_time()
    for _ in range(calls):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times), min(times), (time.process_time() - cpu) / calls


def work(options) -> None:
    """One process of a measurement; the first prints what all found."""
    torch.set_num_threads(1)
    set_num_threads(1)
    ranks = ctpwa.base.current_ranks()
    model = load_kk_eta(floating=True)
    factor = ranks.size if options.weak else 1
    data = ctpwa.generate_phase_space(model, options.data * factor, seed=1, ranks=ranks)
    phase_space = ctpwa.generate_phase_space(model, options.phase_space * factor, seed=2, ranks=ranks)
    like = ctpwa.build_likelihood(model, data, phase_space, engine=options.device)
    x = like.start
    n = 2 * like.plan.n_couplings + like.plan.n_floating
    sizes = {"value": 3, "gradient": 3 * (1 + n), "hessian": 3 * (1 + n + n * (n + 1) // 2)}
    calls = {"value": like.value, "gradient": like.value_and_grad, "hessian": like.value_grad_hessian}
    row = {"processes": ranks.size, "weak": options.weak, "N_data": data.rows.total if data.rows else options.data}
    row |= {"N_phsp": options.phase_space * factor, "free": len(x), "nll": like.value(x)}
    for name, call in calls.items():
        row[f"{name}_s"], row[f"{name}_least_s"], row[f"{name}_cpu_s"] = timed(lambda call=call: call(x), ranks)
        numbers = np.zeros(sizes[name])
        add_up = partial(ranks.sum, len(numbers), lambda numbers=numbers: numbers, b"", like.engine.device)
        row[f"{name}_sum_s"], row[f"{name}_sum_least_s"], _ = timed(add_up, ranks)
        row[f"{name}_bytes"] = 8 * (HEADER + sizes[name])
    if ranks.first:
        print(json.dumps(row), flush=True)


def measure(n: int, weak: bool, options) -> dict:
    """Start the processes of one measurement."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    one = {"OMP_NUM_THREADS": "1", "WORLD_SIZE": str(n), "LOCAL_WORLD_SIZE": str(n)}
    command = [sys.executable, __file__, "--worker", "--device", options.device, "--data", str(options.data)]
    command += ["--phase-space", str(options.phase_space), *(["--weak"] if weak else [])]
    processes = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | one | {"RANK": str(k), "LOCAL_RANK": str(k), "MASTER_ADDR": "localhost", "MASTER_PORT": port},
        )
        for k in range(n)
    ]
    outputs = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit("a process failed, see its message above")
    return json.loads(outputs[0].splitlines()[-1])


def table(rows: list[dict]) -> str:
    """Times in ms, and efficiencies."""
    lines = [
        "| | processes | events | value + gradient | efficiency | CPU | + Hessian | efficiency | CPU | sum of gradient | sum of Hessian |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        first = next(other for other in rows if other["weak"] == row["weak"])
        share = 1 if row["weak"] else first["processes"] / row["processes"]
        cells = ["weak" if row["weak"] else "strong", str(row["processes"]), f"{row['N_data']:,} + {row['N_phsp']:,}".replace(",", " ")]
        for name in ("gradient", "hessian"):
            times, firsts = ([r[f"{name}{which}"] for which in ("_s", "_least_s")] for r in (row, first))
            ratios = [100 * b * share / a for a, b in zip(times, firsts, strict=True)]
            cells += [f"{1e3 * times[0]:.1f} ({1e3 * times[1]:.1f}) ms", f"{ratios[0]:.0f} ({ratios[1]:.0f}) %"]
            cells.append(f"{1e3 * row[f'{name}_cpu_s']:.1f} ms")
        cells += [f"{1e3 * row[f'{name}_sum_s']:.2f} ({1e3 * row[f'{name}_sum_least_s']:.2f}) ms" for name in ("gradient", "hessian")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--data", type=int, default=20_000)
    parser.add_argument("--phase-space", type=int, default=100_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--worker", action="store_true", help="be one of the processes")
    parser.add_argument("--weak", action="store_true", help="with --worker: as many events for every process")
    options = parser.parse_args()
    if options.worker:
        work(options)
        return
    rows = [measure(n, weak, options) for weak in (False, True) for n in options.processes]
    about = {"machine": platform.machine(), "cores": os.cpu_count(), "torch": torch.__version__, "device": options.device}
    print(table(rows))
    if options.out is not None:
        options.out.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
