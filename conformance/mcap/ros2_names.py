"""Compares the types that `--ros2` writes with the type stores of the Python package rosbags.

A bag with a message of each type of ROS Noetic is converted. Each name that logtool writes has
to be that of a type in ROS 2 Humble and in ROS 2 Jazzy, and the message has to be readable by
the definition that ROS 2 has of it, unless ROS 2 has added fields to the type.
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
MORE_FIELDS = {"Marker", "MarkerArray", "InteractiveMarker", "InteractiveMarkerControl"}
MORE_FIELDS |= {"InteractiveMarkerInit", "InteractiveMarkerUpdate", "Range", "SolidPrimitive"}


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


def check(folder, tally):
    bag, made = Path(folder) / "types.bag", Path(folder) / "types.mcap"
    wanted = write(bag)
    run("convert", bag, "--ros2", "-o", made)
    with open(made, "rb") as file:
        messages = [(schema.name, message.data) for schema, _, message in SeekingReader(file).iter_messages()]
    for which in STORES:
        store = get_typestore(which)
        unknown, unreadable = [], []
        for name, data in messages:
            kind = name.rsplit("/", 1)[-1]
            package = name.split("/")[0]
            if name in ONLY_IN_ROS1 or package in OTHER_PACKAGES or name.startswith(ACTIONS):
                continue
            if name not in store.fielddefs:
                unknown.append(name)
            elif kind not in MORE_FIELDS:
                try:
                    store.deserialize_cdr(data, name)
                except Exception as error:  # whatever it is that stops it
                    unreadable.append(f"{name}: {error}")
        tally.check(f"types of {which.value}", unknown, f"{len(messages)} of {len(wanted)} types")
        tally.check(f"messages of {which.value}", unreadable)
    missing = len(wanted) - len(messages)
    tally.check("types that are left out", [f"{missing} types"] if missing else [])
