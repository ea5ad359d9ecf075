"""Daft: the table of a topic across logs as a ``daft.DataFrame``.

>>> import daft, logtool.daft
>>> imu = logtool.daft.read("drives", "/imu/data")
>>> turns = imu.where(daft.col("angular_velocity").get("z") > 0.5).select("time")
"""

from __future__ import annotations

import asyncio
import atexit
import pickle
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import daft
from daft.expressions import Expression, ExpressionsProjection
from daft.expressions.visitor import PredicateVisitor
from daft.io.pushdowns import Pushdowns
from daft.io.source import DataSource, DataSourceTask
from daft.recordbatch import RecordBatch

from logtool._blocks import common_schema, read_blocks, select
from logtool._logtool import Split
from logtool._scan import Bounds, Clock, SplitReader, TopicScan, opposite, scan_topic

__all__ = ["read"]


def read(
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
) -> daft.DataFrame:
    """Return a topic of logs as a ``daft.DataFrame``, one task for each split.

    Only the columns, rows and times that a query needs are read. The tasks that read apply
    filters, also those of fields of structs. ``sources`` adds the columns ``log`` and ``topic``.
    With ``strict``, damage is an error. The other arguments are those of ``logtool.plan``.
    """
    scan = scan_topic(
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
    return LogtoolSource(scan).read()


class LogtoolSource(DataSource):
    """The splits of a topic."""

    def __init__(self, scan: TopicScan) -> None:
        self._scan = scan
        self._schema = common_schema(scan)

    @property
    def name(self) -> str:
        """The name in plans."""
        return "logtool"

    @property
    def schema(self) -> daft.Schema:
        """The columns without a selection."""
        return daft.Schema.from_pyarrow_schema(self._schema)

    async def get_tasks(self, pushdowns: Pushdowns) -> AsyncIterator[DataSourceTask]:
        """Return a task for each split that can have rows of the query."""
        bounds, schema = Bounds(), self._schema
        if pushdowns.filters is not None:
            bounds = _TimeBounds(self._scan.time_column).bounds_of(pushdowns.filters)
        if pushdowns.columns is not None:
            names = set(pushdowns.columns)
            if pushdowns.filters is not None:
                names |= _possible_columns(pushdowns.filters, schema.names)
            schema = select(schema, [name for name in schema.names if name in names])
        for split in self._scan.splits_within(bounds):
            yield LogtoolTask(
                self._scan.reader,
                split,
                schema,
                bounds,
                pushdowns.filters,
                pushdowns.limit,
            )


@dataclass
class LogtoolTask(DataSourceTask):
    """Reads a split. Workers run it."""

    reader: SplitReader
    split: Split
    arrow_schema: Any
    bounds: Bounds
    condition: Expression | None
    limit: int | None

    @property
    def schema(self) -> daft.Schema:
        """The columns of the batches."""
        return daft.Schema.from_pyarrow_schema(self.arrow_schema)

    async def read(self) -> AsyncIterator[RecordBatch]:
        """Read the rows, in a thread, so that other tasks run meanwhile."""
        blocks = read_blocks(self.reader, self.split, self.arrow_schema, self.bounds)
        global _has_read
        _has_read = True
        _active_reads.add(id(blocks))
        try:
            remaining = self.limit
            while (block := await asyncio.to_thread(next, blocks, None)) is not None:
                rows = RecordBatch.from_arrow_record_batches([block], block.schema)
                if self.condition is not None:
                    rows = rows.filter(ExpressionsProjection([self.condition]))
                if remaining is not None:
                    rows = rows.head(remaining)
                    remaining -= len(rows)
                yield rows
                if remaining == 0:
                    return
        finally:
            _active_reads.discard(id(blocks))


# The ids of the iterators that tasks read at the moment.
_active_reads: set[int] = set()
# Whether a task has read anything in this process.
_has_read = False


def _wait_for_active_reads() -> None:
    """Wait at exit until no task reads, for at most 2 s.

    A limit leaves tasks that still read. Native threads of Daft wait for their rows, and one that
    returns to Python while the interpreter ends aborts the process with "FATAL: exception not
    rethrown" (Daft 0.7.26 with CPython before 3.14, also without logtool).
    """
    if not _has_read:
        return
    deadline = time.monotonic() + 2
    while _active_reads and time.monotonic() < deadline:
        time.sleep(0.005)
    # The thread of Daft takes the last rows after the read has ended, maybe just now.
    time.sleep(0.05)


atexit.register(_wait_for_active_reads)


def _possible_columns(condition: Expression, names: Sequence[str]) -> set[str]:
    """Return those of ``names`` that ``condition`` uses, and possibly others.

    Daft has no function that returns them for all expressions, such as fields of structs.
    """
    serialized = pickle.dumps(condition)
    return {name for name in names if name.encode() in serialized}


class _TimeBounds(PredicateVisitor[Bounds]):
    """Finds the times that a filter can select."""

    def __init__(self, time_column: str) -> None:
        self._time_column = time_column

    def bounds_of(self, condition: Expression) -> Bounds:
        """Return the times that ``condition`` can select."""
        try:
            return self.visit(condition)
        except (ValueError, NotImplementedError, AttributeError):
            # The visitors of Daft do not support all expressions.
            return Bounds()

    def visit_and(self, left: Expression, right: Expression) -> Bounds:
        """Return the times that both conditions can select."""
        return self.bounds_of(left) & self.bounds_of(right)

    def _compare(self, operator: str, left: Expression, right: Expression) -> Bounds:
        if left.is_literal():
            left, right, operator = right, left, opposite(operator)
        if not left.is_column() or left.name() != self._time_column:
            return Bounds()
        nanos = _nanos(right.as_py()) if right.is_literal() else None
        return Bounds() if nanos is None else Bounds.of_comparison(operator, nanos)

    def visit_equal(self, left: Expression, right: Expression) -> Bounds:
        """Return the times that are equal."""
        return self._compare("==", left, right)

    def visit_less_than(self, left: Expression, right: Expression) -> Bounds:
        """Return the times that are earlier."""
        return self._compare("<", left, right)

    def visit_less_than_or_equal(self, left: Expression, right: Expression) -> Bounds:
        """Return the times that are not later."""
        return self._compare("<=", left, right)

    def visit_greater_than(self, left: Expression, right: Expression) -> Bounds:
        """Return the times that are later."""
        return self._compare(">", left, right)

    def visit_greater_than_or_equal(self, left: Expression, right: Expression) -> Bounds:
        """Return the times that are not earlier."""
        return self._compare(">=", left, right)

    def visit_between(
        self, expr: Expression, lower: Expression, upper: Expression
    ) -> Bounds:
        """Return the times between two others."""
        return self._compare(">=", expr, lower) & self._compare("<=", expr, upper)

    def _unbounded(self, *_: Any) -> Bounds:
        return Bounds()

    visit_col = visit_lit = visit_alias = _unbounded  # type: ignore[assignment]
    visit_cast = visit_try_cast = visit_function = _unbounded  # type: ignore[assignment]
    visit_coalesce = visit_or = visit_not = _unbounded  # type: ignore[assignment]
    visit_not_equal = visit_is_in = _unbounded  # type: ignore[assignment]
    visit_is_null = visit_not_null = _unbounded  # type: ignore[assignment]


def _nanos(value: Any) -> int | None:
    """Return a literal time in nanoseconds; ``None`` if it is of another type."""
    micro = timedelta(microseconds=1)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return value // micro * 1000 if isinstance(value, timedelta) else None
