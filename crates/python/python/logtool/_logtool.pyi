"""The native part of the module ``logtool``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from os import PathLike
from types import TracebackType
from typing import Any, BinaryIO, Literal, TypeAlias, final

import numpy
import pandas
import polars
import pyarrow
from logtool._images import Image
from logtool._series import Series

__all__ = [
    "Alignment",
    "Batch",
    "BatchReport",
    "Batches",
    "Damage",
    "Job",
    "Log",
    "MergedTable",
    "Message",
    "Messages",
    "NumberBuffer",
    "Plot",
    "Report",
    "Schema",
    "Split",
    "Table",
    "Topic",
    "Writer",
    "__version__",
    "merge_asof",
    "open",
    "plan",
    "read",
    "run_command",
    "start_align",
    "start_batch",
    "start_convert",
    "start_filter",
    "start_index",
    "start_merge",
    "start_repair",
    "start_table_assignment",
    "start_table_survey",
]

__version__: str

_StrPath: TypeAlias = str | PathLike[str]
_Names: TypeAlias = str | Iterable[str]
_Time: TypeAlias = str | float | datetime | timedelta | numpy.datetime64 | numpy.timedelta64
_Clock: TypeAlias = Literal["log", "boot", "utc", "relative"]
_Arrays: TypeAlias = dict[str, numpy.ndarray[Any, Any]]

def open(
    input: _StrPath | bytes | bytearray | memoryview | BinaryIO,
    *,
    key: bytes | str | None = None,
    events: _StrPath | None = None,
    utc_start: str | datetime | None = None,
    input_format: str | None = None,
    time_column: str | None = None,
    record_limit: int | None = None,
    strict_index: bool = False,
    read_anyway: bool = False,
    remote_timeout: float | None = None,
    remote_min_rate: int | None = None,
    calibration: _StrPath | None = None,
    model: str | None = None,
    formula: str | None = None,
    axes: Literal["ros", "manual"] | None = None,
    cut: float | None = None,
    lidar_clock: Literal["log", "lidar"] | None = None,
) -> Log:
    """Open a log: a path, a URL, bytes, or a binary file object.

    ``key`` decrypts an encrypted log. It is the private key of a ULog in PEM format, or the key of
    a bag: 16 bytes or 32 hexadecimal digits. ``events`` is the path of definitions of PX4's events,
    ``all_events.json`` or ``all_events.json.xz``, for logs without them. ``time_column`` is the column with the times of a
    CSV or Parquet file, as ``"name"`` or, with the unit ``s``, ``ms``, ``us`` or ``ns``, as
    ``"name:ms"``. ``record_limit`` is in bytes, ``remote_timeout`` in seconds,
    ``remote_min_rate`` in bytes per second. ``calibration`` is the path of the calibration of a
    lidar. The keywords have the meaning of the options of the command with the same names.
    """

@final
class Log(Mapping[str, Table]):
    """An open log: a mapping from the names of topics to their tables."""

    @property
    def path(self) -> str:
        """The path or the URL."""
    @property
    def format(self) -> str:
        """The name of the format, e.g. ``"ulog"`` or ``"rosbag"``."""
    @property
    def info(self) -> dict[str, Any]:
        """The description of the log, as ``logtool info --json`` prints it."""
    def analysis(self, *, signals: bool = False) -> dict[str, Any]:
        """Analyse the flight in a ULog, and return what ``logtool flight --json`` prints.

        With ``signals``, also spectra and step responses.
        """
    @property
    def topics(self) -> list[Topic]:
        """The topics, in the order of the file."""
    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the file."""
    @property
    def params(self) -> dict[str, Any]:
        """The last values of the parameters of a ULog, by name; empty for other logs."""
    @property
    def damage(self) -> list[Damage]:
        """The damage that was found when the log was opened. Reading may find more."""
    def messages(
        self,
        topics: _Names | None = None,
        start: _Time | None = None,
        end: _Time | None = None,
    ) -> Messages:
        """Return the messages with undecoded payloads, in the order of the file."""
    def images(self, topic: str) -> Iterator[Image]:
        """Return the images of a topic, with their pixels as NumPy arrays."""
    def plot(
        self,
        *fields: str,
        start: _Time | None = None,
        end: _Time | None = None,
        clock: Literal["boot", "utc", "relative"] | None = None,
        size: tuple[int, int] | None = None,
        flight_modes: bool = True,
        marks: bool = True,
        panels: Sequence[Sequence[str]] | None = None,
        xy: Sequence[Sequence[str]] | None = None,
        title: str | None = None,
        limits: Sequence[tuple[float | None, float | None] | None] | None = None,
    ) -> Plot:
        """Plot fields, for example ``battery_status.voltage_v``, or expressions over time.

        Each item of ``panels`` is a list of fields that share a panel. Fields with a second unit use
        an axis on the right. Each item of ``xy`` is a list of an expression for x, and of one or
        more for y, which are plotted against x. ``limits`` has a pair of a lower and an upper
        limit for each value axis, in the order of the axes. ``None`` is no limit.
        """
    def series(
        self,
        expression: str,
        start: _Time | None = None,
        end: _Time | None = None,
        clock: Literal["log", "boot", "utc", "relative"] | None = None,
    ) -> Series:
        """Compute an expression of fields, for example ``deg(yaw(vehicle_attitude.q))``."""
    def __getitem__(self, topic: str, /) -> Table: ...
    def __contains__(self, topic: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> list[str]:  # type: ignore[override]
        """Return the names of the topics."""
    def values(self) -> list[Table]:  # type: ignore[override]
        """Return the tables of all topics."""
    def items(self) -> list[tuple[str, Table]]:  # type: ignore[override]
        """Return pairs of the name of a topic and its table."""
    def _repr_html_(self) -> str: ...

@final
class Topic:
    """A topic of a log, as the log describes it."""

    @property
    def name(self) -> str:
        """The name, with the number of the instance if it is not 0: ``sensor_gps.1``."""
    @property
    def instance(self) -> int:
        """The number of the instance among topics of the same name."""
    @property
    def type(self) -> str:
        """The name of the type of the records; empty if types have no names."""
    @property
    def definition(self) -> str:
        """The definition of the type in the log."""
    @property
    def encoding(self) -> str:
        """The encoding of the payloads, e.g. ``"ulog"``, ``"ros1"`` or ``"cdr"``."""
    @property
    def is_derived(self) -> bool:
        """Whether the records are computed from those of other topics."""
    @property
    def records(self) -> int | None:
        """The number of records, if it is known."""
    @property
    def bytes(self) -> int | None:
        """The number of bytes of the payloads, if it is known."""
    @property
    def start(self) -> datetime | timedelta | None:
        """The time of the first record: in UTC, or since the start of the vehicle."""
    @property
    def end(self) -> datetime | timedelta | None:
        """The time of the last record, like ``start``."""
    @property
    def start_ns(self) -> int | None:
        """The time of the first record in nanoseconds on the clock of the log."""
    @property
    def end_ns(self) -> int | None:
        """The time of the last record in nanoseconds on the clock of the log."""
    @property
    def schema(self) -> Schema:
        """The columns of the table, as the log describes them."""

@final
class Schema:
    """The columns of a table: their names and Arrow types.

    ``pyarrow.schema(schema)`` and other libraries take it as an Arrow schema.
    """

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
    @property
    def types(self) -> list[str]:
        """The Arrow types of the columns, as text."""
    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the table."""
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...

@final
class Table:
    """The records of a topic as a table, which is read when another library takes it.

    It is an Arrow stream that can be opened again: ``pyarrow.table(imu)``,
    ``polars.DataFrame(imu)``, ``pandas.DataFrame.from_arrow(imu)``, and ``FROM imu`` in
    DuckDB. The first column is the time: a timestamp in UTC, or a duration since the start of
    the vehicle.
    """

    @property
    def topic(self) -> str:
        """The name of the topic."""
    @property
    def schema(self) -> Schema:
        """The columns."""
    @property
    def damage(self) -> list[Damage]:
        """The damage that the last read of the table found."""
    def select(self, columns: _Names) -> Table:
        """Select the columns that match ``columns``.

        ``*`` matches any text, and ``?`` any character. The time is always selected.
        """
    def time(self, start: _Time | None = None, end: _Time | None = None) -> Table:
        """Select the records from ``start`` to before ``end``."""
    def flat(self) -> Table:
        """Make a column of each number: ``q[0]``, ``pose.x``."""
    def clock(self, clock: _Clock) -> Table:
        """Set the clock of the times.

        ``"log"`` is that of the log, ``"boot"`` the time since the start of the vehicle,
        ``"utc"`` UTC, and ``"relative"`` the time since the start of the log.
        """
    def spark(self) -> Table:
        """Convert the columns to types that Apache Spark reads."""
    def payloads(self) -> Table:
        """Add the column ``payload`` with the bytes of records that cannot be decoded.

        Each of them is a row with no other value than the time, and is still reported as
        damage. Without this method, such records have no rows.
        """
    def __getitem__(self, key: _Names | slice, /) -> Table:
        """Select times with a slice, or columns with names."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def batches(self) -> Batches:
        """Start to read the table, and return an iterator of its batches."""
    def __iter__(self) -> Batches: ...
    def to_arrow(self) -> pyarrow.Table:
        """Read the table as a ``pyarrow.Table``."""
    def to_pandas(self) -> pandas.DataFrame:
        """Read the table as a ``pandas.DataFrame``."""
    def to_polars(self) -> polars.DataFrame:
        """Read the table as a ``polars.DataFrame``."""
    def to_numpy(self) -> _Arrays:
        """Read the table as a dictionary of NumPy arrays, by the name of the column.

        A field of a struct has a name such as ``header.stamp``. A list of fixed length adds a
        dimension to the array. Missing floats are NaN, missing times NaT. Other missing values
        are masked.
        """
    def scans(self) -> Iterator[_Arrays]:
        """Return the scans of a table of points: a dictionary of NumPy arrays for each."""
    def _read_parts(self) -> tuple[_Arrays, list[Batch]]: ...
    def _take_error(self) -> BaseException | None: ...
    def _repr_html_(self) -> str: ...

@final
class MergedTable:
    """One table of several topics, which is read when another library takes it."""

    @property
    def schema(self) -> Schema:
        """The columns."""
    @property
    def damage(self) -> list[Damage]:
        """The damage that the last read of the table found."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def batches(self) -> Batches:
        """Start to read the table, and return an iterator of its batches."""
    def __iter__(self) -> Batches: ...
    def to_arrow(self) -> pyarrow.Table:
        """Read the table as a ``pyarrow.Table``."""
    def to_pandas(self) -> pandas.DataFrame:
        """Read the table as a ``pandas.DataFrame``."""
    def to_polars(self) -> polars.DataFrame:
        """Read the table as a ``polars.DataFrame``."""
    def to_numpy(self) -> _Arrays:
        """Read the table as a dictionary of NumPy arrays, by the name of the column."""
    def _read_parts(self) -> tuple[_Arrays, list[Batch]]: ...
    def _take_error(self) -> BaseException | None: ...
    def _repr_html_(self) -> str: ...

@final
class Batches(Iterator[Batch]):
    """An iterator of the batches of a table."""

    @property
    def schema(self) -> Schema:
        """The columns."""
    def __iter__(self) -> Batches: ...
    def __next__(self) -> Batch: ...

@final
class Batch:
    """Some rows of a table, which other libraries take as an Arrow record batch."""

    @property
    def schema(self) -> Schema:
        """The columns."""
    def to_numpy(self) -> _Arrays:
        """Return the columns as NumPy arrays. Numbers are not copied."""
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

@final
class NumberBuffer:
    """Numbers in memory, which NumPy takes as an array without a copy."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@final
class Damage:
    """A place of a log that could not be read, or whose content is doubtful."""

    @property
    def kind(self) -> str:
        """The kind, e.g. ``"garbled"`` or ``"truncated"``."""
    @property
    def message(self) -> str:
        """A description."""
    @property
    def offset(self) -> int:
        """The byte offset in the log."""
    @property
    def length(self) -> int:
        """The number of affected bytes, from ``offset`` on."""
    @property
    def lost_bytes(self) -> int:
        """The number of bytes that are lost."""
    @property
    def count(self) -> int:
        """The number of records that are lost or wrong; 0 if they cannot be counted."""
    @property
    def topic(self) -> str | None:
        """The topic, if the damage affects only one."""
    @property
    def is_harmful(self) -> bool:
        """Whether data is lost, or may be wrong."""

@final
class Messages(Iterator[Message]):
    """An iterator of messages, in the order of the file."""

    @property
    def damage(self) -> list[Damage]:
        """The damage that was found so far."""
    def __iter__(self) -> Messages: ...
    def __next__(self) -> Message: ...

@final
class Message:
    """A message of a log, with its undecoded payload."""

    @property
    def topic(self) -> str:
        """The name of the topic."""
    @property
    def time(self) -> datetime | timedelta:
        """The time of recording: in UTC, or since the start of the vehicle."""
    @property
    def time_ns(self) -> int:
        """The time of recording in nanoseconds on the clock of the log."""
    @property
    def offset(self) -> int:
        """The byte offset of the record; in a compressed chunk, that of the chunk."""
    @property
    def payload(self) -> bytes:
        """The undecoded payload."""

@final
class Plot:
    """A plot of fields over time. Notebooks show it."""

    @property
    def svg(self) -> str:
        """The plot as SVG."""
    @property
    def lines(self) -> list[str]:
        """The names of the lines."""
    @property
    def damage(self) -> list[Damage]:
        """The damage of the plotted topics."""
    def png(self) -> bytes:
        """Return the plot as PNG."""
    def pdf(self) -> bytes:
        """Return the plot as PDF."""
    def _repr_svg_(self) -> str: ...

@final
class Split:
    """A piece of the table of one topic of one log, as plain data.

    It can be pickled, and takes a few kilobytes. ``read`` reads it on any machine that can read
    the log.
    """

    @property
    def path(self) -> str:
        """The path or the URL of the log."""
    @property
    def format(self) -> str:
        """The name of the format of the log."""
    @property
    def topic(self) -> str:
        """The name of the topic."""
    @property
    def bytes(self) -> int:
        """The number of bytes of the log that are read."""
    @property
    def records(self) -> int | None:
        """An estimate of the number of records, if there is one."""
    @property
    def time(self) -> tuple[int, int] | None:
        """The range of the times of the records, if it is known.

        It is the start and the exclusive end in nanoseconds on the clock of the log.
        """
    def to_json(self) -> str:
        """Return the split as JSON, as ``logtool plan --json`` prints it."""
    @classmethod
    def from_json(cls, text: str) -> Split:
        """Return the split that ``to_json`` or ``logtool plan --json`` wrote."""
    def __hash__(self) -> int: ...

def plan(
    inputs: _StrPath | Iterable[_StrPath],
    topics: _Names | None = None,
    columns: _Names | None = None,
    time: tuple[_Time | None, _Time | None] | None = None,
    target_bytes: int | None = None,
    *,
    flat: bool = False,
    clock: _Clock | None = None,
    spark: bool = False,
    messages: Literal["mcap", "bag"] | None = None,
    foxglove: bool = False,
    failed: list[Exception] | None = None,
    **options: Any,
) -> list[Split]:
    """Plan splits of the topics of logs: paths, folders, patterns, lists and URLs.

    With ``messages``, the tables are those of the messages that ``convert`` writes to this
    format: their times, and their bytes in the column ``payload``. With
    ``foxglove``, the messages of lidars in MCAP have the types of Foxglove.

    A log that cannot be opened is an error, unless ``failed`` is a list, which then gets its
    exception. Other keywords are those of ``open``.
    """

def read(split: Split, **options: Any) -> Table:
    """Return the table with the rows of a split. The keywords are those of ``open``."""

def merge_asof(
    log: Log,
    topics: _Names | None = None,
    columns: _Names | None = None,
    *,
    rate: float,
    max_age: _Time | None = None,
    start: _Time | None = None,
    end: _Time | None = None,
    clock: _Clock | None = None,
    labels: bool = False,
    spark: bool = False,
) -> MergedTable:
    """Return one table of several topics, with ``rate`` rows per second.

    A row has the last value of each column at its time or before it. Values that are older than
    ``max_age`` are missing. ``labels`` adds columns with the names of values.
    """

@final
class Writer:
    """Writes a new log, message by message: a ULog, a bag, or an MCAP file.

    The file appears when the writer is closed. In a ``with`` statement, an exception removes
    it. ``start_ns`` is the time since boot at which a ULog starts.
    """

    def __new__(
        cls,
        path: _StrPath,
        format: Literal["ulog", "rosbag", "mcap"] | None = None,
        *,
        compression: Literal["none", "bz2", "lz4", "zstd"] | None = None,
        overwrite: bool = False,
        start_ns: int = 0,
        profile: str | None = None,
    ) -> Writer: ...
    def add_topic(
        self,
        name: str,
        type_name: str = "",
        definition: str | bytes | None = None,
        *,
        encoding: str | None = None,
        schema_encoding: str | None = None,
        instance: int = 0,
        latched: bool = False,
        caller: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Add a topic.

        In a ULog, ``name`` is the name of its format, and ``definition`` its fields, such as
        ``"uint64_t timestamp;float x;"``. In a bag, ``type_name`` and ``definition`` are those of
        the ROS message. In an MCAP file, ``encoding`` is the encoding of the messages. It also
        determines the encoding of the schema, unless ``schema_encoding`` is given.
        """
    def add_type(self, name: str, fields: str) -> None:
        """Add a format to a ULog, which fields of other formats can have as their type."""
    def add_info(self, name: str, value: str | int) -> None:
        """Add an information message to a ULog: text, or an integer of 32 bits."""
    def add_parameter(self, name: str, value: float) -> None:
        """Add a parameter to a ULog: an integer of 32 bits, or a float."""
    def add_metadata(self, name: str, entries: Mapping[str, str]) -> None:
        """Add metadata to an MCAP file."""
    def log_message(self, level: int, text: str, time_ns: int) -> None:
        """Write a text message to a ULog; ``level`` is that of syslog, from 0 to 7."""
    def write(self, topic: str, payload: bytes | bytearray | memoryview, time_ns: int) -> None:
        """Write a message.

        ``time_ns`` is since boot in a ULog, and since 1970 in other formats.
        """
    def close(self) -> None:
        """Complete the log. The file appears now."""
    def abandon(self) -> None:
        """Remove the incomplete file."""
    def __enter__(self) -> Writer: ...
    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

@final
class Report:
    """The result of a conversion or a copy of logs."""

    @property
    def files(self) -> list[str]:
        """The paths of the files that were written."""
    @property
    def tables(self) -> int:
        """The number of tables."""
    @property
    def rows(self) -> int:
        """The number of rows of all tables."""
    @property
    def records(self) -> int:
        """The number of records in a new log."""
    @property
    def bytes(self) -> int:
        """The number of bytes that were written."""
    @property
    def remarks(self) -> list[str]:
        """Remarks for people, one sentence each."""
    @property
    def damage(self) -> list[Damage]:
        """The damage that was found."""

@final
class BatchReport:
    """The result of a batch or an index."""

    @property
    def output(self) -> str:
        """The dataset, or the catalog."""
    @property
    def new_logs(self) -> int:
        """The number of logs that were read."""
    @property
    def unchanged_logs(self) -> int:
        """The number of logs that have not changed since an earlier run."""
    @property
    def files(self) -> int:
        """The number of files that were written."""
    @property
    def rows(self) -> int:
        """The number of rows that were written."""
    @property
    def bytes(self) -> int:
        """The number of bytes that were written."""
    @property
    def damaged(self) -> dict[str, str]:
        """The damaged logs, each with a description of its losses."""
    @property
    def failed(self) -> dict[str, Exception]:
        """The logs that failed, each with its exception."""
    @property
    def remarks(self) -> list[str]:
        """Remarks for people, one sentence each."""

@final
class Alignment:
    """The offset between the clocks of two logs."""

    @property
    def first(self) -> str:
        """The path of the log whose clock is kept."""
    @property
    def second(self) -> str:
        """The path of the other log."""
    @property
    def aligned(self) -> bool:
        """Whether the signals match, so that the result has no ``doubts``."""
    @property
    def doubts(self) -> list[str]:
        """Why the result is doubtful, one sentence each."""
    @property
    def offset_ns(self) -> int:
        """The nanoseconds to add to times of the second log."""
    @property
    def reference_ns(self) -> int:
        """The nanoseconds on the clock of the second log at which ``offset_ns`` is exact."""
    @property
    def drift_ppm(self) -> float:
        """How much faster the first clock runs, in parts per million."""
    @property
    def drift_known(self) -> bool:
        """Whether the drift is known."""
    @property
    def correlation(self) -> float:
        """The correlation of the signals, at most 1."""
    @property
    def offset_error_s(self) -> float:
        """The estimated error of the offset in seconds."""

@final
class Job:
    """A call that runs in the background."""

    def wait(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the end. Return whether the job has ended."""
    def progress(self) -> tuple[int, int, str] | None:
        """Return the amount that is done, the total and the unit, if they are known."""
    def stop(self) -> None:
        """End the job. Its outputs are removed."""
    def result(self) -> object:
        """Return the result, or raise the error, of a job that has ended."""

_Options: TypeAlias = dict[str, Any]

def start_convert(input: _StrPath, out: _StrPath, options: _Options) -> Job: ...
def start_filter(input: _StrPath, out: _StrPath, options: _Options) -> Job: ...
def start_repair(input: _StrPath, out: _StrPath, options: _Options) -> Job: ...
def start_merge(inputs: list[_StrPath], out: _StrPath, options: _Options) -> Job: ...
def start_align(
    first: _StrPath, second: _StrPath, signals: tuple[str, str], options: _Options
) -> Job: ...
def start_batch(
    inputs: _StrPath | Iterable[_StrPath], out: _StrPath, options: _Options
) -> Job: ...
def start_table_survey(
    inputs: _StrPath | Iterable[_StrPath], out: _StrPath, options: _Options
) -> Job: ...
def start_table_assignment(
    inputs: _StrPath | Iterable[_StrPath],
    out: _StrPath,
    surveys: list[str],
    options: _Options,
) -> Job: ...
def start_index(
    inputs: _StrPath | Iterable[_StrPath], out: _StrPath, options: _Options
) -> Job: ...
def run_command(arguments: list[str]) -> int: ...
