"""The amplitude of ``peers.py`` in symbols of any kind, for programs that are told formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def amplitude(
    problem: dict[str, Any], symbol: Callable[[str, float, bool], Any], s: Callable[[str], Any], root: Callable[[Any], Any]
) -> Any:
    """Real and imaginary part of Σ c F in the symbols of a program."""

    def q(s: Any, own: dict[str, Any]) -> Any:
        m1, m2 = own["masses"]
        return root((s - (m1 + m2) ** 2) * (s - (m1 - m2) ** 2) / (4 * s))

    re, im = [], []
    for k, own in enumerate(problem["resonances"]):
        m, width = (symbol(f"{own['name']}.{part}", own["true"][part], own["float"]) for part in ("mass", "width"))
        c_re, c_im = (symbol(f"{own['name']}.{part}", own["true"][part], k > 0) for part in ("re", "im"))
        here = s(own["pair"])
        a, b = m * m - here, m * m * width / q(m * m, own) * (q(here, own) / root(here))
        norm = a * a + b * b
        f_re, f_im = a / norm, b / norm
        re.append(c_re * f_re - c_im * f_im)
        im.append(c_re * f_im + c_im * f_re)
    total_re, total_im = re[0], im[0]
    for more_re, more_im in zip(re[1:], im[1:], strict=True):
        total_re, total_im = total_re + more_re, total_im + more_im
    return total_re, total_im
