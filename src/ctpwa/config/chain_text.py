"""A chain written as text: ``J/psi(1S) -> phi(1020) eta ; phi(1020) -> K+ K-``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ctpwa.base.words import counted
from ctpwa.config.chains import VertexRules
from ctpwa.config.decay_line import ARROW
from ctpwa.config.problems import SpecError
from ctpwa.decay.chain import Chain, Decay, Held, Node
from ctpwa.decay.particle import Particle
from ctpwa.decay.pdg import ParticleTable, normalise, split_charge

MAX_VERTICES = 50  # that are read; a chain needs one less than it has final particles
# (name as written, final particles below) → (name of the resonance, its charge state)
FindState = Callable[[str, tuple[int, ...]], tuple[str, Particle]]


class ChainReader:
    """Reads one chain; final particles are handed out once each.

    Args:
        text:        vertices separated by ``;``, the parent's first
        decay:       the decay
        table:       the particles
        find_state:  finds the resonance that a name means
        rules:       how to make vertices
    """

    def __init__(self, text: str, decay: Decay, table: ParticleTable, find_state: FindState, rules: VertexRules) -> None:
        self.text, self.decay, self.find_state, self.rules = text, decay, find_state, rules
        vertices = [_read_vertex(part) for part in text.split(";") if part.strip()]
        if not vertices:
            raise SpecError("the chain is empty", f"write {decay.parent.name} {ARROW} … ; … {ARROW} …")
        if len(vertices) > MAX_VERTICES:
            most = len(decay.final) - 1
            raise SpecError(f"the chain has {len(vertices)} vertices", f"write {most}: each makes two particles of one")
        self.top = vertices[0][0]
        start = table.find(self.top)
        if self.top != decay.parent.name and (start is None or start.name != decay.parent.name):
            raise SpecError(
                f"the chain does not start with {decay.parent.name}", f"begin with {decay.parent.name} {ARROW} …", word=self.top
            )
        self.daughters: dict[str, list[tuple[str, str]]] = {}
        self.written: dict[str, str] = {}
        for name, pair in vertices:
            self.daughters.setdefault(normalise(name), []).append(pair)
            self.written.setdefault(normalise(name), name)
        self.uses: Counter[str] = Counter()
        self.free = list(range(len(decay.final)))
        self.implied = [state for state in decay.held if not self._has_vertex(state)]  # their vertices are in the decay line

    def read(self) -> Chain:
        """The chain, complete and with nothing left over."""
        pair = self._daughters(self.top, ())
        for key, pairs in self.daughters.items():
            if self.uses[key] < len(pairs):
                name = self.written[key]
                raise SpecError(f"the vertex of {name!r} is never reached", f"let another vertex produce {name}, or remove it", word=name)
        if self.free:
            left = " ".join(self.decay.labels[i] for i in self.free)
            raise SpecError(f"the chain does not contain {left}", f"it must end in {' '.join(self.decay.labels)}")
        chain = Chain(self.decay, self.rules.node(self.decay, "", self.decay.parent, pair))
        for state in self.decay.held:
            if all(set(node.leaves) != set(state.place) for node in chain.nodes):
                raise SpecError(
                    f"the chain does not contain {state.label}: a state on its mass shell is in every chain, or in none",
                    f"let it produce {state.label}, or remove its sub-decay from the decay line",
                )
        return chain

    def _has_vertex(self, state: Held) -> bool:
        return any(normalise(name) in self.daughters for name in (state.label, state.particle.name))

    def _implied(self, name: str) -> Node | None:
        """A state on its mass shell that has no vertex in the chain, with the vertex that the decay line gives it."""
        for state in self.implied:
            if normalise(name) in (normalise(state.label), normalise(state.particle.name)):
                self.implied.remove(state)
                return self._decayed(state)
        return None

    def _decayed(self, state: Held) -> Node:
        parts = self.decay.parts(state.place)
        if len(parts) != 2:
            raise SpecError(
                f"{state.label} decays to {counted(len(parts), 'particle')}, and the chain does not say how",
                f"add  ; {state.label} {ARROW} …  with a resonance, or a structure of lineshape constant, in between",
                word=state.label,
            )
        for part in parts:
            if isinstance(part, int):
                self.free.remove(part)
            elif part in self.implied:
                self.implied.remove(part)
        first, second = (self._decayed(part) if isinstance(part, Held) else part for part in parts)
        return self.rules.node(self.decay, *self.find_state(state.label, state.place), (first, second))

    def _expand(self, name: str, above: tuple[str, ...]) -> Node | int:
        key = normalise(name)
        if key not in self.daughters:
            return self._implied(name) or self._take(name)
        if key in above:
            raise SpecError(f"{name!r} decays into itself", "give different states different names", word=name)
        pair = self._daughters(name, above)
        leaves = tuple(leaf for d in pair for leaf in (d.leaves if isinstance(d, Node) else (d,)))
        return self.rules.node(self.decay, *self.find_state(name, leaves), pair)

    def _daughters(self, name: str, above: tuple[str, ...]) -> tuple[Node | int, Node | int]:
        key = normalise(name)
        pairs = self.daughters[key]
        first, second = pairs[min(self.uses[key], len(pairs) - 1)]
        self.uses[key] += 1
        return self._expand(first, (*above, key)), self._expand(second, (*above, key))

    def _take(self, name: str) -> int:
        reserved = {i: state for state in self.implied for i in state.place}
        called = [i for i in range(len(self.decay.final)) if self._is_called(i, name)]
        fitting = [i for i in called if i not in reserved]
        if called and not fitting:
            raise SpecError(
                f"{name!r} comes from {reserved[called[0]].label}: a state on its mass shell is in every chain, or in none",
                f"let the chain produce {reserved[called[0]].label}, or remove its sub-decay from the decay line",
                word=name,
            )
        for index in fitting:
            if index in self.free:
                self.free.remove(index)
                return index
        labels = " ".join(self.decay.labels)
        if fitting:
            raise SpecError(f"{name!r} occurs too often in the chain", f"the final particles are {labels}", word=name)
        alike = [written for key, written in self.written.items() if _without_charge(key) == _without_charge(normalise(name))]
        fix = f"write {name} at both of its vertices, not {alike[0]}" if alike else f"add  ; {name} {ARROW} …"
        raise SpecError(
            f"{name!r} is not a final particle and has no vertex of its own", f"{fix}; the final particles are {labels}", word=name
        )

    def _is_called(self, index: int, name: str) -> bool:
        return normalise(name) in (normalise(self.decay.labels[index]), normalise(self.decay.final[index].name))


def _without_charge(name: str) -> str:
    return split_charge(name)[0].removesuffix("~")


def _read_vertex(text: str) -> tuple[str, tuple[str, str]]:
    left, arrow, right = text.partition(ARROW)
    words = right.split()
    if not arrow or len(left.split()) != 1:
        raise SpecError(f"cannot read {text.strip()!r} as a vertex", f"write it as mother {ARROW} daughter daughter")
    if len(words) != 2:
        count = counted(len(words), "daughter") if words else "no daughter"
        raise SpecError(
            f"{text.strip()!r} has {count}", "every vertex has two: put a resonance, or a structure of lineshape constant, in between"
        )
    return left.strip(), (words[0], words[1])
