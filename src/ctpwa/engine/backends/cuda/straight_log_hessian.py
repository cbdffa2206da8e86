"""Writes the Triton kernel of the Hessian of logarithms of more than |ψ|²: of events with added densities, or with several points.

    V = Σ_e w ln T,    T = Σ_k v_k (I_k + Σ β b_k)

    ∂²V = 2 Re Σ_e Σ_k ω_k (∂ψ̄_k ∂ψ_k + ψ̄_k ∂²ψ_k) − 4 Σ_e y y,    ω_k = w v_k/T,    y = √w/T Σ_k v_k Re ψ̄_k ∂ψ_k  (b/2 for β)

There are two products of matrices, as neither holds the other: that of the columns, which ``straight_hessian.py`` has too, and that of y.
A thread has one point, and threads of an event follow each other; their parts of T and y are added up when they are read again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from ctpwa.engine.backends.cuda.straight import BLOCK, JIT, LANES, module_source, n_sums
from ctpwa.engine.backends.cuda.straight_hessian import DEPTH, HessianSums, HessianWriter, hessian_expansion, inside_of, tiles
from ctpwa.engine.backends.expansion import Expansion
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import PLAIN


def log_hessian_source(plan: Plan, *, portable: bool) -> str:
    """Source of the module, which holds ``log_hessian``; ``portable`` code runs in Triton's interpreter too."""
    return module_source(plan, LogHessianWriter(plan).kernel(), portable=portable)


def slopes_depth(points: int) -> int:
    """Events of one product of y: few are left over where turns have few events."""
    return DEPTH // 2 if 0 < BLOCK // points % DEPTH <= DEPTH // 2 else DEPTH


def log_hessian_expansion(plan: Plan, sums: HessianSums, row: np.ndarray, c: np.ndarray) -> Expansion:
    """The expansion of all sums and products; after those of ``hessian_expansion`` the row has Σ y y [variable, variable]."""
    n = plan.n_variables
    found = hessian_expansion(plan, sums, row[: -(n**2)], c, PLAIN)
    return Expansion(found.value, found.gradient, found.hessian - 4 * row[-(n**2) :].reshape(n, n))


