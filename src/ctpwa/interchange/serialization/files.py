"""Files in the format: read and imported."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ctpwa.base.errors import CtpwaError
from ctpwa.fitting.json_file import read_json
from ctpwa.interchange.errors import InterchangeError
from ctpwa.interchange.model_file import ImportedModel
from ctpwa.interchange.serialization.checksums import CheckedSum, check_sums
from ctpwa.interchange.serialization.description import Description, read_description
from ctpwa.interchange.serialization.importer import import_distribution

WHAT, FIX = "model in the format of amplitude-serialization", "give a JSON file in that format"


@dataclass(frozen=True)
class ImportedFile:
    """All models of a file, and its checksums."""

    models: tuple[ImportedModel, ...]
    checksums: tuple[CheckedSum, ...]


def read_serialization(path: str | os.PathLike[str], *, check: bool = True) -> ImportedFile:
    """Import the models of a file and evaluate its checksums.

    Args:
        path:   the file
        check:  whether to evaluate the checksums
    """
    content = read_json(path, WHAT, FIX)
    try:
        description = read_description(content)
        models = _models(description)
        return ImportedFile(tuple(models.values()), tuple(check_sums(description, models)) if check else ())
    except InterchangeError as error:
        where = f"{path}: {error.where}" if error.where else str(path)
        raise InterchangeError(error.what, where, error.fix) from None


def _models(description: Description) -> dict[str, ImportedModel]:
    found = {}
    for distribution in description.distributions:
        try:
            found[distribution.name] = import_distribution(description, distribution)
        except InterchangeError:
            raise
        except CtpwaError as error:
            raise InterchangeError(
                f"{distribution.name!r} cannot be a model: {error}", distribution.entry.path, "change the model"
            ) from None
    return found
