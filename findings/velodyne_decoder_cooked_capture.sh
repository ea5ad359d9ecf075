#!/usr/bin/env bash
# `tcpdump -i any` writes frames with the "cooked" header of Linux (link type 113) instead of
# Ethernet's. So does a capture of a lidar on a computer with several network cards.
#
# Version:  velodyne-decoder 3.1.0 (PyPI), with dpkt 1.9.8
# Expected: the same three scans of a VLP-16 as from the same packets in Ethernet frames (tshark 4.0.17
#           finds 200 UDP packets in both), or an error that names the link type
# Seen:     no scans, and no error: every frame is read as Ethernet
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q velodyne-decoder==3.1.0 dpkt==1.9.8
"$folder/venv/bin/python" - "$folder" <<'EOF'
import struct
import sys

import velodyne_decoder


def payload(number):
    shots = struct.pack("<HB", 2500, 9) * 32
    azimuths = [(number * 12 + block) * 40 % 36000 for block in range(12)]
    blocks = b"".join(struct.pack("<HH", 0xEEFF, azimuth) + shots for azimuth in azimuths)
    return blocks + struct.pack("<IBB", number * 1327, 0x37, 0x22)


def ip(data):
    udp = struct.pack(">4H", 2368, 2368, 8 + len(data), 0) + data
    words = [0x4500, 20 + len(udp), 1, 0, 0x4011, 0, 0xC0A8, 0x01C9, 0xFFFF, 0xFFFF]
    total = sum(words)
    words[5] = 0xFFFF - (total % 0x10000 + total // 0x10000)
    return struct.pack(">10H", *words) + udp


def ethernet(data):
    return bytes([255] * 6 + [2, 0, 0, 0, 0, 1]) + b"\x08\x00" + ip(data)


def cooked(data):
    return struct.pack(">3H8BH", 1, 1, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x0800) + ip(data)


def scans(link_type, frame):
    path = f"{sys.argv[1]}/{link_type}.pcap"
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type))
        for number in range(200):
            data = frame(payload(number))
            head = struct.pack("<4I", 1_700_000_000, number * 1327, len(data), len(data))
            file.write(head + data)
    config = velodyne_decoder.Config(model=velodyne_decoder.Model.VLP16)
    return len(list(velodyne_decoder.read_pcap(path, config)))


seen = (scans(1, ethernet), scans(113, cooked))
print("expected (3, 3) scans, seen", seen)
if seen != (3, 0):
    raise SystemExit("the behaviour has changed")
EOF
