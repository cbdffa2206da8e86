"""Angles of the decay of X and of the polarisation of the photon that made it, event by event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ctpwa.base.errors import PhysicsError
from ctpwa.data.events import Events
from ctpwa.model.model import Model
from ctpwa.spin.photoproduction import Photoproduction


@dataclass(frozen=True, eq=False)
class ProducedAngles:
    """Angles in the production frame of a model, each [event].

    Attributes:
        cos_theta, phi:  of the first of two particles, or of the normal p₊ × p₋ of three
        Phi:             azimuth of the polarisation, counted from the production plane
        degree:          of linear polarisation
        circular:        degree of circular polarisation
    """

    cos_theta: np.ndarray
    phi: np.ndarray
    Phi: np.ndarray
    degree: np.ndarray
    circular: np.ndarray


def produced_angles(model: Model, events: Events) -> ProducedAngles:
    """The angles of events.

    Args:
        model:   of photoproduction of two particles, or of three pions of which two are charged
        events:  with the columns that the production needs
    """
    if not isinstance(model.production, Photoproduction):
        raise PhysicsError("X was not made by polarised photons", "these angles are those of  kind: photoproduction")
    rows, decay = model.production.rows(model.decay), model.decay
    p4 = [events[label].T.double() for label in decay.labels]
    columns = {name: events.columns[name].T if events.columns[name].ndim == 2 else events.columns[name] for name in rows.columns}
    rows.check(p4, columns, 0)
    own, light = rows.prepare(p4, columns)
    if len(own) == 2:
        n = own[0][1:]
    else:
        charges = [particle.charge for particle in decay.final]
        if sorted(charges) != [-1, 0, 1]:
            raise PhysicsError(f"{decay} has no normal of two charged particles", "take a decay to two particles, or to + − 0")
        n = torch.linalg.cross(own[charges.index(1)][1:], own[charges.index(-1)][1:], dim=0)  # boosts along X cancel: X is at rest
    n = n / n.square().sum(dim=0).sqrt()
    cos_theta, phi = n[2].clamp(-1, 1), torch.atan2(n[1], n[0])
    turn = light["turn"]  # e^{−iΦ}
    arrays = (cos_theta, phi, -torch.angle(turn), light["P"], light["circular"])
    return ProducedAngles(*(array.cpu().numpy() for array in arrays))
