"""NLL, gradient and Hessian against automatic differentiation and the per-event B-matrix method, in one run.

    python benchmarks/likelihood.py [--device cpu|cuda] [--quick] [--parts NAME,…] [--out FILE.json]

Five parts: the synthetic problem (10 channels, 3 polarisations, N_phsp = 10·N_data, complex random amplitudes); J/psi -> 2(pi+ pi-)
with everything recomputed in every iteration against what this package caches; J/psi -> K+ K- eta with 33 untied waves, fixed and
with ten floating parameters; the same decay in double and in mixed precision, with the bias of the latter; and the same with a density of
background, a subtracted sample, and resolution points. Before anything is timed, results are compared with the reference engine. Times
are medians after a warm-up, by wall clock around the whole call, results on the host included.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

import ctpwa
from common import agree, bandwidth, first, hardware, load_kk_eta, milliseconds, n_events, perturbed, print_table, timed
from ctpwa.engine.backends.reference.engine import ReferenceEngine
from ctpwa.engine.backends.registry import make_engine
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.engine.likelihood.collapsed import Collapsed
from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.plan.plan import ChannelSpec
from ctpwa.engine.plan.planner import build_plan
from ctpwa.engine.plan.tables import LOG, PLAIN
from ctpwa.engine.samples.sample import Sample
from likelihood_additions import additions
from plain_torch import PlainLikelihood

FOUR_PIONS = {
    "decay": "J/psi(1S) -> pi+ pi- pi+ pi-",
    "polarisation": "transverse",
    "chains": [
        "J/psi(1S) -> a(1)(1260)+ pi- ; a(1)(1260)+ -> rho(770)0 pi+ ; rho(770)0 -> pi+ pi-",
        "J/psi(1S) -> a(1)(1260)- pi+ ; a(1)(1260)- -> rho(770)0 pi- ; rho(770)0 -> pi+ pi-",
    ],
}
N_CHANNELS, N_POL, N_BATCH = 10, 3, 64
CHECK_EVENTS = 400  # with so many all engines are compared
TITLES = {
    "Synthetic problem: 10 channels, 3 polarisations": "synthetic",
    "J/psi -> 2(pi+ pi-): recomputed in every iteration, and cached": "recompute",
    "J/psi -> K+ K- eta, 33 waves": "kk_eta",
    "J/psi -> K+ K- eta, 33 waves, double and mixed precision": "kk_eta_precision",
    "J/psi -> K+ K- eta, 33 waves, with background and resolution": "kk_eta_additions",
}


class Synthetic:
    """10 complex channels, 3 polarisations; the normalisation is one matrix for every method alike.

    Args:
        n_data:       events; ten times as many of phase space
        device:       where to compute
        engine_name:  our engine
    """

    def __init__(self, n_data: int, device: str, engine_name: str) -> None:
        self.n_data, self.device = n_data, device
        generator = torch.Generator(device).manual_seed(7)
        channels = [ChannelSpec(i, 1.0, i, ()) for i in range(N_CHANNELS)]
        plan = build_plan(channels, n_couplings=N_CHANNELS, n_structures=N_CHANNELS, n_rows=N_POL, real=False, values={}, floating=[])
        self.engine = make_engine(engine_name, plan, device)
        self.sample, phsp = (self._sample(n, generator) for n in (n_data, 10 * n_data))
        rng = np.random.default_rng(1)
        self.c = rng.normal(size=N_CHANNELS) + 1j * rng.normal(size=N_CHANNELS)
        self.engine.set_numbers(self.c, np.zeros(0))
        gram = self.engine.gram_of(self.engine.gram_row(phsp, PLAIN).cpu().numpy())
        self.norm = Collapsed(gram.re + 1j * gram.im)

    def _sample(self, n: int, generator: torch.Generator) -> Sample:
        K = torch.randn(N_CHANNELS, N_POL, n, dtype=torch.complex128, generator=generator, device=self.device)
        ones = torch.ones(n, dtype=torch.float64, device=self.device)
        return Sample(K, ones.new_empty(0, n), ones, n, None, {})

    def ours(self, order: int) -> tuple:
        """NLL, gradient and, to second order, Hessian by our engine."""
        n = self.n_data
        data, sigma = self.engine.evaluate([(self.sample, LOG)], self.c, np.zeros(0), order)[0], self.norm.expand(self.c, order)
        value, relative = -data.value + n * np.log(sigma.value), sigma.gradient / sigma.value
        grad = -data.gradient + n * relative
        return (
            (value, grad) if order < 2 else (value, grad, -data.hessian + n * (sigma.hessian / sigma.value - np.outer(relative, relative)))
        )

    def torch_methods(self, device: str) -> tuple[Callable, Callable]:
        """Gradient and Hessian by automatic differentiation on some device."""
        K, n_data = self.sample.K.to(device), self.n_data
        x = torch.tensor(np.concatenate([self.c.real, self.c.imag]), device=device)
        M = torch.tensor(self.norm.matrix, device=device)

        def nll(y: torch.Tensor) -> torch.Tensor:
            z = torch.complex(y[:N_CHANNELS], y[N_CHANNELS:])
            I = torch.einsum("a,ape->pe", z, K).abs().square().sum(dim=0)
            return -I.log().sum() + n_data * (z.conj() @ M @ z).real.log()

        def gradient() -> tuple[float, np.ndarray]:
            y = x.clone().requires_grad_()
            value = nll(y)
            return value.item(), torch.autograd.grad(value, y)[0].cpu().numpy()

        return gradient, lambda: torch.autograd.functional.hessian(nll, x).cpu().numpy()

    def b_matrix_methods(self) -> tuple[Callable, Callable]:
        """Gradient and Hessian with a matrix B_ab = Σ_pol conj(A_a) A_b per event, in torch."""
        B, n_data = self.b_matrix, self.n_data
        z, M = torch.tensor(self.c, device=self.device), torch.tensor(self.norm.matrix, device=self.device)

        def gradient() -> tuple[float, np.ndarray]:
            Bz = B @ z
            I = (z.conj() * Bz).sum(dim=1).real
            Mz = M @ z
            sigma = (z.conj() @ Mz).real
            value = -I.log().sum() + n_data * sigma.log()
            grad = -2 * (Bz / I[:, None]).sum(dim=0) + 2 * n_data * Mz / sigma
            return value.item(), torch.cat([grad.real, grad.imag]).cpu().numpy()

        def hessian() -> np.ndarray:
            Bz = B @ z
            I = (z.conj() * Bz).sum(dim=1).real
            g = Bz / I[:, None]
            rows = torch.cat([g.real, g.imag], dim=1)
            Mz = M @ z
            sigma = (z.conj() @ Mz).real
            relative = torch.cat([Mz.real, Mz.imag]) / sigma
            data = _real_form((B / I[:, None, None]).sum(dim=0))
            return (
                (4 * rows.T @ rows - 2 * data + 2 * n_data * _real_form(M) / sigma - 4 * n_data * torch.outer(relative, relative))
                .cpu()
                .numpy()
            )

        return gradient, hessian

    @cached_property
    def b_matrix(self) -> torch.Tensor:
        """B [event, a, b]."""
        return torch.einsum("ape,bpe->eab", self.sample.K.conj(), self.sample.K)


def _real_form(matrix: torch.Tensor) -> torch.Tensor:
    """The matrix of Re z† M z over (Re z, Im z)."""
    return torch.cat([torch.cat([matrix.real, -matrix.imag], dim=1), torch.cat([matrix.imag, matrix.real], dim=1)])


def synthetic(n_data: int, device: str, engine_name: str, *, most: dict[str, int] | None = None, budget_s: float = 3.0) -> dict:
    """All methods on the synthetic problem.

    Args:
        n_data:       events
        device:       where to compute
        engine_name:  our engine
        most:         method → the most events it is tried with; default: 10⁵ for Hessians by automatic differentiation
        budget_s:     seconds for every method
    """
    problem = Synthetic(n_data, device, engine_name)
    most = {"autograd_hessian": 100_000} if most is None else most
    row = {"N_data": n_data}
    ours = problem.ours(2)
    methods = {
        "": (lambda: problem.ours(1), lambda: problem.ours(2)),
        "b_matrix_": problem.b_matrix_methods(),
        "autograd_": problem.torch_methods(device),
    }
    if device == "cuda" and "cpu_autograd_gradient" in most:
        methods["cpu_autograd_"] = problem.torch_methods("cpu")
    differences = []
    for name, (gradient, hessian) in methods.items():
        for kind, work in (("gradient", gradient), ("hessian", hessian)):
            if n_data > most.get(f"{name}{kind}", n_data):
                continue
            found = work()
            expected = ours[1] if kind == "gradient" else ours[2]
            differences.append(
                agree(f"synthetic {name}{kind}", expected, found[1] if kind == "gradient" else found[-1] if name == "" else found, 1e-10)
            )
            row[f"{name}{kind}_ms"] = milliseconds(work, "cpu" if name.startswith("cpu") else device, budget_s, warm=True)
    return row | {"difference": max(differences)}


def recompute(n_data: int, device: str, engine: str, *, most: int | None = None, budget_s: float = 3.0) -> dict:
    """A four-body cascade: all amplitudes computed again in every iteration, against what is cached here.

    Args:
        n_data:    events of data, and of phase space
        device:    where to compute
        engine:    our engine
        most:      the most events with which everything is computed again
        budget_s:  seconds for every method
    """
    model = ctpwa.load_model(FOUR_PIONS)
    data, phsp = (ctpwa.generate_phase_space(model, n, seed=s, device=device, progress=False) for n, s in ((n_data, 1), (n_data, 2)))
    likelihood = build_likelihood(model, data, phsp, engine=engine, device=device)
    x = likelihood.start
    row = {"N_data": n_data, "N_phsp": n_data, "channels": len(likelihood.plan.channels)}
    if n_data <= (n_data if most is None else most):
        plain = PlainLikelihood(likelihood, device)

        def pipeline() -> tuple[float, np.ndarray]:
            return plain.gradient(x, plain.sample(data), plain.sample(phsp))

        row["difference"] = agree("4 pions", likelihood.value_and_grad(x)[1], pipeline()[1], 1e-9)
        row["recompute_ms"] = milliseconds(pipeline, device, budget_s, warm=True)
    row["gradient_ms"] = milliseconds(lambda: likelihood.value_and_grad(x), device, budget_s)
    return row


class Memory:
    """Device memory that is held, and its peak, since this was made; numbers of bytes, None on a CPU."""

    def __init__(self, device: str) -> None:
        self.on = device == "cuda"
        gc.collect()
        if self.on:
            torch.cuda.synchronize()
            getattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None)()  # what products need counts again
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            self.before = torch.cuda.memory_allocated()

    @property
    def peak(self) -> int | None:
        """The most that was held."""
        return torch.cuda.max_memory_allocated() - self.before if self.on else None


def with_recorded(peak: int | None, likelihood: Likelihood) -> int | None:
    """A peak of the initialisation with the memory of recorded spin amplitudes, which does not count as held while they run."""
    return None if peak is None else peak + likelihood.resources.preparation.stage.recorded_bytes


def held_bytes(likelihood: Likelihood) -> int:
    """Bytes of all samples of a likelihood."""
    return likelihood.memory().total


def check_engines(model, data, phsp, device: str, engine: str) -> dict:
    """Compare gradient and Hessian with those of the reference engine, on few events; the kernels are compiled on the way."""
    few = [first(events, CHECK_EVENTS) for events in (data, phsp)]
    begin = time.perf_counter()
    ours = build_likelihood(model, *few, engine=engine, device=device)
    normalised = {} if ours.plan.collapses else {PLAIN: 1}
    ours.engine.expect(n_events(data if ours.plan.collapses else phsp), {LOG: 1, **normalised})  # the kernels that all events will have
    x = perturbed(ours, 1)
    grad, H = ours.value_and_grad(x)[1], ours.hessian(x)
    seconds = time.perf_counter() - begin
    reference = build_likelihood(model, *few, engine="reference", device=device)
    return {
        "first_use_s": seconds,
        "gradient_difference": agree("gradient", grad, reference.value_and_grad(x)[1], 1e-10),
        "hessian_difference": agree("Hessian", H, reference.hessian(x), 1e-10),
    }


def measure(model, data, phsp, device: str, engine: str, *, budget_s: float = 3.0) -> tuple[dict, Likelihood]:
    """Our times and memory for a likelihood, made from momenta in main memory; and the likelihood."""
    row = check_engines(model, data, phsp, device, engine)
    memory = Memory(device)
    row["initialisation_s"], likelihood = timed(lambda: build_likelihood(model, data, phsp, engine=engine, device=device), device)
    row |= {"couplings": likelihood.plan.n_couplings, "free": len(likelihood.names), "rows": likelihood.plan.n_rows}
    row |= {"N_data": n_events(data), "N_phsp": n_events(phsp), "floating": likelihood.plan.n_floating > 0}
    row |= {
        "bytes_per_event": likelihood.plan.bytes_per_event,
        "held_bytes": held_bytes(likelihood),
        "peak_initialisation_bytes": with_recorded(memory.peak, likelihood),
    }
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    x = perturbed(likelihood, 1)
    row["value_ms"] = milliseconds(lambda: likelihood.value(x), device, budget_s)
    row["gradient_ms"] = milliseconds(lambda: likelihood.value_and_grad(x), device, budget_s)
    row["hessian_ms"] = milliseconds(lambda: likelihood.hessian(x), device, budget_s)
    row["peak_bytes"] = memory.peak
    row["allocated_before"] = memory.before if memory.on else None
    if not row["floating"]:
        X = np.stack([x * (1 + 0.01 * k) for k in range(N_BATCH)])
        row["batch_of_64_ms"] = milliseconds(lambda: likelihood.value_and_grad(X), device, budget_s)
        row["batch_share"] = row["batch_of_64_ms"] / (N_BATCH * row["gradient_ms"])
    return row, likelihood


def measure_autograd(likelihood: Likelihood, data, phsp, device: str, *, hessian_events: int, budget_s: float = 3.0) -> dict:
    """Times and memory of automatic differentiation for the same likelihood.

    Args:
        likelihood:      ours
        data, phsp:      its samples
        device:          where to compute
        hessian_events:  the Hessian is timed with so many events of data and the same part of phase space; its time grows with events
        budget_s:        seconds for timing the gradient
    """
    row = _autograd_gradient(likelihood, data, phsp, device, budget_s)
    while hessian_events:
        try:
            return row | _autograd_hessian(likelihood, data, phsp, hessian_events, device)
        except torch.OutOfMemoryError:
            gc.collect()
            torch.cuda.empty_cache()
            hessian_events //= 2
    return row


def _autograd_gradient(likelihood: Likelihood, data, phsp, device: str, budget_s: float) -> dict:
    memory, plain, x = Memory(device), PlainLikelihood(likelihood, device), perturbed(likelihood, 1)
    seconds, built = timed(lambda: [plain.sample(events) for events in (data, phsp)], device)
    samples = plain.ready(built, x)
    difference = agree("autograd", likelihood.value_and_grad(x)[1], plain.gradient(x, *samples)[1], 1e-9)
    ms = milliseconds(lambda: plain.gradient(x, *samples), device, budget_s, warm=True)
    times = {"autograd_initialisation_s": seconds, "autograd_gradient_ms": ms}
    return times | {"autograd_difference": difference, "autograd_peak_bytes": memory.peak}


def _autograd_hessian(likelihood: Likelihood, data, phsp, n: int, device: str) -> dict:
    part = [first(data, n), first(phsp, n * n_events(phsp) // n_events(data))]
    small = build_likelihood(likelihood.model, *part, engine=likelihood.engine.name, device=device)
    plain, x = PlainLikelihood(small, device), perturbed(likelihood, 1)
    samples = plain.ready([plain.sample(events) for events in part], x)
    agree("Hessian by autograd", small.hessian(x), plain.hessian(x, *samples), 1e-8)
    seconds, _ = timed(lambda: plain.hessian(x, *samples), device, 3 if device == "cuda" else 1)
    return {"autograd_hessian_ms": 1e3 * seconds * likelihood.n_events / n, "autograd_hessian_events": n}


def staged_autograd(likelihood: Likelihood, device: str) -> dict:
    """Torch autograd through this package's own staging: formulas split, rows rotated, only the sums left to torch."""
    staged = likelihood.with_engine(ReferenceEngine(likelihood.plan, torch.device(device)))
    x = perturbed(likelihood, 1)
    return {"staged_autograd_gradient_ms": milliseconds(lambda: staged.value_and_grad(x), device, 2.0)}


