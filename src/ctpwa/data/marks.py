"""A mark in a file of events or histograms: which program made it."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

from ctpwa.data.options import FilePath

MARK = "made_by"  # a text of its own in ROOT files, metadata in Parquet files; npz files have it as the comment of their archive


def mark_of(path: FilePath) -> str:
    """What ``made_by`` of ``write_events`` was; empty for files without a mark, and for those that can have none."""
    readers = {".root": _in_root, ".parquet": _in_parquet, ".npz": _in_npz}
    reader = readers.get(Path(path).suffix.lower())
    return "" if reader is None else reader(Path(path))


def _in_root(path: Path) -> str:
    import uproot

    with uproot.open(path) as file:
        return str(file[MARK]) if f"{MARK};1" in file.keys(recursive=False) else ""


def _in_parquet(path: Path) -> str:
    from pyarrow import parquet

    metadata = parquet.read_schema(path).metadata or {}
    return str(metadata.get(MARK.encode(), b"").decode())


def _in_npz(path: Path) -> str:
    with ZipFile(path) as file:
        return file.comment.decode()
