"""Events per second of the spin stage: python benchmarks/spin.py [--events N] [--device cpu|cuda] [--out FILE.json]

Every case is timed after a warm-up, as the median of several runs, including the checks of the momenta; the gate before the timing is
that chunked and unchunked results agree. Memory is the peak of temporary tensors beyond the result, on a GPU.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import torch

import ctpwa

KK_ETA = Path(__file__).parents[1] / "examples" / "jpsi_kk_eta" / "model.yml"
IN_P_ETA = {"in": ["p eta", "p~ eta"]}
CASES: dict[str, object] = {
    "K+ K- eta, 13 structures": KK_ETA,
    "p p~ eta": {
        "decay": "J/psi(1S) -> p p~ eta",
        "polarisation": "transverse",
        "resonances": {name: IN_P_ETA for name in ("N(1535)", "N(1650)", "N(1710)", "N(1520)", "N(1680)")}
        | {"X(2000)": {"in": "p p~", "JP": "1--", "mass": 2.0, "width": 0.2}},
    },
    "2(pi+ pi-) via a1": {
        "decay": "J/psi(1S) -> pi+ pi- pi+ pi-",
        "polarisation": "transverse",
        "chains": [
            "J/psi(1S) -> a(1)(1260)+ pi- ; a(1)(1260)+ -> rho(770)0 pi+ ; rho(770)0 -> pi+ pi-",
            "J/psi(1S) -> a(1)(1260)- pi+ ; a(1)(1260)- -> rho(770)0 pi- ; rho(770)0 -> pi+ pi-",
        ],
    },
}


def seconds(work, device: str, repeat: int = 5) -> float:
    """Median time of ``work`` after one warm-up."""
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def run(name: str, source, n_events: int, device: str) -> dict:
    """Check and time one case."""
    model = ctpwa.load_model(source)
    events = ctpwa.generate_phase_space(model, n_events, seed=1, device=device)
    small = {key: p[:1000] for key, p in events.items()}
    whole, chunked = (model.spin_amplitudes(small, barrier=True, chunk_size=size).K for size in (1000, 129))
    torch.testing.assert_close(whole, chunked, rtol=1e-13, atol=1e-13)
    result = {}
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated() if device == "cuda" else 0

    def work() -> None:
        result["K"] = None
        result["K"] = model.spin_amplitudes(events, barrier=True).K

    time_s = seconds(work, device, repeat=3 if device == "cpu" else 5)
    K = result["K"]
    own = K.numel() * K.element_size()
    peak = torch.cuda.max_memory_allocated() - before - own if device == "cuda" else None
    return {
        "case": name,
        "device": device,
        "events": n_events,
        "waves": len(model.waves),
        "structures": K.shape[0],
        "rows": K.shape[1],
        "real": not K.is_complex(),
        "seconds": time_s,
        "events_per_second": n_events / time_s,
        "bytes_per_event": own / n_events,
        "temporary_bytes": peak,
    }


def main() -> None:
    """Run all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, help="default: 300 000 on a CPU, 6 000 000 on a GPU")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, help="write the table as JSON")
    arguments = parser.parse_args()
    n_events = arguments.events or (300_000 if arguments.device == "cpu" else 6_000_000)
    rows = [run(name, source, n_events, arguments.device) for name, source in CASES.items()]
    hardware = torch.cuda.get_device_name() if arguments.device == "cuda" else f"{platform.processor()}, {torch.get_num_threads()} threads"
    print(f"spin amplitudes with barrier factors, {hardware}, torch {torch.__version__}")
    print(f"{'case':<28}{'events':>10}{'structures':>12}{'rows':>6}{'seconds':>10}{'events/s':>14}{'bytes/event':>13}{'temporary':>12}")
    for row in rows:
        temporary = "" if row["temporary_bytes"] is None else f"{row['temporary_bytes'] / 1e9:.2f} GB"
        print(
            f"{row['case']:<28}{row['events']:>10}{row['structures']:>12}{row['rows']:>6}{row['seconds']:>10.3f}"
            f"{row['events_per_second']:>14.0f}{row['bytes_per_event']:>13.0f}{temporary:>12}"
        )
    if arguments.out:
        arguments.out.write_text(json.dumps({"hardware": hardware, "torch": torch.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
