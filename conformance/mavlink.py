"""Compares `logtool record mavlink` with what a vehicle sent. The vehicle is pymavlink, which cuts a
ULog into packets as PX4 does (log_writer_mavlink.cpp), repeats acknowledged packets until they are
answered, and loses, reorders and repeats the others. The recording must be the ULog, without what
was lost and with dropouts of the right durations; pyulog reads it.

Usage: mavlink.py
"""

import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import tty
from collections import deque
from pathlib import Path

os.environ["MAVLINK20"] = "1"

from logtool import run  # noqa: E402
from pymavlink.dialects.v20 import common as mavlink  # noqa: E402
from pyulog import ULog  # noqa: E402
from tally import Tally  # noqa: E402

SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"]) / "ulog"
DATA = 249
NONE_STARTS = 255
# The last message of a log: an information of several parts.
COUNTERS = struct.pack("<HBBB", 24, ord("M"), 0, 20) + b"char[2] perf_postfliok"
START, STOP = mavlink.MAV_CMD_LOGGING_START, mavlink.MAV_CMD_LOGGING_STOP
ACCEPTED = mavlink.MAV_RESULT_ACCEPTED


def messages(ulog):
    """The messages of a ULog as (start, end), after the header of 16 bytes."""
    at = 16
    while at + 3 <= len(ulog):
        end = at + 3 + struct.unpack_from("<H", ulog, at)[0]
        if end > len(ulog):
            return
        yield at, end
        at = end


def definitions_end(ulog):
    """Where the data section starts, up to which PX4 sends acknowledged packets."""
    return next(at for at, _ in messages(ulog) if ulog[at + 2] in b"ALCD")


def packets(ulog):
    """(sequence, first message, data, is acknowledged), as PX4 cuts a ULog."""
    reliable = definitions_end(ulog)
    starts = sorted({0} | {at for at, _ in messages(ulog)})
    # PX4 sends the rest of the definitions before it turns to unacknowledged packets.
    cuts = [*range(0, reliable, DATA), *range(reliable, len(ulog), DATA), len(ulog)]
    next_start = 0
    for sequence, (at, end) in enumerate(zip(cuts, cuts[1:], strict=False)):
        while next_start < len(starts) and starts[next_start] < at:
            next_start += 1
        is_inside = next_start < len(starts) and starts[next_start] < end
        first = starts[next_start] - at if is_inside else NONE_STARTS
        yield sequence, first, ulog[at:end], at < reliable


def time_of(ulog, at, timed):
    """The time of a message in microseconds, where it has one in a known place."""
    kind = ulog[at + 2]
    if kind == ord("D") and struct.unpack_from("<H", ulog, at + 3)[0] in timed:
        return struct.unpack_from("<Q", ulog, at + 5)[0]
    if kind in b"LC":
        return struct.unpack_from("<Q", ulog, at + (4 if kind == ord("L") else 6))[0]
    return None


def expected(ulog, lost):
    """The recording of a ULog without some packets, and the durations of its dropouts. Each message
    of which a packet is lost is missing; and so is the message before the first known start."""
    ranges, first_of = {}, {}
    at = 0
    for sequence, first, data, _ in packets(ulog):
        ranges[sequence] = (at, at + len(data))
        first_of[sequence] = first
        at += len(data)
    holes = []
    for sequence in sorted(lost):
        start, end = ranges[sequence]
        after = sequence + 1
        while after in ranges and (after in lost or first_of[after] == NONE_STARTS):
            after += 1
        resumed = ranges[after][0] + first_of[after] if after in ranges else len(ulog)
        holes.append((start, resumed))
    formats, timed = {}, set()
    out, dropouts = bytearray(ulog[:16]), []
    # The latest of 16 times counts: some topics are late.
    hole, before, pending = 0, deque(maxlen=16), False
    for at, end in messages(ulog):
        kind = ulog[at + 2]
        while hole < len(holes) and holes[hole][1] <= at:
            hole += 1
        if hole < len(holes) and end > holes[hole][0] and at < holes[hole][1]:
            pending = True
            continue
        if kind == ord("F"):
            name, fields = ulog[at + 3 : end].split(b":", 1)
            formats[name] = fields.startswith(b"uint64_t timestamp;")
        elif kind == ord("A") and formats.get(ulog[at + 6 : end]):
            timed.add(struct.unpack_from("<H", ulog, at + 4)[0])
        now = time_of(ulog, at, timed)
        if now is not None:
            if pending:
                difference = now - max(before)
                if 0 <= difference <= 3_600_000_000:
                    left = (difference + 500) // 1000
                    dropouts.append(left)
                    while True:
                        out += struct.pack("<HBH", 2, ord("O"), min(left, 65535))
                        left -= min(left, 65535)
                        if not left:
                            break
                else:
                    # By the times of arrival, which differ from run to run.
                    dropouts.append(None)
                    out += b"\2\0O??"
                pending = False
            before.append(now)
        out += ulog[at:end]
    return bytes(out), dropouts


