"""Compares `logtool record mavlink` with senders whose streams restart, jump, repeat numbers, or come
from several vehicles. Frames are made by pymavlink. Each row that was sent is in the ULog, which
pyulog reads, or the status is 3 and the printed counts add up to the packets that are missing.

Usage: mavlink_streams.py
"""

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

os.environ["MAVLINK20"] = "1"

from pymavlink.dialects.v20 import common as mavlink  # noqa: E402
from pyulog import ULog  # noqa: E402
from tally import Tally  # noqa: E402

DATA = 249
START, STOP = mavlink.MAV_CMD_LOGGING_START, mavlink.MAV_CMD_LOGGING_STOP
LISTED = {
    "lost": r"lost: (?:.* )?([\d,]+) packets?(?=,| out|$)(?! out)",
    "out of sequence": r"([\d,]+) packets? out of sequence",
    "checksums": r"([\d,]+) packets? with wrong checksums",
    "again": r"([\d,]+) packets? came again",
    "before": r"([\d,]+) packets? before the header",
    "other": r"([\d,]+) packets? of other vehicles or of other logs, not in the file",
    "left out": r"left out: ([\d,]+) packets? of other vehicles or of other logs",
}


def message(kind, payload):
    return struct.pack("<HB", len(payload), ord(kind)) + payload


def definitions(seed):
    start = b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 1_000_000 + seed)
    start += message("F", b"att:uint64_t timestamp;uint32_t number;uint32_t log;")
    return start + message("A", b"\0\0\0att")


def rows(count, log):
    """Rows of one packet each, so that a packet and a row are lost together."""
    times = (1_000_000 + 20_000 * number for number in range(count))
    return [
        message("D", b"\0\0" + struct.pack("<QII", when, number, log))
        for number, when in enumerate(times)
    ]


class Sender:
    """The frames of a component of a system."""

    def __init__(self, system=1, component=1, version=2, key=None):
        self.link = mavlink.MAVLink(None, srcSystem=system, srcComponent=component)
        self.version = version
        if key:
            self.link.signing.secret_key = key
            self.link.signing.link_id = 1
            self.link.signing.timestamp = 1
            self.link.signing.sign_outgoing = True

    def heartbeat(self):
        beat = self.link.heartbeat_encode(2, 12, 0, 0, 4)
        return beat.pack(self.link, force_mavlink1=self.version == 1)

    def packet(self, sequence, data, first=0, acked=False):
        kind = "logging_data_acked" if acked else "logging_data"
        values = list(data) + [0] * (DATA - len(data))
        encode = getattr(self.link, f"{kind}_encode")
        return encode(255, 155, sequence % 65536, len(data), first, values).pack(self.link)

    def log(self, count, log, first=0):
        """The packets of a log: its definitions, and each row."""
        parts = [definitions(log), *rows(count, log)]
        return [self.packet(first + at, part, acked=at == 0) for at, part in enumerate(parts)]


def tlog(frames):
    return b"".join(
        struct.pack(">Q", 10**15 + 20_000 * at) + frame for at, frame in enumerate(frames)
    )


def recorded(path):
    """The rows in a ULog, as pyulog reads them: (log, number)."""
    if not path.exists():
        return None
    data = ULog(str(path)).data_list
    if not data:
        return []
    return list(zip(data[0].data["log"].tolist(), data[0].data["number"].tolist(), strict=True))


def counts(errors):
    found = {name: re.search(pattern, errors, re.M) for name, pattern in LISTED.items()}
    return {name: int(match[1].replace(",", "")) for name, match in found.items() if match}


def judge(tally, what, path, status, errors, rows_wanted, status_wanted, counts_wanted):
    found, told = recorded(path), counts(errors)
    wrong = []
    if found != rows_wanted:
        sample = [] if found is None else found[:3] + found[-3:]
        wrong.append(f"rows {sample} of {len(found or [])}, not {len(rows_wanted)}")
    if status != status_wanted:
        wrong.append(f"status {status}, not {status_wanted}: {errors}")
    if told != counts_wanted:
        wrong.append(f"counts {told}, not {counts_wanted}: {errors}")
    tally.check(what, wrong, f"{len(found or [])} rows, status {status}, {told}")


def all_rows(log, numbers):
    return [(log, number) for number in numbers]


