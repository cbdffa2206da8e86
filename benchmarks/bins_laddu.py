"""ctpwa and laddu in one bin of mass of γ p → η π0 p: python benchmarks/bins_laddu.py [--events 10000] [--starts 20] [--environments DIR]

The same events, the same five waves with eight free parameters, one thread each, in processes of their own; laddu is installed by pip
into an environment of its own, as in ``peers.py``. laddu 0.28 has no Z_lm any more: its expression is made of spherical harmonics, with
Z_lm = Y_lm exp(−iΦ) and

    I = (1 + P) |Σ c b_l Re Z_lm|² + (1 − P) |Σ c b_l Im Z_lm|²

of waves of positive reflectivity (Mathieu et al., Phys. Rev. D 100, 054017, eq. D13). It gets the angles Ω, Φ and the barriers b_l as
columns, made here from momenta without ctpwa's kinematics; ctpwa starts from momenta. Intensities are compared before any time is believed.
Fits start from the same random points, in which all waves are about equally strong.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import ctpwa
from bins_toys import WAVES, make_toys
from common import hardware, markdown
from ctpwa.engine.likelihood.values import model_values
from peers import LeftOut, environment

LIMITS = 1.3, 1.324  # GeV
FIRST = next(iter(WAVES))  # whose coupling is 1
TOLERANCE = 1e-10  # of intensities
RADIUS = 3.0  # 1/GeV, of barriers
M_P = 0.93827208943  # GeV, as ctpwa has it
ONE = ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "MKL_NUM_THREADS")


def columns(events: ctpwa.Events) -> dict[str, np.ndarray]:
    """Angles of η in the helicity frame of X, that of the polarisation to the plane of production, and barriers."""
    eta, pi0, beam = (own.numpy() for own in (events["eta"], events["pi0"], events.columns["beam"]))
    X, total = eta + pi0, beam + np.array([M_P, 0.0, 0.0, 0.0])
    k, x, e = (boosted(p, total) for p in (beam, X, eta))
    z = unit(x[:, 1:])
    y = unit(np.cross(k[:, 1:], x[:, 1:]))
    own = boosted(e, x)[:, 1:]
    cos, (sin_x, sin_y) = (unit(own) * z).sum(axis=1), ((own * axis).sum(axis=1) for axis in (np.cross(y, z), y))
    alpha, direction = events.columns["alpha"].numpy(), unit(beam[:, 1:])
    polarisation = np.stack([np.cos(alpha), np.sin(alpha), 0 * alpha], axis=1)
    Phi = np.arctan2((y * polarisation).sum(axis=1), (direction * np.cross(polarisation, y)).sum(axis=1))
    q = np.linalg.norm(own, axis=1)
    z2 = (q * RADIUS) ** 2
    barriers = {"b0": np.ones_like(q), "b1": q / np.sqrt(z2 + 1), "b2": q**2 / np.sqrt(z2**2 + 3 * z2 + 9)}
    return {"cos": cos, "phi": np.arctan2(sin_y, sin_x), "Phi": Phi, "P": events.columns["P"].numpy()} | barriers


def boosted(p: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Momenta in the rest frame of others, (E, px, py, pz)."""
    mass = np.sqrt(total[:, 0] ** 2 - (total[:, 1:] ** 2).sum(axis=1))
    along = (p[:, 1:] * total[:, 1:]).sum(axis=1)
    E = (p[:, 0] * total[:, 0] - along) / mass
    return np.concatenate([E[:, None], p[:, 1:] - total[:, 1:] * ((p[:, 0] + E) / (total[:, 0] + mass))[:, None]], axis=1)


def unit(v: np.ndarray) -> np.ndarray:
    """Directions."""
    return np.asarray(v / np.linalg.norm(v, axis=1, keepdims=True))


def write_problem(folder: Path, n_events: int, starts: int, seed: int) -> None:
    """Toys of one bin with columns for laddu, and points to start from."""
    make_toys(folder, 1, n_events, 3 * n_events, seed, True, LIMITS)
    model = ctpwa.load_model(folder / "model.yml")
    arrays = {}
    for name in ("data", "accepted"):
        events = ctpwa.read_events(model, folder / f"{name}.npz")
        arrays |= {f"{name}/{column}": values for column, values in columns(events).items()}
    np.savez(folder / "columns.npz", **arrays)
    likelihood = ctpwa.load_analysis(folder / "model.yml").likelihood(progress=False)
    found = likelihood.random_couplings(likelihood.start, starts, seed)
    couplings = [model_values(likelihood, x).couplings for x in found]
    ratios = [{name: own[name] / own[FIRST] for name in WAVES if name != FIRST} for own in couplings]
    points = [{name: [z.real, z.imag] for name, z in own.items()} for own in ratios]
    waves = {name: [int(name[name.index("(") + 1]), int(name.partition("m=")[2].split()[0])] for name in WAVES}
    (folder / "problem.json").write_text(json.dumps({"waves": waves, "points": points}), encoding="utf-8")


def run(name: str, folder: Path, environments: Path) -> dict[str, Any]:
    """What one program has measured."""
    try:
        python = environment(name, environments)
    except LeftOut as error:
        sys.exit(f"{name}: {error}")
    command = [python, Path(__file__).with_name("bins_laddu_program.py"), name, folder]
    done = subprocess.run(command, env=os.environ | dict.fromkeys(ONE, "1"), capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Run both, compare intensities, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, value in (("events", 10_000), ("starts", 20), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--environments", type=Path, default=Path("peers-environments"), help="where laddu is installed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ctpwa-bins-") as place:
        folder = Path(place)
        write_problem(folder, given.events, given.starts, given.seed)
        found = [run(name, folder, given.environments.resolve()) for name in ("ctpwa", "laddu")]
        ratio = np.load(folder / "laddu.npy") / np.load(folder / "ctpwa.npy")
    spread = float(np.abs(ratio / ratio.mean() - 1).max())
    if not spread < TOLERANCE:
        sys.exit(f"intensities differ by {spread:.1e}")
    print(f"{hardware('cpu').rpartition(',')[0]}, one thread, {given.events} events; intensities differ by {spread:.1e}")
    ends = [np.array(own.pop("ends")) for own in found]
    rows = [[what, *(f"{own[what]:.4g}" if what in own else "" for own in found)] for what in found[0]]
    print(markdown(["", "ctpwa", "laddu"], rows))
    best = min(float(own.min()) for own in ends)
    reached = [f"{int((own < best + 0.01).sum())} of {len(own)}" for own in ends]
    apart = float(np.abs(ends[0] - ends[1])[(ends[0] < best + 0.01) & (ends[1] < best + 0.01)].max(initial=0.0))
    print(f"starts that end in the best minimum: ctpwa {reached[0]}, laddu {reached[1]}; −ln L of these differ by up to {apart:.1e}")
    if math.isnan(best):
        sys.exit("a fit ended nowhere")


if __name__ == "__main__":
    main()
