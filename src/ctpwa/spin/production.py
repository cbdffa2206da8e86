"""How the parent of a decay was made: the incoherent rows of every event, and which couplings feed each.

    I(x) = Σ_rows |Σ_waves Σ_feeds c_{wave, feed} F_wave(x) K_{wave, feed, row}(x)|²

A parent with one density matrix has one *feed*: each wave has one coupling, which reaches all rows. Where waves are produced in several
ways that have couplings of their own (reflectivities, ranks), each way is a feed; K is zero in the rows that it does not reach. Feeds whose
couplings differ by factors that parameters make, c_{wave, feed} = c_wave V_feed, have ``FeedFactors``: waves have one coupling each then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ctpwa.base.errors import PhysicsError
from ctpwa.data.event_column import EventColumn
from ctpwa.decay.chain import Chain, Decay
from ctpwa.decay.structure import Structure


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
        """Limits outside of which a parameter has no meaning; derivatives may be infinite at them."""


class Rows(ABC):
    """The rows of K: the incoherent states of an event.

    Attributes:
        feeds:    for each, what is added to the name of a wave to name its coupling; empty: the coupling is named like the wave
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
    def two_ms(self) -> tuple[int, ...]:
        """2m of the parent's states that must be computed for every structure; none: each has its own."""
        return ()

    def two_ms_of(self, structure: Structure) -> tuple[int, ...]:
        """2m of the parent's states that must be computed for one structure."""
        return self.two_ms

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """What each row of ``restore`` stands for."""

    def check(self, p4: Sequence[Tensor], columns: Mapping[str, Tensor], first_event: int) -> None:  # noqa: B027
        """Refuse events that have no rows.

        Args:
            p4:           momenta of the final particles, each [4, event]
            columns:      the event columns that rows depend on, each [event] or [component, event]
            first_event:  number of the first event, for messages
        """

    def prepare(self, p4: Sequence[Tensor], columns: Mapping[str, Tensor]) -> tuple[Sequence[Tensor], Mapping[str, Tensor]]:
        """Momenta on the axes of the parent's spin, and what ``store`` needs of each event; nothing here looks at a result.

        Args:
            p4:       momenta of the final particles, each [4, event]
            columns:  the event columns that rows depend on, each [event] or [component, event]
        """
        return p4, columns

    @abstractmethod
    def store(self, A: Tensor, structure: Structure, columns: Mapping[str, Tensor], out: Tensor) -> None:
        """Write the amplitudes of a structure into K.

        Args:
            A:          [m of ``two_ms_of``, final spins, event], complex; the last final particle changes fastest
            structure:  what they are amplitudes of
            columns:    what ``prepare`` has made of the event columns, the event as last axis
            out:        [feed, row, event] of K, all of which must be written
        """

    def phase(self, total_L: int) -> complex:
        """The amplitude divided by the stored K."""
        return 1.0

    def restore(self, K: Tensor, total_L: int) -> Tensor:
        """The complex amplitudes [feed, label, event] behind stored ones."""
        return self.phase(total_L) * K

    @property
    def dtype(self) -> torch.dtype:
        """Type of the stored K."""
        return torch.float64 if self.real else torch.complex128


class Production(ABC):
    """How the parent was made: with one density matrix for all events (``Polarisation``), with one whose elements are parameters
    (``FittedPolarisation``), or by a beam (``Photoproduction``, ``Diffraction``).
    """

    @abstractmethod
    def rows(self, decay: Decay) -> Rows:
        """The rows of the events of a decay."""

    def probed(self, n_events: int) -> tuple[Production, dict[EventColumn, Tensor]]:
        """The same for a parent at rest, with matching event columns, to try things out before there are events."""
        return self, {}

    def check(self, chain: Chain) -> None:
        """Refuse a chain that does not start with a state that is produced."""
        if chain.root.made is not None:
            raise PhysicsError(f"{chain} starts with a state of a production, {chain.root.made}", f"{self} has none")

    def __str__(self) -> str:
        return type(self).__name__
