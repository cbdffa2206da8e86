"""One program of ``peers.py`` in its own environment: python benchmarks/peers_program.py PROGRAM FOLDER

Reads ``problem.json`` and ``events.npz``; writes ``PROGRAM.npy``, intensities of the first events of phase space, and prints numbers as
JSON. All programs compute I = |Σ c F(s)|² with F = 1/(m² − s − i m² Γ/q(m²) · q(s)/√s) of eleven scalar resonances in three pairs of
particles, and −ln L = −Σ ln I + n ln Σ I of phase space, or something that differs from it by a constant.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

from peers_shared import Samples, measure

PROGRAMS = {  # module that drives it, name of its distribution
    "ctpwa": ("peers_ctpwa", "ctpwa"),
    "laddu": ("peers_laddu", "laddu"),
    "tf-pwa": ("peers_tfpwa", "TFPWA"),
    "tensorwaves": ("peers_compwa", "tensorwaves"),
}


def main() -> None:
    """Run one program, and print what it took."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    os.chdir(folder)  # some write files where they are
    problem = json.loads(Path("problem.json").read_text(encoding="utf-8"))
    samples: Samples = {}
    with np.load("events.npz") as arrays:
        for key in arrays.files:
            which, _, column = key.partition("/")
            samples.setdefault(which, {})[column] = arrays[key]
    module, distribution = PROGRAMS[name]
    intensities, found = measure(importlib.import_module(module).prepare, problem, samples)
    np.save(f"{name}.npy", intensities)
    print(json.dumps({"program": f"{name} {version(distribution)}"} | found))


if __name__ == "__main__":
    main()
