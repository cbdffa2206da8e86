"""What a page has once: style sheet, script, data and the policy that browsers follow."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from typing import Any

from ctpwa.base.markup import Html


def own_style(text: str) -> Html:
    """A style sheet of this package."""
    return Html(f"<style>{text}</style>")


def own_script(text: str) -> Html:
    """A script of this package."""
    return Html(f"<script>{text}</script>")


def data_block(identifier: str, data: Any, default: Any = None) -> Html:
    """Data for the script, as JSON without any character that means something in HTML.

    Args:
        identifier:  of the element
        data:        numbers, texts, lists and mappings
        default:     what stands for anything else, as in ``json.dumps``
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, default=default)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Html(f'<script type="application/json" id="{escape(identifier)}">{text}</script>')


def security_policy(style: str, script: str) -> Html:
    """What browsers may do with the page: run this script, use this style sheet, show images that are in the page itself.

    Anything else they refuse: other scripts, handlers and styles in attributes, every address, and markup that a script makes of text.
    """
    rules = (
        "default-src 'none'",
        f"script-src {content_hash(script)}",
        f"style-src {content_hash(style)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return Html(f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">')


def content_hash(text: str) -> str:
    """Of a script or a style sheet, as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
