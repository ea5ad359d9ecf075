"""Compares the lines of `cat --json` with rosbags: times exactly, floats bit by bit."""

import json
import struct

import numpy as np
from peer import TIMES


def check(tally, ours, decoded):
    label_of = {key: topic["topic"] for key, topic in ours.logged().items()}
    keys = {c["id"]: (c["topic"], c["type"], c["md5sum"]) for c in ours.connections().values()}
    following = {key: iter(theirs.values) for key, theirs in decoded.items()}
    # `cat` prints the messages of all topics in the order of the file.
    wanted = []
    for message in ours.messages:
        key = keys[message.connection]
        value = next(following[key], None) if key in following else None
        wanted.append((message, key, value))
    printed = ours.lines
    differences = []
    if len(printed) != len(wanted):
        differences.append(f"{len(printed)} lines, not {len(wanted)}")
    for number, (line, (message, key, value)) in enumerate(zip(printed, wanted)):
        told = json.loads(line, parse_float=str)
        wrong = None
        if list(told) != ["time", "topic", "data"]:
            wrong = f"has {list(told)}"
        elif told["time"] != message.time:
            wrong = f"time {told['time']}, not {message.time}"
        elif told["topic"] != label_of[key]:
            wrong = f"topic {told['topic']}, not {label_of[key]}"
        elif list(told["data"]) == ["payload"] and told["data"]["payload"] == message.payload.hex():
            pass  # that rosbags cannot decode it either is seen in the columns
        elif value is not None:
            wrong = fields("data", told["data"], value, decoded[key].fields(), decoded[key])
        if wrong:
            differences.append(f"line {number}: {wrong}")
    tally.check("cat", differences, f"{len(printed)} lines")


def fields(name, told, value, of_type, store):
    """Returns the difference between a JSON object and a message, or `None`."""
    if not isinstance(told, dict) or list(told) != [field for field, _ in of_type]:
        return f"{name}: {told!r}, not {[field for field, _ in of_type]}"
    found = (
        compare(f"{name}.{field}", told[field], getattr(value, field), kind, store)
        for field, kind in of_type
    )
    return next(filter(None, found), None)


def compare(name, told, value, kind, store):
    how, what = kind
    if how.name == "BASE":
        same = primitive(told, value, what[0])
    elif how.name == "NAME" and what in TIMES:
        same = told == value.sec * 10**9 + value.nanosec
    elif how.name == "NAME":
        return fields(name, told, value, store.fields(what), store)
    elif how.name == "SEQUENCE" and what[0][1][0] in ("uint8", "char"):
        same = told == np.asarray(value, np.uint8).tobytes().hex()
    elif not isinstance(told, list) or len(told) != len(value):
        return f"{name}: not {len(value)} elements"
    else:
        pairs = enumerate(zip(told, value))
        found = (compare(f"{name}[{i}]", t, v, what[0], store) for i, (t, v) in pairs)
        return next(filter(None, found), None)
    return None if same else f"{name}: {told!r}, not {value!r}"


def primitive(told, value, of_type):
    if of_type in ("float32", "float64"):
        if value != value:
            return told is None
        code = "f" if of_type == "float32" else "d"
        return isinstance(told, (str, int)) and struct.pack(code, float(told)) == struct.pack(code, value)
    if of_type == "bool":
        return told is bool(value)
    return told == value
