"""MCAP files of which one thing grows, as its specification says.

Each function returns the bytes of a file that has `n` of that thing. Its messages lie in 100 s.
"""

import json
import struct

MAGIC = b"\x89MCAP0\r\n"
START = 1_700_000_000 * 10**9


def record(op, *parts):
    content = b"".join(parts)
    return struct.pack("<BQ", op, len(content)) + content


def text(string):
    data = string.encode() if isinstance(string, str) else string
    return struct.pack("<I", len(data)) + data


def words(pairs):
    data = b"".join(text(key) + text(value) for key, value in pairs.items())
    return struct.pack("<I", len(data)) + data


def schema(number, name="std_msgs/Float32", encoding="ros1msg", data="float32 data\n"):
    return record(3, struct.pack("<H", number), text(name), text(encoding), text(data))


def channel(number, topic="/a", of_schema=1, encoding="ros1", metadata=None):
    return record(4, struct.pack("<HH", number, of_schema), text(topic), text(encoding), words(metadata or {}))


def time(index, n):
    return START + 100 * 10**9 * index // n


def message(number, nanos, data=b"\0\0\0\0"):
    return record(5, struct.pack("<HIQQ", number, 0, nanos, nanos), data)


def chunk(records, start, end):
    return record(6, struct.pack("<QQQI", start, end, len(records), 0), text(""), struct.pack("<Q", len(records)), records)


class File:
    """A file that is being put together."""

    def __init__(self):
        self.out = [MAGIC, record(1, text(""), text(""))]
        self.at = sum(map(len, self.out))
        self.summary, self.indexes = [], []

    def put(self, part):
        self.out.append(part)
        self.at += len(part)

    def declare(self, *parts):
        for part in parts:
            self.put(part)
            self.summary.append(part)

    def chunk(self, messages):
        """Adds a chunk: (channel, time, data) of each message."""
        records, index, at = [], {}, 0
        for number, nanos, data in messages:
            index.setdefault(number, []).append((nanos, at))
            records.append(message(number, nanos, data))
            at += len(records[-1])
        times = [nanos for _, nanos, _ in messages]
        begin, body = self.at, chunk(b"".join(records), min(times), max(times))
        self.put(body)
        places, index_at = b"", self.at
        for number, entries in index.items():
            places += struct.pack("<HQ", number, self.at)
            data = b"".join(struct.pack("<QQ", *entry) for entry in entries)
            self.put(record(7, struct.pack("<HI", number, len(data)), data))
        self.indexes.append(record(
            8, struct.pack("<QQQQ", min(times), max(times), begin, len(body)), struct.pack("<I", len(places)), places,
            struct.pack("<Q", self.at - index_at), text(""), struct.pack("<QQ", at, at),
        ))

    def bytes(self, with_summary=True):
        self.put(record(15, struct.pack("<I", 0)))
        summary_at = self.at if with_summary and (self.summary or self.indexes) else 0
        for part in [*self.summary, *self.indexes] if with_summary else []:
            self.put(part)
        self.put(record(2, struct.pack("<QQI", summary_at, 0, 0)))
        self.put(MAGIC)
        return b"".join(self.out)


def file_of(messages, declared, of_chunk=1000, with_summary=True):
    file = File()
    file.declare(*declared)
    for at in range(0, len(messages), of_chunk):
        file.chunk(messages[at : at + of_chunk])
    return file.bytes(with_summary)


def one_channel(n, data=b"\0\0\0\0", of_chunk=1000, declared=None, with_summary=True):
    messages = [(1, time(i, n), data) for i in range(n)]
    return file_of(messages, declared or [schema(1), channel(1)], of_chunk, with_summary)


def messages(n):
    return one_channel(n)


def messages_without_chunks(n):
    file = File()
    file.declare(schema(1), channel(1))
    for i in range(n):
        file.put(message(1, time(i, n)))
    return file.bytes()


def chunks(n):
    return one_channel(n, of_chunk=1)


def chunks_without_summary(n):
    return one_channel(n, of_chunk=1, with_summary=False)


def overlapping_chunks(n):
    file = File()
    file.declare(schema(1), channel(1))
    for i in range(n):
        file.chunk([(1, nanos, b"\0\0\0\0") for nanos in (time(i, 2 * n), time(2 * n - i, 2 * n))])
    return file.bytes()


def channels(n, with_summary=True):
    declared = [schema(1), *(channel(i, f"/t{i}") for i in range(n))]
    return file_of([(i, time(i, n), b"\0\0\0\0") for i in range(n)], declared, with_summary=with_summary)


def channels_without_summary(n):
    return channels(n, with_summary=False)


def channels_without_chunks(n):
    """As a recorder writes it that packs nothing: each channel is declared before its message."""
    file = File()
    file.put(schema(1))
    for i in range(n):
        file.put(channel(i, f"/t{i}"))
        file.put(message(i, time(i, n)))
    return file.bytes(with_summary=False)