def kk_eta(n_data: int, n_phsp: int, device: str, engine: str, *, floating: bool, peak: float) -> dict:
    """The demonstration with 33 untied waves: times, memory, fraction of the memory bandwidth."""
    model = load_kk_eta(floating=floating, tied=False)
    data, phsp = (ctpwa.generate_phase_space(model, n, seed=s, device="cpu") for n, s in ((n_data, 3), (n_phsp, 4)))
    row, likelihood = measure(model, data, phsp, device, engine)
    read = row["bytes_per_event"] * (n_data + (n_phsp if floating else 0))
    row["bandwidth_fraction"] = read / (row["gradient_ms"] * 1e-3) / peak
    row |= staged_autograd(likelihood, device) | measure_autograd(likelihood, data, phsp, device, hessian_events=0)
    row["speed_up"] = row["autograd_gradient_ms"] / row["gradient_ms"]
    return row


def kk_eta_precision(n_data: int, n_phsp: int, device: str, engine: str, *, floating: bool) -> list[dict]:
    """Double and mixed precision in one run, for toy data; the bias that a fit in mixed precision measures, and what it really is."""
    model = load_kk_eta(floating=floating)
    data = ctpwa.generate_toy(model, n_data, seed=3, engine=engine, device=device)
    phsp = ctpwa.generate_phase_space(model, n_phsp, seed=4)
    (double, exact), (mixed, result) = (_with_precision(model, data, phsp, device, engine, precision) for precision in ("double", "mixed"))
    bias = {"bias_nll": result.precision.nll, "bias_sigma": result.precision.largest, "parameter": result.precision.parameter}
    shift = float(np.abs((exact.x - result.x) / exact.errors).max())
    ratio = mixed["gradient_ms"] / double["gradient_ms"]
    return [double, mixed | bias | {"true_bias_nll": exact.nll - result.nll, "true_bias_sigma": shift, "gradient_ratio": ratio}]


