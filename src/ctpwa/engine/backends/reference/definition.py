"""The definition of the likelihood's ingredients: plain torch, complex128, as close to the formulas as code can be.

    ψ_r = Σ_a c_a K_{t(a) r} F_a,    I = Σ_r |ψ_r|²,    V = Σ w ln (I + Σ_b β_b b) or Σ w I

This is the oracle of the other engines in tests and the automatic-differentiation baseline in benchmarks. Nothing is staged here except
the event table itself.
"""

from __future__ import annotations

import sympy as sp
import torch
from torch import Tensor

from ctpwa.engine.codegen.tensors import evaluate
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.sample import Sample


def channel_values(plan: Plan, p: Tensor, E: Tensor) -> list[Tensor]:
    """F of every channel [event]."""
    result = []
    for channel in plan.channels:
        kind = plan.kinds[channel.kind]
        values: dict[sp.Symbol, Tensor] = {}
        for symbol, row, is_complex in zip(kind.e_symbols, channel.e, kind.e_complex, strict=True):
            values[symbol] = torch.complex(E[row], E[row + 1]) if is_complex else E[row]
        for symbol, index in zip(kind.p_symbols, channel.p, strict=True):
            values[symbol] = p[index]
        for symbol, expression in kind.inner:
            values[symbol] = evaluate(expression, values)
        F = evaluate(kind.expression, values) if values else torch.tensor(complex(kind.expression), dtype=torch.complex128, device=E.device)
        result.append(F.to(torch.complex128).expand(E.shape[1]))
    return result


def amplitude(plan: Plan, c: Tensor, p: Tensor, K: Tensor, E: Tensor) -> Tensor:
    """ψ [row, event].

    Args:
        plan:  the tables
        c:     couplings [coupling], complex
        p:     iteration numbers
        K, E:  spin amplitudes and event table
    """
    psi = torch.zeros(K.shape[1:], dtype=torch.complex128, device=K.device)
    for channel, F in zip(plan.channels, channel_values(plan, p, E), strict=True):
        psi = psi + (channel.factor * c[channel.coupling]) * F * K[channel.structure]
    return psi


def columns(plan: Plan, p: Tensor, K: Tensor, E: Tensor) -> Tensor:
    """∂ψ/∂c [coupling, row, event]."""
    D = torch.zeros(plan.n_couplings, *K.shape[1:], dtype=torch.complex128, device=K.device)
    for channel, F in zip(plan.channels, channel_values(plan, p, E), strict=True):
        D[channel.coupling] += channel.factor * F * K[channel.structure]
    return D


def intensity(plan: Plan, c: Tensor, p: Tensor, sample: Sample) -> Tensor:
    """I [point]."""
    return amplitude(plan, c, p, sample.K, sample.E).abs().square().sum(dim=0)


def added(plan: Plan, beta: Tensor, sample: Sample) -> Tensor:
    """Σ β b [point]."""
    return beta @ sample.E[plan.added_row : plan.added_row + plan.n_added]


def over_points(values: Tensor, sample: Sample) -> Tensor:
    """Σ_k v_k of values [..., point] over the points of every event: [..., event]."""
    return values if sample.v is None else (values.unflatten(-1, sample.v.shape) * sample.v).sum(dim=-1)


def log_sum(plan: Plan, c: Tensor, p: Tensor, beta: Tensor, sample: Sample) -> Tensor:
    """Σ w ln (I + Σ β b); with several points per event, of the mean of I + Σ β b over them with their weights."""
    return (sample.w * over_points(intensity(plan, c, p, sample) + added(plan, beta, sample), sample).log()).sum()


def plain_sum(plan: Plan, c: Tensor, p: Tensor, beta: Tensor, sample: Sample) -> Tensor:
    """Σ w I."""
    return (sample.w * intensity(plan, c, p, sample)).sum()
