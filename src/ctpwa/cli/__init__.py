"""The command line, and how other packages add commands to it."""

import typing as _typing

from ctpwa.base.lazy import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from ctpwa.cli.command import Command, register_command
    from ctpwa.cli.console import echo
    from ctpwa.cli.main import make_app
else:
    __getattr__, __dir__ = _on_demand(__name__)

__all__ = ["Command", "echo", "make_app", "register_command"]
