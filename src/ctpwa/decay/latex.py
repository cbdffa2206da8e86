"""LaTeX for math mode, of names that nobody has given any."""

from __future__ import annotations

import re
import unicodedata

GREEK = frozenset(
    ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi", "pi", "rho",
     "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
     "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega")
)  # fmt: skip
_NAME = re.compile(r"([A-Za-z]+)(?:\((\d)\))?([*']*)(\(\d+\))?([+-]*)")
_SPECIAL = {"\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim ", " ": r"\ "} | {letter: "\\" + letter for letter in "{}_%#&$"}


def latex_of_name(name: str) -> str:
    """A name that the PDG does not have: ``rho(3)(2250)`` is ρ₃(2250); what is not spelled like a hadron stands upright."""
    match = _NAME.fullmatch(name)
    if match is None or not (match[1] in GREEK or len(match[1]) == 1):
        return latex_of_text(name)
    letter, index, marks, mass, charge = match.groups()
    upper = marks.replace("'", r"\prime ").strip()
    parts = ["\\" + letter if letter in GREEK else letter, f"_{{{index}}}" if index else "", f"^{{{upper}}}" if upper else ""]
    return "".join(parts) + (mass or "") + (f"^{{{charge}}}" if charge else "")


def latex_of_text(text: str) -> str:
    """Any text, upright, with Greek letters and superscript signs as LaTeX has them."""
    return rf"\mathrm{{{''.join(_character(letter) for letter in text)}}}"


def _character(letter: str) -> str:
    if letter in _SPECIAL:
        return _SPECIAL[letter]
    if letter in "⁺⁻":
        return "^{+}" if letter == "⁺" else "^{-}"
    words = unicodedata.name(letter, "").split()
    if words[:1] == ["GREEK"] and len(words) == 4:
        name = {"LAMDA": "LAMBDA"}.get(words[3], words[3])
        spelled = name.capitalize() if words[1] == "CAPITAL" else name.lower()
        if spelled in GREEK:
            return f"\\{spelled} "
    return letter
