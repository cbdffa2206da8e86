"""How the parent of a decay was made: the incoherent rows of every event, and which couplings feed each.

    I(x) = Σ_rows |Σ_waves Σ_feeds c_{wave, feed} F_wave(x) K_{wave, feed, row}(x)|²

A parent with one density matrix has one *feed*: each wave has one coupling, which reaches all rows. Where waves are produced in several
ways that have couplings of their own (reflectivities, ranks), each way is a feed; K is zero in the rows that it does not reach. Feeds whose
couplings differ by factors that parameters make, c_{wave, feed} = c_wave V_feed, have ``FeedFactors``: waves have one coupling each then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from ctpwa.decay.chain import Decay


class FeedFactors(ABC):
    """What multiplies the coupling of a wave in every feed, V_feed, as a smooth function of parameters of the model.

    Attributes:
        names:  the parameters
    """

    names: tuple[str, ...]

    @property
    @abstractmethod
    def n_feeds(self) -> int:
        """How many there are."""

    @abstractmethod
    def values(self, p: np.ndarray) -> np.ndarray:
        """V [feed] at the parameters, complex; NaN where there are none."""

    @abstractmethod
    def derivatives(self, p: np.ndarray, moving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂V [feed, parameter] and ∂²V [feed, parameter, parameter], 0 for parameters that do not move."""

    @abstractmethod
    def room(self, p: np.ndarray) -> float:
        """How far the parameters are from the edge of what is physical; negative: beyond it."""

    @abstractmethod
    def barrier(self, p: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """A convex function that grows without limit towards that edge, with its first and second derivatives."""

    @abstractmethod
    def range(self, name: str) -> tuple[float, float]:
        """Outside of these numbers a parameter has no meaning, and at them derivatives may be infinite."""


class Rows(ABC):
    """The rows of K: the incoherent states of an event.

    Attributes:
        feeds:    what is added to the name of a wave's coupling, for each of them; one that is empty: couplings are called like waves
        columns:  event columns that rows depend on
        factors:  what multiplies the one coupling of a wave in every feed; None: each feed has couplings of its own
    """

    feeds: tuple[str, ...] = ("",)
    columns: tuple[str, ...] = ()
    factors: FeedFactors | None = None

    @property
    def ways(self) -> tuple[str, ...]:
        """The feeds that have couplings of their own."""
        return self.feeds if self.factors is None else ("",)

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many there are."""

    @property
    @abstractmethod
    def real(self) -> bool:
        """Whether K is stored as real numbers."""

    @property
    @abstractmethod
    def two_ms(self) -> tuple[int, ...]:
        """2m of the parent's states that must be computed."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """What each row of ``restore`` stands for."""

    @abstractmethod
    def store(self, A: Tensor, total_L: int, columns: Mapping[str, Tensor], out: Tensor) -> None:
        """Write the amplitudes of a structure into K.

        Args:
            A:        [m of ``two_ms``, final spins, event], complex; the last final particle changes fastest
            total_L:  Σ L of the structure
            columns:  the event columns that rows depend on, each [event] or [component, event]
            out:      [feed, row, event] of K, all of which must be written
        """

    def phase(self, total_L: int) -> complex:
        """What a stored K must be multiplied with to be the amplitude."""
        return 1.0

    def restore(self, K: Tensor, total_L: int) -> Tensor:
        """The complex amplitudes [feed, label, event] behind stored ones."""
        return self.phase(total_L) * K

    @property
    def dtype(self) -> torch.dtype:
        """Type of the stored K."""
        return torch.float64 if self.real else torch.complex128


class Production(ABC):
    """How the parent was made. ``Polarisation`` is a parent with one density matrix, the same for all events; of ``FittedPolarisation``
    elements are parameters.
    """

    @abstractmethod
    def rows(self, decay: Decay) -> Rows:
        """The rows of the events of a decay."""

    def __str__(self) -> str:
        return type(self).__name__
