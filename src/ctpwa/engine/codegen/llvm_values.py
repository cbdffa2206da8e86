"""What kernels compute with, as LLVM knows it: numbers, arrays and operations."""

from __future__ import annotations

import ast
import struct
from dataclasses import dataclass

INT, REAL, BOOL = "i64", "double", "i1"
FAST = "arcp contract nsz reassoc"  # what may be done with reals
ALIGNED = 64  # bytes, a line of the cache
INTRINSICS = {"sqrt", "exp", "log", "sin", "cos"}  # of LLVM; other functions are those of the C library
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {  # of integers and of reals
    ast.Add: ("add nsw", "fadd"),
    ast.Sub: ("sub nsw", "fsub"),
    ast.Mult: ("mul nsw", "fmul"),
    ast.FloorDiv: ("sdiv", ""),
    ast.Div: ("", "fdiv"),
    ast.BitAnd: ("and", ""),
    ast.BitOr: ("or", ""),
}
COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("slt", "olt"),
    ast.LtE: ("sle", "ole"),
    ast.Gt: ("sgt", "ogt"),
    ast.GtE: ("sge", "oge"),
    ast.Eq: ("eq", "oeq"),
    ast.NotEq: ("ne", "une"),
}
ELEMENTS = {"float64": ("double", 1), "float32": ("float", 1), "complex128": ("double", 2), "complex64": ("float", 2), "int64": ("i64", 1)}


@dataclass(frozen=True)
class Number:
    """A value: its type, and its name or constant."""

    kind: str
    code: str


@dataclass(frozen=True)
class Complex:
    """Real and imaginary part."""

    real: Number
    imag: Number


@dataclass(frozen=True)
class Array:
    """Where it begins, the type of its numbers, how many make an element, and its shape."""

    start: str
    kind: str
    parts: int
    shape: tuple[Number, ...]


Value = Number | Complex | Array


@dataclass(frozen=True)
class Argument:
    """What a kernel is called with: an array of a type and so many dimensions, or, without a type, an integer."""

    dtype: str | None
    n_dimensions: int = 0


def real_constant(number: float) -> Number:
    """Its bits: LLVM takes decimals only if they are exact."""
    return Number(REAL, f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}")
