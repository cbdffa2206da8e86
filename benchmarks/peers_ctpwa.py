"""ctpwa for ``peers.py``: a model file and four-momenta."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ctpwa import ModelIntensity, build_likelihood, fit, load_model  # which loads what they need
from ctpwa.base.parts import set_num_threads
from peers_shared import COMPARED, Peer, Samples


def prepare(problem: dict[str, Any], samples: Samples) -> Peer:
    """Its likelihood on a processor."""
    set_num_threads(1)
    torch.set_num_threads(1)
    model = load_model(problem["model"])
    data, flat = ({name: torch.from_numpy(samples[f"p4 {which}"][name]) for name in problem["particles"]} for which in ("data", "flat"))
    likelihood = build_likelihood(model, data, flat, engine="cpu", progress=False)

    def point(values: dict[str, float]) -> np.ndarray:
        return np.array([values[f"{name[:2]}.{name.rpartition('.')[2]}"] for name in likelihood.names])

    few = {name: p4[:COMPARED] for name, p4 in flat.items()}
    return Peer(
        point=point,
        value=likelihood.value,
        gradient=likelihood.value_and_grad,
        hessian=likelihood.hessian,
        fit=lambda x: fit(likelihood, start=dict(zip(likelihood.names, x, strict=True)), progress=False).nll,
        intensities=lambda x: ModelIntensity(model, engine="reference")(few).numpy(),
    )
