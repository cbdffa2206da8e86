"""Writes the Triton kernel of the Hessian for large samples with one row: columns, their products and all other sums in one pass.

    ∂²V = 2 Re Σ ω (∂ψ̄ ∂ψ + ψ̄ ∂²ψ) − [LOG] 4 Σ w/I² (Re ψ̄ ∂ψ)(Re ψ̄ ∂ψ)

The columns of ``straight.py`` are multiplied by the matrix units of the GPU: threads write those of their events where all threads of
their program can read them again. With one row, ψ̄ ∂ψ is enough for both kinds of products. Of ψ̄ ∂²ψ there are the sums of columns

    X = Σ f K ∂F of every coupling and floating number of its lineshapes,    Y = Σ c f K ∂²F of every pair of floating numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement
from typing import ClassVar

import numpy as np

from ctpwa.engine.backends.cuda.straight import BLOCK, JIT, LANES, MOST_KEPT, StraightWriter, is_straight, module_source, n_sums
from ctpwa.engine.backends.expansion import Expansion
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import LOG

LARGEST, SMALLEST = 64, 16  # rows of a block of columns
DEPTH = 32  # events of one product


@dataclass(frozen=True)
class HessianSums:
    """What is summed besides the products of columns.

    Attributes:
        crossed:  coupling and floating number of every X
        pairs:    the two floating numbers of every Y, the smaller one first
    """

    crossed: tuple[tuple[int, int], ...]
    pairs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, plan: Plan) -> HessianSums:
        """Those of a plan."""
        crossed: dict[tuple[int, int], None] = {}
        pairs: dict[tuple[int, int], None] = {}
        for channel in plan.channels:
            numbers = [channel.p[position] for position in plan.kinds[channel.kind].floating]
            crossed |= dict.fromkeys((channel.coupling, number) for number in numbers)
            pairs |= dict.fromkeys((min(pair), max(pair)) for pair in combinations_with_replacement(numbers, 2))
        return cls(tuple(crossed), tuple(pairs))

    @cached_property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Both as arrays, [2, number of them]."""
        crossed, pairs = (np.array(own, dtype=np.int64).reshape(-1, 2).T for own in (self.crossed, self.pairs))
        return crossed, pairs

    def count(self, plan: Plan) -> int:
        """How many numbers: the value, two for every coupling and X, one for every Y and every added density."""
        return 1 + 2 * plan.n_couplings + 2 * len(self.crossed) + len(self.pairs) + plan.n_added


def tiles(n: int) -> list[tuple[int, int]]:
    """First row and size of the blocks of ``n`` rows: powers of two."""
    found, start = [], 0
    while start < n:
        size = LARGEST
        while size > max(n - start, SMALLEST):
            size //= 2
        found.append((start, size))
        start += size
    return found


def inside_of(rows: str, n: int) -> str:
    """Which rows of a block there are."""
    return f"({rows} < {n})"


def has_straight_hessian(plan: Plan, most_kept: int = MOST_KEPT) -> bool:
    """Whether a plan has few enough columns, and one row."""
    sums = HessianSums.of(plan)
    return plan.n_rows == 1 and is_straight(plan, most_kept) and 2 * (len(sums.crossed) + len(sums.pairs)) <= most_kept


def hessian_source(plan: Plan, *, portable: bool) -> str:
    """Source of the module, which holds ``hessian``; ``portable`` code runs in Triton's interpreter too."""
    return module_source(plan, HessianWriter(plan).kernel(), portable=portable)


