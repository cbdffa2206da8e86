"""Samples larger than the memory of the device: K+ K- eta, streamed in every evaluation, in one run.

    python benchmarks/streaming.py [--device cpu|cuda] [--quick] [--events N_DATA N_PHSP] [--device-memory SIZE] [--out FILE.json]

Three parts. First a sample that fits both ways: streamed and unstreamed must agree to 1e-12. Then the large one, floating and fixed, with
the memory of the device limited: initialisation, NLL and gradient, Hessian, bytes moved per evaluation, and the achieved rate against
the copy rate measured in the same run. On a CPU, where a chunk in main memory does not move, main memory is limited instead and chunks
are read from disk. Last, a phase-space sample that is read in pieces from a Parquet file. Events are generated in pieces on the device.

``overlap`` is the time that copies and sums would take one after the other, copies at the measured rate and sums at the unstreamed time per
event, divided by the time that was measured: 1 means no overlap, and more than 1 that they run at the same time.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ctpwa
from common import agree, hardware, load_kk_eta, milliseconds, perturbed, print_table, timed
from ctpwa.base.memory import format_bytes, parse_bytes
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.generate.masses import particle_masses
from ctpwa.generate.phase_space import PhaseSpaceSampler

PIECE = 1 << 20  # events that are generated at a time
COPY_BYTES = 1 << 28


class Generated(ctpwa.data.EventStream):
    """Phase space that is generated whenever it is wanted, and never held.

    Args:
        model:   the model
        n:       number of events
        seed:    seed of the random numbers
        device:  where to generate
    """

    def __init__(self, model: ctpwa.Model, n: int, seed: int, device: str) -> None:
        self.model, self.n_events, self.seed, self.device = model, n, seed, device

    def pieces(self) -> Iterator[ctpwa.Events]:
        """The events, some at a time."""
        parent, final = particle_masses(self.model)
        sampler = PhaseSpaceSampler(parent, list(final.values()), torch.device(self.device), self.seed)
        done = 0
        while done < self.n_events:
            p4, _ = sampler.sample_accepted(PIECE, self.n_events - done)
            done += p4.shape[-1]
            yield ctpwa.Events({name: p4[i].T.contiguous() for i, name in enumerate(final)})


def copy_rate(device: str) -> float:
    """Bytes per second from locked main memory to the device; on a CPU from one place in main memory to another."""
    host = torch.ones(COPY_BYTES, dtype=torch.uint8, pin_memory=device == "cuda")
    there = torch.empty(COPY_BYTES, dtype=torch.uint8, device=device)
    return 1e3 * COPY_BYTES / milliseconds(lambda: there.copy_(host, non_blocking=True), device, 1.0)


def limits(device: str, size: int | None) -> dict[str, Any]:
    """A limit of the memory that counts on a device."""
    return {} if size is None else {"device_memory" if device == "cuda" else "host_memory": size}


def build(model: ctpwa.Model, data: Any, phsp: Any, device: str, size: int | None = None, **options: Any) -> tuple[float, Likelihood]:
    """Seconds of the initialisation, and the likelihood."""
    where = {"engine": "cuda" if device == "cuda" else "cpu", "device": device}
    seconds, likelihood = timed(lambda: build_likelihood(model, data, phsp, **where, **limits(device, size), **options), device)
    return seconds, likelihood


def times(likelihood: Likelihood, device: str, budget: float) -> dict[str, float]:
    """Milliseconds of an evaluation and bytes that it moves."""
    x = perturbed(likelihood, 1)
    likelihood.engine.prepare()
    row = {}
    for name, work in (("gradient", lambda: likelihood.value_and_grad(x)), ("hessian", lambda: likelihood.value_grad_hessian(x))):
        work()
        streamer = likelihood.streamer
        before = streamer.bytes_copied, streamer.bytes_read
        work()
        row[f"{name}_bytes"] = streamer.bytes_copied - before[0] if device == "cuda" else streamer.bytes_read - before[1]
        row[f"{name}_ms"] = milliseconds(work, device, budget, warm=True)
    return row


def agreement(n_data: int, n_phsp: int, device: str, *, floating: bool) -> dict[str, Any]:
    """A fifth of a sample that fits, streamed and not; and what an evaluation of all of it takes per event when nothing moves."""
    model = load_kk_eta(floating=floating)
    _, large = build(model, Generated(model, n_data, 1, device), Generated(model, n_phsp, 2, device), device)
    events, found = n_data + (n_phsp if floating else 0), times(large, device, 1.0)
    del large
    n_data, n_phsp = n_data // 5, n_phsp // 5
    data, phsp = Generated(model, n_data, 1, device), Generated(model, n_phsp, 2, device)
    _, whole = build(model, data, phsp, device)
    size = whole.memory().total // 4
    _, streamed = build(model, data, phsp, device, size)
    assert streamed.memory().streamed
    assert not whole.memory().streamed
    x = perturbed(whole, 1)
    row: dict[str, Any] = {"floating": floating, "N_data": n_data, "N_phsp": n_phsp, "limit": format_bytes(size)}
    for name, ours, other in zip(
        ("value", "gradient", "hessian"), streamed.value_grad_hessian(x), whole.value_grad_hessian(x), strict=True
    ):
        row[f"difference_{name}"] = agree(f"streamed {name}", ours, other, 1e-12)
    X = np.stack([x, perturbed(whole, 2)])
    row["difference_batch"] = agree("streamed batch", streamed.value_and_grad(X)[1], whole.value_and_grad(X)[1], 1e-12)
    row["difference_intensity"] = agree("streamed intensities", streamed.intensity(x).cpu(), whole.intensity(x).cpu(), 1e-12)
    row["difference_scores"] = agree("streamed score products", streamed.score_products(x), whole.score_products(x), 1e-12)
    row["difference_integrals"] = agree("streamed integrals", streamed.integrals(x).matrix, whole.integrals(x).matrix, 1e-12)
    return row | {f"unstreamed_{name}_ns_per_event": 1e6 * found[f"{name}_ms"] / events for name in ("gradient", "hessian")}


def large(n_data: int, n_phsp: int, device: str, size: int, rate: float, unstreamed: dict[str, Any], *, floating: bool) -> dict[str, Any]:
    """The sample that does not fit."""
    model = load_kk_eta(floating=floating)
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated() if device == "cuda" else 0
    seconds, likelihood = build(model, Generated(model, n_data, 1, device), Generated(model, n_phsp, 2, device), device, size)
    plan = likelihood.memory()
    print(f"\n{'floating' if floating else 'fixed'}: {plan}", flush=True)
    row: dict[str, Any] = {"floating": floating, "N_data": n_data, "N_phsp": n_phsp, "initialisation_s": seconds}
    row |= {"bytes_per_event": plan.bytes_per_event, "device_bytes": plan.device, "host_bytes": plan.host, "disk_bytes": plan.disk}
    row |= times(likelihood, device, 4.0)
    events = n_data + (n_phsp if floating else 0)
    for name in ("gradient", "hessian"):
        took, moved = 1e-3 * row[f"{name}_ms"], row[f"{name}_bytes"]
        sums = 1e-9 * unstreamed[f"unstreamed_{name}_ns_per_event"] * events
        row[f"{name}_GB_per_s"] = 1e-9 * moved / took
        row[f"{name}_fraction_of_copy_rate"] = moved / took / rate
        row[f"{name}_overlap"] = (moved / rate + sums) / took
        row[f"{name}_ns_per_event"] = 1e9 * took / events
        row[f"{name}_over_unstreamed"] = took / sums
    if device == "cuda":
        row["peak_device_bytes"] = torch.cuda.max_memory_allocated() - before
    row["peak_host_bytes"] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return row


def from_parquet(n_data: int, n_phsp: int, device: str, size: int, folder: Path) -> list[dict[str, Any]]:
    """Phase space that is written to a Parquet file first and then read in pieces: once with main memory, once with disk."""
    model = load_kk_eta(floating=True)
    path = folder / "phsp.parquet"
    data, phsp = ctpwa.generate_phase_space(model, n_data, 1), ctpwa.generate_phase_space(model, n_phsp, 2)
    begin_s = time.perf_counter()
    ctpwa.write_events(path, phsp, model=model)
    seconds = time.perf_counter() - begin_s
    _, whole = build(model, data, phsp, device)
    x = perturbed(whole, 1)
    expected = whole.value_and_grad(x)[1]
    del whole, phsp
    rows = []
    for host_memory in (None, size):
        opened = ctpwa.open_events(model, path)
        options = {} if host_memory is None or device == "cpu" else {"host_memory": host_memory}
        limit = size if device == "cuda" else host_memory  # on a CPU everything fits the first time
        initialisation, likelihood = build(model, data, opened, device, limit, scratch=str(folder), **options)
        plan = likelihood.memory()
        begin = likelihood.streamer.bytes_read
        difference = agree("from Parquet", likelihood.value_and_grad(x)[1], expected, 1e-12)
        read = likelihood.streamer.bytes_read - begin
        took = milliseconds(lambda likelihood=likelihood: likelihood.value_and_grad(x), device, 2.0, warm=True)
        row = {"N_data": n_data, "N_phsp": n_phsp, "file_bytes": path.stat().st_size, "written_s": seconds, "difference": difference}
        row |= {"initialisation_s": initialisation, "device_bytes": plan.device, "host_bytes": plan.host, "disk_bytes": plan.disk}
        rows.append(row | {"gradient_ms": took, "read_bytes": read, "read_GB_per_s": 1e-6 * read / took})
        del likelihood
    begin_s = time.perf_counter()
    passed = sum(piece.n_events for piece in ctpwa.open_events(model, path).pieces())
    again = time.perf_counter() - begin_s
    rows[-1] |= {"momenta_again_ms": 1e3 * again, "momenta_ns_per_event": 1e9 * again / passed}  # what no scratch file would cost, at least
    return rows


def main() -> None:
    """Run all parts, print the tables, write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="a hundredth of the events and of the memory")
    parser.add_argument("--events", type=int, nargs=2, metavar=("N_DATA", "N_PHSP"), help="events of the large sample")
    parser.add_argument("--device-memory", help="limit of the memory, such as '4 GB'; on a CPU of main memory")
    parser.add_argument("--scratch", type=Path, help="folder for the Parquet file and scratch files")
    parser.add_argument("--out", type=Path, help="write all numbers as JSON")
    arguments = parser.parse_args()
    device, on_gpu, divide = arguments.device, arguments.device == "cuda", 100 if arguments.quick else 1
    n_data, n_phsp = arguments.events or [n // divide for n in ((20_000_000, 100_000_000) if on_gpu else (40_000, 200_000))]
    size = parse_bytes(arguments.device_memory or (4 * 10**9 if on_gpu else 9 * 10**6) // divide, "--device-memory")
    few = [max(n // 20, 100) for n in (n_data, n_phsp)] if on_gpu else [max(n // 2, 100) for n in (n_data, n_phsp)]
    rate = copy_rate(device)
    print(
        f"{hardware(device)}, torch {torch.__version__}; copies to it {rate / 1e9:.1f} GB/s; memory limited to {format_bytes(size)}",
        flush=True,
    )
    begin = time.perf_counter()
    agreed = [agreement(*few, device, floating=floating) for floating in (False, True)]
    print_table("Samples that fit: streamed against unstreamed", agreed)
    results: dict[str, Any] = {"hardware": hardware(device), "copy_rate": rate, "limit": size, "agreement": agreed, "large": []}
    for unstreamed, floating in zip(agreed, (False, True), strict=True):
        results["large"].append(large(n_data, n_phsp, device, size, rate, unstreamed, floating=floating))
        _write(arguments.out, results)
    print_table("Samples that do not fit", results["large"])
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        results["parquet"] = from_parquet(few[0], few[1], device, size // (10 if on_gpu else 1), Path(folder))
    print_table("Phase space from a Parquet file", results["parquet"])
    results["seconds"] = time.perf_counter() - begin
    print(f"\n{results['seconds']:.0f} s in all")
    _write(arguments.out, results)


def _write(out: Path | None, results: dict[str, Any]) -> None:
    if out is not None:
        out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
