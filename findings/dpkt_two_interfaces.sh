#!/usr/bin/env bash
# A pcapng file of two interfaces has a resolution of time for each (option if_tsresol): microseconds
# for one, and nanoseconds for the other, for example.
#
# Version:  dpkt 1.9.8 (PyPI)
# Expected: two packets that are a quarter of a second apart, as tshark 4.0.17 shows them
# Seen:     the resolution of the first interface is used for all packets: the time of the second
#           packet is 1,000 times too large, without an error
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q dpkt==1.9.8
"$folder/venv/bin/python" - <<'EOF'
import io
import struct

import dpkt


def block(kind, body):
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def interface(resolution):
    option = struct.pack("<HHB3x", 9, 1, resolution)
    return block(1, struct.pack("<HHI", 1, 0, 65535) + option + bytes(4))


def packet(number, ticks):
    head = struct.pack("<5I", number, ticks >> 32, ticks & 0xFFFFFFFF, 60, 60)
    return block(6, head + bytes(60))


start = 1_700_000_000
section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
first = packet(0, start * 10**6 + 250_000)
second = packet(1, start * 10**9 + 500_000_000)
file = section + interface(6) + interface(9) + first + second
times = [time for time, _ in dpkt.pcapng.Reader(io.BytesIO(file))]
print("expected", [start + 0.25, start + 0.5], "seen", times)
if times != [start + 0.25, (start + 0.5) * 1000]:
    raise SystemExit("the behaviour has changed")
EOF
