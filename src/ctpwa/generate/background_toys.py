"""Toy background: events of phase space, accepted in proportion to a density."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import GenerationError
from ctpwa.data.density import Density, checked_density
from ctpwa.data.events import Events
from ctpwa.data.stream import Piece
from ctpwa.generate.accepted import SAFETY, Accepted
from ctpwa.generate.masses import checked_device
from ctpwa.generate.phase_space import generate_phase_space
from ctpwa.model.model import Model

BLOCK = 1 << 13  # events tried at a time
MOST_TRIES = 10_000  # for one accepted event


def parts_of(n: int, fractions: Sequence[float], seed: int) -> list[int]:
    """How many of n events are signal, and how many belong to each background; they scatter as in data.

    Args:
        n:          events in all
        fractions:  of the backgrounds
        seed:       seed of the random numbers
    """
    signal = 1 - sum(fractions)
    if not all(0 <= fraction <= 1 for fraction in fractions) or signal < 0:
        raise GenerationError(f"the fractions of backgrounds are {', '.join(f'{f:g}' for f in fractions)}\n fix: give numbers from 0 to 1")
    return np.random.default_rng([seed, 1]).multinomial(n, [signal, *fractions]).tolist()


def generate_background(
    model: Model,
    density: Density,
    n: int,
    seed: int = 0,
    number: int = 0,
    *,
    name: str = "",
    efficiency: Callable[[Events], Any] | None = None,
    columns: Mapping[str, float | Sequence[float]] | None = None,
    device: str | torch.device = "cpu",
) -> Events:
    """Events that are distributed like a density relative to phase space. If a larger density turns up later, all events accepted so far
    are compared with it again, which keeps the distribution exact.

    Args:
        model:       whose decay it is
        density:     relative to phase space
        n:           number of events
        seed:        seed of the random numbers
        number:      of the background, if there are several with one seed
        name:        of the background, for messages
        efficiency:  function of events: the probability in [0, 1] of keeping each; default: all are kept
        columns:     event columns of the model by name, with the numbers that all events get
        device:      where to generate
    """
    own_device, labels = checked_device(device), model.decay.labels
    seeds = np.random.SeedSequence([seed, number, 2])
    random = torch.Generator(device=own_device).manual_seed(int(seeds.generate_state(1)[0]))
    known = generate_phase_space(model, 0, columns=columns, device=device, progress=False).columns
    sizes = {name: 1 if values.ndim == 1 else values.shape[1] for name, values in known.items()}
    accepted = Accepted(n, 0.0, own_device, len(labels) + sum(sizes.values()))
    while accepted.n < n:
        (block,) = seeds.spawn(1)
        flat = generate_phase_space(model, BLOCK, int(block.generate_state(1)[0]), columns=columns, device=device, progress=False)
        piece = Piece([flat[label] for label in labels], None, dict(flat.columns))
        w = checked_density(density(piece), name or str(number + 1), "toy", accepted.tried, positive=False)
        if efficiency is not None:
            w = w * torch.as_tensor(efficiency(flat), dtype=torch.float64, device=own_device)
        if not accepted.tried:
            accepted.maximum = SAFETY * float(w.max())
        uniform = torch.rand(BLOCK, generator=random, dtype=torch.float64, device=own_device)
        accepted.add(_rows(flat, labels), w, uniform)
        if accepted.tried > MOST_TRIES * max(accepted.n, 1):
            raise GenerationError(
                f"only {accepted.n} of {accepted.tried} background events were accepted\n fix: check the density of {name or number + 1}"
            )
    rows = accepted.momenta()
    momenta = {label: rows[i].T.contiguous() for i, label in enumerate(labels)}
    return Events(momenta, None, _columns(rows[len(labels) :, 0], sizes))


def _rows(events: Events, labels: Sequence[str]) -> Tensor:
    """Momenta and event columns as rows of four numbers, [row, 4, event]; a number of a column is the first of its row."""
    numbers = [own for values in events.columns.values() for own in (values[None] if values.ndim == 1 else values.T)]
    momenta = torch.stack([events[label].T for label in labels])
    return torch.cat([momenta, *(torch.stack([own, own, own, own])[None] for own in numbers)])


def _columns(rows: Tensor, sizes: Mapping[str, int]) -> dict[str, Tensor]:
    """Event columns by name from their numbers, [number, event]."""
    parts = rows.split(list(sizes.values()))
    return {name: own[0] if sizes[name] == 1 else own.T.contiguous() for name, own in zip(sizes, parts, strict=True)}
