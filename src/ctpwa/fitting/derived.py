"""Parameters that follow from the free ones of a fit, with the errors that they have from them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.result import DerivedParameter


def derived_parameters(
    likelihood: Fittable, x: np.ndarray, covariance: np.ndarray | None = None, undetermined: Collection[str] = ()
) -> tuple[DerivedParameter, ...]:
    """Values and errors of all formulas of free parameters: σ² = ∂f C ∂f.

    Args:
        likelihood:    what was fitted
        x:             its free parameters
        covariance:    of them; None: errors are not wanted
        undetermined:  those that have no error
    """
    found: dict[str, DerivedParameter] = {}
    for term in terms_of(likelihood):
        own = term.parameters
        if not own.derived:
            continue
        index = np.array([likelihood.names.index(name) for name in term.names], dtype=np.int64)
        values, slopes = own.full(x[index]), own.slopes(x[index])
        lost = np.array([name in undetermined for name in term.names])
        for k, p in enumerate(own.all):
            if p.name in own.derived:
                known = covariance is not None and not (lost & (slopes[k] != 0)).any()
                variance = slopes[k] @ covariance[np.ix_(index, index)] @ slopes[k] if covariance is not None else 0.0
                error = float(np.sqrt(max(variance, 0.0))) if known else None
                found.setdefault(p.name, DerivedParameter(p.name, float(values[k]), error, p.formula))
    return tuple(found.values())
