"""Runs the kernels of large samples, which are compiled while these are prepared; see ``straight.py`` and ``straight_hessian.py``."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
import torch
import triton
from torch import Tensor

from ctpwa.engine.backends.cuda.batch_kernel import FUSION
from ctpwa.engine.backends.cuda.straight import BLOCK, WARPS, expansion_of, is_straight, most_registers, n_sums, straight_source
from ctpwa.engine.backends.cuda.straight_hessian import HessianSums, has_straight_hessian, hessian_expansion, hessian_source
from ctpwa.engine.backends.expansion import Expansion
from ctpwa.engine.codegen.generated_modules import load_generated
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import LOG
from ctpwa.engine.samples.sample import Sample

GRADIENT_PROGRAMS = 8  # for a multiprocessor, which has room for some of them: the others follow where one has ended
HESSIAN_PROGRAMS = 2
PRODUCTS_SINCE = (3, 6)  # of Triton: products of matrices in double precision, which earlier versions refuse or do in single precision
OPTIONS: dict[str, Any] = {"num_warps": WARPS, **FUSION}


class StraightSums:
    """Computes derivatives of sums over samples.

    Args:
        plan:    what to compute; ``is_straight`` must hold
        device:  which GPU; a CPU device works in Triton's interpreter only
        modes:   LOG, PLAIN or both, which are compiled at once, and how many points an event has there
    """

    def __init__(self, plan: Plan, device: torch.device, modes: Mapping[int, int]) -> None:
        self.plan, self.device, self._points = plan, device, modes[LOG]
        portable = device.type != "cuda"
        self._gradient: Any = load_generated("gpu_gradient", straight_source(plan, portable=portable)).gradient
        self._gradient_options = OPTIONS | {"maxnreg": most_registers(plan)}
        self._hessian: Any = None
        self._sums = HessianSums.of(plan)
        if has_straight_hessian(plan) and has_double_products(triton.__version__):
            self._hessian = load_generated("gpu_hessian", hessian_source(plan, portable=portable)).hessian
        self._processors = 1 if portable else torch.cuda.get_device_properties(device).multi_processor_count
        self._nothing = torch.zeros(1, dtype=torch.float64, device=device)
        self._compiled: dict[tuple[int, int], Future[None]] = {}
        if not portable:
            wanted = [(order, mode) for order in (1, 2) for mode in modes if self.has(mode, order)]
            threads = ThreadPoolExecutor(len(wanted), "ctpwa-compile")
            self._compiled = {key: threads.submit(self._compile, *key) for key in wanted}
            threads.shutdown(wait=False)

    @classmethod
    def of(cls, plan: Plan, device: torch.device, modes: Mapping[int, int]) -> StraightSums | None:
        """Those of a plan, if its columns are few enough and the points of an event fit into a turn, with the event itself as one more."""
        return cls(plan, device, modes) if is_straight(plan) and max(modes.values()) < BLOCK else None

    def has(self, mode: int, order: int) -> bool:
        """Whether it computes derivatives of this order; Hessians of logarithms only of amplitudes alone, at one point for an event."""
        return order == 1 or (order == 2 and self._hessian is not None and (mode != LOG or (self._points == 1 and not self.plan.n_added)))

    def expansion(self, row: np.ndarray, c: np.ndarray, mode: int, order: int) -> Expansion:
        """The expansion of a row of sums."""
        return expansion_of(self.plan, row) if order == 1 else hessian_expansion(self.plan, self._sums, row, c, mode)

    def row(self, sample: Sample, mode: int, order: int, numbers: Any) -> Tensor:
        """The sums over a sample.

        Args:
            sample:   the sample
            mode:     LOG or PLAIN
            order:    1 or 2
            numbers:  ``couplings``, ``p`` and ``beta`` on the device
        """
        if (order, mode) in self._compiled:
            wait([self._compiled.pop((order, mode))])  # what went wrong there goes wrong again here
        return self._gradient_row(sample, mode, numbers) if order == 1 else self._hessian_row(sample, mode, numbers)

    def _gradient_row(self, sample: Sample, mode: int, numbers: Any) -> Tensor:
        n, k = sample.n_events, sample.points_per_event
        turns = -(-n // (BLOCK // k))
        programs = min(turns, GRADIENT_PROGRAMS * self._processors)
        out = self._empty(programs * WARPS, n_sums(1 + self.plan.n_variables))
        if n:
            scratch = self._nothing if k == 1 else self._empty(programs * BLOCK)
            v = self._nothing if sample.v is None else sample.v
            added = (numbers.beta,) if self.plan.n_added else ()
            self._gradient[(programs,)](
                _as_real(sample.K), sample.E, numbers.couplings, numbers.p, *added, sample.w, sample.w.stride(0), v, scratch, out,
                n, turns, 0, LOG=mode == LOG, POINTS=k, BLOCK=BLOCK, **self._gradient_options,
            )  # fmt: skip
        return out.sum(dim=0)

    def row_length(self, order: int) -> int:
        """Numbers of ``row``."""
        if order == 1:
            return n_sums(1 + self.plan.n_variables)
        return n_sums(self._sums.count(self.plan)) + 4 * (self.plan.n_couplings + self.plan.n_floating) ** 2

    def _hessian_row(self, sample: Sample, mode: int, numbers: Any) -> Tensor:
        n_columns = 2 * (self.plan.n_couplings + self.plan.n_floating)
        n_numbers = n_sums(self._sums.count(self.plan))
        total = torch.zeros(n_numbers + n_columns**2, dtype=torch.float64, device=self.device)
        for first, last in sample.chunks(max(sample.n_events, 1)):  # weights of one sign
            turns = -(-(last - first) // BLOCK)
            programs = min(turns, HESSIAN_PROGRAMS * self._processors)
            out, scratch = self._empty(programs * WARPS, n_numbers), self._empty(programs * BLOCK * n_columns)
            gram = self._empty(programs, n_columns**2)
            self._hessian[(programs,)](
                _as_real(sample.K), sample.E, numbers.couplings, numbers.p, sample.w, sample.w.stride(0), scratch, out, gram,
                first, last - first, sample.n_points, turns, 0, LOG=mode == LOG, BLOCK=BLOCK, **OPTIONS,
            )  # fmt: skip
            products = gram.sum(dim=0)
            total += torch.cat([out.sum(dim=0), products if first < sample.n_positive else -products])
        return total

    def _empty(self, *shape: int) -> Tensor:
        return torch.empty(*shape, dtype=torch.float64, device=self.device)

    def _compile(self, order: int, mode: int) -> None:
        number, log = torch.float64, mode == LOG
        K = number if self.plan.exponents is None else torch.float32
        added = [number] if self.plan.n_added else []
        with torch.cuda.device(self.device):
            if order == 1:
                arguments = [K, number, number, number, *added, number, 1, number, number, number, BLOCK, 1, 0]
                points = self._points if log else 1
                self._gradient.warmup(*arguments, grid=(1,), LOG=log, POINTS=points, BLOCK=BLOCK, **self._gradient_options)
            else:
                arguments = [K, number, number, number, number, 1, number, number, number, 0, BLOCK, BLOCK, 1, 0]
                self._hessian.warmup(*arguments, grid=(1,), LOG=log, BLOCK=BLOCK, **OPTIONS)


def has_double_products(version: str) -> bool:
    """Whether a version of Triton multiplies matrices in double precision."""
    return tuple(int(part) for part in version.split(".")[:2]) >= PRODUCTS_SINCE


def _as_real(K: Tensor) -> Tensor:
    return torch.view_as_real(K) if K.is_complex() else K
