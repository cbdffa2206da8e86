"""The ``couplings`` section: values of complex couplings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np

from ctpwa.base.errors import suggest
from ctpwa.config.problems import Problems, SpecError
from ctpwa.config.schema import CouplingValue, PolarSpec
from ctpwa.model.couplings import coupling_names
from ctpwa.model.model import Wave

ADVICE = "write a number such as 1.5 or 0.5+0.1j, or [re, im], or {abs: …, phase: …}"


def read_couplings(values: Mapping[str, CouplingValue], waves: Sequence[Wave], problems: Problems) -> dict[str, complex]:
    """Couplings by name; unknown names and values that are not numbers become problems."""
    names = coupling_names(waves)
    result: dict[str, complex] = {}
    for name, value in values.items():
        with problems.collect(("couplings", name)):
            _check_name(name, names, waves)
            result[name] = read_number(name, value)
    return result


def refuse_tied(name: str, waves: Sequence[Wave]) -> None:
    """Refuse the name of a wave that shares the coupling of another one."""
    tied = {wave.name: wave for wave in waves if wave.coupling != wave.name}
    if name in tied:
        sign = "-" if tied[name].factor < 0 else ""
        raise SpecError(
            f"{name!r} has no coupling of its own: it is {sign}{tied[name].coupling!r}", f"give {tied[name].coupling!r} a value", key=()
        )


def _check_name(name: str, names: Sequence[str], waves: Sequence[Wave]) -> None:
    if name in names:
        return
    refuse_tied(name, waves)
    fix = suggest(name, names)
    raise SpecError(
        f"no coupling is called {name!r}", fix if fix.startswith("did") else "ctpwa check lists the waves and their couplings", key=()
    )


def read_number(name: str, value: CouplingValue) -> complex:
    """A complex number as it may be written."""
    if isinstance(value, PolarSpec):
        return complex(value.abs * np.exp(1j * value.phase))
    if isinstance(value, list):
        number = complex(*value)
    else:
        try:
            number = complex(str(value).replace(" ", ""))
        except ValueError:
            raise SpecError(f"{value!r} is not a complex number", ADVICE) from None
    if not (isfinite(number.real) and isfinite(number.imag)):
        raise SpecError(f"the value of {name!r} is not finite", ADVICE)
    return number
