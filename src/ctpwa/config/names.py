"""Names of couplings, resonances and parameters as users write them: spelled another way, without brackets, or only begun.

``phi(1680)[K+ K-] (1,1) (1,0)``, as the table of ``ctpwa check`` shows it, ``phi(1680) (1,1)(1,0)`` and ``phi(1680)`` all mean the coupling
``phi(1680)[K+ K-] (1,1)(1,0)``, as long as they mean no other one as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from ctpwa.base.errors import Path
from ctpwa.config.backgrounds import mixture_parameters
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.schema import ModelSpec
from ctpwa.decay.pdg import normalise
from ctpwa.model.couplings import VERTEX, coupling_names
from ctpwa.model.model import Wave
from ctpwa.model.parameter import PARTS
from ctpwa.model.short_names import short_form

SHOWN = 4  # names that an ambiguous one is answered with
_OF_COUPLINGS = frozenset(part for parts in PARTS.values() for part in parts)
# parts of a real number
REAL: dict[str, Callable[[float], float]] = {
    "re": lambda x: x, "im": lambda x: 0.0, "abs": abs, "phase": lambda x: 0.0 if x >= 0 else math.pi,
}  # fmt: skip
T = TypeVar("T")


def meant(name: str, known: Collection[str]) -> str | None:
    """The one of the known names that is meant: the same but for spelling or without brackets, or one that begins so; None if none is.

    Raises:
        SpecError: if it may be several
    """
    word = normalise(name)
    if name in known or not word:
        return name if name in known else None
    same = [other for other in known if normalise(other) == word]
    alike = same or [other for other in known if normalise(short_form(other)) == word]
    alike = alike or [other for other in known if normalise(other).startswith(word) or normalise(short_form(other)).startswith(word)]
    if len(alike) > 1:
        listed = ", ".join(map(repr, alike[:SHOWN])) + (f" and {len(alike) - SHOWN} more" if len(alike) > SHOWN else "")
        raise SpecError(f"{name!r} could be any of {listed}", "write more of the name", key=(), word=name)
    return alike[0] if alike else None


class FullNames:
    """Puts full names in the place of those that a model description uses; problems keep the places as written.

    Args:
        spec:      the description
        problems:  gets names that may mean several things
    """

    def __init__(self, spec: ModelSpec, problems: Problems) -> None:
        self.spec, self.problems = spec, problems

    def of_resonances(self) -> ModelSpec:
        """Parameters of resonances under ``fit``."""
        own = {*mixture_parameters(self.spec), *self.spec.parameters}
        known = list(self.spec.resonances)

        def full(name: str) -> str | None:
            owner, _, part = name.rpartition(".")
            found = meant(owner, known) if owner and part not in _OF_COUPLINGS and name not in own else None
            return None if found is None else f"{found}.{part}"

        return self._with_parameters(full)

    def of_couplings(self, waves: Sequence[Wave]) -> ModelSpec:
        """Couplings, wherever they are named, and their parameters."""
        couplings = coupling_names(waves)

        def full(name: str) -> str | None:
            return meant(name, couplings) or next((wave.name for wave in waves if normalise(wave.name) == normalise(name)), None)

        def parameter(name: str) -> str | None:
            owner, _, part = name.rpartition(".")
            found = full(owner) if owner and part in _OF_COUPLINGS else None
            return None if found is None else f"{found}.{part}"

        self.spec = self._with_parameters(parameter)
        if self.spec.fit.couplings != VERTEX:
            self._fix_both_parts(couplings)
        fit = self.spec.fit
        ties = {
            name: [self._one(str(pair[0]), full, ("fit", "ties", name)), pair[1]]
            for name, pair in self._renamed(fit.ties, full, ("fit", "ties")).items()
        }
        reference = None if fit.reference_wave is None else self._one(fit.reference_wave, full, ("fit", "reference_wave"))
        return self.spec.model_copy(
            update={
                "couplings": self._renamed(self.spec.couplings, full, ("couplings",)),
                "fit": fit.model_copy(update={"ties": ties, "reference_wave": reference}),
            }
        )

    def _fix_both_parts(self, couplings: Collection[str]) -> None:
        """A coupling that is fixed as a whole: both of its parts are, at its start value or at a real number."""
        fit = self.spec.fit
        own = {*mixture_parameters(self.spec), *self.spec.parameters}
        found: dict[str, float | None] = {}
        for name, value in fit.fix.items():
            with self.problems.collect(("fit", "fix", name)):
                is_parameter = name in own or name.rpartition(".")[2] in _OF_COUPLINGS
                coupling = None if is_parameter else meant(name, couplings)
                if coupling is None:
                    found[name] = value
                    continue
                for part in PARTS[fit.representation]:
                    whole = f"{coupling}.{part}"
                    if whole in found or whole in fit.fix:
                        raise SpecError(f"{coupling!r} is fixed twice", "keep one of them", key=(), word=name)
                    found[whole] = None if value is None else REAL[part](value)
                    self.problems.written[("fit", "fix", whole)] = name
        self.spec = self.spec.model_copy(update={"fit": fit.model_copy(update={"fix": found})})

    def _with_parameters(self, full: Any) -> ModelSpec:
        fit = self.spec.fit
        changed: dict[str, Any] = {
            key: self._renamed(getattr(fit, key), full, ("fit", key)) for key in ("constraints", "limits", "fix", "start", "relations")
        }
        changed["minos"] = [self._one(name, full, ("fit", "minos", i)) for i, name in enumerate(fit.minos)]
        return self.spec.model_copy(update={"fit": fit.model_copy(update=changed)})

    def _one(self, name: str, full: Any, path: Path) -> str:
        """The full name of a value."""
        try:
            return full(name) or name
        except SpecError as error:
            self.problems.add(SpecError(error.what, error.fix, word=name), path)
            return name

    def _renamed(self, values: Mapping[str, T], full: Any, path: Path) -> dict[str, T]:
        """The same values under full names."""
        found: dict[str, T] = {}
        for name, value in values.items():
            with self.problems.collect((*path, name)):
                other = full(name) or name
                if other != name:
                    self.problems.written[(*path, other)] = name
                if other in found:
                    raise SpecError(f"{name!r} is there twice: it means {other!r}", "keep one of them", key=(), word=name)
                found[other] = value
        return found
