"""Where −ln L has no lower limit: at zeros of the intensity under events that count negatively, if they are subtracted plainly."""

from __future__ import annotations

import numpy as np

from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.fitting.fittable import Fittable, terms_of

VANISHING = 1e-9  # intensity, in units of its mean


def may_have_holes(likelihood: Fittable) -> bool:
    """Whether some events count negatively, and neither a floor nor the density of a background stays where the intensity is 0."""
    return any(_may_have(term) for term in terms_of(likelihood))


def hole(likelihood: Fittable, x: np.ndarray) -> str:
    """What is wrong with a point from which −ln L falls without limit; empty if nothing is. All ranks must ask."""
    for term in terms_of(likelihood):
        least = _least_intensity(term, x[[likelihood.names.index(name) for name in term.names]]) if _may_have(term) else np.inf
        if least < VANISHING:  # of an event that counts negatively; any other would make −ln L large
            return (
                f"-ln L has no lower limit: at an event that counts negatively the intensity is {least:.0e} of its mean;"
                " use  subtraction: bounded,  or describe the background by a density"
            )
    return ""


def _may_have(term: Likelihood) -> bool:
    samples = term.samples
    return samples.floor is None and samples.negative > 0 and term.plan.n_added == 0


def _least_intensity(term: Likelihood, x: np.ndarray) -> float:
    """The least intensity of any event, in units of the mean of the data."""
    I = term.intensity(x, "data")
    parts = [I, *([term.intensity(x, "background")] if term.subtracts else [])]
    own = [min((float(part.min()) for part in parts if len(part)), default=np.inf), float(I.sum())]
    found = [np.frombuffer(part) for part in term.ranks.gather(np.array(own).tobytes())]
    return float(min(least for least, _ in found) / (sum(total for _, total in found) / term.n_events))
