"""A YAML text, and where each of its keys is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import yaml

from ctpwa.base.errors import ConfigError, Path, Problem
from ctpwa.config.yaml_loader import BoundedLoader

# what PyYAML says → what to do about it
_SYNTAX_ADVICE = {
    "character '\\t'": "indent with spaces, not with tabs",
    "mapping values are not allowed": "quote text that contains a colon followed by a space",
    "another document": "a model is one YAML document: remove the line ---",
    "expected ',' or": "close the bracket or brace, and put commas between what is in it",
    "could not find expected ':'": "write  key: value  in this line or the one before it",
    "stream end": "close the bracket, brace or quote",
    "end of stream": "close the bracket, brace or quote",
    "constructor for the tag": "remove the tag that starts with !",
    "unhashable key": "a key is plain text",
    "expected <block end>": "give all keys of one level the same indentation",
    "undefined alias": "write &name at the value that *name repeats",
    "inside what it repeats": "write the value out instead of repeating it",
    "nested deeper": "close brackets, and remove what does not belong to a model",
    "more than": "remove what does not belong to a model, and aliases that repeat aliases",
    "characters: a model": "remove it, or close its quote",
    "cannot read": "correct it, or quote it if it is a text",
    "special characters": "remove it; write the file with a text editor, as UTF-8",
}
LINE_ENDS = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # those of YAML
EXCERPT = 160  # characters of a line that are shown
MAX_DUPLICATES = 50  # that are listed


class Mark(NamedTuple):
    """Where something is: line and column counted from 0, and its length in this line."""

    line: int
    column: int
    length: int


class Source:
    """Parsed YAML that can point at line and column of every key and value.

    Args:
        text:   the YAML document
        name:   how to call it in messages, usually the file name
        first:  how such a file begins, for the message about an empty one
    """

    def __init__(self, text: str, name: str, first: str = "decay: J/psi(1S) -> K+ K- eta") -> None:
        self.name = name
        self.lines = LINE_ENDS.split(text)
        try:
            loader = BoundedLoader(text)
            self._root = loader.get_single_node()
            duplicates = list(islice(self._duplicate_keys(self._root, ()), MAX_DUPLICATES))
            if duplicates:
                raise ConfigError(duplicates)
            self.data: Any = loader.construct_document(self._root) if self._root is not None else None
        except yaml.reader.ReaderError as error:
            raise ConfigError([self._character_problem(error, text)]) from None
        except yaml.YAMLError as error:
            raise ConfigError([self._syntax_problem(error)]) from None
        if self.data is None:
            raise ConfigError([Problem("the file is empty", (), f"start with: {first}", location=name)])

    def locate(self, problems: Iterable[Problem]) -> list[Problem]:
        """The same problems with file, line, column and the line's text, in the order of the file."""
        marked = [(self._mark(problem), problem) for problem in problems]
        marked.sort(key=lambda pair: pair[0][:2])
        return [self._placed(problem, mark) for mark, problem in marked]

    def _placed(self, problem: Problem, mark: Mark) -> Problem:
        number = f"{mark.line + 1:5d} | "
        text = self.lines[mark.line] if mark.line < len(self.lines) else ""
        column, start = mark.column, 0
        if len(text) > EXCERPT:  # a window of the line around what is wrong
            start = max(0, min(column - EXCERPT // 4, len(text) - EXCERPT))
            text = ("…" if start else "") + text[start : start + EXCERPT] + ("…" if start + EXCERPT < len(text) else "")
            column -= start - (start > 0)
        text = "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)
        caret = " " * (len(number) - 2) + "| " + " " * column + "^" * max(1, min(mark.length, len(text) - column))
        excerpt = f"{number}{text}\n{caret}"
        return replace(problem, location=f"{self.name}:{mark.line + 1}:{mark.column + 1}", excerpt=excerpt)

    def _character_problem(self, error: yaml.reader.ReaderError, text: str) -> Problem:
        """A character that YAML does not allow: control characters, and half of a surrogate pair."""
        what = f"not valid YAML: the character U+{ord(text[error.position]):04X} is not allowed"
        before = LINE_ENDS.split(text[: error.position])
        return self._placed(Problem(what, (), _SYNTAX_ADVICE["special characters"]), Mark(len(before) - 1, len(before[-1]), 1))

    def _syntax_problem(self, error: yaml.YAMLError) -> Problem:
        said = str(getattr(error, "problem", None) or error)
        fix = "quote values that start with a special character, and indent with spaces"
        fix = next((advice for words, advice in _SYNTAX_ADVICE.items() if words in said), fix)
        problem = Problem(f"not valid YAML: {said}", (), fix, location=self.name)
        start = getattr(error, "context_mark", None)
        mark = getattr(error, "problem_mark", None)
        if start is not None and fix.startswith("close"):
            problem = replace(problem, what="not valid YAML: what starts here has no end")
            mark = start
        return problem if mark is None else self._placed(problem, Mark(mark.line, mark.column, 1))

    def _duplicate_keys(self, node: yaml.Node | None, path: Path) -> Iterator[Problem]:
        if isinstance(node, yaml.MappingNode):
            first_lines: dict[str, int] = {}
            for key, value in node.value:
                name = str(key.value)
                if name in first_lines:
                    what = f"duplicated name {name!r}, first used in line {first_lines[name] + 1}"
                    problem = Problem(what, (*path, name), "rename or remove one of them")
                    yield self._placed(problem, Mark(key.start_mark.line, key.start_mark.column, len(name)))
                first_lines.setdefault(name, key.start_mark.line)
                yield from self._duplicate_keys(value, (*path, name))
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                yield from self._duplicate_keys(value, (*path, index))

    def _mark(self, problem: Problem) -> Mark:
        """Line, column and length of the deepest part of a problem's path that exists in the document."""
        node, key_node = self._root, None
        for step in problem.path:
            found = self._step(node, step)
            if found is None:
                break
            key_node, node = found
        target = key_node if problem.at_key and key_node is not None else node
        if target is None:
            return Mark(0, 0, 1)
        start, end = target.start_mark, target.end_mark
        mark = Mark(start.line, start.column, end.column - start.column if end.line == start.line else 1)
        if problem.word and problem.offset is not None and isinstance(target, yaml.ScalarNode):
            column = start.column + problem.offset + (target.style is not None)  # behind a quote
            if mark.line < len(self.lines) and self.lines[mark.line].startswith(problem.word, column):
                return Mark(mark.line, column, len(problem.word))
        return self._mark_word(mark, problem.word) if problem.word else mark

    def _mark_word(self, mark: Mark, word: str) -> Mark:
        text = self.lines[mark.line] if mark.line < len(self.lines) else ""
        found = re.compile(rf"(?<![^\s,;:'\"]){re.escape(word)}(?![^\s,;'\"\]}}])").search(text, mark.column)
        return mark if found is None else Mark(mark.line, found.start(), len(word))

    @staticmethod
    def _step(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if str(key.value) == str(step):
                    return key, value
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            return None, node.value[step]
        return None
