"""What benchmarks share: the demonstration's model, clocks, measured limits of the hardware, comparisons, tables."""

from __future__ import annotations

import cmath
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

import ctpwa

ROOT = Path(__file__).parents[1]
KK_ETA = ROOT / "examples" / "jpsi_kk_eta" / "model.yml"


def load_kk_eta(*, floating: bool, tied: bool = True) -> Any:
    """J/psi -> K+ K- eta with 33 waves.

    Args:
        floating:  let ten masses and widths float
        tied:      tie charge conjugates, which leaves 23 couplings; otherwise every wave has its own, with the same values
    """
    description = yaml.safe_load(KK_ETA.read_text(encoding="utf-8"))
    for key in ("samples", "data_sets", "fit"):
        description.pop(key, None)
    if not floating:
        for resonance in description["resonances"].values():
            resonance.pop("float", None)
    if not tied:
        model = ctpwa.load_model(description)
        values = {wave.name: wave.factor * model.coupling_values[wave.coupling] for wave in model.waves}
        description["couplings"] = {name: {"abs": abs(c), "phase": cmath.phase(c)} for name, c in values.items()}
        description["tie_conjugates"] = False
    return ctpwa.load_model(description)


def perturbed(likelihood: Any, seed: int) -> np.ndarray:
    """Generated values with couplings off by about 20 %, resonance parameters by a little."""
    rng = np.random.default_rng(seed)
    x = likelihood.start
    couplings = np.zeros(len(x), dtype=bool)
    couplings[likelihood.coupling_index] = True
    return x * (1 + np.where(couplings, 0.2, 0.005) * rng.normal(size=len(x)))


def first(events: Mapping[str, torch.Tensor], n: int) -> dict[str, torch.Tensor]:
    """The first events of a sample."""
    return {name: p4[:n] for name, p4 in events.items()}


def n_events(events: Mapping[str, torch.Tensor]) -> int:
    """How many events a sample has."""
    return len(next(iter(events.values())))


def wait(device: str) -> None:
    """Until the device has done all it was told to."""
    if device == "cuda":
        torch.cuda.synchronize()


def timed(work: Callable[[], Any], device: str, repeat: int = 1) -> tuple[float, Any]:
    """Median seconds of some calls, and the last result."""
    times, result = [], None
    for _ in range(repeat):
        wait(device)
        begin = time.perf_counter()
        result = work()
        wait(device)
        times.append(time.perf_counter() - begin)
    return statistics.median(times), result


def milliseconds(work: Callable[[], Any], device: str, budget_s: float = 3.0, *, warm: bool = False) -> float:
    """Median time of a call after two for warming up; as many as fit into the budget, 3 to 50; the second if it takes all of the budget.

    Args:
        work:      what to time
        device:    where it computes
        budget_s:  seconds
        warm:      it has been called already
    """
    if not warm:
        work()
    second, _ = timed(work, device)
    if second > budget_s:
        return 1e3 * second
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begin < budget_s and len(times) < 50):
        times.append(1e3 * timed(work, device)[0])
    return statistics.median(times)


def bandwidth(device: str, budget_s: float = 1.0) -> float:
    """Measured read bandwidth, bytes per second."""
    x = torch.ones(1 << (28 if device == "cuda" else 25), dtype=torch.float64, device=device)
    return 1e3 * x.numel() * 8 / milliseconds(lambda: x.sum(), device, budget_s)


def fp64_throughput(device: str, budget_s: float = 1.0) -> float:
    """Measured floating-point operations per second of a large matrix product in double precision."""
    n = 8192 if device == "cuda" else 1536
    a = torch.ones(n, n, dtype=torch.float64, device=device)
    return 1e3 * 2 * n**3 / milliseconds(lambda: a @ a, device, budget_s)


def hardware(device: str) -> str:
    """The name of what computes."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    names = [line.partition(":")[2].strip() for line in _cpu_lines() if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {torch.get_num_threads()} threads"


def _cpu_lines() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def agree(name: str, ours: Any, reference: Any, tolerance: float) -> float:
    """Largest difference relative to the largest element; a wrong result stops the benchmark."""
    ours, reference = np.asarray(ours), np.asarray(reference)
    difference = float(np.abs(ours - reference).max() / np.abs(reference).max())
    if not difference < tolerance:
        raise SystemExit(f"{name}: differs from the reference by {difference:.1e}, more than {tolerance:.0e}")
    return difference


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def print_table(title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print rows by their keys."""
    heads = list(dict.fromkeys(key for row in rows for key in row))
    print(f"\n{title}\n" + markdown(heads, [[_shown(key, row.get(key)) for key in heads] for row in rows]))


def _shown(key: str, value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) and key != "nll" else str(value)
