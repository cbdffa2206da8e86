"""The backend for NVIDIA GPUs: Triton kernels, written for the model; on a CPU in Triton's interpreter, for tests."""

from __future__ import annotations

import os

import torch

from ctpwa.base.errors import CtpwaError
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.backends.registry import Backend
from ctpwa.engine.plan.compact import compacted
from ctpwa.engine.plan.plan import Plan

_gpu: int | None = None  # the one that this process uses


def _automatic(device: torch.device | None) -> int:
    return 2 if (torch.cuda.is_available() if device is None else device.type == "cuda") else 0


def _place(device: torch.device | None) -> torch.device:
    if torch.cuda.is_available():
        return own_gpu(device)
    if os.environ.get("TRITON_INTERPRET") != "1":
        raise CtpwaError("engine 'cuda' needs an NVIDIA GPU, and torch sees none\n fix: choose engine cpu")
    return device or torch.device("cpu")


def own_gpu(where: torch.device | None) -> torch.device:
    """The GPU of this process, with its number, as tensors have it. Kernels and recordings run on the current one, so there is one."""
    global _gpu
    number = where.index if where is not None and where.index is not None else _gpu
    number = torch.cuda.current_device() if number is None else number
    if _gpu not in (None, number):
        raise CtpwaError(f"this process already computes on cuda:{_gpu}, and cannot use cuda:{number} as well\n fix: start another process")
    if number != torch.cuda.current_device():
        torch.cuda.set_device(number)
    _gpu = number
    return torch.device("cuda", number)


def _engine(plan: Plan, device: torch.device) -> Engine:
    from ctpwa.engine.backends.cuda.engine import CudaEngine

    return CudaEngine(plan, device)


BACKEND = Backend(
    name="cuda",
    automatic=_automatic,
    place=_place,
    engine=_engine,
    adapt=compacted,
    own_memory=lambda device: True,
)
