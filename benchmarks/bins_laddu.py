"""The likelihoods of ``bins.py`` in laddu 0.18: evaluated and minimised in an environment that has it.

    python benchmarks/bins_laddu.py FOLDER BINS LOW HIGH STARTS

prints times as JSON. ``write_trees`` writes events as trees in the layout of AmpTools, which laddu reads, polarisation in the beam.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

WAVES = (("S0", 0, 0), ("P1", 1, 1), ("D0", 2, 0), ("D1", 2, 1), ("D2", 2, 2))
REPEAT, TARGET = 20, 0.93827208816


def write_trees(folder: Path) -> None:
    """data.root and accepted.root: beam, recoil, η, π0; P and its angle are transverse components of the beam."""
    import uproot

    import ctpwa

    for name in ("data", "accepted"):
        own = ctpwa.read_events(ctpwa.load_model(folder / "model.yml"), folder / f"{name}.npz", progress=False)
        beam, eta, pi0 = (p4.numpy() for p4 in (own.columns["beam"], own["eta"], own["pi0"]))
        recoil = beam + np.array([TARGET, 0, 0, 0]) - eta - pi0
        degree, angle = own.columns["P"].numpy(), own.columns["alpha"].numpy()
        tree = {"E_Beam": beam[:, 0], "Px_Beam": degree * np.cos(angle), "Py_Beam": degree * np.sin(angle), "Pz_Beam": beam[:, 3]}
        final = np.stack([recoil, eta, pi0], axis=1)
        for k, component in enumerate(("E", "Px", "Py", "Pz")):
            tree[f"{component}_FinalState"] = np.ascontiguousarray(final[:, :, k]).astype(np.float32)
        plain = {key: values.astype(np.float32) for key, values in tree.items()}
        count = {"NumFinalState": np.full(len(beam), 3, dtype=np.int32), "Weight": np.ones(len(beam), dtype=np.float32)}
        with uproot.recreate(folder / f"{name}.root") as file:
            file["kin"] = count | plain


def main() -> None:
    """Measure."""
    import laddu as ld  # only in its own environment

    folder, n_bins, low, high, starts = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
    mass = ld.Mass([2, 3])
    data, accepted = (
        ld.open_amptools(str(folder / f"{name}.root"), pol_in_beam=True).bin_by(mass, n_bins, (low, high)) for name in ("data", "accepted")
    )
    manager = ld.Manager()
    angles, polarisation = ld.Angles(0, [1], [2], [2, 3]), ld.Polarization(0, [1], 0)
    real = imaginary = None
    for name, l, m in WAVES:
        z = manager.register(ld.Zlm(f"Z {name}", l, m, "+", angles, polarisation))
        if l == 0:
            c = manager.register(ld.Scalar(name, ld.parameter(f"{name} re")))
        else:
            c = manager.register(ld.ComplexScalar(name, ld.parameter(f"{name} re"), ld.parameter(f"{name} im")))
        real, imaginary = (part if total is None else total + part for total, part in ((real, c * z.real()), (imaginary, c * z.imag())))
    model = manager.model(real.norm_sqr() + imaginary.norm_sqr())
    rng = np.random.default_rng(1)
    middle = n_bins // 2
    nll = ld.NLL(model, data[middle], accepted[middle])
    x = rng.uniform(-100, 100, len(nll.parameters))
    nll.evaluate_gradient(x)
    begin = time.perf_counter()
    for _ in range(REPEAT):
        nll.evaluate_gradient(x)
    gradient = (time.perf_counter() - begin) / REPEAT
    begin = time.perf_counter()
    for b in range(n_bins):
        own = ld.NLL(model, data[b], accepted[b])
        for _ in range(starts):
            own.minimize(rng.uniform(-100, 100, len(own.parameters)))
    whole = time.perf_counter() - begin
    n = len(data[middle])
    print(json.dumps({"events of the bin": n, "gradient, ns per event": 1e9 * gradient / n, "all bins, s": whole}))


if __name__ == "__main__":
    main()
