"""The decay line as text: what decays, final particles, and sub-decays of states that are held at their mass.

psi(2S) -> pi+ pi- J/psi(1S); J/psi(1S) -> mu+ mu-
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ctpwa.config.problems import SpecError
from ctpwa.decay.chain import MAX_FINAL, MIN_FINAL

ARROW = "->"
NEXT = ";"
MOST_FINAL = 4 * MAX_FINAL  # that are read: a few too many get a message with their names


class LineParticle(NamedTuple):
    """A particle of the line: ``name``, or ``label:name``."""

    label: str
    name: str


@dataclass
class DecayLine:
    """A decay line, taken apart.

    Attributes:
        parent:  name of what decays
        final:   the final particles in order; those of a sub-decay stand where its state stands
        held:    states with sub-decays, each with the indices of its final particles, and before those inside it
    """

    parent: str
    final: list[LineParticle] = field(default_factory=list)
    held: list[tuple[LineParticle, tuple[int, ...]]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """All names of particles: the parent, final particles, states."""
        return [self.parent, *(word.name for word in self.final), *(word.name for word, _ in self.held)]


def read_line(text: str, spelled: Callable[[str], str]) -> DecayLine:
    """Take a decay line apart.

    Args:
        text:     the line
        spelled:  the one spelling of a name, so that ``J/psi`` and ``J/psi(1S)`` are the same
    """
    steps = [_read_step(part, text) for part in text.split(NEXT)]
    (parent, daughters), *others = steps
    line = DecayLine(parent)
    below: dict[str, list[list[LineParticle]]] = {}
    written: dict[str, str] = {}
    for name, words in others:
        below.setdefault(spelled(name), []).append(words)
        written.setdefault(spelled(name), name)
    uses: Counter[str] = Counter()

    def expand(words: Sequence[LineParticle], above: tuple[str, ...]) -> None:
        for word in words:
            key = next((key for key in map(spelled, (word.label or word.name, word.name)) if key in below), None)
            if key is None:
                line.final.append(word)
                if len(line.final) > MOST_FINAL:
                    raise SpecError(f"there are more than {MOST_FINAL} final particles", f"ctpwa handles {MIN_FINAL} to {MAX_FINAL}")
                continue
            if key in above:
                raise SpecError(f"{word.name!r} decays into itself", "let every state decay to lighter ones", word=word.name)
            choices, start, position = below[key], len(line.final), len(line.held)
            line.held.append((word, ()))
            uses[key] += 1
            expand(choices[min(uses[key], len(choices)) - 1], (*above, key))
            line.held[position] = (word, tuple(range(start, len(line.final))))

    expand(daughters, (spelled(parent),))
    for key, choices in below.items():
        if uses[key] < len(choices):
            name = written[key]
            raise SpecError(f"the sub-decay of {name!r} is never reached", f"let {parent} decay to {name}, or remove it", word=name)
    return line


def _read_step(part: str, text: str) -> tuple[str, list[LineParticle]]:
    left, arrow, right = part.partition(ARROW)
    if not arrow or len(left.split()) != 1 or not right.split():
        if NEXT in text:
            what, fix = f"cannot read {part.strip()!r} as a decay", f"write  state {ARROW} particle particle …  on both sides of {NEXT}"
            raise SpecError(what, fix)
        raise SpecError(f"cannot read {text!r} as a decay", f"write it as parent {ARROW} particle particle …, names separated by spaces")
    words = [_split_label(word) for word in right.split()]
    if NEXT in text and len(words) < 2:
        raise SpecError(f"{part.strip()!r} has one daughter", "a state decays to two particles or more")
    return left.strip(), words


def _split_label(word: str) -> LineParticle:
    label, colon, name = word.partition(":")
    return LineParticle(label, name) if colon and label and name else LineParticle("", word)
