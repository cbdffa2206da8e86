"""NLL, gradient and Hessian against automatic differentiation and the per-event B-matrix method, in one run.

    python benchmarks/likelihood.py [--device cpu|cuda] [--quick] [--out FILE.json]

Three parts: the synthetic problem (10 channels, 3 polarisations, N_phsp = 10·N_data, complex random amplitudes); J/psi -> 2(pi+ pi-)
with everything recomputed in every iteration against what this package caches; and J/psi -> K+ K- eta with 33 untied waves, fixed and
with ten floating parameters. Before anything is timed, results are compared with the reference engine. Times are medians after a warm-up,
by wall clock around the whole call, results on the host included.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import numpy as np
import torch
import yaml

import ctpwa
from ctpwa.engine.channels import model_channels
from ctpwa.engine.choice import make_engine
from ctpwa.engine.codegen.arrays import evaluate
from ctpwa.engine.expansion import Collapsed, ReferenceEngine
from ctpwa.engine.likelihood import Likelihood
from ctpwa.engine.plan import ChannelSpec, build_plan
from ctpwa.engine.sample import Sample, vertex_variables
from ctpwa.engine.tables import LOG, PLAIN
from ctpwa.model.lineshapes.formula import q2, s

KK_ETA = Path(__file__).parents[1] / "examples" / "jpsi_kk_eta" / "model.yml"
FOUR_PIONS = {
    "decay": "J/psi(1S) -> pi+ pi- pi+ pi-",
    "polarisation": "transverse",
    "chains": [
        "J/psi(1S) -> a(1)(1260)+ pi- ; a(1)(1260)+ -> rho(770)0 pi+ ; rho(770)0 -> pi+ pi-",
        "J/psi(1S) -> a(1)(1260)- pi+ ; a(1)(1260)- -> rho(770)0 pi- ; rho(770)0 -> pi+ pi-",
    ],
}
N_CHANNELS, N_POL = 10, 3


def milliseconds(work, device: str, budget_s: float = 3.0) -> float:
    """Median time of a call after warm-up; as many calls as fit into the budget, 3 to 50."""
    times: list[float] = []
    work()
    work()
    begin = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begin < budget_s and len(times) < 50):
        _wait(device)
        start = time.perf_counter()
        work()
        _wait(device)
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def bandwidth(device: str) -> float:
    """Measured read bandwidth, bytes per second."""
    x = torch.ones(1 << (28 if device == "cuda" else 25), dtype=torch.float64, device=device)
    return 1e3 * x.numel() * 8 / milliseconds(lambda: x.sum(), device, 1.0)


def agree(name: str, ours, reference, tolerance: float) -> float:
    """Largest difference relative to the largest element; a wrong result stops the benchmark."""
    ours, reference = np.asarray(ours), np.asarray(reference)
    difference = float(np.abs(ours - reference).max() / np.abs(reference).max())
    if not difference < tolerance:
        raise SystemExit(f"{name}: differs from the reference by {difference:.1e}, more than {tolerance:.0e}")
    return difference


def synthetic(n_data: int, device: str, engine_name: str) -> dict:
    """10 complex channels, 3 polarisations; the normalisation collapses to one matrix for every method alike."""
    generator = torch.Generator().manual_seed(7)

    def amplitudes(n: int) -> torch.Tensor:
        return torch.randn(N_CHANNELS, N_POL, n, dtype=torch.complex128, generator=generator).to(device)

    K, K_phsp = amplitudes(n_data), amplitudes(10 * n_data)
    channels = [ChannelSpec(i, 1.0, i, ()) for i in range(N_CHANNELS)]
    plan = build_plan(channels, n_couplings=N_CHANNELS, n_structures=N_CHANNELS, n_rows=N_POL, real=False, values={}, floating=[])
    engine = make_engine(engine_name, plan, device)
    E = torch.empty(0, n_data, dtype=torch.float64, device=device)
    ones = torch.ones(n_data, dtype=torch.float64, device=device)
    sample = Sample(K, E, ones, n_data, None, {})
    phsp = Sample(K_phsp, E.new_empty(0, 10 * n_data), E.new_ones(10 * n_data), 10 * n_data, None, {})
    p = np.zeros(0)
    rng = np.random.default_rng(1)
    c = rng.normal(size=N_CHANNELS) + 1j * rng.normal(size=N_CHANNELS)
    gram = engine.gram(phsp, PLAIN, c, p)
    norm = Collapsed(gram.re + 1j * gram.im)

    def ours(order: int):
        data, sigma = engine.evaluate([(sample, LOG)], c, p, order)[0], norm.expand(c, order)
        value = -data.value + n_data * np.log(sigma.value)
        grad = -data.gradient + n_data * sigma.gradient / sigma.value
        if order < 2:
            return value, grad
        relative = sigma.gradient / sigma.value
        return value, grad, -data.hessian + n_data * (sigma.hessian / sigma.value - np.outer(relative, relative))

    x = torch.tensor(np.concatenate([c.real, c.imag]), device=device)
    M = torch.tensor(norm.matrix, device=device)

    def nll(y: torch.Tensor) -> torch.Tensor:
        z = torch.complex(y[:N_CHANNELS], y[N_CHANNELS:])
        I = torch.einsum("a,ape->pe", z, K).abs().square().sum(dim=0)
        return -I.log().sum() + n_data * (z.conj() @ M @ z).real.log()

    def autograd():
        y = x.clone().requires_grad_()
        value = nll(y)
        return value.item(), torch.autograd.grad(value, y)[0].cpu()

    row = {"N_data": n_data}
    check = autograd()
    row["difference"] = max(agree("synthetic value", ours(1)[0], check[0], 1e-12), agree("synthetic gradient", ours(1)[1], check[1], 1e-10))
    row["gradient_ms"] = milliseconds(lambda: ours(1), device)
    row["hessian_ms"] = milliseconds(lambda: ours(2), device)
    row["autograd_gradient_ms"] = milliseconds(autograd, device)
    if n_data <= 100_000:
        expected = torch.autograd.functional.hessian(nll, x).cpu()
        agree("synthetic Hessian", ours(2)[2], expected, 1e-10)
        row["autograd_hessian_ms"] = milliseconds(lambda: torch.autograd.functional.hessian(nll, x).cpu(), device)
    row |= b_matrix(K, c, M, n_data, device)
    return row


def b_matrix(K: torch.Tensor, c: np.ndarray, M: torch.Tensor, n_data: int, device: str) -> dict:
    """The method of a matrix B_ab = Σ_pol conj(A_a) A_b per event, in torch."""
    B = torch.einsum("ape,bpe->eab", K.conj(), K)
    z = torch.tensor(c, device=device)

    def gradient():
        Bz = B @ z
        I = (z.conj() * Bz).sum(dim=1).real
        Mz = M @ z
        sigma = (z.conj() @ Mz).real
        value = -I.log().sum() + n_data * sigma.log()
        return value.item(), (-2 * (Bz / I[:, None]).sum(dim=0) + 2 * n_data * Mz / sigma).cpu()

    def hessian():
        Bz = B @ z
        I = (z.conj() * Bz).sum(dim=1).real
        g = torch.view_as_real(Bz / I[:, None]).flatten(1)
        return ((B / I[:, None, None]).sum(dim=0).cpu(), (g.T @ g).cpu())

    return {"b_matrix_gradient_ms": milliseconds(gradient, device), "b_matrix_hessian_ms": milliseconds(hessian, device)}


def recompute(n_data: int, device: str, engine: str) -> dict:
    """A four-body cascade: all amplitudes computed again in every iteration, against what is cached here."""
    model = ctpwa.load_model(FOUR_PIONS)
    data, phsp = (ctpwa.generate_phase_space(model, n, seed=s, device=device) for n, s in ((n_data, 1), (n_data, 2)))
    likelihood = Likelihood(model, data, phsp, engine=engine, device=device)
    x = likelihood.start

    def pipeline():
        return Likelihood(model, data, phsp, engine="reference", device=device).value_and_grad(x)

    row = {"N_data": n_data, "N_phsp": n_data, "channels": len(likelihood.plan.channels)}
    row["difference"] = agree("4 pions", likelihood.value_and_grad(x)[1], pipeline()[1], 1e-9)
    row["recompute_ms"] = milliseconds(pipeline, device)
    row["gradient_ms"] = milliseconds(lambda: likelihood.value_and_grad(x), device)
    return row


def kk_eta_model(*, floating: bool):
    """The demonstration with 33 untied waves."""
    description = yaml.safe_load(KK_ETA.read_text())
    description["tie_conjugates"] = False
    description.pop("couplings", None)
    if not floating:
        for resonance in description["resonances"].values():
            resonance.pop("float", None)
    return ctpwa.load_model(description)


def start_point(likelihood: Likelihood) -> np.ndarray:
    """Couplings of random phase that give every wave about the same strength."""
    rng = np.random.default_rng(3)
    x = likelihood.start
    for i, name in enumerate(likelihood.names):
        if name.endswith((".re", ".im")):
            x[i] = rng.normal()
    return x


def kk_eta(n_data: int, n_phsp: int, device: str, engine: str, *, floating: bool, peak: float) -> dict:
    """The demonstration: times, memory, fraction of the memory bandwidth."""
    model = kk_eta_model(floating=floating)
    small = [ctpwa.generate_phase_space(model, 400, seed=s, device=device) for s in (1, 2)]
    ours, reference = (Likelihood(model, *small, engine=e, device=device) for e in (engine, "reference"))
    x = start_point(ours)
    row = {"floating": floating, "N_data": n_data, "N_phsp": n_phsp, "waves": len(model.waves), "free": len(ours.names)}
    row["gradient_difference"] = agree("gradient", ours.value_and_grad(x)[1], reference.value_and_grad(x)[1], 1e-10)
    row["hessian_difference"] = agree("Hessian", ours.hessian(x), reference.hessian(x), 1e-10)
    data, phsp = (ctpwa.generate_phase_space(model, n, seed=s, device=device) for n, s in ((n_data, 3), (n_phsp, 4)))
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
    start = time.perf_counter()
    likelihood = Likelihood(model, data, phsp, engine=engine, device=device)
    _wait(device)
    row["initialisation_s"] = time.perf_counter() - start
    if device == "cuda":
        row["resident_bytes"] = torch.cuda.memory_allocated() - before
        torch.cuda.reset_peak_memory_stats()
    row["bytes_per_event"] = likelihood.memory().bytes_per_event
    row["gradient_ms"] = milliseconds(lambda: likelihood.value_and_grad(x), device)
    row["value_ms"] = milliseconds(lambda: likelihood.value(x), device)
    row["hessian_ms"] = milliseconds(lambda: likelihood.hessian(x), device)
    read = likelihood.memory().bytes_per_event * (n_data + (n_phsp if floating else 0))
    row["bandwidth_fraction"] = read / (row["gradient_ms"] * 1e-3) / peak
    if device == "cuda":
        row["peak_bytes"] = torch.cuda.max_memory_allocated() - before
    if not floating:
        X = np.stack([x + 0.01 * k for k in range(64)])
        row["batch_of_64_ms"] = milliseconds(lambda: likelihood.value_and_grad(X), device)
        row["batch_share"] = row["batch_of_64_ms"] / (64 * row["gradient_ms"])
    row |= _autograd_baseline(likelihood, x, device) | plain_autograd(likelihood, data, phsp, x, device)
    row["speed_up"] = row["autograd_gradient_ms"] / row["gradient_ms"]
    return row


def _autograd_baseline(likelihood: Likelihood, x: np.ndarray, device: str) -> dict:
    """Torch autograd through this package's own staging: formulas split, rows rotated, only the sums left to torch."""
    kept, likelihood.engine = likelihood.engine, ReferenceEngine(likelihood.plan, torch.device(device))
    try:
        return {"staged_autograd_gradient_ms": milliseconds(lambda: likelihood.value_and_grad(x), device, 2.0)}
    finally:
        likelihood.engine = kept


