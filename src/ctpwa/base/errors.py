"""Every error that ctpwa raises on purpose: what is wrong, where, and what to do about it; and how a text becomes safe to print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from unicodedata import category

Path = tuple[str | int, ...]
MAX_SHOWN = 20  # problems in one message
MAX_SENTENCE = 1000  # characters of what is said about one of them
MAX_WORD = 100  # characters of a word that near ones are looked for


def printable(text: str) -> str:
    """A text for a terminal: what would control it, or hide or reverse letters, is shown as an escape.

    Names, paths and messages come from files of others. Lines and tabs stay.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def on_one_line(text: str) -> str:
    """The same for what must stay on its line, such as a name in a table."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def _shown(letter: str) -> str:
    if letter.isprintable() or letter in "\n\t" or category(letter) == "Zs":  # spaces of any width
        return letter
    return letter.encode("unicode_escape").decode("ascii")


class CtpwaError(Exception):
    """Base of all errors of this package. Its message is safe to print."""

    def __str__(self) -> str:
        return printable(super().__str__())


class PhysicsError(CtpwaError):
    """A particle, vertex or wave that cannot exist, or that is not known well enough.

    Attributes:
        what:  the offending value and the rule it breaks
        fix:   the change to make; empty where the rule leaves no choice
    """

    def __init__(self, what: str, fix: str = "") -> None:
        self.what = what
        self.fix = fix
        super().__init__(what if not fix else f"{what}\n fix: {fix}")


class TextError(PhysicsError):
    """A text that a user wrote, such as a formula, and that cannot be understood.

    Attributes:
        word:    the part of the text that is to blame
        column:  where it starts, from 1
    """

    def __init__(self, what: str, fix: str, word: str = "", column: int = 1) -> None:
        self.word = word
        self.column = column
        super().__init__(what, fix)


class DataError(CtpwaError):
    """Momenta or weights that cannot be used; the message names the particle and the event."""


class UnknownNameError(CtpwaError, KeyError):
    """A name that nothing has; the message suggests near ones. It is a ``KeyError``, too."""

    def __str__(self) -> str:
        return printable(str(self.args[0]))  # a KeyError shows its message with quotation marks


class GenerationError(CtpwaError):
    """Phase space that cannot be generated as asked."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a model description.

    Attributes:
        what:      the offending value and the rule it breaks
        path:      the keys that lead to it
        fix:       the change to make
        location:  file:line:column
        excerpt:   the line, with a caret under the offending part
        word:      the part of a text value that is to blame; empty for all of it
        offset:    where this part starts in the text; None: where it is first found
        at_key:    whether the key is to blame rather than its value
    """

    what: str
    path: Path = ()
    fix: str = ""
    location: str = ""
    excerpt: str = ""
    word: str = ""
    at_key: bool = False
    offset: int | None = None

    def __str__(self) -> str:
        what = shortened(self.what)
        lines = [f"{self.location}: {what}" if self.location else what]
        if self.excerpt:
            lines.append(self.excerpt)
        if self.path:
            lines.append(f"  at: {shortened(format_path(self.path))}")
        if self.fix:
            lines.append(f" fix: {shortened(self.fix)}")
        return printable("\n".join(lines))


class ConfigError(CtpwaError):
    """A model description with one or more problems, all reported together."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        shown = [str(problem) for problem in self.problems[:MAX_SHOWN]]
        left = len(self.problems) - len(shown)
        super().__init__("\n\n".join([*shown, f"and {left} more of them"] if left else shown))


def shortened(text: str, longest: int = MAX_SENTENCE) -> str:
    """The text without its middle if it is too long to be read."""
    return text if len(text) <= longest else f"{text[: longest // 2]} […] {text[-longest // 4 :]}"


def format_path(path: Path) -> str:
    """``('chains', 0, 'ls')`` as ``chains[0].ls``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else str(step))
    return text


def suggest(word: str, known: Iterable[str]) -> str:
    """``did you mean 'mass'?``, or the list of all known words when none is near.

    Upper and lower case, brackets and punctuation do not count: ``Jpsi`` is near ``J/psi(1S)``.
    """
    words = sorted(set(known))
    short = len(word) <= MAX_WORD
    near = get_close_matches(word, words, n=3, cutoff=0.6) if short else []
    if short and not near:
        by_letters: dict[str, str] = {}
        for candidate in words:
            by_letters.setdefault(_letters(candidate), candidate)
        near = [by_letters[match] for match in get_close_matches(_letters(word), by_letters, n=3, cutoff=0.6)]
    if near:
        return "did you mean " + " or ".join(repr(match) for match in near) + "?"
    if 0 < len(words) <= 25:
        return "known: " + ", ".join(words) + "."
    return ""


def _letters(word: str) -> str:
    return "".join(letter for letter in word.casefold() if letter.isalnum() or letter in "+-~*")
