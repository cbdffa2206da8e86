"""The folder in which Triton keeps compiled kernels. It runs what it finds there, so it must be as private as that of ctpwa."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from pathlib import Path

from ctpwa.engine.codegen.private_folder import make_private


def triton_folder() -> Path:
    """``$TRITON_CACHE_DIR``, else ``.triton/cache`` in ``$TRITON_HOME`` or the user's home, as Triton has it."""
    given = os.environ.get("TRITON_CACHE_DIR")
    home = os.environ.get("TRITON_HOME") or os.path.expanduser("~/")
    return Path(os.path.abspath(given or os.path.join(home, ".triton", "cache")))


def ready_triton_folder() -> None:
    """Refuse a folder that others can write; if there can be none, take one that lasts as long as this process, with a warning."""
    folder = triton_folder()
    try:
        make_private(folder, "TRITON_CACHE_DIR")
    except OSError as error:
        warnings.warn(
            f"GPU kernels are not kept, and every process compiles them again: {error.strerror} ({str(folder)!r})\n"
            " fix: set TRITON_CACHE_DIR to a folder that only you can write",
            stacklevel=2,
        )
        own = tempfile.mkdtemp(prefix="ctpwa-triton-")
        atexit.register(shutil.rmtree, own, ignore_errors=True)
        os.environ["TRITON_CACHE_DIR"] = own
