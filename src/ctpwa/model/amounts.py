"""Names of the parameters that say how much there is of signal and of every background in a data set."""

from __future__ import annotations

from collections.abc import Iterable

SIGNAL = "signal"
FRACTION, YIELD = "fraction", "yield"


def amount_names(backgrounds: Iterable[str], yields: str | None) -> dict[str, str]:
    """Backgrounds, and the signal first where it has one → their parameter: ``side.fraction``, ``side.yield`` or ``run1.side.yield``.

    Args:
        backgrounds:  their names
        yields:       None for fractions, of which those with the same name are one parameter in all data sets; else what yields begin
                      with: the data set, or nothing if there is only one
    """
    if yields is None:
        return {name: f"{name}.{FRACTION}" for name in backgrounds}
    start = f"{yields}." if yields else ""
    return {name: f"{start}{name}.{YIELD}" for name in (SIGNAL, *backgrounds)}


def is_amount(name: str) -> bool:
    """Whether a parameter says how much there is of something."""
    return name.rpartition(".")[2] in (FRACTION, YIELD)
