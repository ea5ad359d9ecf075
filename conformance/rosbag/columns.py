"""Every field of every message, as Arrow columns, and Parquet's beside them: to the bit."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from logtool import read_arrow, topic
from peer import TIMES

PRIMITIVES = {
    "bool": pa.bool_(),
    "byte": pa.int8(),
    "char": pa.uint8(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "string": pa.string(),
} | {f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)}

TIME = pa.timestamp("ns")


def check(tally, ours, decoded):
    tables = {}
    for path in ours.convert("arrow").glob("*.arrow"):
        table = read_arrow(path)
        tables[topic(table.schema)] = table
    differences, rows = [], 0
    logged = ours.logged()
    for key, theirs in decoded.items():
        if key not in logged:
            differences.append(f"{key[0]}: {key[1]} is not in info")
            continue
        table = tables.get((logged[key]["name"], logged[key]["instance"]))
        label = logged[key]["topic"]
        if table is None:
            # A topic without decodable messages has no table.
            differences += [f"{label}: no table"] if theirs.good() else []
        else:
            differences += (f"{label}: {text}" for text in of_topic(table, theirs))
            rows += table.num_rows
    tally.check("columns", differences, f"{len(tables)} tables, {rows} rows")

    in_parquet = ours.tables("arrow")
    wrong = [
        f"{key[0]}[{key[1]}]: not what the Arrow file holds"
        for key, table in tables.items()
        if not same_table(table, in_parquet.get(key))
    ]
    tally.check("parquet", wrong, f"{len(in_parquet)} tables")


def same_table(table, other):
    if other is None or table.schema != other.schema:
        return False
    return all(
        same_bits(table.column(name).combine_chunks(), other.column(name).combine_chunks())
        for name in table.column_names
    )


def same_bits(mine, other):
    """Whether two arrays of one type hold the same, a NaN being itself."""
    if pa.types.is_struct(mine.type):
        return all(same_bits(a, b) for a, b in zip(mine.flatten(), other.flatten()))
    if is_list(mine.type):
        return lengths(mine).equals(lengths(other)) and same_bits(mine.flatten(), other.flatten())
    if pa.types.is_floating(mine.type) and len(mine) == len(other):
        return bits(mine.to_numpy(zero_copy_only=False)) == bits(other.to_numpy(zero_copy_only=False))
    return mine.equals(other)


def bits(values):
    return np.ascontiguousarray(values).tobytes()


def of_topic(table, theirs):
    """Yields differences between a table and the messages of rosbags."""
    if table.column_names == ["time", "payload"]:
        if not theirs.broken and all(value is not None for value in theirs.values):
            yield "only bytes: rosbags decodes it"
        messages = theirs.messages
        yield from differing("payload", column(table, 1).to_pylist(), [m.payload for m in messages])
        yield from primitive("time", column(table, 0), [m.time for m in messages], TIME)
        return
    good = theirs.good()
    if not theirs.broken and table.column_names[-1] == "payload" and len(good) < table.num_rows:
        yield from undecodable(table, theirs)
        table = table.filter(pc.is_null(table["payload"])).drop_columns(["payload"])
    if theirs.broken or (theirs.error and len(good) != table.num_rows):
        yield f"rosbags: {theirs.broken or theirs.error}"
        return
    fields = theirs.fields()
    if table.column_names[1:] != [name for name, _ in fields]:
        yield f"columns {table.column_names[1:]}, not {[name for name, _ in fields]}"
        return
    if table.num_rows != len(good):
        yield f"{table.num_rows} rows, not {len(good)}"
        return
    yield from primitive("time", column(table, 0), [message.time for message, _ in good], TIME)
    for index, (name, kind) in enumerate(fields):
        values = [getattr(value, name) for _, value in good]
        yield from compare(name, column(table, index + 1), values, kind, theirs)


def undecodable(table, theirs):
    """Yields differences between the payloads of a table and the messages that rosbags cannot decode."""
    wanted = [m.payload if v is None else None for m, v in zip(theirs.messages, theirs.values)]
    yield from differing("payload", table["payload"].to_pylist(), wanted)


def column(table, index):
    return table.column(index).combine_chunks()


def compare(name, array, values, kind, store):
    """Yields differences between an array of logtool and the values of rosbags."""
    how, what = kind
    if how.name == "BASE":
        yield from primitive(name, array, values, PRIMITIVES[what[0]])
    elif how.name == "NAME" and what in TIMES:
        nanos = [value.sec * 10**9 + value.nanosec for value in values]
        of_type = TIME if what == TIMES[0] else pa.duration("ns")
        yield from primitive(name, array, nanos, of_type)
    elif how.name == "NAME":
        yield from struct(name, array, values, store.fields(what), store)
    elif how.name == "SEQUENCE" and what[0][1][0] in ("uint8", "char"):
        if array.type != pa.binary():
            yield f"{name}: {array.type}, not bytes"
        else:
            mine = array.to_pylist()
            theirs = [np.asarray(value, np.uint8).tobytes() for value in values]
            yield from differing(name, mine, theirs)
    else:
        count = what[1] if how.name == "ARRAY" else None
        yield from elements(name, array, values, what[0], count, store)


def struct(name, array, values, fields, store):
    if not pa.types.is_struct(array.type) or [f.name for f in array.type] != [n for n, _ in fields]:
        yield f"{name}: {array.type}, not a struct of {[n for n, _ in fields]}"
        return
    for inner, (field, kind) in zip(array.flatten(), fields):
        of_field = [getattr(value, field) for value in values]
        yield from compare(f"{name}.{field}", inner, of_field, kind, store)


def elements(name, array, values, kind, count, store):
    wanted = pa.types.is_fixed_size_list if count else pa.types.is_list
    if not wanted(array.type) or (count and array.type.list_size != count):
        yield f"{name}: {array.type}, not a list of {count or 'any'} elements"
        return
    if count is None:
        yield from differing(f"{name} (length)", lengths(array).to_pylist(), list(map(len, values)))
    flat = [element for value in values for element in value]
    if len(array.flatten()) == len(flat):
        yield from compare(f"{name}[]", array.flatten(), flat, kind, store)


def primitive(name, array, values, of_type):
    if array.type != of_type or array.null_count:
        yield f"{name}: {array.type}, {array.null_count} null, not {of_type}"
    elif pa.types.is_floating(of_type):
        theirs = np.asarray(values, of_type.to_pandas_dtype())
        mine = array.to_numpy(zero_copy_only=False)
        if bits(mine) != bits(theirs):
            unsigned = f"u{theirs.itemsize}"
            yield from differing(name, list(mine.view(unsigned)), list(theirs.view(unsigned)))
    elif pa.types.is_temporal(of_type):
        yield from differing(name, array.cast(pa.int64()).to_pylist(), values)
    elif pa.types.is_string(of_type):
        yield from differing(name, array.to_pylist(), values)
    else:
        yield from differing(name, array.to_pylist(), np.asarray(values).tolist())


def differing(name, mine, theirs):
    if mine != theirs:
        where = [index for index, pair in enumerate(zip(mine, theirs)) if pair[0] != pair[1]]
        at = where[0] if where else min(len(mine), len(theirs))
        shown = f"{mine[at]!r}, not {theirs[at]!r}" if where else f"{len(mine)}, not {len(theirs)}"
        yield f"{name}: {len(where)} values, first number {at}: {shown}"


def is_list(of_type):
    return pa.types.is_list(of_type) or pa.types.is_fixed_size_list(of_type)


def lengths(array):
    return pc.list_value_length(array)
