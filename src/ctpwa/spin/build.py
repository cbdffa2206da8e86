"""Waves × momenta → SpinAmplitudes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ctpwa.base.progress import Progress
from ctpwa.data.event_column import EventColumn, checked_columns
from ctpwa.data.momenta import read_momenta
from ctpwa.decay.barrier import BLATT_WEISSKOPF
from ctpwa.decay.chain import Decay
from ctpwa.decay.structure import Structure
from ctpwa.spin.amplitudes import SpinAmplitudes, WaveTerm
from ctpwa.spin.formalism import CANONICAL
from ctpwa.spin.production import Production
from ctpwa.spin.stage import SpinStage, StructureParts


def build_spin_amplitudes(
    decay: Decay,
    waves: Sequence[Any],
    momenta: Mapping[str, Any],
    production: Production,
    declared: Sequence[EventColumn] = (),
    *,
    barrier: bool = False,
    formalism: str = CANONICAL,
    device: str | torch.device | None = None,
    chunk_size: int | None = None,
    progress: bool | None = None,
) -> SpinAmplitudes:
    """Compute K of all waves for all events; see ``Model.spin_amplitudes``."""
    structures, terms = collect_structures(waves, barrier)
    rows = production.rows(decay)
    p4 = read_momenta(momenta, decay.labels, device)
    used = [column for column in declared if column.name in rows.columns]
    columns = checked_columns(getattr(momenta, "columns", {}), used, len(p4[0]), "momenta")
    columns = {name: values.to(p4[0].device) for name, values in columns.items()}
    stage = SpinStage(decay, structures, rows, p4[0].device, barrier=barrier, formalism=formalism, chunk_size=chunk_size)
    K = stage.allocate(len(p4[0]))
    with Progress("spin amplitudes", len(p4[0]), show=progress) as bar:
        stage.fill(K, p4, columns, advance=bar.advance)
        stage.finish()
    stage.release()
    return SpinAmplitudes(K, structures, terms, tuple(waves), rows)


def collect_structures(waves: Sequence[Any], barrier: bool) -> tuple[tuple[StructureParts, ...], tuple[tuple[WaveTerm, ...], ...]]:
    """Every distinct structure once, and for each wave the terms that refer to them.

    Without barrier factors, structures that differ only in barriers are one.
    """
    index: dict[StructureParts, int] = {}
    terms = []
    for wave in waves:
        own = []
        for term in wave.terms:
            parts = term.parts if barrier else tuple((_without_barrier(s), count) for s, count in term.parts)
            own.append(WaveTerm(index.setdefault(parts, len(index)), term.factor, term.systems))
        terms.append(tuple(own))
    return tuple(index), tuple(terms)


def _without_barrier(structure: Structure) -> Structure:
    first, second = (_without_barrier(d) if isinstance(d, Structure) else d for d in structure.daughters)
    return replace(structure, daughters=(first, second), radius=0.0, form=BLATT_WEISSKOPF, l=None)
