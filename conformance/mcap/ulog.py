"""Compares the MCAP files that logtool makes of ULogs, value by value, with what pyulog
reads of the logs; mcap-protobuf-support reads the files."""

import os
import tempfile
from pathlib import Path

import numpy as np
from google.protobuf.message import Message
from logtool import run
from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory
from poses import Poses
from pyulog import ULog

LEVELS = ["FATAL", "FATAL", "FATAL", "ERROR", "WARNING", "INFO", "INFO", "DEBUG"]


def logs():
    """The real logs."""
    samples = Path(os.environ["LOGTOOL_SAMPLES"]) / "ulog"
    return sorted(samples.glob("*.ulg"))


def flat(message, start, into):
    """Puts each value of a message under the name that pyulog has for it; texts are lists
    of characters there."""
    for field in message.DESCRIPTOR.fields:
        value, name = getattr(message, field.name), start + field.name
        if isinstance(value, Message):
            flat(value, name + ".", into)
        elif field.is_repeated:
            for index, one in enumerate(value):
                if isinstance(one, Message):
                    flat(one, f"{name}[{index}].", into)
                else:
                    into.setdefault(f"{name}[{index}]", []).append(one)
        else:
            into.setdefault(name, []).append(value)


def read(path):
    """The messages of each topic of a file: log times and values by name; and all else that
    is said."""
    topics, said, words = {}, [], {}
    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        for schema, channel, message, decoded in reader.iter_decoded_messages():
            if schema.name == "foxglove.Log":
                said.append((message.log_time, decoded))
                continue
            times, values = topics.setdefault(channel.topic, ([], {}))
            times.append(message.log_time)
            flat(decoded, "", values)
        words = {one.name.rpartition(".")[0] or one.name: one.metadata for one in reader.iter_metadata()}
        statistics = reader.get_summary().statistics
    return topics, said, words, statistics


def same(theirs, ours):
    """Whether two columns are the same, NaN being itself."""
    if isinstance(ours[0], str):
        return False
    if isinstance(ours[0], bool):
        theirs = theirs != 0
    return np.array_equal(np.asarray(theirs), np.asarray(ours).astype(theirs.dtype), equal_nan=theirs.dtype.kind == "f")


def usable(log, data):
    """For each record, whether its time can be right: 0 and times far from those of the
    other records are not written to other formats, but the time of the record before."""
    stamps = np.concatenate([one.data["timestamp"].astype("int64") for one in log.data_list])
    start, end = np.percentile(stamps[stamps > 0], [1, 99])
    own, near = data.data["timestamp"].astype("int64"), 600e6
    return (own <= end + near) & (own >= start - near) & ((own > 0) | (start < 1e6))


def values(log, topics):
    """The differences of the values of all topics."""
    for data in log.data_list:
        name = f"/{data.name}" + (f"/{data.multi_id}" if data.multi_id else "")
        count = len(data.data["timestamp"])
        if not count:
            continue
        if name not in topics:
            yield f"{name} is missing"
            continue
        times, ours = topics[name]
        if len(times) != count:
            yield f"{name}: {len(times)} messages, not {count}"
            continue
        if not usable(log, data).all():
            continue  # the reader sorts by time, so that the order is another
        texts = {}
        for field, column in data.data.items():
            if "_padding" in field:
                continue
            stem = field.rsplit("[", 1)[0]
            if stem in ours and isinstance(ours[stem][0], str):
                texts.setdefault(stem, []).append(column)
            elif field not in ours:
                yield f"{name}: {field} is missing"
            elif not same(column, ours[field]):
                yield f"{name}: {field} is another"
        for stem, columns in texts.items():
            for row, text in enumerate(ours[stem]):
                chars = bytes(int(column[row]) for column in columns).split(b"\0")[0]
                if chars.decode(errors="replace") != text:
                    yield f"{name}: {stem} is {text!r}, not {chars!r}"


def times(log, topics, shift):
    """Log times are those of the records, in Unix time where that is known."""
    for data in log.data_list:
        name = f"/{data.name}" + (f"/{data.multi_id}" if data.multi_id else "")
        wanted = data.data["timestamp"].astype("int64") * 1000 + shift
        if name not in topics:
            continue
        known, ours = usable(log, data), np.array(topics[name][0])
        if known.all():
            differ = not np.array_equal(wanted, ours)
        else:
            differ = len(ours) != len(wanted) or not np.isin(wanted[known], ours).all()
        if differ:
            yield f"{name}: other times"