def plain_autograd(likelihood: Likelihood, data, phsp, x: np.ndarray, device: str) -> dict:
    """The same likelihood as one would write it in torch: amplitudes [wave, pol, event] cached, lineshape formulas as they stand."""
    model = likelihood.model
    channels = model_channels(model)
    samples = [_plain_sample(model, channels, events) for events in (data, phsp)]
    J = torch.tensor(likelihood.parameters.jacobian(x), device=device)
    c, theta = likelihood.parameters.native(x)
    native = torch.tensor(np.concatenate([c.real, c.imag, theta]), device=device)
    start = torch.tensor(x, device=device)
    names = [p.name for p in channels.theta]
    n = len(channels.couplings)

    def intensity(values: torch.Tensor, sample: tuple) -> torch.Tensor:
        A, variables = sample
        couplings, numbers = torch.complex(values[:n], values[n : 2 * n]), values[2 * n :]
        psi = torch.zeros(A.shape[1:], dtype=torch.complex128, device=device)
        for wave, spec in enumerate(channels.specs):
            (propagator,) = spec.propagators
            s_R, q2_R = variables[propagator.system]
            own = {s: s_R, q2: q2_R}
            own |= {p.symbol: numbers[names.index(name)] for p, name in zip(propagator.lineshape.parameters, propagator.names, strict=True)}
            psi = psi + couplings[spec.coupling] * evaluate(propagator.lineshape.expression, own) * A[wave]
        return psi.abs().square().sum(dim=0)

    def gradient():
        y = start.clone().requires_grad_()
        values = native + J @ (y - start)
        nll = -intensity(values, samples[0]).log().sum() + len(data["eta"]) * intensity(values, samples[1]).mean().log()
        return nll.item(), torch.autograd.grad(nll, y)[0].cpu().numpy()

    agree("plain autograd", likelihood.value_and_grad(x)[1], gradient()[1], 1e-9)
    return {"autograd_gradient_ms": milliseconds(gradient, device, 2.0)}


