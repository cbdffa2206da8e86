"""From momenta to samples: spin amplitudes in as few polarisation rows as a model needs, and the event table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.progress import Progress
from ctpwa.base.ranks import ONE, Ranks
from ctpwa.data.own_part import OwnPart
from ctpwa.data.stream import Piece
from ctpwa.engine.plan.plan import Plan
from ctpwa.engine.samples.sample import CHUNK_EVENTS, Sample, build_sample, callback_point, fill_callback, fill_table, vertex_variables
from ctpwa.model.model import Model
from ctpwa.spin.build import collect_structures
from ctpwa.spin.polarisation_rows import PolarisationRows
from ctpwa.spin.rotate import RowRotation
from ctpwa.spin.stage import SpinStage
from ctpwa.spin.storage import Storage

PROBE_EVENTS = 256  # of each sample, to find out how many polarisation rows are needed


def find_rotation(model: Model, samples: Sequence[Sequence[Tensor]], rows: Sequence[OwnPart] = (), ranks: Ranks = ONE) -> RowRotation:
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


def _first_events(p4: Sequence[Tensor], rows: OwnPart, ranks: Ranks) -> list[Tensor]:
    """The first events of the whole sample, in their order."""
    numbers = rows.numbers(0, len(p4[0]))  # they ascend: the first events of the whole are the first ones here
    here = np.flatnonzero(numbers < PROBE_EVENTS)
    table = np.concatenate([numbers[here, None], *(p[torch.from_numpy(here).to(p.device)].cpu().numpy() for p in p4)], axis=1)
    found = np.concatenate([np.frombuffer(part).reshape(-1, table.shape[1]) for part in ranks.gather(table.tobytes())])
    found = found[np.argsort(found[:, 0])]
    return [torch.from_numpy(found[:, 1 + 4 * i : 5 + 4 * i].copy()) for i in range(len(p4))]


def spin_stage(model: Model, rotation: RowRotation, device: torch.device, chunk_bytes: int | None = None) -> SpinStage:
    """Computes K of a model with barrier factors and only the rows that ``rotation`` keeps: all that an intensity needs.

    ``chunk_bytes`` is the most temporary memory it may take.
    """
    structures, _ = collect_structures(model.waves, barrier=True)
    rows = PolarisationRows(model.decay, model.polarisation)
    zou_bugg = model.zou_bugg
    return SpinStage(model.decay, structures, rows, device, rotation, barrier=True, zou_bugg=zou_bugg, chunk_bytes=chunk_bytes)


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
) -> Sample:
    """A sample on the device of ``stage``, ready for the kernels.

    Args:
        stage:     computes spin amplitudes
        plan:      the tables of the model
        n_events:  in all pieces together
        pieces:    momenta of the final particles, each [event, 4], and weights, None if all are 1; each is used before the next is
                   asked for, and only one is on the device
        progress:  whether to show a progress bar
        exact:     K in double precision, also if the plan is for mixed precision
        one_weight: keep one number instead of weights that are all 1
        first:     number of the first event, for messages

    Raises:
        RowsNeeded: some event needs more rows than ``stage`` keeps
    """
    storage = None if plan.exponents is None else Storage(plan.exponents, single=not exact)
    K = stage.allocate(n_events, storage)
    E = torch.empty(plan.n_event_rows, n_events, dtype=torch.float64, device=stage.device)
    w = torch.ones(1, dtype=torch.float64, device=stage.device).expand(n_events)
    places = [(callback.system, callback.daughters) for callback in plan.callbacks]
    vertices = {place: (E.new_empty(n_events), E.new_empty(n_events)) for place in places}
    start = 0
    with Progress("spin amplitudes", n_events, show=progress) as bar:
        for p4, weights in pieces:
            here = slice(start, start + len(p4[0]))
            momenta = [p.to(stage.device) for p in p4]
            stage.fill(K[..., here], momenta, storage=storage, first=first + start, advance=bar.advance)
            fill_table(plan, E[:, here], momenta)
            for place, (s_R, q2_R) in vertices.items():
                s_R[here], q2_R[here] = vertex_variables([p.T for p in momenta], *place)
            if weights is not None:
                w = w.contiguous()  # one for each event from now on
                w[here] = torch.as_tensor(weights, dtype=torch.float64, device=stage.device)
            start = here.stop
            del momenta, p4  # before the next ones take as much again
        stage.finish()
    return build_sample(K, E, w if one_weight else w.contiguous(), vertices)


def in_pieces(p4: Sequence[Tensor], size: int = CHUNK_EVENTS) -> Iterator[Piece]:
    """Momenta of events of weight 1, some at a time."""
    for start in range(0, len(p4[0]), size):
        yield [p[start : start + size] for p in p4], None


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
