"""What can be fitted: one likelihood, or a sum of them."""

from __future__ import annotations

from ctpwa.engine.likelihood.likelihood import Likelihood
from ctpwa.engine.likelihood.likelihood_sum import LikelihoodSum

Fittable = Likelihood | LikelihoodSum


def terms_of(likelihood: Fittable) -> tuple[Likelihood, ...]:
    """The likelihoods of a sum, or the one that there is."""
    return likelihood.terms if isinstance(likelihood, LikelihoodSum) else (likelihood,)