def strings(log, shift, levels):
    """The strings that no event repeats: those end in a TAB."""
    has_events = "metadata_events" in log.msg_info_multiple_dict
    return [
        (m.timestamp * 1000 + shift, levels[m.log_level - ord("0")], m.message.rstrip("\t"))
        for m in log.logged_messages
        if not (has_events and m.message.endswith("\t"))
    ]


def messages(log, said, shift):
    """Logged strings are messages in the same order."""
    wanted = strings(log, shift, LEVELS)
    got = [
        (time, line.DESCRIPTOR.fields_by_name["level"].enum_type.values_by_number[line.level].name, line.message)
        for time, line in said
        if line.name == "string"
    ]
    if got != wanted:
        yield f"{len(got)} lines, not these {len(wanted)}"
    for time, line in said:
        if line.timestamp.ToNanoseconds() != time:
            yield f"{line.message!r} has another time"


def parameters(log, words):
    """Metadata contains the last values of parameters."""
    told, wanted = words.get("parameters", {}), dict(log.initial_parameters)
    wanted.update({name: value for _, name, value in log.changed_parameters})
    for name, value in wanted.items():
        if name not in told:
            yield f"{name} is missing"
        elif np.float32(float(told[name])) != np.float32(value):
            yield f"{name} is {told[name]}, not {value}"


def defaults(log, words):
    """Metadata contains the default values of the firmware and of the airframe."""
    for number, name in enumerate(["parameters_system_default", "parameters_setup_default"]):
        wanted = log.get_default_parameters(number) if log.has_default_parameters else {}
        told = words.get(name, {})
        if told.keys() != wanted.keys():
            yield f"{name}: {len(told)}, not {len(wanted)}"
            continue
        for key, value in wanted.items():
            if np.float32(float(told[key])) != np.float32(value):
                yield f"{name}: {key} is {told[key]}, not {value}"


def fixes(topics):
    """A place for each fix of a receiver."""
    for name, (_, ours) in topics.items():
        if f"{name}/fix" not in topics or "fix_type" not in ours:
            continue
        if "lat" in ours:
            scales = {"lat": 1e-7, "lon": 1e-7}
        else:
            scales = {"latitude_deg": 1.0, "longitude_deg": 1.0}
        known = np.asarray(ours["fix_type"]) >= 3
        got = topics[f"{name}/fix"][1]
        for (field, scale), theirs in zip(scales.items(), ("latitude", "longitude"), strict=True):
            wanted = np.asarray(ours[field])[known] * scale
            if len(wanted) != len(got[theirs]) or not np.allclose(wanted, got[theirs], rtol=0, atol=1e-9):
                yield f"{name}: other places"


def poses(log, topics, shift):
    """Transforms and poses of the vehicle."""
    wanted, none = Poses(log), ([], {})
    for name, frames, position, rotation in (
        ("/tf", ("parent_frame_id", "child_frame_id"), "translation", "rotation"),
        ("/vehicle_local_position/pose", ("frame_id",), "pose.position", "pose.orientation"),
    ):
        times, ours = topics.get(name, none)
        stamps = np.array(ours.get("timestamp.seconds", []), "int64") * 10**9 + ours.get("timestamp.nanos", [])
        named = [ours.get(field, []) for field in frames]
        named = zip(*named, strict=True) if len(named) == 2 else [(one, "base_link") for one in named[0]]
        vectors = [ours.get(f"{position}.{axis}", []) for axis in "xyz"]
        quaternions = [ours.get(f"{rotation}.{axis}", []) for axis in "xyzw"]
        yield from wanted.differences(
            name, times, stamps, named, np.transpose(vectors), np.transpose(quaternions), shift
        )


def check(path, tally):
    """The checks of a log."""
    try:
        log = ULog(str(path))
    except Exception:  # whatever it is that stops it
        return
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.mcap"
        run("convert", path, "-o", made)
        topics, said, words, statistics = read(made)
        shift = int(words["logtool"].get("clock_offset_nanoseconds", 0))
        count = sum(len(times) for times, _ in topics.values())
        tally.check("values as protobuf", values(log, topics), f"{count} messages")
        tally.check("their times", times(log, topics, shift))
        tally.check("messages", messages(log, said, shift), f"{len(said)}")
        tally.check("parameters", parameters(log, words))
        tally.check("their defaults", defaults(log, words))
        tally.check("places", fixes(topics))
        tally.check("poses", poses(log, topics, shift), f"{len(topics.get('/tf', ([], {}))[0])}")
        total = count + len(said)
        differences = [] if statistics.message_count == total else [f"{statistics.message_count}"]
        tally.check("statistics", differences, f"{total}")
