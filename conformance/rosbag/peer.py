"""Reads bags with the Python package rosbags."""

from collections import defaultdict

from ours import Message
from rosbags.rosbag1 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore


class Peer:
    """A bag as rosbags reads it; `error` is the error that ended reading."""

    def __init__(self, path):
        self.error = None
        self.connections, self.messages = {}, []
        try:
            with Reader(path) as reader:
                self._read(reader)
        except Exception as error:  # whatever it is that stops it
            self.error = f"{type(error).__name__}: {error}"

    def _read(self, reader):
        self.start, self.end = reader.start_time, reader.end_time - 1
        self.count = reader.message_count
        self.connections = {c.id: c for c in reader.connections}
        self.chunks = [
            (chunk.datasize, chunk.datapos, chunk.decompressor) for chunk in reader.chunks.values()
        ]
        self.messages = [
            Message(connection.id, connection.topic, time, bytes(payload))
            for connection, time, payload in reader.messages()
        ]

    def decode(self, ours):
        """All messages decoded, those of each topic of ours together, by its key.

        The messages are those of ours, which are in the order of our tables: that they
        are the same as those of rosbags is another check.
        """
        topics = {}
        for message in ours.messages:
            connection = self.connections.get(message.connection)
            if connection is None:
                continue
            key = (connection.topic, ros1(connection.msgtype), connection.digest)
            topic = topics.get(key) or topics.setdefault(key, Decoded(connection))
            topic.add(message)
        return topics


class Decoded:
    """The messages of one topic, decoded by the definition in the bag."""

    def __init__(self, connection):
        self.type_name = connection.msgtype
        self.messages, self.values = [], []
        self.store = get_typestore(Stores.EMPTY)
        # Why none, or one of them, is decoded.
        self.broken = self.error = None
        try:
            types = get_types_from_msg(connection.msgdef.data, connection.msgtype)
            self.store.register(types)
        except Exception as error:  # whatever it is that stops it
            self.broken = f"{type(error).__name__}: {error}"

    def add(self, message):
        """Decodes the next message; `None` if it cannot be decoded."""
        value = None
        if not self.broken:
            try:
                value = self.store.deserialize_ros1(message.payload, self.type_name)
            except Exception as error:  # whatever it is that stops it
                self.error = f"{type(error).__name__}: {error}"
        self.messages.append(message)
        self.values.append(value)

    def good(self):
        """The messages that are decoded, and their values."""
        pairs = zip(self.messages, self.values)
        return [(message, value) for message, value in pairs if value is not None]

    def fields(self, type_name=None):
        """The fields of a type that have something in them: name and kind."""
        fields = self.store.get_msgdef(type_name or self.type_name).fields
        named = ((name, kind) for name, kind in fields if name != NOTHING)
        return [(name, kind) for name, kind in named if self.has_values(kind)]

    def has_values(self, kind):
        """Returns whether the kind has any fields: an empty type has none."""
        how, what = kind
        if how.name == "NAME":
            return what in TIMES or bool(self.fields(what))
        if how.name == "ARRAY" and what[1] == 0:
            return False
        return how.name == "BASE" or self.has_values(what[0])


# The field that rosbags adds to empty types.
NOTHING = "structure_needs_at_least_one_member"

TIMES = ("builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration")


def ros1(type_name):
    """`std_msgs/String` of `std_msgs/msg/String`."""
    return type_name.replace("/msg/", "/")


def by_connection(messages):
    """The messages by their connection, in the order of time and bytes."""
    found = defaultdict(list)
    for message in messages:
        found[message.connection].append(message)
    return {key: sorted(of_one) for key, of_one in found.items()}