def _plain_sample(model, channels, events) -> tuple:
    """Amplitudes of every wave, and s and q² of every system."""
    A = model.spin_amplitudes(events, barrier=True).values
    p4 = [events[label].T for label in model.final_names]
    propagators = {spec.propagators[0].system: spec.propagators[0] for spec in channels.specs}
    return A, {system: vertex_variables(p4, system, propagator.daughters) for system, propagator in propagators.items()}


def table(title: str, rows: list[dict]) -> None:
    """Print rows of equal keys."""
    print(f"\n{title}")
    keys = list(dict.fromkeys(key for row in rows for key in row))
    print("| " + " | ".join(keys) + " |")
    print("|" + "---|" * len(keys))
    for row in rows:
        print("| " + " | ".join(_shown(row.get(key)) for key in keys) + " |")


def _shown(value) -> str:
    return "" if value is None else (f"{value:.4g}" if isinstance(value, float) else str(value))


def main() -> None:
    """Run all parts, print the tables, write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true", help="a hundredth of the events")
    parser.add_argument("--out", type=Path, help="write all numbers as JSON")
    arguments = parser.parse_args()
    device = arguments.device
    engine = "cuda" if device == "cuda" else "cpu"
    hardware = torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()}, {torch.get_num_threads()} threads"
    peak = bandwidth(device)
    print(f"{hardware}, torch {torch.__version__}, double precision, {peak / 1e9:.0f} GB/s read")
    divide = 100 if arguments.quick else 1
    sizes = [100, 1000, 10_000, 100_000] + ([1_000_000] if device == "cuda" else [])
    n_data, n_phsp = (1_000_000, 5_000_000) if device == "cuda" else (100_000, 500_000)
    results = {
        "hardware": hardware,
        "bandwidth": peak,
        "synthetic": [synthetic(n, device, engine) for n in sizes if n <= sizes[-1] // divide],
        "recompute": [recompute(100_000 // divide, device, engine)],
        "kk_eta": [kk_eta(n_data // divide, n_phsp // divide, device, engine, floating=f, peak=peak) for f in (False, True)],
    }
    table("Synthetic problem: 10 channels, 3 polarisations", results["synthetic"])
    table("J/psi -> 2(pi+ pi-): recomputed in every iteration, and cached", results["recompute"])
    table("J/psi -> K+ K- eta, 33 waves", results["kk_eta"])
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
