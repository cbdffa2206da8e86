"""Errors of every parameter by all ways there are, in units of that of the Hessian, with their Monte Carlo errors: part of ``studies.py``.

*sd* are standard deviations of bootstrap replicas, toys and points of the posterior, *68 %* half of the intervals that hold 68 % of them,
which a few values far away hardly move. MINOS and profile are half of the interval in which −ln L rises by ½. *scores* are errors from how
much the gradient scatters from event to event, H⁻¹ S H⁻¹: what replicas of these very events should have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.stats import norm

from common import print_table
from ctpwa.analysis.reopen import OpenedFit
from ctpwa.minimise.minos import minos
from ctpwa.minimise.objective import Scaled
from ctpwa.studies import Study, bootstrap, sample, scan, toys
from ctpwa.studies.baseline import baseline
from ctpwa.studies.diagnostics import effective_size
from ctpwa.studies.sample_study import Marginal

Values = dict[str, tuple[np.ndarray, float]]  # parameter → values, and how many are independent
RESAMPLED = 300
INSIDE = norm.cdf([-1, 1])
WAYS = ("bootstrap", "toys", "posterior")


def _sd(values: np.ndarray) -> np.ndarray:
    return values.std(axis=-1, ddof=1)


def _half(values: np.ndarray) -> np.ndarray:
    low, high = np.quantile(values, INSIDE, axis=-1)
    return (high - low) / 2


WIDTHS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"sd": _sd, "68 %": _half}


def width_and_error(width: Callable[[np.ndarray], np.ndarray], values: np.ndarray, size: float) -> tuple[float, float]:
    """A width of values, of which so many are independent, and its Monte Carlo error from resampling."""
    random = np.random.default_rng(0)
    again = width(values[random.integers(len(values), size=(RESAMPLED, len(values)))])
    return float(width(values)), float(again.std() * np.sqrt(len(values) / size))


def _size(one: Marginal) -> float:
    """How many independent points the standard deviation of a posterior is worth: chains forget the sign of a deviation before its size."""
    return min(one.size, effective_size((one.chains - one.mean) ** 2))


def agreement(opened: OpenedFit, n_toys: int, n_replicas: int, device: str, done: Mapping[str, Study]) -> list[dict[str, Any]]:
    """The rows of the table, one for each parameter, and what the sampler says about its chains on the way."""
    run: dict[str, Any] = {"device": device, "progress": None}
    own = baseline(opened, device=device)
    names = own.likelihood.names
    posterior = sample(opened, **run)
    print(f"posterior: {posterior.headline}", flush=True)
    limits = minos(Scaled(own.likelihood, own.likelihood.unit), own.x, names)
    profiles = {name: [one.value for one in scan(opened, name, points=3, sigmas=1, **run).crossings] for name in names}
    print("MINOS and profiles: done", flush=True)
    values: dict[str, dict[str, tuple[np.ndarray, float]]] = {
        "posterior": {m.name: (m.chains.ravel(), m.size) for m in posterior.marginals}
    }
    studies = {
        "toys": lambda: done.get("toys") or toys(opened, n_toys, **run),
        "bootstrap": lambda: done.get("bootstrap") or bootstrap(opened, n_replicas, **run),
    }
    for way, study in studies.items():
        values[way] = {one.name: (one.deviations, float(len(one.values))) for one in study().spreads}
        print(f"{way}: done", flush=True)
    rows, V = [], np.linalg.inv(own.curvature)
    scores = np.sqrt(np.diag(V @ own.likelihood.score_products(own.x) @ V))
    for name, sigma, score in zip(names, np.sqrt(np.diag(own.result.statistical_covariance)), scores, strict=True):
        found, (low, high) = limits[name], profiles[name]
        row: dict[str, Any] = {"parameter": name, "fitted": own.result.value(name), "Hessian": float(sigma)}
        row["MINOS"] = (found.upper - found.lower) / 2 / sigma if found.valid else None
        row["profile"] = None if low is None or high is None else (high - low) / 2 / sigma
        row["scores"] = float(score / sigma)
        for kind, width in WIDTHS.items():
            for way in WAYS:
                ratio = width_and_error(width, *values[way][name])
                row[f"{way} {kind}"], row[f"{way} {kind} error"] = ratio[0] / float(sigma), ratio[1] / float(sigma)
        rows.append(row)
    return rows


def print_agreement(rows: list[dict[str, Any]]) -> None:
    """The table, with the middle of every column below it."""
    columns = [f"{way} {kind}" for kind in WIDTHS for way in WAYS]
    shown = [
        {key: row[key] for key in ("parameter", "fitted", "Hessian", "MINOS", "profile", "scores")}
        | {column: f"{row[column]:.3f} ± {row[f'{column} error']:.3f}" for column in columns}
        for row in rows
    ]
    print_table("errors in units of those of the Hessian", shown)
    for column in ("MINOS", "profile", "scores", *columns):
        print(f"{column}: median {np.median([row[column] for row in rows if row[column] is not None]):.3f}")
