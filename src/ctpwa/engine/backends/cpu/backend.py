"""The backend for CPUs: kernels written for the model, compiled by LLVM."""

from __future__ import annotations

import torch

from ctpwa.base.errors import CtpwaError
from ctpwa.base.parts import set_num_threads
from ctpwa.base.timing import phase
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.backends.registry import Backend
from ctpwa.engine.plan.plan import Plan


def _engine(plan: Plan, device: torch.device) -> Engine:
    with phase("import"):
        from ctpwa.engine.backends.cpu.engine import CpuEngine

    return CpuEngine(plan)


def _place(device: torch.device | None) -> torch.device:
    if device is not None and device.type != "cpu":
        raise CtpwaError(f"engine 'cpu' cannot compute on {device}\n fix: leave device out, or choose engine cuda")
    return torch.device("cpu")


BACKEND = Backend(
    name="cpu",
    automatic=lambda device: int(device is None or device.type == "cpu"),
    place=_place,
    engine=_engine,
    use_threads=set_num_threads,
)
