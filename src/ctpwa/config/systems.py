"""Systems of final particles: what a resonance decays to in the end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from ctpwa.base.errors import suggest
from ctpwa.config.problems import SpecError
from ctpwa.decay.chain import Decay
from ctpwa.decay.pdg import normalise

Place = tuple[int, ...]  # indices of final particles


@dataclass(frozen=True)
class System:
    """A group of final particles as written in ``in``: ``K+ K-``, or ``J/psi(1S) pi+`` with a state on its mass shell.

    Attributes:
        text:    as written
        names:   labels, or names of particles that stand for any of several identical ones
        places:  all choices of final particles for the names, each in the order of the names
    """

    text: str
    names: tuple[str, ...]
    places: tuple[Place, ...]

    @classmethod
    def read(cls, text: str, decay: Decay, whole: bool = False) -> System:
        """Check the names of a system against the final state.

        Args:
            text:   as written
            decay:  the decay
            whole:  whether it may be all of the final state
        """
        states = [name for state in decay.held for name in (state.particle.name, state.label)]
        known = {normalise(name): name for name in (*states, *(particle.name for particle in decay.final), *decay.labels)}
        words = text.split()
        most = len(decay.final) - (not whole)
        if len(words) > most:
            raise SpecError(f"{text!r} is not a part of {decay}", _size_advice(len(words), decay, most))
        for word in words:
            if normalise(word) not in known:
                raise SpecError(f"{word!r} is not a final particle of {decay}", _advice(word, decay), word=word)
        names = tuple(known[normalise(word)] for word in words)
        every = _places(names, decay)
        if len(words) < 2 or not every or len(every[0]) > most:
            raise SpecError(f"{text!r} is not a part of {decay}", _size_advice(len(words), decay, most))
        places = tuple(place for place in every if decay.torn(place) is None)
        if not places:
            _refuse_torn(text, every[0], decay)
        return cls(text, names, places)

    @property
    def sets(self) -> frozenset[Place]:
        """The places without their order."""
        return frozenset(tuple(sorted(place)) for place in self.places)


def _places(names: tuple[str, ...], decay: Decay) -> tuple[Place, ...]:
    options = [
        [(i,) for i, p in enumerate(decay.final) if name in (decay.labels[i], p.name)]
        + [state.place for state in decay.held if name in (state.label, state.particle.name)]
        for name in names
    ]
    choices = (tuple(i for part in choice for i in part) for choice in product(*options))
    return tuple(choice for choice in choices if len(set(choice)) == len(choice))


def _refuse_torn(text: str, place: Place, decay: Decay) -> None:
    state = decay.torn(place)
    assert state is not None
    members = " ".join(decay.labels[i] for i in state.place)
    raise SpecError(
        f"{text!r} takes {state.label} apart: a state on its mass shell is in every chain, or in none",
        f"write {state.label} for {members}; to have other states in these particles, remove the sub-decay from the decay line",
    )


def _advice(word: str, decay: Decay) -> str:
    return "separate names by spaces only" if "," in word else suggest(word, decay.labels)


def _size_advice(n_words: int, decay: Decay, most: int) -> str:
    labels = " ".join(decay.labels)
    if n_words == 1:
        return f"a system has at least two of {labels}: write them in one text, such as  in: {' '.join(decay.labels[:2])}"
    return f"name {'two' if most == 2 else f'2 to {most}'} of {labels}, each as often as it occurs"
