"""ctpwa, laddu and tensorwaves on the same events and the same model: python benchmarks/peers.py [--data N] [--only laddu] [--no-fits]

The other programs are installed from PyPI, each into an environment of its own under ``--environments``; one that cannot be installed or
run is left out, with the reason. Eleven scalar resonances in D0 -> K- pi+ pi0, fixed, and seven of them with floating masses and widths.
Every program runs in a process of its own with one thread; intensities are compared before any time is believed. Programs that have no
amplitudes of their own from four-momenta get the squared masses of pairs, so that their initialisation is shorter by that.
``improvement`` is how far below −ln L of the generated values the fit ended: all that converge have the same.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import numpy as np

import ctpwa
import ctpwa.generate
from common import hardware, print_table

PACKAGES = {"laddu": ["laddu", "numpy"], "tensorwaves": ["tensorwaves[jax]", "numpy"]}
PAIRS = {"K- pi+": "s_kp", "pi+ pi0": "s_pp", "K- pi0": "s_k0"}
RESONANCES = {  # pair, mass, width, |c|, phase
    "Ra": ("K- pi+", 0.85, 0.30, 1.0, 0.0),
    "Rb": ("K- pi+", 1.10, 0.20, 0.6, 1.1),
    "Rc": ("K- pi+", 1.35, 0.25, 0.8, -2.0),
    "Rd": ("K- pi+", 1.60, 0.15, 0.4, 2.5),
    "Re": ("pi+ pi0", 0.50, 0.40, 0.5, 0.4),
    "Rf": ("pi+ pi0", 0.78, 0.15, 0.7, -0.9),
    "Rg": ("pi+ pi0", 1.00, 0.10, 0.3, 1.9),
    "Rh": ("pi+ pi0", 1.25, 0.20, 0.5, -2.8),
    "Ri": ("K- pi0", 0.90, 0.10, 0.5, 0.7),
    "Rj": ("K- pi0", 1.20, 0.25, 0.6, -1.6),
    "Rk": ("K- pi0", 1.45, 0.20, 0.4, 3.0),
}
FLOATING = 7  # of them, if any
TOLERANCE = 1e-9  # of intensities


def description(*, floating: bool) -> dict[str, Any]:
    """The model file."""
    resonances = {
        name: {"in": pair, "JP": "0+", "mass": mass, "width": width} | ({"float": ["mass", "width"]} if floating and k < FLOATING else {})
        for k, (name, (pair, mass, width, *_)) in enumerate(RESONANCES.items())
    }
    return {"decay": "D0 -> K- pi+ pi0", "resonances": resonances}


def with_couplings(own: dict[str, Any]) -> dict[str, Any]:
    """The same with couplings, which have the names of waves."""
    waves = ctpwa.load_model(own).waves
    values = {wave.coupling: RESONANCES[wave.name[:2]][3:] for wave in waves}
    return own | {"couplings": {name: {"abs": size, "phase": phase} for name, (size, phase) in values.items()}}


def write_problem(folder: Path, n_data: int, *, floating: bool, engine: str = "auto", fits: bool = True) -> None:
    """Model, values and events for all programs."""
    own = with_couplings(description(floating=floating))
    model = ctpwa.load_model(own)
    data = ctpwa.generate.ToyGenerator(model, engine=engine).generate(n_data, 1).events
    flat = ctpwa.generate_phase_space(model, 5 * n_data, seed=2)
    names = list(flat)
    masses = {name: model.decay.final[k].mass for k, name in enumerate(names)}
    rng = np.random.default_rng(3)
    listed = []
    for k, (name, (pair, mass, width, size, phase)) in enumerate(RESONANCES.items()):
        c = size * np.exp(1j * phase)
        true = {"re": float(c.real), "im": float(c.imag), "mass": mass, "width": width}
        factors = dict(zip(true, 1 + np.array([0.05, 0.05, 0.005, 0.05]) * rng.uniform(-1, 1, 4), strict=True))
        start = {part: value * factors[part] for part, value in true.items()}
        place = {"pair": PAIRS[pair], "masses": [masses[particle] for particle in pair.split()]}
        listed.append({"name": name, "float": floating and k < FLOATING, "true": true, "start": start} | place)
    arrays = {}
    for which, events in (("data", data), ("flat", flat)):
        for pair, short in PAIRS.items():
            total = sum(events[particle].numpy() for particle in pair.split())
            arrays[f"{which}/{short}"] = total[:, 0] ** 2 - (total[:, 1:] ** 2).sum(axis=1)
        arrays |= {f"p4 {which}/{name}": events[name].numpy() for name in names}
    np.savez(folder / "events.npz", **arrays)
    problem = {"model": own, "particles": names, "resonances": listed, "fits": fits}
    (folder / "problem.json").write_text(json.dumps(problem), encoding="utf-8")


def environment(name: str, folder: Path) -> Path:
    """The Python of a program; it is installed if it is not there."""
    if name == "ctpwa":
        return Path(sys.executable)
    python = folder / name / "bin" / "python"
    if not python.exists():
        venv.create(folder / name, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES[name]], check=True, capture_output=True, text=True)
    return python


def run(name: str, folder: Path, environments: Path) -> dict[str, Any]:
    """One program, or why it is left out."""
    one = {variable: "1" for variable in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "MKL_NUM_THREADS")}
    one |= {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1", "JAX_PLATFORMS": "cpu"}
    try:
        command = [environment(name, environments), Path(__file__).with_name("peers_program.py"), name, folder]
        done = subprocess.run(command, env=os.environ | one, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        lines = [line for line in (error.stderr or "").splitlines() if line.strip()]
        raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
        if name == "ctpwa":
            raise SystemExit(error.stderr) from None
        return {"program": name, "left out": (raised or lines or [str(error)])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if name == "ctpwa":
        return found
    ours, theirs = (np.load(folder / f"{program}.npy") for program in ("ctpwa", name))
    ratio = theirs / ours
    spread = float(np.abs(ratio / ratio.mean() - 1).max())
    if not spread < TOLERANCE:
        return {"program": found["program"], "left out": f"its intensities differ by {spread:.1e}"}
    return found | {"intensities differ by": spread}


def main() -> None:
    """Run all of them, print tables, write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=int, default=100_000, help="events of data; five times as many of phase space; default: 100000")
    parser.add_argument("--only", default="", help="some of the other programs, separated by commas; default: all")
    parser.add_argument("--environments", type=Path, default=Path("peers-environments"), help="where they are installed")
    parser.add_argument("--out", type=Path, default=Path("peers.json"), help="where the numbers are written; default: peers.json")
    parser.add_argument("--no-fits", action="store_true", help="without whole fits, which take hours elsewhere if masses float")
    arguments = parser.parse_args()
    wanted = [name for name in arguments.only.split(",") if name] or list(PACKAGES)
    if unknown := [name for name in wanted if name not in PACKAGES]:
        parser.error(f"unknown program {unknown[0]!r}; known are {', '.join(PACKAGES)}")
    results = {}
    print(f"{hardware('cpu').rpartition(',')[0]}, one thread, {arguments.data} + {5 * arguments.data} events")
    for floating in (False, True):
        with tempfile.TemporaryDirectory(prefix="ctpwa-peers-") as folder:
            write_problem(Path(folder), arguments.data, floating=floating, fits=not arguments.no_fits)
            rows = [run(name, Path(folder), arguments.environments.resolve()) for name in ("ctpwa", *wanted)]
        title = f"masses and widths: {FLOATING} resonances floating" if floating else "masses and widths: fixed"
        print_table(title, rows)
        results[title] = rows
    arguments.out.write_text(json.dumps({"events": arguments.data, "results": results}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
