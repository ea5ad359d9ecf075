"""Compares what `logtool convert --ros2` makes of bags, and the bags that become of that, with what the Python packages
rosbags, which reads the bag, and mcap-ros2-support, which reads the MCAP file, say."""

import json
import math
import re
from pathlib import Path

import numpy as np
from logtool import run
from mcap.reader import SeekingReader
from mcap_ros2._vendor.rosidl_adapter import parser
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag1 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.base import normalize_fieldname

# These types have other fields in ROS 2: ros2_names.py compares them.
OTHER_IN_ROS2 = {"rosgraph_msgs/msg/Log"} | {
    f"visualization_msgs/msg/{name}"
    for name in (
        "Marker",
        "MarkerArray",
        "InteractiveMarker",
        "InteractiveMarkerControl",
        "InteractiveMarkerInit",
        "InteractiveMarkerUpdate",
    )
}
# Fields that have other names in ROS 2.
RENAMED = {"D": "d", "K": "k", "R": "r", "P": "p", "T": "t", "secs": "sec", "nsecs": "nanosec"}
FEW = 20_000
HEADER = "std_msgs/msg/Header"
HEADER_OF_ROS2 = get_typestore(Stores.ROS2_FOXY).fielddefs[HEADER]


def plain(value, store=None):
    """A message as dictionaries, lists, numbers and texts."""
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value
    if isinstance(value, (bytes, bytearray)):
        return list(value)
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(one, store) for one in value]
    # To rosbags, constants are attributes too.
    names = [name for name, _ in store.fielddefs[value.__msgtype__][1]] if store else value.__slots__
    fields = {name: getattr(value, normalize_fieldname(name) if store else name) for name in names}
    if set(fields) == {"seq", "stamp", "frame_id"}:
        fields.pop("seq")
    fields.pop("structure_needs_at_least_one_member", None)
    return {name: plain(one, store) for name, one in fields.items()}


def named_as(wanted, got):
    """The fields of `wanted` with the names of `got`, which may be those of ROS 2: `timeStamp` is
    `time_stamp` there (ros2_names.py compares the names)."""
    squeezed = {name.replace("_", "").lower(): name for name in got}
    return {
        name if name in got else RENAMED.get(name, squeezed.get(name.replace("_", "").lower(), name)): one
        for name, one in wanted.items()
    }


