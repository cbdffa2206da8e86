"""YAML text to nodes and data in bounded time and memory: aliases, nesting and lengths have limits."""

from __future__ import annotations

from typing import Any

import yaml

from ctpwa.config.plain import MAX_DEPTH, MAX_TEXT, MAX_VALUES

_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "timestamp": "a date"}


class BoundedLoader(yaml.SafeLoader):
    """PyYAML's safe loader, which trusts sizes, with limits.

    Args:
        text:  the YAML document
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._n_values = 0
        self._sizes: dict[int, int] = {}  # complete nodes by identity → values in them, aliases written out

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """One node; PyYAML calls this for the nodes inside it."""
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            node = super().compose_node(parent, index)
            if id(node) not in self._sizes:
                raise _error(f"the alias *{event.anchor} is inside what it repeats", event.start_mark)
            self._count(self._sizes[id(node)], event.start_mark)
            return node
        if isinstance(event, yaml.ScalarEvent) and len(event.value) > MAX_TEXT:
            raise _error(f"a text of {len(event.value)} characters: a model has texts below {MAX_TEXT}", event.start_mark)
        if self._depth > MAX_DEPTH:
            raise _error(f"nested deeper than {MAX_DEPTH} levels", event.start_mark)
        before = self._n_values
        self._count(1, event.start_mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        self._sizes[id(node)] = self._n_values - before
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node; PyYAML leaves a text that does not suit its tag to Python, which raises anything."""
        try:
            return super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            kind = str(node.tag).rpartition(":")[2]
            value = str(node.value) if isinstance(node, yaml.ScalarNode) else "this"
            shown = value if len(value) <= 40 else f"{value[:37]}..."
            raise _error(f"cannot read {shown!r} as {_KINDS.get(kind, kind)}", node.start_mark) from None

    def _count(self, n: int, mark: Any) -> None:
        self._n_values += n
        if self._n_values > MAX_VALUES:
            raise _error(f"more than {MAX_VALUES} values, with aliases written out", mark)


def _error(what: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=what, problem_mark=mark)
