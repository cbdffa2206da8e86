"""The backend for CPUs: Numba kernels, written for the model."""

from __future__ import annotations

import torch

from ctpwa.base.errors import CtpwaError
from ctpwa.base.timing import phase
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.backends.registry import Backend
from ctpwa.engine.plan.plan import Plan


def _engine(plan: Plan, device: torch.device) -> Engine:
    with phase("import"):
        from ctpwa.engine.backends.cpu.engine import CpuEngine

    return CpuEngine(plan)


def _use_threads(number: int) -> None:
    import numba

    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    numba.set_num_threads(min(number, most))


def _place(device: torch.device | None) -> torch.device:
    if device is not None and device.type != "cpu":
        raise CtpwaError(f"engine 'cpu' cannot compute on {device}\n fix: leave device out, or choose engine cuda")
    return torch.device("cpu")


BACKEND = Backend(
    name="cpu",
    automatic=lambda device: int(device is None or device.type == "cpu"),
    place=_place,
    engine=_engine,
    use_threads=_use_threads,
)
