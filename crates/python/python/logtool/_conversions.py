"""The methods of tables that other libraries implement.

They are in Python because those libraries call back into the stream of the table, which may not
happen inside of a native method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from logtool._logtool import Table

_T = TypeVar("_T")


def _consume(table: Table, read: Callable[[Table], _T]) -> _T:
    """Call ``read``; an error of logtool replaces that of the library which it stopped."""
    try:
        return read(table)
    except Exception as error:
        cause = table._take_error()
        if cause is None:
            raise
        raise cause from error


def _to_arrow(self: Table) -> Any:
    """Read the table as a ``pyarrow.Table``."""
    import pyarrow

    return _consume(self, pyarrow.table)


def _to_pandas(self: Table) -> Any:
    """Read the table as a ``pandas.DataFrame``."""
    import pandas

    return _consume(self, pandas.DataFrame.from_arrow)


def _to_polars(self: Table) -> Any:
    """Read the table as a ``polars.DataFrame``."""
    import polars

    return _consume(self, polars.DataFrame)


def add_methods() -> None:
    """Add the methods to the native class."""
    for method in (_to_arrow, _to_pandas, _to_polars):
        name = method.__name__.lstrip("_")
        method.__name__ = name
        method.__qualname__ = f"Table.{name}"
        setattr(Table, name, method)
