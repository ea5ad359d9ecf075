"""Apache Spark 4: the table of a topic across logs as a ``DataFrame``.

>>> import logtool.spark
>>> logtool.spark.register(spark)
>>> imu = spark.read.format("logtool").option("topic", "/imu/data").load("s3a://...")

Columns and times are selected with options, because the filters that Spark gives to sources in
Python are not reliable: after a query with a filter, other queries of the same ``DataFrame`` may
be filtered too.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from logtool._blocks import MAX_BLOCK_ROWS, common_schema, read_blocks
from logtool._errors import InvalidRequestError
from logtool._jobs import index
from logtool._logtool import Split
from logtool._scan import Clock, SplitReader, TopicScan, scan_topic

__all__ = ["LogtoolDataSource", "register"]


def register(session: SparkSession) -> None:
    """Register the source ``logtool`` in ``session``."""
    session.dataSource.register(LogtoolDataSource)


class LogtoolDataSource(DataSource):
    """The source ``logtool``.

    ``load`` takes the path, the pattern or the URL of logs. All nodes must be able to read it.
    The options are ``topic``, ``columns`` (separated by commas), ``start`` and ``end``,
    ``target_bytes``, ``flat``, ``clock``, ``sources`` and ``strict``, which are those of
    ``logtool.ray.read``, and those of ``logtool.open``. Without ``topic``, the rows are those of
    the catalog that ``logtool index`` writes.
    """

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "logtool"

    def schema(self) -> StructType:
        """Return the columns, with types of Spark."""
        if "topic" not in self.options:
            return from_arrow_schema(_catalog_schema())
        return from_arrow_schema(common_schema(self._scan()))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of the rows."""
        if "topic" not in self.options:
            return CatalogReader(self._path(), _open_options(self.options), schema)
        scan = self._scan()
        return TopicReader(scan.reader, scan.splits, schema)

    def _path(self) -> str:
        path = self.options.get("path")
        if path is None:
            message = "the source needs a path: load(PATH)"
            raise InvalidRequestError(message, kind="invalid_request")
        # Spark turns paths into URLs.
        return str(path).removeprefix("file://")

    def _scan(self) -> TopicScan:
        options = self.options
        target_bytes, columns = options.get("target_bytes"), options.get("columns")
        return scan_topic(
            self._path(),
            options["topic"],
            columns=None if columns is None else columns.split(","),
            time=(options.get("start"), options.get("end")),
            target_bytes=None if target_bytes is None else int(target_bytes),
            flat=_flag(options, "flat"),
            clock=cast("Clock | None", options.get("clock")),
            spark=True,
            sources=_flag(options, "sources"),
            strict=_flag(options, "strict"),
            **_open_options(options),
        )


class TopicReader(DataSourceReader):
    """Reads the splits of a topic."""

    def __init__(
        self, reader: SplitReader, splits: Sequence[Split], schema: StructType
    ) -> None:
        self._reader = reader
        self._splits = splits
        self._schema = schema

    def __getstate__(self) -> dict[str, Any]:
        # Each task gets a copy of the reader, and only needs the split in its partition.
        return {**self.__dict__, "_splits": ()}

    def partitions(self) -> Sequence[InputPartition]:
        """Return a partition for each split."""
        return [InputPartition(split) for split in self._splits]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Read a split. Executors run this."""
        schema = to_arrow_schema(self._schema, timezone="UTC")
        return read_blocks(self._reader, partition.value, schema)


class CatalogReader(DataSourceReader):
    """Creates the catalog of logs."""

    def __init__(self, path: str, options: dict[str, Any], schema: StructType) -> None:
        self._path = path
        self._options = options
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition: a catalog is created on all cores of one executor."""
        return [InputPartition(self._path)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Describe the logs. An executor runs this."""
        schema = to_arrow_schema(self._schema, timezone="UTC")
        # Timestamps of Spark have microseconds. Columns of nanoseconds keep the exact times.
        rows = _catalog(partition.value, self._options).cast(schema, safe=False)
        return iter(rows.to_batches(max_chunksize=MAX_BLOCK_ROWS))


def _catalog_schema() -> Any:
    """Return the columns of catalogs."""
    with tempfile.NamedTemporaryFile() as empty:
        # A catalog also has a row for a log that cannot be opened.
        return _catalog(empty.name, {}).schema


def _catalog(path: str, options: dict[str, Any]) -> Any:
    """Return the catalog of the logs at ``path`` as a ``pyarrow.Table``."""
    import pyarrow.parquet

    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "catalog.parquet")
        index(path, file, **options)
        return pyarrow.parquet.read_table(file).replace_schema_metadata(None)


_OWN_OPTIONS = {
    "path",
    "topic",
    "columns",
    "start",
    "end",
    "target_bytes",
    "flat",
    "clock",
    "sources",
    "strict",
}


def _open_options(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the keywords of ``logtool.open`` that ``options`` has."""
    result: dict[str, Any] = {}
    for name, value in options.items():
        if name.lower() in _OWN_OPTIONS:
            continue
        if name in ("strict_index", "read_anyway"):
            result[name] = _flag(options, name)
        elif name in ("record_limit", "remote_min_rate"):
            result[name] = int(value)
        elif name in ("remote_timeout", "cut"):
            result[name] = float(value)
        else:
            result[name] = value
    return result


def _flag(options: Mapping[str, str], name: str) -> bool:
    value = options.get(name, "false").lower()
    if value not in ("true", "false"):
        message = f"the option {name} is true or false, not {value!r}"
        raise InvalidRequestError(message, kind="invalid_request")
    return value == "true"
