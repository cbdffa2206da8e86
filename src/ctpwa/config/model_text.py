"""A model description as the text of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml


def model_text(content: Mapping[str, Any], head: Sequence[str] = ()) -> str:
    """The text of a model file.

    Args:
        content:  the description
        head:     lines of a comment before it
    """
    lines = [f"# {line}".rstrip() for line in head]
    text = yaml.safe_dump(dict(content), default_flow_style=None, sort_keys=False, allow_unicode=True, width=160)
    return "\n".join([*lines, *([""] if lines else []), text])
