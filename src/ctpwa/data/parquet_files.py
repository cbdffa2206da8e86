"""Events in Parquet files: scalar columns, lists of four numbers, and structures with named components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ctpwa.base.errors import DataError
from ctpwa.base.words import counted
from ctpwa.data.columns import Column, ColumnKind, OpenFile, fours_of_lists, reading


class ParquetFile(OpenFile):
    """A Parquet file; the components of a structure ``kp`` are columns ``kp.px``, ….

    Args:
        path:  the file
    """

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self.path, self.place = path, str(path)
        with reading(path, "a Parquet file"):
            self._file = parquet.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)
            rows = self._file.metadata.num_rows
            self._steps: dict[str, tuple[str, ...]] = {}  # column → field, field inside it
            self.columns = tuple(self._list_columns(self._file.schema_arrow, rows))

    def check(self, names: Sequence[str]) -> None:
        """See ``EventFile``."""
        with reading(self.path, "a Parquet file"):
            about = self._file.metadata
            groups = [about.row_group(i) for i in range(about.num_row_groups)]
            rows = [group.num_rows for group in groups]
            if min(rows, default=0) < 0 or sum(rows) != about.num_rows:
                raise DataError(
                    f"{self.place}: {about.num_rows} events in all, but {sum(rows)} in its row groups\n"
                    " fix: the file is damaged; write it again"
                )

    def chunks(self, names: Sequence[str], size: int, first: int = 0, last: int | None = None) -> Iterator[dict[str, np.ndarray]]:
        """See ``EventFile``."""
        fields = list(dict.fromkeys(self._steps[name][0] for name in names))
        with reading(self.path, "a Parquet file"):
            groups, first_event = self._groups(first, last)
            batches = self._file.iter_batches(batch_size=size, columns=fields, row_groups=groups)
        while True:
            with reading(self.path, "a Parquet file"):
                batch = next(batches, None)
                if batch is None:
                    return
                after = first_event + batch.num_rows
                low = max(first - first_event, 0)
                high = batch.num_rows if last is None else min(last - first_event, batch.num_rows)
                if low >= high:
                    first_event = after
                    continue
                chunk = {name: self._array(batch.slice(low, high - low), name, first_event + low) for name in names}
            first_event = after
            yield chunk

    def _groups(self, first: int, last: int | None) -> tuple[list[int], int]:
        """The row groups that hold some of the events, and the number of the first event in them."""
        about = self._file.metadata
        stops = np.cumsum([0, *(about.row_group(i).num_rows for i in range(about.num_row_groups))])
        end = about.num_rows if last is None else last
        groups = [i for i in range(about.num_row_groups) if stops[i] < end and stops[i + 1] > first]
        return groups, int(stops[groups[0]]) if groups else 0

    def _list_columns(self, schema: Any, rows: int) -> Iterator[Column]:
        from pyarrow import types

        for field in schema:
            inner = [field.type.field(i) for i in range(field.type.num_fields)] if types.is_struct(field.type) else []
            found: list[tuple[tuple[str, ...], Any]] = [((field.name, part.name), part.type) for part in inner]
            for steps, kind in found or [((field.name,), field.type)]:
                name = ".".join(steps)
                self._steps[name] = steps
                yield Column(name, _kind(kind), rows, str(kind))

    def _array(self, batch: Any, name: str, first_event: int) -> np.ndarray:
        from pyarrow import types

        field, *rest = self._steps[name]
        array = batch.column(batch.schema.get_field_index(field))
        for step in rest:
            self._refuse_nulls(array, field, first_event)
            array = array.field(step)
        self._refuse_nulls(array, name, first_event)
        if _is_number(array.type):
            return _numbers(array)
        values = array.flatten()
        self._refuse_nulls(values, name, first_event)
        if _kind(array.type) is ColumnKind.NUMBER:  # lists of one
            return _numbers(values)
        fixed = types.is_fixed_size_list(array.type)
        lengths = np.full(len(array), 4) if fixed else array.value_lengths().to_numpy(zero_copy_only=False)
        return fours_of_lists(_numbers(values), lengths, f"{self.place}, column {name!r}", first_event)

    def _refuse_nulls(self, array: Any, name: str, first_event: int) -> None:
        if array.null_count:
            where = "" if len(array) == 0 else f", among the events from {first_event} on"
            missing = counted(array.null_count, "missing value")
            raise DataError(f"{self.place}, column {name!r}: {missing}{where}\n fix: remove these events")


def _kind(kind: Any) -> ColumnKind:
    from pyarrow import types

    if _is_number(kind):
        return ColumnKind.NUMBER
    if types.is_fixed_size_list(kind):
        return (
            {1: ColumnKind.NUMBER, 4: ColumnKind.FOUR}.get(kind.list_size, ColumnKind.OTHER)
            if _is_number(kind.value_type)
            else ColumnKind.OTHER
        )
    lists = types.is_list(kind) or types.is_large_list(kind)
    return ColumnKind.FOUR if lists and _is_number(kind.value_type) else ColumnKind.OTHER


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def _numbers(array: Any) -> np.ndarray:
    """Numbers as numpy has them; it has no decimals."""
    from pyarrow import float64, types

    return (array.cast(float64()) if types.is_decimal(array.type) else array).to_numpy(zero_copy_only=False)
