"""A YAML text and where each of its keys stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import yaml

from ctpwa.errors import ConfigError, Path, Problem


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
        except yaml.YAMLError as error:
            raise ConfigError([self._syntax_problem(error)]) from None
        duplicates = self._duplicate_keys(self._root, ())
        if duplicates:
            raise ConfigError(duplicates)
        self.data: Any = yaml.SafeLoader("").construct_document(self._root) if self._root is not None else None

    def locate(self, problem: Problem, *, at_key: bool = False) -> Problem:
        """The same problem with file, line, column and the line's text."""
        mark = self._mark(problem.path, at_key=at_key)
        if mark is None:
            return problem
        location, excerpt = self._place(*mark)
        return replace(problem, location=location, excerpt=excerpt)

    def _place(self, line: int, column: int, length: int) -> tuple[str, str]:
        number = f"{line + 1:5d} | "
        text = self.lines[line] if line < len(self.lines) else ""
        caret = " " * (len(number) - 2) + "| " + " " * column + "^" * max(1, min(length, len(text) - column))
        return f"{self.name}:{line + 1}:{column + 1}", f"{number}{text}\n{caret}"

    def _syntax_problem(self, error: yaml.YAMLError) -> Problem:
        mark = getattr(error, "problem_mark", None)
        what = f"not valid YAML: {getattr(error, 'problem', None) or error}"
        fix = "quote values that start with a special character, and indent with spaces"
        if mark is None:
            return Problem(what, (), fix, location=self.name)
        return Problem(what, (), fix, *self._place(mark.line, mark.column, 1))

    def _duplicate_keys(self, node: yaml.Node | None, path: Path) -> list[Problem]:
        problems: list[Problem] = []
        if isinstance(node, yaml.MappingNode):
            first_lines: dict[str, int] = {}
            for key, value in node.value:
                name = str(key.value)
                if name in first_lines:
                    place = self._place(key.start_mark.line, key.start_mark.column, len(name))
                    what = f"duplicated name {name!r}, first used in line {first_lines[name] + 1}"
                    problems.append(Problem(what, (*path, name), "rename or remove one of them", *place))
                first_lines.setdefault(name, key.start_mark.line)
                problems += self._duplicate_keys(value, (*path, name))
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                problems += self._duplicate_keys(value, (*path, index))
        return problems

    def _mark(self, path: Path, *, at_key: bool) -> tuple[int, int, int] | None:
        """Line, column and length of the deepest part of ``path`` that exists in the document."""
        node, key_node = self._root, None
        for step in path:
            found = self._step(node, step)
            if found is None:
                break
            key_node, node = found
        target = key_node if at_key and key_node is not None else node
        if target is None:
            return None
        start, end = target.start_mark, target.end_mark
        return start.line, start.column, end.column - start.column if end.line == start.line else 1

    @staticmethod
    def _step(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if str(key.value) == str(step):
                    return key, value
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            return None, node.value[step]
        return None
