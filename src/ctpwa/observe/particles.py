"""Names of final particles inside the brackets of a quantity: ``K+ K-; eta``.

Names may contain brackets and operators, as in ``K(2)*(1430)+``; they are compared with the names that the decay has, the longest first.
A label, such as ``pi+_1``, is one final particle. The name of a particle that occurs more than once, ``pi+``, stands for any of the
identical ones: the first ``pi+`` of a group is the first of them and the second the second, after they were shuffled event by event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ctpwa.base.errors import suggest
from ctpwa.decay.chain import Decay, Held
from ctpwa.decay.pdg import normalise
from ctpwa.observe.errors import error_at

SEPARATORS = " ,"
END_OF_GROUP = ";"


@dataclass(frozen=True)
class Group:
    """Some final particles, or a word such as ``lab``.

    Attributes:
        members:  indices of the final particles, in the order in which they were written
        word:     the word; empty for particles
        latex:    LaTeX name
        text:     as written
        start:    where it starts in the text, from 0
    """

    members: tuple[int, ...]
    word: str
    latex: str
    text: str
    start: int

    @property
    def set(self) -> frozenset[int]:
        """The members without their order."""
        return frozenset(self.members)


@dataclass
class Names:
    """What names the particles of a decay have, and which of them a text has used.

    Attributes:
        decay:     the decay
        shuffled:  names of particles that were used without a number although there are several
        numbered:  names of particles of which single ones were used by their label
    """

    decay: Decay
    shuffled: dict[str, int] = field(default_factory=dict)
    numbered: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        decay = self.decay
        self.identical = {decay.final[group[0]].name: group for group in decay.identical_groups}
        self.labels = dict(zip(decay.labels, range(len(decay.labels)), strict=True))
        self.held = {name: state for state in decay.held for name in (state.label, state.particle.name)}
        apart = {p.name for p in decay.final} - {decay.final[group[0]].name for group in decay.same_names} | {*self.identical}
        names = [*(p.name for p in decay.final if p.name in apart), *self.held, *decay.labels]
        self.known = dict(zip(names, names, strict=True))
        self.spellings = {normalise(name): name for name in reversed(self.known)}

    def groups(self, text: str, start: int, words: Sequence[Sequence[str]], distinct: bool = False) -> tuple[tuple[Group, ...], int]:
        """Groups separated by ``;`` up to the closing bracket.

        Args:
            text:      the whole text of the variable
            start:     where the first group starts, after the opening bracket
            words:     for each group, which words it may be instead of particles
            distinct:  whether a name stands for another particle in every group: ``pi+ pi-; pi+ pi-``

        Returns:
            the groups, and where the closing bracket is
        """
        groups: list[Group] = []
        here = start
        seen: Counter[str] = Counter()
        while True:
            allowed = words[len(groups)] if len(groups) < len(words) else ()
            group, here = self._group(text, here, allowed, seen)
            seen = seen if distinct else Counter()
            groups.append(group)
            if text[here] == ")":
                return tuple(groups), here
            here += 1

    def _group(self, text: str, start: int, words: Sequence[str], seen: Counter[str]) -> tuple[Group, int]:
        here, first = start, -1
        members: list[int] = []
        parts: list[Held | int] = []
        while True:
            while here < len(text) and text[here] in SEPARATORS:
                here += 1
            if here >= len(text):
                raise error_at(text, start - 1, "(", "a bracket is not closed", "add )")
            if text[here] in (")", END_OF_GROUP):
                break
            first = here if first < 0 else first
            end, name = self._name(text, here)
            word = text[here:end]
            if not members and name is None and word in words:
                return self._word_group(text, here, word)
            if name is None:
                raise error_at(text, here, word, f"{word!r} is not a final particle of {self.decay}", self._advice(word, words))
            part = self.held[name] if name in self.held else self._index(text, here, name, seen)
            own = part.place if isinstance(part, Held) else (part,)
            if set(own) & set(members):
                raise error_at(text, here, word, f"{word!r} is given twice", "name every particle of a group once")
            members += own
            parts.append(part)
            here = end
        if not members:
            raise error_at(text, start - 1, text[start - 1], "no particle is named here", f"name some of {' '.join(self.decay.labels)}")
        latex = "".join(part.particle.latex if isinstance(part, Held) else self.latex(part) for part in parts)
        return Group(tuple(members), "", latex, text[first:here].rstrip(" ,"), first), here

    def _word_group(self, text: str, start: int, word: str) -> tuple[Group, int]:
        end = start + len(word)
        while end < len(text) and text[end] == " ":
            end += 1
        if end >= len(text):
            raise error_at(text, start, word, "a bracket is not closed", "add )")
        if text[end] not in (")", END_OF_GROUP):
            raise error_at(text, end, text[end], f"{word!r} stands alone", "separate frame and axis by ;")
        return Group((), word, rf"\mathrm{{{word}}}", word, start), end

    def _name(self, text: str, start: int) -> tuple[int, str | None]:
        """Where the name that starts here ends, and which it is; None if no particle has it."""
        for name in sorted(self.known, key=len, reverse=True):
            end = start + len(name)
            if text.startswith(name, start) and (end == len(text) or text[end] in SEPARATORS + END_OF_GROUP + ")"):
                return end, name
        end, depth = start, 0
        while end < len(text) and not (text[end] in SEPARATORS + END_OF_GROUP or (text[end] == ")" and depth == 0)):
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        return end, self.spellings.get(normalise(text[start:end]))

    def _index(self, text: str, start: int, name: str, seen: Counter[str]) -> int:
        if name in self.labels or name not in self.identical:
            index = self.labels[name] if name in self.labels else [p.name for p in self.decay.final].index(name)
            species = self.decay.final[index].name
            if species in self.identical:
                self.numbered.setdefault(species, start)
                self._refuse_mixture(text, species)
            return index
        self.shuffled.setdefault(name, start)
        self._refuse_mixture(text, name)
        same = self.identical[name]
        seen[name] += 1
        if seen[name] > len(same):
            raise error_at(text, start, name, f"{name!r} is given {seen[name]} times", f"{self.decay} has {len(same)} of them")
        return same[seen[name] - 1]

    def _refuse_mixture(self, text: str, species: str) -> None:
        if species in self.shuffled and species in self.numbered:
            start = max(self.shuffled[species], self.numbered[species])
            label = self.decay.labels[self.identical[species][0]]
            fix = "use labels everywhere, or names without a number everywhere"
            raise error_at(text, start, "", f"{species!r} and labels such as {label!r} in one variable", fix)

    def latex(self, index: int) -> str:
        """LaTeX name of a final particle; one of several identical ones has its label as subscript unless they are shuffled."""
        particle, label = self.decay.final[index], self.decay.labels[index]
        if particle.name not in self.identical or particle.name in self.shuffled:
            return particle.latex
        number = label.removeprefix(f"{particle.name}_")
        subscript = number if number.isdigit() else rf"\mathrm{{{_escaped(number)}}}"
        return f"{{{particle.latex}}}_{{{subscript}}}"

    def _advice(self, word: str, words: Sequence[str]) -> str:
        advice = suggest(word, [*self.known, *words])
        return advice or f"the final particles are {' '.join(self.decay.labels)}"


def _escaped(label: str) -> str:
    return "".join(f"\\{letter}" if letter in "_#$%&{}" else letter for letter in label)