@dataclass
class LogHessianWriter(HessianWriter):
    """Writes the kernel line by line."""

    @cached_property
    def slope_blocks(self) -> list[tuple[int, int]]:
        """First variable and size of every block of y."""
        return tiles(self.plan.n_variables)

    @cached_property
    def slope_products(self) -> list[tuple[int, int]]:
        """Which of them are multiplied with each other."""
        return list(combinations_with_replacement(range(len(self.slope_blocks)), 2))

    def kernel(self) -> Iterator[str]:
        """The kernel: sums of every warp, and products of columns and of y of every program."""
        plan, n = self.plan, self.plan.n_variables
        beta = "beta_ptr, " if plan.n_added else ""
        yield JIT
        yield "def log_hessian("
        yield f"    K_ptr, E_ptr, c_ptr, p_ptr, {beta}w_ptr, w_step, v_ptr, scratch_ptr, out_ptr, gram_ptr,"
        yield "    first_event, n_events, n_all, n_turns, nothing, POINTS: tl.constexpr, SLOPES_DEPTH: tl.constexpr, BLOCK: tl.constexpr,"
        yield "):"
        yield '    """Of events from one on; their weights have one sign. ``nothing`` is 0, as in the gradient."""'
        yield "    LOG: tl.constexpr = True"
        yield "    EVENTS: tl.constexpr = BLOCK // POINTS"
        n_own = n_sums(self.numbers.count(plan)) // LANES
        yield from self.begin_products("product", self.blocks, self.products)
        yield from self.begin_products("slopes", self.slope_blocks, self.slope_products)
        yield f"    scratch = scratch_ptr + tl.program_id(0).to(tl.int64) * ({self.n_columns + n} * BLOCK)"
        yield from self.before(n_own)
        self.write("here = lane // POINTS  # which event of the turn")
        self.write("event = tl.cast(turn, tl.int64) * EVENTS + here")
        self.write("inside = (event < n_events) & (here < EVENTS)")
        self.write("first = tl.cast(first_event, tl.int64)")
        self.write("point = first * POINTS + tl.cast(turn, tl.int64) * (EVENTS * POINTS) + lane")
        self.write("size = tl.cast(n_all, tl.int64)")
        yield from self.end_of_turn(n_own)
        yield f"    gram = gram_ptr + tl.program_id(0).to(tl.int64) * {self.n_columns**2 + n**2}"
        yield from self.store_products("product", self.n_columns, self.products, "gram")
        yield from self.store_products("slopes", n, self.slope_products, f"gram + {self.n_columns**2}")

    def weigh(self) -> None:
        """The value, the columns as they are multiplied, y of every point, and ω ψ."""
        plan, n = self.plan, self.n_columns // 2
        self.write("I = psi_re0 * psi_re0 + psi_im0 * psi_im0")
        for b in range(plan.n_added):
            self.write(f"I += tl.load(beta_ptr + {b}) * added{b}")
        self.write("w = tl.where(inside, fetch(w_ptr, tl.minimum(first + event, size // POINTS - 1) * w_step), 0.0)")
        self.write("if POINTS > 1:")
        self.write("    v = tl.where(inside, fetch(v_ptr, at), 0.0)")
        self.event_sum("T", "v * I")
        self.write("    value = tl.where(lane % POINTS == 0, w * tl.log(T), 0.0)")
        self.write("    over = v * reciprocal(T)")
        self.write("else:")
        self.write("    I = tl.where(inside, I, 1.0)")
        self.write("    value = w * tl.log(I)")
        self.write("    over = reciprocal(I)")
        self.write("omega = w * over")
        self.write("root = tl.sqrt(tl.abs(omega))")
        self.write("over *= tl.sqrt(tl.abs(w))")
        self.write("t_re = psi_re0 * over")
        self.write("t_im = psi_im0 * over")
        self.write("own = place(scratch, lane)")
        for i in range(n):
            re, im = self.part(f"d_re{i}_0"), self.part(f"d_im{i}_0")
            self.put(i, f"root * {re}", "")
            self.put(n + i, f"root * {im}", "")
            if i < plan.n_couplings:
                self.put(2 * n + i, f"t_re * {re} + t_im * {im}", "")
                self.put(2 * n + plan.n_couplings + i, f"t_im * {re} - t_re * {im}", "")
            else:
                self.put(2 * n + plan.n_couplings + i, f"t_re * {re} + t_im * {im}", "")
        for b in range(plan.n_added):
            self.put(2 * n + plan.n_couplings + n + b, f"0.5 * over * added{b}", "")
        self.write("psi_re0 *= omega")
        self.write("psi_im0 *= omega")

    def event_sum(self, name: str, value: str) -> None:
        """The sum of a number over the points of an event, by way of memory, which is free until columns are written."""
        self.write(f"    put(scratch, lane, {value})")
        self.write("    tl.debug_barrier()")
        self.write(f"    {name} = tl.zeros((BLOCK,), tl.float64)")
        self.write("    for k in range(POINTS):")
        self.write(f"        {name} += tl.load(scratch + here * POINTS + k, mask=inside, other=1.0)")
        self.write("    tl.debug_barrier()")

    def sums(self) -> list[str]:
        """Those of all Hessians, and Σ ω b."""
        names = super().sums()
        return [*names[: len(names) - self.plan.n_added], *(f"omega * added{b}" for b in range(self.plan.n_added))]

    def multiply(self) -> None:
        """Products of all columns, and of y of every event, once all threads have written theirs."""
        self.write("tl.debug_barrier()")
        self.multiply_columns()
        self.write("for start in range(0, EVENTS, SLOPES_DEPTH):")
        self.write("    events = start + tl.arange(0, SLOPES_DEPTH)")
        for i in range(len(self.slope_blocks)):
            rows, inside = f"slopes_rows{i}", inside_of(f"slopes_rows{i}", self.plan.n_variables)
            where = f"scratch + ({self.n_columns} + {rows})[:, None] * BLOCK + (events * POINTS)[None, :]"
            mask = f"{inside}[:, None] & (events < EVENTS)[None, :]"
            self.write(f"    y{i} = tl.load({where}, mask={mask}, other=0.0)")
            self.write("    for k in range(1, POINTS):")
            self.write(f"        y{i} += tl.load({where} + k, mask={mask}, other=0.0)")
        for i, j in self.slope_products:
            self.write(f"    slopes{i}_{j} += tl.dot(y{i}, tl.trans(y{j}))")
        self.write("tl.debug_barrier()")
