"""Sums over samples wherever they are: what is on the device in one go, the rest chunk by chunk, with one wait at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ctpwa.engine.backends.batch import batch_sums_of_chunks
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.backends.expansion import NOTHING, Expansion
from ctpwa.engine.backends.gram import Gram
from ctpwa.engine.plan.tables import LOG
from ctpwa.engine.samples.build import CallbackValues, original_order
from ctpwa.engine.samples.sample import Sample
from ctpwa.engine.samples.stored_sample import SampleSource, StoredSample


def begin_expansions(
    engine: Engine,
    groups: Sequence[tuple[SampleSource, int]],
    c: np.ndarray,
    p: np.ndarray,
    order: int,
    refresh: CallbackValues,
    size: int,
    *,
    relative: bool = False,
) -> Callable[[], list[Expansion]]:
    """Begin Σ w ln I or Σ w I of samples; what is returned waits for one expansion for each.

    Args:
        engine:    computes the sums
        groups:    samples, each with LOG or PLAIN
        c, p:      couplings and iteration numbers
        order:     highest derivative
        refresh:   fills in callbacks
        size:      variables of an expansion
        relative:  β are relative to Σ w I of the PLAIN ones, which come first; all events are on the device
    """
    tasks = [(sample, mode) for source, mode in groups for sample in source.resident]
    for sample, _ in tasks:
        refresh(sample, order)
    wait = engine.begin(tasks, c, p, order, relative=relative) if tasks else list
    rows = [_streamed_row(engine, source, mode, c, p, order, refresh) if source.streams else None for source, mode in groups]

    def result() -> list[Expansion]:
        found: Iterator[Expansion] = iter(wait())
        host = _on_host(rows)
        results = []
        for (source, mode), row in zip(groups, host, strict=True):
            parts = [next(found) for _ in source.resident]
            results.append(add_up(parts if row is None else [*parts, engine.expansion(row, mode, order)], size, order))
        return results

    return result


@dataclass(frozen=True)
class SquaredSums:
    """Sums over events with w² instead of w.

    Attributes:
        gram:    Gram matrices of Σ w² ln I
        first:   Σ w² ln I to first order
        weight:  Σ w²
    """

    gram: Gram
    first: Expansion
    weight: float


def squared_sums(
    engine: Engine, source: SampleSource, c: np.ndarray, p: np.ndarray, refresh: CallbackValues, sign: float
) -> SquaredSums | None:
    """Sums with w² over the events whose weights have a sign; None if there are none."""
    engine.set_numbers(c, p)
    grams, sums, weight = _Total(), _Total(), 0.0
    with closing(source.passing()) as samples:
        for sample in chain(source.resident, samples):
            if sample.n_positive == (0 if sign > 0 else sample.n_events):
                continue
            refresh(sample, 1)
            chosen = sample.w if sign > 0 else -sample.w
            squared = replace(sample, w=chosen.clamp(min=0).square(), n_positive=sample.n_events)
            grams.add(engine.gram_row(squared, LOG))
            sums.add(engine.sum_row(squared, LOG, 1))
            weight += float(squared.w.sum())
            del sample, squared  # before the next one takes as much again
    gram, row = _on_host([grams.row, sums.row])
    return None if gram is None or row is None else SquaredSums(engine.gram_of(gram), engine.expansion(row, LOG, 1), weight)


def log_gradient(engine: Engine, source: SampleSource, c: np.ndarray, p: np.ndarray, refresh: CallbackValues, size: int) -> np.ndarray:
    """The gradient of Σ w ln I in ``size`` variables."""
    (found,) = begin_expansions(engine, [(source, LOG)], c, p, 1, refresh, size)()
    return found.gradient


def begin_batches(engine: Any, source: SampleSource, mix: np.ndarray, p: np.ndarray, order: int) -> Callable[[], np.ndarray]:
    """Begin ``batch_sums`` of a sample; what is returned waits for one row of numbers for each vector, or for 0 if there are no events."""
    waits = [engine.begin_batch(sample, mix, p, order) for sample in source.resident]
    with closing(source.passing()) as samples:
        streamed = batch_sums_of_chunks(engine, samples, mix, p, order)

    def result() -> np.ndarray:
        rows = [wait() for wait in waits]
        return sum(rows if streamed is None else [*rows, streamed.cpu().numpy()[: len(mix) // 2]], np.zeros(()))

    return result


def begin_many(
    engine: Any, groups: Sequence[tuple[SampleSource, int]], c: np.ndarray, p: np.ndarray, size: int, *, relative: bool
) -> Callable[[], list[list[Expansion]]]:
    """Begin ``begin_expansions`` to first order at many values [value, coupling], [value, number]; all events are on the device."""
    tasks = [(sample, mode) for source, mode in groups for sample in source.resident]
    wait = engine.begin_many(tasks, c, p, relative=relative)

    def result() -> list[list[Expansion]]:
        return [[add_up([next(found) for _ in source.resident], size, 1) for source, _ in groups] for found in map(iter, wait())]

    return result


def intensities(engine: Engine, stored: StoredSample, c: np.ndarray, p: np.ndarray, refresh: CallbackValues) -> Tensor:
    """I of every event in the order of the input: on the device if all events are there, else in main memory."""
    engine.set_numbers(c, p)
    if not stored.chunks:
        parts = []
        for sample in stored.resident:
            refresh(sample, 0)
            parts.append(original_order(_of_events(engine, sample), sample.order))
        return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)
    result = stored.streamer.host_block(8 * stored.n_events).view(torch.float64)
    done, moved = 0, []
    for sample in stored.resident:
        refresh(sample, 0)
        result[done : done + sample.n_events].copy_(original_order(_of_events(engine, sample), sample.order), non_blocking=True)
        done += sample.n_events
    with closing(stored.passing()) as samples:
        for sample in samples:
            refresh(sample, 0)
            part = result[done : done + sample.n_events]
            part.copy_(_of_events(engine, sample), non_blocking=True)
            moved.append(part)
            done += sample.n_events
    if engine.device.type == "cuda":
        torch.cuda.current_stream(engine.device).synchronize()
    for part, order in zip(moved, stored.orders(), strict=True):
        part.copy_(original_order(part, order))
    return result


def intensity_slopes(
    engine: Engine, stored: StoredSample, c: np.ndarray, p: np.ndarray, refresh: CallbackValues, along: np.ndarray
) -> Tensor:
    """∂I of every event in the order of the input, [event, direction], in main memory; each event is one point.

    Args:
        engine:   computes columns D = ∂ψ/∂c: ∂I = 2 Re Σ ψ̄ D ∂c over rows
        stored:   the sample
        c, p:     couplings and iteration numbers
        refresh:  fills in callbacks
        along:    ∂(Re c), then ∂(Im c), [part, direction]
    """
    n_c, n = len(c), along.shape[1]
    turned = torch.from_numpy(along[:n_c] + 1j * along[n_c:]).to(engine.device)
    mix = torch.from_numpy(c).to(engine.device)
    parts = []
    with closing(stored.passing()) as streamed:
        orders = chain((sample.order for sample in stored.resident), stored.orders() if stored.chunks else ())
        for sample, order in zip(chain(stored.resident, streamed), orders, strict=False):
            refresh(sample, 1)
            engine.set_numbers(c, p)
            own = torch.empty(sample.n_events, n, dtype=torch.float64)
            for start, stop, columns in engine.raw_columns(sample, p, 4 * n * engine.plan.n_rows):
                re, im = columns.view(2, -1, engine.plan.n_rows, stop - start)[:, :n_c]
                D = torch.complex(re, im)
                psi = torch.einsum("k,kre->re", mix, D)
                own[start:stop] = 2 * torch.einsum("re,kre->ek", psi.conj(), D).matmul(turned).real.cpu()
            parts.append(original_order(own, order))
    return torch.cat(parts) if parts else torch.zeros(0, n, dtype=torch.float64)


def _of_events(engine: Engine, sample: Sample) -> Tensor:
    """I of every event; the sum over its points, with their weights, if it has several."""
    I = engine.intensities(sample)
    return I if sample.v is None else (I.view(sample.v.shape) * sample.v).sum(dim=1)


def add_up(parts: Sequence[Expansion], size: int, order: int) -> Expansion:
    """The sum of several expansions in ``size`` variables; zero if there is none."""
    if len(parts) == 1:
        return parts[0]
    grad = np.zeros(size if order >= 1 else 0)
    H = np.zeros((size, size) if order >= 2 else 0)
    for part in parts:
        grad = grad + part.gradient if order >= 1 else grad
        H = H + part.hessian if order >= 2 else H
    return Expansion(float(sum(part.value for part in parts)), grad, H if order >= 2 else NOTHING)


class _Total:
    """Rows of numbers added up on the device; ``row`` is None if there was none."""

    def __init__(self) -> None:
        self.row: Tensor | None = None

    def add(self, row: Tensor) -> None:
        """Add one, which is no longer used."""
        self.row = row if self.row is None else self.row.add_(row)


def _streamed_row(
    engine: Engine, source: SampleSource, mode: int, c: np.ndarray, p: np.ndarray, order: int, refresh: CallbackValues
) -> Tensor | None:
    """Sums over all chunks that pass through the device."""
    total = _Total()
    with closing(source.passing()) as samples:
        for sample in samples:
            if total.row is None:
                engine.set_numbers(c, p)
            refresh(sample, order)
            total.add(engine.sum_row(sample, mode, order))
    return total.row


def _on_host(rows: Sequence[Tensor | None]) -> list[np.ndarray | None]:
    """Rows brought to main memory together."""
    present = [row for row in rows if row is not None]
    if not present:
        return [None] * len(rows)
    host = torch.cat(present).cpu().numpy()
    parts = iter(np.split(host, np.cumsum([len(row) for row in present])[:-1]))
    return [None if row is None else next(parts) for row in rows]
