"""How the gradient of −ln L scatters from one experiment to the next: products of what single events do to it.

    S = Σ w² s sᵀ,    s = ∂ ln p,    p = I/σ or what a mixture makes of it

over data and background, each a Poisson number of events. An event that counts negatively brings one of the floor along
(``subtraction.py``), so that its s is ∂ ln p minus the mean of that over the floor. The events of the floor themselves are simulated, and
belong to ``simulation.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctpwa.base.turns import in_turn
from ctpwa.engine.backends.expansion import score_products
from ctpwa.engine.likelihood.event_sums import log_gradient, squared_sums
from ctpwa.engine.likelihood.rank_sums import run_together
from ctpwa.engine.samples.build import CallbackValues

if TYPE_CHECKING:
    from ctpwa.engine.likelihood.likelihood import Likelihood


def score_chain(likelihood: Likelihood, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """See ``Evaluation.score_chain``, with the normalisation at x."""
    evaluation, native = likelihood.evaluation, likelihood.parameters.native(x)
    (norm,) = run_together(likelihood.ranks, [evaluation.norm_task(native, 1, lambda norm: norm)], x.tobytes(), likelihood.engine.device)
    return evaluation.score_chain(x, native, norm)


def scatter_of_events(likelihood: Likelihood, x: np.ndarray) -> np.ndarray:
    """S over the free parameters; the mean of a constraint is a measurement as well, and adds its 1/σ²."""
    samples, plan = likelihood.samples, likelihood.plan
    native = likelihood.parameters.native(x)
    floating = native[1][likelihood.evaluation.theta_order]
    numbers, J, d = score_chain(likelihood, x)
    n = len(x)

    @in_turn
    def local() -> np.ndarray:
        """Of events that count positively, then of the others: Σ w² s sᵀ, Σ w² s and Σ w², without d; then Σ v s of the floor."""
        counted = np.zeros((2, n * n + n + 1))
        refresh = CallbackValues(plan, floating, likelihood.engine.device)
        for factor, source in samples.measured:
            for row, sign in enumerate((factor, -factor)):
                found = squared_sums(likelihood.engine, source, native[0], numbers, refresh, sign)
                if found is not None:
                    products = J.T @ score_products(found.gram, plan.n_couplings) @ J
                    counted[row] += np.concatenate([products.ravel(), found.first.gradient @ J, [found.weight]])
        flat = np.zeros(n)
        if samples.floor is not None:
            flat = log_gradient(likelihood.engine, samples.floor.source, native[0], numbers, refresh, plan.n_variables) @ J
        return np.concatenate([counted.ravel(), flat])

    sums = likelihood.ranks.sum(2 * (n * n + n + 1) + n, local, b"scores" + x.tobytes(), likelihood.engine.device)
    counted, flat = sums[: len(sums) - n].reshape(2, -1), sums[len(sums) - n :]
    means = [d, d if samples.floor is None else flat / samples.floor.total]
    S = np.zeros((n, n))
    for row, mean in zip(counted, means, strict=True):
        products, s, total = row[: n * n].reshape(n, n), row[n * n : -1], row[-1]
        S += products + total * np.outer(mean, mean) - np.outer(s, mean) - np.outer(mean, s)
    for name, (_, sigma) in likelihood.constraints.items():
        if name in likelihood.names:
            index = likelihood.names.index(name)
            S[index, index] += 1 / sigma**2
    return S
