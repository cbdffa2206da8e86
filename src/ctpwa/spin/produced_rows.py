"""Rows of a system X that was produced by a beam: sectors of reflectivity and rank, which do not interfere.

Reflection in the production plane takes the amplitude X_m of the decay of X to X̄_m = τ_X (−1)^m X_{−m}. If parity is conserved,

    X̄_{m;σ} = η_σ conj X_{m;−σ},     η_σ = Π P_i · (−1)^{Σ(s−σ)} · Π_photons (−1)                       (F13.3)

so that the rows of a final spin state σ and of its mirror image −σ are √2 Re and √2 Im of one number, and those of spin states that are
their own image Re or Im of X: K is real.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import torch
from torch import Tensor

from ctpwa.base.errors import PhysicsError
from ctpwa.data.event_column import EventColumn
from ctpwa.decay.chain import Chain, Decay
from ctpwa.decay.made import Made, Sector
from ctpwa.decay.structure import Structure
from ctpwa.spin.exposure import Exposure
from ctpwa.spin.final_spins import FinalSpins
from ctpwa.spin.production import Production, Rows
from ctpwa.spin.reaction import Reaction


@dataclass(frozen=True)
class ProducedRows(Rows):
    """Rows of all sectors, one block for each.

    Attributes:
        decay:     X and what it decays to
        reaction:  beam, target and frame
        sectors:   reflectivity and rank of each
    """

    decay: Decay
    reaction: Reaction
    sectors: tuple[Sector, ...]

    n_beam = 1  # states of the beam that do not interfere

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """See ``Rows``."""
        return tuple(column.name for column in self.reaction.columns)

    @cached_property
    def final(self) -> FinalSpins:
        """The spin states of the final particles."""
        return FinalSpins(self.decay)

    @property
    def n_rows(self) -> int:
        """See ``Rows``."""
        return len(self.sectors) * self.n_beam * len(self.final.states)

    @property
    def real(self) -> bool:
        """See ``Rows``."""
        return True

    def two_ms_of(self, structure: Structure) -> tuple[int, ...]:
        """See ``Rows``."""
        assert structure.made is not None
        return (structure.made.two_m,)

    @property
    def labels(self) -> tuple[str, ...]:
        """See ``Rows``."""
        spins = self.final.labels if self.real is False else tuple(f"row {i + 1}" for i in range(len(self.final.states)))
        return tuple(
            ", ".join(part for part in (f"e={'+-'[e < 0]} k={k}", f"beam {b + 1}" if self.n_beam > 1 else "", own) if part)
            for e, k in self.sectors
            for b in range(self.n_beam)
            for own in spins
        )

    def check(self, p4: Sequence[Tensor], columns: Mapping[str, Tensor], first_event: int) -> None:
        """See ``Rows``."""
        self.reaction.check(p4, columns, first_event)

    def prepare(self, p4: Sequence[Tensor], columns: Mapping[str, Tensor]) -> tuple[Sequence[Tensor], Mapping[str, Tensor]]:
        """See ``Rows``."""
        frame = self.reaction.frame_of(p4, columns)
        return [frame.components(p) for p in p4], {}

    def store(self, A: Tensor, structure: Structure, columns: Mapping[str, Tensor], out: Tensor) -> None:
        """See ``Rows``."""
        made = structure.made
        assert made is not None
        out.zero_()
        n = self.n_beam * len(self.final.states)
        first = self.sectors.index(made.sector) * n
        for row, values in enumerate(self.rows_of(A[0], made, columns)):
            out[0, first + row] = values

    @abstractmethod
    def rows_of(self, X: Tensor, made: Made, columns: Mapping[str, Tensor]) -> Iterator[Tensor]:
        """The rows of a wave in its own sector, each [event].

        Args:
            X:        amplitude of the decay [final spins, event]
            made:     the state in which X was produced
            columns:  what ``prepare`` has made of the event columns
        """

    @cached_property
    def pairs(self) -> tuple[tuple[int, int, int], ...]:
        """Every final spin state or its mirror image: its place, that of its image, and η."""
        place = {spins: i for i, spins in enumerate(self.final.states)}
        found = []
        for spins, i in place.items():
            j = place[self.final.mirror(spins)]
            if i <= j:
                found.append((i, j, self.eta(i)))
        return tuple(found)

    def eta(self, i: int) -> int:
        """η of a final spin state."""
        sign = (-1) ** self.final.odd(self.final.states[i])
        for particle in self.decay.final:
            sign *= particle.P or 0
        return sign

    def reflected(self, X: Tensor, sign: int, scale: float) -> Iterator[Tensor]:
        """Rows of scale (X + sign X̄), which are real numbers.

        Args:
            X:      [final spins, event]
            sign:   +1 or −1
            scale:  in front of it
        """
        for i, j, eta in self.pairs:
            if i == j:
                yield 2 * scale * (X[i].real if sign * eta == 1 else X[i].imag)
            else:
                both = sqrt(2) * scale * (X[i] + sign * eta * X[j].conj())
                yield both.real
                yield both.imag

    def mirrored(self, X: Tensor) -> Tensor:
        """X̄ [final spins, event]."""
        images = [0] * len(X)
        for i, j, _ in self.pairs:
            images[i], images[j] = j, i
        eta = torch.tensor([float(self.eta(i)) for i in range(len(X))], dtype=torch.float64).to(X.device)
        return eta[:, None] * X[images].conj()


class ProducedBy(Production):
    """A production by a beam: what waves it allows.

    Attributes:
        reaction:  beam, target and frame
        sectors:   reflectivity and rank of each
        folded:    whether waves are states of definite reflectivity of X, M ≥ 0
        exposure:  what events are generated with; None: they are not
    """

    reaction: Reaction
    sectors: tuple[Sector, ...]
    folded: bool
    exposure: Exposure | None

    @property
    @abstractmethod
    def columns(self) -> tuple[EventColumn, ...]:
        """The event columns that it uses."""

    def check(self, chain: Chain) -> None:
        """See ``Production``."""
        made = chain.root.made
        if made is None:
            raise PhysicsError(f"{chain} does not say in which state X was produced", "give J^P, m and reflectivity of its wave")
        if made.sector not in self.sectors or made.folded != self.folded:
            raise PhysicsError(f"{chain} starts with {made}, which is no state of {self}", "correct its reflectivity, rank and projection")
        made.check(chain.root.particle)
        for node in chain.nodes:
            if node.weak:
                fix = "say weak: false if parity is conserved; X whose decay violates parity cannot be fitted"
                raise PhysicsError(f"parity is not conserved in {chain.vertex(node)}, but reflectivity needs it", fix)
        for particle in chain.decay.final:
            if particle.P is None or particle.one_handed:
                raise PhysicsError(f"the parity of {particle.name} is not known, but reflectivity needs it", f"give JP of {particle.name}")
