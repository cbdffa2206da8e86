"""One program of ``bins_laddu.py`` in its own environment: python benchmarks/bins_laddu_program.py PROGRAM FOLDER

Writes ``PROGRAM.npy``, intensities of the measured events at the first point, and prints times as JSON: of −ln L with its gradient, of a
fit from each of the points, and −ln L where these ended, relative to that at the first point.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from peers_shared import milliseconds


def run_laddu(problem: dict[str, Any], folder: Path) -> tuple[np.ndarray, dict[str, Any]]:
    """Its expressions; NLL is −2 ln L of shapes."""
    import laddu as ld

    begin = time.perf_counter()
    with np.load(folder / "columns.npz") as arrays:
        samples = {
            which: {key.partition("/")[2]: arrays[key] for key in arrays.files if key.startswith(which)} for which in ("data", "accepted")
        }
    turn = ld.cis(-1.0 * ld.scalar("Phi"))
    parts: list[Any] = []
    for k, (name, (l, m)) in enumerate(problem["waves"].items()):
        c = 1.0 if k == 0 else ld.complex(ld.parameter(f"{name}.re", initial=0.0), ld.parameter(f"{name}.im", initial=0.0))
        Z = ld.spherical_harmonic(l, m, costheta=ld.scalar("cos"), phi=ld.scalar("phi")) * turn
        own = [c * (ld.scalar(f"b{l}") * part) for part in (Z.real(), Z.imag())]
        parts = own if not parts else [a + b for a, b in zip(parts, own, strict=True)]
    P = ld.scalar("P")
    model = ld.Model((1.0 + P) * parts[0].norm_sqr() + (1.0 - P) * parts[1].norm_sqr())
    data, accepted = (ld.Dataset.from_arrays(p4s={}, scalars=samples[which]) for which in ("data", "accepted"))
    execution = ld.Execution("auto", threads=1, precision="f64")
    likelihood = ld.Likelihood([ld.NLL(model, data=data, accepted_mc=accepted)], execution=execution)
    points = [
        {f"{name}.{part}": value for name, pair in own.items() for part, value in zip(("re", "im"), pair, strict=True)}
        for own in problem["points"]
    ]
    zero = likelihood.value(points[0])
    found: dict[str, Any] = {"initialisation [s]": time.perf_counter() - begin, "free parameters": len(likelihood.parameter_names)}
    found["gradient [ms]"] = milliseconds(lambda: likelihood.value_and_gradient(points[0]))
    begin = time.perf_counter()
    found["ends"] = [(likelihood.fit(point).objective - zero) / 2 for point in points]
    found["one fit [ms]"] = 1e3 * (time.perf_counter() - begin) / len(points)
    return np.asarray(model.evaluate(data, parameters=points[0], real=True)), found


def run_ctpwa(problem: dict[str, Any], folder: Path) -> tuple[np.ndarray, dict[str, Any]]:
    """The model file of the bins, from four-momenta."""
    import torch

    import ctpwa
    from ctpwa.base.parts import set_num_threads
    from ctpwa.engine.likelihood.values import free_parameters

    set_num_threads(1)
    torch.set_num_threads(1)
    begin = time.perf_counter()
    analysis = ctpwa.load_analysis(folder / "model.yml")
    likelihood = analysis.likelihood(engine="cpu", progress=False)
    first = next(iter(problem["waves"]))
    points = [free_parameters(likelihood, {first: 1.0} | {name: complex(*pair) for name, pair in own.items()}) for own in problem["points"]]
    zero = likelihood.value(points[0])
    found: dict[str, Any] = {"initialisation [s]": time.perf_counter() - begin, "free parameters": len(likelihood.names)}
    found["gradient [ms]"] = milliseconds(lambda: likelihood.value_and_grad(points[0]))
    begin = time.perf_counter()
    found["ends"] = [float(ctpwa.fit(likelihood, x[None], progress=False, simulation=False).nll - zero) for x in points]
    found["one fit [ms]"] = 1e3 * (time.perf_counter() - begin) / len(points)
    begin = time.perf_counter()
    ctpwa.fit(likelihood, len(points), seed=1, progress=False, simulation=False)
    found["as many starts together, with errors [ms]"] = 1e3 * (time.perf_counter() - begin)
    found["gradient in a batch [ms]"] = milliseconds(lambda: likelihood.value_and_grad(np.stack(points))) / len(points)
    found["Hessian [ms]"] = milliseconds(lambda: likelihood.hessian(points[0]))
    return likelihood.intensity(points[0], "data").cpu().numpy(), found


def main() -> None:
    """Run one program, and print what it took."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    problem = json.loads((folder / "problem.json").read_text(encoding="utf-8"))
    intensities, found = {"ctpwa": run_ctpwa, "laddu": run_laddu}[name](problem, folder)
    np.save(folder / f"{name}.npy", intensities)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
