"""Settings of commands that have no option; a program that runs them may give its own as ``obj`` of their context."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ctpwa.fitting.search_settings import USUAL as USUAL_SEARCH
from ctpwa.fitting.search_settings import SearchSettings
from ctpwa.generate.toys import USUAL as USUAL_TOYS
from ctpwa.generate.toys import ToySettings

if TYPE_CHECKING:
    from ctpwa.minimise.drive import Watch


@dataclass(frozen=True)
class CommandSettings:
    """Settings of all commands: ``app(["fit", "model.yml"], obj=CommandSettings(checkpoint_every=60.0))``.

    Attributes:
        terminal:          whether a person reads what is printed; None: if it is printed on a terminal
        checkpoint_every:  seconds between checkpoints of a fit
        elsewhere:         folder for a result that cannot be written where it should be; None: that for temporary files
        watch:             called with every improved point of a fit and its value
        search:            how ``fit`` searches from many starts
        toys:              how ``generate`` makes toys
        toy_engine:        which engine computes their intensities
    """

    terminal: bool | None = None
    checkpoint_every: float = 3.0
    elsewhere: Path | None = None
    watch: Watch | None = None
    search: SearchSettings = USUAL_SEARCH
    toys: ToySettings = USUAL_TOYS
    toy_engine: str = "auto"

    @classmethod
    def of(cls, context: typer.Context) -> CommandSettings:
        """Those of the program that runs a command, else the usual ones."""
        return context.find_object(cls) or cls()

    @property
    def tables(self) -> bool:
        """Whether results are read by a person; if not they are printed plain."""
        return sys.stdout.isatty() if self.terminal is None else self.terminal
