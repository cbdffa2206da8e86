"""Tables of numbers and texts in Parquet files: named columns, and a text that says what they are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctpwa.base.errors import DataError
from ctpwa.base.output import written_whole
from ctpwa.data.marks import MARK
from ctpwa.data.regular import check_regular

ABOUT = b"about"  # key of the text
LARGEST_ABOUT = 16 * 2**20  # bytes
MOST_CELLS = 200_000_000


@dataclass(frozen=True)
class TableFile:
    """What is in a file.

    Attributes:
        columns:  name → values: numbers, truth values or texts; None where there is none
        about:    the text
        made_by:  a mark of the program that wrote it
    """

    columns: Mapping[str, Sequence[Any]]
    about: str
    made_by: str


def write_table(path: str | os.PathLike[str], columns: Mapping[str, Sequence[Any]], about: str, made_by: str) -> None:
    """Write a table, whole or not at all.

    Args:
        path:     the file
        columns:  name → values, of equal number; None where there is none
        about:    a text that says what they are
        made_by:  a mark by which the file can be recognised
    """
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    table = table.replace_schema_metadata({ABOUT: about.encode(), MARK.encode(): made_by.encode()})
    with written_whole(path) as file:
        parquet.write_table(table, file, compression="zstd", write_page_checksum=True)


def read_table(path: str | os.PathLike[str], what: str, fix: str) -> TableFile:
    """Read a file that ``write_table`` wrote.

    Args:
        path:  the file
        what:  what it should be, for messages: ``study of ctpwa``
        fix:   what to do if it is not
    """
    import pyarrow as pa
    from pyarrow import parquet

    check_regular(Path(path), [".parquet"])
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            metadata = file.schema_arrow.metadata or {}
            about = metadata.get(ABOUT, b"")
            if len(about) > LARGEST_ABOUT or file.metadata.num_rows * file.metadata.num_columns > MOST_CELLS:
                raise DataError(f"{str(path)!r} is larger than any {what}\n fix: {fix}")
            names = file.schema_arrow.names
            if len(set(names)) < len(names):
                raise ValueError("two columns have the same name")
            columns = {name: column.to_pylist() for name, column in zip(names, file.read().columns, strict=True)}
            return TableFile(columns, about.decode(), metadata.get(MARK.encode(), b"").decode())
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror or error}\n fix: {fix}") from None
    except (pa.ArrowException, ValueError) as error:
        raise DataError(f"{str(path)!r} is not a {what}: {str(error).partition(chr(10))[0][:300]}\n fix: {fix}") from None