def channels_of_a_topic(n):
    declared = [schema(1), *(channel(i, "/a", metadata={"callerid": f"/node{i}"}) for i in range(n))]
    return file_of([(i, time(i, n), b"\0\0\0\0") for i in range(n)], declared)


def schemas(n, with_summary=True):
    declared = []
    for i in range(1, n):
        declared += [schema(i, f"pkg/T{i}", data=f"float32 x{i}\n"), channel(i, f"/t{i}", i)]
    return file_of([(i, time(i, n), b"\0\0\0\0") for i in range(1, n)], declared, with_summary=with_summary)


def schemas_without_summary(n):
    return schemas(n, with_summary=False)


def unused_schemas(n):
    declared = [schema(i, f"pkg/T{i}") for i in range(2, n)]
    return one_channel(1000, declared=[schema(1), channel(1), *declared])


def repeated_channels(n):
    """The channel is declared before each message again."""
    file = File()
    file.declare(schema(1))
    for i in range(n):
        file.put(channel(1))
        file.put(message(1, time(i, n)))
    return file.bytes()


def contradicting_channels(n):
    """One number is another topic again and again."""
    file = File()
    file.declare(schema(1))
    for i in range(n):
        file.put(channel(1, f"/t{i % 10}"))
        file.put(message(1, time(i, n)))
    return file.bytes(with_summary=False)


def channel_metadata(n):
    words = {f"key{i}": "value" for i in range(n)}
    return one_channel(1000, declared=[schema(1), channel(1, metadata=words)])


def attachments(n):
    file = File()
    file.declare(schema(1), channel(1))
    for i in range(n):
        file.put(record(9, struct.pack("<QQ", time(i, n), 0), text(f"file{i}"), text("text/plain"), struct.pack("<Q", 4), b"data", bytes(4)))
    file.chunk([(1, time(i, 1000), b"\0\0\0\0") for i in range(1000)])
    return file.bytes()


def metadata(n):
    file = File()
    file.declare(schema(1), channel(1))
    for i in range(n):
        file.put(record(12, text(f"name{i}"), words({"key": "value"})))
    file.chunk([(1, time(i, 1000), b"\0\0\0\0") for i in range(1000)])
    return file.bytes()


def unknown_records(n):
    file = File()
    file.declare(schema(1), channel(1))
    for i in range(n):
        file.put(record(0x90, b"private"))
        file.put(message(1, time(i, n)))
    return file.bytes()


def damaged_places(n):
    """Bytes of zero between the chunks."""
    file = File()
    file.declare(schema(1), channel(1))
    for i in range(n):
        file.chunk([(1, time(i, n), b"\0\0\0\0")])
        file.put(b"\0" * 37)
    return file.bytes(with_summary=False)


def one_big_message(n):
    declared = [schema(1, "pkg/Big", data="uint8[] data\n"), channel(1)]
    return one_channel(1, struct.pack("<I", n) + bytes(n), declared=declared)


def json_values(n):
    """An object of `n` members, which the schema does not describe."""
    data = json.dumps({f"key{i}": i for i in range(n)}).encode()
    declared = [schema(1, "any", "jsonschema", '{"type": "object"}'), channel(1, encoding="json")]
    return one_channel(50, data, declared=declared)


def json_members(n):
    members = {f"key{i}": {"type": "number"} for i in range(n)}
    described = json.dumps({"type": "object", "properties": members})
    data = json.dumps({f"key{i}": i for i in range(n)}).encode()
    declared = [schema(1, "some", "jsonschema", described), channel(1, encoding="json")]
    return one_channel(50, data, declared=declared)


def cdr_fields(n):
    definition = "".join(f"uint8 f{i}\n" for i in range(n))
    declared = [schema(1, "pkg/msg/Many", "ros2msg", definition), channel(1, encoding="cdr")]
    return one_channel(50, b"\0\x01\0\0" + bytes(n), declared=declared)


def protobuf_fields(n):
    """A message of `n` fields, described by a FileDescriptorSet."""
    def field(number, kind, data):
        if kind == 0:
            return varint(number << 3) + varint(data)
        return varint(number << 3 | 2) + varint(len(data)) + data

    def varint(number):
        out = b""
        while number > 127:
            out += bytes([number & 127 | 128])
            number >>= 7
        return out + bytes([number])

    members = b"".join(
        field(2, 2, field(1, 2, b"f%d" % i) + field(3, 0, i) + field(4, 0, 1) + field(5, 0, 13)) for i in range(1, n + 1)
    )
    described = field(1, 2, field(1, 2, b"a.proto") + field(4, 2, field(1, 2, b"Many") + members) + field(12, 2, b"proto3"))
    data = b"".join(field(i, 0, 7) for i in range(1, n + 1))
    declared = [schema(1, "Many", "protobuf", described), channel(1, encoding="protobuf")]
    return one_channel(50, data, declared=declared)
