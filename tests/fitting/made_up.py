"""A made-up result with everything in it that a result can hold."""

import cmath
import json

import numpy as np

import ctpwa
from ctpwa.engine.likelihood.simulation import NormalisationSize
from ctpwa.fitting.fractions import Fractions
from ctpwa.fitting.result import FittedCoupling, FittedParameter, FoundMinimum, FractionSet, checksum
from ctpwa.fitting.simulation import SimulationPart
from ctpwa.minimise.drive import Record
from ctpwa.minimise.minos import MinosError
from ctpwa.minimise.verdict import Verdict


def fractions(*names, seed=0):
    """Fractions of interfering waves: they and their interferences add up to 1."""
    rng = np.random.default_rng(seed)
    n = len(names)
    amplitudes = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    products = (amplitudes @ amplitudes.conj().T).real
    F = (2 - np.eye(n)) * products / max(products.sum(), 1e-9)
    A = rng.normal(size=(n, n)) / 100
    errors = np.abs(A + A.T) / 7
    np.fill_diagonal(errors, np.sqrt(np.diag(A @ A.T)))
    return Fractions(names, np.diag(F).copy(), A @ A.T, F, errors)


SAMPLE = {
    "name": "data",
    "files": [{"path": "data.root", "n_events": 1000, "sha256": "00ff" * 16}],
    "n_events": 1000,
    "weights": {"total": 987.6543210987, "smallest": 1 / 3, "largest": 1.5},
    "mass": {"parent": "J/psi(1S)", "mean": 3.0969, "spread": 1e-5},
    "weight_files": [],
    "notes": ["massless particles were put on shell"],
}


def make_result(**changes):
    """A result with everything in it that a result can hold, and numbers that are no short decimals but belong together."""
    third, weight = 1 / 3, 987.6543210987
    arrays = np.random.default_rng(1).normal(size=(3, 3)) * 10.0 ** np.arange(-9, 0).reshape(3, 3)
    arrays[1] = 0  # at a limit
    covariance = arrays @ arrays.T
    first, _, last = np.sqrt(np.diag(covariance)).tolist()
    simulation = covariance / 9
    parameters = (
        FittedParameter(
            "K*(1410)+[K⁺ η] (1,1)(1,0).re", third, first, -0.0, minos=MinosError(-third, 2 * third, True), simulation=first / 3
        ),
        FittedParameter(
            "φ(1680).mass", 1.6803217, None, 1.7, 1.6803217, None, True, MinosError(-np.inf, np.inf, False, "no valid minimum")
        ),
        FittedParameter("tiny", 5e-324, last, -1e-11, None, 2.0, simulation=last / 3),
    )
    verdict = Verdict(
        False,
        ("not a minimum: it goes down along +1·(φ(1680).mass); try more starts", "at a limit: φ(1680).mass"),
        1e-17,
        np.inf,
        (-0.1, 0.3, 1.0),
        ({"tiny": 1.0, "φ(1680).mass": -0.5},),
        ({"φ(1680).mass": 1.0},),
        ("φ(1680).mass",),
    )
    groups = {"waves": fractions("a", "b", "c"), "resonances": fractions("φ(1680)", "K*(1410)"), "jp": fractions("1⁻", "2⁺")}
    kstar = 0.1 - 0.7j
    yields = {name: (weight * f, 22.3) for name, f in zip(groups["resonances"].names, groups["resonances"].values.tolist(), strict=True)}
    content = {
        "decay": "J/ψ(1S) → K⁺ K⁻ η",
        "method": "newton",
        "parameters": parameters,
        "covariance": covariance,
        "corrected": True,
        "couplings": (
            FittedCoupling("φ(1680)", 1.0, 0.0, 1.0, 0.0, 0.0, None),
            FittedCoupling("K*", 0.1, -0.7, abs(kstar), 0.03, cmath.phase(kstar), 0.2),
        ),
        "fixed": {"φ(1680).width": 0.1 + 0.2},
        "nll": -1234.567890123456789,
        "n_events": 1000,
        "weight": weight,
        "verdict": verdict,
        "record": Record(12, 3, 7, 0.123, [5.0, 4.0, -1234.567890123456789]),
        "minima": (FoundMinimum(-1234.5, 3, True, (third, 1.6, 5e-324)), FoundMinimum(-1200.1, 2, False, (0.0, 1.7, 0.0))),
        "n_starts": 5,
        "fractions": (FractionSet("", "phase space", groups, yields),),
        "samples": (SAMPLE,),
        "model": {"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"φ": {"limits": {"mass": [1.0, np.inf]}}}},
        "model_file": "model.yml",
        "settings": {"starts": 5, "seed": 0, "minos": ["tiny"], "tolerance": 1e-8, "max_iterations": None},
        "simulation": SimulationPart(simulation, (NormalisationSize(5000, 1234.5, {"φ(1680)": 321.0, "K*": 2345.6}),)),
        "version": "0.1.0",
        "created": "2026-01-01T00:00:00+00:00",
    }
    return ctpwa.FitResult(**(content | changes))


def write_signed(path, content):
    """A file with a right checksum, whatever else is wrong with it."""
    path.write_text(json.dumps(content | {"sha256": checksum(content)}), encoding="utf-8")


def edit(path, change):
    """Change the content of a file in place, and make its checksum right again."""
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    write_signed(path, content)
