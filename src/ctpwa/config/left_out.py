"""``without``: waves and chains that resonances in systems would make, and that the user leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctpwa.base.errors import suggest
from ctpwa.config.draft import Draft
from ctpwa.config.problems import SpecError
from ctpwa.decay.chain import Chain
from ctpwa.decay.pdg import normalise
from ctpwa.decay.spin import LS

Entry = tuple[str, int, str]  # resonance, position in its list, text


class LeftOut:
    """What ``without`` of all resonances leaves out: chains with another resonance, or waves by name or by its beginning.

    Args:
        draft:  the model being built
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._unused: dict[Entry, set[str]] = {entry: set() for entry in self._entries()}  # with what it could have named
        self.chains: list[Chain] = []  # of which nothing is left

    def kept(self, chain: Chain, choices: Sequence[tuple[LS, ...]]) -> list[tuple[LS, ...]]:
        """The waves of a chain that are not left out."""
        names = {ls: self._draft.wave_name(chain, ls) for ls in choices}
        own = [node.resonance for node in chain.carriers]
        out: set[tuple[LS, ...]] = set()
        for entry in [entry for entry in self._entries() if entry[0] in own]:
            resonance, _, text = entry
            others = [name for name in own if name != resonance]
            named = set(choices) if any(normalise(name) == normalise(text) for name in others) else _called(text, names)
            out |= named
            if named:
                self._unused.pop(entry, None)
            elif entry in self._unused:
                self._unused[entry] |= {*others, *names.values()}
        kept = [ls for ls in choices if ls not in out]
        if not kept:
            self.chains.append(chain)
        return kept

    def report_unused(self) -> None:
        """An entry that leaves nothing out is a mistake, unless its resonance has problems of its own."""
        for (resonance, position, text), known in self._unused.items():
            if known and not self._draft.problems.at("resonances", resonance):
                near = suggest(text, known)
                key = ("without", position) if len(self._draft.spec.resonances[resonance].without) > 1 else ("without",)
                error = SpecError(
                    f"'without' of {resonance!r}: {text!r} is neither a resonance in one of its chains nor one of its waves",
                    near if near.startswith("did") else "write names as ctpwa check prints them, with or without (L,S)",
                    key=key,
                )
                self._draft.problems.add(error, ("resonances", resonance))

    def _entries(self) -> Iterator[Entry]:
        for name, spec in self._draft.spec.resonances.items():
            yield from ((name, position, " ".join(text.split())) for position, text in enumerate(spec.without))


def _called(text: str, names: dict[tuple[LS, ...], str]) -> set[tuple[LS, ...]]:
    """Waves whose name is the text, or begins with it."""
    return {ls for ls, name in names.items() if name == text or name.startswith(f"{text} ")}
