"""Makes long captures from short ones by repeating their packets with later times."""

import struct
import sys


def packets(path, size=None):
    """Returns the frames of a pcap file (only those of `size` bytes, if given): microseconds, bytes."""
    data, at = path.read_bytes(), 24
    magic = struct.unpack_from("<I", data)[0]
    unit = {0xA1B2C3D4: 1, 0xA1B23C4D: 1000}.get(magic)
    if unit is None:
        sys.exit(f"{path} is no little-endian pcap file")
    while at + 16 <= len(data):
        seconds, part, length = struct.unpack_from("<3I", data, at)
        if size in (None, length):
            yield seconds * 1_000_000 + part // unit, data[at + 16 : at + 16 + length]
        at += 16 + length


def repeat(path, out, megabytes, size=None, clock=False):
    """Repeats the packets of `path` in `out` until it has the given length; with `clock`, the clock of the lidar continues, too."""
    all_of_it = list(packets(path, size))
    span = all_of_it[-1][0] - all_of_it[0][0]
    span += span // (len(all_of_it) - 1)
    length = sum(16 + len(frame) for _, frame in all_of_it)
    with open(out, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for turn in range(max(1, megabytes * 1_000_000 // length)):
            for micros, frame in all_of_it:
                frame = later(frame, turn * span) if clock else frame
                seconds, micros = divmod(micros + turn * span, 1_000_000)
                file.write(struct.pack("<4I", seconds, micros, len(frame), len(frame)) + frame)


def later(frame, micros):
    """A frame with a data packet (42 bytes of heads, 1,206 of data, the microseconds of the hour at 1,200) that much later."""
    if len(frame) != 1248:
        return frame
    told = struct.unpack_from("<I", frame, 1242)[0]
    return frame[:1242] + struct.pack("<I", (told + micros) % 3_600_000_000) + frame[1246:]