def telemetry_logs():
    """(name, frames, options, rows, status, counts)."""
    one, key = Sender(), bytes(range(32))
    whole = one.log(40, 1)
    yield "whole", whole, [], all_rows(1, range(40)), 0, {}
    yield "signed", Sender(key=key).log(40, 1), [], all_rows(1, range(40)), 0, {}
    mixed = [Sender(version=1).heartbeat(), *whole[:9], Sender(version=1).heartbeat(), *whole[9:]]
    yield "MAVLink 1 and 2", mixed, [], all_rows(1, range(40)), 0, {}
    wrapping = one.log(40, 1, first=65_520)
    yield "numbers wrap around", wrapping, [], all_rows(1, range(40)), 0, {}
    yield "each twice", [f for f in whole for _ in "12"], [], all_rows(1, range(40)), 0, {"again": 41}
    again = [whole[0], whole[0], whole[0], *whole[1:]]
    yield "acknowledgement lost", again, [], all_rows(1, range(40)), 0, {"again": 2}
    pairs = [whole[at + step] for at in range(0, 40, 2) for step in (1, 0)] + whole[40:]
    yield "pairs in the wrong order", pairs, [], all_rows(1, range(40)), 0, {}
    lossy = whole[:10] + whole[13:]
    kept = [*range(9), *range(12, 40)]
    yield "3 lost", lossy, [], all_rows(1, kept), 3, {"lost": 3}
    other = [one.packet(number, rows(40, 7)[3]) for number in (4, 5, 6)]
    changed = [*whole[:20], other[0], *whole[20:30], *other[1:], *whole[30:]]
    yield "other bytes", changed, [], all_rows(1, range(40)), 3, {"out of sequence": 3}
    for wrong in (900, 20_000, 40_000, 65_500):
        jumped = [*whole]
        jumped[15] = one.packet(wrong, rows(40, 1)[14])
        kept = [*range(14), *range(15, 40)]
        want = {"lost": 1, "out of sequence": 1}
        yield f"wrong number {wrong}", jumped, [], all_rows(1, kept), 3, want
    for run in (3, 12):
        jumped = [*whole]
        for at in range(15, 15 + run):
            jumped[at] = one.packet(5000 + at, rows(40, 1)[at - 1])
        yield f"{run} wrong numbers", jumped, [], all_rows(1, range(40)), 3, {"lost": run}
    ahead = whole[:15] + [one.packet(5000 + at, rows(40, 1)[at - 1]) for at in range(15, 41)]
    yield "numbers jump ahead", ahead, [], all_rows(1, range(40)), 3, {"lost": 5000}
    twice = whole + one.log(60, 2)
    yield "restart", twice, [], all_rows(1, range(40)), 3, {"other": 61}
    yield "restart, the second", twice, ["--log", "2"], all_rows(2, range(60)), 0, {"left out": 41}
    late = whole + one.log(60, 2)[1:]
    yield "restart without header", late, [], all_rows(1, range(40)), 3, {"out of sequence": 60}
    third = late + one.log(5, 3)
    want = {"out of sequence": 60, "other": 6}
    yield "three, one without header", third, [], all_rows(1, range(40)), 3, want
    # The packets without a header cannot be chosen.
    want = {"other": 60, "left out": 41}
    yield "three, the last", third, ["--log", "2"], all_rows(3, range(5)), 3, want
    tail = [one.packet(700 + at, row) for at, row in enumerate(rows(30, 9))]
    yield "packets before the header", tail + whole, [], all_rows(1, range(40)), 3, {"before": 30}
    two = Sender(component=2).log(50, 2)
    both = [frame for pair in zip(whole, two, strict=False) for frame in pair] + two[41:]
    yield "two components", both, [], all_rows(1, range(40)), 3, {"other": 51}
    yield "two components, the second", both, ["--log", "2"], all_rows(2, range(50)), 0, {
        "left out": 41
    }
    far = Sender(system=9).log(50, 2)
    both = [frame for pair in zip(far, whole, strict=False) for frame in pair] + far[41:]
    want = {"left out": 51}
    yield "two systems", both, ["--system", "1"], all_rows(1, range(40)), 0, want
    same = whole + whole
    yield "the same twice", same, [], all_rows(1, range(40)), 0, {"again": 41}
    long = one.log(40_000, 1)
    yield "the same long one twice", long + long, [], all_rows(1, range(40_000)), 3, {"other": 40_001}


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fly(address, groups, is_over):
    """Sends groups of (sender's socket, frames) until all were sent, and answers the stop."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3)]
    vehicle = Sender()
    time.sleep(0.5)
    sockets[0].sendto(vehicle.heartbeat(), address)
    for which, frame in groups:
        sockets[which].sendto(frame, address)
        time.sleep(0.002)
    while not is_over.is_set():
        accepted = vehicle.link.command_ack_encode(STOP, mavlink.MAV_RESULT_ACCEPTED)
        for frame in (vehicle.heartbeat(), accepted.pack(vehicle.link)):
            sockets[0].sendto(frame, address)
        time.sleep(0.02)
    for each in sockets:
        each.close()


def live(folder, name, groups, *more):
    address, out = ("127.0.0.1", free_port()), folder / f"{name}.ulg"
    is_over = threading.Event()
    sender = threading.Thread(target=fly, args=(address, groups, is_over))
    source = f"udp:{address[0]}:{address[1]}"
    command = [os.environ["LOGTOOL"], "record", "mavlink", source, "-o", str(out), *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    sender.start()
    time.sleep(1.5 + 0.004 * len(groups))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    is_over.set()
    sender.join(10)
    return out, process.returncode, errors


def flights():
    """(name, (socket, frame) pairs, options, rows, status, counts)."""
    one = Sender()
    whole = one.log(40, 1)
    alone = [(0, frame) for frame in whole]
    yield "live", alone, [], all_rows(1, range(40)), 0, {}
    doubled = [pair for pair in alone for _ in "12"]
    yield "live, datagrams twice", doubled, [], all_rows(1, range(40)), 0, {"again": 41}
    # The same ids at another address, which joins later; and another system at the first one.
    late = alone[:20] + [p for a, f in zip(alone[20:], one.log(40, 2), strict=False) for p in (a, (1, f))]
    yield "live, the same ids elsewhere", late, [], all_rows(1, range(40)), 3, {"other": 21}
    second = Sender(system=2).log(40, 2)
    both = [p for a, f in zip(alone, second, strict=True) for p in (a, (0, f))]
    yield "live, two vehicles", both, [], all_rows(1, range(40)), 3, {"other": 41}
    yield "live, one of two", both, ["--system", "1"], all_rows(1, range(40)), 0, {"left out": 41}
    peer = Sender(component=2).log(40, 2)
    both = [p for a, f in zip(alone, peer, strict=True) for p in (a, (0, f))]
    yield "live, two components", both, [], all_rows(1, range(40)), 3, {"other": 41}
    bad = bytearray(whole[-1])
    bad[-1] ^= 1
    want = {"checksums": 1}
    yield "live, wrong checksum", alone[:-1] + [(0, bytes(bad))], [], all_rows(1, range(39)), 3, want
    tail = [(0, one.packet(700 + at, row)) for at, row in enumerate(rows(30, 9))]
    yield "live, tail of a log", tail + alone, [], all_rows(1, range(40)), 3, {"before": 30}
    yield "live, --restart", tail + alone, ["--restart"], all_rows(1, range(40)), 0, {"before": 30}
    wrong = [*alone]
    wrong[15] = (0, one.packet(900, rows(40, 1)[14]))
    kept = [*range(14), *range(15, 40)]
    want = {"lost": 1, "out of sequence": 1}
    yield "live, wrong number", wrong, [], all_rows(1, kept), 3, want


def main():
    tally = Tally("mavlink", [])
    with tempfile.TemporaryDirectory(prefix="conformance-") as name:
        folder = Path(name)
        for what, frames, more, *wanted in telemetry_logs():
            source, out = folder / "x.tlog", folder / "x.ulg"
            source.write_bytes(tlog(frames))
            out.unlink(missing_ok=True)
            command = [os.environ["LOGTOOL"], "record", "mavlink", str(source), "-o", str(out)]
            done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=60)
            judge(tally, what, out, done.returncode, done.stderr, *wanted)
        for what, groups, more, *wanted in flights():
            judge(tally, what, *live(folder, what.replace(" ", "_"), groups, *more), *wanted)
    print("\n".join(tally.lines))
    print(f"{tally.passed} passed, {tally.failed} failed")
    sys.exit(1 if tally.failed else 0)


if __name__ == "__main__":
    main()
