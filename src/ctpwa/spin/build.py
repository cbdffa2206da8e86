"""Waves × momenta → SpinAmplitudes, in chunks of bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import torch
from torch import Tensor

from ctpwa.data.momenta import check_momenta, read_momenta
from ctpwa.decay.chain import Decay
from ctpwa.decay.structure import Structure
from ctpwa.errors import DataError
from ctpwa.memory import available_bytes, format_bytes
from ctpwa.progress import Progress
from ctpwa.spin.amplitudes import SpinAmplitudes, WaveTerm
from ctpwa.spin.evaluate import Evaluator, harmonics_needed, on_light_cone
from ctpwa.spin.polarisation import Polarisation
from ctpwa.spin.rotate import RowRotation
from ctpwa.spin.rows import Rows
from ctpwa.spin.storage import Storage

# temporary memory per chunk: small on a CPU so that it stays near the caches, large on a GPU to hide kernel launches
CHUNK_BYTES = {"cpu": 128 << 20, "cuda": 2 << 30}
MIN_CHUNK, MAX_CHUNK = 1024, 1 << 20
# with hundreds of structures an event takes so much that chunks would be short, and most of the time spent between operations: all
# chunks together may then take this much on a CPU
MANY_BYTES, LONG_CHUNK = 2 << 30, 4096
ROW_COPIES = 3  # of the amplitudes of a chunk, while its rows are rotated


def build_spin_amplitudes(
    decay: Decay,
    waves: Sequence[Any],
    momenta: Mapping[str, Any],
    polarisation: Polarisation,
    *,
    barrier: bool = False,
    zou_bugg: bool = False,
    device: str | torch.device | None = None,
    chunk_size: int | None = None,
    progress: bool | None = None,
) -> SpinAmplitudes:
    """Compute K of all waves for all events; see ``Model.spin_amplitudes``."""
    structures, terms = collect_structures(waves, barrier)
    rows = Rows(decay, polarisation)
    K = _compute(
        decay,
        structures,
        momenta,
        rows,
        None,
        None,
        barrier=barrier,
        zou_bugg=zou_bugg,
        device=device,
        chunk_size=chunk_size,
        progress=progress,
    )
    return SpinAmplitudes(K, structures, terms, tuple(waves), rows)


def build_rotated_rows(
    decay: Decay,
    waves: Sequence[Any],
    momenta: Mapping[str, Any],
    polarisation: Polarisation,
    rotation: RowRotation,
    *,
    storage: Storage | None = None,
    zou_bugg: bool = False,
    device: str | torch.device | None = None,
    progress: bool | None = None,
    first: int = 0,
    chunk_bytes: int | None = None,
) -> Tensor:
    """K with barrier factors and only the rows that ``rotation`` keeps: all that an intensity needs; stored as ``storage`` says.

    ``first`` is the number of the first event, for messages; ``chunk_bytes`` limits the temporary memory on a GPU.
    """
    structures, _ = collect_structures(waves, barrier=True)
    return _compute(
        decay,
        structures,
        momenta,
        Rows(decay, polarisation),
        rotation,
        storage,
        barrier=True,
        zou_bugg=zou_bugg,
        device=device,
        chunk_size=None,
        progress=progress,
        first=first,
        chunk_bytes=chunk_bytes,
    )


def _compute(
    decay: Decay,
    structures: Sequence[Sequence[tuple[Structure, int]]],
    momenta: Mapping[str, Any],
    rows: Rows,
    rotation: RowRotation | None,
    storage: Storage | None,
    *,
    barrier: bool,
    zou_bugg: bool,
    device: str | torch.device | None,
    chunk_size: int | None,
    progress: bool | None,
    first: int = 0,
    chunk_bytes: int | None = None,
) -> Tensor:
    p4 = read_momenta(momenta, decay.labels, device)
    n_events = len(p4[0])
    where = p4[0].device
    n_rows = rows.n_rows if rotation is None else rotation.n_rows
    K = _allocate((len(structures), n_rows, n_events), rows.dtype if storage is None else storage.dtype(rows.dtype), where)
    tops = [structure for parts in structures for structure, _ in parts]
    max_L = harmonics_needed(tops)

    def evaluate(start: int, stop: int) -> int:
        chunk = [_on_shell(p[start:stop].T.contiguous(), particle.massless) for p, particle in zip(p4, decay.final, strict=True)]
        check_momenta([p[start:stop].T for p in p4], decay.labels, decay.final, first + start)
        evaluator = Evaluator(decay.final, chunk, max_L, barrier=barrier, zou_bugg=zou_bugg)
        in_place = n_rows == rows.n_rows and storage is None
        shape = (len(structures), rows.n_rows, stop - start)
        target = K[..., start:stop] if in_place else torch.empty(shape, dtype=rows.dtype, device=where)
        for index, parts in enumerate(structures):
            A = _sum_parts(evaluator, parts, rows.two_ms)
            rows.store(A, parts[0][0].total_L, target[index])
        if not in_place:
            kept = target if rotation is None else rotation.apply(target)
            K[..., start:stop] = kept if storage is None else storage.stored(kept, first + start)
        return evaluator.cached_bytes + (0 if in_place else ROW_COPIES * target.numel() * target.element_size())

    if n_events:
        size = chunk_size or _chunk_size(evaluate, where.type, chunk_bytes)
        _for_chunks(evaluate, n_events, size, where.type, progress)
    return K


def collect_structures(
    waves: Sequence[Any], barrier: bool
) -> tuple[tuple[tuple[tuple[Structure, int], ...], ...], tuple[tuple[WaveTerm, ...], ...]]:
    """Every distinct structure once, and for each wave the terms that refer to them.

    Without barrier factors the radius of a vertex does not matter, and structures that differ only in it are one.
    """
    index: dict[tuple[tuple[Structure, int], ...], int] = {}
    terms = []
    for wave in waves:
        own = []
        for term in wave.terms:
            parts = term.parts if barrier else tuple((_without_radius(s), count) for s, count in term.parts)
            own.append(WaveTerm(index.setdefault(parts, len(index)), term.factor, term.systems))
        terms.append(tuple(own))
    return tuple(index), tuple(terms)


def _without_radius(structure: Structure) -> Structure:
    first, second = (_without_radius(d) if isinstance(d, Structure) else d for d in structure.daughters)
    return Structure(structure.two_J, structure.ls, (first, second), 0.0)


def _sum_parts(evaluator: Evaluator, parts: Sequence[tuple[Structure, int]], two_ms: Sequence[int]) -> Tensor:
    (first, count), *others = parts
    A = evaluator.top_amplitude(first, two_ms)
    if count != 1:
        A = count * A
    for structure, count in others:
        A = A + count * evaluator.top_amplitude(structure, two_ms)
    return A


def _on_shell(p4: Tensor, massless: bool) -> Tensor:
    return on_light_cone(p4) if massless else p4


def _allocate(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    needed = torch.Size(shape).numel() * torch.empty((), dtype=dtype).element_size()
    free = available_bytes(device)
    if free is not None and needed > free:
        raise DataError(
            f"spin amplitudes of {shape[0]} wave structures × {shape[1]} polarisations × {shape[2]} events need "
            f"{format_bytes(needed)}, but {device} has {format_bytes(free)} free\n fix: use fewer events or another device"
        )
    return torch.empty(shape, dtype=dtype, device=device)


def _chunk_size(evaluate: Callable[[int, int], int], device_type: str, most: int | None) -> int:
    """Events per chunk from the bytes that a single event takes, and perhaps the most that a chunk may take on a GPU."""
    per_event = max(evaluate(0, 1), 1)
    budget = CHUNK_BYTES.get(device_type, CHUNK_BYTES["cuda"])
    size = (budget if most is None or device_type == "cpu" else min(budget, most)) // per_event
    if device_type == "cpu":
        size = max(size, min(LONG_CHUNK, MANY_BYTES // torch.get_num_threads() // per_event))
    return min(max(size, MIN_CHUNK), MAX_CHUNK)


def _for_chunks(evaluate: Callable[[int, int], int], n_events: int, size: int, device_type: str, progress: bool | None) -> None:
    """All chunks in order on a GPU; on a CPU one thread per core, since a chunk is too small to split inside torch."""
    chunks = [(start, min(start + size, n_events)) for start in range(0, n_events, size)]
    workers = min(torch.get_num_threads(), len(chunks)) if device_type == "cpu" else 1
    with Progress("spin amplitudes", n_events, show=progress) as bar:
        if workers == 1:
            for start, stop in chunks:
                evaluate(start, stop)
                bar.advance(stop - start)
            return
        with ThreadPoolExecutor(workers) as pool:
            futures = {pool.submit(evaluate, *chunk): chunk for chunk in chunks}
            try:
                for future in as_completed(futures):
                    future.result()
                    start, stop = futures[future]
                    bar.advance(stop - start)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
