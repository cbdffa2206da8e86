"""Machine code of Numba kernels, kept from one process to the next.

Numba's own files are not used: it runs what it finds, wherever it finds it, and stops at a damaged one. Here a file is read only if this
user has written it into a private folder, and if a hash says that it is whole.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from ctpwa.engine.codegen.kept_files import keep, read_kept

HASH_BYTES = 32


def code_path(module: ModuleType, name: str) -> Path | None:
    """The beginning of the names of files with machine code of a function of a generated module; None if nothing can be kept."""
    path = Path(str(module.__file__))
    return path.with_suffix(f".{name}") if path.is_absolute() else None


class KeptCode(NullCache):
    """Files with machine code of one function, one for each kind of arguments and machine; what Numba asks for it.

    Args:
        path:  its beginning is that of all files
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def cache_path(self) -> str:
        """Where the files are."""
        return str(self._path.parent)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Code for these arguments; None if there is none, or if it is damaged."""
        target_context.refresh()
        content = read_kept(self._file(sig, target_context.codegen()))
        if content is None or content[:HASH_BYTES] != hashlib.sha256(content[HASH_BYTES:]).digest():
            return None
        return CompileResult._rebuild(target_context, *pickle.loads(content[HASH_BYTES:]))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for these arguments."""
        content = dumps(data._reduce())
        keep(self._file(sig, data.codegen), hashlib.sha256(content).digest() + content)

    def _file(self, sig: Any, codegen: Any) -> Path:
        versions = numba.__version__, sys.version_info[:3], getattr(sys, "abiflags", "")
        key = hashlib.sha256(repr((str(sig), codegen.magic_tuple(), versions)).encode()).hexdigest()[:20]
        return Path(f"{self._path}.{key}.bin")
