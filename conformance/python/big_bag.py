"""A big bag: images, and between them the messages of an IMU, in chunks without compression."""

import hashlib
import struct
from pathlib import Path

START_NS = 1_700_000_000 * 1_000_000_000
IMAGE = b"\x00\x40\x80\xc0" * (640 * 480 * 3 // 4)
IMU_PER_IMAGE = 20

HEADER = """
================================================================================
MSG: std_msgs/Header
uint32 seq
time stamp
string frame_id
"""
TYPES = {
    "/imu/data": (
        "geometry_msgs/Vector3Stamped",
        "Header header\nVector3 vector\n"
        + HEADER
        + "=" * 80
        + "\nMSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n",
    ),
    "/camera": (
        "sensor_msgs/Image",
        "Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\n"
        "uint32 step\nuint8[] data\n" + HEADER,
    ),
}


def text(value):
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def record(fields, data=b""):
    header = b"".join(
        struct.pack("<I", len(name) + 1 + len(value)) + name.encode() + b"=" + value
        for name, value in fields.items()
    )
    return struct.pack("<I", len(header)) + header + struct.pack("<I", len(data)) + data


def time(nanos):
    return struct.pack("<II", nanos // 10**9, nanos % 10**9)


def connection(number, topic):
    kind, definition = TYPES[topic]
    fields = {"op": b"\x07", "conn": struct.pack("<I", number), "topic": topic.encode()}
    # The sum is only a name here: no reader has the type in a list of its own.
    md5 = hashlib.md5(definition.encode()).hexdigest().encode()
    data = {
        "topic": topic.encode(),
        "type": kind.encode(),
        "md5sum": md5,
        "message_definition": definition.encode(),
    }
    body = record(data)
    length = struct.unpack("<I", body[:4])[0]
    return record(fields, body[4 : 4 + length])


def message(number, nanos, payload):
    fields = {"op": b"\x02", "conn": struct.pack("<I", number), "time": time(nanos)}
    return record(fields, payload)


def imu(index, nanos):
    header = struct.pack("<I", index) + time(nanos) + text("imu")
    return header + struct.pack("<3d", index, index * 0.5, -index)


def image(index, nanos):
    header = struct.pack("<I", index) + time(nanos) + text("camera")
    shape = struct.pack("<II", 480, 640) + text("rgb8") + struct.pack("<BI", 0, 640 * 3)
    return header + shape + struct.pack("<I", len(IMAGE)) + IMAGE


def write(path, size):
    """Writes a bag of about `size` bytes, and returns the number of messages of the IMU."""
    topics = list(TYPES)
    images = max(1, size // (len(IMAGE) + 4000))
    with Path(path).open("wb") as file:
        file.write(b"#ROSBAG V2.0\n")
        placeholder = file.tell()
        file.write(bag_header(0, 0, 0))
        infos = []
        for index in range(images):
            infos.append(write_chunk(file, index))
        end = file.tell()
        for number, topic in enumerate(topics):
            file.write(connection(number, topic))
        for info in infos:
            file.write(info)
        file.seek(placeholder)
        file.write(bag_header(end, len(topics), len(infos)))
    return images * IMU_PER_IMAGE


def bag_header(index, connections, chunks):
    fields = {
        "op": b"\x03",
        "index_pos": struct.pack("<Q", index),
        "conn_count": struct.pack("<I", connections),
        "chunk_count": struct.pack("<I", chunks),
    }
    empty = record(fields)
    return empty[:-4] + struct.pack("<I", 4096 - len(empty)) + b" " * (4096 - len(empty))


def write_chunk(file, index):
    """Writes an image and the messages of the IMU of the tenth of a second after it, and returns
    the record that describes the chunk."""
    start = START_NS + index * 100_000_000
    step = 100_000_000 // IMU_PER_IMAGE
    messages = [(1, start, image(index, start))]
    for number in range(IMU_PER_IMAGE):
        nanos = start + number * step
        messages.append((0, nanos, imu(index * IMU_PER_IMAGE + number, nanos)))
    chunk = b""
    offsets = {0: [], 1: []}
    if index == 0:
        chunk = connection(0, "/imu/data") + connection(1, "/camera")
    parts, length = [chunk], len(chunk)
    for number, nanos, payload in messages:
        offsets[number].append((nanos, length))
        parts.append(message(number, nanos, payload))
        length += len(parts[-1])
    position = file.tell()
    fields = {"op": b"\x05", "compression": b"none", "size": struct.pack("<I", length)}
    file.write(record(fields, b"".join(parts)))
    counts = b""
    for number, entries in offsets.items():
        index_fields = {
            "op": b"\x04",
            "ver": struct.pack("<I", 1),
            "conn": struct.pack("<I", number),
            "count": struct.pack("<I", len(entries)),
        }
        data = b"".join(time(nanos) + struct.pack("<I", offset) for nanos, offset in entries)
        file.write(record(index_fields, data))
        counts += struct.pack("<II", number, len(entries))
    last = max(nanos for _, nanos, _ in messages)
    info = {
        "op": b"\x06",
        "ver": struct.pack("<I", 1),
        "chunk_pos": struct.pack("<Q", position),
        "start_time": time(start),
        "end_time": time(last),
        "count": struct.pack("<I", len(offsets)),
    }
    return record(info, counts)