def like(wanted, got):
    """Whether two plain values are the same; names of fields may be those of ROS 2."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        names = named_as(wanted, got)
        return names.keys() == got.keys() and all(like(one, got[name]) for name, one in names.items())
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) == len(got) and (wanted == got or all(map(like, wanted, got)))
    if isinstance(wanted, int) and isinstance(got, int):
        # A byte has no sign in ROS 2, and the other package takes a char as one with.
        return wanted == got or (min(wanted, got) >= -128 and abs(wanted - got) == 256)
    return wanted == got


def peer(path):
    """The messages of a bag as rosbags reads them, and as it writes them in CDR; `None` of
    a topic whose definition it does not understand."""
    with Reader(path) as reader:
        stores = {}
        for connection in reader.connections:
            store = get_typestore(Stores.EMPTY)
            try:
                store.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
                in_ros2 = get_typestore(Stores.EMPTY)
                in_ros2.register({**store.fielddefs, HEADER: HEADER_OF_ROS2})
                stores[connection.id] = store, in_ros2
            except Exception:  # whatever it is that it does not understand
                continue
        for connection, time, data in reader.messages():
            message = cdr = None
            if connection.id in stores and connection.msgtype not in OTHER_IN_ROS2:
                store, in_ros2 = stores[connection.id]
                try:
                    message = plain(store.deserialize_ros1(data, connection.msgtype), store)
                    cdr = bytes(in_ros2.ros1_to_cdr(data, connection.msgtype))
                except Exception:  # a message that does not fit
                    message = cdr = None
            yield connection.topic, time, message, cdr


def relax():
    """ROS 2 wants names of fields in lower case; those of bags are as they are."""
    parser.VALID_FIELD_NAME_PATTERN = re.compile("^[A-Za-z][A-Za-z0-9_]*$")
    parser.VALID_MESSAGE_NAME_PATTERN = re.compile("^[A-Za-z][A-Za-z0-9_]*$")
    parser.VALID_CONSTANT_NAME_PATTERN = re.compile("^[A-Za-z][A-Za-z0-9_]*$")


def check(path, folder, tally):
    made = Path(folder) / "ros2.mcap"
    try:
        run("convert", path, "-o", made, "--ros2")
    except RuntimeError as error:
        # The definition is missing or cannot be parsed.
        tally.check("ros2", [] if "cannot be translated" in str(error) else [str(error)], "refused")
        return
    relax()
    with open(made, "rb") as file:
        reader = SeekingReader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        header = reader.get_header()
        tally.check("ros2 profile", [] if header.profile == "ros2" else [header.profile])
        wanted, compared, differences = {}, 0, []
        for topic, time, *message in peer(path):
            wanted.setdefault((topic, time), []).append(message)
        count = 0
        for schema, channel, told, message in reader.iter_decoded_messages():
            count += 1
            is_ros2 = schema.encoding == "ros2msg" and channel.message_encoding == "cdr"
            named = schema.name.count("/msg/") == 1 or "/" not in schema.name
            if not is_ros2 or not named:
                differences.append(f"{channel.topic}: {schema.name} {channel.message_encoding}")
            others = wanted.get((channel.topic, told.log_time), [])
            if not others:
                differences.append(f"{channel.topic} {told.log_time}: not in the bag")
                continue
            other, cdr = others.pop(0)
            if other is None:
                continue
            compared += 1
            if cdr != told.data:
                differences.append(f"{channel.topic}: {cdr.hex()} | {told.data.hex()}")
            if not like(other, plain(message)):
                differences.append(f"{channel.topic}: {other} | {plain(message)}")
        tally.check("ros2 values", differences, f"{compared} of {count} messages")
    if count < FEW:
        tally.check("ros2 cat", cat(path, made))
    back(path, made, folder, tally)


def back(path, made, folder, tally):
    """The bag that the MCAP file becomes, against the bag that it was made of."""
    bag = Path(folder) / "ros2.bag"
    run("convert", made, "-o", bag)
    wanted, compared, differences = {}, 0, []
    for topic, time, message, _ in peer(path):
        wanted.setdefault((topic, time), []).append(message)
    for topic, time, message, _ in peer(bag):
        others = wanted.get((topic, time), [])
        if not others:
            differences.append(f"{topic} {time}: not in the first bag")
            continue
        other = others.pop(0)
        if other is None or message is None:
            continue
        compared += 1
        if not like(other, message):
            differences.append(f"{topic}: {other} | {message}")
    left = sum(one is not None for messages in wanted.values() for one in messages)
    if left:
        differences.append(f"{left} messages are not in the second bag")
    if connections(path) != connections(bag):
        differences.append(f"{connections(path)} | {connections(bag)}")
    tally.check("ros2 back", differences, f"{compared} messages")


def connections(path):
    """Returns topic, caller id and latching of each connection with messages in a bag."""
    with Reader(path) as reader:
        told = [(one.topic, one.ext.callerid, bool(one.ext.latching), one.msgcount) for one in reader.connections]
        return sorted((topic, caller or "", late) for topic, caller, late, count in told if count)


def without_seq(value):
    if isinstance(value, dict):
        is_header = value.keys() == {"seq", "stamp", "frame_id"}
        return {name: without_seq(one) for name, one in value.items() if not (is_header and name == "seq")}
    return [without_seq(one) for one in value] if isinstance(value, list) else value


def same(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        names = named_as(a, b)
        return names.keys() == b.keys() and all(same(one, b[name]) for name, one in names.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def cat(path, made):
    """Yields differences between `cat` of the MCAP file and `cat` of the bag."""
    of_bag, of_mcap = (
        [json.loads(line) for line in run("cat", "--order", "time", log).splitlines()]
        for log in (path, made)
    )
    if len(of_bag) != len(of_mcap):
        yield f"{len(of_mcap)} lines, not {len(of_bag)}"
    with Reader(path) as reader:
        others = {one.topic for one in reader.connections if one.msgtype in OTHER_IN_ROS2}
    for a, b in zip(of_bag, of_mcap):
        if a["topic"] in others:
            continue
        if not same(without_seq(a), b):
            yield f"{json.dumps(a)[:140]} | {json.dumps(b)[:140]}"
