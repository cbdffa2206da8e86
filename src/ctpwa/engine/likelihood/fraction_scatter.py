"""How fractions scatter with the finite phase-space sample that they are integrated over.

    f_GH = Σ v I_GH / Σ v I,     I_GG = |ψ_G|²,  I_GH = 2 Re ψ̄_G ψ_H,     ψ_G = Σ_{a∈G} c_a A_a

An event moves a fraction directly, at fixed parameters, and through the parameters, which follow the gradient of −ln L:

    δf = t + A δx,     t = v (I_GH − f_GH I)/Σ v I,     δx = −H⁻¹ δg,     A = ∂f/∂x

δg is what ``simulation.py`` knows. Both parts cancel to a large extent: more weight where a resonance is makes its integral larger, and the
coupling that a fit finds smaller. Squares are added up of both together,

    Σ δf δfᵀ = A (Σ δx δxᵀ) Aᵀ + Σ t tᵀ − A H⁻¹ (Σ δg tᵀ) − (Σ t δgᵀ) H⁻¹ Aᵀ

of which the first term is known; one more pass over the sample gives the sums with t, and another one those with what the floor adds to δg.
Of a large sample one of every so many events stands for all: an error need not be known to better than a per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.parts import one_torch_thread, sum_in_parts
from ctpwa.data.stream import one_of_each
from ctpwa.engine.backends.batch import added_squares, coupling_mix
from ctpwa.engine.likelihood.sample_pass import SamplePass, densities
from ctpwa.engine.samples.precision import Rebuilt
from ctpwa.engine.samples.sample import Sample, picked_inputs

if TYPE_CHECKING:
    from ctpwa.engine.likelihood.likelihood import Likelihood
    from ctpwa.engine.likelihood.simulation import FloorInfluence, Influence

POINTS_TOGETHER = 1 << 15  # of events with several points
NUMBERS_TOGETHER, LEAST_TOGETHER = 1 << 18, 64  # so many t of so many events at least, which a CPU keeps close
PART_BYTES, LONG_PART_BYTES = 56 << 20, 128 << 20  # of all numbers of some events; not on a CPU operations must be long
MOST_EVENTS = 1 << 17  # of all processes, that sums over phase space take about
MOST_SUMS = 8  # of a chunk, whatever the number of threads


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


def fraction_scatter(
    likelihood: Likelihood, x: np.ndarray, sums: CoherentSums, influence: Influence, most_events: int = MOST_EVENTS
) -> FractionScatter:
    """See ``Likelihood.fraction_scatter``."""
    one = SamplePass.of(likelihood, x)
    direct = _Direct(one, sums, influence.total)
    n_groups, n, n_free = len(sums.members), len(sums.values), influence.to_gradient.shape[1]
    to_gradient = direct.from_numbers(influence.to_gradient)
    sizes = [n_groups * n_groups, n, n * n_free, 1]
    n_all = likelihood.samples.own["phase space"].total
    step, source = -(-n_all // most_events), one.likelihood.norm.events
    rebuilt = isinstance(source, Rebuilt)
    on_cpu = one.likelihood.engine.device.type == "cpu"
    size = max((PART_BYTES if on_cpu else LONG_PART_BYTES) // direct.bytes_per_event, LEAST_TOGETHER)

    def rows_of(_: SamplePass, sample: Sample) -> list[Tensor]:
        total = sample.w.new_zeros(sum(sizes))
        for part in _parts(sample, 1 if rebuilt else step, size):
            total += torch.cat([*direct.rows(part, to_gradient), part.w.new_tensor([part.n_events])])
        return [total]

    def local() -> np.ndarray:
        rows = one.summed(rows_of, source.thinned(step) if isinstance(source, Rebuilt) else source, None)
        return np.zeros(sum(sizes)) if rows is None else rows[0]

    products, squares, crossed, n_taken = np.split(one.over_all_ranks(sum(sizes), local, b"fractions"), np.cumsum(sizes)[:-1])
    products, squares, crossed = (own * (n_all / n_taken) for own in (products, squares, crossed))
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

    @property
    def bytes_per_event(self) -> int:
        """Of the columns of an event and of what is made of them."""
        return 8 * (2 * self._plan.n_rows * (len(self._c) + len(self._integrator.owner)) + self._beside)

    @property
    def _beside(self) -> int:
        """Numbers of an event beside its columns."""
        n, n_rows = len(self._c), self._plan.n_rows
        n_columns = n + len(self._integrator.owner)
        own = n_rows * (len(self._mix) + 2 * n) + 2 * n_columns + self._plan.n_variables
        return own + (4 * len(self._values) if self._device.type != "cpu" else 0)

    def rows(self, sample: Sample, to_gradient: Tensor) -> list[Tensor]:
        """Σ t tᵀ of the groups, Σ t² and Σ t δgᵀ of all, over events of phase space.

        Args:
            sample:       the events
            to_gradient:  from (z, I) to δg, without v
        """
        n_groups, b = len(self.sums.members), self._added(sample)

        def row(D: Tensor, b: Tensor, v: Tensor) -> Tensor:
            psi, z = self._amplitudes(D, b)
            t = self._moved(psi, v)
            changed = v * (to_gradient @ torch.cat([z, added_squares(psi[:, :1])]))
            return torch.cat([(t[:n_groups] @ t[:n_groups].T).flatten(), (t * t).sum(dim=1), (t @ changed.T).flatten()])

        size = n_groups**2 + len(self._values) * (1 + len(to_gradient))
        total = torch.zeros(size, dtype=torch.float64, device=self._device)
        threads = torch.get_num_threads()
        with one_torch_thread():
            for start, stop, D in self._columns(sample):
                total += self._added_up(row, threads, D, b[:, start:stop], sample.w[start:stop])
        return list(total.split([n_groups**2, len(self._values), len(self._values) * len(to_gradient)]))

    def floor_row(self, sample: Sample, p: Tensor, to_gradient: Tensor, mean: Tensor) -> Tensor:
        """Σ t (−κ f)ᵀ over events of the floor, with h = ∂ ln p of all points of an event, the last of which is the event itself.

        Args:
            sample:       the events
            p:            I + Σ β b of every event
            to_gradient:  from z/p to −κ h
            mean:         −κ h̄
        """

        def of_events(psi: Tensor, z: Tensor, v: Tensor, p: Tensor) -> Tensor:
            return (self._moved(psi, v) @ (v * (to_gradient @ (z / p) - mean[:, None])).T).flatten()

        def row(D: Tensor, b: Tensor, v: Tensor, p: Tensor) -> Tensor:
            return of_events(*self._amplitudes(D, b), v, p)

        total = torch.zeros(len(self._values) * len(to_gradient), dtype=torch.float64, device=self._device)
        threads = torch.get_num_threads()
        with one_torch_thread():
            if sample.v is None:
                b = self._added(sample)
                for start, stop, D in self._columns(sample):
                    total += self._added_up(row, threads, D, b[:, start:stop], sample.w[start:stop], p[start:stop])
            else:
                for start, stop, psi, z in self._events(sample):
                    total += of_events(psi, z, sample.w[start:stop], p[start:stop])
        return total

    def _added_up(self, row: Callable[..., Tensor], threads: int, *numbers: Tensor) -> Tensor:
        """The sum of the rows of parts of some events, which so many threads share; events are the last axis of the numbers."""
        n = numbers[0].shape[-1]
        if self._device.type != "cpu":
            return row(*numbers)
        size = max(NUMBERS_TOGETHER // max(len(self._values), 1), LEAST_TOGETHER)
        parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
        n_sums = min(len(parts), MOST_SUMS)

        def some(k: int) -> Tensor:
            first, *others = parts[k::n_sums]
            total = row(*(own[..., first] for own in numbers))
            for part in others:
                total += row(*(own[..., part] for own in numbers))
            return total

        return sum_in_parts(some, n_sums, threads)

    def _events(self, sample: Sample) -> Iterator[tuple[int, int, Tensor, Tensor]]:
        """First and last of some events with several points; ψ of the last point of each; z of all points, with their weights."""
        assert sample.v is not None
        k = sample.points_per_event
        together = max(POINTS_TOGETHER // k, 1)
        for start in range(0, sample.n_events, together):
            stop = min(start + together, sample.n_events)
            points = _points(sample, torch.arange(start * k, stop * k, device=self._device))
            b = self._added(points)
            found = [self._amplitudes(D, b[:, first:last]) for first, last, D in self._columns(points)]
            psi, z = (torch.cat(parts, dim=-1) for parts in zip(*found, strict=True))
            yield start, stop, psi[..., k - 1 :: k], (z.unflatten(1, (-1, k)) * sample.v[start:stop]).sum(dim=2)

    def _added(self, sample: Sample) -> Tensor:
        return sample.E[self._plan.added_row : self._plan.added_row + self._plan.n_added]

    def _columns(self, sample: Sample) -> Iterator[tuple[int, int, Tensor]]:
        """First and last event of a chunk, and D [re | im, column, row, event]."""
        engine, n_rows, n = self._integrator.engine, self._plan.n_rows, len(self._c)
        n_columns = n + len(self._integrator.owner)
        engine.set_numbers(np.ones(n, dtype=complex), self._p)
        for start, stop, columns in engine.raw_columns(sample, self._p, self._beside):
            yield start, stop, columns.view(2, n_columns, n_rows, stop - start)

    def _amplitudes(self, D: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """ψ of the whole and of all groups [re | im, sum, row, event]; z [number, event]."""
        n, n_rows = len(self._c), self._plan.n_rows
        psi = (self._mix @ D[:, :n].reshape(2 * n, -1)).view(2, -1, n_rows, D.shape[-1])
        re, im = (torch.zeros_like(D[0, :, 0]) for _ in range(2))  # of ψ̄ D
        for r in range(n_rows):
            (whole_re, whole_im), (D_re, D_im) = psi[:, 0, r], D[:, :, r]
            re.addcmul_(whole_re, D_re).addcmul_(whole_im, D_im)
            im.addcmul_(whole_re, D_im).addcmul_(whole_im, D_re, value=-1)
        return psi, torch.cat([re, im, b])

    def _moved(self, psi: Tensor, v: Tensor) -> Tensor:
        """What events do to groups and interferences, v (I_GH − f_GH I)/Σ v I, [fraction, event]."""
        squares = added_squares(psi)
        between = torch.zeros(len(self._first), len(v), dtype=v.dtype, device=v.device)
        for part in psi[:, 1:].unbind():
            for row in part.unbind(dim=1):
                between.addcmul_(row.index_select(0, self._first), row.index_select(0, self._second), value=2)
        own = torch.cat([squares[1:], between])
        return own.addcmul_(self._values[:, None], squares[:1], value=-1).mul_(v / self._total)


def _parts(sample: Sample, step: int, size: int) -> Iterator[Sample]:
    """One of every so many events, ``size`` of them at a time."""
    if step == 1 and sample.n_events <= size:
        yield sample
        return
    for index in one_of_each(sample.n_events, step).to(sample.w.device).split(size):
        yield sample.picked(index, sample.w[index], None)


def _points(sample: Sample, index: Tensor) -> Sample:
    """Some points of a sample, each as an event of its own."""
    ones = torch.ones(len(index), dtype=torch.float64, device=index.device)
    K, E, inputs = sample.K[..., index].contiguous(), sample.E[:, index].contiguous(), picked_inputs(sample.inputs, index)
    return Sample(K, E, ones, len(index), None, inputs)
