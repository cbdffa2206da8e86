"""Runs the kernel of the gradient for large samples, which is compiled while these are prepared; see ``straight.py``."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ctpwa.engine.backends.cuda.straight import LANES, expansion_of, is_straight, n_sums, straight_source
from ctpwa.engine.backends.expansion import Expansion
from ctpwa.engine.codegen.generated_modules import load_generated
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import LOG
from ctpwa.engine.samples.sample import Sample

WARPS = 4  # of a program
BLOCK = WARPS * LANES  # points of a turn: each thread has one
PER_PROCESSOR = 4  # programs for a multiprocessor, which has room for half of them: the others follow where one has ended
FUSED = True  # a product and a sum are one operation, rounded once


class StraightGradient:
    """Computes gradients of sums over samples.

    Args:
        plan:    what to compute; ``is_straight`` must hold
        device:  which GPU; a CPU device works in Triton's interpreter only
        modes:   LOG, PLAIN or both, which are compiled at once, and how many points an event has there
    """

    def __init__(self, plan: Plan, device: torch.device, modes: Mapping[int, int]) -> None:
        self.plan, self.device = plan, device
        self._module: ModuleType = load_generated("gpu_gradient", straight_source(plan, portable=device.type != "cuda"))
        self._programs = PER_PROCESSOR * (torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1)
        self._nothing = torch.zeros(1, dtype=torch.float64, device=device)
        self._compiled: list[Future[None]] = []
        if device.type == "cuda":
            threads = ThreadPoolExecutor(len(modes), "ctpwa-compile")
            self._compiled = [threads.submit(self._compile, mode, points) for mode, points in modes.items()]
            threads.shutdown(wait=False)

    @classmethod
    def of(cls, plan: Plan, device: torch.device, modes: Mapping[int, int]) -> StraightGradient | None:
        """That of a plan, if its columns are few enough and the points of an event fit into a turn."""
        return cls(plan, device, modes) if is_straight(plan) and max(modes.values()) <= BLOCK else None

    def _compile(self, mode: int, points: int) -> None:
        with torch.cuda.device(self.device):
            number = torch.float64
            K = torch.float32 if self.plan.exponents is not None else number
            added = (number,) if self.plan.n_added else ()
            self._module.gradient.warmup(
                K, number, number, number, *added, number, 1, number, number, number, BLOCK, 1, 0, grid=(1,), **_options(mode, points)
            )

    def expansion(self, row: np.ndarray) -> Expansion:
        """The expansion of a row of sums."""
        return expansion_of(self.plan, row)

    def row(self, sample: Sample, mode: int, couplings: Tensor, p: Tensor, beta: Tensor) -> Tensor:
        """The sums over a sample."""
        n, k = sample.n_events, sample.points_per_event
        turns = -(-n // (BLOCK // k))
        programs = min(turns, self._programs)
        out = torch.empty(programs * WARPS, n_sums(self.plan), dtype=torch.float64, device=self.device)
        if n:
            wait(self._compiled)  # what went wrong there goes wrong again here
            K = torch.view_as_real(sample.K) if sample.K.is_complex() else sample.K
            scratch = self._nothing if k == 1 else torch.empty(programs * BLOCK, dtype=torch.float64, device=self.device)
            v = self._nothing if sample.v is None else sample.v
            added = (beta,) if self.plan.n_added else ()
            self._module.gradient[(programs,)](
                K, sample.E, couplings, p, *added, sample.w, sample.w.stride(0), v, scratch, out, n, turns, 0, **_options(mode, k)
            )
        return out.sum(dim=0)


def _options(mode: int, points: int) -> dict[str, Any]:
    return {"LOG": mode == LOG, "POINTS": points, "BLOCK": BLOCK, "num_warps": WARPS, "enable_fp_fusion": FUSED}
