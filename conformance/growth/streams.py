"""Telemetry logs of which one thing grows: 8 bytes of time before each MAVLink frame (QGroundControl
Developer Guide, "MAVLink Log Format"; MAVLink Developer Guide, "Packet Serialization").

Each function returns the bytes of a log that has `n` of that thing.
"""

import struct

import ulogs

LOGGING_DATA, EXTRA = 266, 193


def checksum(data):
    """CRC-16/MCRF4XX."""
    crc = 0xFFFF
    for byte in data:
        low = (byte ^ crc) & 0xFF
        low = (low ^ low << 4) & 0xFF
        crc = crc >> 8 ^ low << 8 ^ low << 3 ^ low >> 4
    return struct.pack("<H", crc)


def packet(time, sequence, data, sender=(1, 1)):
    payload = struct.pack("<HBBBB", sequence % 65536, 255, 155, len(data), 0) + data
    frame = struct.pack("<BBBBBBHB", len(payload), 0, 0, 0, *sender, LOGGING_DATA, 0) + payload
    return struct.pack(">Q", 10**15 + time * 20_000) + b"\xfd" + frame + checksum(frame + bytes([EXTRA]))


def start(number=0):
    head = ulogs.HEAD[:8] + struct.pack("<Q", ulogs.START + number)
    return head + ulogs.text(f"a:{ulogs.FORMAT}") + ulogs.subscribe(0, "a")


def row(index):
    return ulogs.record(0, ulogs.START + index * 20_000)


def stream(sequences):
    rows = [packet(1 + index, number, row(index)) for index, number in enumerate(sequences)]
    return b"".join([packet(0, 0, start()), *rows])


def stream_rows(n):
    return stream(range(1, n + 1))


def jumps(n):
    return stream(index + index // 2 * 30_000 for index in range(1, n + 1))


def numbers_that_go_back(n):
    return stream(index % 24 + (3000 if index // 12 % 2 else 0) for index in range(1, n + 1))


def restarts(n):
    return b"".join(packet(at, 0, start(at)) for at in range(n))


def senders(n):
    return b"".join(packet(at, 5, row(at), (1 + at // 256, at % 256)) for at in range(n)) + stream_rows(1)
