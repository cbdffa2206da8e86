"""How this process was started: alone, or by ``torchrun`` together with others."""

from __future__ import annotations

import os

from ctpwa.base.errors import CtpwaError

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # torchrun sets them for every process


def started_together() -> bool:
    """Whether ``torchrun``, or something that sets the same variables, has started this process with others."""
    return all(name in os.environ for name in VARIABLES) and launch_variable("WORLD_SIZE", least=1) > 1


def own_rank() -> int:
    """The number of this process, also before it has met the others."""
    return launch_variable("RANK", most=launch_variable("WORLD_SIZE") - 1) if started_together() else 0


def launch_variable(name: str, default: int = 0, least: int = 0, most: int = 2**31 - 1) -> int:
    """An environment variable of torchrun, within its limits."""
    text = os.environ.get(name, str(default))
    if not (text.isdecimal() and len(text) <= 10 and least <= int(text) <= most):
        raise CtpwaError(
            f"the environment variable {name} is {text!r}, not a whole number from {least} to {most}\n"
            f" fix: let torchrun set it, or unset it:  unset {name}"
        )
    return int(text)
