"""One program of ``peers.py`` in its own environment: python benchmarks/peers_program.py PROGRAM FOLDER

Reads ``problem.json`` and ``events.npz``; writes ``PROGRAM.npy``, intensities of the first events of phase space, and prints numbers as
JSON. All programs compute I = |Σ c F(s)|² with F = 1/(m² − s − i m² Γ/q(m²) · q(s)/√s) of eleven scalar resonances in three pairs of
particles, and −ln L = −Σ ln I + n ln Σ I of phase space, or something that differs from it by a factor or a constant.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

COMPARED = 1000  # events of phase space
BUDGET_S = 5.0


def milliseconds(work: Callable[[], Any]) -> float:
    """Median of the calls after the first that fit into the budget, 3 at least."""
    work()
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begin < BUDGET_S and len(times) < 50):
        start = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - start))
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


def amplitude(
    problem: dict[str, Any], symbol: Callable[[str, float, bool], Any], s: Callable[[str], Any], root: Callable[[Any], Any]
) -> Any:
    """Real and imaginary part of Σ c F in the symbols of a program."""

    def q(s: Any, own: dict[str, Any]) -> Any:
        m1, m2 = own["masses"]
        return root((s - (m1 + m2) ** 2) * (s - (m1 - m2) ** 2) / (4 * s))

    re, im = [], []
    for k, own in enumerate(problem["resonances"]):
        m, width = (symbol(f"{own['name']}.{part}", own["true"][part], own["float"]) for part in ("mass", "width"))
        c_re, c_im = (symbol(f"{own['name']}.{part}", own["true"][part], k > 0) for part in ("re", "im"))
        here = s(own["pair"])
        a, b = m * m - here, m * m * width / q(m * m, own) * (q(here, own) / root(here))
        norm = a * a + b * b
        f_re, f_im = a / norm, b / norm
        re.append(c_re * f_re - c_im * f_im)
        im.append(c_re * f_im + c_im * f_re)
    total_re, total_im = re[0], im[0]
    for more_re, more_im in zip(re[1:], im[1:], strict=True):
        total_re, total_im = total_re + more_re, total_im + more_im
    return total_re, total_im


def run_laddu(problem: dict[str, Any], samples: dict[str, dict[str, np.ndarray]]) -> tuple[np.ndarray, dict[str, Any]]:
    """Its expressions, compiled by itself as it chooses; without limits its fits end where a momentum is imaginary."""
    import laddu as ld

    begin = time.perf_counter()

    def symbol(name: str, value: float, free: bool) -> Any:
        if not free:
            return value
        return ld.parameter(name, initial=value, bounds=None if name.endswith(("re", "im")) else (value / 1.3, value * 1.3))

    re, im = amplitude(problem, symbol, lambda pair: ld.scalar(pair), lambda x: x.sqrt() if hasattr(x, "sqrt") else x**0.5)
    model = ld.Model(re * re + im * im)
    execution = ld.Execution("auto", threads=1, precision="f64")
    data, flat = (ld.Dataset.from_arrays(p4s={}, scalars=samples[name]) for name in ("data", "flat"))
    likelihood = ld.Likelihood([ld.NLL(model, data=data, accepted_mc=flat)], execution=execution)
    true, start = parameters(problem, "true"), parameters(problem, "start")
    likelihood.value(true)
    found: dict[str, Any] = {"initialisation [s]": time.perf_counter() - begin, "free": len(likelihood.parameter_names)}
    found["gradient [ms]"] = milliseconds(lambda: likelihood.value_and_gradient(true))
    if problem["fits"]:
        begin = time.perf_counter()
        result = likelihood.fit(start)
        found |= {"fit [s]": time.perf_counter() - begin, "improvement": (likelihood.value(true) - result.objective) / 2}
    few = ld.Dataset.from_arrays(p4s={}, scalars={name: values[:COMPARED] for name, values in samples["flat"].items()})
    return np.asarray(model.evaluate(few, parameters=true, real=True)), found


def run_tensorwaves(problem: dict[str, Any], samples: dict[str, dict[str, np.ndarray]]) -> tuple[np.ndarray, dict[str, Any]]:
    """A sympy expression, compiled by jax."""
    import jax
    import sympy as sp
    from tensorwaves.estimator import UnbinnedNLL
    from tensorwaves.function.sympy import create_parametrized_function
    from tensorwaves.optimizer import Minuit2

    jax.config.update("jax_enable_x64", True)
    begin = time.perf_counter()
    true, start = parameters(problem, "true"), parameters(problem, "start")
    symbols = {name: sp.Symbol(name.replace(".", "_"), real=True) for name in true}

    def symbol(name: str, value: float, free: bool) -> Any:
        return symbols[name] if free else sp.Float(value)

    re, im = amplitude(problem, symbol, lambda pair: sp.Symbol(pair, positive=True), sp.sqrt)
    function = create_parametrized_function(
        re**2 + im**2, parameters={symbols[name]: value for name, value in true.items()}, backend="jax", use_cse=True
    )
    nll = UnbinnedNLL(function, samples["data"], samples["flat"], backend="jax")
    own_true, own_start = ({str(symbols[name]): value for name, value in values.items()} for values in (true, start))
    nll(own_true)
    found: dict[str, Any] = {"initialisation [s]": time.perf_counter() - begin, "free": len(true)}
    found["gradient [ms]"] = milliseconds(lambda: jax.block_until_ready(nll.gradient(own_true)))
    if problem["fits"]:
        begin = time.perf_counter()
        result = Minuit2(use_analytic_gradient=True).optimize(nll, own_start)
        found |= {"fit [s]": time.perf_counter() - begin, "improvement": float(nll(own_true)) - float(result.estimator_value)}
    return np.asarray(function({name: values[:COMPARED] for name, values in samples["flat"].items()})), found


def run_ctpwa(problem: dict[str, Any], samples: dict[str, dict[str, np.ndarray]]) -> tuple[np.ndarray, dict[str, Any]]:
    """The model file of the same resonances and four-momenta of the same events."""
    import torch

    import ctpwa
    from ctpwa.base.parts import set_num_threads

    set_num_threads(1)
    torch.set_num_threads(1)
    begin = time.perf_counter()
    model = ctpwa.load_model(problem["model"])
    data, flat = ({name: torch.from_numpy(samples[f"p4 {which}"][name]) for name in problem["particles"]} for which in ("data", "flat"))
    likelihood = ctpwa.build_likelihood(model, data, flat, engine="cpu", progress=False)
    true = likelihood.start
    likelihood.value(true)
    found: dict[str, Any] = {"initialisation [s]": time.perf_counter() - begin, "free": len(true)}
    found["gradient [ms]"] = milliseconds(lambda: likelihood.value_and_grad(true))
    found["Hessian [ms]"] = milliseconds(lambda: likelihood.hessian(true))
    start = parameters(problem, "start")
    point = {name: start.get(name, 1.05 * value) for name, value in zip(likelihood.names, true, strict=True)}
    if problem["fits"]:
        begin = time.perf_counter()
        result = ctpwa.fit(likelihood, start=point, progress=False)
        found |= {"fit [s]": time.perf_counter() - begin, "improvement": likelihood.value(true) - result.nll}
    few = {name: p4[:COMPARED] for name, p4 in flat.items()}
    return ctpwa.ModelIntensity(model, engine="reference")(few).numpy(), found


PROGRAMS = {"ctpwa": run_ctpwa, "laddu": run_laddu, "tensorwaves": run_tensorwaves}


def main() -> None:
    """Run one program, and print what it took."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    problem = json.loads((folder / "problem.json").read_text(encoding="utf-8"))
    samples: dict[str, dict[str, np.ndarray]] = {}
    with np.load(folder / "events.npz") as arrays:
        for key in arrays.files:
            which, _, column = key.partition("/")
            samples.setdefault(which, {})[column] = arrays[key]
    intensities, found = PROGRAMS[name](problem, samples)
    np.save(folder / f"{name}.npy", intensities)
    print(json.dumps({"program": f"{name} {version(name)}"} | found | {"memory, with its libraries and the events [MiB]": peak()}))


if __name__ == "__main__":
    main()
