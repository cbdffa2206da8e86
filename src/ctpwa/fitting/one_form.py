"""Couplings in one form.

|c| e^{iφ} is the same with φ + 2π, and with −|c| and φ + π; a set of waves is the same with its real reference and all others of it turned
by π.
"""

from __future__ import annotations

import numpy as np

from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.model.parameter import PARTS, POLAR

TURN = 2 * np.pi


def one_form(likelihood: Fittable, x: np.ndarray, near: np.ndarray | None = None) -> np.ndarray:
    """The same point with sizes and real references that are not negative.

    Args:
        likelihood:  says which parameters are sizes and phases
        x:           its free parameters
        near:        phases are chosen as close as possible to those of this point; default: between −π and π
    """
    x = _positive_references(likelihood, x.copy())
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


def _positive_references(likelihood: Fittable, x: np.ndarray) -> np.ndarray:
    """The same point with reference phases 0 instead of π; where limits or fixed parameters are in the way it stays as it is."""
    terms = terms_of(likelihood)
    phases, parts = terms[0].phases, PARTS[terms[0].parameters.representation]
    index = {name: i for i, name in enumerate(likelihood.names)}
    sizes = {number: index.get(f"{number}.{parts[0]}") for number in phases.references}
    angles = phases.together({number: np.pi for number, i in sizes.items() if i is not None and x[i] < 0})
    turned = x.copy()
    for number, angle in angles.items():
        if not angle:
            continue
        first, second = (index.get(f"{number}.{part}") for part in parts)
        if number in phases.references and first is not None:
            turned[first] = -x[first]
        elif parts == PARTS[POLAR] and second is not None:
            turned[second] += angle
        elif first is not None and second is not None:
            z = complex(x[first], x[second]) * np.exp(1j * angle)
            turned[first], turned[second] = z.real, z.imag
        else:
            return x
    lower, upper = likelihood.bounds.T
    return x if ((turned < lower) | (turned > upper)).any() else turned
