"""Whether chains of a sampler agree, and how many independent points they are worth (Vehtari et al., Bayesian Analysis 16, 667)."""

from __future__ import annotations

import numpy as np


def split_r_hat(chains: np.ndarray) -> float:
    """How much halves of chains differ compared with how much each scatters: 1 if they agree.

    Args:
        chains:  one number of every point [chain, point]
    """
    halves = _halves(chains)
    n = halves.shape[1]
    if n < 2:
        return float("nan")
    between, within = n * halves.mean(axis=1).var(ddof=1), halves.var(axis=1, ddof=1).mean()
    if within == 0:
        return 1.0 if between == 0 else float("inf")
    return float(np.sqrt(((n - 1) / n * within + between / n) / within))


def effective_size(chains: np.ndarray) -> float:
    """How many independent points would give means as well: with autocorrelations up to where they are lost in noise.

    Args:
        chains:  one number of every point [chain, point]
    """
    halves = _halves(chains)
    m, n = halves.shape
    if n < 4:
        return float("nan")
    covariance = np.array([_autocovariance(chain) for chain in halves])
    within = covariance[:, 0].mean() * n / (n - 1)
    total = within * (n - 1) / n + halves.mean(axis=1).var(ddof=1)
    if total == 0:
        return float("nan")
    rho = 1 - (within - covariance.mean(axis=0) * n / (n - 1)) / total
    rho[0] = 1.0
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = np.flatnonzero(pairs <= 0)
    kept = np.minimum.accumulate(pairs[: positive[0] if len(positive) else len(pairs)])
    time = max(2 * kept.sum() - 1, 1 / np.log10(max(m * n, 10)))
    return float(m * n / time)


def _halves(chains: np.ndarray) -> np.ndarray:
    n = chains.shape[1] // 2
    return np.concatenate([chains[:, :n], chains[:, chains.shape[1] - n :]])


def _autocovariance(chain: np.ndarray) -> np.ndarray:
    n = len(chain)
    spectrum = np.fft.rfft(chain - chain.mean(), 2 * n)
    return np.fft.irfft(np.abs(spectrum) ** 2, 2 * n)[:n] / n
