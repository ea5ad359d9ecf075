"""Ray: the table of a topic across logs as a ``ray.data.Dataset``, and conversions on a cluster.

>>> import logtool.ray
>>> imu = logtool.ray.read("s3://bucket/drives/", "/imu/data", columns=["linear_acceleration"])
>>> logtool.ray.convert("s3://bucket/drives/", "s3://bucket/tables")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from logtool._blocks import common_schema, read_blocks, select
from logtool._jobs import assign_tables, batch, survey_tables
from logtool._logtool import BatchReport, Split
from logtool._scan import Bounds, Clock, SplitReader, TopicScan, opposite, scan_topic

if TYPE_CHECKING:
    import ray.data

__all__ = ["ConvertReport", "convert", "read"]


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
    override_num_blocks: int | None = None,
    concurrency: int | None = None,
    ray_options: dict[str, Any] | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """Return a topic of logs as a ``ray.data.Dataset``, one read task for each split.

    Selections of columns, and filters that are expressions (``ray.data.expressions``), are done
    by the tasks that read; comparisons of the time select what is read at all. ``sources`` adds
    the columns ``log`` and ``topic``. With ``strict``, damage is an error; else the workers warn.

    ``override_num_blocks``, ``concurrency`` and ``ray_options`` are those of
    ``ray.data.read_datasource``; the other arguments are those of ``logtool.plan``.
    """
    import ray.data

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
    # Without a number, Ray would divide the rows again, after the plan has divided them.
    blocks = len(scan.splits) if override_num_blocks is None else override_num_blocks
    return ray.data.read_datasource(
        _datasource(scan),
        override_num_blocks=blocks,
        concurrency=concurrency,
        **(ray_options or {}),
    )


def _datasource(scan: TopicScan) -> Any:
    """Return the ``ray.data.Datasource`` of ``scan``."""
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    class LogtoolDatasource(Datasource):
        """The splits of a topic."""

        def __init__(self) -> None:
            super().__init__()
            self._schema = common_schema(scan)
            # Ray reads this attribute of sources that select columns.
            self._projection_map: dict[str, str] | None = None

        def supports_projection_pushdown(self) -> bool:
            return True

        def supports_predicate_pushdown(self) -> bool:
            return True

        def estimate_inmemory_data_size(self) -> int:
            return sum(_memory_bytes(split, self._schema) for split in scan.splits)

        def get_read_tasks(
            self,
            parallelism: int,
            per_task_row_limit: int | None = None,
            data_context: Any = None,
        ) -> list[Any]:
            predicate = self.get_current_predicate()
            bounds, condition = Bounds(), None
            if predicate is not None:
                bounds = _bounds(predicate, scan.time_column)
                condition = predicate.to_pyarrow()
            column_names = self._get_data_columns()
            schema = self._schema if column_names is None else select(self._schema, column_names)
            tasks = []
            for splits in _groups(scan.splits_within(bounds), parallelism):
                # The number of rows is only an estimate, but Ray would take it as exact.
                metadata = BlockMetadata(
                    num_rows=None,
                    size_bytes=sum(_memory_bytes(split, schema) for split in splits),
                    input_files=tuple(split.path for split in splits),
                    exec_stats=None,
                )
                function = partial(
                    _read_splits,
                    scan.reader,
                    splits,
                    self._schema,
                    column_names,
                    condition,
                    bounds,
                )
                tasks.append(
                    ReadTask(
                        function,
                        metadata,
                        schema=schema,
                        per_task_row_limit=per_task_row_limit,
                    )
                )
            return tasks

    return LogtoolDatasource()


def _groups(splits: Sequence[Split], count: int) -> Iterator[list[Split]]:
    """Return the splits in their order, in at most ``count`` groups of about equal size."""
    count = max(1, min(count, len(splits)))
    for group in range(count):
        first = len(splits) * group // count
        last = len(splits) * (group + 1) // count
        yield list(splits[first:last])


def _read_splits(
    reader: SplitReader,
    splits: Sequence[Split],
    schema: Any,
    columns: Sequence[str] | None,
    condition: Any,
    bounds: Bounds,
) -> Iterator[Any]:
    """Read ``splits`` as tables of pyarrow. Workers run this."""
    import pyarrow

    needed = schema
    if columns is not None and condition is None:
        needed = select(schema, columns)
    # Ray needs a block for the columns of a task that has no rows.
    is_empty = True
    for split in splits:
        for rows in read_blocks(reader, split, needed, bounds):
            table = pyarrow.Table.from_batches([rows])
            if condition is not None:
                table = table.filter(condition)
                if columns is not None:
                    table = table.select(columns)
            if table.num_rows > 0:
                is_empty = False
                if columns is not None and not columns:
                    rows_only = pyarrow.nulls(table.num_rows)
                    table = pyarrow.table({_ROWS_ONLY: rows_only})
                yield table
    if is_empty:
        yield (schema if columns is None else select(schema, columns)).empty_table()


_ROWS_ONLY = "__bsp_stub"
"""The column that Ray adds to blocks without columns, which would lose their number of rows."""

_TEXT_BYTES = 24
"""The estimated size of a text in bytes."""


def _memory_bytes(split: Split, schema: Any) -> int:
    """Return an estimate of the bytes of the rows of ``split`` in memory."""
    if split.records is None:
        return int(split.bytes)
    widths = [_width(column.type) for column in schema]
    known = split.records * sum(width for width in widths if width is not None)
    # Lists and images can have any length. With them, the bytes in the log are a better estimate.
    return int(max(known, split.bytes) if None in widths else known)


def _width(data_type: Any) -> int | None:
    """Return the size of a value in bytes; ``None`` if it has no limit."""
    from pyarrow import types

    if types.is_struct(data_type):
        fields = [_width(data_type.field(i).type) for i in range(data_type.num_fields)]
        return sum(w for w in fields if w is not None) if None not in fields else None
    if types.is_fixed_size_list(data_type):
        width = _width(data_type.value_type)
        return None if width is None else width * int(data_type.list_size)
    if types.is_string(data_type) or types.is_large_string(data_type):
        return _TEXT_BYTES
    try:
        return max(1, data_type.bit_width // 8)
    except ValueError:
        return None


_OPERATORS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "eq": "=="}


def _bounds(predicate: Any, time_column: str) -> Bounds:
    """Return the times that ``predicate``, an expression of Ray, can select."""
    from ray.data.expressions import BinaryExpr, ColumnExpr, LiteralExpr

    if not isinstance(predicate, BinaryExpr):
        return Bounds()
    left, right, operator = predicate.left, predicate.right, predicate.op.value
    if operator == "and":
        return _bounds(left, time_column) & _bounds(right, time_column)
    operator = _OPERATORS.get(operator, "")
    if isinstance(left, LiteralExpr):
        left, right, operator = right, left, opposite(operator)
    if not (isinstance(left, ColumnExpr) and isinstance(right, LiteralExpr)):
        return Bounds()
    nanos = _nanos(right.value) if left.name == time_column else None
    return Bounds() if nanos is None else Bounds.of_comparison(operator, nanos)


def _nanos(value: Any) -> int | None:
    """Return a literal time in nanoseconds; ``None`` if it is of another type."""
    import pyarrow

    scalar = value if isinstance(value, pyarrow.Scalar) else pyarrow.scalar(value)
    if pyarrow.types.is_timestamp(scalar.type):
        return int(scalar.cast(pyarrow.timestamp("ns", scalar.type.tz)).value)
    if pyarrow.types.is_duration(scalar.type):
        return int(scalar.cast(pyarrow.duration("ns")).value)
    return None


@dataclass
class ConvertReport:
    """The total results of the tasks of ``convert``."""

    new_logs: int = 0
    """The number of logs that were read."""
    unchanged_logs: int = 0
    """The number of logs that had been converted before, by an earlier call or a failed task."""
    files: int = 0
    """The number of files that were written."""

    rows: int = 0
    """The number of rows that were written."""

    bytes: int = 0
    """The number of bytes that were written."""

    damaged: dict[str, str] = field(default_factory=dict)
    """The damaged logs, each with a description of what was lost."""
    failed: dict[str, Exception] = field(default_factory=dict)
    """The logs that failed, each with its exception."""
    remarks: list[str] = field(default_factory=list)

    def add(self, report: ConvertReport | BatchReport) -> None:
        """Add the report of a task."""
        self.new_logs += report.new_logs
        self.unchanged_logs += report.unchanged_logs
        self.files += report.files
        self.rows += report.rows
        self.bytes += report.bytes
        self.damaged |= report.damaged
        self.failed |= report.failed
        self.remarks += (text for text in report.remarks if text not in self.remarks)


def convert(
    inputs: Any,
    out: Any,
    *,
    format: str | None = None,
    shards: int | None = None,
    ray_options: dict[str, Any] | None = None,
    **options: Any,
) -> ConvertReport:
    """Convert logs to a dataset with the workers of a Ray cluster.

    Each of ``shards`` tasks converts its share of the logs; by default there are two for each CPU
    of the cluster. Workers read ``inputs`` and write ``out`` themselves, so both must be URLs or
    be in folders that all nodes share. The files of a log appear when they are complete, and a
    complete log is not converted again. So the dataset is the same if a task runs twice, or if
    its worker dies.

    ``ray_options`` are those of ``ray.remote``; the other keywords are those of
    ``logtool.batch``.
    """
    import ray

    if not ray.is_initialized():
        # Ray does the same for tasks.
        ray.init()
    if shards is None:
        shards = max(1, int(2 * ray.cluster_resources().get("CPU", 1)))
    arguments = {"format": format, **options}
    remote = {"max_retries": 5, "num_cpus": 1, **(ray_options or {})}
    survey, assign, task = (
        ray.remote(**remote)(function)
        for function in (_survey_shard, _assign_tables, _convert_shard)
    )
    shared = ray.put((inputs, out, arguments))
    parts = [(i, shards) for i in range(shards)]
    ray.get(assign.remote(shared, *(survey.remote(shared, part) for part in parts)))
    report = ConvertReport()
    for result in ray.get([task.remote(shared, part) for part in parts]):
        report.add(result)
    return report


def _survey_shard(shared: tuple[Any, Any, dict[str, Any]], shard: tuple[int, int]) -> str:
    """Find the tables of a part of the logs. Workers run this."""
    inputs, out, arguments = shared
    return survey_tables(inputs, out, shard=shard, **arguments)


def _assign_tables(shared: tuple[Any, Any, dict[str, Any]], *surveys: str) -> None:
    """Assign topics to tables, so that the order of the shards makes no difference."""
    inputs, out, arguments = shared
    assign_tables(inputs, out, list(surveys), **arguments)


def _convert_shard(shared: tuple[Any, Any, dict[str, Any]], shard: tuple[int, int]) -> Any:
    """Convert a part of the logs. Workers run this."""
    inputs, out, arguments = shared
    report = ConvertReport()
    report.add(batch(inputs, out, shard=shard, **arguments))
    return report
