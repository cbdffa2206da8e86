"""A made-up result with everything in it that a result can hold."""

import numpy as np

import ctpwa
from ctpwa.minimise.drive import Record
from ctpwa.minimise.minos import MinosError
from ctpwa.minimise.verdict import Verdict
from ctpwa.results.fractions import Fractions
from ctpwa.results.result import FittedCoupling, FittedParameter, FoundMinimum, FractionSet


def fractions(*names, seed=0):
    rng = np.random.default_rng(seed)
    n = len(names)
    A = rng.normal(size=(n, n))
    return Fractions(names, rng.random(n) / 3, A @ A.T / 1e4, A + A.T, np.abs(A + A.T) / 7)


def make_result(**changes):
    """A result with everything in it that a result can hold, and numbers that are no short decimals."""
    third = 1 / 3
    parameters = (
        FittedParameter("K*(1410)+[K⁺ η] (1,1)(1,0).re", third, third / 100, -0.0, minos=MinosError(-third, 2 * third, True)),
        FittedParameter("φ(1680).mass", 1.6803217, None, 1.7, 1.5, None, True, MinosError(-np.inf, np.inf, False, "no valid minimum")),
        FittedParameter("tiny", 5e-324, 1e300, -1e-11, None, 2.0),
    )
    arrays = np.random.default_rng(1).normal(size=(3, 3)) * 10.0 ** np.arange(-9, 0).reshape(3, 3)
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
    content = {
        "decay": "J/ψ(1S) → K⁺ K⁻ η",
        "method": "newton",
        "parameters": parameters,
        "covariance": arrays @ arrays.T,
        "corrected": True,
        "couplings": (FittedCoupling("φ(1680)", 1.0, 0.0, 1.0, 0.0, 0.0, None), FittedCoupling("K*", 0.1, -0.7, 0.70711, 0.03, -1.43, 0.2)),
        "fixed": {"φ(1680).width": 0.1 + 0.2},
        "nll": -1234.567890123456789,
        "n_events": 1000,
        "weight": 987.6543210987,
        "verdict": verdict,
        "record": Record(12, 3, 7, 0.123, [5.0, 4.0, -1234.567890123456789]),
        "minima": (FoundMinimum(-1234.5, 3, True, (third, 1.6, 5e-324)), FoundMinimum(-1200.1, 2, False, (0.0, 1.7, 0.0))),
        "n_starts": 5,
        "fractions": (FractionSet("", "phase space", groups, {"φ(1680)": (500.1, 22.3), "K*(1410)": (300.0, 17.3)}),),
        "samples": ({"files": ["data.root"], "sha256": "00ff", "events": 1000, "scale": third},),
        "model": {"decay": "J/psi(1S) -> K+ K- eta", "resonances": {"φ": {"limits": {"mass": [1.0, np.inf]}}}},
        "model_file": "model.yml",
        "settings": {"starts": 5, "seed": 0, "minos": ["tiny"], "tolerance": 1e-8, "max_iterations": None},
        "version": "0.1.0",
        "created": "2026-01-01T00:00:00+00:00",
    }
    return ctpwa.FitResult(**(content | changes))
