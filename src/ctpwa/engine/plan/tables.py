"""The plan as arrays for the kernels, and the numbers that change with every evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ctpwa.engine.plan.plan import Plan

LOG, PLAIN = 0, 1  # Σ w ln (I + Σ β b), Σ w I


@dataclass(frozen=True)
class Tables:
    """Integer tables of a plan, made once.

    Attributes:
        plan:  the plan
    """

    plan: Plan

    @cached_property
    def segment_range(self) -> np.ndarray:
        """First segment of every (structure, kind), flattened, and the end: [structure·kind + 1]."""
        plan = self.plan
        keys = [segment.structure * len(plan.kinds) + segment.kind for segment in plan.segments]
        return np.searchsorted(keys, np.arange(plan.n_structures * len(plan.kinds) + 1)).astype(np.int64)

    @cached_property
    def segment_channels(self) -> np.ndarray:
        """First and last channel of every segment: [segment, 2]."""
        return np.array([[segment.first, segment.last] for segment in self.plan.segments], dtype=np.int64).reshape(-1, 2)

    @cached_property
    def segment_rows(self) -> np.ndarray:
        """Rows of the event table of every segment: [segment, max e]."""
        rows = np.zeros((len(self.plan.segments), max(self.plan.most_e, 1)), dtype=np.int64)
        for index, segment in enumerate(self.plan.segments):
            rows[index, : len(segment.e)] = segment.e
        return rows

    @cached_property
    def visits(self) -> np.ndarray:
        """Every segment: kind, structure, whether it is the last of that, first and last channel, event rows.

        Neighbours read the same event rows.
        """
        segments = self.plan.segments
        first_rows = {segment.structure: segment.e for segment in reversed(segments) if segment.e}
        order = sorted(range(len(segments)), key=lambda g: (first_rows.get(segments[g].structure, ()), segments[g].structure, g))
        kind, structure = np.array([[segments[g].kind, segments[g].structure] for g in order], dtype=np.int64).reshape(-1, 2).T
        closes = np.append(structure[1:] != structure[:-1], True)[: len(order)]
        places = np.stack([kind, structure, closes.astype(np.int64)], axis=1)
        return np.hstack([places, self.segment_channels[order], self.segment_rows[order, : self.plan.most_e]])

    @cached_property
    def layouts(self) -> dict[int, SumLayout]:
        """How a row of results is laid out, for each order."""
        return {order: SumLayout.of(self.plan, order) for order in (0, 1, 2)}

    @cached_property
    def p_index(self) -> np.ndarray:
        """Iteration numbers of every channel: [channel, max p]."""
        width = max((kind.n_p for kind in self.plan.kinds), default=0)
        index = np.zeros((len(self.plan.channels), max(width, 1)), dtype=np.int64)
        for row, channel in enumerate(self.plan.channels):
            index[row, : len(channel.p)] = channel.p
        return index

    @cached_property
    def floating_p(self) -> list[list[int]]:
        """Indices of the floating p of every channel; a channel may hold one of them twice."""
        return [[channel.p[i] for i in self.plan.kinds[channel.kind].floating] for channel in self.plan.channels]

    @cached_property
    def p_column(self) -> np.ndarray:
        """``floating_p`` as an array, −1 where there is none: [channel, most floating p]."""
        column = np.full((len(self.plan.channels), max(map(len, self.floating_p), default=0) or 1), -1, dtype=np.int64)
        for row, indices in enumerate(self.floating_p):
            column[row, : len(indices)] = indices
        return column

    @cached_property
    def first_order_map(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The sparse matrix from a first-order row of results to the gradient over (Re c, Im c, floating p, β): row, column, value."""
        plan, layout = self.plan, self.layouts[1]
        n_c, coupling, factor = plan.n_couplings, plan.coupling_of, 2 * plan.factors
        re = 1 + 2 * np.arange(len(plan.channels))
        rows = np.concatenate([coupling, coupling, n_c + coupling, n_c + coupling, 2 * n_c + layout.p])
        columns = np.concatenate([re, re + 1, re, re + 1, layout.first])
        values = np.concatenate([factor.real, -factor.imag, -factor.imag, -factor.real, np.full(len(layout.first), 2.0)])
        added = np.arange(plan.n_added)
        rows, columns = np.append(rows, plan.n_variables - plan.n_added + added), np.append(columns, layout.added + added)
        values = np.append(values, np.ones(plan.n_added))
        kept = values != 0
        return rows[kept], columns[kept], values[kept]

    @cached_property
    def pairs(self) -> Pairs:
        """Where a second-order row of results holds ∂²F/∂p∂p."""
        offsets = self.layouts[2].offsets
        found = []
        for a, indices in enumerate(self.floating_p):
            at = int(offsets[a]) + 2 * len(indices)
            for j in range(len(indices)):
                for k in range(j, len(indices)):
                    found += [(at, a, indices[j], indices[k])] + ([(at, a, indices[k], indices[j])] if j != k else [])
                    at += 2
        return Pairs(*np.array(found, dtype=np.int64).reshape(-1, 4).T)

    def channel_couplings(self, c: np.ndarray) -> np.ndarray:
        """Couplings times constant factors, for every channel."""
        return self.plan.factors * c[self.plan.coupling_of]

    def channel_p(self, p: np.ndarray) -> np.ndarray:
        """Iteration numbers p of every channel: [channel, max p]."""
        return p[self.p_index] if len(p) else np.zeros(self.p_index.shape)


