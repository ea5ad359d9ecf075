"""Conversions and copies of logs, with the options of the command as keywords.

All functions take ``progress``, a function. It is called several times a second with the amount
that is done, the total amount and their unit (``"bytes"`` or ``"records"``). An exception in it,
such as that of Ctrl-C, ends the work, and the outputs are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from logtool import _logtool
from logtool._logtool import Alignment, BatchReport, Report

if TYPE_CHECKING:
    import numpy

__all__ = ["align", "batch", "convert", "filter", "index", "merge", "repair"]

StrPath: TypeAlias = "str | PathLike[str]"
Names: TypeAlias = "str | Iterable[str]"
Time: TypeAlias = "str | float | datetime | timedelta | numpy.datetime64 | numpy.timedelta64"
Progress: TypeAlias = Callable[[int, int, str], object]
Clock: TypeAlias = Literal["boot", "utc", "relative"]
Layout: TypeAlias = Literal["arrow", "flat", "px4", "spark"]
Compression: TypeAlias = Literal["none", "bz2", "lz4", "zstd"]

_PROGRESS_PERIOD = 0.05
"""The time between two calls of ``progress``, in seconds."""


def _run(job: _logtool.Job, progress: Progress | None) -> object:
    """Wait for the end of ``job`` and return its result."""
    try:
        while not job.wait(_PROGRESS_PERIOD):
            _report_progress(job, progress)
        _report_progress(job, progress)
    except BaseException:
        job.stop()
        while not job.wait(_PROGRESS_PERIOD):
            pass
        raise
    return job.result()


def _report_progress(job: _logtool.Job, progress: Progress | None) -> None:
    state = job.progress()
    if progress is not None and state is not None:
        progress(*state)


def convert(
    input: StrPath,
    out: StrPath,
    *,
    format: str | None = None,
    topics: Names | None = None,
    columns: Names | None = None,
    derive: Mapping[str, str] | None = None,
    start: Time | None = None,
    end: Time | None = None,
    clock: Clock | None = None,
    flat: bool = False,
    layout: Layout | None = None,
    rate: float | None = None,
    max_age: Time | None = None,
    labels: bool = False,
    msg_dir: StrPath | None = None,
    csv_safe: bool = False,
    keep_infinities: bool = False,
    ros2: bool = False,
    foxglove: bool = False,
    compression: Compression | None = None,
    encoding: Literal["binary", "ascii", "compressed"] | None = None,
    per: Literal["scan", "log"] | None = None,
    color_by: Literal["range", "height", "intensity"] | None = None,
    reach: int | None = None,
    intensity_max: int | None = None,
    overwrite: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Convert a log to tables, points, images or tracks, or to a log of another format.

    ``out`` is one file if its extension names the format, else a folder. The default format
    is Parquet. With ``rate`` (Hz), all topics become one table. ``derive`` maps the names of
    additional tables to their expressions. Other keywords are those of ``open``.
    """
    derived = [f"{name}={expression}" for name, expression in (derive or {}).items()]
    options |= {
        "format": format,
        "topics": topics,
        "columns": columns,
        "derive": derived,
        "start": start,
        "end": end,
        "clock": clock,
        "flat": flat,
        "layout": layout,
        "rate": rate,
        "max_age": max_age,
        "labels": labels,
        "msg_dir": msg_dir,
        "csv_safe": csv_safe,
        "keep_infinities": keep_infinities,
        "ros2": ros2,
        "foxglove": foxglove,
        "compression": compression,
        "encoding": encoding,
        "per": per,
        "color_by": color_by,
        "reach": reach,
        "intensity_max": intensity_max,
        "overwrite": overwrite,
        "strict": strict,
    }
    job = _logtool.start_convert(input, out, options)
    return cast(Report, _run(job, progress))


