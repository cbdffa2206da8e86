"""Writes the Triton kernel of gradients at several values of the parameters, for large samples: one pass over the events for all of them.

A thread computes the columns of waves with fixed lineshapes once for all values, as ``straight.py`` does, and the others for one after the
other; by then what they need of the event is in the cache of its multiprocessor, where sums are kept as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ctpwa.engine.backends.cuda.straight import LANES, StraightWriter, module_source, n_sums
from ctpwa.engine.codegen.kind_code import kind_code
from ctpwa.engine.codegen.lowering import TRITON
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import Tables

MOST_TOGETHER = 8  # values in one pass: sums of so many stay in the cache of a multiprocessor
JIT = '@triton.jit(do_not_specialize=["w_step", "n_events", "n_turns", "n_together", "nothing"])'


def many_source(plan: Plan, *, portable: bool) -> str:
    """Source of the module, which holds ``gradients``; ``portable`` code runs in Triton's interpreter too."""
    return module_source(plan, ManyWriter(plan).kernel(), portable=portable)


def numbers_together(plan: Plan) -> int:
    """Numbers that change from one value of the parameters to the next: c [coupling, re | im], p and β."""
    return 2 * plan.n_couplings + len(plan.p) + plan.n_added


@dataclass
class ManyWriter(StraightWriter):
    """Writes the kernel line by line.

    Attributes:
        shared:  columns that waves of both kinds are added to
    """

    shared: list[str] = field(default_factory=list)

    def kernel(self) -> Iterator[str]:
        """The kernel: what that of the gradient computes, for every value."""
        plan, n_own = self.plan, n_sums(1 + self.plan.n_variables) // LANES
        yield JIT
        yield "def gradients("
        yield "    K_ptr, E_ptr, numbers_ptr, w_ptr, w_step, v_ptr, scratch_ptr, out_ptr, n_events, n_turns, n_together, nothing,"
        yield "    LOG: tl.constexpr, POINTS: tl.constexpr, BLOCK: tl.constexpr,"
        yield "):"
        yield '    """Sums of every warp, added to what is there [program, value, thread]; ``nothing`` is 0, as in the gradient."""'
        yield "    lane = tl.arange(0, BLOCK)"
        yield "    zero = tl.zeros((BLOCK,), tl.float64)"
        yield f"    out = out_ptr + tl.program_id(0).to(tl.int64) * n_together * (BLOCK * {n_own})"
        yield "    for turn in range(tl.program_id(0), n_turns, tl.num_programs(0)):"
        self.point()
        visits = Tables(plan).visits.tolist()
        floating = [visit for visit in visits if plan.kinds[visit[0]].floating]
        self.fixed_columns([visit for visit in visits if visit not in floating], floating)
        yield from (f"        {line}" for line in self.lines)
        yield "        for which in range(n_together):"
        self.lines = []
        self.floating_columns(floating)
        self.amplitude()
        self.weigh()
        for k in range(n_own):
            self.write(f"sum{k} = zero")
        self.fold(self.sums(), n_own)
        for k in range(n_own):
            self.write(f"place{k} = out + (which * BLOCK + lane) * {n_own} + {k}")
            self.write(f"tl.store(place{k}, tl.load(place{k}) + sum{k})")
        yield from (f"            {line}" for line in self.lines)

    def fixed_columns(self, visits: list[list[int]], floating: list[list[int]]) -> None:
        """Columns of waves with fixed lineshapes, and what the others need of the event alone; iteration numbers are constants there."""
        self.begin_columns()
        self.write("first_at = at")
        self.write(f"p = numbers_ptr + {2 * self.plan.n_couplings} + turn * nothing")
        for visit in visits:
            self.visit(visit)
        for index, _, _, _, _, *rows in floating:
            kind = self.plan.kinds[index]
            self.site(kind, kind_code(kind, TRITON, self.order), rows)
        self.known = {name for name in self.known if not name.startswith("k_")}  # too many to be kept, and in the cache
        self.shared = sorted(self.changed(floating) & self.known)
        for name in self.shared:
            self.write(f"fixed_{name} = {name}")

    def changed(self, floating: list[list[int]]) -> set[str]:
        """Columns that waves with floating lineshapes are added to."""
        couplings = {self.plan.channels[a].coupling for _, _, _, first, last, *_ in floating for a in range(first, last)}
        return {f"d_{part}{coupling}_{r}" for part in ("re", "im") for coupling in couplings for r in self.rows}

    def floating_columns(self, visits: list[list[int]]) -> None:
        """The other columns, for one value of the parameters; numbers of the event are read again."""
        plan = self.plan
        self.write("at = first_at + which * nothing")
        self.write(f"c = numbers_ptr + which * {numbers_together(plan)}")
        self.write(f"p = c + {2 * plan.n_couplings}")
        if plan.n_added:
            self.write(f"beta_ptr = p + {len(plan.p)}")
        for name in self.shared:
            self.write(f"{name} = fixed_{name}")
        for visit in visits:
            self.visit(visit)
