"""Projections and Dalitz plots with numbers that are easy to recognise."""

from functools import cache

import numpy as np

import ctpwa
from ctpwa.observables.histograms import Grid, Projected, Projection
from ctpwa.observe.variable import parse_variable

NAMES = ("phi(1680)", "phi(3)(1850)", "K(2)*(1430)")


@cache
def model():
    description = {
        "decay": "J/psi(1S) -> K+ K- eta",
        "resonances": {NAMES[0]: {"in": "K+ K-"}, NAMES[1]: {"in": "K+ K-"}, NAMES[2]: {"in": ["K+ eta", "K- eta"]}},
    }
    return ctpwa.load_model(description)


def projection(text="mass(K+, K-)", bins=10, fine=2, background=0.0, outside=(0.0, 0.0), **changes):
    """A Hermitian form with interference; the measured events are those expected plus 3, minus 3, and so on."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(bins * fine, 3, 4)) + 2
    matrix = A @ A.swapaxes(1, 2)
    total = matrix.sum(axis=(1, 2))
    expected = total.reshape(bins, fine).sum(axis=1) + background
    data = np.round(expected) + 3 * (-1) ** np.arange(bins)
    content = {
        "variable": parse_variable(text, model().decay),
        "edges": np.linspace(1.0, 2.5, bins + 1),
        "data": data,
        "data_variance": data,
        "background": np.full(bins, background),
        "background_variance": np.full(bins, background / 4),
        "fine": fine,
        "groups": NAMES,
        "matrix": matrix,
        "others": {"waves": {}, "jp": {"1⁻": total / 3}},
        "total": total,
        "variance": total / 100,
        "outside": outside,
        "poisson": True,
    }
    return Projection(**(content | changes))


def grid(n=20):
    first, second = (parse_variable(f"mass2({name}, eta)", model().decay) for name in ("K+", "K-"))
    edges = tuple(np.linspace(*variable.limits, n + 1) for variable in (first, second))
    rng = np.random.default_rng(2)
    x, y = np.meshgrid(*((e[1:] + e[:-1]) / 2 for e in edges), indexing="ij")
    expected = np.where((x + y > 3.5) & (x + y < 8.5), 4.0 + 20 * np.exp(-((x - 2) ** 2)), 0.0)
    data = rng.poisson(expected).astype(float)
    return Grid((first, second), edges, data, data, expected, expected / 50, True)


def projected(**changes):
    content = {
        "projections": (projection(), projection("cos_theta(K+; K+ K-)", edges=np.linspace(-1, 1, 11))),
        "grids": (grid(),),
        "weights": np.ones(5),
        "scale": 0.5,
        "groups": {name: (name,) for name in NAMES},
    }
    return Projected(**(content | changes))
