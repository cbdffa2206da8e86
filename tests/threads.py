"""How many threads a library uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def one_thread(library: ModuleType) -> Iterator[None]:
    """Torch or kernels with one thread: small steps would wait for each other on a busy machine."""
    before = library.get_num_threads()
    library.set_num_threads(1)
    try:
        yield
    finally:
        library.set_num_threads(before)
