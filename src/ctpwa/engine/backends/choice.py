"""Which engine to use."""

from __future__ import annotations

import os

import torch

from ctpwa.base.errors import CtpwaError, suggest
from ctpwa.base.words import counted
from ctpwa.engine.backends.expansion import Engine, ReferenceEngine
from ctpwa.engine.plan.compact import compacted
from ctpwa.engine.plan.plan import Plan

ENGINES = ("auto", "cuda", "cpu", "reference")
_gpu: int | None = None  # the one that this process uses


def make_engine(name: str, plan: Plan, device: str | torch.device | None) -> Engine:
    """The engine of this name; ``auto`` takes a GPU if there is one, or if ``device`` is one. Its plan is that of ``plan_of_engine``."""
    if name not in ENGINES:
        raise CtpwaError(f"unknown engine {name!r}\n fix: {suggest(name, ENGINES)}")
    where = None if device is None else _device(device)
    if name == "auto":
        wanted = where.type if where is not None else ("cuda" if torch.cuda.is_available() else "cpu")
        name = "cuda" if wanted == "cuda" else "cpu"
    if name == "reference":
        return ReferenceEngine(plan, where or torch.device("cpu"))
    if name == "cpu":
        if where is not None and where.type != "cpu":
            raise CtpwaError(f"engine 'cpu' cannot compute on {where}\n fix: leave device out, or choose engine cuda")
        from ctpwa.engine.backends.cpu.engine import CpuEngine

        return CpuEngine(plan)
    return _cuda_engine(plan, where)


def plan_of_engine(name: str, plan: Plan) -> Plan:
    """The tables that the engine of this name works with: a GPU keeps less of every event."""
    return compacted(plan) if name == "cuda" else plan


def use_threads(number: int) -> None:
    """How many threads the CPU engine uses in this process."""
    import numba

    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    numba.set_num_threads(min(number, most))


def _device(device: str | torch.device) -> torch.device:
    try:
        where = torch.device(device)
    except RuntimeError:
        raise CtpwaError(f"unknown device {device!r}\n fix: choose cpu, cuda, or a GPU by number such as cuda:1") from None
    n = torch.cuda.device_count()
    if where.type == "cuda" and n and where.index is not None and where.index >= n:
        raise CtpwaError(f"there is no device {str(where)!r}: torch sees {counted(n, 'GPU')}\n fix: choose one below cuda:{n}")
    return where


def _cuda_engine(plan: Plan, where: torch.device | None) -> Engine:
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if not torch.cuda.is_available() and not interpreted:
        raise CtpwaError("engine 'cuda' needs an NVIDIA GPU, and torch sees none\n fix: choose engine cpu")
    from ctpwa.engine.backends.cuda.engine import CudaEngine

    device = _own_gpu(where) if torch.cuda.is_available() else where or torch.device("cpu")
    return CudaEngine(plan_of_engine("cuda", plan), device)


def _own_gpu(where: torch.device | None) -> torch.device:
    """The GPU of this process, with its number, as tensors have it. Kernels and recordings run on the current one, so there is one."""
    global _gpu
    number = where.index if where is not None and where.index is not None else _gpu
    number = torch.cuda.current_device() if number is None else number
    if _gpu not in (None, number):
        raise CtpwaError(f"this process computes on cuda:{_gpu} already, and cannot use cuda:{number} as well\n fix: start another process")
    if number != torch.cuda.current_device():
        torch.cuda.set_device(number)
    _gpu = number
    return torch.device("cuda", number)
