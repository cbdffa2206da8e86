"""The backend that defines the numbers: plain torch, on any device; slow."""

from __future__ import annotations

import torch

from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.backends.registry import Backend
from ctpwa.engine.plan.plan import Plan


def _engine(plan: Plan, device: torch.device) -> Engine:
    from ctpwa.engine.backends.reference.engine import ReferenceEngine

    return ReferenceEngine(plan, device)


BACKEND = Backend(
    name="reference",
    automatic=lambda device: 0,
    place=lambda device: device or torch.device("cpu"),
    engine=_engine,
)
