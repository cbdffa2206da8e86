"""The reference engine: the definition of the likelihood with automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import torch

from ctpwa.engine.backends.engine import Task, evaluate_relative
from ctpwa.engine.backends.expansion import NOTHING, Expansion
from ctpwa.engine.backends.gram import Gram
from ctpwa.engine.backends.reference import definition
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import LOG
from ctpwa.engine.samples.sample import Sample

POINTS_TOGETHER = 1 << 17  # points of a sample times rows of a Hessian: what its memory grows with


class ReferenceEngine:
    """Plain torch with automatic differentiation.

    Args:
        plan:    what to compute
        device:  where
    """

    name = "reference"
    shares_passes = False
    takes_many = False
    most_together = 0.0
    quick_hessians: float = 0

    def __init__(self, plan: Plan, device: torch.device) -> None:
        self.plan = plan
        self.device = device
        self._present = NOTHING, NOTHING

    def set_numbers(self, c: np.ndarray, p: np.ndarray) -> None:
        """The couplings and iteration numbers of what follows."""
        self._present = c, p

    def sum_row(self, sample: Sample, mode: int, order: int) -> torch.Tensor:
        """Value, gradient and Hessian one after the other."""
        found = self.evaluate([(sample, mode)], *self._present, order)[0]
        return torch.from_numpy(np.concatenate([[found.value], found.gradient, found.hessian.ravel()]))

    def expansion(self, row: np.ndarray, mode: int, order: int) -> Expansion:
        """The expansion of a row of sums."""
        n = self.plan.n_variables
        return Expansion(float(row[0]), row[1 : 1 + n] if order >= 1 else NOTHING, row[1 + n :].reshape(n, n) if order >= 2 else NOTHING)

    def gram_row(self, sample: Sample, mode: int) -> torch.Tensor:
        """Real and imaginary part and outer products one after the other."""
        gram = self.gram(sample, mode, *self._present)
        return torch.from_numpy(np.concatenate([gram.re.ravel(), gram.im.ravel(), gram.outer.ravel()]))

    def gram_of(self, row: np.ndarray) -> Gram:
        """The Gram matrices of a row of sums."""
        n = self.plan.n_columns
        re, im, outer = np.split(row, [n * n, 2 * n * n])
        return Gram(re.reshape(n, n), im.reshape(n, n), outer.reshape(2 * n, 2 * n))

    def intensities(self, sample: Sample) -> torch.Tensor:
        """I of every event."""
        return self.intensity(sample, *self._present)

    def expect(self, n_points: int, modes: Mapping[int, int]) -> None:
        """All samples are treated alike."""

    def prepare(self) -> None:
        """There is nothing to prepare."""

    def evaluate(self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int) -> list[Expansion]:
        """Expansions of all tasks to the given order."""
        plan = self.plan
        n, last = plan.n_couplings, plan.n_variables - plan.n_added
        fixed = torch.tensor(p[plan.n_floating : len(p) - plan.n_added], device=self.device)
        start = torch.tensor(np.concatenate([c.real, c.imag, p[: plan.n_floating], plan.beta(p)]), device=self.device)
        result = []
        for sample, mode in tasks:
            function = definition.log_sum if mode == LOG else definition.plain_sum

            def V(x: torch.Tensor, function=function, sample=sample) -> torch.Tensor:  # type: ignore[no-untyped-def]
                return function(plan, torch.complex(x[:n], x[n : 2 * n]), torch.cat([x[2 * n : last], fixed]), x[last:], sample)

            result.append(_autograd(V, start, order, max(1, POINTS_TOGETHER // max(1, sample.n_points))))
        return result

    def begin(
        self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int, *, relative: bool = False
    ) -> Callable[[], list[Expansion]]:
        """``evaluate``, when it is wanted."""
        return partial(evaluate_relative, self, tasks, c, p, order) if relative else partial(self.evaluate, tasks, c, p, order)

    def gram(self, sample: Sample, mode: int, c: np.ndarray, p: np.ndarray) -> Gram:
        """Gram matrices of ∂ψ over a sample."""
        plan = self.plan
        couplings, numbers = (torch.as_tensor(values, device=self.device) for values in (c, p))
        none = torch.zeros(plan.n_added, *sample.K.shape[1:], dtype=torch.complex128, device=self.device)
        D = torch.cat([self._columns(sample, couplings, numbers), none])
        here = definition.amplitude(plan, couplings, numbers, sample.K, sample.E)
        each = here.abs().square().sum(dim=0) + definition.added(plan, torch.as_tensor(plan.beta(p), device=self.device), sample)
        I = definition.over_points(each, sample)
        omega = sample.w / I if mode == LOG else sample.w
        at_points = omega if sample.v is None else (omega[:, None] * sample.v).flatten()
        G = torch.einsum("jre,kre,e->jk", D.conj(), D, at_points.to(D.dtype))
        z = torch.einsum("re,jre->je", here.conj(), D)
        z[plan.n_columns - plan.n_added :] = sample.E[plan.added_row : plan.added_row + plan.n_added] / 2
        z = definition.over_points(z, sample)
        parts = torch.cat([z.real, z.imag]) if mode == LOG else torch.zeros(2 * len(D), 0, dtype=torch.float64, device=self.device)
        outer = torch.einsum("je,ke,e->jk", parts, parts, sample.w / I**2 if mode == LOG else sample.w[:0])
        return Gram(G.real.cpu().numpy(), G.imag.cpu().numpy(), outer.cpu().numpy())

    def intensity(self, sample: Sample, c: np.ndarray, p: np.ndarray) -> torch.Tensor:
        """I of every event."""
        couplings, numbers = (torch.as_tensor(values, device=self.device) for values in (c, p))
        return definition.intensity(self.plan, couplings, numbers, sample)

    def raw_columns(self, sample: Sample, p: np.ndarray, beside: int) -> Iterator[tuple[int, int, torch.Tensor]]:
        """First and last event, and ∂ψ/∂(c, floating p) [re | im · column, row · event], the latter for couplings 1."""
        ones = torch.ones(self.plan.n_couplings, dtype=torch.complex128, device=self.device)
        D = self._columns(sample, ones, torch.as_tensor(p, device=self.device))
        yield 0, sample.n_events, torch.cat([D.real, D.imag]).flatten(1)

    def _columns(self, sample: Sample, couplings: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        """∂ψ/∂(c, floating p) [column, row, event]."""
        plan = self.plan

        def psi(floating: torch.Tensor) -> torch.Tensor:
            return definition.amplitude(plan, couplings, torch.cat([floating, numbers[plan.n_floating :]]), sample.K, sample.E)

        units = torch.eye(plan.n_floating, dtype=torch.float64, device=self.device)
        over_p = [torch.func.jvp(psi, (numbers[: plan.n_floating],), (unit,))[1][None] for unit in units]
        return torch.cat([definition.columns(plan, numbers, sample.K, sample.E), *over_p])


def _autograd(V, start: torch.Tensor, order: int, together: int) -> Expansion:  # type: ignore[no-untyped-def]
    """Value, gradient and Hessian of V, so many rows of the Hessian in one pass back through the operations."""
    if order == 0:
        with torch.no_grad():
            return Expansion(float(V(start)), NOTHING, NOTHING)
    x = start.clone().requires_grad_()
    value = V(x)
    (grad,) = torch.autograd.grad(value, x, create_graph=order >= 2)
    H = NOTHING
    if order >= 2:
        units = torch.eye(len(x), dtype=x.dtype, device=x.device).split(together)
        rows = [torch.autograd.grad(grad, x, unit, retain_graph=True, is_grads_batched=True)[0] for unit in units]
        H = torch.cat(rows).cpu().numpy()
    return Expansion(float(value.detach()), grad.detach().cpu().numpy(), H)
