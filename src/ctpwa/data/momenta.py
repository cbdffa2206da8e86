"""Measured four-momenta, checked: what comes in is used as it is or refused with a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import DataError, suggest
from ctpwa.decay.particle import Particle
from ctpwa.kinematics.lorentz import mass_squared

LIGHT_CONE_TOLERANCE = 1e-3  # |E − |k|| / E of a massless particle: room for detector rounding, none for a wrong branch


def read_momenta(momenta: Mapping[str, Any], labels: Sequence[str], device: torch.device | str | None = None) -> list[Tensor]:
    """The momenta of all final particles in the order of ``labels``, each [event, 4] in double precision.

    Args:
        momenta:  name → array or tensor [event, 4], (E, px, py, pz) in GeV
        labels:   the names that must be there, and no others
        device:   where to put them; default: where they are
    """
    missing = [label for label in labels if label not in momenta]
    extra = [str(name) for name in momenta if name not in labels]
    if missing:
        hint = f"; unused names: {', '.join(extra)}" if extra else ""
        raise DataError(
            f"momenta of {', '.join(missing)} are missing{hint}\n fix: give one [event, 4] array for each of {', '.join(labels)}"
        )
    if extra:
        raise DataError(f"momenta of {extra[0]!r}: no such final particle\n fix: {suggest(extra[0], labels)}")
    tensors = [_as_tensor(label, momenta[label], device) for label in labels]
    lengths = {label: len(tensor) for label, tensor in zip(labels, tensors, strict=True)}
    if len(set(lengths.values())) > 1:
        raise DataError(f"momenta have different numbers of events: {', '.join(f'{k} {v}' for k, v in lengths.items())}")
    places = {tensor.device for tensor in tensors}
    if len(places) > 1:
        raise DataError(
            f"momenta are on different devices: {', '.join(sorted(map(str, places)))}\n fix: move them to one, or pass device=…"
        )
    return tensors


def _as_tensor(label: str, value: Any, device: torch.device | str | None) -> Tensor:
    try:
        tensor = torch.as_tensor(value if isinstance(value, Tensor) else _as_array(value), device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"momenta of {label!r} are not an array of numbers: {error}") from None
    if tensor.is_complex() or tensor.dtype == torch.bool:
        raise DataError(f"momenta of {label!r} have type {tensor.dtype}\n fix: give real numbers")
    if tensor.ndim != 2 or tensor.shape[1] != 4:
        shape = "×".join(map(str, tensor.shape)) or "a single number"
        raise DataError(f"momenta of {label!r} have shape {shape}\n fix: give [event, 4] with columns E, px, py, pz")
    return tensor.to(torch.float64)


def _as_array(value: Any) -> np.ndarray:
    """A writable array in double precision; torch alone would read a list of numbers in single precision."""
    array = np.asarray(value)
    return np.require(array, np.float64, "W") if array.dtype.kind in "iuf" else array


def reversed_momentum(p4: Tensor) -> Tensor:
    """(E, −p) of (E, p), [event, 4]: what parity makes of it."""
    return p4 * p4.new_tensor([1.0, -1.0, -1.0, -1.0])


def check_momenta(p4: Sequence[Tensor], labels: Sequence[str], final: Sequence[Particle], first_event: int = 0) -> None:
    """Refuse momenta that no event can have: NaN, negative energy or mass², a massive photon.

    Args:
        p4:           momenta, each [4, event]
        labels:       names of the final particles
        final:        the final particles
        first_event:  number of the first event, for messages
    """
    found = [
        (p, label, bad, what, fix) for p, label, particle in zip(p4, labels, final, strict=True) for bad, what, fix in _faults(p, particle)
    ]
    if bool(torch.stack([bad.any() for _, _, bad, _, _ in found]).any()):  # one look for all, since every look makes a GPU wait
        for p, label, bad, what, fix in found:
            _refuse(bad, p, label, first_event, what, fix)


def _faults(p: Tensor, particle: Particle) -> list[tuple[Tensor, str, str]]:
    """Which events have which fault, in the order in which to tell them, and what to do about it."""
    m2 = mass_squared(p)
    not_finite = ~p.isfinite().all(dim=0)
    too_large = ~(not_finite | p.square().sum(dim=0).isfinite())
    faults = [
        (not_finite, "is not finite (NaN or infinity)", "remove these events or find out why they have no momentum"),
        (too_large, "is too large for its square to be a number", "remove these events or find out where they come from"),
        (p[0] <= 0, "has no positive energy", "columns must be E, px, py, pz in this order"),
    ]
    if particle.massless:
        what = f"is not massless, as {particle.name} is"
        fix = "check the order of columns and the particle; 'massless: false' under 'particles' gives it a mass"
        return [*faults, (m2.abs() > LIGHT_CONE_TOLERANCE * p[0].square(), what, fix)]
    what = f"has negative mass² (E² < |p|²), but {particle.name} has a mass"
    return [*faults, (m2 < 0, what, "check the order of columns (E, px, py, pz), the units (GeV) and rounding")]


def _refuse(bad: Tensor, p: Tensor, label: str, first_event: int, what: str, fix: str) -> None:
    if not bool(bad.any()):
        return
    index = int(bad.nonzero()[0, 0])
    values = ", ".join(f"{float(x):.6g}" for x in p[:, index])
    number = int(bad.sum())
    others = f" and {number - 1} more nearby" if number > 1 else ""
    raise DataError(f"the momentum of {label!r} in event {first_event + index} ({values}){others} {what}\n fix: {fix}")
