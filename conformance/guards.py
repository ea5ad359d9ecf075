"""Guards values that other readers get wrong: small files made here, whose values follow from the
specifications. Each line also says what a peer reads.

Prints the number of checks; exits non-zero where logtool differs from the values. Needs the
environment LOGTOOL, the program.
"""

import io
import json
import struct
import sys
import tempfile
from pathlib import Path

import dpkt
from logtool import run
from mcap.reader import SeekingReader
from pyulog import ULog
from tally import Tally

START = 1_700_000_000


def block(order, kind, body):
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def section(order):
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def option(order, code, value):
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def interface(order, *options):
    ends = bytes(4) if options else b""
    return block(order, 1, struct.pack(order + "HHI", 1, 0, 65535) + b"".join(options) + ends)


def resolution(order, value):
    return option(order, 9, bytes([value]))


def packet(number):
    """A frame with a packet of a VLP-16."""
    shots = struct.pack("<HB", 2500, 9) * 32
    blocks = [struct.pack("<HH", 0xEEFF, (number * 12 + i) * 40) + shots for i in range(12)]
    payload = b"".join(blocks) + struct.pack("<IBB", number * 1327, 0x37, 0x22)
    udp = struct.pack(">4H", 2368, 2368, 8 + len(payload), 0) + payload
    addresses = b"\xc0\xa8\1\xc9" + b"\xff" * 4
    ip = struct.pack(">BBHIBBH", 69, 0, 20 + len(udp), 0, 64, 17, 0) + addresses
    return bytes([255] * 6 + [2, 0, 0, 0, 0, 1]) + b"\x08\x00" + ip + udp


def enhanced(order, number, ticks, on=0):
    frame = packet(number)
    head = struct.pack(order + "5I", on, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame))
    return block(order, 6, head + frame + bytes(-len(frame) % 4))


def simple(order, number):
    frame = packet(number)
    return block(order, 3, struct.pack(order + "I", len(frame)) + frame + bytes(-len(frame) % 4))


#: Captures, with the times of their packets in nanoseconds after START.
CAPTURES = {
    # The resolution of an interface may be a power of 2: bit 7 is set.
    "base-2 resolution": (
        section("<")
        + interface("<", resolution("<", 0x80 | 20))
        + enhanced("<", 0, (START << 20) + (1 << 19))
        + enhanced("<", 1, (START << 20) + (3 << 18)),
        [500_000_000, 750_000_000],
    ),
    "two resolutions": (
        section("<")
        + interface("<", resolution("<", 6))
        + interface("<", resolution("<", 9))
        + enhanced("<", 0, START * 10**6 + 250_000)
        + enhanced("<", 1, START * 10**9 + 500_000_000, on=1),
        [250_000_000, 500_000_000],
    ),
    "time offset": (
        section("<")
        + interface("<", option("<", 14, struct.pack("<q", START)))
        + enhanced("<", 0, 250_000)
        + enhanced("<", 1, 500_000),
        [250_000_000, 500_000_000],
    ),
    # A section declares its interfaces and its byte order anew.
    "several sections": (
        section("<")
        + interface("<", resolution("<", 9))
        + enhanced("<", 0, START * 10**9 + 250_000_000)
        + section(">")
        + interface(">")
        + enhanced(">", 1, START * 10**6 + 500_000)
        + section("<")
        + interface("<", resolution("<", 3))
        + enhanced("<", 2, START * 10**3 + 750),
        [250_000_000, 500_000_000, 750_000_000],
    ),
}


def peer_times(file):
    """The times of the packets as dpkt reads them, or the error."""
    try:
        return [round((time - START) * 1e9) for time, _ in dpkt.pcapng.Reader(io.BytesIO(file))]
    except Exception as error:  # whatever it is that stops it
        return type(error).__name__


def lines(path):
    """The records of the packets in `path`."""
    text = run("cat", path, "--topic", "velodyne_packets")
    return [json.loads(line) for line in text.splitlines()]


def note(theirs, expected):
    return "so reads the peer" if theirs == expected else f"the peer reads {str(theirs)[:70]}"


def check(tally, name, ours, expected, theirs):
    tally.check(name, [] if ours == expected else [f"{ours}, not {expected}"], note(theirs, expected))


def captures(folder, tally):
    for name, (file, expected) in CAPTURES.items():
        path = folder / "guard.pcapng"
        path.write_bytes(file)
        ours = [record["time"] - START * 10**9 for record in lines(path)]
        check(tally, f"pcapng: {name}", ours, expected, peer_times(file))
    # A simple packet block has no time.
    path.write_bytes(section("<") + interface("<") + simple("<", 0) + simple("<", 1))
    ours = [record["time"] for record in lines(path)]
    check(tally, "pcapng: simple packets", ours, [None, None], peer_times(path.read_bytes()))


