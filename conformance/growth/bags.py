"""Bags of ROS 1 of which one thing grows, as the page "Bags/Format/2.0" of the ROS wiki says.

Each function returns the bytes of a bag that has `n` of that thing. Its messages lie in 100 s.
"""

import hashlib
import struct

START = 1_500_000_000
FLOAT = ("std_msgs/Float32", "float32 data\n")


def fields(**values):
    parts = (key.encode() + b"=" + value for key, value in values.items())
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def record(header, data):
    return struct.pack("<I", len(header)) + header + struct.pack("<I", len(data)) + data


def u32(number):
    return struct.pack("<I", number)


def stamp(index, n):
    nanos = 100_000_000_000 * index // n
    return struct.pack("<II", START + nanos // 10**9, nanos % 10**9)


def connection(number, topic, kind=FLOAT, caller=""):
    """`kind` is the name of a type and its definition."""
    name, definition = kind
    data = fields(
        topic=topic.encode(), type=name.encode(), md5sum=hashlib.md5(definition.encode()).hexdigest().encode(),
        message_definition=definition.encode(), **({"callerid": caller.encode()} if caller else {}),
    )
    return record(fields(op=b"\x07", conn=u32(number), topic=topic.encode()), data)


def message(number, time, data=b"\0\0\0\0"):
    return record(fields(op=b"\x02", conn=u32(number), time=time), data)


class Bag:
    """A bag that is being put together."""

    def __init__(self):
        self.out = [b"#ROSBAG V2.0\n", bytes(4096)]
        self.at = 13 + 4096
        self.connections, self.infos = {}, []

    def put(self, *parts):
        self.out += parts
        self.at += sum(map(len, parts))

    def chunk(self, connections, messages):
        """Adds a chunk: {number: record}, and (number, time, data) of each message."""
        self.connections.update(connections)
        inside, index, at = list(connections.values()), {}, sum(map(len, connections.values()))
        for number, time, data in messages:
            index.setdefault(number, []).append((time, at))
            inside.append(message(number, time, data))
            at += len(inside[-1])
        content, begin = b"".join(inside), self.at
        self.put(record(fields(op=b"\x05", compression=b"none", size=u32(len(content))), content))
        for number, entries in index.items():
            data = b"".join(time + u32(offset) for time, offset in entries)
            self.put(record(fields(op=b"\x04", ver=u32(1), conn=u32(number), count=u32(len(entries))), data))
        times = [struct.unpack("<II", time) + (time,) for _, time, _ in messages]
        counts = b"".join(u32(number) + u32(len(entries)) for number, entries in index.items())
        self.infos.append(record(fields(
            op=b"\x06", ver=u32(1), chunk_pos=struct.pack("<Q", begin), start_time=min(times)[2],
            end_time=max(times)[2], count=u32(len(index)),
        ), counts))

    def bytes(self, indexed=True):
        index_at, counts = self.at, (len(self.connections), len(self.infos))
        if indexed:
            self.put(*self.connections.values(), *self.infos)
        else:
            index_at, counts = 0, (0, 0)
        head = fields(op=b"\x03", index_pos=struct.pack("<Q", index_at), conn_count=u32(counts[0]), chunk_count=u32(counts[1]))
        room = 4096 - 8 - len(head)
        self.out[1] = u32(len(head)) + head + u32(room) + b" " * room
        return b"".join(self.out)


def bag_of(connections, messages, of_chunk=1000, indexed=True):
    """A bag of chunks that hold so many messages, all connections in the first."""
    bag = Bag()
    for start in range(0, len(messages), of_chunk):
        bag.chunk(connections if start == 0 else {}, messages[start : start + of_chunk])
    return bag.bytes(indexed)


def one_topic(n, data=b"\0\0\0\0", kind=FLOAT, of_chunk=1000, indexed=True):
    messages = [(0, stamp(index, n), data) for index in range(n)]
    return bag_of({0: connection(0, "/a", kind)}, messages, of_chunk, indexed)


def messages(n):
    return one_topic(n)


def chunks(n):
    return one_topic(n, of_chunk=1)


def chunks_without_index(n):
    return one_topic(n, of_chunk=1, indexed=False)


def connections(n, indexed=True):
    """Each connection, of its own topic, in a chunk with 100 others."""
    bag = Bag()
    for start in range(0, n, 100):
        numbers = range(start, min(n, start + 100))
        bag.chunk({i: connection(i, f"/t{i}") for i in numbers}, [(i, stamp(i, n), b"\0\0\0\0") for i in numbers])
    return bag.bytes(indexed)


def connections_without_index(n):
    return connections(n, indexed=False)


def connections_of_a_topic(n):
    numbers = range(n)
    declared = {i: connection(i, "/a", caller=f"/node{i}") for i in numbers}
    return bag_of(declared, [(i, stamp(i, n), b"\0\0\0\0") for i in numbers])


def repeated_connections(n):
    """One connection is declared in each chunk again."""
    bag = Bag()
    for i in range(n):
        bag.chunk({0: connection(0, "/a")}, [(0, stamp(i, n), b"\0\0\0\0")])
    return bag.bytes()


def repeated_ids(n):
    """One number is another topic in each chunk."""
    bag = Bag()
    for i in range(n):
        bag.chunk({0: connection(0, f"/t{i % 10}")}, [(0, stamp(i, n), b"\0\0\0\0")])
    return bag.bytes()


def overlapping_chunks(n):
    """Each chunk has a message of the start and one of the end of the bag."""
    bag = Bag()
    for i in range(n):
        times = (stamp(i, 2 * n), stamp(2 * n - i, 2 * n))
        bag.chunk({0: connection(0, "/a")} if i == 0 else {}, [(0, time, b"\0\0\0\0") for time in times])
    return bag.bytes()


def times_that_fall(n):
    return bag_of({0: connection(0, "/a")}, [(0, stamp(n - i, n), b"\0\0\0\0") for i in range(n)])


def types(n):
    numbers = range(n)
    declared = {i: connection(i, f"/t{i}", (f"pkg/T{i}", f"float32 x{i}\n")) for i in numbers}
    return bag_of(declared, [(i, stamp(i, n), b"\0\0\0\0") for i in numbers])


def many_fields(n):
    definition = "".join(f"uint8 f{i}\n" for i in range(n))
    return one_topic(50, bytes(n), ("pkg/Many", definition))


def nested_types(n):
    """A type with a field of each of `n` other types."""
    definition = "".join(f"S{i} f{i}\n" for i in range(n))
    others = "".join(f"{'=' * 80}\nMSG: pkg/S{i}\nuint8 x\n" for i in range(n))
    return one_topic(50, bytes(n), ("pkg/Nest", definition + others))


def unused_types(n):
    others = "".join(f"{'=' * 80}\nMSG: pkg/S{i}\nuint8 x\n" for i in range(n))
    return one_topic(1000, kind=("pkg/Unused", "float32 x\n" + others))


def constants(n):
    definition = "".join(f"uint32 C{i}={i}\n" for i in range(n))
    return one_topic(1000, kind=("pkg/Constants", definition + "uint32 x\n"))


def one_big_message(n):
    return one_topic(1, u32(n) + bytes(n), ("pkg/Big", "uint8[] data\n"))


def long_text(n):
    return one_topic(1, u32(n) + b"a" * n, ("std_msgs/String", "string data\n"))


def list_of_texts(n):
    return one_topic(1, u32(n) + (u32(2) + b"ab") * n, ("pkg/Texts", "string[] data\n"))


def list_of_structs(n):
    kind = ("pkg/Points", f"P[] points\n{'=' * 80}\nMSG: pkg/P\nfloat32 x\nfloat32 y\n")
    return one_topic(1, u32(n) + bytes(8 * n), kind)


def damaged_places(n):
    """Bytes of zero between the chunks."""
    bag = Bag()
    for i in range(n):
        bag.chunk({0: connection(0, "/a")} if i == 0 else {}, [(0, stamp(i, n), b"\0\0\0\0")])
        bag.put(b"\0" * 37)
    return bag.bytes(indexed=False)


def damaged_messages(n):
    """Messages that are shorter than their definition."""
    messages = [(0, stamp(i, n), b"\0\0" if i % 2 else b"\0\0\0\0") for i in range(n)]
    return bag_of({0: connection(0, "/a")}, messages)


def logged_strings(n):
    kind = ("rosgraph_msgs/Log", LOG)
    text = b"said something"
    body = bytes(12) + u32(0) + b"\x02" + u32(3) + b"/me" + u32(len(text)) + text + u32(0) + u32(0) + u32(1) + u32(0)
    messages = [(0, stamp(i, n), body) for i in range(n)]
    return bag_of({0: connection(0, "/rosout", kind)}, messages)


LOG = """byte DEBUG=1
byte INFO=2
byte WARN=4
byte ERROR=8
byte FATAL=16
Header header
byte level
string name
string msg
string file
string function
uint32 line
string[] topics
""" + "=" * 80 + """
MSG: std_msgs/Header
uint32 seq
time stamp
string frame_id
"""


def broken_types(n):
    """Each connection, of a definition that cannot be used, in a chunk of its own."""
    bag = Bag()
    for i in range(n):
        bag.chunk({i: connection(i, f"/t{i}", (f"pkg/T{i}", "missing x\n"))}, [(i, stamp(i, n), b"\0\0\0\0")])
    return bag.bytes()
