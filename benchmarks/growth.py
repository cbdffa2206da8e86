"""How time and memory grow with events, waves, spins and particles, with fitted exponents; and a fit of 10 million events.

    python benchmarks/growth.py [--device cpu|cuda] [--quick] [--parts events waves spins particles fit] [--out FILE.json]

A quantity y that grows like n^k gives k as the slope of a line through ln y over ln n: by least squares over all sizes, with its standard
error, and once more over the three largest, where what does not grow has lost its weight. Times are the quickest of some calls after a
warm-up, since a call that has to wait says nothing about growth. Before a model is timed, its gradient is compared with the reference
engine. Memory of a GPU is what torch allocates, of a CPU the resident set: while samples are built, and in evaluations. The file is written
after every part.

On a machine where others work as well, long calls have to wait and short ones do not, which looks like growth. There, count the CPU time of
one thread: OMP_NUM_THREADS=1 python benchmarks/growth.py --clock cpu
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ctpwa
from common import agree, hardware, load_kk_eta, perturbed, print_table, wait
from ctpwa.engine.backends.reference.engine import ReferenceEngine
from growth_models import of_particles, of_spin, of_waves
from growth_page import page

SEED = 5
FAMILIES = ("K+ K- eta", "K- 3pi")
SPINS = range(6)
CLOSES = 0.01  # largest difference of a fit from the generated values, in standard errors
MEASURED, MEGABYTE = ("building_bytes", "gradient_bytes", "hessian_bytes"), 1e6
SMALL = 64  # events of the comparison with the reference


@dataclass
class Clock:
    """What seconds are counted: those on the wall, or those of the processor."""

    now: Callable[[], float] = time.perf_counter


CLOCK = Clock()


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        events:        numbers of events of the data and of phase space, each
        wave_events:   the same for growing numbers of waves
        waves:         numbers of waves
        spin_events:   events whose spin amplitudes are computed
        many_bodies:   events of decays to three, four and six particles
        fit_events:    events of the fit
        seconds:       for the calls of one evaluation
    """

    events: tuple[int, ...]
    wave_events: int
    waves: tuple[int, ...]
    spin_events: int
    many_bodies: int
    fit_events: int
    seconds: float


SIZES = {
    ("cuda", False): Sizes((10**4, 10**5, 10**6, 3 * 10**6, 10**7), 500_000, (10, 25, 50, 100, 200), 500_000, 200_000, 10**7, 0.2),
    ("cuda", True): Sizes((10**4, 10**5, 10**6), 50_000, (10, 50, 200), 50_000, 20_000, 10**6, 0.1),
    ("cpu", False): Sizes((10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6), 10_000, (10, 25, 50, 100, 200), 20_000, 4_000, 10**6, 0.3),
    ("cpu", True): Sizes((10**3, 10**4, 10**5), 1_000, (10, 50, 200), 2_000, 500, 10**5, 0.1),
}


@dataclass(frozen=True)
class Exponent:
    """k of y ∝ n^k.

    Attributes:
        value, error:    over all sizes; the error is 0 for two sizes
        largest:         over the three largest
        first, last:     the range of n
    """

    value: float
    error: float
    largest: float
    first: int
    last: int

    @classmethod
    def of(cls, n: Sequence[int], y: Sequence[float]) -> Exponent:
        """Least squares in ln n and ln y."""
        x, z = np.log(n), np.log(y)
        (value, offset), ends = np.polyfit(x, z, 1), slice(-min(3, len(x)), None)
        spread = ((x - x.mean()) ** 2).sum()
        rest = ((z - value * x - offset) ** 2).sum()
        error = float(np.sqrt(rest / (len(x) - 2) / spread)) if len(x) > 2 else 0.0
        return cls(float(value), error, float(np.polyfit(x[ends], z[ends], 1)[0]), min(n), max(n))


