"""A YAML text and where each of its keys stands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import yaml

from ctpwa.errors import ConfigError, Path, Problem

# what PyYAML says → what to do about it
_SYNTAX_ADVICE = {
    "character '\\t'": "indent with spaces, not with tabs",
    "mapping values are not allowed": "quote text that contains a colon followed by a space",
    "another document": "a model is one YAML document: remove the line ---",
    "stream end": "close the bracket, brace or quote",
    "end of stream": "close the bracket, brace or quote",
    "constructor for the tag": "remove the tag that starts with !",
    "unhashable key": "a key is plain text",
    "expected <block end>": "give all keys of one level the same indentation",
    "undefined alias": "write &name at the value that *name repeats",
}


class Mark(NamedTuple):
    """Where something stands: line and column counted from 0, and its length in this line."""

    line: int
    column: int
    length: int


class Source:
    """Parsed YAML that can point at line and column of every key and value.

    Args:
        text:  the YAML document
        name:  how to call it in messages, usually the file name
    """

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines = text.splitlines()
        try:
            self._root = yaml.compose(text, Loader=yaml.SafeLoader)
            duplicates = self._duplicate_keys(self._root, ())
            if duplicates:
                raise ConfigError(duplicates)
            self.data: Any = yaml.SafeLoader("").construct_document(self._root) if self._root is not None else None
        except yaml.YAMLError as error:
            raise ConfigError([self._syntax_problem(error)]) from None
        if self.data is None:
            raise ConfigError([Problem("the file is empty", (), "start with: decay: J/psi(1S) -> K+ K- eta", location=name)])

    def locate(self, problems: Iterable[Problem]) -> list[Problem]:
        """The same problems with file, line, column and the line's text, in the order of the file."""
        marked = [(self._mark(problem), problem) for problem in problems]
        marked.sort(key=lambda pair: pair[0][:2])
        return [self._placed(problem, mark) for mark, problem in marked]

    def _placed(self, problem: Problem, mark: Mark) -> Problem:
        number = f"{mark.line + 1:5d} | "
        text = self.lines[mark.line] if mark.line < len(self.lines) else ""
        caret = " " * (len(number) - 2) + "| " + " " * mark.column + "^" * max(1, min(mark.length, len(text) - mark.column))
        excerpt = f"{number}{text}\n{caret}"
        return replace(problem, location=f"{self.name}:{mark.line + 1}:{mark.column + 1}", excerpt=excerpt)

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

    def _duplicate_keys(self, node: yaml.Node | None, path: Path) -> list[Problem]:
        problems: list[Problem] = []
        if isinstance(node, yaml.MappingNode):
            first_lines: dict[str, int] = {}
            for key, value in node.value:
                name = str(key.value)
                if name in first_lines:
                    what = f"duplicated name {name!r}, first used in line {first_lines[name] + 1}"
                    problem = Problem(what, (*path, name), "rename or remove one of them")
                    problems.append(self._placed(problem, Mark(key.start_mark.line, key.start_mark.column, len(name))))
                first_lines.setdefault(name, key.start_mark.line)
                problems += self._duplicate_keys(value, (*path, name))
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                problems += self._duplicate_keys(value, (*path, index))
        return problems

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
            if self.lines[mark.line].startswith(problem.word, column):
                return Mark(mark.line, column, len(problem.word))
        return self._mark_word(mark, problem.word) if problem.word else mark

    def _mark_word(self, mark: Mark, word: str) -> Mark:
        text = self.lines[mark.line]
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
