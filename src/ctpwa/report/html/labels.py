"""Names as physicists write them: parameters, waves, resonances and particles as formulas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from ctpwa.base.markup import Content, Html, element, together
from ctpwa.fitting.labels import chain_name, group_latex, parameter_label
from ctpwa.fitting.result import FitResult
from ctpwa.model.model import Model
from ctpwa.report.html.mathml import labelled, math


class NamedFormulas:
    """Formulas for names in sentences.

    Args:
        labels:  LaTeX between dollar signs, by names
    """

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = dict(labels)
        self._names = any_of(self._labels)

    def text(self, words: str) -> Html:
        """A sentence, in which names are formulas; each is seen when the pointer rests on its formula."""
        return _with_formulas(words, self._names, lambda name: element("span", labelled(self._labels[name]), title=name))


class Labels:
    """Formulas for the names of a model and its result.

    Args:
        model:   what was fitted
        result:  what was found
    """

    def __init__(self, model: Model, result: FitResult) -> None:
        self.model, self.result = model, result
        self._couplings = [coupling.name for coupling in result.couplings]

    def parameter(self, name: str) -> Html:
        """A parameter; its name is seen when the pointer rests on it."""
        return element("span", labelled(parameter_label(self.model, name, self._couplings)), title=name)

    def group(self, name: str) -> Html:
        """A resonance, wave, coupling or J^P, likewise."""
        return element("span", math(group_latex(self.model, name)), title=name)

    def particles(self, names: str) -> Html:
        """Final particles and resonances, separated by spaces."""
        decay = self.model.decay
        known = {particle.name: particle.latex for particle in decay.final}  # as poles call them, also where there are several
        known |= dict(zip(decay.labels, (particle.latex for particle in decay.final), strict=True))
        return math(r"\,".join(known.get(name) or group_latex(self.model, name) for name in names.split()) or r"\ ")

    def text(self, words: str) -> Html:
        """A sentence, in which names of parameters, waves and resonances are formulas."""
        return _with_formulas(words, self._names, lambda name: (self.parameter if name in self._parameters else self.group)(name))

    @cached_property
    def _parameters(self) -> frozenset[str]:
        return frozenset(self.result.values)

    @cached_property
    def _names(self) -> re.Pattern[str]:
        groups = {name for wave in self.model.waves for name in (wave.name, chain_name(wave)) if wave.resonances}
        return any_of({*self._parameters, *groups, *self._couplings, *self.model.resonances})


def any_of(names: Iterable[str]) -> re.Pattern[str]:
    """What finds names in a sentence, the longest first."""
    longest = sorted(names, key=len, reverse=True)
    return re.compile("|".join(rf"(?<![\w.]){re.escape(name)}(?!\w)" for name in longest) or "(?!)")


def _with_formulas(words: str, names: re.Pattern[str], formula: Callable[[str], Html]) -> Html:
    parts: list[Content] = []
    at = 0
    for match in names.finditer(words):
        parts += [words[at : match.start()], formula(match[0])]
        at = match.end()
    return together(parts, words[at:])