def hessian_expansion(plan: Plan, sums: HessianSums, row: np.ndarray, c: np.ndarray, mode: int) -> Expansion:
    """The expansion of all sums and products.

    Args:
        plan:  the tables
        sums:  what is summed
        row:   the sums, then the products [2·column, 2·column], real parts first
        c:     couplings
        mode:  LOG or PLAIN
    """
    n_c, n_p, n_x = plan.n_couplings, plan.n_floating, len(sums.crossed)
    g, X = row[1 : 1 + 2 * n_c], row[1 + 2 * n_c : 1 + 2 * n_c + n_x] - 1j * row[1 + 2 * n_c + n_x : 1 + 2 * n_c + 2 * n_x]
    (coupling, number), (first, second) = sums.places
    gradient = np.zeros(plan.n_variables)
    gradient[: 2 * n_c] = 2 * g
    gradient[2 * n_c : 2 * n_c + n_p] = 2 * np.bincount(number, weights=(c[coupling] * X).real, minlength=n_p)
    gradient[2 * n_c + n_p :] = row[sums.count(plan) - plan.n_added : sums.count(plan)]
    H = _from_products(plan, row[n_sums(sums.count(plan)) :].reshape(2, n_c + n_p, 2, n_c + n_p), mode)
    if n_p:
        y = 2 * row[1 + 2 * n_c + 2 * n_x : sums.count(plan) - plan.n_added]
        H[coupling, 2 * n_c + number] += 2 * X.real
        H[n_c + coupling, 2 * n_c + number] -= 2 * X.imag
        H[2 * n_c + first, 2 * n_c + second] += y
        apart = first != second
        H[2 * n_c + second[apart], 2 * n_c + first[apart]] += y[apart]
        H[2 * n_c : 2 * n_c + n_p, : 2 * n_c] = H[: 2 * n_c, 2 * n_c : 2 * n_c + n_p].T
    return Expansion(float(row[0]), gradient, H)


def _from_products(plan: Plan, products: np.ndarray, mode: int) -> np.ndarray:
    """What products of columns [re | im, column, re | im, column] add to a Hessian; columns of floating numbers only above the diagonal.

    With a + ib for √ω ψ̄ ∂ψ/|ψ|, 2 Re Σ ω ∂ψ̄ ∂ψ is 2 Σ (aa + bb), and what a logarithm subtracts is 4 Σ aa; ∂ψ/∂Im c = i ∂ψ/∂Re c.
    """
    n_c, n = plan.n_couplings, plan.n_couplings + plan.n_floating
    aa, ab, bb = products[0, :, 0], products[0, :, 1], products[1, :, 1]
    same, crossed = (2 * (bb - aa), 2 * (ab + ab.T)) if mode == LOG else (2 * (bb + aa), 2 * (ab - ab.T))
    H = np.zeros((plan.n_variables, plan.n_variables))
    H[:n_c, :n_c] = same[:n_c, :n_c]
    H[n_c : 2 * n_c, n_c : 2 * n_c] = -same[:n_c, :n_c] if mode == LOG else same[:n_c, :n_c]
    H[n_c : 2 * n_c, :n_c] = crossed[:n_c, :n_c]
    H[:n_c, n_c : 2 * n_c] = crossed[:n_c, :n_c].T
    H[:n_c, 2 * n_c : n_c + n] = same[:n_c, n_c:]
    H[n_c : 2 * n_c, 2 * n_c : n_c + n] = crossed[:n_c, n_c:]
    H[2 * n_c : n_c + n, 2 * n_c : n_c + n] = same[n_c:, n_c:]
    return H


