"""Runs the kernels of large samples, which are compiled while these are prepared.

See ``straight.py``, ``straight_many.py``, ``straight_hessian.py`` and ``straight_log_hessian.py``.
"""

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
from ctpwa.engine.backends.cuda.straight_log_hessian import log_hessian_expansion, log_hessian_source, slopes_depth
from ctpwa.engine.backends.cuda.straight_many import MOST_TOGETHER, many_source
from ctpwa.engine.backends.expansion import Expansion
from ctpwa.engine.codegen.generated_modules import load_generated
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import LOG
from ctpwa.engine.samples.sample import Sample

GRADIENT_PROGRAMS = 8  # for a multiprocessor, which has room for some of them: the others follow where one has ended
MANY_PROGRAMS = 6  # a multiple of how many it has room for
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
        self._many: Any = None  # compiled when it is first asked for
        self._hessian: Any = None
        self._log_hessian: Any = None  # of logarithms of more than |ψ|²
        self._sums = HessianSums.of(plan)
        if has_straight_hessian(plan) and has_double_products(triton.__version__):
            self._hessian = load_generated("gpu_hessian", hessian_source(plan, portable=portable)).hessian
            if plan.n_added or self._points > 1:
                self._log_hessian = load_generated("gpu_log_hessian", log_hessian_source(plan, portable=portable)).log_hessian
        self._processors = 1 if portable else torch.cuda.get_device_properties(device).multi_processor_count
        self._nothing = torch.zeros(1, dtype=torch.float64, device=device)
        self._compiled: dict[tuple[int, int], Future[None]] = {}
        if not portable:
            wanted = [(order, mode) for order in (1, 2) for mode in modes if self.has(order)]
            threads = ThreadPoolExecutor(len(wanted), "ctpwa-compile")
            self._compiled = {key: threads.submit(self._compile, *key) for key in wanted}
            threads.shutdown(wait=False)

    @classmethod
    def of(cls, plan: Plan, device: torch.device, modes: Mapping[int, int]) -> StraightSums | None:
        """Those of a plan, if its columns are few enough and the points of an event fit into a turn, with the event itself as one more."""
        return cls(plan, device, modes) if is_straight(plan) and max(modes.values()) < BLOCK else None

    def has(self, order: int) -> bool:
        """Whether it computes derivatives of this order."""
        return order == 1 or (order == 2 and self._hessian is not None)

    def expansion(self, row: np.ndarray, c: np.ndarray, mode: int, order: int) -> Expansion:
        """The expansion of a row of sums."""
        if order == 1:
            return expansion_of(self.plan, row)
        if self._is_log_hessian(mode):
            return log_hessian_expansion(self.plan, self._sums, row, c)
        return hessian_expansion(self.plan, self._sums, row, c, mode)

    def _is_log_hessian(self, mode: int) -> bool:
        return mode == LOG and self._log_hessian is not None

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
            self._gradient[(programs,)](
                *self._inputs(sample, numbers), *self._added(numbers), sample.w, sample.w.stride(0), v, scratch, out,
                n, turns, 0, LOG=mode == LOG, POINTS=k, BLOCK=BLOCK, **self._gradient_options,
            )  # fmt: skip
        return out.sum(dim=0)

    def many_rows(self, sample: Sample, mode: int, numbers: Tensor) -> Tensor:
        """The sums of gradients over a sample at many values of the parameters, [value, sum].

        Args:
            sample:   the sample
            mode:     LOG or PLAIN
            numbers:  c [coupling, re | im], p and β of every value, on the device [value, number]
        """
        if self._many is None:
            self._many = load_generated("gpu_many", many_source(self.plan, portable=self.device.type != "cuda")).gradients
        return torch.cat([self._rows_together(sample, mode, own) for own in numbers.split(MOST_TOGETHER)])

    def _rows_together(self, sample: Sample, mode: int, numbers: Tensor) -> Tensor:
        n, k = sample.n_events, sample.points_per_event
        turns = -(-n // (BLOCK // k))
        programs = min(turns, MANY_PROGRAMS * self._processors)
        out = self._empty(programs, len(numbers), WARPS, n_sums(1 + self.plan.n_variables)).zero_()
        if n:
            scratch = self._nothing if k == 1 else self._empty(programs * BLOCK)
            v = self._nothing if sample.v is None else sample.v
            self._many[(programs,)](
                _as_real(sample.K), sample.E, numbers, sample.w, sample.w.stride(0), v, scratch, out,
                n, turns, len(numbers), 0, LOG=mode == LOG, POINTS=k, BLOCK=BLOCK, **self._gradient_options,
            )  # fmt: skip
        return out.sum(dim=(0, 2))

    def row_length(self, mode: int, order: int) -> int:
        """Numbers of ``row``."""
        return n_sums(1 + self.plan.n_variables) if order == 1 else n_sums(self._sums.count(self.plan)) + self._n_products(mode)

    def _n_products(self, mode: int) -> int:
        """Numbers of the matrices that a Hessian is made of."""
        return self._n_columns**2 + (self.plan.n_variables**2 if self._is_log_hessian(mode) else 0)

    @property
    def _n_columns(self) -> int:
        return 2 * (self.plan.n_couplings + self.plan.n_floating)

    def _hessian_row(self, sample: Sample, mode: int, numbers: Any) -> Tensor:
        k = sample.points_per_event if self._is_log_hessian(mode) else 1
        n_numbers, n_products = n_sums(self._sums.count(self.plan)), self._n_products(mode)
        rows = []
        for first, last in sample.chunks(max(sample.n_events, 1)):  # weights of one sign
            turns = -(-(last - first) // (BLOCK // k))
            programs = min(turns, HESSIAN_PROGRAMS * self._processors)
            out, gram = self._empty(programs * WARPS, n_numbers), self._empty(programs, n_products)
            ranges = first, last - first, sample.n_points, turns, 0
            if self._is_log_hessian(mode):
                scratch = self._empty(programs * BLOCK * (self._n_columns + self.plan.n_variables))
                v = self._nothing if sample.v is None else sample.v
                self._log_hessian[(programs,)](
                    *self._inputs(sample, numbers), *self._added(numbers), sample.w, sample.w.stride(0), v, scratch, out, gram, *ranges,
                    POINTS=k, SLOPES_DEPTH=slopes_depth(k), BLOCK=BLOCK, **OPTIONS,
                )  # fmt: skip
            else:
                scratch = self._empty(programs * BLOCK * self._n_columns)
                self._hessian[(programs,)](
                    *self._inputs(sample, numbers), sample.w, sample.w.stride(0), scratch, out, gram, *ranges,
                    LOG=mode == LOG, BLOCK=BLOCK, **OPTIONS,
                )  # fmt: skip
            products = gram.sum(dim=0)
            rows.append(torch.cat([out.sum(dim=0), products if first < sample.n_positive else -products]))
        return self._empty(n_numbers + n_products).zero_() if not rows else rows[0] if len(rows) == 1 else rows[0] + rows[1]

    def _inputs(self, sample: Sample, numbers: Any) -> tuple[Tensor, ...]:
        """What all kernels read."""
        return _as_real(sample.K), sample.E, numbers.couplings, numbers.p

    def _added(self, numbers: Any) -> tuple[Tensor, ...]:
        return (numbers.beta,) if self.plan.n_added else ()

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
            elif self._is_log_hessian(mode):
                arguments = [K, number, number, number, *added, number, 1, number, number, number, number, 0, BLOCK, BLOCK, 1, 0]
                constants: dict[str, Any] = {"POINTS": self._points, "SLOPES_DEPTH": slopes_depth(self._points), "BLOCK": BLOCK}
                self._log_hessian.warmup(*arguments, grid=(1,), **constants, **OPTIONS)
            else:
                arguments = [K, number, number, number, number, 1, number, number, number, 0, BLOCK, BLOCK, 1, 0]
                self._hessian.warmup(*arguments, grid=(1,), LOG=log, BLOCK=BLOCK, **OPTIONS)


def has_double_products(version: str) -> bool:
    """Whether a version of Triton multiplies matrices in double precision."""
    return tuple(int(part) for part in version.split(".")[:2]) >= PRODUCTS_SINCE


def _as_real(K: Tensor) -> Tensor:
    return torch.view_as_real(K) if K.is_complex() else K
