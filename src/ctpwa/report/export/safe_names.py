"""Names for files and branches: letters, digits and underscores."""

from __future__ import annotations

import re
from collections.abc import Iterable


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Every name → one of letters, digits and underscores only, all different: ``K*(1410)+`` is ``Kst_1410_p``."""
    result: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        if name in result:
            continue
        signs = re.sub(r"\+", "p", re.sub(r"-(?!\w)|⁻", "m", name.replace("⁺", "+").replace("*", "st")))
        stem = re.sub(r"\W+", "_", signs, flags=re.ASCII).strip("_") or "x"
        safe, k = stem, 2
        while safe in taken:
            safe, k = f"{stem}_{k}", k + 1
        result[name] = safe
        taken.add(safe)
    return result
