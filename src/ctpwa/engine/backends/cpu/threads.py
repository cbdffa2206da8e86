"""Runs kernels in several threads.

A kernel is compiled for one thread; it is told which one it is, and takes every n-th block of events. One loop for all kernels, compiled
once, calls them by their address in the threads of Numba. A parallel loop around each kernel would take the compiler three times as long.
"""

from __future__ import annotations

import inspect
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
OPTIONS = {"nopython": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"}}
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
        kinds = [f"{a.dtype}{a.ndim}" if isinstance(a, np.ndarray) else INTEGER[0] for a in arguments]
        lines, at = [], 0
        for name, argument in zip(inspect.signature(self._kernel).parameters, arguments, strict=False):
            if isinstance(argument, np.ndarray):
                shape = "".join(f"table_[{at + 1 + k}], " for k in range(argument.ndim))
                lines.append(f"    {name} = carray_(pointer_(table_[{at}]), ({shape}), np.{argument.dtype})")
                at += 1 + argument.ndim
            else:
                lines.append(f"    {name} = table_[{at}]")
                at += 1
        head = f"def kernel(address_, thread, n_threads):\n    table_ = carray_(pointer_(address_), {at}, np.int64)"
        body = inspect.getsource(self._kernel).partition("):\n")[2]
        space = self._kernel.__globals__ | {"carray_": numba.carray, "pointer_": _pointer, "__name__": __name__}
        exec("\n".join([head, *lines, body]), space)
        found: Any = CFunc(space["kernel"], (ENTRY.args, ENTRY.return_type), {}, OPTIONS)
        if self._path is not None:
            found._cache = KeptCode(Path(f"{self._path}.{'-'.join(kinds)}"))
        found.compile()
        return found


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
