"""Variables of the final state, from text to one number per event.

    parse_variable(text: str, decay: Decay) -> Variable
    default_variables(decay: Decay) -> tuple[Variable, ...]
    default_projections(decay: Decay) -> tuple[ProjectionSpec, ...]

    Variable(name: str, label: str, unit: str, limits: tuple[float, float] | None)
    variable(events: Mapping[str, Tensor | ndarray]) -> ndarray      float64, [event]
    ProjectionSpec(variable: Variable, bins: int = 60, range: tuple[float, float] | None = None)

``docs/variables.md`` explains the language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import torch

from ctpwa.base.errors import DataError
from ctpwa.base.parts import in_parts, one_torch_thread
from ctpwa.data.momenta import read_momenta
from ctpwa.decay.chain import Decay, Held
from ctpwa.observe.expression import ExpressionNode, finite
from ctpwa.observe.frames import Momenta, shuffle
from ctpwa.observe.parse import parse

CHUNK = 2**16  # events at a time, in each thread
BINS, ANGLE_BINS = 60, 40
FINE_EVENTS = 4_000


@dataclass(frozen=True)
class Variable:
    """A variable of the final state. Called with events it gives one number for each of them.

    Attributes:
        name:    its text
        label:   LaTeX between dollar signs, without the unit
        unit:    ``GeV``, ``GeV$^{2}$``, ``rad``, …; empty if it has none
        limits:  range that kinematics allows at nominal masses, where it is known; measured values may be slightly beyond
        decay:   the decay whose final state it belongs to
    """

    name: str
    label: str
    unit: str
    limits: tuple[float, float] | None
    decay: Decay = field(repr=False)
    _tree: ExpressionNode = field(repr=False, compare=False)
    _shuffled: frozenset[str] = field(repr=False, compare=False, default=frozenset())

    def __call__(self, events: Mapping[str, Any], *, chunk: int = CHUNK) -> np.ndarray:
        """The value for every event, [event].

        Args:
            events:  name → momenta [event, 4], (E, px, py, pz) in GeV; ``Events``, or any mapping of tensors or arrays
            chunk:   events whose value is computed at a time

        Raises:
            DataError: if momenta are missing, or the variable has no finite value for some event
        """
        tensors = read_momenta(events, self.decay.labels)
        groups = self.decay.identical_groups
        used = [self.decay.final[group[0]].name in self._shuffled for group in groups]
        values = np.empty(len(tensors[0]))

        def compute(part: int) -> None:
            start = part * chunk
            p4 = [tensor[start : start + chunk].T.cpu() for tensor in tensors]
            momenta = Momenta(shuffle(p4, groups, used, start) if any(used) else p4, start)
            values[start : start + chunk] = finite(self._tree.value(momenta), self.name, momenta)

        threads = torch.get_num_threads()
        n_parts = -(-len(values) // chunk)
        with one_torch_thread():
            try:
                in_parts(compute, n_parts, threads)
            except DataError:  # of any event: name the first
                in_parts(compute, n_parts, 1)
                raise
        return values

    @property
    def shuffled(self) -> frozenset[str]:
        """Names of identical particles whose order it does not know, so that they are shuffled event by event."""
        return self._shuffled

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.name, self.decay, self.label, self.unit, self.limits)


class KeptValues:
    """Values of variables, each computed once for every sample, which is kept with them."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[Mapping[str, Any], np.ndarray]] = {}

    def __call__(self, variable: Variable, events: Mapping[str, Any]) -> np.ndarray:
        """The value of a variable for every event, [event]."""
        key = variable.name, id(events)
        if key not in self._known:
            self._known[key] = events, variable(events)
        return self._known[key][1]


def _restored(name: str, decay: Decay, label: str, unit: str, limits: tuple[float, float] | None) -> Variable:
    return replace(parse_variable(name, decay), label=label, unit=unit, limits=limits)


@dataclass(frozen=True)
class ProjectionSpec:
    """A requested histogram.

    Attributes:
        variable:     what is drawn
        bins:         number of bins
        range:        lowest and highest edge; None: over all events
        fine_events:  phase-space events that a bin of the model has at least; where there are more, it is finer than one of the data
    """

    variable: Variable
    bins: int = BINS
    range: tuple[float, float] | None = None
    fine_events: int = FINE_EVENTS


def parse_variable(text: str, decay: Decay) -> Variable:
    """The variable that a text describes, such as ``mass(K+, K-)``.

    Args:
        text:   in the language of ``docs/variables.md``
        decay:  the decay whose final particles it names; ``model.decay``

    Raises:
        VariableError: a ``PhysicsError`` with the column and what to write instead
    """
    tree, names = parse(text, decay)
    return Variable(" ".join(text.split()), f"${tree.latex}$", str(tree.unit), tree.limits, decay, tree, frozenset(names.shuffled))


def default_variables(decay: Decay) -> tuple[Variable, ...]:
    """What one looks at first: the masses of all systems of two or more particles but not all, then the helicity cosine of every pair,
    and of every particle the polar angle in which it is produced, unless the parent has no spin to know the beam by.

    Systems that differ by an exchange of identical particles are one variable, in which the identical particles are shuffled event by
    event; of two identical particles the modulus of the cosine is shown. A two-body decay has no such systems: it has the polar angle
    of the first particle. X that a beam made has its own mass besides. A state on its mass shell is one particle, and has the helicity
    cosine of what it decays to.
    """
    return tuple(parse_variable(text, decay) for text in _default_texts(decay))


def default_projections(decay: Decay) -> tuple[ProjectionSpec, ...]:
    """The default variables with default bins."""
    return tuple(projection(variable) for variable in default_variables(decay))


def projection(variable: Variable, bins: int | None = None, range: tuple[float, float] | None = None) -> ProjectionSpec:
    """A histogram of a variable; angles have fewer bins than masses."""
    return ProjectionSpec(variable, bins or (BINS if "GeV" in variable.unit else ANGLE_BINS), range)


def _default_texts(decay: Decay) -> Iterator[str]:
    names = shortest_names(decay)
    if decay.parent.mass is None:  # X that a beam made
        yield f"mass({', '.join(names)})"
    if len(names) == 2:
        yield f"cos_theta({names[0]})"
    else:
        for size in range(2, len(names)):
            for group in _different(names, size):
                yield f"mass({', '.join(group)})"
        yield from _cosines(names)
        if decay.parent.two_J != 0:
            yield from (f"cos_theta({name})" for name in dict.fromkeys(names))
    for state in decay.held:
        yield from _cosines(shortest_names(decay, state.place))


def _cosines(names: list[str]) -> Iterator[str]:
    """Of the first of every pair, in its rest frame."""
    for first, second in _different(names, 2):
        cosine = f"cos_theta({first}; {first} {second})"
        yield f"abs({cosine})" if first == second else cosine


def _different(names: list[str], size: int) -> Iterator[tuple[str, ...]]:
    """Groups of names; those that differ by the order of their members only are one."""
    seen: set[tuple[str, ...]] = set()
    for group in combinations(names, size):
        key = tuple(sorted(group))
        if key not in seen:
            seen.add(key)
            yield group


def shortest_names(decay: Decay, system: Sequence[int] | None = None) -> list[str]:
    """Labels of final particles and of states on their mass shell, or the name of the particle where there are several of it.

    Args:
        decay:   the decay
        system:  a part of it; default: all of it
    """
    identical = {index for group in decay.identical_groups for index in group}
    parts = decay.parts(range(len(decay.final)) if system is None else system)
    return [part.label if isinstance(part, Held) else decay.final[part].name if part in identical else decay.labels[part] for part in parts]
