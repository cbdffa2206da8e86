"""Runs kernels in several threads.

A kernel is compiled for one thread; it is told which one it is, and takes every n-th block of events. One loop for all kernels, compiled
once, calls them by their address in the threads of Numba. A parallel loop around each kernel would take the compiler three times as long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from ctpwa.engine.codegen.machine_code import KeptCode

ENTRY = types.void(types.int64, types.int64, types.int64)  # address of the arguments, thread, number of threads
FAST = "arcp", "contract", "nsz", "reassoc"
OPTIONS: dict[str, Any] = {"nopython": True, "error_model": "numpy", "fastmath": set(FAST)}
INTEGER = ("integer", 0)


class ThreadedKernel:
    """A kernel that threads share.

    Args:
        kernel:  a function of arrays and integers in a generated module, whose last two arguments are the thread and their number
        path:    where its machine code is kept: the beginning of the names of files; None: nowhere

    Where Numba is told not to compile, it stays a Python function.
    """

    def __init__(self, kernel: FunctionType, path: Path | None) -> None:
        self._kernel, self._path = kernel, path
        self._plain = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]
        self.compiled: dict[tuple[Any, ...], Any] = {}

    def __call__(self, n_threads: int, *arguments: np.ndarray | int) -> None:
        """Run it in some threads at the same time; arrays are contiguous."""
        if self._plain:
            for thread in range(n_threads):
                self._kernel(*arguments, thread, n_threads)
            return
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
        if key not in self.compiled:
            self.compiled[key] = self._compile(arguments)
        table = np.array(numbers, dtype=np.int64)
        self._loop(self.compiled[key].address, table.__array_interface__["data"][0], n_threads)

    @cached_property
    def _loop(self) -> Callable[[int, int, int], None]:
        return _loop(None if self._path is None else self._path.parent)

    def _compile(self, arguments: Sequence[np.ndarray | int]) -> Any:
        """The kernel as the loop calls it: its arguments are in a table of addresses and shapes."""
        values, at = [], 0
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                shape = "".join(f"table[{at + 1 + k}], " for k in range(argument.ndim))
                values.append(f"carray(pointer(table[{at}]), ({shape}), np.{argument.dtype})")
                at += 1 + argument.ndim
            else:
                values.append(f"table[{at}]")
                at += 1
        lines = ["def entry(address, thread, n_threads):", f"    table = carray(pointer(address), {at}, np.int64)"]
        lines.append(f"    kernel({', '.join(values)}, thread, n_threads)")
        space = {"carray": numba.carray, "pointer": _pointer, "np": np, "kernel": _without_aliases(self._kernel), "__name__": __name__}
        text = "\n".join(lines)
        exec(text, space)
        found: Any = CFunc(space["entry"], (ENTRY.args, ENTRY.return_type), {}, OPTIONS)
        if self._path is not None:
            kind = hashlib.sha256(repr((text, FAST)).encode()).hexdigest()[:8]
            found._cache = KeptCode(Path(f"{self._path}.{kind}"))
        found.compile()
        return found


def _without_aliases(kernel: FunctionType) -> Any:
    """A kernel whose arrays do not overlap, which the compiler may use: a tenth less time, as in parallel loops of Numba."""
    compiled: Any = numba.jit(**OPTIONS)(kernel)

    def customize(flags: Any) -> Any:
        flags.noalias = True
        return flags

    compiled._compiler._customize_flags = customize
    return compiled


@cache
def _loop(folder: Path | None) -> Callable[[int, int, int], None]:
    """The loop over threads; its machine code is kept in a folder as well."""

    @numba.njit(parallel=True, nogil=True)
    def loop(address, table, n_threads):  # type: ignore[no-untyped-def]
        for thread in numba.prange(n_threads):
            _call(address, table, thread, n_threads)

    if folder is not None:
        loop._cache = KeptCode(folder / "loop")  # type: ignore[attr-defined]
    return loop


@intrinsic
def _pointer(context: Any, address: Any) -> tuple[Signature, Callable[..., Any]]:
    """An address as a pointer."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), code


@intrinsic
def _call(context: Any, address: Any, table: Any, thread: Any, n_threads: Any) -> tuple[Signature, Callable[..., Any]]:
    """Call the function at an address."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [number] * 3).as_pointer()
        builder.call(builder.inttoptr(arguments[0], function), arguments[1:])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), code
