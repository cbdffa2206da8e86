"""Events: momenta of all final particles, and a weight and further columns for each event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from ctpwa.base.errors import DataError, UnknownNameError, suggest
from ctpwa.base.markup import element, simple_table, together
from ctpwa.base.words import counted
from ctpwa.data.event_column import Columns
from ctpwa.data.own_part import OwnPart, join_parts
from ctpwa.data.summary import SampleSummary
from ctpwa.kinematics.lorentz import mass_squared


@dataclass(frozen=True)
class Events(Mapping[str, Tensor]):
    """A sample. It is a mapping from final-particle names to momenta, so it can be passed wherever momenta are expected.

    Attributes:
        momenta:  name → [event, 4], (E, px, py, pz) in GeV
        weights:  [event]; None if all are 1
        columns:  further numbers of each event, name → [event], or [event, component] of a vector
        summary:  where they come from, if they were read from files
        part:     which events of the whole sample they are, if several processes share it; None: they are the whole sample
    """

    momenta: Mapping[str, Tensor]
    weights: Tensor | None = None
    columns: Columns = field(default_factory=dict)
    summary: SampleSummary | None = field(default=None, compare=False)
    part: OwnPart | None = field(default=None, compare=False)

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.momenta:
            raise UnknownNameError(f"no particle is called {name!r}\n fix: {suggest(str(name), self.momenta)}")
        return self.momenta[name]

    def __repr__(self) -> str:
        return f"Events: {self._words()}"

    def _repr_html_(self) -> str:
        """For notebooks: how many, and what each particle has on average."""
        rows = []
        for name, p4 in self.momenta.items():
            mass = mass_squared(p4.T).clamp(min=0).sqrt()
            numbers = (*p4.mean(dim=0).tolist(), *mass.aminmax()) if self.n_events else ()
            rows.append((name, *(f"{float(number):.4f}" for number in numbers)))
        columns = ("particle", "⟨E⟩ / GeV", "⟨px⟩", "⟨py⟩", "⟨pz⟩", "smallest mass", "largest mass")
        return together(element("p", element("strong", self._words())), simple_table(columns, rows)).source

    def _words(self) -> str:
        words = f"{counted(self.n_events, 'event')} of {' '.join(self.momenta)}"
        if self.weights is not None and self.n_events:
            low, high = (float(number) for number in self.weights.aminmax())
            words += f", weights {low:.4g} to {high:.4g}, {float(self.weights.sum()):.6g} in all"
        return words + (f", columns {', '.join(self.columns)}" if self.columns else "")

    def __iter__(self) -> Iterator[str]:
        return iter(self.momenta)

    def __len__(self) -> int:
        return len(self.momenta)

    @property
    def n_events(self) -> int:
        """Number of events."""
        return len(next(iter(self.momenta.values())))

    def picked(self, which: Tensor | slice) -> Events:
        """Some of the events, by their numbers."""
        momenta = {name: p4[which] for name, p4 in self.momenta.items()}
        columns = {name: values[which] for name, values in self.columns.items()}
        return replace(self, momenta=momenta, weights=None if self.weights is None else self.weights[which], columns=columns, part=None)


def concatenate(parts: Sequence[Events]) -> Events:
    """Several samples as one; where only some have weights, those of the others are 1."""
    if len(parts) == 1:
        return parts[0]
    momenta = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    for part in parts[1:]:
        if set(part.columns) != set(parts[0].columns):
            missing = sorted(set(part.columns) ^ set(parts[0].columns))[0]
            raise DataError(f"event column {missing!r} is in some of the samples that are joined\n fix: give it to all of them, or to none")
    columns = {name: torch.cat([part.columns[name] for part in parts]) for name in parts[0].columns}
    shared = [part.part for part in parts if part.part is not None]
    whole = join_parts(shared) if len(shared) == len(parts) else None
    return Events(momenta, joined_weights([piece.weights for piece in parts], [piece.n_events for piece in parts]), columns, part=whole)


def joined_weights(weights: Sequence[Tensor | None], lengths: Sequence[int]) -> Tensor | None:
    """Weights of several samples as one; None if all are 1."""
    some = next((own for own in weights if own is not None), None)
    if some is None:
        return None
    return torch.cat([some.new_ones(n) if own is None else own for own, n in zip(weights, lengths, strict=True)])
