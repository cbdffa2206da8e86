"""What the programs of ``peers.py`` share: what they must be able to do, memory, parameters, CPU time. Needs NumPy alone."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Samples = dict[
    str, dict[str, np.ndarray]
]  # "data" and "flat": squared masses of pairs; "p4 data" and "p4 flat": E, px, py, pz of particles
COMPARED = 1000  # events of phase space
BUDGET_S = 5.0


@dataclass(frozen=True)
class Peer:
    """A likelihood in another program, at points in its own coordinates.

    Attributes:
        point:        from parameters by name, such as ``Ra.mass`` and ``Rb.re``
        value:        −ln L, up to a constant
        gradient:     −ln L and its first derivatives
        fit:          −ln L at the end of a fit from a point, up to the same constant
        intensities:  of the first events of phase space
        hessian:      second derivatives; None: it has none
    """

    point: Callable[[dict[str, float]], Any]
    value: Callable[[Any], float]
    gradient: Callable[[Any], Any]
    fit: Callable[[Any], float]
    intensities: Callable[[Any], np.ndarray]
    hessian: Callable[[Any], Any] | None = None


def milliseconds(work: Callable[[], Any]) -> float:
    """Median CPU time of the calls after the first that fit into the budget, 3 at least; of the second if it takes all of the budget."""
    work()
    start = time.process_time()
    work()
    second = time.process_time() - start
    if second > BUDGET_S:
        return 1e3 * second
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begin < BUDGET_S and len(times) < 50):
        start = time.process_time()
        work()
        times.append(1e3 * (time.process_time() - start))
    return statistics.median(times)


def peak() -> float | None:
    """Most memory of this process so far, MiB; what ``resource`` says begins with that of the process that started it. None: not known."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)


def parameters(problem: dict[str, Any], values: str) -> dict[str, float]:
    """Free parameters and their values: those that are ``true``, or where the fit has its ``start``."""
    found: dict[str, float] = {}
    for k, own in enumerate(problem["resonances"]):
        found |= {f"{own['name']}.{part}": own[values][part] for part in ("re", "im") if k}
        found |= {f"{own['name']}.{part}": own[values][part] for part in ("mass", "width") if own["float"]}
    return found


def coupling(values: dict[str, float], own: dict[str, Any]) -> complex:
    """That of a resonance; the first is fixed."""
    name = own["name"]
    return complex(values.get(f"{name}.re", own["true"]["re"]), values.get(f"{name}.im", own["true"]["im"]))


def measure(
    prepare: Callable[[dict[str, Any], Samples], Peer], problem: dict[str, Any], samples: Samples
) -> tuple[np.ndarray, dict[str, Any]]:
    """Intensities, and what everything took."""
    libraries = peak()
    true, start = parameters(problem, "true"), parameters(problem, "start")
    begin = time.process_time()
    peer = prepare(problem, samples)
    at_true, at_start = peer.point(true), peer.point(start)
    peer.gradient(at_true)
    found: dict[str, Any] = {"free": len(true), "initialisation [s]": time.process_time() - begin}
    found |= {"at generated values": float(peer.value(at_true)), "at the start": float(peer.value(at_start))}
    found["gradient [ms]"] = milliseconds(lambda: peer.gradient(at_true))
    hessian = peer.hessian
    if hessian is not None:
        found["Hessian [ms]"] = milliseconds(lambda: hessian(at_true))
    intensities = np.asarray(peer.intensities(at_true))
    if problem["fits"]:
        begin = time.process_time()
        reached = float(peer.fit(at_start))
        found |= {"fit [s]": time.process_time() - begin, "reached": reached}
    return intensities, found | {"libraries and events [MiB]": libraries, "peak of memory [MiB]": peak()}
