"""The splits of a topic as record batches of pyarrow, all with the same columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from logtool._errors import InvalidRequestError
from logtool._logtool import Split
from logtool._scan import SOURCE_COLUMNS, Bounds, SplitReader, TopicScan

MAX_BLOCK_ROWS = 65_536
"""The maximum number of rows of a block."""


def common_schema(scan: TopicScan) -> Any:
    """Return the ``pyarrow.Schema`` of the columns of all logs.

    A column that only some logs have can be null.
    """
    import pyarrow

    schemas = [pyarrow.schema(schema).remove_metadata() for schema in scan.schemas]
    try:
        schema = pyarrow.unify_schemas(schemas, promote_options="permissive")
    except (pyarrow.ArrowTypeError, pyarrow.ArrowInvalid) as error:
        raise InvalidRequestError(
            f"the logs have columns of different types: {error}",
            kind="invalid_request",
            hint="select other columns, or fewer logs",
        ) from error
    columns = list(schema)
    if len(schemas) > 1:
        columns = [column.with_nullable(True) for column in columns]
    if scan.reader.sources:
        for name in SOURCE_COLUMNS:
            if name in schema.names:
                message = f"the topic has a column {name!r} of its own"
                raise InvalidRequestError(message, kind="invalid_request")
            columns.append(pyarrow.field(name, pyarrow.string(), nullable=False))
    return pyarrow.schema(columns)


def read_blocks(
    reader: SplitReader, split: Split, schema: Any, bounds: Bounds | None = None
) -> Iterator[Any]:
    """Read ``split`` as record batches with ``schema``, each of at most ``MAX_BLOCK_ROWS`` rows."""
    import pyarrow

    table = reader.table(split, schema.names, bounds)
    source = reader.source(split)
    for batch in pyarrow.RecordBatchReader.from_stream(table):
        for start in range(0, batch.num_rows, MAX_BLOCK_ROWS):
            yield _conform(batch.slice(start, MAX_BLOCK_ROWS), schema, source)
    reader.check(split, table)


def select(schema: Any, names: Sequence[str]) -> Any:
    """Return a schema of the fields of ``schema`` with these names, in the order of ``names``."""
    import pyarrow

    return pyarrow.schema([schema.field(name) for name in names])


def _conform(batch: Any, schema: Any, source: dict[str, str]) -> Any:
    """Return ``batch`` with the columns and types of ``schema``. Missing columns are null."""
    import pyarrow

    columns = []
    for column in schema:
        index = batch.schema.get_field_index(column.name)
        if column.name in source:
            text = pyarrow.scalar(source[column.name], column.type)
            columns.append(pyarrow.repeat(text, batch.num_rows))
        elif index < 0:
            columns.append(pyarrow.nulls(batch.num_rows, column.type))
        else:
            columns.append(batch.column(index).cast(column.type))
    if not columns:
        # A batch without columns keeps its number of rows only if it is made from structs.
        rows = pyarrow.array([{}] * batch.num_rows, pyarrow.struct([]))
        return pyarrow.RecordBatch.from_struct_array(rows)
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)
