"""F and its derivatives of one lineshape, from generated code of either dialect run in Python."""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import torch

from ctpwa.engine.codegen.kind_code import imaginary, kind_code
from ctpwa.engine.codegen.lowering import PYTHON, TRITON
from ctpwa.engine.codegen.tensors import evaluate
from ctpwa.engine.plan.plan import ChannelSpec, FormulaKind, Plan, Propagator
from ctpwa.engine.plan.planner import build_plan
from ctpwa.model.lineshapes.formula import Formula, q2, s

# what triton.language offers, in numpy; no more than that
TL = SimpleNamespace(
    full=lambda shape, x, dtype: np.full(shape, x, dtype),
    float64=np.float64,
    exp=np.exp,
    log=np.log,
    sin=np.sin,
    cos=np.cos,
    sqrt=np.sqrt,
    where=np.where,
    abs=np.abs,
)
NAMESPACES = {"python": {"math": math}, "triton": {"tl": TL, "reciprocal": lambda x: 1.0 / x, "arctangent": np.arctan}}
DIALECTS = {"python": PYTHON, "triton": TRITON}


def plan_of(formula: Formula, parameters: dict[str, float], floating: list[str] | None = None) -> Plan:
    """The plan of one channel with this propagator."""
    names = tuple(f"R.{p.name}" for p in formula.parameters)
    spec = ChannelSpec(0, 1.0, 0, (Propagator(formula, names, (0, 1), ((0,), (1,))),))
    chosen = [p.name for p in formula.parameters] if floating is None else floating
    values = {f"R.{name}": value for name, value in parameters.items()}
    return build_plan([spec], n_couplings=1, n_structures=1, n_rows=1, real=True, values=values, floating=[f"R.{name}" for name in chosen])


@cache
def code_of(kind: FormulaKind, dialect: str):
    return kind_code(kind, DIALECTS[dialect], 2)


def run(plan: Plan, dialect: str, s_value: float, q2_value: float, theta: np.ndarray):
    """F, ∂F/∂θ [param] and ∂²F/∂θ∂θ [param, param] from generated code and the plan's iteration numbers."""
    (channel,) = plan.channels
    kind = plan.kinds[channel.kind]
    code = code_of(kind, dialect)
    names = dict(NAMESPACES[dialect])
    row_of = {row: quantity for quantity, row in plan.quantities.items()}
    event = {s: torch.tensor(s_value, dtype=torch.float64), q2: torch.tensor(q2_value, dtype=torch.float64)}
    for i, row in enumerate(channel.e):
        value = complex(evaluate(row_of[row].source, event))
        if kind.e_complex[i]:
            names[f"e{i}_re"], names[f"e{i}_im"] = value.real, value.imag
        else:
            names[f"e{i}"] = value.real
    numbers = plan.iteration.values(theta)
    names |= {f"p{i}": float(numbers[index]) for i, index in enumerate(channel.p)}
    exec("\n".join([*code.once, *code.lines]), names)

    def number(value):
        return complex(eval(value.re, names), eval(imaginary(value), names))

    F, first, second = number(code.F), [number(v) for v in code.first], [number(v) for v in code.second]
    own = [channel.p[i] for i in kind.floating]
    pairs = {pair: value for pair, value in zip(kind.second, second, strict=True)}
    J = plan.iteration.jacobian(theta)[own] if own else np.zeros((0, len(theta)))
    F_p = np.array(first, dtype=complex)
    F_pp = np.array([[pairs[min(j, k), max(j, k)] for k in range(len(own))] for j in range(len(own))], dtype=complex)
    F_pp = F_pp.reshape(len(own), len(own))
    weights = np.zeros((2, plan.n_floating))
    for index, value in zip(own, F_p, strict=True):
        weights[:, index] += value.real, value.imag
    curve = plan.iteration.second(theta, weights[0]) + 1j * plan.iteration.second(theta, weights[1])
    return F, J.T @ F_p, J.T @ F_pp @ J + curve
