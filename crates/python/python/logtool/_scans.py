"""The scans of lidars as arrays of NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from logtool._logtool import Table

__all__ = ["scans"]


def scans(table: Table) -> Iterator[dict[str, Any]]:
    """Return the scans of a table of points, one revolution or message each.

    A scan is a dictionary of arrays by the name of the column: ``x``, ``y``, ``z``, and others.
    """
    import numpy

    names = table.schema.names
    if not {"x", "y", "z"} <= set(names):
        raise ValueError(f"{table.topic} has no points")
    pieces: list[dict[str, Any]] = []
    last: int | None = None
    for batch in table.batches():
        columns = batch.to_numpy()
        starts, last = _starts(columns, last)
        begin = 0
        for start in [*starts, len(batch)]:
            if start > begin:
                pieces.append({name: values[begin:start] for name, values in columns.items()})
            if start < len(batch) and pieces:
                yield _joined(numpy, pieces)
                pieces = []
            begin = start
    if pieces:
        yield _joined(numpy, pieces)


def _starts(columns: dict[str, Any], last: int | None) -> tuple[list[int], int | None]:
    """Return the rows at which scans start, and the last number.

    Points of lidars have the number of their scan. Those of messages count from 0 in each.
    """
    import numpy

    is_message = "index" in columns and "stamp" in columns
    numbers = columns.get("index" if is_message else "scan")
    if numbers is None or len(numbers) == 0:
        return [], last
    numbers = numbers.astype(numpy.int64)
    before = numpy.concatenate(([numbers[0] if last is None else last], numbers[:-1]))
    is_start = numbers <= before if is_message else numbers != before
    if last is None:
        is_start[0] = False
    return numpy.flatnonzero(is_start).tolist(), int(numbers[-1])


def _joined(numpy: Any, pieces: list[dict[str, Any]]) -> dict[str, Any]:
    if len(pieces) == 1:
        return pieces[0]
    return {name: numpy.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
