"""Values of TF-PWA's parameters: from ``final_params.json``, or what the configuration says."""

from __future__ import annotations

import cmath
import math
import os
from collections.abc import Mapping
from itertools import permutations

from ctpwa.base.errors import CtpwaError
from ctpwa.fitting.json_file import read_json
from ctpwa.interchange.checked import Entry
from ctpwa.interchange.tfpwa.configuration import Tree

WHAT, FIX = "file of parameters of TF-PWA", "give its final_params.json"


def read_parameters(path: str | os.PathLike[str]) -> dict[str, float]:
    """Parameters by name; complex ones are modulus and phase."""
    content = Entry(read_json(path, WHAT, FIX), "")
    values = content.get("value") or content
    return {name: entry.number for name, entry in values.items()}


class Values:
    """Complex numbers and masses by the names that TF-PWA gives them.

    Args:
        given:  parameters by name
    """

    def __init__(self, given: Mapping[str, float]) -> None:
        self._given = dict(given)
        self._used: set[str] = set()

    def real(self, name: str) -> float | None:
        """A real parameter; None if it is not given."""
        self._used.add(name)
        return self._given.get(name)

    def complex(self, name: str) -> complex | None:
        """A complex one, from modulus ``…r`` and phase ``…i``; None if it is not given."""
        modulus, phase = self.real(f"{name}r"), self.real(f"{name}i")
        if modulus is None and phase is None:
            return None
        value = cmath.rect(1.0 if modulus is None else modulus, 0.0 if phase is None else phase)
        if not (math.isfinite(value.real) and math.isfinite(value.imag)):
            raise CtpwaError(f"the parameter {name!r} is not finite\n fix: correct it")
        return value

    def chain_name(self, tree: Tree) -> str:
        """The name of a chain in names of its parameters, whatever the order of its decays there."""
        names = [step.decay.name for step in tree.walk()]
        for order in permutations(names[1:]):
            name = names[0] + "".join(order)
            if f"{name}_total_0r" in self._given:
                return name
        return "".join(names)

    @property
    def unused(self) -> list[str]:
        """Parameters that nothing has asked for."""
        return sorted(set(self._given) - self._used)
