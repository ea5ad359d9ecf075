"""Compares the ULogs that `logtool convert` makes of bags, MCAP files and tables with the messages that
rosbags reads: pyulog reads each value of the ULog, by the names of the nested fields.

Usage: ulog_output.py [BAG...]
"""

import dataclasses
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from pyulog import ULog
from rosbags.highlevel import AnyReader
from tally import Tally

LONGEST = 4096

SAMPLES = (
    "bag-reader-java-Bool.bag",
    "bag-reader-java-Int8.bag",
    "embag-array_test.bag",
    "embag-test.bag",
    "example.bag",
    "fake_joint_state.bag",
    "imu_tools-ardrone_imu.bag",
    "only-a-cube.bag",
)


def convert(source, target, *options):
    command = [os.environ["LOGTOOL"], "convert", source, "-o", target, "--force", *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def plain(name):
    return "_".join(re.findall(r"[A-Za-z0-9]+", name))


def is_number(value):
    return isinstance(value, int | float | bool | np.number | np.bool_)


def fields(prefix, value):
    """The names and values of the nested fields of a message that a ULog can hold."""
    if is_number(value) or isinstance(value, str):
        yield prefix, value
    elif isinstance(value, np.ndarray):
        yield prefix, value
    elif hasattr(value, "sec") and hasattr(value, "nanosec"):
        yield prefix, value.sec * 10**9 + value.nanosec
    elif hasattr(value, "__dataclass_fields__"):
        # Without the constants of the type, whose names are upper case.
        for name in (field.name for field in dataclasses.fields(value)):
            if name != "__msgtype__" and not name.isupper():
                yield from fields(f"{prefix}_{name}" if prefix else name, getattr(value, name))


def read(bag):
    """The times and the flat messages of each topic, sorted by time."""
    topics = {}
    with AnyReader([bag]) as reader:
        for connection, time, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            rows = topics.setdefault(connection.topic, [])
            rows.append((time, dict(fields("", message))))
    for rows in topics.values():
        rows.sort(key=lambda row: row[0])
    return topics


def text_of(data, name, row):
    """The string of a field: pyulog has a column of each character."""
    size = sum(re.fullmatch(re.escape(name) + r"\[\d+\]", column) is not None for column in data)
    codes = [int(data[f"{name}[{index}]"][row]) & 255 for index in range(size)]
    return bytes(codes).rstrip(b"\0").decode()


def is_equal(data, name, row, value):
    if isinstance(value, str):
        if name not in data and f"{name}[0]" not in data:
            return value == ""
        found = chr(data[name][row]) if name in data else text_of(data, name, row)
        return found.rstrip("\0") == value
    if isinstance(value, np.ndarray):
        # An array of one length, or a list with its length.
        if f"{name}_count" in data and int(data[f"{name}_count"][row]) != min(len(value), LONGEST):
            return False
        kept = value[:LONGEST]
        found = np.array([data[f"{name}[{index}]"][row] for index in range(len(kept))])
        return np.array_equal(found, kept, equal_nan=kept.dtype.kind == "f")
    found = data[name][row]
    return found == value or (value != value and found != found)


def differences(topics, log, stderr):
    """Compares all values, and requires that columns which are not there are reported."""
    tables = {data.name: data.data for data in log.data_list}
    boot = log.msg_info_dict.get("boot_time_utc_us", 0)
    reported = set(re.findall(r"left out: (\S+) (\S+):", stderr))
    values = 0
    for topic, rows in topics.items():
        data = tables.get(plain(topic))
        if data is None:
            yield f"{topic}: no table"
            continue
        times = boot * 1000 + data["timestamp"].astype(np.int64) * 1000
        wanted = np.array([time // 1000 * 1000 for time, _ in rows])
        if not np.array_equal(times, wanted):
            yield f"{topic}: times"
            continue
        for row, (_, message) in enumerate(rows):
            for name, value in message.items():
                is_there = name in data or f"{name}[0]" in data
                is_reported = any(
                    where == topic and plain(column) == name for where, column in reported
                )
                is_binary = isinstance(value, np.ndarray) and value.dtype == np.uint8
                if not is_there and (is_reported or is_binary):
                    continue
                values += 1
                if not is_there or not is_equal(data, name, row, value):
                    yield f"{topic} {row}: {name} is not {value}"
    if not values:
        yield "no values"


def same(one, other):
    """Compares all values of two ULogs."""
    tables = [{data.name: data.data for data in ULog(str(log)).data_list} for log in (one, other)]
    if tables[0].keys() != tables[1].keys():
        yield f"topics {sorted(tables[0].keys() ^ tables[1].keys())}"
    for name in tables[0].keys() & tables[1].keys():
        first, second = tables[0][name], tables[1][name]
        if first.keys() != second.keys():
            yield f"{name}: columns {sorted(first.keys() ^ second.keys())}"
        for column in first.keys() & second.keys():
            if not np.array_equal(first[column], second[column], equal_nan=first[column].dtype.kind == "f"):
                yield f"{name}: {column}"


def main():
    root = Path(__file__).resolve().parents[1]
    samples = Path(os.environ["LOGTOOL_SAMPLES"]) / "rosbag"
    bags = [Path(path) for path in sys.argv[1:]]
    bags = bags or [root / "testdata/rover.bag", *(samples / name for name in SAMPLES)]
    tallies = []
    with tempfile.TemporaryDirectory(prefix="ulog-output-") as name:
        folder = Path(name)
        for bag in bags:
            tally = Tally(bag.name, [])
            tallies.append(tally)
            ours = folder / "ours.ulg"
            status, stderr = convert(bag, ours)
            if status not in (0, 3):
                tally.check("convert", [stderr])
                continue
            topics, log = read(bag), ULog(str(ours))
            rows = sum(map(len, topics.values()))
            found = list(differences(topics, log, stderr))
            tally.check("values", found, f"{len(topics)} topics, {rows} rows")
            stamps = [data.data["timestamp"] for data in log.data_list]
            ordered = all((np.diff(times.astype(np.int64)) >= 0).all() for times in stamps)
            tally.check("times", [] if ordered else ["not sorted"])
            mcap, other = folder / "same.mcap", folder / "other.ulg"
            convert(bag, mcap)
            status, stderr = convert(mcap, other)
            tally.check("by MCAP", same(ours, other) if status in (0, 3) else [stderr])
    passed = failed = 0
    for tally in tallies:
        print("\n".join(tally.lines))
        passed, failed = passed + tally.passed, failed + tally.failed
    print(f"ULogs of others: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
