"""From momenta to samples: spin amplitudes in as few polarisation rows as a model needs, and the event table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ctpwa.data.rows import Rows
from ctpwa.engine.plan import Plan
from ctpwa.engine.sample import Sample, build_sample, callback_point, fill_callback
from ctpwa.model.model import Model
from ctpwa.ranks import ONE, Ranks
from ctpwa.spin.build import build_rotated_rows
from ctpwa.spin.rotate import RowRotation
from ctpwa.spin.storage import Storage

PROBE_EVENTS = 256  # of each sample, to find out how many polarisation rows are needed


def find_rotation(model: Model, samples: Sequence[Sequence[Tensor]], rows: Sequence[Rows] = (), ranks: Ranks = ONE) -> RowRotation:
    """Rows that the first events of all samples need.

    Args:
        model:    the model
        samples:  for each sample the momenta of all final particles, each [event, 4]; the first ``PROBE_EVENTS`` are enough
        rows:     which rows of the whole samples they are, if several processes share them
        ranks:    processes that share the events: all of them find the same
    """
    first = [[p[:PROBE_EVENTS].cpu() for p in p4] for p4 in samples]
    if ranks.size > 1:
        first = [_first_events(p4, own, ranks) for p4, own in zip(first, rows, strict=True)]
    together = {label: torch.cat([p4[i] for p4 in first]) for i, label in enumerate(model.decay.labels)}
    return RowRotation.of(model.spin_amplitudes(together, barrier=True, progress=False).K)


def _first_events(p4: Sequence[Tensor], rows: Rows, ranks: Ranks) -> list[Tensor]:
    """The first events of the whole sample, in their order."""
    numbers = rows.numbers(0, len(p4[0]))  # they ascend: the first events of the whole are the first ones here
    here = np.flatnonzero(numbers < PROBE_EVENTS)
    table = np.concatenate([numbers[here, None], *(p[torch.from_numpy(here).to(p.device)].cpu().numpy() for p in p4)], axis=1)
    found = np.concatenate([np.frombuffer(part).reshape(-1, table.shape[1]) for part in ranks.gather(table.tobytes())])
    found = found[np.argsort(found[:, 0])]
    return [torch.from_numpy(found[:, 1 + 4 * i : 5 + 4 * i].copy()) for i in range(len(p4))]


def sample_of(
    model: Model,
    plan: Plan,
    rotation: RowRotation,
    p4: Sequence[Tensor],
    weights: Tensor | None,
    device: torch.device,
    progress: bool | None = False,
    *,
    exact: bool = False,
    first: int = 0,
    chunk_bytes: int | None = None,
) -> Sample:
    """A sample on a device, ready for the kernels.

    Args:
        model:     the model
        plan:      its tables
        rotation:  which polarisation rows to keep
        p4:        momenta of the final particles, each [event, 4]
        weights:   [event]; None if all are 1
        device:    where to compute
        progress:  whether to show a progress bar
        exact:     K in double precision, also if the plan is for mixed precision
        first:     number of the first event, for messages
        chunk_bytes:  temporary memory on a GPU; default: a fixed amount

    Raises:
        RowsNeeded: some event needs more rows than ``rotation`` keeps
    """
    momenta = [p.to(device) for p in p4]
    K = build_rotated_rows(
        model.decay,
        model.waves,
        dict(zip(model.decay.labels, momenta, strict=True)),
        model.polarisation,
        RowRotation(rotation.n_rows, rotation.scale.to(device)),
        storage=None if plan.exponents is None else Storage(plan.exponents, single=not exact),
        zou_bugg=model.zou_bugg,
        device=device,
        progress=progress,
        first=first,
        chunk_bytes=chunk_bytes,
    )
    return build_sample(plan, K, momenta, weights)


class CallbackValues:
    """Parameters of lineshapes without a formula at one point, brought to the device once for all samples.

    Args:
        plan:    the tables
        theta:   values of ``plan.parameters``
        device:  that of the engine
    """

    def __init__(self, plan: Plan, theta: np.ndarray, device: torch.device) -> None:
        values = dict(plan.fixed) | dict(zip(plan.parameters, theta, strict=True)) if plan.callbacks else {}
        self._filled = [(callback, *callback_point(callback, values, device)) for callback in plan.callbacks]

    def __call__(self, sample: Sample, order: int) -> None:
        """Fill their rows of the event table of a sample on the device, with derivatives up to ``order``."""
        for callback, present, directions in self._filled:
            fill_callback(callback, sample, present, directions, order)


def original_order(I: Tensor, order: Tensor | None) -> Tensor:
    """Numbers per event of a sample in the order in which the events came in."""
    if order is None:
        return I
    result = torch.empty_like(I)
    result[order] = I
    return result
