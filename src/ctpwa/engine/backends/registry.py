"""All backends, and which of them computes.

Every folder next to this file is a backend: its module ``backend`` defines a ``Backend`` called ``BACKEND``, and imports nothing heavy.
Backends of other packages are added with ``register_backend``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import torch

from ctpwa.base.errors import CtpwaError, suggest
from ctpwa.base.words import counted
from ctpwa.engine.backends.engine import Engine
from ctpwa.engine.plan.plan import Plan

AUTO = "auto"


def _same(plan: Plan) -> Plan:
    return plan


def _on_gpu(device: torch.device) -> bool:
    return device.type == "cuda"


@dataclass(frozen=True)
class Backend:
    """A way to compute, and what it can do.

    Attributes:
        name:         as users write it
        automatic:    how much ``auto`` prefers it for a device, or for this machine if none was asked for; 0: not at all
        place:        where it computes, from the device that was asked for, if any; an error if it cannot
        engine:       its engine for a plan that ``adapt`` has seen, at such a place
        adapt:        the tables it works with, made from those of a model
        own_memory:   whether the events it works on at a place are outside main memory
        use_threads:  sets how many threads it uses in this process; None if it has none of its own
    """

    name: str
    automatic: Callable[[torch.device | None], int]
    place: Callable[[torch.device | None], torch.device]
    engine: Callable[[Plan, torch.device], Engine]
    adapt: Callable[[Plan], Plan] = _same
    own_memory: Callable[[torch.device], bool] = _on_gpu
    use_threads: Callable[[int], None] | None = None


_registered: dict[str, Backend] = {}


@cache
def _own() -> dict[str, Backend]:
    """The backends of the folders here, by name."""
    names = [folder.name for folder in iter_modules([str(Path(__file__).parent)]) if folder.ispkg]
    found = [import_module(f"{__package__}.{name}.backend").BACKEND for name in names]
    return {backend.name: backend for backend in found}


def all_backends() -> dict[str, Backend]:
    """Backends by name."""
    return _own() | _registered


def engine_names() -> tuple[str, ...]:
    """What a user may write for ``engine``."""
    return (AUTO, *all_backends())


def register_backend(backend: Backend) -> None:
    """Add a backend of another package.

    Args:
        backend:  its record; the name must be new
    """
    if backend.name in engine_names():
        raise CtpwaError(f"a backend {backend.name!r} already exists\n fix: give it another name")
    _registered[backend.name] = backend


def unregister_backend(name: str) -> None:
    """Remove a backend that ``register_backend`` added."""
    _registered.pop(name, None)


def choose_backend(name: str, device: str | torch.device | None) -> tuple[Backend, torch.device]:
    """The backend of this name and where it computes; ``auto`` takes a GPU if there is one, or if ``device`` is one."""
    known = all_backends()
    if name != AUTO and name not in known:
        raise CtpwaError(f"unknown engine {name!r}\n fix: {suggest(name, engine_names())}")
    where = None if device is None else _device(device)
    backend = max(known.values(), key=lambda backend: backend.automatic(where)) if name == AUTO else known[name]
    if name == AUTO and not backend.automatic(where):
        raise CtpwaError(f"no engine computes on {where}\n fix: choose cpu, cuda, or a GPU by number such as cuda:1")
    place = backend.place(where)
    if place.type == "cuda" and not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        raise CtpwaError(f"there is no device {str(place)!r}: torch sees no GPU\n fix: choose cpu")
    return backend, place


def make_engine(name: str, plan: Plan, device: str | torch.device | None) -> Engine:
    """The engine of the backend of this name; its plan may be another form of ``plan``."""
    backend, where = choose_backend(name, device)
    return backend.engine(backend.adapt(plan), where)


def _device(device: str | torch.device) -> torch.device:
    try:
        where = torch.device(device)
    except RuntimeError:
        raise CtpwaError(f"unknown device {device!r}\n fix: choose cpu, cuda, or a GPU by number such as cuda:1") from None
    n = torch.cuda.device_count()
    if where.type == "cuda" and n and where.index is not None and where.index >= n:
        raise CtpwaError(f"there is no device {str(where)!r}: torch sees {counted(n, 'GPU')}\n fix: choose one below cuda:{n}")
    return where
