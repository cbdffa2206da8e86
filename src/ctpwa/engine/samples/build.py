"""From momenta to samples: spin amplitudes in as few polarisation rows as a model needs, and the event table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.progress import Progress
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.data.events import Events
from ctpwa.data.on_device import on_device
from ctpwa.data.own_part import OwnPart
from ctpwa.data.resolution import Resolution, checked_points
from ctpwa.data.stream import Piece
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.sample import CHUNK_EVENTS, Sample, build_sample, callback_point, fill_callback, fill_table, vertex_variables
from ctpwa.model.model import Model
from ctpwa.spin.build import collect_structures
from ctpwa.spin.rotate import RowRotation
from ctpwa.spin.stage import SpinStage
from ctpwa.spin.storage import Storage

PROBE_EVENTS = 256  # of each sample, to find out how many polarisation rows are needed


def find_rotation(model: Model, samples: Sequence[Piece], parts: Sequence[OwnPart] = (), ranks: Ranks = ONE) -> RowRotation:
    """Rows that the first events of all samples need.

    Args:
        model:    the model
        samples:  the events of each sample; the first ``PROBE_EVENTS`` are enough
        parts:    which events of the whole samples they are, if several processes share them
        ranks:    processes that share the events: all of them find the same
    """
    first = [piece.part(0, PROBE_EVENTS).to(torch.device("cpu")) for piece in samples]
    if ranks.size > 1:
        first = [_first_events(piece, own, ranks) for piece, own in zip(first, parts, strict=True)]
    momenta = {label: torch.cat([piece.p4[i] for piece in first]) for i, label in enumerate(model.decay.labels)}
    columns = {column.name: torch.cat([piece.columns[column.name] for piece in first]) for column in model.columns}
    return RowRotation.of(model.spin_amplitudes(Events(momenta, None, columns), barrier=True, progress=False).K)


def _first_events(piece: Piece, own: OwnPart, ranks: Ranks) -> Piece:
    """The first events of the whole sample, in their order."""
    numbers = own.numbers(0, piece.n_events)  # they ascend: the first events of the whole are the first ones here
    here = np.flatnonzero(numbers < PROBE_EVENTS)
    values = [*piece.p4, *piece.columns.values()]
    widths = [math.prod(v.shape[1:]) for v in values]
    flat = [v[torch.from_numpy(here)].reshape(len(here), n).numpy() for v, n in zip(values, widths, strict=True)]  # there may be no event
    table = np.concatenate([numbers[here, None], *flat], axis=1)
    found = np.concatenate([np.frombuffer(part).reshape(-1, table.shape[1]) for part in ranks.gather(table.tobytes())])
    ordered = torch.from_numpy(found[np.argsort(found[:, 0]), 1:])
    tensors = [part.reshape(-1, *v.shape[1:]).contiguous() for part, v in zip(ordered.split(widths, dim=1), values, strict=True)]
    n = len(piece.p4)
    return Piece(tensors[:n], None, dict(zip(piece.columns, tensors[n:], strict=True)))


def spin_stage(model: Model, rotation: RowRotation, device: torch.device, chunk_bytes: int | None = None) -> SpinStage:
    """Computes K of a model with barrier factors and only the rows that ``rotation`` keeps: all that an intensity needs.

    ``chunk_bytes`` is the most temporary memory it may take.
    """
    structures, _ = collect_structures(model.waves, barrier=True)
    rows = model.production.rows(model.decay)
    formalism = model.formalism
    return SpinStage(model.decay, structures, rows, device, rotation, barrier=True, formalism=formalism, chunk_bytes=chunk_bytes)


def sample_of(
    stage: SpinStage,
    plan: Plan,
    n_events: int,
    pieces: Iterable[Piece],
    progress: bool | None = False,
    *,
    exact: bool = False,
    one_weight: bool = False,
    first: int = 0,
    added: Sequence[Callable[[Piece, int], Tensor]] = (),
    resolution: Resolution | None = None,
) -> Sample:
    """A sample on the device of ``stage``, ready for the kernels.

    Args:
        stage:     computes spin amplitudes
        plan:      the tables of the model
        n_events:  in all pieces together
        pieces:    the events; only two are on the device
        progress:  whether to show a progress bar
        exact:     K in double precision, also if the plan is for mixed precision
        one_weight: keep one number instead of weights that are all 1
        first:     number of the first event, for messages
        added:     densities that are added to the intensity, of a piece and the number of its first event
        resolution: makes several points of every event

    Raises:
        RowsNeeded: some event needs more rows than ``stage`` keeps
    """
    storage = None if plan.exponents is None else Storage(plan.exponents, single=not exact)
    k = 1 if resolution is None else resolution.n_points
    n_points = k * n_events
    K = stage.allocate(n_points, storage)
    E = torch.empty(plan.n_event_rows, n_points, dtype=torch.float64, device=stage.device)
    w = torch.ones(1, dtype=torch.float64, device=stage.device).expand(n_events)
    v = None if resolution is None else torch.empty(n_events, k, dtype=torch.float64, device=stage.device)
    inputs = {callback.inputs: E.new_empty(2 + len(callback.lineshape.columns), n_points) for callback in plan.callbacks}
    start = 0
    with Progress("spin amplitudes", n_points, show=progress) as bar:
        for whole in on_device(pieces, stage.device):
            events = slice(start, start + whole.n_events)
            piece = whole
            if v is not None and resolution is not None:
                points = checked_points(resolution, whole, first + start)
                piece, v[events] = points.piece, points.v
            here = slice(k * events.start, k * events.stop)
            stage.fill(K[..., here], piece.p4, piece.columns, storage=storage, first=k * (first + start), advance=bar.advance)
            fill_table(plan, E[:, here], piece.p4, piece.columns)
            for b, density in enumerate(added):
                E[plan.added_row + b, here] = density(piece, k * (first + start))
            for (system, daughters, columns), table in inputs.items():
                table[0, here], table[1, here] = vertex_variables([p.T for p in piece.p4], system, daughters)
                for i, name in enumerate(columns):
                    table[2 + i, here] = piece.columns[name]
            if whole.weights is not None:
                w = w.contiguous()  # one for each event from now on
                w[events] = whole.weights
            start = events.stop
            del piece, whole  # before the next one takes as much again
        stage.finish()
    return build_sample(K, E, w if one_weight else w.contiguous(), {place: tuple(table) for place, table in inputs.items()}, v)


def in_pieces(events: Piece, size: int = CHUNK_EVENTS) -> Iterator[Piece]:
    """Events, some at a time."""
    for start in range(0, events.n_events, size):
        yield events.part(start, start + size)


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
