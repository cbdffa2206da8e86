"""What a background, a subtraction and resolution points cost: the demonstration with and without them, by turns in one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

import ctpwa
from common import load_kk_eta, n_events, perturbed, timed
from ctpwa.data.events import Events
from ctpwa.data.stream import Piece
from ctpwa.engine.likelihood.backgrounds import Background
from ctpwa.engine.likelihood.build import build_likelihood
from ctpwa.kinematics.lorentz import mass_squared
from ctpwa.observe.mass_resolution import MassResolution

POINTS = (3, 11)
PLAIN = "signal alone"
TIMES = 15  # that each is timed


def rising(events: Piece) -> Tensor:
    """A density that rises with s₁₂."""
    return 1 + mass_squared((events.p4[0] + events.p4[1]).T)


def additions(n_data: int, n_phsp: int, device: str, engine: str, *, floating: bool) -> list[dict[str, Any]]:
    """Times of the demonstration, and their ratios to those of the signal alone."""
    model = load_kk_eta(floating=floating)
    data, phsp = (ctpwa.generate_phase_space(model, n, seed=s) for n, s in ((n_data, 3), (n_phsp, 4)))
    sideband = ctpwa.generate_phase_space(model, n_data // 5, seed=5)
    cases: dict[str, dict[str, Any]] = {PLAIN: {}, "density": {"backgrounds": [Background("b", rising, 0.2, floating=True)]}}
    cases["subtraction"] = {"background": _weighted(sideband, 0.5)}
    cases |= {f"{k} points": {"resolution": MassResolution((0, 1), 0.002, k)} for k in POINTS}
    calls: dict[str, dict[str, Callable[[], Any]]] = {"gradient": {}, "hessian": {}}
    for name, case in cases.items():
        likelihood = build_likelihood(model, data, phsp, engine=engine, device=device, **case)
        likelihood.engine.prepare()
        x = perturbed(likelihood, 1)
        calls["gradient"][name] = partial(likelihood.value_and_grad, x)
        calls["hessian"][name] = partial(likelihood.hessian, x)
    gradient, hessian = (by_turns(own, device) for own in calls.values())
    found = []
    for name in cases:
        row = {"floating": floating, "case": name, "N_data": n_events(data), "N_phsp": n_events(phsp)}
        row |= {"gradient_ms": gradient[name], "hessian_ms": hessian[name]}
        row |= {"gradient_ratio": gradient[name] / gradient[PLAIN], "hessian_ratio": hessian[name] / hessian[PLAIN]}
        found.append(row)
    return found


def by_turns(calls: Mapping[str, Callable[[], Any]], device: str) -> dict[str, float]:
    """The shortest of their times in milliseconds, called one after the other so that what else the machine does hits all of them."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TIMES + 1):
        for name, call in calls.items():
            seconds, _ = timed(call, device)
            if turn:  # the first is for warming up
                times[name].append(1e3 * seconds)
    return {name: min(own) for name, own in times.items()}


def _weighted(events: Events, weight: float) -> Events:
    return Events(events.momenta, torch.full((events.n_events,), weight, dtype=torch.float64))
