"""Datasets: the tables that ``logtool batch`` has made of many logs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from logtool._errors import MalformedError, NoSuchFileError, NotFoundError

if TYPE_CHECKING:
    import duckdb
    import polars

__all__ = ["Dataset", "DatasetLog"]


@dataclass(frozen=True)
class DatasetLog:
    """A log of a dataset or of a catalog."""

    name: str
    """The name in the dataset, which is also the name of the folders of its tables."""
    source: str
    """The path or the URL of the log."""
    format: str | None
    """The name of the format; ``None`` if the log could not be opened."""
    records: int | None
    """The number of records, if it is known."""

    start_ns: int | None
    """The time of the first record in nanoseconds, on the clock of the log."""
    end_ns: int | None
    """The time of the last record in nanoseconds, on the clock of the log."""
    error: str | None
    """The reason why the log could not be read; ``None`` if it was read."""
    damage: str | None
    """A summary of the damage; ``None`` if the log has no damage."""
    lost_bytes: int | None
    """The number of lost bytes, if it is known."""

    lost_records: int | None
    """The number of lost records, if it is known."""

    topics: tuple[str, ...] = field(repr=False)
    """The names of the topics, with the number of the instance if it is not 0."""


class Dataset:
    """The folder or the URL of a dataset, or a catalog that ``logtool index`` has written.

    It needs pyarrow, which also opens the URLs of object stores.

    >>> dataset = logtool.Dataset("tables")
    >>> dataset.failed
    >>> dataset.polars("battery_status").group_by("log").agg(pl.col("voltage_v").min())
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._filesystem, self._root = _filesystem(self.path)
        self.catalog: Any = self._read_catalog()
        """The catalog as a ``pyarrow.Table``: a row for each topic of each log."""

    @property
    def logs(self) -> list[DatasetLog]:
        """The logs, also those that failed, sorted by name."""
        logs: dict[str, tuple[dict[str, Any], list[str]]] = {}
        for row in self.catalog.to_pylist():
            _, topics = logs.setdefault(row["log"], (row, []))
            if row["topic"] is not None:
                instance = row["instance"]
                topics.append(f"{row['topic']}.{instance}" if instance else row["topic"])
        return [_log(row, topics) for _, (row, topics) in sorted(logs.items())]

    @property
    def failed(self) -> dict[str, str]:
        """The sources of the logs that could not be read, each with the reason."""
        return {log.source: log.error for log in self.logs if log.error is not None}

    @property
    def damage(self) -> dict[str, str]:
        """The sources of the damaged logs, each with a summary of the damage."""
        return {log.source: log.damage for log in self.logs if log.damage is not None}

    @property
    def tables(self) -> list[str]:
        """The names of the tables: the topics, across logs."""
        names = self.catalog.column("table").unique().to_pylist()
        return sorted(name for name in names if name is not None)

    def files(self, table: str) -> list[str]:
        """Return the Parquet files of ``table``, one for each log and instance."""
        from pyarrow.fs import FileSelector

        if table not in self.tables:
            message = f"the dataset has no table {table!r}"
            raise NotFoundError(message, kind="not_found", path=self.path)
        folder = FileSelector(f"{self._root}/{table}", recursive=True)
        found = self._filesystem.get_file_info(folder)
        return sorted(file.path for file in found if file.path.endswith(".parquet"))

    def arrow(self, table: str) -> Any:
        """Return ``table`` as a ``pyarrow.dataset.Dataset`` with the columns of all logs.

        The column ``log`` is the name of the log, ``instance`` that of the topic. A column that
        a log does not have is null.
        """
        import pyarrow
        import pyarrow.dataset

        files = self.files(table)
        file_format = pyarrow.dataset.ParquetFileFormat()
        schemas = [
            file_format.inspect(file, self._filesystem).remove_metadata() for file in files
        ]
        keys = [pyarrow.field("log", pyarrow.string())]
        if any("/instance=" in file for file in files):
            keys.append(pyarrow.field("instance", pyarrow.int64()))
        # A column of the log with the same name takes precedence.
        names = {name for schema in schemas for name in schema.names}
        keys = [key for key in keys if key.name not in names]
        schema = pyarrow.unify_schemas(
            [*schemas, pyarrow.schema(keys)], promote_options="permissive"
        )
        return pyarrow.dataset.dataset(
            files,
            schema=schema,
            format=file_format,
            filesystem=self._filesystem,
            partitioning=pyarrow.dataset.partitioning(pyarrow.schema(keys), flavor="hive"),
            partition_base_dir=f"{self._root}/{table}",
        )

    def polars(self, table: str) -> polars.LazyFrame:
        """Return ``table`` as a ``polars.LazyFrame``."""
        import polars

        return polars.scan_pyarrow_dataset(self.arrow(table))

    def duckdb(
        self, table: str, connection: duckdb.DuckDBPyConnection | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Return ``table`` as a relation of DuckDB."""
        import duckdb

        return (connection or duckdb).from_arrow(self.arrow(table))

    def __repr__(self) -> str:
        logs, tables = len(self.logs), len(self.tables)
        return f"<logtool.Dataset {self.path}: {logs} logs, {tables} tables>"

    def _read_catalog(self) -> Any:
        import pyarrow
        from pyarrow import parquet
        from pyarrow.fs import FileSelector, FileType

        kind = self._filesystem.get_file_info(self._root).type
        if kind == FileType.NotFound:
            message = f"there is no dataset {self.path}"
            raise NoSuchFileError(message, kind="no_such_file", path=self.path)
        files = [self._root]
        if kind == FileType.Directory:
            # A batch in shards writes one catalog per shard.
            found = self._filesystem.get_file_info(FileSelector(self._root))
            files = sorted(
                file.path
                for file in found
                if file.base_name.startswith("_catalog") and file.extension == "parquet"
            )
        if not files:
            message = f"{self.path} is not a dataset: it has no _catalog.parquet"
            raise MalformedError(message, kind="malformed", path=self.path)
        catalogs = [
            parquet.read_table(file, filesystem=self._filesystem, partitioning=None)
            for file in files
        ]
        return pyarrow.concat_tables(catalogs).replace_schema_metadata(None)


def _filesystem(path: str) -> tuple[Any, str]:
    """Return the file system of pyarrow for ``path``, and the path in it."""
    from pyarrow.fs import FileSystem, LocalFileSystem

    if "://" in path:
        filesystem, root = FileSystem.from_uri(path)
        return filesystem, str(root).rstrip("/")
    return LocalFileSystem(), os.path.abspath(path)


def _log(row: dict[str, Any], topics: list[str]) -> DatasetLog:
    return DatasetLog(
        name=row["log"],
        topics=tuple(topics),
        **{
            name: row[name]
            for name in (
                "source",
                "format",
                "records",
                "start_ns",
                "end_ns",
                "error",
                "damage",
                "lost_bytes",
                "lost_records",
            )
        },
    )
