"""How fractions scatter with the finite phase-space sample that they are integrated over.

    f_GH = Σ v I_GH / Σ v I,     I_GG = |ψ_G|²,  I_GH = 2 Re ψ̄_G ψ_H,     ψ_G = Σ_{a∈G} c_a A_a

An event moves a fraction directly, at fixed parameters, and through the parameters, which follow the gradient of −ln L:

    δf = t + A δx,     t = v (I_GH − f_GH I)/Σ v I,     δx = −H⁻¹ δg,     A = ∂f/∂x

δg is what ``simulation.py`` knows. Both parts cancel to a large extent: more weight where a resonance is makes its integral larger, and the
coupling that a fit finds smaller. Squares are added up of both together,

    Σ δf δfᵀ = A (Σ δx δxᵀ) Aᵀ + Σ t tᵀ − A H⁻¹ (Σ δg tᵀ) − (Σ t δgᵀ) H⁻¹ Aᵀ

of which the first term is known; one more pass over the sample gives the sums with t, and another one those with what the floor adds to δg.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ctpwa.engine.backends.batch import coupling_mix
from ctpwa.engine.likelihood.sample_pass import SamplePass, densities
from ctpwa.engine.samples.sample import Sample, picked_inputs

if TYPE_CHECKING:
    from ctpwa.engine.likelihood.likelihood import Likelihood
    from ctpwa.engine.likelihood.simulation import FloorInfluence, Influence

POINTS_TOGETHER = 1 << 15  # of events with several points


@dataclass(frozen=True, eq=False)
class CoherentSums:
    """Coherent sums of waves, of which fractions and interferences are asked for.

    Attributes:
        members:  which members of ``WaveIntegrals`` belong to each, [group, member]
        first, second:  the two groups of every interference
        values:   fractions of all groups, then all interferences
    """

    members: np.ndarray
    first: np.ndarray
    second: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class FractionScatter:
    """Sums over the events of a phase-space sample, for the fractions of all groups and then for all interferences.

    Attributes:
        products:  Σ t tᵀ of the groups
        squares:   Σ t² of all
        crossed:   Σ t δgᵀ of all, [fraction, free parameter]
    """

    products: np.ndarray
    squares: np.ndarray
    crossed: np.ndarray


def fraction_scatter(likelihood: Likelihood, x: np.ndarray, sums: CoherentSums, influence: Influence) -> FractionScatter:
    """See ``Likelihood.fraction_scatter``."""
    one = SamplePass.of(likelihood, x)
    direct = _Direct(one, sums, influence.total)
    n_groups, n, n_free = len(sums.members), len(sums.values), influence.to_gradient.shape[1]
    to_gradient = direct.from_numbers(influence.to_gradient)
    sizes = [n_groups * n_groups, n, n * n_free]

    def local() -> np.ndarray:
        rows = one.summed(lambda _, sample: direct.rows(sample, to_gradient))
        return np.zeros(sum(sizes)) if rows is None else np.concatenate(rows)

    found = one.over_all_ranks(sum(sizes), local, b"fractions")
    products, squares, crossed = np.split(found, np.cumsum(sizes)[:-1])
    crossed = crossed.reshape(n, n_free)
    if influence.floor is not None:
        crossed = crossed + _with_floor(one, direct, influence.floor)
    return FractionScatter(products.reshape(n_groups, n_groups), squares, crossed)


def _with_floor(one: SamplePass, direct: _Direct, influence: FloorInfluence) -> np.ndarray:
    """Σ t (−κ f)ᵀ over the events of the floor, f = v (h − h̄)."""
    floor = one.likelihood.samples.floor
    assert floor is not None
    points = floor.momenta is not None  # events are computed again, in double precision
    there = replace(one, likelihood=one.likelihood.in_double() if points else one.likelihood, numbers=influence.numbers)
    n, n_free = len(direct.sums.values), influence.to_gradient.shape[1]
    to_gradient = direct.from_numbers(influence.to_gradient)
    mean = torch.from_numpy(influence.mean @ influence.to_gradient).to(to_gradient.device)

    def of_sample(own: SamplePass, sample: Sample) -> list[Tensor]:
        _, p = densities(own, sample)
        return [direct.floor_row(sample, p, to_gradient, mean)]

    def local() -> np.ndarray:
        rows = there.summed(of_sample, floor.source if floor.momenta is None else floor.momenta)
        return np.zeros(n * n_free) if rows is None else rows[0]

    found = there.over_all_ranks(n * n_free, local, b"fractions of the floor")
    if points:
        there.likelihood.resources.preparation.stage.release()
    return found.reshape(n, n_free)


class _Direct:
    """What single events do to fractions and interferences at fixed parameters.

    Of every event it computes numbers z: ψ̄ D of all columns D of the integrator, real and imaginary parts, and the added densities b.

    Args:
        one:    the point
        sums:   the coherent sums
        total:  Σ v I
    """

    def __init__(self, one: SamplePass, sums: CoherentSums, total: float) -> None:
        self.sums, self._plan, self._total = sums, one.likelihood.plan, total
        self._integrator = one.likelihood.amplitude.integrator
        self._p = self._integrator.own_numbers(one.floating)
        self._c = one.c[self._integrator.coupling]
        self._device = one.likelihood.engine.device
        mix = coupling_mix(np.concatenate([np.ones((1, len(self._c))), sums.members]) * self._c)
        self._mix, self._first, self._second, self._values = map(self._sent, (mix, sums.first, sums.second, sums.values))

    def _sent(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def from_numbers(self, matrix: np.ndarray) -> Tensor:
        """What takes (z, …) to where ``matrix`` [variable …, free] takes (∂I, b, …): ∂I = 2 Re ψ̄ ∂ψ, ∂ψ/∂c = A, ∂ψ/∂p = c ∂A."""
        own, n, n_c = self._integrator, len(self._c), self._plan.n_couplings
        owned, n_y = self._c[own.owner], self._plan.n_variables - self._plan.n_added
        re, im = np.zeros((n_y, n + len(owned))), np.zeros((n_y, n + len(owned)))
        every, floating = np.arange(n), n + np.arange(len(owned))
        re[own.coupling, every], im[n_c + own.coupling, every] = 2.0, -2.0
        re[2 * n_c + own.source, floating], im[2 * n_c + own.source, floating] = 2 * owned.real, -2 * owned.imag
        return self._sent(np.concatenate([matrix[:n_y].T @ re, matrix[:n_y].T @ im, matrix[n_y:].T], axis=1))

    def rows(self, sample: Sample, to_gradient: Tensor) -> list[Tensor]:
        """Σ t tᵀ of the groups, Σ t² and Σ t δgᵀ of all, over events of phase space.

        Args:
            sample:       the events
            to_gradient:  from (z, I) to δg, without v
        """
        n, n_groups = len(self._values), len(self.sums.members)
        shapes = ((n_groups, n_groups), (n,), (n, len(to_gradient)))
        products, squares, crossed = (torch.zeros(shape, dtype=torch.float64, device=self._device) for shape in shapes)
        for start, stop, psi, z in self._chunks(sample):
            w, I = sample.w[start:stop], psi[:, 0].square().sum(dim=(0, 1))
            t = self._moved(psi, w)
            products += t[:n_groups] @ t[:n_groups].T
            squares += t.square().sum(dim=1)
            crossed += t @ (w * (to_gradient @ torch.cat([z, I[None]]))).T
        return [products.flatten(), squares, crossed.flatten()]

    def floor_row(self, sample: Sample, p: Tensor, to_gradient: Tensor, mean: Tensor) -> Tensor:
        """Σ t (−κ f)ᵀ over events of the floor, with h = ∂ ln p of all points of an event, the last of which is the event itself.

        Args:
            sample:       the events
            p:            I + Σ β b of every event
            to_gradient:  from z/p to −κ h
            mean:         −κ h̄
        """
        crossed = torch.zeros(len(self._values), len(to_gradient), dtype=torch.float64, device=self._device)
        for start, stop, psi, z in self._events(sample):
            w = sample.w[start:stop]
            crossed += self._moved(psi, w) @ (w * (to_gradient @ (z / p[start:stop]) - mean[:, None])).T
        return crossed.flatten()

    def _events(self, sample: Sample) -> Iterator[tuple[int, int, Tensor, Tensor]]:
        """``_chunks`` of events that may have several points: ψ of the last of them, z of all with their weights."""
        if sample.v is None:
            yield from self._chunks(sample)
            return
        k = sample.points_per_event
        together = max(POINTS_TOGETHER // k, 1)
        for start in range(0, sample.n_events, together):
            stop = min(start + together, sample.n_events)
            points = _points(sample, torch.arange(start * k, stop * k, device=self._device))
            psi, z = (torch.cat(parts, dim=-1) for parts in zip(*(own[2:] for own in self._chunks(points)), strict=True))
            yield start, stop, psi[..., k - 1 :: k], (z.unflatten(1, (-1, k)) * sample.v[start:stop]).sum(dim=2)

    def _chunks(self, sample: Sample) -> Iterator[tuple[int, int, Tensor, Tensor]]:
        """First and last event; ψ of the whole and of all groups [re | im, sum, row, event]; z [number, event]."""
        engine, plan, n = self._integrator.engine, self._plan, len(self._c)
        b = sample.E[plan.added_row : plan.added_row + plan.n_added]
        n_columns = n + len(self._integrator.owner)
        beside = plan.n_rows * (len(self._mix) + 2 * n) + 4 * len(self._values) + 4 * n_columns + 2 * plan.n_variables
        engine.set_numbers(np.ones(n, dtype=complex), self._p)
        for start, stop, columns in engine.raw_columns(sample, self._p, beside):
            D = columns.view(2, n_columns, plan.n_rows, stop - start)
            psi = (self._mix @ D[:, :n].reshape(2 * n, -1)).view(2, -1, plan.n_rows, stop - start)
            whole = psi[:, 0]
            re = (whole[0] * D[0] + whole[1] * D[1]).sum(dim=1)  # of ψ̄ D
            im = (whole[0] * D[1] - whole[1] * D[0]).sum(dim=1)
            yield start, stop, psi, torch.cat([re, im, b[:, start:stop]])

    def _moved(self, psi: Tensor, v: Tensor) -> Tensor:
        """T = v (I_GH − f_GH I)/Σ v I of all groups and interferences, [fraction, event]."""
        whole, groups = psi[:, 0], psi[:, 1:]
        between = torch.zeros(len(self._first), len(v), dtype=v.dtype, device=v.device)
        for part in groups.unbind():
            for row in part.unbind(dim=1):
                between.addcmul_(row[self._first], row[self._second], value=2)
        own = torch.cat([groups.square().sum(dim=(0, 2)), between])
        return (own - self._values[:, None] * whole.square().sum(dim=(0, 1))) * (v / self._total)


def _points(sample: Sample, index: Tensor) -> Sample:
    """Some points of a sample, each as an event of its own."""
    ones = torch.ones(len(index), dtype=torch.float64, device=index.device)
    K, E, inputs = sample.K[..., index].contiguous(), sample.E[:, index].contiguous(), picked_inputs(sample.inputs, index)
    return Sample(K, E, ones, len(index), None, inputs)
