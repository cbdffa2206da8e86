"""Constant numbers on a device, copied to it once: a copy in the middle of GPU work makes it wait, and cannot be recorded."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor


@cache
def constants(values: tuple[complex, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """A tensor that nobody changes."""
    return torch.tensor(values, dtype=dtype, device=device)
