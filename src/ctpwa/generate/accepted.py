"""Events that accept–reject has accepted so far."""

from __future__ import annotations

import torch
from torch import Tensor

SAFETY = 1.05  # between the largest weight seen and the one that is allowed for


class Accepted:
    """Events accepted so far; the result does not depend on how the events that are tried are cut into blocks.

    Args:
        n:            how many are wanted
        maximum:      the largest weight that is allowed for
        device:       where the events are
        n_particles:  final particles
    """

    def __init__(self, n: int, maximum: float, device: torch.device, n_particles: int) -> None:
        self.wanted, self.maximum = n, maximum
        self.tried = self.raised = self.n = 0
        self._p4 = [torch.zeros(n_particles, 4, 0, dtype=torch.float64, device=device)]
        self._largest = [torch.zeros(0, dtype=torch.float64, device=device)]

    def add(self, p4: Tensor, w: Tensor, uniform: Tensor) -> None:
        """Accept or reject events until there are enough.

        An event is accepted while the maximum is below w/u, with one number u for all times.
        """
        largest = w / uniform
        start = 0
        while start < len(w) and self.n < self.wanted:
            (above,) = torch.nonzero(w[start:] > self.maximum, as_tuple=True)
            stop = start + int(above[0]) if len(above) else len(w)
            start += self._accept(p4[..., start:stop], largest[start:stop])
            if start < len(w) and start == stop and self.n < self.wanted:
                self._raise(SAFETY * float(w[stop]))

    def _accept(self, p4: Tensor, largest: Tensor) -> int:
        """Events whose weights are allowed for; returns how many had to be tried."""
        (passed,) = torch.nonzero(largest > self.maximum, as_tuple=True)
        missing = self.wanted - self.n
        tried = int(passed[missing - 1]) + 1 if len(passed) >= missing else len(largest)
        passed = passed[:missing]
        self._p4.append(p4[..., passed])
        self._largest.append(largest[passed])
        self.n += len(passed)
        self.tried += tried
        return tried

    def _raise(self, maximum: float) -> None:
        """A larger maximum: some of the events accepted so far would not have been."""
        self.maximum = maximum
        self.raised += 1
        p4, largest = torch.cat(self._p4, dim=-1), torch.cat(self._largest)
        keep = largest > maximum
        self._p4, self._largest = [p4[..., keep]], [largest[keep]]
        self.n = int(keep.sum())

    def momenta(self) -> Tensor:
        """[particle, 4, event]."""
        return torch.cat(self._p4, dim=-1)