def filter(
    input: StrPath,
    out: StrPath,
    *,
    topics: Names | None = None,
    exclude: Names | None = None,
    start: Time | None = None,
    end: Time | None = None,
    latch: bool = False,
    rename: Mapping[str, str] | None = None,
    restamp: str | None = None,
    format: str | None = None,
    compression: Compression | None = None,
    ros2: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Copy some topics and times of a log to a new log.

    ``latch`` also copies the last latched messages from before the start, ``rename`` maps old
    to new names of topics, and ``restamp`` names a field whose value becomes the time of the
    record.
    """
    options |= {
        "topics": topics,
        "exclude": exclude,
        "start": start,
        "end": end,
        "latch": latch,
        "rename": None if rename is None else dict(rename),
        "restamp": restamp,
        "format": format,
        "compression": compression,
        "ros2": ros2,
        "overwrite": overwrite,
        "strict": strict,
    }
    job = _logtool.start_filter(input, out, options)
    return cast(Report, _run(job, progress))


def merge(
    inputs: Iterable[StrPath],
    out: StrPath,
    *,
    offsets: Mapping[StrPath, Time] | None = None,
    drifts: Mapping[StrPath, float] | None = None,
    align: Iterable[Alignment] | None = None,
    start: Time | None = None,
    end: Time | None = None,
    same_clock: bool = False,
    foxglove: bool = False,
    format: str | None = None,
    compression: Compression | None = None,
    ros2: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Merge logs into one, sorted by time.

    ``offsets`` maps inputs to durations that are added to their times, ``drifts`` maps inputs
    to the drifts of their clocks in parts per million, and ``align`` is a list of results of
    the function ``align``.
    """
    options |= {
        "offsets": None if offsets is None else dict(offsets),
        "drifts": None if drifts is None else dict(drifts),
        "align": None if align is None else list(align),
        "start": start,
        "end": end,
        "same_clock": same_clock,
        "foxglove": foxglove,
        "format": format,
        "compression": compression,
        "ros2": ros2,
        "overwrite": overwrite,
        "strict": strict,
    }
    job = _logtool.start_merge(list(inputs), out, options)
    return cast(Report, _run(job, progress))


def repair(
    input: StrPath,
    out: StrPath,
    *,
    drop_doubtful: bool = False,
    format: str | None = None,
    compression: Compression | None = None,
    ros2: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Copy the readable records of a damaged log to a new log."""
    options |= {
        "drop_doubtful": drop_doubtful,
        "format": format,
        "compression": compression,
        "ros2": ros2,
        "overwrite": overwrite,
        "strict": strict,
    }
    job = _logtool.start_repair(input, out, options)
    return cast(Report, _run(job, progress))


def align(
    first: StrPath,
    second: StrPath,
    signals: tuple[str, str],
    *,
    strict: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Alignment:
    """Find the offset between the clocks of two logs from a motion that both recorded.

    ``signals`` has a field of each log, for example ``sensor_combined.gyro_rad[2]``.
    """
    options |= {"strict": strict}
    job = _logtool.start_align(first, second, signals, options)
    return cast(Alignment, _run(job, progress))


def batch(
    inputs: StrPath | Iterable[StrPath],
    out: StrPath,
    *,
    format: str | None = None,
    topics: Names | None = None,
    columns: Names | None = None,
    start: Time | None = None,
    end: Time | None = None,
    clock: Clock | None = None,
    flat: bool = False,
    layout: Layout | None = None,
    labels: bool = False,
    msg_dir: StrPath | None = None,
    shard: tuple[int, int] | None = None,
    memory_bytes: int | None = None,
    json_lines_catalog: bool = False,
    analysis: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> BatchReport:
    """Convert many logs to one dataset. Logs that have not changed are not converted again.

    ``inputs`` are logs, folders, patterns, lists and URLs. ``shard`` is the index, from 0, and
    the number of the parts into which several runs divide the logs. ``analysis`` adds the
    statistics and diagnoses of flights to the catalog. Other keywords are those of ``convert``
    and ``open``.
    """
    options |= {
        "format": format,
        "topics": topics,
        "columns": columns,
        "start": start,
        "end": end,
        "clock": clock,
        "flat": flat,
        "layout": layout,
        "labels": labels,
        "msg_dir": msg_dir,
        "shard": shard,
        "memory_bytes": memory_bytes,
        "json_lines_catalog": json_lines_catalog,
        "analysis": analysis,
        "overwrite": overwrite,
        "strict": strict,
    }
    job = _logtool.start_batch(inputs, out, options)
    return cast(BatchReport, _run(job, progress))


def survey_tables(
    inputs: StrPath | Iterable[StrPath], out: StrPath, **options: Any
) -> str:
    """Return the tables that ``batch`` makes of its logs, as JSON, without converting them."""
    job = _logtool.start_table_survey(inputs, out, options)
    return cast(str, _run(job, None))


def assign_tables(
    inputs: StrPath | Iterable[StrPath], out: StrPath, surveys: list[str], **options: Any
) -> None:
    """Assign the topics in ``surveys`` to tables, in the order of the logs.

    Shards that are converted afterwards create the same tables in any order.
    """
    _run(_logtool.start_table_assignment(inputs, out, surveys, options), None)


def index(
    inputs: StrPath | Iterable[StrPath],
    out: StrPath,
    *,
    format: Literal["parquet", "csv", "jsonl"] | None = None,
    analysis: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> BatchReport:
    """Describe many logs in a catalog: a table with a row for each topic of each log.

    ``analysis`` adds columns with the statistics and diagnoses of flights.
    """
    options |= {
        "format": format,
        "analysis": analysis,
        "overwrite": overwrite,
        "strict": strict,
    }
    job = _logtool.start_index(inputs, out, options)
    return cast(BatchReport, _run(job, progress))
