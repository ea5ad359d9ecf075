"""Logs of lidars of which one thing grows: captures of a VLP-16, and `.vel` logs.

Each function returns the bytes of a log that has `n` of that thing.
"""

import struct

START = 1_717_236_000
PCAP = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)


def packet(index, factory=b"\x37\x22"):
    """The data of a VLP-16 that turns ten times a second, 1.327104 ms after the one before."""
    micros = index * 1327.104
    blocks = b""
    for block in range(12):
        azimuth = int((micros + 110.592 * block) * 0.36) % 36_000
        blocks += struct.pack("<HH", 0xEEFF, azimuth) + b"\xe8\x03\x40" * 32
    return blocks + struct.pack("<I", int(micros) % 3_600_000_000) + factory


def frame(payload, source=(192, 168, 1, 201), port=2368, identification=0, piece=0, whole=None):
    """An Ethernet frame with `payload` in UDP, or a piece of a datagram that lies in `piece`."""
    udp = struct.pack(">HHHH", port, port, 8 + len(payload), 0) if whole is None else b""
    body = udp + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(body), identification, piece, 64, 17, 0, bytes(source), b"\xff" * 4)
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF) + ip[12:]
    return b"\xff" * 6 + b"\x60\x76\x88\x00\x00\x01\x08\x00" + ip + body


def captured(index, data):
    micros = int(index * 1327.104)
    return struct.pack("<IIII", START + micros // 10**6, micros % 10**6, len(data), len(data)) + data


def capture(frames):
    return PCAP + b"".join(captured(index, data) for index, data in enumerate(frames))


def packets(n):
    return capture(frame(packet(i)) for i in range(n))


def senders(n):
    """Each packet is of another lidar."""
    return capture(frame(packet(i), source=(10, i >> 16 & 255, i >> 8 & 255, i & 255)) for i in range(n))


def ports(n):
    return capture(frame(packet(i), port=1024 + i % 60_000) for i in range(n))


def foreign_frames(n):
    return capture(frame(b"not of a lidar", port=5000 + i % 7) for i in range(n))


def pieces(n):
    """Of `n` datagrams, only the first piece came."""
    data = packet(0)[:1184]
    udp = struct.pack(">HHHH", 2368, 2368, 8 + 1206, 0)
    return capture(frame(udp + data, identification=i & 0xFFFF, piece=0x2000, whole=False) for i in range(n))


def damaged_places(n):
    frames = (captured(i, frame(packet(i))) + b"\xff" * 40 for i in range(n))
    return PCAP + b"".join(frames)


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
INTERFACE = block(1, struct.pack("<HHI", 1, 0, 65535))


def enhanced(index, data, interface=0):
    micros = START * 10**6 + int(index * 1327.104)
    head = struct.pack("<IIIII", interface, micros >> 32, micros & 0xFFFFFFFF, len(data), len(data))
    return block(6, head + data)


def next_generation(n):
    return SECTION + INTERFACE + b"".join(enhanced(i, frame(packet(i))) for i in range(n))


def interfaces(n):
    return SECTION + INTERFACE * n + b"".join(enhanced(i, frame(packet(i)), i) for i in range(n))


def sections(n):
    return b"".join(SECTION + INTERFACE + enhanced(i, frame(packet(i))) for i in range(n))


def vel_message(kind, millis, data, version=100):
    return struct.pack("<IBIid", 17 + len(data), 0x49, kind, version, millis) + data


def vel(messages, entries=()):
    head = b"\xa4VEL" + struct.pack("<HHI", 1, 1, len(entries))
    return head + b"".join(struct.pack("<q", entry) for entry in entries) + b"".join(messages)


def vel_packets(n):
    data = (struct.pack("<I", 1) + packet(i) for i in range(n))
    return vel(vel_message(0x3112B, i * 1.327104, each) for i, each in enumerate(data))


def vel_poses(n):
    return vel(vel_message(0x1E342, 10.0 * i, struct.pack("<7f", 1, 0, 0, 0, 0, 0, 9.81)) for i in range(n))


def vel_unknown_types(n):
    return vel(vel_message(0x20000 + i, 10.0 * i, b"unknown") for i in range(n))


def vel_damaged_places(n):
    pose = struct.pack("<7f", 1, 0, 0, 0, 0, 0, 9.81)
    return vel(vel_message(0x1E342, 10.0 * i, pose) + b"\xee" * 30 for i in range(n))


def vel_index(n):
    """An index of `n` seconds, all of which point to the first message."""
    pose = struct.pack("<7f", 1, 0, 0, 0, 0, 0, 9.81)
    return vel((vel_message(0x1E342, 10.0 * i, pose) for i in range(1000)), [12 + 8 * n] * n)


def calibration(n):
    """A calibration that has each of 64 lasers again and again."""
    lasers = "".join(f"- {{laser_id: {i % 64}, rot_correction: 0.01, vert_correction: 0.01, dist_correction: 1.0}}\n" for i in range(n))
    return f"lasers:\n{lasers}num_lasers: 64\n".encode()


def calibration_xml(n):
    entries = "".join(f"<item><px><id_>{i % 64}</id_><rotCorrection_>1</rotCorrection_></px></item>" for i in range(n))
    return f"<DB><points_>{entries}</points_></DB>".encode()
