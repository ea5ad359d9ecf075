"""Information, parameters, dropouts, and when the log starts and how long it is."""

import struct

import numpy as np

TYPES = {
    "int8_t": "b",
    "uint8_t": "B",
    "int16_t": "h",
    "uint16_t": "H",
    "int32_t": "i",
    "uint32_t": "I",
    "int64_t": "q",
    "uint64_t": "Q",
    "float": "f",
    "double": "d",
    "bool": "?",
}


def check(tally, ours, peer):
    tally.check("start and duration", *start_and_duration(ours, peer.log))
    tally.check("information", *information(ours, peer.log))
    tally.check("multi information", *multi_information(ours, peer.log))
    tally.check("parameters", *parameters(ours, peer.log))
    tables = ours.tables()
    changes = tables.get(("parameter_changes", 0))
    tally.check("parameter changes", *parameter_changes(changes, peer.log))
    tally.check("dropouts", *dropouts(tables.get(("dropouts", 0)), peer.log))


def start_and_duration(ours, log):
    """Both agree within a second; for pyulog, a log starts at the time of its header."""
    start, duration = ours.info["start_s"], ours.info["duration_s"]
    if start is None:
        return [], "no records"
    theirs = (log.start_timestamp / 1e6, (log.last_timestamp - log.start_timestamp) / 1e6)
    pairs = zip(("start", "duration"), (start, duration), theirs)
    differences = [f"{name}: {a:.3f} s, not {b:.3f} s" for name, a, b in pairs if abs(a - b) > 1]
    return differences, f"{start:.3f} s, {duration:.3f} s"


def information(ours, log):
    types = log._msg_info_dict_types
    theirs = {k: plain(types[k], [v]) for k, v in log.msg_info_dict.items()}
    mine = ours.info["metadata"]["info"]
    return different(mine, theirs, float_types(types)), f"{len(mine)}"


def multi_information(ours, log):
    types = log._msg_info_multiple_dict_types
    theirs = {
        k: [plain(types[k], parts) for parts in values]
        for k, values in log.msg_info_multiple_dict.items()
    }
    mine = ours.info["metadata"]["info_multiple"]
    return different(mine, theirs, set()), f"{len(mine)}"


def plain(type_name, parts):
    """A value as JSON has it; pyulog gives texts, scalars, and the bytes of all else."""
    if type_name.startswith("char["):
        return "".join(parts)
    if type_name in TYPES:
        return parts[0]
    value = b"".join(parts)
    base = type_name.split("[")[0]
    if base == "uint8_t" or base not in TYPES:
        return value.hex()
    return [value for (value,) in struct.iter_unpack("<" + TYPES[base], value)]


def float_types(types):
    """The names of the values that JSON has as the shortest text of 32 bits."""
    return {name for name, of_type in types.items() if of_type.split("[")[0] == "float"}


def different(mine, theirs, floats):
    """Where two maps of values differ, types included."""
    for name in sorted(set(mine) | set(theirs)):
        a, b = mine.get(name), theirs.get(name)
        if name in floats:
            a = np.array(a, np.float32).tolist()
        if name not in mine or name not in theirs or (a, kind(a)) != (b, kind(b)):
            yield f"{name}: {a!r}, not {b!r}"


def kind(value):
    return list(map(kind, value)) if isinstance(value, list) else type(value)


def parameters(ours, log):
    theirs = {
        "initial": log.initial_parameters,
        "system_default": log.get_default_parameters(0),
        "setup_default": log.get_default_parameters(1),
    }
    last = dict(log.initial_parameters)
    last.update({name: value for _, name, value in log.changed_parameters})
    theirs["value"] = last
    rows = ours.parameters()
    mine = {
        column: {name: row[column] for name, row in rows.items() if row[column]}
        for column in ("value", "system_default", "setup_default")
    }
    mine["initial"] = {n: r["value"] for n, r in ours.parameters("--initial").items()}
    differences = []
    for column, expected in theirs.items():
        told = mine[column]
        for name in sorted(set(told) | set(expected)):
            if name not in told or name not in expected:
                differences.append(f"{column} of {name}: {told.get(name)}, not {expected.get(name)}")
            elif not same(told[name], rows[name]["type"], expected[name]):
                differences.append(f"{column} of {name}: {told[name]}, not {expected[name]!r}")
    return differences, f"{len(rows)}"


def same(text, type_name, value):
    """Whether a text of ours is a value of pyulog: the same type and bits."""
    if type_name == "int32":
        return isinstance(value, int) and int(text) == value
    if not isinstance(value, float):
        return False
    mine, theirs = np.float32(text), np.float32(value)
    return mine.tobytes() == theirs.tobytes() or (np.isnan(mine) and np.isnan(theirs))


def parameter_changes(table, log):
    theirs = [(micros, name, value) for micros, name, value in log.changed_parameters]
    mine = []
    if table is not None:
        rows = table.set_column(0, "timestamp", table.column(0).cast("int64")).to_pylist()
        for row in rows:
            is_int = row["int_value"] is not None
            value = row["int_value"] if is_int else row["float_value"]
            mine.append((row["timestamp"] // 1000, row["name"], value))
    return in_order(mine, theirs, "change"), f"{len(mine)}"


def dropouts(table, log):
    theirs = [(d.timestamp, d.duration) for d in log.dropouts]
    mine = []
    if table is not None:
        micros = (nanos // 1000 for nanos in table.column(0).cast("int64").to_pylist())
        mine = list(zip(micros, table.column("duration_ms").to_pylist()))
    return in_order(mine, theirs, "dropout"), f"{len(mine)}"


def in_order(mine, theirs, what):
    """Where two lists differ: in length, or in some item."""
    if len(mine) != len(theirs):
        return [f"{len(mine)} of {what}, not {len(theirs)}"]
    pairs = enumerate(zip(mine, theirs))
    return [f"{what} {i}: {a!r}, not {b!r}" for i, (a, b) in pairs if a != b]
