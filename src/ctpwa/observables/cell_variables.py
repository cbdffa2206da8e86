"""Variables in which events of a decay are cut into cells: masses and angles, in the production frame of X that a beam made."""

from __future__ import annotations

import numpy as np
import torch

from ctpwa.data.events import Events
from ctpwa.model.model import Model
from ctpwa.observe.variable import default_variables
from ctpwa.spin.produced_rows import ProducedBy, ProducedRows

TWO = 2  # particles, of which one direction says all


def cell_variables(model: Model, events: Events) -> np.ndarray:
    """Values of all variables, [event, variable].

    Args:
        model:   of the decay
        events:  with the columns that its production needs
    """
    decay = model.decay
    found = list(_in_production(model, events)) if isinstance(model.production, ProducedBy) else []
    own = [] if found and len(decay.final) == TWO else default_variables(decay)
    found += [variable(events) for variable in own if not (found and variable.name.startswith("cos_theta") and ";" not in variable.name)]
    return np.stack(found, axis=1)


def _in_production(model: Model, events: Events) -> list[np.ndarray]:
    """Directions of particles that are no twins, or of the upper one of two, and the azimuth of a linear polarisation, in which only
    twice the angle matters.
    """
    rows, decay = model.production.rows(model.decay), model.decay
    assert isinstance(rows, ProducedRows)
    columns = {name: events.columns[name].T if events.columns[name].ndim == 2 else events.columns[name] for name in rows.columns}
    p4, light = rows.prepare([events[label].T.double() for label in decay.labels], columns)
    twins = {index for group in decay.identical_groups for index in group}
    chosen = [index for index in range(len(p4)) if index not in twins][: 1 if len(p4) == TWO else None]
    found = []
    for index in chosen or ([0] if len(p4) == TWO else []):
        n = p4[index][1:]
        n = torch.where(n[2] < 0, -n, n) if twins and len(p4) == TWO else n
        found += [n[2] / n.square().sum(dim=0).sqrt(), torch.atan2(n[1], n[0])]
    if "turn" in light and bool((light["P"] > 0).any()):
        found.append(torch.remainder(-torch.angle(light["turn"]), torch.pi))
    return [values.cpu().numpy() for values in found]
