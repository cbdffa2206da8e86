"""ctpwa and other programs on the same events and the same model: python benchmarks/peers.py [--data N] [--only laddu,tf-pwa] [--no-fits]

laddu, TF-PWA and tensorwaves (with QRules and AmpForm) are installed from PyPI, each into an environment of its own under
``--environments``; one that cannot be installed or run is left out, with the reason. Eleven scalar resonances in D0 -> K- pi+ pi0,
fixed, and seven of them with floating masses and widths. Every program runs in a process of its own with one thread, by turns in
``--rounds``, of which medians are shown. Times are CPU time, of all threads if a program takes more, so that others on the machine matter
little. Intensities and differences of −ln L are compared before any time is believed.

Initialisation is from events in memory to the first gradient, libraries loaded: their compilers are part of it, while ctpwa keeps kernels
on disk. laddu gets squared masses of pairs, so that its initialisation is shorter by that; TF-PWA reads text files. Fits are what each
program does by default from the same start: with covariance in ctpwa, without in the others. −ln L is that of ctpwa plus the difference
that each program found between the end of its fit and the generated values. ``times as long`` is relative to the gradient of ctpwa in the
same round.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
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

PACKAGES = {"laddu": ["laddu", "numpy"], "tf-pwa": ["TFPWA"], "tensorwaves": ["tensorwaves[jax]", "qrules", "ampform"]}
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
TOLERANCE = 1e-9  # of intensities, relative
NLL_TOLERANCE = 1e-6  # of the difference of −ln L between two points
INSTALL_S = 3600.0


class LeftOut(Exception):
    """A program that cannot take part, and why."""


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
    pairs = {short: pair.split() for pair, short in PAIRS.items()}
    decay = {
        "mother": own["decay"].partition(" ")[0],
        "mass": model.decay.parent.mass,
        "particles": names,
        "masses": masses,
        "pairs": pairs,
    }
    problem = {"model": own, "resonances": listed, "fits": fits} | decay
    (folder / "problem.json").write_text(json.dumps(problem), encoding="utf-8")


def environment(name: str, folder: Path) -> Path:
    """The Python of a program; what is not there is installed.

    Raises:
        LeftOut:  it cannot be
    """
    if name == "ctpwa":
        return Path(sys.executable)
    python, done = folder / name / "bin" / "python", folder / name / "installed.txt"
    if not done.exists() or done.read_text(encoding="utf-8").split() != PACKAGES[name]:
        command = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES[name]]
        try:
            venv.create(folder / name, with_pip=True, clear=True)
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_S)
        except subprocess.CalledProcessError as error:
            raise LeftOut(f"it cannot be installed: {reason(error.stderr or error.stdout or '')}") from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LeftOut(f"it cannot be installed: {error}") from None
        done.write_text("\n".join(PACKAGES[name]), encoding="utf-8")
    return python


def reason(output: str) -> str:
    """The line of an output that says what went wrong."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"(ERROR:|[\w.]*(Error|Exception)\b)", line)]
    return (raised or lines or ["it says nothing"])[-1]


def run(name: str, folder: Path, environments: Path) -> dict[str, Any]:
    """One program, once."""
    one = {variable: "1" for variable in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "MKL_NUM_THREADS")}
    one |= {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1", "JAX_PLATFORMS": "cpu"}
    one |= {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    command = [str(environment(name, environments)), str(Path(__file__).with_name("peers_program.py")), name, str(folder)]
    done = subprocess.run(command, env=os.environ | one, capture_output=True, text=True)
    if done.returncode:
        raise LeftOut(f"it cannot be run: {reason(done.stderr)}")
    return json.loads(done.stdout.splitlines()[-1])


def compared(name: str, folder: Path, found: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Its numbers with those of ctpwa: nothing is believed unless intensities and −ln L are equal."""
    ratio = np.load(folder / f"{name}.npy") / np.load(folder / "ctpwa.npy")
    spread = float(np.abs(ratio / ratio.mean() - 1).max())
    if not spread < TOLERANCE:
        raise LeftOut(f"its intensities differ by {spread:.1e}")
    true, start = "at generated values", "at the start"
    difference = abs((found[start] - found[true]) - (ours[start] - ours[true]))
    if not difference < NLL_TOLERANCE:
        raise LeftOut(f"the change of its −ln L from generated values to the start differs by {difference:.1e}")
    more = {
        "times as long": found["gradient [ms]"] / ours["gradient [ms]"],
        "intensities differ by": spread,
        "−ln L differs by": difference,
    }
    if "reached" in found:
        more["reached"] = ours[true] + found["reached"] - found[true]
    return found | more


def medians(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """A row of the table."""
    row: dict[str, Any] = {}
    for key, value in rounds[0].items():
        if key not in ("at generated values", "at the start"):
            row[key] = statistics.median(found[key] for found in rounds) if isinstance(value, float) else value
    if "reached" in row:
        row["−ln L reached"] = f"{row.pop('reached'):.4f}"
    return row


def by_turns(names: list[str], folder: Path, environments: Path, n_rounds: int) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """Numbers of every round of each program, and who is left out, and why."""
    found: dict[str, list[dict[str, Any]]] = {"ctpwa": []}
    missing: dict[str, str] = {}
    for _ in range(n_rounds):
        try:
            ours = run("ctpwa", folder, environments)
        except LeftOut as error:
            raise SystemExit(f"ctpwa: {error}") from None
        found["ctpwa"].append(ours)
        for name in names:
            if name in missing:
                continue
            try:
                found.setdefault(name, []).append(compared(name, folder, run(name, folder, environments), ours))
            except LeftOut as error:
                missing[name] = str(error)
    return {name: rounds for name, rounds in found.items() if name not in missing}, missing


def main() -> None:
    """Run all of them, print tables, write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=int, default=100_000, help="events of data; five times as many of phase space; default: 100000")
    parser.add_argument("--only", default="", help="some of the other programs, separated by commas; default: all")
    parser.add_argument("--rounds", type=int, default=3, help="how often each program runs, by turns; default: 3")
    parser.add_argument("--environments", type=Path, default=Path("peers-environments"), help="where they are installed")
    parser.add_argument("--out", type=Path, default=Path("peers.json"), help="where the numbers are written; default: peers.json")
    parser.add_argument("--no-fits", action="store_true", help="without whole fits, which take hours elsewhere if masses float")
    arguments = parser.parse_args()
    wanted = [name for name in arguments.only.split(",") if name] or list(PACKAGES)
    if unknown := [name for name in wanted if name not in PACKAGES]:
        parser.error(f"unknown program {unknown[0]!r}; known are {', '.join(PACKAGES)}")
    if arguments.rounds < 1:
        parser.error(f"--rounds must be at least 1, not {arguments.rounds}")
    results = {}
    events = f"{arguments.data} + {5 * arguments.data} events"
    print(f"{hardware('cpu').rpartition(',')[0]}, one thread, {events}, medians of {arguments.rounds} rounds")
    for floating in (False, True):
        with tempfile.TemporaryDirectory(prefix="ctpwa-peers-") as folder:
            write_problem(Path(folder), arguments.data, floating=floating, fits=not arguments.no_fits)
            found, missing = by_turns(wanted, Path(folder), arguments.environments.resolve(), arguments.rounds)
        title = f"masses and widths: {FLOATING} resonances floating" if floating else "masses and widths: fixed"
        print_table(title, [medians(rounds) for rounds in found.values()])
        print("".join(f"\n{name} is left out: {why}" for name, why in missing.items()), flush=True)
        results[title] = {"rounds": found, "left out": missing}
        arguments.out.write_text(json.dumps({"events": arguments.data, "results": results}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
