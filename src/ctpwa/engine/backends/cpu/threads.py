"""Runs kernels in several threads.

A kernel is compiled for one thread; it is told which part of the work it does, and takes every n-th block of events. Threads of
``base/parts.py`` call it by its address. A parallel loop of Numba around each kernel would take the compiler three times as long, and its
threads wait for each other in a loop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, c_int64
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from ctpwa.base.parts import in_parts
from ctpwa.base.timing import phase
from ctpwa.engine.codegen.machine_code import KeptCode

ENTRY = types.void(types.int64, types.int64, types.int64)  # address of the arguments, part, number of parts
CALL = CFUNCTYPE(None, c_int64, c_int64, c_int64)  # the same for Python, which other threads need not wait for meanwhile
Call = Callable[[int, int, int], None]
FAST = "arcp", "contract", "nsz", "reassoc"
OPTIONS: dict[str, Any] = {"nopython": True, "error_model": "numpy", "fastmath": set(FAST)}
INTEGER = ("integer", 0)


class ThreadedKernel:
    """A kernel that threads share.

    Args:
        kernel:  a function of arrays and integers in a generated module, whose last two arguments are the part and their number
        path:    where its machine code is kept: the beginning of the names of files; None: nowhere

    Where Numba is told not to compile, it stays a Python function.
    """

    def __init__(self, kernel: FunctionType, path: Path | None) -> None:
        self._kernel, self._path = kernel, path
        self._plain = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]
        self.compiled: dict[tuple[Any, ...], Any] = {}
        self._lock = Lock()
        self._calls: dict[tuple[Any, ...], Call] = {}

    def __call__(self, n_parts: int, *arguments: np.ndarray | int) -> bool:
        """Do all parts; arrays are contiguous.

        Returns:
            whether all threads have ended; if not, one of them may still write what is there already
        """
        if self._plain:
            for part in range(n_parts):
                self._kernel(*arguments, part, n_parts)
            return True
        kinds: list[tuple[Any, int]] = []
        numbers: list[int] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                assert argument.flags.c_contiguous
                kinds.append((argument.dtype, argument.ndim))
                numbers.append(argument.__array_interface__["data"][0])
                numbers += argument.shape
            else:
                kinds.append(INTEGER)
                numbers.append(argument)
        key = tuple(kinds)
        with self._lock:  # several threads may be the first
            if key not in self._calls:
                with phase("compile"):
                    self.compiled[key] = self._compile(arguments)
                self._calls[key] = CALL(self.compiled[key].address)
        table = np.array(numbers, dtype=np.int64)
        work = _Work(self._calls[key], table, arguments, n_parts)
        if n_parts > 1:
            return in_parts(work, n_parts, numba.get_num_threads())
        work(0)
        return True

    def _compile(self, arguments: Sequence[np.ndarray | int]) -> Any:
        """The kernel as threads call it: its arguments are in a table of addresses and shapes."""
        values, at = [], 0
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                shape = "".join(f"table[{at + 1 + k}], " for k in range(argument.ndim))
                values.append(f"carray(pointer(table[{at}]), ({shape}), np.{argument.dtype})")
                at += 1 + argument.ndim
            else:
                values.append(f"table[{at}]")
                at += 1
        lines = ["def entry(address, part, n_parts):", f"    table = carray(pointer(address), {at}, np.int64)"]
        lines.append(f"    kernel({', '.join(values)}, part, n_parts)")
        space = {"carray": numba.carray, "pointer": _pointer, "np": np, "kernel": _without_aliases(self._kernel), "__name__": __name__}
        text = "\n".join(lines)
        exec(text, space)
        found: Any = CFunc(space["entry"], (ENTRY.args, ENTRY.return_type), {}, OPTIONS)
        if self._path is not None:
            kind = hashlib.sha256(repr((text, FAST)).encode()).hexdigest()[:8]
            found._cache = KeptCode(Path(f"{self._path}.{kind}"))
        found.compile()
        return found


class _Work:
    """Calls a kernel; its arguments stay in memory as long as any thread has it."""

    def __init__(
        self, call: Callable[[int, int, int], None], table: np.ndarray, arguments: Sequence[np.ndarray | int], n_parts: int
    ) -> None:
        self._call, self._address, self._n_parts = call, table.__array_interface__["data"][0], n_parts
        self._held = table, arguments

    def __call__(self, part: int) -> None:
        self._call(self._address, part, self._n_parts)


def _without_aliases(kernel: FunctionType) -> Any:
    """A kernel whose arrays do not overlap, which the compiler may use: a tenth less time, as in parallel loops of Numba."""
    compiled: Any = numba.jit(**OPTIONS)(kernel)

    def customize(flags: Any) -> Any:
        flags.noalias = True
        return flags

    compiled._compiler._customize_flags = customize
    return compiled


@intrinsic
def _pointer(context: Any, address: Any) -> tuple[Signature, Callable[..., Any]]:
    """An address as a pointer."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), code
