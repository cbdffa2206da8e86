"""Expressions of generic functions, which are parsed and never evaluated: from the format to the language of lineshapes."""

from __future__ import annotations

import re

from ctpwa.interchange.checked import Entry

_WORD = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(?P<unit>im)?(?![\w.])|(?P<name>[^\W\d]\w*)|(?P<sign>\*\*|[-+*/^()])|(?P<blank>\s+)"
)
_FUNCTIONS = {"sqrt", "exp", "log", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "abs"}
_UNITS = {"i", "im", "j"}
_SQUARES = {"s", "σ", "sigma"}  # names of a squared mass
LONGEST = 1500  # characters


def translated(entry: Entry, variable: str | None, momentum: str | None = None) -> str:
    """An expression in the language of lineshapes, where the squared mass is ``s``.

    Args:
        entry:     the expression
        variable:  name of its argument; None if the function does not say
        momentum:  name of the squared break-up momentum in the event, if the function has it as well
    """
    text = entry.text
    if len(text) > LONGEST:
        raise entry.error(f"an expression of {len(text)} characters", f"keep it below {LONGEST}")
    words: list[str] = []
    position = 0
    while position < len(text):
        match = _WORD.match(text, position)
        if match is None:
            raise entry.error(
                f"{text[position : position + 12]!r} in column {position + 1} is not part of a formula",
                "use numbers, names, + - * / ^, brackets and functions of one argument",
            )
        words.append(_word(entry, match, variable, momentum))
        position = match.end()
    return "".join(words).strip()


def _word(entry: Entry, match: re.Match[str], variable: str | None, momentum: str | None) -> str:
    if match["number"]:
        return f"({match['number']}*i)" if match["unit"] else match["number"]
    if match["sign"]:
        return "**" if match["sign"] == "^" else match["sign"]
    if match["blank"]:
        return " "
    name = match["name"]
    if name == variable or (variable is None and (name in _SQUARES or re.fullmatch(r"m_[0-9_]+_sq", name))):
        return "s"
    if name == momentum:
        return "q2"
    if name in _UNITS:
        return "i"
    if name in _FUNCTIONS:
        return name
    if name in ("pi", "π"):
        return "pi"
    known = f"its argument {variable!r}" if variable is not None else "a squared mass such as σ or m_12_sq"
    raise entry.error(f"{name!r} in column {match.start() + 1} is not known", f"use {known}, i, pi and {', '.join(sorted(_FUNCTIONS))}")
