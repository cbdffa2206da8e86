"""LaTeX for math mode: for names that come without any, and what LaTeX given by a user may contain."""

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
_PLAIN = {latex.rstrip(): letter for letter, latex in _SPECIAL.items()} | {"\\": " "}
_COMMAND = re.compile(r"\\([A-Za-z]+ ?|.|$)", re.DOTALL)
# what TeX, matplotlib and browsers all understand, and what can neither read files nor define anything
COMMANDS = GREEK | frozenset(
    ("varepsilon", "vartheta", "varpi", "varrho", "varsigma", "varphi", "ell", "hbar", "prime", "ast", "star", "dagger", "circ", "bullet",
     "infty", "partial", "perp", "parallel", "pm", "mp", "cdot", "times", "oplus", "otimes", "wedge", "vee", "sim", "approx", "equiv",
     "leq", "geq", "neq", "to", "rightarrow", "leftarrow", "leftrightarrow", "langle", "rangle", "backslash", "ldots", "cdots",
     "quad", "qquad", ",", ";", ":", "!", " ", "{", "}", "_", "%", "#", "&", "$", "|",
     "mathrm", "mathit", "mathbf", "mathsf", "mathtt", "mathcal", "text", "rm", "it", "bf",
     "bar", "overline", "tilde", "widetilde", "hat", "widehat", "vec", "dot", "ddot", "sqrt", "frac")
)  # fmt: skip
_DOLLAR = re.compile(r"(?<!\\)\$")
LONGEST, DEEPEST = 200, 8  # characters, and braces in braces


def latex_of_name(name: str) -> str:
    """A name that the PDG does not have: ``rho(3)(2250)`` is ρ₃(2250); what is not spelled like a hadron is upright."""
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


def text_of_latex(latex: str) -> str:
    r"""Upright LaTeX as text: ``a\_b`` is a_b, and ``\phi`` φ; the opposite of what ``latex_of_text`` does to letters."""
    return _COMMAND.sub(lambda match: _PLAIN.get(match[0].rstrip(), _greek_letter(match[1].rstrip()) or match[0]), latex)


def latex_problem(latex: str) -> str:
    r"""Why LaTeX that somebody has given for a name is not used as such; empty if it is.

    Tables and figures may be made from anyone's model: in a document ``\input`` or ``\write`` would do more than show a name.
    """
    if not latex.strip():
        return "it is empty"
    if len(latex) > LONGEST:
        return f"it has {len(latex)} characters, more than {LONGEST}"
    if not latex.isprintable():
        return "it has characters that cannot be printed"
    depth = 0
    for match in re.finditer(r"\\([A-Za-z]+|.|$)|\^\^|[{}%#&$~\"`]", latex):
        found = match[0]
        if found.startswith("\\"):
            if match[1] not in COMMANDS:
                return f"{found} is not among the commands for names"
        elif found not in "{}":
            return f"{found} means something else to LaTeX"
        else:
            depth += 1 if found == "{" else -1
            if depth < 0 or depth > DEEPEST:
                return "a brace } has no {" if depth < 0 else f"more than {DEEPEST} braces are in one another"
    return "a brace { is never closed" if depth else ""


def label_parts(label: str) -> list[tuple[str, bool]]:
    r"""Texts and LaTeX of a label, in which LaTeX stands between dollar signs and ``\$`` is one; each with whether it is LaTeX."""
    parts = _DOLLAR.split(label)
    if len(parts) % 2 == 0:  # one too many: then none means anything
        parts = [label]
    return [(part if k % 2 else part.replace(r"\$", "$"), k % 2 == 1) for k, part in enumerate(parts) if part]


def label_problem(label: str) -> str:
    """Why a label is not used as such; empty if it is."""
    return next((problem for part, is_latex in label_parts(label) if is_latex and (problem := latex_problem(part))), "")


def written_out(label: str) -> str:
    """A label whose LaTeX is shown as it is written."""
    return "".join(part for part, _ in label_parts(label)).replace("$", r"\$")


def _greek_letter(name: str) -> str:
    if name not in GREEK:
        return ""
    size, word = "CAPITAL" if name[0].isupper() else "SMALL", {"LAMBDA": "LAMDA"}.get(name.upper(), name.upper())
    return unicodedata.lookup(f"GREEK {size} LETTER {word}")


def _character(letter: str) -> str:
    if letter in _SPECIAL:
        return _SPECIAL[letter]
    if not letter.isprintable():
        return r"\ " if letter.isspace() else "?"
    if letter in "⁺⁻":
        return "^{+}" if letter == "⁺" else "^{-}"
    words = unicodedata.name(letter, "").split()
    if words[:1] == ["GREEK"] and len(words) == 4:
        name = {"LAMDA": "LAMBDA"}.get(words[3], words[3])
        spelled = name.capitalize() if words[1] == "CAPITAL" else name.lower()
        if spelled in GREEK:
            return f"\\{spelled} "
    return letter
