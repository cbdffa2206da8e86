"""Variables in which events of a decay are cut into cells: masses and angles, in the production frame of X that a beam made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from ctpwa.data.events import Events
from ctpwa.decay.chain import Decay, Held
from ctpwa.model.model import Model
from ctpwa.observe.variable import Variable, default_variables, shortest_names
from ctpwa.spin.produced_rows import ProducedBy, ProducedRows

TWO = 2  # parts, of which one direction says all


def cell_variables(model: Model, events: Events, without: Collection[str] = ()) -> np.ndarray:
    """Values of all variables, [event, variable].

    Args:
        model:    of the decay
        events:   with the columns that its production needs
        without:  variables that are left out, such as what bins are of
    """
    produced = isinstance(model.production, ProducedBy)
    found = list(_in_production(model, events)) if produced else []
    found += [variable(events) for variable in _of_decay(model.decay, produced) if variable.name not in without]
    return np.stack(found, axis=1)


def _of_decay(decay: Decay, produced: bool) -> list[Variable]:
    """Masses and helicity angles; of X that a beam made neither its own mass nor angles in frames that know nothing of the production."""
    whole = f"mass({', '.join(shortest_names(decay))})"
    return [own for own in default_variables(decay) if not (produced and (own.name == whole or _is_plain_angle(own.name)))]


def _is_plain_angle(name: str) -> bool:
    return name.startswith("cos_theta") and ";" not in name


def _in_production(model: Model, events: Events) -> Iterator[np.ndarray]:
    """Directions, and the azimuth of a linear polarisation, in which only twice the angle matters."""
    rows, decay = model.production.rows(model.decay), model.decay
    assert isinstance(rows, ProducedRows)
    columns = {name: events.columns[name].T if events.columns[name].ndim == 2 else events.columns[name] for name in rows.columns}
    p4, light = rows.prepare([events[label].T.double() for label in decay.labels], columns)
    for n in _directions(decay, [p[1:] for p in p4]):
        yield (n[2] / n.square().sum(dim=0).sqrt()).cpu().numpy()
        yield torch.atan2(n[1], n[0]).cpu().numpy()
    if "turn" in light and bool((light["P"] > 0).any()):
        yield torch.remainder(-torch.angle(light["turn"]), torch.pi).cpu().numpy()


def _directions(decay: Decay, p3: Sequence[Tensor]) -> Iterator[Tensor]:
    """Of what X decays to, without twins, or of the upper one of two; then those in which states decay that are held at their mass."""
    twins = {index for group in decay.identical_groups for index in group}
    parts = decay.parts(range(len(p3)))
    momenta = [p3[part] if isinstance(part, int) else torch.stack([p3[index] for index in part.place]).sum(dim=0) for part in parts]
    alone = [p for part, p in zip(parts, momenta, strict=True) if isinstance(part, Held) or part not in twins]
    if len(parts) == TWO:
        yield alone[0] if alone else torch.where(momenta[0][2] < 0, -momenta[0], momenta[0])
    else:
        yield from alone
    for state in decay.held:
        if not twins & set(state.place):
            first, second, *more = (p3[index] for index in state.place)
            yield torch.linalg.cross(first, second, dim=0) if more else first
