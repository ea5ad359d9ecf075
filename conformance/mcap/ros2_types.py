"""Files of ROS 2 with a message of each type that ROS 2 has, written with the Python packages
mcap and rosbags, as the bags that logtool makes of them, read with rosbags."""

from pathlib import Path

import numpy as np
from logtool import run
from mcap.writer import Writer
from ros2 import plain
from rosbags.interfaces import Nodetype
from rosbags.rosbag1 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

NUMBERS = {
    "int8": "i1", "uint8": "u1", "byte": "i1", "octet": "u1", "char": "u1", "int16": "<i2", "uint16": "<u2",
    "int32": "<i4", "uint32": "<u4", "int64": "<i8", "uint64": "<u8", "float32": "<f4", "float64": "<f8",
}  # fmt: skip

# Types with another name in ROS 1, and the fields of markers that are in ROS 2 only.
ROS1_NAMES = {"unique_identifier_msgs/msg/UUID": "uuid_msgs/msg/UniqueID"}
ADDED = {"texture_resource", "texture", "uv_coordinates", "mesh_file"}


class Maker:
    """Messages of any type of a store, with values that look random."""

    def __init__(self, store, seed):
        self.store, self.random = store, np.random.default_rng(seed)

    def base(self, name):
        if name == "string":
            return "".join(map(chr, self.random.integers(32, 0x500, self.random.integers(6))))
        if name == "bool":
            return bool(self.random.integers(2))
        return self.array(name, 1)[0].item()

    def array(self, name, count):
        if name == "bool":
            return self.random.integers(2, size=count).astype(bool)
        kind = np.dtype(NUMBERS[name])
        if kind.kind == "f":
            return self.random.normal(size=count).astype(kind).astype(kind.newbyteorder("="))
        limits = np.iinfo(kind)
        return self.random.integers(limits.min, limits.max, count, endpoint=True, dtype=kind.newbyteorder("="))

    def value(self, kind, what):
        if kind == Nodetype.BASE:
            return self.base(what[0])
        if kind == Nodetype.NAME:
            return self.message(what)
        (inner, of), count = what
        if kind == Nodetype.SEQUENCE:
            count = int(self.random.integers(min(count or 4, 4) + 1))
        if inner == Nodetype.BASE and of[0] != "string":
            return self.array(of[0], count)
        return [self.value(inner, of) for _ in range(count)]

    def message(self, name):
        if name == "builtin_interfaces/msg/Time":
            sec, nanosec = self.random.integers(2**31), self.random.integers(10**9)
            return self.store.types[name](sec=int(sec), nanosec=int(nanosec))
        fields = {field: self.value(*how) for field, how in self.store.fielddefs[name][1]}
        return self.store.types[name](**fields)


def like(wanted, got):
    """Whether two plain values are the same; those of ROS 1 have other names for some."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        lower = {name.lower(): value for name, value in got.items()}
        if ADDED <= wanted.keys():
            wanted = {name: value for name, value in wanted.items() if name not in ADDED}
        return wanted.keys() == lower.keys() and all(like(one, lower[name]) for name, one in wanted.items())
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) == len(got) and all(map(like, wanted, got))
    if isinstance(wanted, int) and isinstance(got, int):
        # A byte has a sign in ROS 1.
        return wanted == got or (wanted > 127 and wanted - got == 256)
    return wanted == got


def check(folder, tally, version=Stores.ROS2_HUMBLE):
    store = get_typestore(version)
    path, bag = Path(folder) / f"{version.value}.mcap", Path(folder) / f"{version.value}.bag"
    # These become types of ROS 1 with other fields: ros2_names.py compares them.
    others = ("builtin_interfaces/msg/Duration", "builtin_interfaces/msg/Time", "rcl_interfaces/msg/Log")
    names = [name for name in sorted(store.fielddefs) if "/msg/" in name and name not in others]
    made = {}
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start("ros2")
        for number, name in enumerate(names):
            text = store.generate_msgdef(name, ros_version=2)[0]
            schema = writer.register_schema(name, "ros2msg", text.encode())
            channel = writer.register_channel(f"/t{number}", "cdr", schema)
            for seed in range(4):
                message = Maker(store, seed).message(name)
                data = bytes(store.serialize_cdr(message, name, little_endian=seed % 2 == 0))
                made[f"/t{number}", seed + 1] = name, plain(message, store)
                writer.add_message(channel, seed + 1, data, seed + 1)
        writer.finish()
    run("convert", path, "-o", bag)
    differences, count = [], 0
    with Reader(bag) as reader:
        for connection, time, data in reader.messages():
            ros1 = get_typestore(Stores.EMPTY)
            ros1.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
            name, wanted = made.pop((connection.topic, time))
            count += 1
            if ros1.generate_msgdef(connection.msgtype, ros_version=1)[1] != connection.digest:
                differences.append(f"{name}: the MD5 sum {connection.digest}")
            got = plain(ros1.deserialize_ros1(data, connection.msgtype), ros1)
            if connection.msgtype != ROS1_NAMES.get(name, name) or not like(wanted, got):
                differences.append(f"{name}: {wanted} | {got}")
    differences.extend(f"{name} is missing" for name, _ in made.values())
    tally.check("types of ROS 2 in a bag", differences, f"{count} messages of {len(names)} types")
