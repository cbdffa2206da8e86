"""Whether enough phase-space events count at a point: where a resonance has become so narrow that hardly any of them sees it, −ln L is
low by chance, and there is nothing to find.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum
from ctpwa.engine.likelihood.simulation import NormalisationSize
from ctpwa.fitting.fittable import Fittable, terms_of
from ctpwa.fitting.fractions import FractionCalculator, wave_groups
from ctpwa.fitting.simulation import too_few_events


def largest_of_couplings(term: Likelihood, fractions: Sequence[float] | np.ndarray) -> list[float]:
    """The largest fraction of a wave with each coupling.

    Args:
        term:       the likelihood of a data set
        fractions:  of its waves
    """
    found = np.zeros(len(term.coupling_names))
    n_feeds = term.plan.n_couplings // len(term.coupling_names)
    own = [channel.coupling // n_feeds for channel in term.plan.channels]
    np.maximum.at(found, own, [fractions[channel.wave] for channel in term.plan.channels])
    return [float(fraction) for fraction in found]


def normalisation_sizes(likelihood: Fittable, x: np.ndarray) -> list[NormalisationSize]:
    """Effective sizes of the phase-space samples of all data sets.

    Args:
        likelihood:  of all of them
        x:           its free parameters
    """
    return [term.normalisation_size(x[[likelihood.names.index(name) for name in term.names]]) for term in terms_of(likelihood)]


def too_few_at(likelihood: Fittable, x: np.ndarray) -> list[str]:
    """Why −ln L cannot be trusted at a point; empty if enough phase-space events count there.

    Args:
        likelihood:  of all data sets
        x:           its free parameters
    """
    few = []
    for number, (term, size) in enumerate(zip(terms_of(likelihood), normalisation_sizes(likelihood, x), strict=True), start=1):
        own = x[[likelihood.names.index(name) for name in term.names]]
        fractions = FractionCalculator(term, own).values_and_slopes(wave_groups(term.model)["waves"])[0]
        name = f"data set {number}" if isinstance(likelihood, LikelihoodSum) else ""
        few += too_few_events(size, len(term.names), largest_of_couplings(term, fractions), name)
    return few
