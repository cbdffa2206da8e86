"""Arrays as numpy writes them: a header that says type and shape, then the numbers. What a header claims is checked first."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from math import prod
from typing import IO

import numpy as np

from ctpwa.base.errors import DataError

MAX_HEADER = 10_000  # bytes, as in numpy: the header of an array of numbers has about a hundred


@dataclass(frozen=True)
class Header:
    """What stands before the numbers.

    Attributes:
        shape:    of the array
        fortran:  whether columns, not rows, stand one after the other
        dtype:    type of the numbers
        length:   bytes of the header
    """

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype
    length: int

    @property
    def is_real(self) -> bool:
        """Whether the array holds integers or real numbers."""
        return self.dtype.kind in "iuf"

    @property
    def has_one_per_row(self) -> bool:
        """Whether every row is one real number: [row], or [row, 1], which means the same."""
        return self.is_real and len(self.shape) > 0 and self.shape[1:] in ((), (1,))

    def __str__(self) -> str:
        return f"{self.dtype}, {'×'.join(map(str, self.shape)) or 'a single number'}"

    def check_size(self, size: int, place: str) -> None:
        """Refuse an array that is not as long as its header says.

        Args:
            size:   bytes of header and numbers
            place:  the array, for messages
        """
        expected = self.length + prod(self.shape) * self.dtype.itemsize
        if size != expected:
            raise DataError(
                f"{place} has {size} bytes, but its header promises {self}, which is {expected}\n fix: the file is damaged; write it again"
            )


def read_header(file: IO[bytes]) -> Header:
    """The header at the beginning of a file; the file then stands at the first number."""
    version = np.lib.format.read_magic(file)
    width = 2 if version == (1, 0) else 4
    start = file.read(width)
    length = int.from_bytes(start, "little")
    if length > MAX_HEADER:
        raise ValueError(f"a header of {length} bytes")
    parse = np.lib.format.read_array_header_1_0 if width == 2 else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = parse(BytesIO(start + file.read(length)))
    if any(n < 0 for n in shape):
        raise ValueError(f"a shape with negative numbers: {shape}")
    return Header(shape, fortran, dtype, np.lib.format.MAGIC_LEN + width + length)


def read_numbers(file: IO[bytes], dtype: np.dtype, count: int, place: str) -> np.ndarray:
    """The next numbers of a file.

    Args:
        file:   the file
        dtype:  their type
        count:  how many
        place:  the array, for messages
    """
    content = file.read(count * dtype.itemsize)
    if len(content) < count * dtype.itemsize:
        raise DataError(f"{place} is shorter than its header says\n fix: the file is damaged; write it again")
    return np.frombuffer(content, dtype)
