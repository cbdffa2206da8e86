"""Runs kernels in several threads.

A kernel is compiled for one thread; it is told which part of the work it does, and takes every n-th block of events. Threads of
``base/parts.py`` call it by its address.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, c_int64
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any

import numpy as np

from ctpwa.base.parts import get_num_threads, in_parts
from ctpwa.base.timing import phase
from ctpwa.engine.codegen.llvm_text import llvm_text
from ctpwa.engine.codegen.llvm_values import Argument
from ctpwa.engine.codegen.machine_code import MachineCode, machine_code

CALL = CFUNCTYPE(None, c_int64, c_int64, c_int64)  # other threads of Python need not wait for it meanwhile
ENTRY = "entry"
Call = Callable[[int, int, int], None]
INTEGER = ("integer", 0)


class ThreadedKernel:
    """A kernel that threads share.

    Args:
        kernel:  a function of arrays and integers in a generated module, whose last two arguments are the part and their number
        path:    where its machine code is kept: the beginning of the names of files; None: nowhere
    """

    def __init__(self, kernel: FunctionType, path: Path | None) -> None:
        self._kernel, self._path = kernel, path
        self.compiled: dict[tuple[Any, ...], MachineCode] = {}
        self._lock = Lock()
        self._calls: dict[tuple[Any, ...], Call] = {}

    def __call__(self, n_parts: int, *arguments: np.ndarray | int) -> bool:
        """Do all parts; arrays are contiguous.

        Returns:
            whether all threads have ended; if not, one of them may still write what is there already
        """
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
            return in_parts(work, n_parts, get_num_threads())
        work(0)
        return True

    def _compile(self, arguments: Sequence[np.ndarray | int]) -> MachineCode:
        """The kernel as threads call it: its arguments are in a table of addresses and shapes."""
        kinds = [Argument(str(a.dtype), a.ndim) if isinstance(a, np.ndarray) else Argument(None) for a in arguments]
        (function,) = ast.parse(inspect.getsource(self._kernel)).body
        assert isinstance(function, ast.FunctionDef)
        constants = {name: value for name, value in self._kernel.__globals__.items() if isinstance(value, int)}
        return machine_code(llvm_text(function, constants, kinds, ENTRY), ENTRY, self._path)


class _Work:
    """Calls a kernel; its arguments stay in memory as long as any thread has it."""

    def __init__(
        self, call: Callable[[int, int, int], None], table: np.ndarray, arguments: Sequence[np.ndarray | int], n_parts: int
    ) -> None:
        self._call, self._address, self._n_parts = call, table.__array_interface__["data"][0], n_parts
        self._held = table, arguments

    def __call__(self, part: int) -> None:
        self._call(self._address, part, self._n_parts)
