"""ULogs of which one thing grows, as the specification of PX4 says ("ULog File Format").

Each function returns the bytes of a log that has `n` of that thing. Its records lie in 100 s.
"""

import struct

START = 1_000_000
SPAN = 100_000_000
HEAD = b"ULog\x01\x12\x35\x01" + struct.pack("<Q", START)
FORMAT = "uint64_t timestamp;float x;"


def message(kind, payload):
    return struct.pack("<HB", len(payload), ord(kind)) + payload


def text(string):
    return message("F", string.encode())


def key_value(kind, key, value, lead=b""):
    key = key.encode()
    return message(kind, lead + bytes([len(key)]) + key + value)


def subscribe(number, name, instance=0):
    return message("A", struct.pack("<BH", instance, number) + name.encode())


def time(index, n):
    return START + SPAN * index // n


def record(number, micros, value=1.0):
    return message("D", struct.pack("<HQf", number, micros, value))


def log(definitions, data):
    return b"".join([HEAD, message("B", bytes(40)), *definitions, *data])


ONE_TOPIC = [text(f"a:{FORMAT}"), subscribe(0, "a")]


def one_topic(n, between=lambda index: b"", definitions=()):
    """A log of one topic, with something before each of its `n` records."""
    data = (between(index) + record(0, time(index, n), index) for index in range(n))
    return log([ONE_TOPIC[0], *definitions], [ONE_TOPIC[1], *data])


def records(n):
    return one_topic(n)


def few_records(n):
    """A log that is the same for each `n`: what grows is in the command."""
    return one_topic(100)


def topics(n):
    definitions = [text(f"t{i}:{FORMAT}") for i in range(n)]
    data = [subscribe(i, f"t{i}") for i in range(n)]
    return log(definitions, data + [record(i, time(i, n)) for i in range(n)])


def instances(n):
    definitions = [text(f"t{i}:{FORMAT}") for i in range(n // 100 + 1)]
    data = [subscribe(i, f"t{i // 100}", i % 100) for i in range(n)]
    return log(definitions, data + [record(i, time(i, n)) for i in range(n)])


def late_topics(n):
    """Each topic is subscribed to just before its record."""
    definitions = [text(f"t{i}:{FORMAT}") for i in range(n)]
    return log(definitions, [subscribe(i, f"t{i}") + record(i, time(i, n)) for i in range(n)])


def formats(n):
    return one_topic(1000, definitions=[text(f"unused{i}:{FORMAT}") for i in range(n)])


def repeated_formats(n):
    return one_topic(1000, definitions=[text("same:uint64_t timestamp;uint8_t x%d;" % i) for i in range(n)])


def fields(n):
    names = "".join(f"uint8_t f{i};" for i in range(n))
    data = [message("D", struct.pack("<HQ", 0, time(i, 50)) + bytes(n)) for i in range(50)]
    return log([text(f"a:uint64_t timestamp;{names}")], [subscribe(0, "a"), *data])


def nested_types(n):
    """A type with a field of each of `n` other types."""
    definitions = [text(f"s{i}:uint8_t x;") for i in range(n)]
    names = "".join(f"s{i} f{i};" for i in range(n))
    definitions.append(text(f"a:uint64_t timestamp;{names}"))
    data = [message("D", struct.pack("<HQ", 0, time(i, 50)) + bytes(n)) for i in range(50)]
    return log(definitions, [subscribe(0, "a"), *data])


def array(n):
    data = [message("D", struct.pack("<HQ", 0, time(i, 50)) + bytes(n)) for i in range(50)]
    return log([text(f"a:uint64_t timestamp;uint8_t[{n}] x;")], [subscribe(0, "a"), *data])


def repeated_ids(n):
    """One number stands for another topic again and again."""
    definitions = [text(f"t{i}:{FORMAT}") for i in range(20)]
    return log(definitions, [subscribe(0, f"t{i % 20}") + record(0, time(i, n)) for i in range(n)])


def removed_topics(n):
    remove = message("R", struct.pack("<H", 0))
    data = (subscribe(0, "a") + record(0, time(i, n)) + remove for i in range(n))
    return log([ONE_TOPIC[0]], data)


def information(n):
    return one_topic(1000, definitions=[key_value("I", f"char[5] key{i}", b"value") for i in range(n)])


def long_information(n):
    """One value in `n` pieces."""
    pieces = [key_value("M", "char[8] log", b"piece %d" % (i % 10), b"\x01") for i in range(n)]
    return one_topic(1000, definitions=pieces)


def information_lists(n):
    """`n` values of one key."""
    pieces = [key_value("M", "char[8] log", b"piece %d" % (i % 10), b"\x00") for i in range(n)]
    return one_topic(1000, definitions=pieces)


def parameters(n):
    return one_topic(1000, definitions=[key_value("P", f"float P{i}", struct.pack("<f", i)) for i in range(n)])


def default_parameters(n):
    changes = [key_value("Q", f"float P{i}", struct.pack("<f", i), b"\x01") for i in range(n)]
    return one_topic(1000, definitions=changes)


def parameter_changes(n):
    return one_topic(n, lambda i: key_value("P", "float P0", struct.pack("<f", i)))


def strings(n):
    return one_topic(n, lambda i: message("L", struct.pack("<BQ", 0x36, time(i, n)) + b"said %d" % i))


def tagged_strings(n):
    return one_topic(n, lambda i: message("C", struct.pack("<BHQ", 0x36, i % 60_000, time(i, n)) + b"said %d" % i))


def long_string(n):
    """Text of `n` bytes, in strings of 60,000."""
    return one_topic(n // 60_000, lambda i: message("L", struct.pack("<BQ", 0x36, time(i, n)) + b"x" * 60_000))


def dropouts(n):
    return one_topic(n, lambda _: message("O", struct.pack("<H", 10)))


def damaged_places(n):
    return one_topic(n, lambda _: b"\x00" * 19)


def foreign_bytes(n):
    """Damage that looks like heads of messages."""
    return one_topic(n, lambda _: b"\x05\x00D" * 9)


def unknown_messages(n):
    return one_topic(n, lambda _: message("Z", b"unknown"))


def sync_marks(n):
    return one_topic(n, lambda _: message("S", bytes([0x2F, 0x73, 0x13, 0x20, 0x25, 0x0C, 0xBB, 0x12])))


def impossible_times(n):
    data = (record(0, 0 if i % 2 else time(i, n)) for i in range(n))
    return log([ONE_TOPIC[0]], [ONE_TOPIC[1], *data])


def records_of_unknown_ids(n):
    return one_topic(n, lambda i: record(1 + i % 60_000, time(i, n)))


def short_records(n):
    return one_topic(n, lambda _: message("D", b"\x00\x00\x01"))