@dataclass(frozen=True)
class Pairs:
    """Second derivatives in a row of results; those over two different positions of a channel are listed in both orders.

    Attributes:
        at:       position of the real part
        channel:  the channel
        j, k:     indices of the two p
    """

    at: np.ndarray
    channel: np.ndarray
    j: np.ndarray
    k: np.ndarray


@dataclass(frozen=True)
class SumLayout:
    """A row of results: value, (Re G, Im G) of every channel, the derivatives of one floating channel after the other, those over β.

    To first order a derivative is the one number Re(c G1); to second order it is (Re, Im) of G1 for each floating p and then of G2 for
    each pair.

    Attributes:
        order:    0, 1 or 2
        offsets:  where the derivatives of each channel begin, and where the last ones end
        first:    position of every first derivative
        channel:  its channel
        p:        index of its p
        n_added:  derivatives over β, at the end
    """

    order: int
    offsets: np.ndarray
    first: np.ndarray
    channel: np.ndarray
    p: np.ndarray
    n_added: int

    @classmethod
    def of(cls, plan: Plan, order: int) -> SumLayout:
        """The layout of a plan."""
        offsets, first, channels, p = [1 + 2 * len(plan.channels) if order else 1], [], [], []
        for a, channel in enumerate(plan.channels):
            floating = plan.kinds[channel.kind].floating
            n = len(floating)
            for k, position in enumerate(floating):
                first.append(offsets[-1] + (k if order == 1 else 2 * k))
                channels.append(a)
                p.append(channel.p[position])
            offsets.append(offsets[-1] + {0: 0, 1: n, 2: 2 * n + n * (n + 1)}[order])
        places = [np.array(values, dtype=np.int64) for values in (offsets, first, channels, p)]
        return cls(order, places[0], places[1], places[2], places[3], plan.n_added if order else 0)

    @property
    def length(self) -> int:
        """Length of a row."""
        return self.added + self.n_added

    @property
    def added(self) -> int:
        """Where the derivatives over β begin."""
        return int(self.offsets[-1])


@dataclass(frozen=True)
class ChannelSums:
    """What one pass over a sample gives: a row of results.

        G = Σ ω Q F,   G1 = Σ ω Q ∂F/∂p,   G2 = Σ ω Q ∂²F/∂p∂p,   Q = Σ_r K_r conj ψ_r,   ω = w/(I + Σ β b) or w

    Attributes:
        row:     the numbers
        layout:  what they mean
    """

    row: np.ndarray
    layout: SumLayout

    @property
    def value(self) -> float:
        """Σ w ln (I + Σ β b) or Σ w I."""
        return float(self.row[0])