def exponents(rows: Sequence[Mapping[str, Any]], over: str, of: Sequence[str]) -> list[dict[str, Any]]:
    """A row for every quantity that all rows have; memory below a megabyte is not measured well enough to grow."""
    result = []
    for name in of:
        if all((row.get(name) or 0) > (MEGABYTE if name in MEASURED else 0) for row in rows):
            k = Exponent.of([row[over] for row in rows], [row[name] for row in rows])
            shared = {key: rows[0][key] for key in ("model", "floating") if key in rows[0]}
            result.append(shared | {"quantity": name, "over": over, "from": k.first, "to": k.last, "exponent": round(k.value, 3)}
                          | {"error": round(k.error, 3), "of the largest": round(k.largest, 3)})  # fmt: skip
    return result


class Memory:
    """The most memory since it was last asked, beyond what was used before.

    Args:
        device:  whose memory
    """

    def __init__(self, device: str) -> None:
        self.device = device
        gc.collect()
        if device == "cuda":
            torch.cuda.empty_cache()
        else:
            _give_back_memory()
        self.before = self._now()
        self._reset()

    def _now(self) -> int:
        return torch.cuda.memory_allocated() if self.device == "cuda" else _status("VmRSS")

    def _reset(self) -> None:
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        else:
            try:
                Path("/proc/self/clear_refs").write_text("5")
            except OSError:
                self.before = -1

    def peak(self) -> int | None:
        """Bytes; None where the system does not say."""
        if self.before < 0:
            return None
        most = torch.cuda.max_memory_allocated() if self.device == "cuda" else _status("VmHWM")
        if self.device != "cuda":
            _give_back_memory()
        self._reset()
        return max(most - self.before, 0)