def _with_precision(model, data, phsp, device: str, engine: str, precision: str) -> tuple[dict, ctpwa.FitResult]:
    """Times, memory and the fit from the truth in one precision."""
    memory = Memory(device)
    seconds, likelihood = timed(lambda: build_likelihood(model, data, phsp, engine=engine, device=device, precision=precision), device)
    row = {"floating": likelihood.plan.n_floating > 0, "precision": precision, "N_data": n_events(data), "N_phsp": n_events(phsp)}
    row |= {"free": len(likelihood.names), "initialisation_s": seconds, "bytes_per_event": likelihood.memory().bytes_per_event}
    row |= {"held_bytes": held_bytes(likelihood), "peak_initialisation_bytes": with_recorded(memory.peak, likelihood)}
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    x = perturbed(likelihood, 1)
    likelihood.engine.prepare()
    row["gradient_ms"] = milliseconds(lambda: likelihood.value_and_grad(x), device)
    row["hessian_ms"] = milliseconds(lambda: likelihood.hessian(x), device)
    row["peak_bytes"] = memory.peak
    row["fit_s"], result = timed(lambda: ctpwa.fit(likelihood, tolerance=1e-14), device)
    return row | {"nll": result.nll, "good": result.verdict.good}, result


def main() -> None:
    """Run all parts, print the tables, write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="a hundredth of the events")
    parser.add_argument("--parts", default=",".join(TITLES.values()), help=f"some of {', '.join(TITLES.values())}; default: all")
    parser.add_argument("--out", type=Path, help="write all numbers as JSON")
    arguments = parser.parse_args()
    device = arguments.device
    engine = "cuda" if device == "cuda" else "cpu"
    peak = bandwidth(device)
    print(f"{hardware(device)}, torch {torch.__version__}, double precision, {peak / 1e9:.0f} GB/s read")
    divide = 100 if arguments.quick else 1
    sizes = [100, 1000, 10_000, 100_000] + ([1_000_000] if device == "cuda" else [])
    n_data, n_phsp = (1_000_000, 5_000_000) if device == "cuda" else (100_000, 500_000)
    results: dict = {"hardware": hardware(device), "bandwidth": peak}
    problems = [(n_data // divide, n_phsp // divide, floating) for floating in (False, True)]
    parts: dict[str, Callable[[], list[dict]]] = {
        "synthetic": lambda: [synthetic(n, device, engine) for n in sizes if n <= sizes[-1] // divide],
        "recompute": lambda: [recompute(100_000 // divide, device, engine)],
        "kk_eta": lambda: [kk_eta(*sizes, device, engine, floating=f, peak=peak) for *sizes, f in problems],
        "kk_eta_precision": lambda: [row for *sizes, f in problems for row in kk_eta_precision(*sizes, device, engine, floating=f)],
        "kk_eta_additions": lambda: [row for *sizes, f in problems for row in additions(*sizes, device, engine, floating=f)],
    }
    for part in arguments.parts.split(","):
        if part not in parts:
            parser.error(f"unknown part {part!r}; known are {', '.join(parts)}")
        results[part] = parts[part]()
    for title, part in TITLES.items():
        if part in results:
            print_table(title, results[part])
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