def record(kind, body):
    return bytes([kind]) + struct.pack("<Q", len(body)) + body


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def mcap_beside_chunks():
    """An MCAP file with a message in a chunk, and one after it in the data section."""

    def message(time):
        return record(5, struct.pack("<HIQQ", 1, time, time, time) + b"{}")

    magic = b"\x89MCAP0\r\n"
    header = record(1, text("") + text("guard"))
    schema = record(3, struct.pack("<H", 1) + text("t") + text("jsonschema") + text("{}"))
    channel = record(4, struct.pack("<HH", 1, 1) + text("/t") + text("json") + text(""))
    records = schema + channel + message(1)
    lengths = struct.pack("<QQQI", 1, 1, len(records), 0) + text("")
    chunk = record(6, lengths + struct.pack("<Q", len(records)) + records)
    index = record(7, struct.pack("<HIQQ", 1, 16, 1, len(schema + channel)))
    chunk_at = len(magic + header)
    data = magic + header + chunk + index + message(2) + record(15, bytes(4))
    chunk_index = record(
        8,
        struct.pack("<4Q", 1, 1, chunk_at, len(chunk))
        + struct.pack("<IHQ", 10, 1, chunk_at + len(chunk))
        + struct.pack("<Q", len(index))
        + text("")
        + struct.pack("<QQ", len(records), len(records)),
    )
    counts = record(11, struct.pack("<QHIIIIQQIHQ", 2, 1, 1, 0, 0, 1, 1, 2, 10, 1, 2))
    summary = schema + channel + chunk_index + counts
    return data + summary + record(2, struct.pack("<QQI", len(data), 0, 0)) + magic


def mcap(folder, tally):
    path = folder / "guard.mcap"
    path.write_bytes(mcap_beside_chunks())
    with open(path, "rb") as file:
        theirs = [message.log_time for _, _, message in SeekingReader(file).iter_messages()]
    ours = [json.loads(line)["time"] for line in run("cat", path).splitlines()]
    check(tally, "mcap: messages beside chunks", ours, [1, 2], theirs)


def message(kind, payload):
    return struct.pack("<HB", len(payload), ord(kind)) + payload


def ulog(fields, payloads, appended_from=None):
    """A ULog of the topic `t`. The payloads from `appended_from` on are in an appended section."""
    start = b"ULog\x01\x12\x35\x01" + bytes(8)
    topic = message("F", b"t:" + fields) + message("A", bytes(3) + b"t")
    data = [message("D", bytes(2) + payload) for payload in payloads]
    before = topic + b"".join(data[:appended_from])

    def flags(offset):
        return message("B", bytes(8) + bytes([offset > 0]) + bytes(7) + struct.pack("<3Q", offset, 0, 0))

    offset = len(start + flags(0) + before) if appended_from else 0
    return start + flags(offset) + before + b"".join(data[appended_from or len(data) :])


#: ULogs, with the values of the field `x` and the times in microseconds.
ULOGS = {
    "appended section": (
        ulog(b"uint64_t timestamp;int32_t x;", [struct.pack("<Qi", i * 10**6, i) for i in range(1, 5)], 2),
        [(i * 10**6, i) for i in range(1, 5)],
    ),
    # Microseconds of 32 bits start anew after 71 minutes.
    "timestamp of 32 bits": (
        ulog(b"uint32_t timestamp;int32_t x;", [struct.pack("<Ii", 2**32 - 10**6, 1), struct.pack("<Ii", 10**6, 2)]),
        [(2**32 - 10**6, 1), (2**32 + 10**6, 2)],
    ),
    # PX4 leaves the trailing padding out of the data. Other writers write it.
    "written padding": (
        ulog(
            b"uint64_t timestamp;int32_t x;uint8_t[4] _padding0;",
            [struct.pack("<Qi4x", i * 10**6, i) for i in (1, 2)],
        ),
        [(10**6, 1), (2 * 10**6, 2)],
    ),
}


def peer_rows(file):
    """The times and the values as pyulog reads them, or the error."""
    try:
        data = ULog(io.BytesIO(file)).get_dataset("t").data
        return list(zip(data["timestamp"].tolist(), data["x"].tolist()))
    except Exception as error:  # whatever it is that stops it
        return type(error).__name__


def ulogs(folder, tally):
    for name, (file, expected) in ULOGS.items():
        path = folder / "guard.ulg"
        path.write_bytes(file)
        rows = [json.loads(line) for line in run("cat", path, "--topic", "t").splitlines()]
        # A narrow counter is a field beside the time.
        ours = [(row.get("time", row.get("timestamp")), row["data"]["x"]) for row in rows]
        check(tally, f"ulog: {name}", ours, expected, peer_rows(file))


def main():
    tally = Tally("guards", [])
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        for part in (captures, mcap, ulogs):
            part(Path(folder), tally)
    print("\n".join(tally.lines))
    print(f"{tally.passed + tally.failed} checks, {tally.failed} failed")
    sys.exit(tally.failed > 0)


if __name__ == "__main__":
    main()
