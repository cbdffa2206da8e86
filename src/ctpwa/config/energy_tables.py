"""Tables against the energy of the beam: in the model file, or in text files that are read with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

from ctpwa.base.errors import ConfigError, DataError, Path, PhysicsError, Problem, shortened
from ctpwa.config.problems import SpecError
from ctpwa.config.production_spec import TableFileSpec
from ctpwa.data.regular import check_regular
from ctpwa.spin.energy_table import MAX_POINTS, EnergyTable

PLACES: tuple[Path, ...] = (
    ("production", "polarisation", "degree"),
    ("production", "generate", "degree"),
    ("production", "generate", "energy"),
)
MAX_BYTES = 1 << 20
FORMAT = "write an energy in GeV and a number on each line, such as  8.2 0.31;  lines that begin with # are left out"


def with_tables(data: Any, folder: FilePath) -> Any:
    """A description with the numbers of all table files in the place of their names: what is kept of it needs no other files.

    Args:
        data:    the content of a model file
        folder:  what paths are relative to

    Raises:
        ConfigError: if a table cannot be read
    """
    for place in PLACES:
        found = data
        for key in place:
            found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, Mapping) and set(found) == {"file"} and isinstance(found["file"], str):
            try:
                points = _read(folder / found["file"])
            except (DataError, OSError, ValueError) as error:
                what, _, fix = str(error).partition("\n fix: ")
                raise ConfigError([Problem(what, (*place, "file"), fix or FORMAT)]) from None
            data = _replaced(data, place, points)
    return data


def energy_table(given: Sequence[Sequence[float]] | TableFileSpec, key: Path) -> EnergyTable:
    """The table that a description means."""
    if isinstance(given, TableFileSpec):
        what = f"the table {shortened(given.file, 60)!r} was not read: only model files read tables"
        raise SpecError(what, "write its points: [[8.2, 0.31], [8.4, 0.35], …]", key=key)
    try:
        return EnergyTable(tuple(energy for energy, _ in given), tuple(value for _, value in given))
    except PhysicsError as error:
        raise SpecError(error.what, error.fix, key=key) from None


def _read(path: FilePath) -> list[list[float]]:
    check_regular(path, (".txt", ".dat"))
    with open(path, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise DataError(f"{str(path)!r} is larger than {MAX_BYTES >> 20} MiB\n fix: {FORMAT}")
    points = []
    for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), 1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        try:
            energy, value = map(float, words)
        except ValueError:
            raise DataError(f"{str(path)!r}, line {number}: {shortened(line.strip(), 60)!r} is not two numbers\n fix: {FORMAT}") from None
        points.append([energy, value])
    if not 1 <= len(points) <= MAX_POINTS:
        raise DataError(f"{str(path)!r} has {len(points)} lines of numbers\n fix: give 1 to {MAX_POINTS}")
    return points


def _replaced(data: Mapping[str, Any], place: Path, value: Any) -> dict[Any, Any]:
    first, *rest = place
    return {**data, first: _replaced(data[str(first)], tuple(rest), value) if rest else value}
