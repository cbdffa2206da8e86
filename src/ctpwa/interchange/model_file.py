"""A model that was imported: what its model file says, and what was left out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctpwa.config.read import load_model
from ctpwa.model.model import Model


@dataclass(frozen=True)
class ImportedModel:
    """A model of another program.

    Attributes:
        name:      its name in the file
        content:   the model file, as a mapping
        notes:     what was not imported, and what to know about the rest
    """

    name: str
    content: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def model(self) -> Model:
        """The model alone, without samples and the event columns of their densities."""
        return load_model({key: value for key, value in self.content.items() if key not in ("samples", "columns")})
