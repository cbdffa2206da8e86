"""Compiled CPU kernels where K is complex, which a parent with polarisation makes it; other cases run them as plain Python."""

from functools import cache

import numpy as np
import pytest
import torch

import ctpwa
from ctpwa.data.events import Events
from ctpwa.engine.likelihood.build import build_likelihood
from engine.cases import assert_close, point

BREIT_WIGNER = {"lineshape": "1/(mass**2 - s - i*mass*width)"}  # one formula, so that there is little to compile
MODEL = {
    "decay": "J/psi(1S) -> K+ K- eta",
    "polarisation": [["0.6", "0", "0.1+0.2j"], ["0", "0", "0"], ["0.1-0.2j", "0", "0.4"]],
    "resonances": {
        "phi(1680)": {"in": "K+ K-", "mass": 1.68, "width": 0.15, "float": "mass", **BREIT_WIGNER},
        "K(2)*(1430)": {"in": ["K+ eta", "K- eta"], "mass": 1.43, "width": 0.1, "float": "mass", **BREIT_WIGNER},
    },
}


@cache
def likelihood(engine):
    model = ctpwa.load_model(MODEL)
    random = np.random.default_rng(5)
    flat = {name: ctpwa.generate_phase_space(model, n, seed=n) for name, n in (("data", 300), ("phase_space", 270), ("background", 20))}
    weights = {"data": random.uniform(-0.2, 1.2, 300), "background": np.full(20, 0.3)}
    samples = {name: Events(events.momenta, torch.from_numpy(weights[name]) if name in weights else None) for name, events in flat.items()}
    return build_likelihood(model, **samples, engine=engine)


def same(found, expected):
    scale = likelihood("reference").n_events
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-12, scale)


def test_k_is_complex_and_the_kernels_are_compiled():
    like = likelihood("cpu")
    assert not like.plan.real
    assert {sample.K.dtype for sample in like.data.resident} == {torch.complex128}
    like.hessian(point(like))
    assert all(like.engine._kernels[name].compiled for name in ("sums_2", "columns"))


def test_value_gradient_and_hessian():
    like, reference = likelihood("cpu"), likelihood("reference")
    x = point(like)
    same(like.value_grad_hessian(x), reference.value_grad_hessian(x))
    same(like.value_and_grad(x), reference.value_and_grad(x))
    assert like.value(x) == pytest.approx(reference.value(x), rel=1e-12)


def test_a_batch():
    """Many coupling vectors in one pass over the events; lineshapes stand still."""
    x = point(likelihood("cpu"))
    like, reference = (likelihood(engine).with_still_lineshapes(x) for engine in ("cpu", "reference"))
    c = like.coupling_index
    X = np.stack([x, x])
    X[1, c] = point(like, seed=1)[c]
    (values, grads, H), (wanted_values, wanted_grads, wanted_H) = like.value_grad_hessian(X), reference.value_grad_hessian(X)
    same((values, grads[:, c], H[:, c][:, :, c]), (wanted_values, wanted_grads[:, c], wanted_H[:, c][:, :, c]))
    assert_close(like.value(X), wanted_values, 1e-12, reference.n_events)