def gradient(tables: Tables, sums: ChannelSums, channel_c: np.ndarray) -> np.ndarray:
    """∂V/∂(Re c, Im c, floating p, β) of V = Σ w ln (I + Σ β b) or Σ w I: 2 Re Σ ω ψ̄ ∂ψ, and Σ ω b."""
    plan, row, layout = tables.plan, sums.row, sums.layout
    if layout.order == 1:  # not a product of matrices, whose threads would get in the way of those of the kernels
        rows, columns, values = tables.first_order_map
        return np.bincount(rows, weights=values * row[columns], minlength=plan.n_variables)
    n_channels, n_c = len(plan.channels), plan.n_couplings
    by_channel = plan.factors * (row[1 : 1 + 2 * n_channels : 2] + 1j * row[2 : 2 + 2 * n_channels : 2])
    result = np.empty(plan.n_variables)
    result[:n_c] = np.bincount(plan.coupling_of, weights=by_channel.real, minlength=n_c)
    result[n_c : 2 * n_c] = -np.bincount(plan.coupling_of, weights=by_channel.imag, minlength=n_c)
    first = (channel_c[layout.channel] * (row[layout.first] + 1j * row[layout.first + 1])).real
    result[2 * n_c : 2 * n_c + plan.n_floating] = np.bincount(layout.p, weights=first, minlength=plan.n_floating)
    result *= 2
    result[2 * n_c + plan.n_floating :] = row[layout.added : layout.length]
    return result


def second_derivative_terms(tables: Tables, sums: ChannelSums, channel_c: np.ndarray) -> np.ndarray:
    """2 Re Σ ω ψ̄ ∂²ψ over (Re c, Im c, floating p, β): non-zero only inside a channel."""
    plan, row, layout, pairs = tables.plan, sums.row, sums.layout, tables.pairs
    n_c, n = plan.n_couplings, plan.n_variables
    if not len(layout.first):
        return np.zeros((n, n))
    coupling, column = plan.coupling_of[layout.channel], 2 * n_c + layout.p
    G1 = 2 * plan.factors[layout.channel] * (row[layout.first] + 1j * row[layout.first + 1])
    G2 = 2 * (channel_c[pairs.channel] * (row[pairs.at] + 1j * row[pairs.at + 1])).real
    places = np.concatenate([coupling * n + column, (n_c + coupling) * n + column])
    cross = np.bincount(places, weights=np.concatenate([G1.real, -G1.imag]), minlength=n * n).reshape(n, n)
    inside = np.bincount((2 * n_c + pairs.j) * n + 2 * n_c + pairs.k, weights=G2, minlength=n * n).reshape(n, n)
    return cross + cross.T + inside


def expand_gram(G_re: np.ndarray, G_im: np.ndarray, n_couplings: int) -> np.ndarray:
    """Re Σ conj(∂ψ_j) ∂ψ_k over (Re c, Im c, p) from the complex Gram matrix of columns (c, p); ∂ψ/∂Im c = i ∂ψ/∂Re c."""
    n = n_couplings
    H = np.empty((len(G_re) + n, len(G_re) + n))
    H[:n, :n] = H[n : 2 * n, n : 2 * n] = G_re[:n, :n]
    H[n : 2 * n, :n] = G_im[:n, :n]
    H[:n, n : 2 * n] = -G_im[:n, :n]
    H[:n, 2 * n :], H[n : 2 * n, 2 * n :] = G_re[:n, n:], G_im[:n, n:]
    H[2 * n :, :n], H[2 * n :, n : 2 * n] = G_re[n:, :n], -G_im[n:, :n]
    H[2 * n :, 2 * n :] = G_re[n:, n:]
    return H
