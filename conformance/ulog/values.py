"""Every value of every topic, bit by bit."""

import numpy as np
import pyarrow as pa

# The topics of logtool in addition to the logged ones.
MORE = {"logged_strings", "parameter_changes", "dropouts", "events", "messages"}


def check(tally, ours, peer):
    theirs = peer.topics()
    left_out = set(peer.left_out)
    mine = {key: t for key, t in ours.tables().items() if key[0] not in MORE | left_out}
    differences, values, rows = [], 0, 0
    for key in sorted(set(mine) | set(theirs)):
        label = f"{key[0]}[{key[1]}]"
        if key not in mine or key not in theirs:
            differences.append(f"{label}: only in {'pyulog' if key in theirs else 'logtool'}")
            continue
        table, columns = mine[key], theirs[key]
        different = [f"{label}: {text}" for text in compare(table, columns)]
        differences.extend(different)
        rows += table.num_rows
        values += table.num_rows * table.num_columns
    tally.check("values", differences, f"{len(mine)} topics, {rows} rows, {values} values")


def compare(table, columns):
    """Yields differences between a flat table of logtool and the columns of pyulog."""
    if table.column_names == ["time", *columns]:
        yield "time: only of logtool"
        table = table.drop_columns("time")
    names = table.column_names
    if names != list(columns):
        yield f"columns {names}, not {list(columns)}"
        return
    for name, theirs in columns.items():
        mine = table.column(name)
        if len(mine) != len(theirs):
            yield f"{name}: {len(mine)} rows, not {len(theirs)}"
        elif isinstance(theirs, list):
            yield from differing(name, np.array(mine.to_pylist(), object), np.array(theirs, object))
        elif pa.types.is_timestamp(mine.type):
            yield from times(name, mine, theirs)
        else:
            mine = mine.to_numpy()
            if mine.dtype != theirs.dtype.newbyteorder("="):
                yield f"{name}: {mine.dtype}, not {theirs.dtype}"
            else:
                bits = f"V{mine.dtype.itemsize}"
                mine, theirs = np.ascontiguousarray(mine), np.ascontiguousarray(theirs)
                yield from differing(name, mine.view(bits), theirs.view(bits), mine, theirs)


def times(name, mine, theirs):
    """Nanoseconds of ours, microseconds of theirs; beyond the year 2262 there are none."""
    can_be_told = theirs <= np.uint64(np.iinfo(np.int64).max // 1000)
    nanos = np.where(can_be_told, theirs, 0).astype(np.int64) * 1000
    told = mine.is_valid().to_numpy()
    mine = mine.cast(pa.int64()).fill_null(0).to_numpy()
    yield from differing(f"{name} (told)", told, can_be_told)
    yield from differing(name, mine, nanos)


def differing(name, mine, theirs, shown_mine=None, shown_theirs=None):
    where = np.flatnonzero(mine != theirs)
    if len(where):
        at = where[0]
        mine = mine if shown_mine is None else shown_mine
        theirs = theirs if shown_theirs is None else shown_theirs
        yield f"{name}: {len(where)} values, first in row {at}: {mine[at]!r}, not {theirs[at]!r}"
