"""Makes tiny ULogs, as the specification of PX4 says ("ULog File Format"), of several
versions of a firmware: a later one has a column more, another has a type that conflicts,
and another has numbers of other types, which readers widen."""

import struct

MAGIC = b"ULog\x01\x12\x35\x01"
#: What each firmware logs of a receiver: the format, and its fields for `struct`.
FIRMWARES = (
    ("uint64_t timestamp;int32_t lat;int32_t lon;uint8_t fix_type", "<Qii B"),
    ("uint64_t timestamp;int32_t lat;int32_t lon;uint8_t fix_type;uint8_t jamming_state", "<QiiBB"),
    ("uint64_t timestamp;double lat;double lon;char[4] fix_type", "<Qdd 4s"),
    ("uint64_t timestamp;int64_t lat;double lon;uint8_t fix_type", "<Qqd B"),
)


def message(kind, payload):
    return struct.pack("<HB", len(payload), ord(kind)) + payload


def ulog(firmware, rows, seed):
    """The bytes of a log of the firmware of this number, with so many rows of `sensor_gps`
    at 10 Hz and half as many of `battery_status`. The last second is jammed, where the firmware
    knows of that."""
    fields, packed = FIRMWARES[firmware]
    start = 1_000_000 + seed
    log = [MAGIC + struct.pack("<Q", start)]
    log.append(message("B", bytes(40)))
    log.append(message("F", f"sensor_gps:{fields};".encode()))
    log.append(message("F", b"battery_status:uint64_t timestamp;float voltage_v;"))
    key = b"char[8] sys_name"
    log.append(message("I", bytes([len(key)]) + key + b"gen-%04d" % seed))
    log.append(message("A", struct.pack("<BH", 0, 0) + b"sensor_gps"))
    log.append(message("A", struct.pack("<BH", 0, 1) + b"battery_status"))
    for row in range(rows):
        time = start + row * 100_000
        fix = b"3D" if "char" in fields else 3
        values = [time, 490_000_000 + row, 110_000_000 + seed, fix]
        if "jamming" in fields:
            values.append(2 if row >= rows - 10 and rows > 100 else 1)
        log.append(message("D", struct.pack("<H", 0) + struct.pack(packed.replace(" ", ""), *values)))
        if row % 2 == 0:
            log.append(message("D", struct.pack("<HQf", 1, time, 16.0 - row / 1000)))
    return b"".join(log)


def write_logs(folder, count):
    """Writes `count` logs into folders of days, called in each by the same names; returns
    the paths."""
    paths = []
    for index in range(count):
        path = folder / f"day{index % 4}" / f"log_{index // 4:03}.ulg"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = 20 + index % 50 if index % 100 else 900
        path.write_bytes(ulog(index % len(FIRMWARES), rows, index))
        paths.append(path)
    return paths
