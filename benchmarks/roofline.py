"""Bytes and floating-point operations of an evaluation, counted from the plan of a model.

Bytes: what is cached for an event (spin amplitudes, event table, weight) is read once for NLL and gradient. For the Hessian it is read
twice, once for the sums and once for the columns ∂ψ, which are written and then read by the matrix product.

Operations: additions, multiplications, divisions and calls of elementary functions count as one each. Lineshapes with their derivatives are
counted in the lines of code that are generated for them; around them a complex product with an addition to a sum is 8, a real times a
complex one with an addition is 4. Logarithms, roots and divisions cost a processor far more than one, so the fraction of the peak that is
reached is a lower limit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ctpwa.engine.codegen.kind_code import kind_code
from ctpwa.engine.codegen.lowering import PYTHON
from ctpwa.engine.plan.plan import Plan

OPERATION = re.compile(r"(?<=[\w)]) [-+*/] |math\.\w+\(|(?<![\w)] )-(?=[\w(])")
COMPLEX_STEP, REAL_STEP = 8, 4


@dataclass(frozen=True)
class Cost:
    """What one event costs.

    Attributes:
        bytes:   read and written
        flops:   operations
    """

    bytes: float
    flops: float


def operations(line: str) -> int:
    """Operations in a line of generated code; a sign counts as one."""
    return len(OPERATION.findall(line.partition(" = ")[2]))


def gradient_cost(plan: Plan, order: int = 1) -> Cost:
    """Of one event in the pass that gives value and gradient, or, to second order, also the sums of second derivatives."""
    step = REAL_STEP if plan.real else COMPLEX_STEP
    flops = 2 * step * plan.n_structures * plan.n_rows + 4 * plan.n_rows + 4  # ψ += K u, Q = Σ K conj ψ; I; ln I, w ln I, w/I
    codes = [kind_code(kind, PYTHON, order) for kind in plan.kinds]
    for channel in plan.channels:
        code = codes[channel.kind]
        flops += sum(operations(line) for line in [*code.once, *code.lines])
        flops += COMPLEX_STEP * (2 + len(code.first) + len(code.second))  # u += c F, G += Q F, and those of the derivatives
    return Cost(plan.bytes_per_event, flops)


def hessian_cost(plan: Plan, *, data: bool) -> Cost:
    """Of one event: the sums, the columns and their products; z only for data, D not where z is enough."""
    n = 2 * (plan.n_couplings + plan.n_floating)
    step = REAL_STEP if plan.real else COMPLEX_STEP
    sums = gradient_cost(plan, 2)
    columns = sum(1 + len(plan.kinds[channel.kind].floating) for channel in plan.channels)
    with_D = not (data and plan.n_rows == 1)
    stored = n * ((plan.n_rows if with_D else 0) + (1 if data else 0))
    flops = columns * (COMPLEX_STEP + step * plan.n_rows) + (COMPLEX_STEP // 2 * n * plan.n_rows if data else 0)
    products = 2 * n * stored
    return Cost(sums.bytes + plan.bytes_per_event + 2 * 8 * stored, sums.flops + flops + products)


def evaluation_costs(plan: Plan, n_data: int, n_phsp: int) -> dict[str, Cost]:
    """Gradient and Hessian of a likelihood; phase space counts if lineshapes float."""
    n_phsp = n_phsp if plan.n_floating or plan.callbacks else 0
    one, two, norm = gradient_cost(plan), hessian_cost(plan, data=True), hessian_cost(plan, data=False)
    n = n_data + n_phsp
    return {
        "gradient": Cost(n * one.bytes, n * one.flops),
        "hessian": Cost(n_data * two.bytes + n_phsp * norm.bytes, n_data * two.flops + n_phsp * norm.flops),
    }
