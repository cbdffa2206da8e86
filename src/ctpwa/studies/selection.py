"""Forward and backward selection: what to add to a model and what to remove, as it follows from the fits that were done."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf, isfinite, log, nan

from ctpwa.studies.fit_record import FitRecord
from ctpwa.studies.tried import FIT, SCORE, in_sigma

AIC, BIC, SIGNIFICANCE = "aic", "bic", "significance"
CRITERIA = (AIC, BIC, SIGNIFICANCE)
ADD, REMOVE = "add", "remove"
BETTER = 1e-6  # of AIC or BIC: less is where fits stop
State = frozenset[str]  # resonances of a model


def key_of(state: Collection[str]) -> str:
    """The resonances of a model in one order."""
    return " + ".join(sorted(state))


@dataclass(frozen=True)
class Move:
    """A resonance that was added or removed, or could have been.

    Attributes:
        action:     ``add`` or ``remove``
        name:       of the resonance
        gain:       2 Δ ln L between the model with it and the one without
        ndf:        parameters that it has
        criterion:  AIC or BIC of the model after it minus that before; for significance, minus its standard deviations if it is added
    """

    action: str
    name: str
    gain: float
    ndf: int
    criterion: float

    @property
    def sigma(self) -> float:
        """How significant the resonance is."""
        return in_sigma(self.gain, self.ndf)


@dataclass(frozen=True)
class Wanted:
    """Fits that are needed to go on.

    Attributes:
        state:   the model so far
        moves:   what should be fitted: pairs of ``add`` or ``remove`` and a resonance; empty: score tests of what could be added
    """

    state: State
    moves: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Taken:
    """A step of the selection.

    Attributes:
        move:   what was done
        state:  the model after it
    """

    move: Move
    state: State


@dataclass(frozen=True)
class Rules:
    """How a model is chosen.

    Attributes:
        by:         ``aic``, ``bic`` or ``significance``
        threshold:  standard deviations that a resonance needs, for ``significance``
        refit:      how many candidates are fitted in every step; None: all
        base:       resonances of the model that the study begins with
        candidates: what may be added
        nll:        −ln L of the model it begins with
        free:       its free parameters
        weight:     Σ w of the events
    """

    by: str
    threshold: float
    refit: int | None
    base: State
    candidates: tuple[str, ...]
    nll: float
    free: int
    weight: float

    def follow(self, records: Mapping[str, FitRecord]) -> tuple[list[Taken], Wanted | None]:
        """All steps that follow from the fits that were done, and what is missing to go on; None if nothing changes any more."""
        state, seen = self.base, {self.base}
        steps: list[Taken] = []
        while True:
            before = state
            for forward in (True, False):
                wanted = self._wanted(state, forward, records)
                if wanted is not None:
                    return steps, wanted
                move = self._best(state, forward, records)
                if move is None:
                    continue
                after = moved(state, move.action, move.name)
                if after not in seen:
                    state = after
                    seen.add(state)
                    steps.append(Taken(move, state))
            if state == before:
                return steps, None

    def possible(self, state: State) -> list[str]:
        """What may be added to a model, removed resonances included."""
        return [name for name in dict.fromkeys((*self.candidates, *sorted(self.base))) if name not in state]

    def chosen(self, state: State, records: Mapping[str, FitRecord]) -> list[str]:
        """What is fitted of it: the best by their score, and what has none."""
        numbers = records[SCORE + key_of(state)].numbers

        def rank(name: str) -> float:
            return in_sigma(float(numbers.get(f"S {name}", nan)), int(numbers.get(f"ndf {name}", 0)))

        names = self.possible(state)
        known = sorted((name for name in names if isfinite(rank(name))), key=rank, reverse=True)
        return [*(name for name in names if not isfinite(rank(name))), *(known if self.refit is None else known[: self.refit])]

    def _moves(self, state: State, forward: bool, records: Mapping[str, FitRecord]) -> list[tuple[str, str]]:
        if forward:
            return [(ADD, name) for name in self.chosen(state, records)] if self.possible(state) else []
        return [(REMOVE, name) for name in sorted(state)] if len(state) > 1 else []

    def _wanted(self, state: State, forward: bool, records: Mapping[str, FitRecord]) -> Wanted | None:
        if forward and self.possible(state) and SCORE + key_of(state) not in records:
            return Wanted(state)
        moves = self._moves(state, forward, records)
        missing = [own for own in moves if self.numbers(moved(state, *own), records) is None]
        return Wanted(state, tuple(missing)) if missing else None

    def numbers(self, state: State, records: Mapping[str, FitRecord]) -> tuple[float, int, bool] | None:
        """−ln L over its unit, free parameters, and whether the fit is good; None if it was not done."""
        unit = self.unit(records)
        if state == self.base:
            return self.nll / unit, self.free, True
        record = records.get(FIT + key_of(state))
        return None if record is None else (float(record.nll) / unit, int(record.numbers.get("free", 0)), record.good)

    def unit(self, records: Mapping[str, FitRecord]) -> float:
        """Twice what one standard deviation adds to −ln L."""
        return next((float(own.numbers["unit"]) for own in records.values() if "unit" in own.numbers), 1.0)

    def criterion(self, state: State, records: Mapping[str, FitRecord]) -> float:
        """AIC or BIC of a model; 2 (−ln L) for ``significance``."""
        found = self.numbers(state, records)
        if found is None:
            return nan
        nll, free, _ = found
        each = {AIC: 2.0, BIC: log(max(self.weight / self.unit(records), 1.0)), SIGNIFICANCE: 0.0}[self.by]
        return 2 * nll + each * free

    def compared(self, state: State, action: str, name: str, records: Mapping[str, FitRecord]) -> Move | None:
        """What a move changes; None if its fit is not good."""
        after = moved(state, action, name)
        here, there = self.numbers(state, records), self.numbers(after, records)
        if here is None or there is None or not there[2]:
            return None
        smaller, larger = (here, there) if action == ADD else (there, here)
        gain, ndf = 2 * (smaller[0] - larger[0]), larger[1] - smaller[1]
        if self.by == SIGNIFICANCE:
            sigma = in_sigma(gain, ndf) if ndf > 0 else 0.0
            return Move(action, name, gain, ndf, -sigma if action == ADD else sigma)
        return Move(action, name, gain, ndf, self.criterion(after, records) - self.criterion(state, records))

    def _best(self, state: State, forward: bool, records: Mapping[str, FitRecord]) -> Move | None:
        """The best move if it passes."""
        found = [self.compared(state, *own, records) for own in self._moves(state, forward, records)]
        best = min((own for own in found if own is not None), key=lambda own: own.criterion, default=None)
        if best is None:
            return None
        limit = -BETTER if self.by != SIGNIFICANCE else -self.threshold if forward else self.threshold
        passes = best.criterion <= limit if forward or self.by != SIGNIFICANCE else best.criterion < limit
        return best if passes and best.criterion < inf else None


def moved(state: State, action: str, name: str) -> State:
    """The resonances of a model after a move."""
    return state | {name} if action == ADD else state - {name}