def _give_back_memory() -> None:
    """What the C library keeps of freed memory would hide what is allocated next; libraries that have no such call keep less."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _status(name: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def quickest(work: Callable[[], Any], device: str, seconds: float) -> float:
    """Milliseconds of the quickest of at least three calls after one that is not counted."""
    times: list[float] = []
    work()
    begin = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begin < seconds and len(times) < 50):
        times.append(once(work, device)[0])
    return 1e3 * min(times)


def once(work: Callable[[], Any], device: str) -> tuple[float, Any]:
    """Seconds of one call, and what it gives."""
    wait(device)
    begin = CLOCK.now()
    result = work()
    wait(device)
    return CLOCK.now() - begin, result


def random_point(likelihood: Any) -> np.ndarray:
    """Couplings of random phase with which all waves are about equally strong."""
    return likelihood.random_couplings(likelihood.start, 1, SEED)[0]


def compare_with_reference(model: Any, device: str) -> float:
    """Largest relative difference of a gradient from the reference engine."""
    data, phsp = (ctpwa.generate_phase_space(model, SMALL, seed=seed, device=device) for seed in (1, 2))
    likelihood = ctpwa.build_likelihood(model, data, phsp, engine=device, device=device)
    x = random_point(likelihood)
    ours = likelihood.value_and_grad(x)[1]
    reference = likelihood.with_engine(ReferenceEngine(likelihood.plan, likelihood.engine.device))
    return agree(f"gradient of {model.decay}", ours, reference.value_and_grad(x)[1], 1e-10)


def measure(model: Any, n: int, device: str, seconds: float, *, hessian: bool = True) -> dict[str, Any]:
    """Initialisation, NLL with gradient, Hessian and memory, with ``n`` events of data and as many of phase space."""
    data, phsp = (ctpwa.generate_phase_space(model, n, seed=seed, device=device) for seed in (3, 4))
    memory = Memory(device)
    initialisation, likelihood = once(lambda: ctpwa.build_likelihood(model, data, phsp, engine=device, device=device), device)
    building, plan = memory.peak(), likelihood.memory()
    x = random_point(likelihood)
    likelihood.value_and_grad(x)
    memory.peak()
    row = {"events": n, "waves": len(model.waves), "structures": likelihood.plan.n_structures, "channels": len(likelihood.plan.channels)}
    row |= {"free": len(x)}
    row |= {"initialisation_s": initialisation, "gradient_ms": quickest(lambda: likelihood.value_and_grad(x), device, seconds)}
    row |= {
        "bytes_per_event": plan.bytes_per_event,
        "planned_bytes": plan.total,
        "building_bytes": building,
        "gradient_bytes": memory.peak(),
    }
    if hessian:
        row |= {"hessian_ms": quickest(lambda: likelihood.hessian(x), device, seconds), "hessian_bytes": memory.peak()}
    return row


TIMES = ("initialisation_s", "gradient_ms", "hessian_ms")
BYTES = ("planned_bytes", *MEASURED)


def grow_with_events(sizes: Sizes, device: str) -> dict[str, Any]:
    """J/psi -> K+ K- eta with 33 waves."""
    rows, slopes = [], []
    for floating in (False, True):
        model = load_kk_eta(floating=floating)
        shared = {"model": "K+ K- eta", "floating": floating, "difference": compare_with_reference(model, device)}
        series = [shared | progress(measure(model, n, device, sizes.seconds)) for n in sizes.events]
        rows += series
        slopes += exponents(series, "events", (*TIMES, *BYTES))
    return {"rows": rows, "exponents": slopes}


def grow_with_waves(sizes: Sizes, device: str) -> dict[str, Any]:
    """10 to 200 waves of two decays; a Hessian has as many elements as pairs of parameters."""
    rows, slopes = [], []
    for family in FAMILIES:
        for floating in (False, True):
            shared = {"model": family, "floating": floating}
            series = []
            for n_waves in sizes.waves:
                loading, model = once(lambda f=family, n=n_waves, fl=floating: of_waves(f, n, floating=fl), device)
                if n_waves == min(sizes.waves):
                    shared["difference"] = compare_with_reference(model, device)
                row = measure(model, sizes.wave_events, device, sizes.seconds)
                series.append(shared | progress({"model": family, "load_s": loading} | row))
            rows += series
            slopes += exponents(series, "waves", (*TIMES, "bytes_per_event", *BYTES))
    return {"rows": rows, "exponents": slopes}


def grow_with_spin(sizes: Sizes, device: str) -> dict[str, Any]:
    """Spin amplitudes per wave of resonances with J = 0 … 5, or ½ … 11/2, over 2J + 1."""
    rows, slopes = [], []
    for kind in ("pair", "cascade", "baryon"):
        series = []
        for J in SPINS:
            model = of_spin(kind, J)
            events = ctpwa.generate_phase_space(model, sizes.spin_events, seed=SEED, device=device)
            ms = quickest(lambda m=model, e=events: m.spin_amplitudes(e, barrier=True, progress=False), device, sizes.seconds)
            states = 2 * J + (2 if kind == "baryon" else 1)
            row = {"model": kind, "states": states, "waves": len(model.waves), "events": sizes.spin_events, "spin_amplitudes_ms": ms}
            series.append(progress(row | {"per_wave_ms": ms / len(model.waves)}))
        rows += series
        slopes += exponents(series, "states", ("spin_amplitudes_ms", "per_wave_ms"))
    return {"rows": rows, "exponents": slopes}


def grow_with_particles(sizes: Sizes, device: str) -> dict[str, Any]:
    """Three, four and six final particles: 1, 4 and 36 exchanges of identical ones, each with masses of its own."""
    rows = []
    for n_final in (3, 4, 6):
        loading, model = once(lambda n=n_final: of_particles(n), device)
        shared = {"particles": n_final, "load_s": loading, "difference": compare_with_reference(model, device)}
        row = measure(model, sizes.many_bodies, device, sizes.seconds)
        row["gradient_ns_per_channel_and_event"] = 1e6 * row["gradient_ms"] / row["channels"] / row["events"]
        rows.append(progress(shared | row))
    return {"rows": rows, "exponents": []}


def fit_many_events(sizes: Sizes, device: str) -> dict[str, Any]:
    """A fit of J/psi -> K+ K- eta with fixed lineshapes that must find the generated values.

    The data are phase-space events with their intensity as weight, and the same events are the normalisation: the minimum of −ln L then is
    at the generated values, exactly, and any difference is the fit's. A start with all couplings off by 20 % has far to go with so many
    events.
    """
    model, n = load_kk_eta(floating=False), sizes.fit_events
    generation, phsp = once(lambda: ctpwa.generate_phase_space(model, n, seed=SEED, device=device), device)
    weighing, intensity = once(lambda: ctpwa.ModelIntensity(model, engine=device, device=device)(phsp), device)
    data = ctpwa.Events(phsp.momenta, intensity / intensity.mean())
    memory = Memory(device)
    initialisation, likelihood = once(lambda: ctpwa.build_likelihood(model, data, phsp, engine=device, device=device), device)
    building = memory.peak()
    likelihood.engine.prepare()
    likelihood.value_grad_hessian(likelihood.start)
    memory.peak()
    truth = likelihood.start
    seconds, result = once(lambda: ctpwa.fit(likelihood, start=perturbed(likelihood, SEED), progress=False), device)
    pulls = [(p.value - value) / p.error for p, value in zip(result.parameters, truth, strict=True) if p.error]
    difference = float(np.abs(pulls).max())
    row = {"events": n, "free": len(truth), "generation_s": generation, "intensities_s": weighing, "initialisation_s": initialisation}
    row |= {"fit_s": seconds, "gradients": result.record.gradients, "hessians": result.record.hessians, "good": result.verdict.good}
    row |= {"largest_pull": difference, "building_bytes": building, "fit_bytes": memory.peak()}
    progress(row)
    if not result.verdict.good or len(pulls) != len(truth) or difference > CLOSES:
        raise SystemExit(f"the fit of {n} events ends {difference:.1e} σ from the generated values, more than {CLOSES}: {result.verdict}")
    return {"rows": [row], "exponents": []}


PARTS = {
    "events": ("Growth with events", grow_with_events),
    "waves": ("Growth with waves", grow_with_waves),
    "spins": ("Growth with spin", grow_with_spin),
    "particles": ("Growth with particles", grow_with_particles),
    "fit": ("A fit of many events", fit_many_events),
}


def progress(row: dict[str, Any]) -> dict[str, Any]:
    """Say what was measured, at once."""
    shown = {key: f"{value:.3g}" if isinstance(value, float) else value for key, value in row.items() if value is not None}
    print("  " + ", ".join(f"{key} {value}" for key, value in shown.items()), flush=True)
    return row


def main() -> None:
    """Run the parts, print what they find, write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="fewer sizes and a tenth of the events")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS), help="which parts; default: all")
    parser.add_argument("--clock", default="wall", choices=["wall", "cpu"], help="which time is measured; cpu needs one thread")
    parser.add_argument(
        "--page", type=Path, metavar="FILE.json", help="measure nothing; print the tables of an earlier run for the documentation"
    )
    parser.add_argument("--out", type=Path, help="write all numbers as JSON")
    arguments = parser.parse_args()
    if arguments.page:
        print(page(json.loads(arguments.page.read_text(encoding="utf-8"))))
        return
    if arguments.clock == "cpu":
        if arguments.device == "cuda" or torch.get_num_threads() > 1:
            parser.error("--clock cpu counts all threads together: use --device cpu with OMP_NUM_THREADS=1")
        CLOCK.now = time.process_time
    device, sizes = arguments.device, SIZES[arguments.device, arguments.quick]
    results: dict[str, Any] = {
        "hardware": hardware(device),
        "clock": arguments.clock,
        "torch": torch.__version__,
        "ctpwa": ctpwa.__version__,
        "parts": {},
    }
    print(f"{results['hardware']}, torch {torch.__version__}, double precision, {arguments.clock} clock", flush=True)
    for name in arguments.parts:
        title, part = PARTS[name]
        print(f"\n{title}: {(part.__doc__ or '').splitlines()[0]}", flush=True)
        seconds, found = once(lambda part=part: part(sizes, device), device)
        results["parts"][name] = found | {"seconds": seconds}
        if found["exponents"]:
            print_table(f"{title}: y ∝ n^k", found["exponents"])
        print(f"  {seconds:.0f} s", flush=True)
        if arguments.out:
            arguments.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
