"""What is wrong in a model description, collected so that everything is reported together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ctpwa.base.errors import ConfigError, Path, PhysicsError, Problem

MAX_PROBLEMS = 50  # whoever has more of them has another problem


class SpecError(PhysicsError):
    """A physics error that knows which part of the model description is to blame.

    Attributes:
        key:     keys inside the entry being read, such as ``("mass",)``; None: the value being read, (): the entry's name
        word:    the part of a text value
        offset:  where this part starts in the text; None: where it is first found
    """

    def __init__(self, what: str, fix: str = "", *, key: Path | None = None, word: str = "", offset: int | None = None) -> None:
        self.key = key
        self.word = word
        self.offset = offset
        super().__init__(what, fix)


class SpecErrors(PhysicsError):
    """Several errors in one value."""

    def __init__(self, errors: Sequence[SpecError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(error.what for error in errors))


class Problems:
    """A list of problems that physics errors can be caught into.

    Attributes:
        found:    the problems
        written:  path of an entry by its full name → the name that the description has there
    """

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.written: dict[Path, str] = {}

    @contextmanager
    def collect(self, entry: Path, *value: str | int, fix: str = "") -> Iterator[None]:
        """Turn a physics error into a problem.

        Args:
            entry:  path of the entry being read, such as ``("resonances", "phi(1020)")``
            value:  keys inside it that are being read; an error may know better
            fix:    what to do if the error does not say
        """
        try:
            yield
        except PhysicsError as error:
            self.add(error, entry, *value, fix=fix)

    def add(self, error: PhysicsError, entry: Path, *value: str | int, fix: str = "") -> None:
        """One more problem, or several, from an error."""
        if isinstance(error, SpecErrors):
            for part in error.errors:
                self.add(part, entry, *value, fix=fix)
            return
        key = error.key if isinstance(error, SpecError) else None
        word = error.word if isinstance(error, SpecError) else ""
        path = self._as_written((*entry, *(value if key is None else key)))
        offset = error.offset if isinstance(error, SpecError) else None
        problem = Problem(error.what, path, error.fix or fix, word=word, at_key=key == (), offset=offset)
        if problem not in self.found:  # a resonance in several systems has its problems once
            self.found.append(problem)
        if len(self.found) >= MAX_PROBLEMS:
            self.stop()

    def _as_written(self, path: Path) -> Path:
        return tuple(self.written.get(path[: i + 1], step) for i, step in enumerate(path))

    def stop(self) -> None:
        """Raise all problems, if there are any."""
        if self.found:
            raise ConfigError(self.found)

    def at(self, *start: str) -> bool:
        """Whether there is a problem below this path."""
        return any(problem.path[: len(start)] == start for problem in self.found)
