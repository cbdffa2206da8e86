"""A description as the text of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import yaml

from ctpwa.base.errors import on_one_line

WIDTH = 130  # of a line


def model_text(description: Mapping[str, Any], about: Sequence[str]) -> str:
    """The text of a model file.

    Args:
        description:  its content: plain mappings, lists, numbers and texts
        about:        what to say above it, as comments
    """
    lines = [line for own in about for line in wrap(on_one_line(own), WIDTH - 2, break_long_words=False, break_on_hyphens=False)]
    head = "".join(f"# {line}\n" for line in lines)
    parts = []
    for key, value in description.items():
        if isinstance(value, Mapping) and value:  # one line for each of its entries
            parts.append(f"{key}:\n" + "".join(f"  {_flow(name)}: {_flow(own)}\n" for name, own in value.items()))
        else:
            parts.append(yaml.safe_dump({key: value}, default_flow_style=False, sort_keys=False, allow_unicode=True, width=10_000))
    return head + "\n".join(parts)


def _flow(value: Any) -> str:
    """A value on one line."""
    text = yaml.safe_dump([value], default_flow_style=True, sort_keys=False, allow_unicode=True, width=float("inf"))
    return text.strip()[1:-1]
