"""Short names of waves: resonances and (L, S), without the final particles in brackets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

SEVERAL = 2  # systems in brackets from which on a name is long
_SYSTEM = re.compile(r"\[[^\[\]]*\]")


def short_form(name: str) -> str:
    """The name of a wave without the final particles in brackets: ``a(1)(1260)+ rho(770)0 (1,1)(0,1)(1,0)``."""
    return " ".join(_SYSTEM.sub("", name).split())


def short_names(names: Collection[str]) -> dict[str, str]:
    """What tables call waves: those of cascades by their short form where this leaves them different, others by their name."""
    count = Counter(map(short_form, dict.fromkeys(names)))
    return {name: short_form(name) if is_long(name) and count[short_form(name)] == 1 else name for name in names}


def shorten(text: str, names: Collection[str]) -> str:
    """A text with the names of cascades in it shortened.

    Args:
        text:   any text
        names:  of all couplings or waves that may be in it
    """
    shown = short_names(names)
    for name in sorted((name for name in shown if shown[name] != name), key=len, reverse=True):
        text = text.replace(name, shown[name])
    return text


def is_long(name: str) -> bool:
    """Whether it is the name of a cascade."""
    return len(_SYSTEM.findall(name)) >= SEVERAL
