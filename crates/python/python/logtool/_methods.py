"""The methods of tables and logs that are implemented in Python.

They are not native, because other libraries call back into the stream of a table, which must not
happen inside a native method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

from logtool import _html
from logtool._images import Image, images
from logtool._logtool import Log, MergedTable, Table
from logtool._scans import scans

_T = TypeVar("_T")
_AnyTable: TypeAlias = Table | MergedTable


def _consume(table: _AnyTable, read: Callable[[Any], _T]) -> _T:
    """Return ``read(table)``. Raise errors of logtool in place of those that the library raises."""
    try:
        return read(table)
    except Exception as error:
        cause = table._take_error()
        if cause is None:
            raise
        raise cause from error


def to_arrow(self: _AnyTable) -> Any:
    """Read the table as a ``pyarrow.Table``."""
    import pyarrow

    return _consume(self, pyarrow.table)


def to_pandas(self: _AnyTable) -> Any:
    """Read the table as a ``pandas.DataFrame``.

    The result equals that of ``pandas.DataFrame.from_arrow``, but numbers and times are not copied
    a second time.
    """
    import pandas

    arrays, batches = self._read_parts()
    types = dict(zip(self.schema.names, self.schema.types, strict=True))
    series = {name: _series(array, types[name]) for name, array in arrays.items()}
    if len(series) < len(types):
        import pyarrow

        parts = [pyarrow.record_batch(batch) for batch in batches]
        series |= pyarrow.Table.from_batches(parts).to_pandas().items()
    return pandas.DataFrame({name: series[name] for name in types}, copy=False)


def _series(array: Any, arrow_type: str) -> Any:
    """Return ``array``, an array of NumPy, as a series of pandas."""
    import numpy
    import pandas

    if isinstance(array, numpy.ma.MaskedArray):
        # Like pyarrow, convert integers to floats: pandas has no missing integers.
        array = numpy.ma.filled(array.astype(numpy.float64), numpy.nan)
    if arrow_type.endswith('"UTC")'):
        dtype = pandas.DatetimeTZDtype(numpy.datetime_data(array.dtype)[0], "UTC")
        array = pandas.DatetimeIndex(array.view(numpy.int64), dtype=dtype, copy=False)
    return pandas.Series(array, copy=False)


def to_polars(self: _AnyTable) -> Any:
    """Read the table as a ``polars.DataFrame``."""
    import polars

    return _consume(self, polars.DataFrame)


def table_scans(self: Table) -> Iterator[dict[str, Any]]:
    """Return the scans of a table of points: a dictionary of NumPy arrays for each."""
    return scans(self)


def log_images(self: Log, topic: str) -> Iterator[Image]:
    """Return the images of a topic, with their pixels as NumPy arrays."""
    return images(self, topic)


def add_methods() -> None:
    """Add the methods to the native classes."""
    for table in (Table, MergedTable):
        for method in (to_arrow, to_pandas, to_polars):
            setattr(table, method.__name__, method)
        setattr(table, "_repr_html_", _html.table_repr_html)
    setattr(Table, "scans", table_scans)
    setattr(Log, "images", log_images)
    setattr(Log, "_repr_html_", _html.log_repr_html)
