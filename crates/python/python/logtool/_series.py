"""Series that are computed from fields by expressions."""

from __future__ import annotations

from typing import Any, NamedTuple


class Series(NamedTuple):
    """The values of an expression over time."""

    times: Any
    """The times: NumPy's ``timedelta64[ns]``, or ``datetime64[ns]`` in UTC."""
    values: Any
    """The values: an array, with a column for each component of a vector."""
    names: tuple[str, ...]
    """The names of the components of a vector; empty for a single value."""
    units: tuple[str, ...]
    """The unit of each component; empty if it is unknown, or if the values have none."""


def from_columns(columns: dict[str, Any], names: list[str], units: list[str]) -> Series:
    """Create the series from the column of times and the columns of the components."""
    import numpy

    times, *values = columns.values()
    array = numpy.stack(values, axis=-1) if names else values[0]
    return Series(times, array, tuple(names), tuple(units))
