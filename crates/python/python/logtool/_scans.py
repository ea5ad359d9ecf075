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
    previous: int | None = None
    for batch in table.batches():
        columns = batch.to_numpy()
        starts, previous = _starts(columns, previous)
        piece_start = 0
        for start in [*starts, len(batch)]:
            if start > piece_start:
                rows = slice(piece_start, start)
                pieces.append({name: values[rows] for name, values in columns.items()})
            if start < len(batch) and pieces:
                yield _joined(numpy, pieces)
                pieces = []
            piece_start = start
    if pieces:
        yield _joined(numpy, pieces)


def _starts(columns: dict[str, Any], previous: int | None) -> tuple[list[int], int | None]:
    """Return the rows at which scans start, and the number of the last row.

    Points of lidars have the number of their scan in ``scan``. Points of messages have their index
    in the message in ``index``. ``previous`` is the number of the row before ``columns``.
    """
    import numpy

    is_message = "index" in columns and "stamp" in columns
    numbers = columns.get("index" if is_message else "scan")
    if numbers is None or len(numbers) == 0:
        return [], previous
    numbers = numbers.astype(numpy.int64)
    first_previous = numbers[0] if previous is None else previous
    previous_numbers = numpy.concatenate(([first_previous], numbers[:-1]))
    is_start = numbers <= previous_numbers if is_message else numbers != previous_numbers
    if previous is None:
        is_start[0] = False
    return numpy.flatnonzero(is_start).tolist(), int(numbers[-1])


def _joined(numpy: Any, pieces: list[dict[str, Any]]) -> dict[str, Any]:
    if len(pieces) == 1:
        return pieces[0]
    return {name: numpy.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
