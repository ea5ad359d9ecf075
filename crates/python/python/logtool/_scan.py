"""The table of a topic across logs, which engines read in splits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from logtool._errors import DamagedError, InvalidRequestError, NotFoundError
from logtool._logtool import Schema, Split, Table, plan, read

Clock: TypeAlias = Literal["log", "boot", "utc", "relative"]
"""The clock of the times of a table."""

SOURCE_COLUMNS = ("log", "topic")
"""The columns that ``sources=True`` adds."""


@dataclass(frozen=True)
class Bounds:
    """The first and the last time of a selection, in nanoseconds, both included."""

    first: float = -math.inf
    last: float = math.inf

    def __and__(self, other: Bounds) -> Bounds:
        return Bounds(max(self.first, other.first), min(self.last, other.last))

    @classmethod
    def of_comparison(cls, operator: str, nanos: int) -> Bounds:
        """Return the times for which ``time <operator> nanos`` can be true."""
        if operator in (">", ">="):
            return cls(first=nanos)
        if operator in ("<", "<="):
            return cls(last=nanos)
        return cls(nanos, nanos) if operator == "==" else cls()

    def overlap(self, split: Split) -> bool:
        """Return whether records of ``split`` can be within the bounds."""
        if split.time is None:
            return True
        start, end = split.time
        return start <= self.last and self.first < end

    def select(self, table: Table) -> Table:
        """Select the times of ``table`` that can be within the bounds."""
        start = _time_text(self.first) if 0 < self.first < 2**62 else None
        end = _time_text(self.last + 1) if self.first <= self.last < 2**62 else None
        if self.last < 0 or (start is None and end is None):
            return table
        return table.time(start, end)


def opposite(operator: str) -> str:
    """Return the operator for the same comparison with exchanged sides."""
    return operator.translate(str.maketrans("<>", "><"))


def _time_text(nanos: float) -> str:
    seconds, subsecond_nanos = divmod(int(nanos), 1_000_000_000)
    return f"boot:{seconds}.{subsecond_nanos:09d}"


@dataclass(frozen=True)
class SplitReader:
    """Reads the splits of a topic. Unlike the scan, it is small and can be pickled."""

    sources: bool
    strict: bool
    is_on_log_clock: bool
    """Whether the times are nanoseconds on the clock of the log."""
    options: dict[str, Any] = field(repr=False)

    def table(
        self, split: Split, columns: Sequence[str], bounds: Bounds | None = None
    ) -> Table:
        """Return the table of ``split``, with those of ``columns`` that the split has."""
        table = read(split, **self.options)
        names = table.schema.names
        wanted = [name for name in names if name in columns]
        if wanted != names:
            # Without any column, the table would lose its number of rows, so read the time.
            table = table.select(wanted or names[:1])
        if bounds is not None and self.is_on_log_clock:
            table = bounds.select(table)
        return table

    def source(self, split: Split) -> dict[str, str]:
        """Return the values of the columns that name the origin of the rows."""
        values = (split.path, split.topic)
        return dict(zip(SOURCE_COLUMNS, values, strict=True)) if self.sources else {}

    def check(self, split: Split, table: Table) -> None:
        """Raise an error if reading ``table`` has found harmful damage and ``strict`` is set."""
        for damage in table.damage:
            if self.strict and damage.is_harmful:
                raise DamagedError(
                    damage.message,
                    kind="damaged",
                    path=split.path,
                    offset=damage.offset,
                )


@dataclass(frozen=True)
class TopicScan:
    """The splits of a topic of logs."""

    splits: tuple[Split, ...]
    schemas: tuple[Schema, ...]
    """The distinct schemas of the topic in the logs."""
    reader: SplitReader

    @property
    def time_column(self) -> str:
        """The name of the column of times."""
        return self.schemas[0].names[0]

    def splits_within(self, bounds: Bounds) -> list[Split]:
        """Return the splits that can have times within ``bounds``."""
        if not self.reader.is_on_log_clock:
            return list(self.splits)
        return [split for split in self.splits if bounds.overlap(split)]


def scan_topic(
    inputs: Any,
    topic: str,
    *,
    columns: Sequence[str] | str | None = None,
    time: tuple[Any, Any] | None = None,
    target_bytes: int | None = None,
    flat: bool = False,
    clock: Clock | None = None,
    spark: bool = False,
    sources: bool = False,
    strict: bool = False,
    failed: list[Any] | None = None,
    **options: Any,
) -> TopicScan:
    """Plan to read ``topic`` of ``inputs``. The arguments are those of ``logtool.plan``.

    ``sources`` adds the columns ``log`` and ``topic``. With ``strict``, damage is an error.
    """
    splits = plan(
        inputs,
        topic,
        columns,
        time,
        target_bytes,
        flat=flat,
        clock=clock,
        spark=spark,
        failed=failed,
        **options,
    )
    if not splits:
        message = f"no log has records of the topic {topic!r}"
        raise NotFoundError(message, kind="not_found")
    schemas = _schemas(splits, options)
    if len({schema.types[0] for schema in schemas}) > 1:
        raise InvalidRequestError(
            "the clocks of the logs have different zeros",
            kind="invalid_request",
            hint='select clock="utc" or clock="relative"',
        )
    return TopicScan(
        splits=tuple(splits),
        schemas=tuple(schemas),
        reader=SplitReader(
            sources=sources,
            strict=strict,
            is_on_log_clock=clock in (None, "log") and not spark,
            options=options,
        ),
    )


def _schemas(splits: Sequence[Split], options: dict[str, Any]) -> list[Schema]:
    """Return the distinct schemas in the logs, without reading records."""
    first_splits = {(split.path, split.topic): split for split in reversed(splits)}
    schemas: list[Schema] = []
    with ThreadPoolExecutor(16) as threads:
        tables = threads.map(lambda split: read(split, **options), first_splits.values())
        for table in tables:
            if all(schema != table.schema for schema in schemas):
                schemas.append(table.schema)
    return schemas