class Vehicle(threading.Thread):
    """A vehicle that streams a ULog over UDP or TCP."""

    def __init__(self, ulog, address, lost=(), shuffle=0, seed=1, rate=4000, tcp=None, serial=None):
        super().__init__(daemon=True)
        self.ulog, self.address, self.lost = ulog, address, set(lost)
        self.shuffle, self.random, self.rate = shuffle, random.Random(seed), rate
        self.tcp, self.serial = tcp, serial
        self.link = mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
        self.link.robust_parsing = True
        self.events, self.sent = [], []
        self.is_done = threading.Event()
        self.is_stopped = threading.Event()
        self.start_answers = [ACCEPTED]
        self.has_earlier_stream = False
        self.is_over = False

    def run(self):
        if self.tcp:
            self.socket, _ = self.tcp.accept()
        elif self.serial is None:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.socket.bind(("127.0.0.1", 0))
        self.last_heartbeat = 0
        try:
            if self.has_earlier_stream:
                self.stream_until_stopped()
            while not self.take(lambda m: is_command(m, START)):
                self.heartbeat()
            for answer in self.start_answers:
                self.send(self.link.command_ack_encode(START, answer))
            unreliable = []
            for sequence, first, data, is_acknowledged in packets(self.ulog):
                arguments = (255, 155, sequence % 65536, len(data), first)
                arguments += (list(data) + [0] * (DATA - len(data)),)
                if is_acknowledged:
                    self.deliver(self.link.logging_data_acked_encode(*arguments), sequence % 65536)
                elif sequence not in self.lost:
                    unreliable.append(self.link.logging_data_encode(*arguments))
            for group in groups(unreliable, self.shuffle or 1):
                if self.shuffle:
                    self.random.shuffle(group)
                    group += self.random.sample(group, len(group) // 4)
                for message in group:
                    self.heartbeat()
                    self.send(message)
                    time.sleep(1 / self.rate)
            self.is_done.set()
            while not self.take(lambda m: is_command(m, STOP)):
                self.heartbeat()
            # As newer PX4 does, with its last counters between the answers.
            self.send(self.link.command_ack_encode(STOP, mavlink.MAV_RESULT_IN_PROGRESS))
            sequence = (1 + max(number for number, *_ in packets(self.ulog))) % 65536
            values = list(COUNTERS) + [0] * (DATA - len(COUNTERS))
            last = (255, 155, sequence, len(COUNTERS), 0, values)
            self.deliver(self.link.logging_data_acked_encode(*last), sequence)
            self.send(self.link.command_ack_encode(STOP, ACCEPTED))
            self.is_stopped.set()
        except OSError as error:
            self.events.append(f"{error}")

    def stream_until_stopped(self):
        """Sends the middle of another log. The first command that stops it is lost."""
        sequence, stops = 50_000, 0
        while stops < 2:
            self.heartbeat()
            values = [7] * DATA
            self.send(self.link.logging_data_encode(255, 155, sequence, DATA, 255, values))
            sequence += 1
            commands = []
            self.take(lambda m: m.get_type() == "COMMAND_LONG" and commands.append(m.command))
            stops += commands.count(STOP)
            if START in commands and stops < 2:
                refusal = mavlink.MAV_RESULT_TEMPORARILY_REJECTED
                self.send(self.link.command_ack_encode(START, refusal))

    def deliver(self, message, sequence):
        """Repeats a packet until it is answered. The first try of every fifth is lost, and the first
        answer to others is ignored, as if it were."""
        for attempt in range(50):
            if attempt or sequence % 5 != 1:
                self.send(message)
            answered = self.take(
                lambda m: m.get_type() == "LOGGING_ACK" and m.sequence == sequence, wait=0.05
            )
            if answered and not (attempt == 0 and sequence % 7 == 3):
                return
        raise OSError(f"no answer to {sequence}")

    def end(self):
        """Ends the thread, which would send to a port that is used again."""
        self.is_over = True
        self.join(10)

    def heartbeat(self):
        if self.is_over:
            raise OSError("ended")
        if time.time() - self.last_heartbeat > 0.5:
            self.last_heartbeat = time.time()
            self.send(self.link.heartbeat_encode(2, 12, 0, 0, 4))

    def send(self, message):
        frame = message.pack(self.link)
        self.sent.append((time.time(), frame))
        if self.serial is not None:
            os.write(self.serial, frame)
        elif self.tcp:
            self.socket.sendall(frame)
        else:
            self.socket.sendto(frame, self.address)

    def take(self, is_wanted, wait=0.1):
        """Whether a wanted message comes within some time. Others are noted and dropped."""
        end = time.time() + wait
        while time.time() < end:
            try:
                if self.serial is not None:
                    if not select.select([self.serial], [], [], wait)[0]:
                        continue
                    data = os.read(self.serial, 4096)
                else:
                    self.socket.settimeout(max(end - time.time(), 0.001))
                    data = self.socket.recv(4096)
            except TimeoutError:
                break
            found = False
            for message in self.link.parse_buffer(data) or []:
                self.events.append(message.get_type())
                found |= bool(is_wanted(message))
            if found:
                return True
        return False


def is_command(message, command):
    return message.get_type() == "COMMAND_LONG" and message.command == command


def groups(values, size):
    return [values[at : at + size] for at in range(0, len(values), size)]


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def recorder(source, out, *more):
    command = [os.environ["LOGTOOL"], "record", "mavlink", source, "-o", str(out), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def record(vehicle, source, out, *more, end=signal.SIGINT):
    """Records a vehicle until it has sent everything, and then ends the program by a signal."""
    process = recorder(source, out, *more)
    vehicle.start()
    vehicle.is_done.wait(120)
    # The last packets are on the way, and lost ones are awaited for half a second.
    time.sleep(0.8)
    if end is not None:
        process.send_signal(end)
    _, errors = process.communicate(timeout=60)
    vehicle.is_stopped.wait(1)
    vehicle.end()
    return process.returncode, errors


def same(ours, theirs):
    """The first difference between two files, where ?? is any duration."""
    for place, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a != b and not (b == ord("?") and theirs[:place].rfind(b"\2\0O") >= place - 4):
            return [f"byte {place} of {len(ours)}: {ours[place : place + 12]}, not "
                    f"{theirs[place : place + 12]}"]
    return [] if len(ours) == len(theirs) else [f"{len(ours)} bytes, not {len(theirs)}"]


def read_by_pyulog(path, dropouts):
    log = ULog(str(path))
    durations = [dropout.duration for dropout in log.dropouts]
    pairs = zip(durations, dropouts, strict=False)
    is_same = all(theirs in (None, ours) for ours, theirs in pairs)
    is_same &= len(durations) == len(dropouts)
    return [] if is_same else [f"dropouts {durations}, not {dropouts}"]


def complete(sample):
    """A sample up to its last complete message, without the dropouts that it has."""
    ulog = (SAMPLES / sample).read_bytes()
    keep = bytearray(ulog[:16])
    for at, end in messages(ulog):
        if ulog[at + 2] != ord("O"):
            keep += ulog[at:end]
    return bytes(keep)


def losses(ulog, count, seed):
    """Packets to lose: single ones, runs, and none of the last."""
    numbers = [sequence for sequence, _, _, reliable in packets(ulog) if not reliable][:-80]
    chosen, choose = set(), random.Random(seed)
    for _ in range(count):
        start = choose.choice(numbers)
        chosen |= {start + step for step in range(choose.choice([1, 1, 2, 5]))}
    return chosen


def tlog_of(vehicle, broken=()):
    """A telemetry log of what a vehicle sent; some bytes before a record are no record."""
    out, places = bytearray(), []
    for index, (sent, frame) in enumerate(vehicle.sent):
        if index in broken:
            places.append((len(out), len(out) + 37))
            out += bytes(random.Random(index).randrange(256) for _ in range(37))
        out += struct.pack(">Q", int(sent * 1e6)) + frame
    return bytes(out), places


def check(tally, folder):
    ulog = complete("pyulog_sample_log_small.ulg")[:1_500_000]
    ulog = ulog[: list(messages(ulog))[-1][1]]

    def udp():
        port = free_port()
        return port, ("127.0.0.1", port)

    # Nothing lost: the recording is the log.
    port, address = udp()
    vehicle, out = Vehicle(ulog, address), folder / "whole.ulg"
    status, errors = record(vehicle, f"udp:127.0.0.1:{port}", out)
    differences = same(out.read_bytes(), ulog + COUNTERS)
    differences += [] if status == 0 else [f"{status}: {errors}"]
    tally.check("udp without loss", differences, f"{len(ulog)} bytes")
    tally.check("stopped", [] if vehicle.is_stopped.is_set() else ["no LOGGING_STOP"])
    tally.check("heartbeats", [] if "HEARTBEAT" in vehicle.events else vehicle.events)
    tally.check("pyulog", read_by_pyulog(out, []))

    # Loss, reordering and duplicates.
    for seed in range(3):
        lost = losses(ulog, 25, seed)
        port, address = udp()
        vehicle = Vehicle(ulog, address, lost=lost, shuffle=12, seed=seed)
        out = folder / f"lossy{seed}.ulg"
        status, errors = record(vehicle, f"udp:127.0.0.1:{port}", out)
        want, dropouts = expected(ulog, lost)
        want += COUNTERS
        differences = same(out.read_bytes(), want)
        if status != 3 or f"lost: {len(lost)} packets" not in errors:
            differences.append(f"{status}: {errors}")
        tally.check("udp with loss", differences, f"{len(lost)} packets lost, {dropouts}")
        tally.check("pyulog with loss", read_by_pyulog(out, dropouts))
        # The sent frames as a telemetry log.
        tlog, places = tlog_of(vehicle, broken={40, 900})
        (folder / f"lossy{seed}.tlog").write_bytes(tlog)
        made = folder / f"tlog{seed}.ulg"
        process = recorder(folder / f"lossy{seed}.tlog", made)
        _, errors = process.communicate(timeout=60)
        differences = same(made.read_bytes(), want)
        differences += [f"{p} not in {errors}" for p in places if f"{p[0]}..{p[1]}" not in errors]
        tally.check("tlog", differences, f"{len(tlog)} bytes, status {process.returncode}")

    # More than 65536 packets: the numbers wrap around.
    long = bytearray(ulog)
    data = b"".join(ulog[at:end] for at, end in messages(ulog) if ulog[at + 2] == ord("D"))
    while len(long) < 66_000 * DATA:
        long += data
    long = bytes(long)
    vehicle = Vehicle(long, None)
    link, out = bytearray(), folder / "long.tlog"
    for sequence, first, part, is_acknowledged in packets(long):
        kind = "logging_data_acked" if is_acknowledged else "logging_data"
        encode = getattr(vehicle.link, f"{kind}_encode")
        values = list(part) + [0] * (DATA - len(part))
        message = encode(255, 155, sequence % 65536, len(part), first, values)
        link += struct.pack(">Q", 10**15 + sequence * 1000) + message.pack(vehicle.link)
    out.write_bytes(link)
    process = recorder(out, folder / "long.ulg")
    _, errors = process.communicate(timeout=120)
    differences = same((folder / "long.ulg").read_bytes(), long)
    differences += [] if process.returncode == 0 else [errors]
    tally.check("wrap-around", differences, f"{len(long)} bytes")

    # A byte stream, and a killed program: the file is a valid ULog of all received packets.
    with socket.create_server(("127.0.0.1", 0)) as server:
        vehicle, out = Vehicle(ulog, None, tcp=server), folder / "killed.ulg"
        source = f"tcp:127.0.0.1:{server.getsockname()[1]}"
        status, errors = record(vehicle, source, out, end=signal.SIGKILL)
        tally.check("tcp, killed", same(out.read_bytes(), ulog), f"status {status}")
        tally.check("pyulog after a kill", read_by_pyulog(out, []))

    # A serial port.
    ours, theirs = os.openpty()
    tty.setraw(ours)
    vehicle, out = Vehicle(ulog, None, serial=ours), folder / "serial.ulg"
    status, errors = record(vehicle, f"serial:{os.ttyname(theirs)}:921600", out)
    differences = same(out.read_bytes(), ulog + COUNTERS)
    differences += [] if status == 0 else [f"{status}: {errors}"]
    tally.check("serial", differences, f"status {status}")

    # A program that follows the recording prints each record once.
    port, address = udp()
    vehicle, out = Vehicle(ulog, address, rate=2000), folder / "followed.ulg"
    process = recorder(f"udp:127.0.0.1:{port}", out)
    vehicle.start()
    while not (out.exists() and out.stat().st_size >= 16):
        time.sleep(0.01)
    with open(folder / "followed.jsonl", "wb") as lines:
        command = [os.environ["LOGTOOL"], "--quiet", "cat", str(out), "--follow", "--json"]
        follower = subprocess.Popen(command, stdout=lines)
        vehicle.is_done.wait(120)
        time.sleep(0.8)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        time.sleep(1)
        follower.send_signal(signal.SIGINT)
        status = follower.wait(timeout=60)
    vehicle.end()
    followed = (folder / "followed.jsonl").read_text()
    whole = run("cat", out, "--json")
    differences = [] if followed == whole else [f"{len(followed)} bytes, not {len(whole)}"]
    differences += [] if status == 0 else [f"status {status}"]
    tally.check("follow", differences, f"{len(whole.splitlines())} records")

    # Another stream runs already, and is stopped first.
    port, address = udp()
    vehicle, out = Vehicle(ulog, address), folder / "restarted.ulg"
    vehicle.has_earlier_stream = True
    status, errors = record(vehicle, f"udp:127.0.0.1:{port}", out, "--restart")
    differences = same(out.read_bytes(), ulog + COUNTERS) if out.exists() else ["no file"]
    differences += [] if status == 0 else [f"{status}: {errors}"]
    tally.check("restart", differences, f"status {status}")

    # A duration ends the recording.
    port, address = udp()
    vehicle, out = Vehicle(ulog, address, rate=400), folder / "short.ulg"
    process = recorder(f"udp:{port}", out, "--duration", "2s")
    vehicle.start()
    # The vehicle only reads commands when it has sent everything.
    _, errors = process.communicate(timeout=60)
    vehicle.end()
    made = out.read_bytes()
    is_prefix = 0 < len(made) < len(ulog) and ulog.startswith(made)
    is_whole = any(end == len(made) for _, end in messages(ulog))
    tally.check("duration", [] if is_prefix and is_whole else [f"{len(made)} bytes: {errors}"])

    # Refusals.
    for answer, text in [
        (mavlink.MAV_RESULT_DENIED, "denies the start"),
        (mavlink.MAV_RESULT_UNSUPPORTED, "does not start a log stream: unsupported"),
        (mavlink.MAV_RESULT_TEMPORARILY_REJECTED, "--restart"),
    ]:
        port, address = udp()
        vehicle, out = Vehicle(ulog[:16], address), folder / "refused.ulg"
        vehicle.start_answers = [answer]
        vehicle.run = lambda vehicle=vehicle: refuse(vehicle)
        process = recorder(f"udp:{port}", out, "--timeout", "2s")
        vehicle.start()
        _, errors = process.communicate(timeout=60)
        vehicle.end()
        is_right = process.returncode == 1 and text in errors and not out.exists()
        tally.check("refusal", [] if is_right else [f"{process.returncode}: {errors}"], text)


def refuse(vehicle):
    vehicle.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    vehicle.socket.bind(("127.0.0.1", 0))
    vehicle.last_heartbeat = 0
    while not vehicle.is_over:
        vehicle.heartbeat()
        if vehicle.take(lambda m: is_command(m, START)):
            vehicle.send(vehicle.link.command_ack_encode(START, vehicle.start_answers[0]))


def main():
    tally = Tally("mavlink", [])
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        check(tally, Path(folder))
    print("\n".join(tally.lines))
    print(f"{tally.passed} passed, {tally.failed} failed")
    sys.exit(1 if tally.failed else 0)


if __name__ == "__main__":
    main()
