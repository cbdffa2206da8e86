"""Value, gradient and Hessian of a sum over a sample, in the engine's own variables (Re c, Im c, floating p)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch

from ctpwa.engine.backends.gram import Gram, gram_from_row
from ctpwa.engine.backends.reference import definition as reference
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.plan.tables import LOG, ChannelSums, Tables, expand_gram, gradient, second_derivative_terms
from ctpwa.engine.samples.sample import Sample

Task = tuple[Sample, int]  # a sample, and LOG or PLAIN


@dataclass(frozen=True)
class Expansion:
    """V = Σ w ln I or Σ w I around a point.

    Attributes:
        value:     V
        gradient:  over (Re c, Im c, floating p); empty if not asked for
        hessian:   likewise
    """

    value: float
    gradient: np.ndarray
    hessian: np.ndarray


NOTHING = np.zeros(0)


class Engine(Protocol):
    """What a likelihood needs of an engine."""

    name: str
    plan: Plan
    device: torch.device
    shares_passes: bool  # between the vectors of a batch
    most_together: float  # events up to which that is worth it for Hessians

    def prepare(self) -> None:
        """Do now what would otherwise make the first evaluations slow."""

    def evaluate(self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int) -> list[Expansion]:
        """Expansions of all tasks to the given order."""

    def begin(self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int) -> Callable[[], list[Expansion]]:
        """Begin ``evaluate``; what is returned waits for the result."""

    def intensity(self, sample: Sample, c: np.ndarray, p: np.ndarray) -> torch.Tensor:
        """I of every event."""

    # for samples in many chunks: numbers are set once, results stay on the device until they are all added up

    def set_numbers(self, c: np.ndarray, p: np.ndarray) -> None:
        """The couplings and iteration numbers of what follows."""

    def sum_row(self, sample: Sample, mode: int, order: int) -> torch.Tensor:
        """What an expansion is made of, on the device; rows of several samples add up."""

    def expansion(self, row: np.ndarray, mode: int, order: int) -> Expansion:
        """The expansion of a row of sums."""

    def gram_row(self, sample: Sample, mode: int) -> torch.Tensor:
        """What Gram matrices are made of, on the device; rows of several samples add up."""

    def gram_of(self, row: np.ndarray) -> Gram:
        """The Gram matrices of a row of sums."""

    def intensities(self, sample: Sample) -> torch.Tensor:
        """I of every event, on the device."""

    def raw_columns(self, sample: Sample, p: np.ndarray, beside: int) -> Iterator[tuple[int, int, torch.Tensor]]:
        """First and last event of a chunk, and ∂ψ/∂(c, floating p) of it [re | im · column, row · event], at the numbers used last."""


def score_products(gram: Gram, n_couplings: int) -> np.ndarray:
    """Σ w (∂ ln I)(∂ ln I) over (Re c, Im c, floating p), from the Gram matrices of Σ w ln I."""
    return 4 * _real_parts(gram.outer, n_couplings)


def from_row(tables: Tables, row: np.ndarray, c: np.ndarray, mode: int, order: int) -> Expansion:
    """The expansion of a row of numbers: sums of every channel, and to second order the Gram matrices behind them."""
    layout = tables.layouts[order]
    gram = gram_from_row(row[layout.length :]) if order >= 2 else None
    return from_sums(tables, ChannelSums(row[: layout.length], layout), gram, c, mode)


def from_sums(tables: Tables, sums: ChannelSums, gram: Gram | None, c: np.ndarray, mode: int) -> Expansion:
    """Put the pieces together.

    ∂²V = 2 Re Σ ω (∂ψ̄ ∂ψ + ψ̄ ∂²ψ) − [LOG] 4 Σ w/I² (Re ψ̄ ∂ψ)(Re ψ̄ ∂ψ)
    """
    channel_c = tables.channel_couplings(c) if sums.layout.order == 2 else NOTHING
    grad = gradient(tables, sums, channel_c) if sums.layout.order else NOTHING
    if gram is None:
        return Expansion(sums.value, grad, NOTHING)
    n_c = tables.plan.n_couplings
    H = 2 * expand_gram(gram.re, gram.im, n_c) + second_derivative_terms(tables, sums, channel_c)
    if mode == LOG:
        H -= 4 * _real_parts(gram.outer, n_c)
    return Expansion(sums.value, grad, H)


def _real_parts(outer: np.ndarray, n_couplings: int) -> np.ndarray:
    """Products of Re ψ̄∂ψ over (Re c, Im c, p) from those of the real and imaginary parts of z over (c, p)."""
    n_columns = outer.shape[0] // 2
    rows = np.concatenate([np.arange(n_couplings), n_columns + np.arange(n_couplings), np.arange(n_couplings, n_columns)])
    signs = np.concatenate([np.ones(n_couplings), -np.ones(n_couplings), np.ones(n_columns - n_couplings)])
    return outer[np.ix_(rows, rows)] * np.outer(signs, signs)


class ReferenceEngine:
    """Plain torch with automatic differentiation.

    Args:
        plan:    what to compute
        device:  where
    """

    name = "reference"
    shares_passes = False
    most_together = 0.0

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
        n = 2 * self.plan.n_couplings + self.plan.n_floating
        return Expansion(float(row[0]), row[1 : 1 + n] if order >= 1 else NOTHING, row[1 + n :].reshape(n, n) if order >= 2 else NOTHING)

    def gram_row(self, sample: Sample, mode: int) -> torch.Tensor:
        """Real and imaginary part and outer products one after the other."""
        gram = self.gram(sample, mode, *self._present)
        return torch.from_numpy(np.concatenate([gram.re.ravel(), gram.im.ravel(), gram.outer.ravel()]))

    def gram_of(self, row: np.ndarray) -> Gram:
        """The Gram matrices of a row of sums."""
        n = self.plan.n_couplings + self.plan.n_floating
        re, im, outer = np.split(row, [n * n, 2 * n * n])
        return Gram(re.reshape(n, n), im.reshape(n, n), outer.reshape(2 * n, 2 * n))

    def intensities(self, sample: Sample) -> torch.Tensor:
        """I of every event."""
        return self.intensity(sample, *self._present)

    def prepare(self) -> None:
        """There is nothing to prepare."""

    def evaluate(self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int) -> list[Expansion]:
        """Expansions of all tasks to the given order."""
        plan = self.plan
        n = plan.n_couplings
        fixed = torch.tensor(p[plan.n_floating :], device=self.device)
        start = torch.tensor(np.concatenate([c.real, c.imag, p[: plan.n_floating]]), device=self.device)
        result = []
        for sample, mode in tasks:
            function = reference.log_sum if mode == LOG else reference.plain_sum

            def V(x: torch.Tensor, function=function, sample=sample) -> torch.Tensor:  # type: ignore[no-untyped-def]
                return function(plan, torch.complex(x[:n], x[n : 2 * n]), torch.cat([x[2 * n :], fixed]), sample)

            result.append(_autograd(V, start, order))
        return result

    def begin(self, tasks: Sequence[Task], c: np.ndarray, p: np.ndarray, order: int) -> Callable[[], list[Expansion]]:
        """``evaluate``, when it is wanted."""
        return lambda: self.evaluate(tasks, c, p, order)

    def gram(self, sample: Sample, mode: int, c: np.ndarray, p: np.ndarray) -> Gram:
        """Gram matrices of ∂ψ over a sample."""
        plan = self.plan
        fixed = torch.tensor(p[plan.n_floating :], device=self.device)
        at = torch.tensor(np.concatenate([c.real, p[: plan.n_floating]]), device=self.device)
        im = torch.tensor(c.imag, device=self.device)
        n = plan.n_couplings

        def psi(x: torch.Tensor) -> torch.Tensor:
            numbers = torch.cat([x[n:], fixed])
            return reference.amplitude(plan, torch.complex(x[:n], im), numbers, sample.K, sample.E)

        D = torch.stack([torch.func.jvp(psi, (at,), (unit,))[1] for unit in torch.eye(len(at), dtype=torch.float64, device=self.device)])
        here = psi(at)
        I = here.abs().square().sum(dim=0)
        G = torch.einsum("jre,kre,e->jk", D.conj(), D, (sample.w / I if mode == LOG else sample.w).to(D.dtype))
        z = torch.einsum("re,jre->je", here.conj(), D)
        parts = torch.cat([z.real, z.imag]) if mode == LOG else torch.zeros(2 * len(at), 0, dtype=torch.float64, device=self.device)
        outer = torch.einsum("je,ke,e->jk", parts, parts, sample.w / I**2 if mode == LOG else sample.w[:0])
        return Gram(G.real.cpu().numpy(), G.imag.cpu().numpy(), outer.cpu().numpy())

    def intensity(self, sample: Sample, c: np.ndarray, p: np.ndarray) -> torch.Tensor:
        """I of every event."""
        couplings, numbers = (torch.as_tensor(values, device=self.device) for values in (c, p))
        return reference.intensity(self.plan, couplings, numbers, sample)

    def raw_columns(self, sample: Sample, p: np.ndarray, beside: int) -> Iterator[tuple[int, int, torch.Tensor]]:
        """First and last event, and ∂ψ/∂c [re | im · coupling, row · event]."""
        D = reference.columns(self.plan, torch.as_tensor(p, device=self.device), sample.K, sample.E)
        yield 0, sample.n_events, torch.cat([D.real, D.imag]).flatten(1)


def _autograd(V, start: torch.Tensor, order: int) -> Expansion:  # type: ignore[no-untyped-def]
    if order == 0:
        with torch.no_grad():
            return Expansion(float(V(start)), NOTHING, NOTHING)
    x = start.clone().requires_grad_()
    value = V(x)
    (grad,) = torch.autograd.grad(value, x)
    H = torch.autograd.functional.hessian(V, start).cpu().numpy() if order >= 2 else NOTHING
    return Expansion(float(value.detach()), grad.cpu().numpy(), H)


@dataclass(frozen=True)
class Collapsed:
    """A normalisation sample whose propagators are all fixed: one Hermitian matrix, Σ w I = c† M c.

    Attributes:
        matrix:  M_jk = Σ w conj(∂_jψ) ∂_kψ
    """

    matrix: np.ndarray

    @cached_property
    def second(self) -> np.ndarray:
        """∂² c† M c over (Re c, Im c)."""
        H = expand_gram(self.matrix.real, self.matrix.imag, len(self.matrix))
        return H + H.T

    def expand_batch(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and gradients for many coupling vectors [vector, coupling]."""
        Mc = c @ self.matrix.T
        return (c.conj() * Mc).sum(axis=1).real, 2 * np.concatenate([Mc.real, Mc.imag], axis=1)

    def expand(self, c: np.ndarray, order: int, n_floating: int = 0) -> Expansion:
        """Value, gradient and Hessian of c† M c over (Re c, Im c), and over ``n_floating`` numbers on which it does not depend."""
        Mc = np.einsum("jk,k->j", self.matrix, c)  # not a product of matrices, whose threads would get in the way of those of the kernels
        value = float((c.conj() @ Mc).real)
        grad = 2 * np.concatenate([Mc.real, Mc.imag, np.zeros(n_floating)]) if order >= 1 else NOTHING
        H = np.pad(self.second, (0, n_floating)) if order >= 2 else NOTHING
        return Expansion(value, grad, H)
