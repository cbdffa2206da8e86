"""A function of the beam energy, by straight lines between points: a degree of polarisation, or a spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from ctpwa.base.errors import PhysicsError

MAX_POINTS = 10_000


@dataclass(frozen=True)
class EnergyTable:
    """Numbers at energies, with straight lines between them.

    Attributes:
        energies:  GeV, rising
        values:    one for each
    """

    energies: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.energies) <= MAX_POINTS or len(self.energies) != len(self.values):
            raise PhysicsError(
                f"{len(self.energies)} energies with {len(self.values)} numbers make no table", f"give 1 to {MAX_POINTS} of each"
            )
        if not all(low < high for low, high in pairwise(self.energies)) or not self.energies[0] > 0:
            raise PhysicsError("the energies of a table do not rise", "sort its lines; energies are in GeV, above 0")

    @property
    def low(self) -> float:
        """The first energy, GeV."""
        return self.energies[0]

    @property
    def high(self) -> float:
        """The last energy, GeV."""
        return self.energies[-1]

    def outside(self, energy: Tensor) -> Tensor:
        """Which energies are before the first or behind the last, [event]."""
        return (energy < self.low) | (energy > self.high)

    def __call__(self, energy: Tensor) -> Tensor:
        """The numbers at energies inside the table, [event]."""
        x, y = self._points(energy)
        if len(x) == 1:
            return y.expand(energy.shape)
        i = torch.searchsorted(x, energy.contiguous()).clamp(min=1, max=len(x) - 1)
        return y[i - 1] + (y[i] - y[i - 1]) * (energy - x[i - 1]) / (x[i] - x[i - 1])

    def draw(self, uniform: Tensor) -> Tensor:
        """Energies that are distributed as the numbers say, from uniform ones."""
        x, y = self._points(uniform)
        if len(x) == 1:
            return x.expand(uniform.shape)
        area = (y[1:] + y[:-1]) * (x[1:] - x[:-1]) / 2
        edges = torch.cat([torch.zeros_like(area[:1]), area.cumsum(0)])
        target = uniform * edges[-1]
        i = torch.searchsorted(edges, target.contiguous(), right=True).clamp(min=1, max=len(area))
        left, width, low, high = target - edges[i - 1], x[i] - x[i - 1], y[i - 1], y[i]
        slope = (high - low) / width
        # slope d²/2 + low d = left, in the form that is exact for small slopes
        d = 2 * left / (low + (low.square() + 2 * slope * left).clamp(min=0).sqrt()).clamp(min=1e-300)
        return x[i - 1] + d.clamp(max=width)

    def _points(self, like: Tensor) -> tuple[Tensor, Tensor]:
        x, y = (torch.tensor(numbers, dtype=torch.float64, device=like.device) for numbers in (self.energies, self.values))
        return x, y