@dataclass
class HessianWriter(StraightWriter):
    """Writes the kernel of the Hessian line by line."""

    order: ClassVar[int] = 2
    numbers: HessianSums = field(init=False)

    def __post_init__(self) -> None:
        self.numbers = HessianSums.of(self.plan)

    @cached_property
    def n_columns(self) -> int:
        """Real numbers of the columns of couplings and floating numbers."""
        return 2 * (self.plan.n_couplings + self.plan.n_floating)

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """First column and size of every block."""
        return tiles(self.n_columns)

    @cached_property
    def products(self) -> list[tuple[int, int]]:
        """Which blocks are multiplied with each other."""
        return list(combinations_with_replacement(range(len(self.blocks)), 2))

    def kernel(self) -> Iterator[str]:
        """The kernel: sums of every warp, and products of columns of every program."""
        yield JIT
        yield "def hessian("
        yield "    K_ptr, E_ptr, c_ptr, p_ptr, w_ptr, w_step, scratch_ptr, out_ptr, gram_ptr,"
        yield "    first_event, n_events, n_all, n_turns, nothing, LOG: tl.constexpr, BLOCK: tl.constexpr,"
        yield "):"
        yield '    """Of events from one on; their weights have one sign. ``nothing`` is 0, as in the gradient."""'
        n_own = n_sums(self.numbers.count(self.plan)) // LANES
        yield from self.begin_products("product", self.blocks, self.products)
        yield f"    scratch = scratch_ptr + tl.program_id(0).to(tl.int64) * ({self.n_columns} * BLOCK)"
        yield from self.before(n_own)
        self.write("event = tl.cast(turn, tl.int64) * BLOCK + lane")
        self.write("inside = event < n_events")
        self.write("point = event + first_event")
        self.write("size = tl.cast(n_all, tl.int64)")
        yield from self.end_of_turn(n_own)
        yield f"    gram = gram_ptr + tl.program_id(0).to(tl.int64) * {self.n_columns**2}"
        yield from self.store_products("product", self.n_columns, self.products, "gram")

    def end_of_turn(self, n_own: int) -> Iterator[str]:
        """What is done with the point of a turn, and what after all turns."""
        self.columns()
        self.amplitude()
        self.weigh()
        self.fold(self.sums(), n_own)
        self.multiply()
        yield from (f"        {line}" for line in self.lines)
        yield from self.after(n_own)

    def begin_products(self, name: str, blocks: Sequence[tuple[int, int]], products: Sequence[tuple[int, int]]) -> Iterator[str]:
        """Products of blocks of rows, 0 so far, and which rows these are."""
        for i, j in products:
            yield f"    {name}{i}_{j} = tl.zeros(({blocks[i][1]}, {blocks[j][1]}), tl.float64)"
        for i, (start, size) in enumerate(blocks):
            yield f"    {name}_rows{i} = {start} + tl.arange(0, {size})"

    def store_products(self, name: str, n: int, products: Sequence[tuple[int, int]], where: str) -> Iterator[str]:
        """Write the matrix of ``n`` rows whose upper half they are."""
        for i, j in products:
            one, other = f"{name}_rows{i}", f"{name}_rows{j}"
            mask = f"{inside_of(one, n)}[:, None] & {inside_of(other, n)}[None, :]"
            yield f"    tl.store({where} + {one}[:, None] * {n} + {other}[None, :], {name}{i}_{j}, mask={mask})"
            if i != j:
                yield f"    tl.store({where} + {one}[:, None] + {other}[None, :] * {n}, {name}{i}_{j}, mask={mask})"

    def derivatives(self, a: int, t: int, r: int, numbers: Sequence[int], sign: int, parts: Sequence[tuple[str, str]]) -> None:
        """Add f K ∂F to X and c f K ∂²F to Y; a formula may hold one number twice."""
        coupling = self.plan.channels[a].coupling
        for number, part in zip(numbers, parts[: len(numbers)], strict=True):
            self.add_product(f"x{self.numbers.crossed.index((coupling, number))}", sign, self.amplitudes(t, r), part)
        places = combinations_with_replacement(range(len(numbers)), 2)
        for (j, k), part in zip(places, parts[len(numbers) :], strict=True):
            pair = min(numbers[j], numbers[k]), max(numbers[j], numbers[k])
            for _ in range(2 if j != k and pair[0] == pair[1] else 1):
                self.add_product(f"y{self.numbers.pairs.index(pair)}", sign, self.times_c(a, t, r), part)

    def amplitude(self) -> None:
        """ψ, and D = Σ_c c X of every floating number."""
        super().amplitude()
        for k, (coupling, number) in enumerate(self.numbers.crossed):
            x = self.part(f"d_rex{k}"), self.part(f"d_imx{k}")
            self.add_product(f"{self.plan.n_couplings + number}_0", 1, self.coupling(coupling), x)

    def weigh(self) -> None:
        """The value, the columns as they are multiplied, and ω ψ."""
        self.write("I = psi_re0 * psi_re0 + psi_im0 * psi_im0")
        self.write("w = tl.where(inside, fetch(w_ptr, at * w_step), 0.0)")
        self.write("root = tl.sqrt(tl.abs(w))")
        self.write("own = place(scratch, lane)")
        self.write("if LOG:")
        self.write("    I = tl.where(inside, I, 1.0)")
        self.write("    value = w * tl.log(I)")
        self.write("    over = reciprocal(I)")
        self.write("    omega = w * over")
        self.write("    over *= root")
        self.write("    t_re = psi_re0 * over")
        self.write("    t_im = psi_im0 * over")
        n = self.n_columns // 2
        for i in range(n):
            re, im = self.part(f"d_re{i}_0"), self.part(f"d_im{i}_0")
            self.put(i, f"t_re * {re} + t_im * {im}", "    ")
            self.put(n + i, f"t_re * {im} - t_im * {re}", "    ")
        self.write("else:")
        self.write("    value = w * I")
        self.write("    omega = w")
        for i in range(n):
            self.put(i, f"root * {self.part(f'd_re{i}_0')}", "    ")
            self.put(n + i, f"root * {self.part(f'd_im{i}_0')}", "    ")
        self.write("psi_re0 *= omega")
        self.write("psi_im0 *= omega")

    def put(self, column: int, value: str, indent: str) -> None:
        """Write a number of a column where all threads can read it."""
        code = f"{{ st.global.f64 [$1+{8 * BLOCK * column}], $2; mov.b32 $0, 0; }}"
        self.write(f"{indent}put_at(own, {BLOCK * column}, '{code}', {value})")

    def sums(self) -> list[str]:
        """The value, and ψ̄ D, ψ̄ X and Re ψ̄ Y; −Im where there are two parts."""
        columns = [*(f"{i}_0" for i in range(self.plan.n_couplings)), *(f"x{k}" for k in range(len(self.numbers.crossed)))]
        columns += [f"y{k}" for k in range(len(self.numbers.pairs))]
        for column in columns:
            re, im = self.part(f"d_re{column}"), self.part(f"d_im{column}")
            self.add(f"g_re{column}", 1, "psi_re0", re)
            self.add(f"g_re{column}", 1, "psi_im0", im)
            if not column.startswith("y"):
                self.add(f"g_im{column}", 1, "psi_im0", re)
                self.add(f"g_im{column}", -1, "psi_re0", im)
        n_c, n_x = self.plan.n_couplings, len(self.numbers.crossed)
        own, crossed, second = columns[:n_c], columns[n_c : n_c + n_x], columns[n_c + n_x :]
        names = [f"g_{part}{column}" for group in (own, crossed) for part in ("re", "im") for column in group]
        names += [f"g_re{column}" for column in second]
        return ["value", *(name if name in self.known else "zero" for name in names), *["zero"] * self.plan.n_added]

    def multiply(self) -> None:
        """Products of all columns, once all threads have written theirs; the next turn waits until they are read."""
        self.write("tl.debug_barrier()")
        self.multiply_columns()
        self.write("tl.debug_barrier()")

    def multiply_columns(self) -> None:
        """Products of columns that all threads have written."""
        self.write(f"for start in range(0, BLOCK, {DEPTH}):")
        self.write(f"    events = start + tl.arange(0, {DEPTH})")
        for i in range(len(self.blocks)):
            rows, inside = f"product_rows{i}", inside_of(f"product_rows{i}", self.n_columns)
            self.write(f"    part{i} = tl.load(scratch + {rows}[:, None] * BLOCK + events[None, :], mask={inside}[:, None], other=0.0)")
        for i, j in self.products:
            self.write(f"    product{i}_{j} += tl.dot(part{i}, tl.trans(part{j}))")
