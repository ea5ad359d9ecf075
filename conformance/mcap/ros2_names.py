"""Compares the types that `--ros2` writes with the type stores of the Python package rosbags.

A bag with a message of each type of ROS Noetic is converted, and so is each ULog and each log of a
lidar. Each name that logtool writes has to be that of a type in ROS 2 Humble and in ROS 2 Jazzy, and
the message has to be readable by the definition that ROS 2 has of it, unless ROS 2 has added fields
to the type.
"""

import tempfile
from pathlib import Path

from logtool import run
from mcap.reader import SeekingReader
from ros2_types import Maker
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_typestore

STORES = (Stores.ROS2_HUMBLE, Stores.ROS2_JAZZY)

# ROS 2 has no type for these, by whatever name; ros1_bridge does not translate them.
ONLY_IN_ROS1 = {"rosgraph_msgs/msg/TopicStatistics"}

# Packages of ROS 1 that are not part of ROS 2, or that the stores leave out.
OTHER_PACKAGES = {"actionlib", "bond", "dynamic_reconfigure", "roscpp"}

# ROS 2 generates the messages of actions under other names, with other fields.
ACTIONS = "nav_msgs/msg/GetMap"

# Types with more fields in ROS 2, and the types that contain them.
MORE_FIELDS = {"Range", "SolidPrimitive"}

# The types that logtool makes of the formats of logs, and a package that the stores leave out.
OWN_PACKAGES = {"ulog", "velodyne_log", "velodyne_msgs"}


def write(path):
    """Writes a bag with a message of each type, and returns the names of the types."""
    store = get_typestore(Stores.ROS1_NOETIC)
    maker, names = Maker(store, 1), []
    with Writer(path) as bag:
        for name in sorted(store.fielddefs):
            if "/msg/" not in name or name.startswith("builtin_interfaces"):
                continue
            connection = bag.add_connection("/" + name.replace("/msg/", "_"), name, typestore=store)
            bag.write(connection, len(names) + 1, store.serialize_ros1(maker.message(name), name))
            names.append(name)
    return names


def messages_of(path, folder):
    """The names of the types, and the messages, that logtool makes of a log for ROS 2."""
    made = Path(folder) / "types.mcap"
    run("convert", path, "--ros2", "-o", made)
    with open(made, "rb") as file:
        return [(schema.name, message.data) for schema, _, message in SeekingReader(file).iter_messages()]


def faults(messages, which, left_out):
    """The names that ROS 2 does not know, and the messages that it cannot read."""
    store = get_typestore(which)
    unknown, unreadable = set(), []
    for name, data in messages:
        package, *_, kind = name.split("/")
        if name in ONLY_IN_ROS1 or package in left_out or name.startswith(ACTIONS):
            continue
        if name not in store.fielddefs:
            unknown.add(name)
        elif kind not in MORE_FIELDS:
            try:
                store.deserialize_cdr(data, name)
            except Exception as error:  # whatever it is that stops it
                unreadable.append(f"{name}: {error}")
    return sorted(unknown), unreadable


def check(folder, tally):
    """Compares the types of a bag with each type of ROS Noetic."""
    bag = Path(folder) / "types.bag"
    wanted = write(bag)
    messages = messages_of(bag, folder)
    for which in STORES:
        unknown, unreadable = faults(messages, which, OTHER_PACKAGES)
        tally.check(f"types of {which.value}", unknown, f"{len(messages)} of {len(wanted)} types")
        tally.check(f"messages of {which.value}", unreadable)
    missing = len(wanted) - len(messages)
    tally.check("types that are left out", [f"{missing} types"] if missing else [])


def check_log(path, tally):
    """Compares the types of a ULog, or of a log of a lidar."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        try:
            messages = messages_of(path, folder)
        except RuntimeError:
            return  # Nothing of the log can be written; other checks report that.
    names = {name for name, _ in messages}
    for which in STORES:
        unknown, unreadable = faults(messages, which, OWN_PACKAGES)
        tally.check(f"types of {which.value}", unknown, f"{len(names)} types")
        tally.check(f"messages of {which.value}", unreadable, f"{len(messages)} messages")
