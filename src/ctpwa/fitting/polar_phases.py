"""Polar couplings in one form: |c| e^{iφ} is the same with φ + 2π, and with −|c| and φ + π."""

from __future__ import annotations

import numpy as np

from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.fitting.fittable import terms_of

TURN = 2 * np.pi


def one_form(likelihood: Likelihood | LikelihoodSum, x: np.ndarray, near: np.ndarray | None = None) -> np.ndarray:
    """The same point with sizes that are not negative.

    Args:
        likelihood:  says which parameters are sizes and phases
        x:           its free parameters
        near:        phases are chosen as close as possible to those of this point; default: between −π and π
    """
    x = x.copy()
    related = {name for term in terms_of(likelihood) for name in term.parameters.related}  # others follow from them: they stay
    index = {likelihood.names[i]: int(i) for i in likelihood.coupling_index}
    for name, size in index.items():
        phase = index.get(name.removesuffix(".abs") + ".phase") if name.endswith(".abs") else None
        if phase is None or related & {name, likelihood.names[phase]}:
            continue
        if x[size] < 0:
            x[size], x[phase] = -x[size], x[phase] + np.pi
        centre = 0.0 if near is None else near[phase]
        turns = np.round((x[phase] - centre) / TURN)
        if turns:
            x[phase] -= turns * TURN
    return x
