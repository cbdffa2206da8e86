"""The command line, and how other packages add commands to it."""

from ctpwa.cli.command import Command, register_command

__all__ = ["Command", "register_command"]
