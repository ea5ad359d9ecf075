"""PyTorch: windows of several topics on one clock, for ``torch.utils.data.DataLoader``.

>>> import logtool.torch
>>> signals = {"sensor_combined": ["gyro_rad[0]"], "vehicle_attitude": ["q[0]", "q[1]"]}
>>> windows = logtool.torch.WindowDataset("flights", signals, window=100, rate=50.0)
>>> loader = torch.utils.data.DataLoader(windows, batch_size=32, num_workers=4)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy
import torch
from torch.utils.data import IterableDataset, get_worker_info

from logtool._errors import InvalidRequestError, NotFoundError
from logtool._logtool import Split, plan, read

__all__ = ["WindowDataset"]


@dataclass(frozen=True)
class _Part:
    """A part of a log. One worker creates the windows that start in it."""

    path: str
    splits: dict[str, list[Split]]
    """The splits of each topic of the log, which are the same for all parts of the log."""
    index: int
    """The index of the split of the first topic in which the windows start."""
    start: int | None
    """The time at which the part starts; ``None`` if it is that of the first record."""
    end: int | None
    """The time at which the next part starts; ``None`` if there is none."""


class WindowDataset(IterableDataset[dict[str, Any]]):
    """Windows of the values of several topics, a sample for each.

    ``signals`` maps topics to their flat columns (``q[0]``, ``angular_velocity.z``). A window has
    ``rate`` rows per second, or, without ``rate``, one row for each record of the first topic. A
    row has the last value of each signal at its time or before it, unless it is older than
    ``max_age`` seconds.

    A sample is a dictionary: ``values`` of shape (window, signals), the ``time`` of each row in
    nanoseconds on the clock of the log, and the path of the ``log``. Windows with missing values
    are left out, unless ``keep_missing`` is set. Then missing values are NaN.

    The workers of a ``DataLoader`` share the splits of the logs. A worker reads only the splits
    that its windows need, including those up to ``max_age`` before a window. ``shard`` is the
    index and the number of processes that share the logs. ``stride`` is the number of rows from
    the start of one window to the start of the next. Without ``rate``, the first window of each
    split starts at its first row.

    ``target_bytes`` and the other keywords are those of ``logtool.plan``.
    """

    def __init__(
        self,
        inputs: Any,
        signals: Mapping[str, Sequence[str]],
        *,
        window: int,
        stride: int | None = None,
        rate: float | None = None,
        max_age: float = 1.0,
        keep_missing: bool = False,
        dtype: torch.dtype = torch.float32,
        shard: tuple[int, int] = (0, 1),
        target_bytes: int | None = None,
        failed: list[Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        stride = window if stride is None else stride
        if window < 1 or stride < 1 or not signals or (rate is not None and rate <= 0):
            message = "windows need signals, at least one row, and a positive stride and rate"
            raise InvalidRequestError(message, kind="invalid_request")
        self.signals = [
            f"{topic}.{column}" for topic, columns in signals.items() for column in columns
        ]
        """The names of the values of a row."""
        self._columns = {topic: list(columns) for topic, columns in signals.items()}
        self._window, self._stride = window, stride
        self._period = None if rate is None else round(1e9 / rate)
        self._max_age = round(max_age * 1e9)
        self._keep_missing, self._dtype, self._shard = keep_missing, dtype, shard
        self._options = options
        splits = plan(
            inputs,
            list(signals),
            target_bytes=target_bytes,
            flat=True,
            failed=failed,
            **options,
        )
        self._parts = list(_parts(splits, list(signals)))
        if not self._parts:
            message = "no log has all topics of the signals"
            raise NotFoundError(message, kind="not_found")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = get_worker_info()
        index, count = self._shard
        if worker is not None:
            index = index * worker.num_workers + worker.id
            count *= worker.num_workers
        for part in self._parts[index::count]:
            yield from self._windows(part)

    def _windows(self, part: _Part) -> Iterator[dict[str, Any]]:
        """Return the windows that start in ``part``."""
        times, starts = self._rows(part)
        if len(times) < self._window:
            return
        values = numpy.concatenate(
            [
                self._values(splits, self._columns[topic], times)
                for topic, splits in part.splits.items()
            ],
            axis=1,
        )
        for start in starts:
            if start + self._window > len(times):
                return
            rows = slice(start, start + self._window)
            if self._keep_missing or not numpy.isnan(values[rows]).any():
                yield {
                    "values": torch.from_numpy(values[rows]).to(self._dtype),
                    "time": torch.from_numpy(times[rows].copy()),
                    "log": part.path,
                }

    def _rows(self, part: _Part) -> tuple[Any, range]:
        """Return the times of the rows of the windows, and the rows at which windows start."""
        topic = next(iter(self._columns))
        splits, column = part.splits[topic], self._columns[topic][:1]
        part_times = self._read(splits[part.index : part.index + 1], column)[0]
        following_rows = self._window - 1
        if self._period is None:
            following_times = self._read(splits[part.index + 1 :], column, rows=following_rows)[0]
            rows = numpy.concatenate([part_times, following_times[:following_rows]])
            return rows, range(0, len(part_times), self._stride)
        if len(part_times) == 0:
            return part_times, range(0)
        # Rows are at multiples of the period, and windows start at multiples of the stride. So they
        # do not depend on how the log is split.
        last = splits[-1].time
        end = int(part_times[-1]) + 1 if last is None else last[1]
        first = _round_up(int(part_times[0]) if part.start is None else part.start, self._period)
        stop = _round_up(end if part.end is None else part.end, self._period)
        rows = numpy.arange(
            first, min(stop + following_rows, _round_up(end, self._period)), dtype=numpy.int64
        )
        return rows * self._period, range(-first % self._stride, stop - first, self._stride)

    def _values(self, splits: Sequence[Split], columns: list[str], times: Any) -> Any:
        """Return the last values of ``columns`` at each of ``times``."""
        first, last = int(times[0]) - self._max_age, int(times[-1])
        needed_splits = [
            split
            for split in splits
            if split.time is None or (split.time[0] <= last and first < split.time[1])
        ]
        record_times, values = self._read(needed_splits, columns)
        order = numpy.argsort(record_times, kind="stable")
        record_times, values = record_times[order], values[order]
        index = numpy.searchsorted(record_times, times, side="right") - 1
        if len(record_times) == 0:
            return numpy.full((len(times), len(columns)), numpy.nan)
        is_missing = (index < 0) | (times - record_times[index] > self._max_age)
        return numpy.where(is_missing[:, None], numpy.nan, values[index])

    def _read(
        self, splits: Sequence[Split], columns: list[str], rows: int | None = None
    ) -> tuple[Any, Any]:
        """Return the times and values of ``splits``, or at least of their first ``rows`` rows."""
        times = [numpy.empty(0, numpy.int64)]
        values = [numpy.empty((0, len(columns)))]
        for split in splits:
            if rows is not None and sum(map(len, times)) >= rows:
                break
            table = read(split, **self._options).select(columns)
            arrays = table.to_numpy()
            times.append(arrays[table.schema.names[0]].astype("int64"))
            values.append(numpy.stack([arrays[c].astype(float) for c in columns], axis=1))
        return numpy.concatenate(times), numpy.concatenate(values)


def _parts(splits: Sequence[Split], topics: Sequence[str]) -> Iterator[_Part]:
    """Return the parts of the logs that have all ``topics``."""
    logs: dict[str, dict[str, list[Split]]] = {}
    for split in splits:
        topics_of_log = logs.setdefault(split.path, {topic: [] for topic in topics})
        # A name without the number of an instance also selects the other instances of the topic.
        if split.topic in topics_of_log:
            topics_of_log[split.topic].append(split)
    for path, by_topic in logs.items():
        if not all(by_topic.values()):
            continue
        times = [split.time for split in by_topic[topics[0]][1:]]
        # Splits of a log whose records are not in the order of time can overlap.
        starts = list(accumulate((time[0] for time in times if time is not None), max))
        if len(starts) < len(times):
            message = f"the times of {topics[0]} are not known"
            raise InvalidRequestError(message, kind="invalid_request", path=path)
        ends = [*starts, None]
        for index, (start, end) in enumerate(zip([None, *starts], ends, strict=True)):
            yield _Part(path, by_topic, index, start, end)


def _round_up(time: int, period: int) -> int:
    """Return the number of the first period that starts at ``time`` or later."""
    return -(-time // period)
