"""Spin amplitudes in single precision: half the memory, and a check that nothing leaves the range of the numbers.

Every structure is divided by a power of 2 near its typical size, which is exact, so that units and barrier factors of high L do not
matter. A stored amplitude then differs from the exact one by at most 2⁻²⁴ of itself, or by 2⁻¹⁵⁰ of the typical size of its structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ctpwa.base.errors import DataError

SINGLE = {torch.float64: torch.float32, torch.complex128: torch.complex64}
LARGEST = float(torch.finfo(torch.float32).max)
SMALLEST = 2.0**-100  # of the largest amplitude of an event: then what is rounded off near 2⁻¹⁵⁰ is nothing to it


@dataclass(frozen=True)
class Storage:
    """How K is stored.

    Attributes:
        exponents:  of the power of 2 by which every structure is divided
        single:     whether in single precision
    """

    exponents: tuple[int, ...]
    single: bool

    def dtype(self, computed: torch.dtype) -> torch.dtype:
        """The type of stored numbers, from that of computed ones."""
        return SINGLE[computed] if self.single else computed

    def stored(self, K: Tensor, first: int = 0) -> Tensor:
        """K [structure, row, event] as it is stored.

        Args:
            K:      spin amplitudes in double precision
            first:  number of the first event, for messages

        Raises:
            DataError: single precision cannot hold the amplitudes of an event
        """
        scaled = K * torch.tensor([2.0**-e for e in self.exponents], dtype=torch.float64, device=K.device)[:, None, None]
        if not self.single:
            return scaled
        if scaled.numel():
            largest = scaled.abs().amax(dim=(0, 1))
            outside = (largest > LARGEST) | ((largest > 0) & (largest < SMALLEST))
            if bool(outside.any()):
                event = int(outside.nonzero()[0, 0])
                raise DataError(
                    f"event {first + event}: its largest spin amplitude is {float(largest[event]):.1e} of the typical one,"
                    " which single precision cannot hold\n fix: use precision: double, or remove the event"
                )
        return scaled.to(self.dtype(K.dtype))


def exponents_near(sizes: Sequence[float]) -> tuple[int, ...]:
    """For each size the exponent of a power of 2 near it."""
    return tuple(int(e) for e in torch.tensor(sizes, dtype=torch.float64).log2().round().tolist())
