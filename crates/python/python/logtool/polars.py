"""Polars: the table of a topic across logs as a ``LazyFrame``.

>>> import logtool
>>> voltage = logtool.scan("flights", "battery_status").select("time", "voltage_v").collect()
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from logtool._errors import InvalidRequestError
from logtool._logtool import Schema
from logtool._scan import SOURCE_COLUMNS, Bounds, Clock, TopicScan, opposite, scan_topic

if TYPE_CHECKING:
    import polars

__all__ = ["scan"]


def scan(
    inputs: Any,
    topic: str,
    *,
    columns: Sequence[str] | str | None = None,
    time: tuple[Any, Any] | None = None,
    target_bytes: int | None = None,
    flat: bool = False,
    clock: Clock | None = None,
    sources: bool = False,
    strict: bool = False,
    failed: list[Any] | None = None,
    **options: Any,
) -> polars.LazyFrame:
    """Return a topic of logs as a ``polars.LazyFrame``.

    Only the columns, times and rows that a query needs are read. Comparisons of the time select
    records before they are decoded. Columns that only some logs have are null in the others.

    ``sources`` adds the columns ``log`` and ``topic``; with ``strict``, damage is an error. The
    other arguments are those of ``logtool.plan``.
    """
    import polars
    from polars.io.plugins import register_io_source

    topic_scan = scan_topic(
        inputs,
        topic,
        columns=columns,
        time=time,
        target_bytes=target_bytes,
        flat=flat,
        clock=clock,
        sources=sources,
        strict=strict,
        failed=failed,
        **options,
    )

    schema = _common_schema(topic_scan)

    def read(
        with_columns: list[str] | None,
        predicate: polars.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[polars.DataFrame]:
        # The batch size is only a hint.
        del batch_size
        names = list(schema) if with_columns is None else with_columns
        return _read(topic_scan, schema, names, predicate, n_rows)

    return register_io_source(
        read,
        schema=schema,
        validate_schema=True,
        is_pure=True,
        explain_name="logtool",
        explain_detail=topic,
    )


def _common_schema(topic_scan: TopicScan) -> polars.Schema:
    """Return the columns of all logs."""
    import polars

    frames = [polars.DataFrame(schema=_polars_schema(s)) for s in topic_scan.schemas]
    try:
        schema = polars.concat(frames, how="diagonal_relaxed").schema
    except polars.exceptions.PolarsError as error:
        raise InvalidRequestError(
            f"the logs have columns of different types: {error}",
            kind="invalid_request",
            hint="select other columns, or fewer logs",
        ) from error
    for name in SOURCE_COLUMNS if topic_scan.reader.sources else ():
        if name in schema:
            message = f"the topic has a column {name!r} of its own"
            raise InvalidRequestError(message, kind="invalid_request")
        schema[name] = polars.String()
    return schema


def _polars_schema(schema: Schema) -> polars.Schema:
    import polars

    return polars.Schema(schema)


def _read(
    topic_scan: TopicScan,
    schema: polars.Schema,
    names: list[str],
    predicate: polars.Expr | None,
    n_rows: int | None,
) -> Iterator[polars.DataFrame]:
    import polars

    needed = list(names)
    bounds = Bounds()
    if predicate is not None:
        needed += [name for name in predicate.meta.root_names() if name not in names]
        bounds = _bounds(predicate, topic_scan.time_column)
    reader, remaining = topic_scan.reader, n_rows
    for split in topic_scan.splits_within(bounds):
        table = reader.table(split, needed, bounds)
        source = reader.source(split)
        for batch in table:
            frame = _conform(polars.DataFrame(batch), schema, needed, source)
            if predicate is not None:
                frame = frame.filter(predicate)
            frame = frame.select(names)
            if remaining is not None:
                frame = frame.head(remaining)
                remaining -= len(frame)
            yield frame
            if remaining == 0:
                return
        reader.check(split, table)


def _conform(
    frame: polars.DataFrame,
    schema: polars.Schema,
    names: Sequence[str],
    source: dict[str, str],
) -> polars.DataFrame:
    """Return ``frame`` with the columns ``names`` of ``schema``."""
    import polars

    columns = [
        polars.col(name)
        if name in frame.columns and name not in source
        else polars.lit(source.get(name)).alias(name)
        for name in names
    ]
    frame = frame.with_columns(columns).select(names)
    return frame.cast({name: schema[name] for name in names})


_OPERATORS = {"Gt": ">", "GtEq": ">=", "Lt": "<", "LtEq": "<=", "Eq": "=="}
_NANOS = {"Nanoseconds": 1, "Microseconds": 1_000, "Milliseconds": 1_000_000}


def _bounds(predicate: polars.Expr, time_column: str) -> Bounds:
    """Return the times that ``predicate`` can select."""
    import warnings

    with warnings.catch_warnings():
        # The serialized form can differ in other versions of Polars. Then all times are selected.
        warnings.simplefilter("ignore")
        try:
            tree = json.loads(predicate.meta.serialize(format="json"))
        except Exception:
            return Bounds()
    return _tree_bounds(tree, time_column)


def _tree_bounds(tree: Any, time_column: str) -> Bounds:
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            return _tree_bounds(left, time_column) & _tree_bounds(right, time_column)
        case {"BinaryExpr": {"left": {"Column": column}, "op": op, "right": value}}:
            operator = _OPERATORS.get(op, "")
        case {"BinaryExpr": {"left": value, "op": op, "right": {"Column": column}}}:
            operator = opposite(_OPERATORS.get(op, ""))
        case {
            "Function": {
                "input": [{"Column": column}, first, last],
                "function": {"Boolean": {"IsBetween": _}},
            }
        } if column == time_column:
            between = Bounds()
            for operator, value in ((">=", first), ("<=", last)):
                if (nanos := _nanos(value)) is not None:
                    between &= Bounds.of_comparison(operator, nanos)
            return between
        case _:
            return Bounds()
    nanos = _nanos(value)
    if column != time_column or nanos is None:
        return Bounds()
    return Bounds.of_comparison(operator, nanos)


def _nanos(literal: Any) -> int | None:
    """Return a literal time in nanoseconds."""
    match literal:
        case {"Literal": {"Scalar": {"Datetime": [int(count), str(unit), *_]}}} | {
            "Literal": {"Scalar": {"Duration": [int(count), str(unit)]}}
        } if unit in _NANOS:
            return count * _NANOS[unit]
        case _:
            return None
