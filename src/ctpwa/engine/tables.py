"""The plan as arrays for the kernels, and the numbers that change with every evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ctpwa.engine.plan import Plan

LOG, PLAIN = 0, 1  # Σ w ln I, Σ w I


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
        width = max((len(segment.e) for segment in self.plan.segments), default=0)
        rows = np.zeros((len(self.plan.segments), max(width, 1)), dtype=np.int64)
        for index, segment in enumerate(self.plan.segments):
            rows[index, : len(segment.e)] = segment.e
        return rows

    @cached_property
    def structure_order(self) -> np.ndarray:
        """Structures in an order in which neighbours read the same event rows."""
        first_rows = {segment.structure: segment.e for segment in reversed(self.plan.segments) if segment.e}
        return np.array(sorted(range(self.plan.n_structures), key=lambda t: first_rows.get(t, ())), dtype=np.int64)

    @cached_property
    def segment_table(self) -> np.ndarray:
        """First and last channel and event rows of every segment."""
        width = max((len(kind.e_complex) for kind in self.plan.kinds), default=0)
        return np.hstack([self.segment_channels, self.segment_rows[:, :width]])

    def offsets(self, order: int) -> np.ndarray:
        """Where the sums of derivatives of every channel begin in a row of results; the last entry is its length."""
        result = [1 + 2 * len(self.plan.channels)]
        for channel in self.plan.channels:
            n = len(self.plan.kinds[channel.kind].floating)
            result.append(result[-1] + 2 * (n + (n * (n + 1) // 2 if order >= 2 else 0)))
        return np.array(result, dtype=np.int64)

    @cached_property
    def coupling_column(self) -> np.ndarray:
        """Coupling of every channel."""
        return self.plan.coupling_of

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
    def floating_channels(self) -> list[int]:
        """Channels that have any."""
        return [a for a, indices in enumerate(self.floating_p) if indices]

    @cached_property
    def p_column(self) -> np.ndarray:
        """``floating_p`` as an array, −1 where there is none: [channel, most floating p]."""
        column = np.full((len(self.plan.channels), max(map(len, self.floating_p), default=0) or 1), -1, dtype=np.int64)
        for row, indices in enumerate(self.floating_p):
            column[row, : len(indices)] = indices
        return column

    def channel_couplings(self, c: np.ndarray) -> np.ndarray:
        """Factor · c of every channel, complex."""
        return self.plan.factors * c[self.coupling_column]

    def channel_p(self, p: np.ndarray) -> np.ndarray:
        """P of every channel: [channel, max p]."""
        return p[self.p_index] if len(p) else np.zeros(self.p_index.shape)


@dataclass(frozen=True)
class ChannelSums:
    """What one pass over a sample gives, before it is combined.

        G = Σ ω Q F,   G1 = Σ ω Q ∂F/∂p,   G2 = Σ ω Q ∂²F/∂p∂p,   Q = Σ_r K_r conj ψ_r,   ω = w/I or w

    Attributes:
        value:  Σ w ln I or Σ w I
        G:      [channel], complex
        G1:     for every channel, over its floating p, complex
        G2:     for every channel, over pairs of its floating p, complex
    """

    value: float
    G: np.ndarray
    G1: list[np.ndarray]
    G2: list[np.ndarray]


def unpack(tables: Tables, flat: np.ndarray, order: int) -> ChannelSums:
    """Name the parts of a row of results: value, G of all channels, then G1 and G2 of one channel after the other."""
    n_channels = len(tables.plan.channels)
    if not order:
        return ChannelSums(float(flat[0]), np.zeros(n_channels, dtype=complex), [], [])
    pairs = flat[1::2] + 1j * flat[2::2]
    starts = (tables.offsets(order) - 1) // 2
    G1, G2 = [], []
    for a, channel in enumerate(tables.plan.channels):
        own = pairs[starts[a] : starts[a + 1]]
        n = len(tables.plan.kinds[channel.kind].floating)
        G1.append(own[:n])
        G2.append(own[n:])
    return ChannelSums(float(flat[0]), pairs[:n_channels], G1, G2)


def gradient(tables: Tables, sums: ChannelSums, channel_c: np.ndarray) -> np.ndarray:
    """∂V/∂(Re c, Im c, floating p) of V = Σ w ln I or Σ w I: 2 Re Σ ω ψ̄ ∂ψ."""
    plan = tables.plan
    by_coupling = np.zeros(plan.n_couplings, dtype=complex)
    np.add.at(by_coupling, tables.coupling_column, plan.factors * sums.G)
    by_p = np.zeros(plan.n_floating)
    for a in tables.floating_channels:
        np.add.at(by_p, tables.floating_p[a], (channel_c[a] * sums.G1[a]).real)
    return 2 * np.concatenate([by_coupling.real, -by_coupling.imag, by_p])


def second_derivative_terms(tables: Tables, sums: ChannelSums, channel_c: np.ndarray) -> np.ndarray:
    """2 Re Σ ω ψ̄ ∂²ψ over (Re c, Im c, floating p): non-zero only inside a channel."""
    plan = tables.plan
    n_c, n = plan.n_couplings, 2 * plan.n_couplings + plan.n_floating
    H = np.zeros((n, n))
    for a, channel in enumerate(plan.channels):
        floating = [2 * n_c + channel.p[i] for i in plan.kinds[channel.kind].floating]
        for f, column in enumerate(floating):
            value = 2 * channel.factor * sums.G1[a][f]
            for row, part in ((channel.coupling, value.real), (n_c + channel.coupling, -value.imag)):
                H[row, column] += part
                H[column, row] += part
        position = 0
        for j in range(len(floating)):
            for k in range(j, len(floating)):
                value = 2 * (channel_c[a] * sums.G2[a][position]).real
                H[floating[j], floating[k]] += value
                if j != k:
                    H[floating[k], floating[j]] += value
                position += 1
    return H


def expand_gram(G_re: np.ndarray, G_im: np.ndarray, n_couplings: int) -> np.ndarray:
    """Re Σ conj(∂ψ_j) ∂ψ_k over (Re c, Im c, p) from the complex Gram matrix of columns (c, p); ∂ψ/∂Im c = i ∂ψ/∂Re c."""
    c, p = slice(0, n_couplings), slice(n_couplings, None)
    return np.block(
        [
            [G_re[c, c], -G_im[c, c], G_re[c, p]],
            [G_im[c, c], G_re[c, c], G_im[c, p]],
            [G_re[p, c], -G_im[p, c], G_re[p, p]],
        ]
    )
