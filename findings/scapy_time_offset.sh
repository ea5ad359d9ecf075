#!/usr/bin/env bash
# The times of a pcapng interface count from its option if_tsoffset, in seconds of Unix time. So a
# device can write times since its start, and the start once.
#
# Version:  scapy 2.8.0 (PyPI)
# Expected: 1700000000.5, as tshark 4.0.17 and dpkt 1.9.8 show
# Seen:     0.5: the offset is ignored without an error
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q scapy==2.8.0
"$folder/venv/bin/python" - <<'EOF'
import io
import struct

from scapy.utils import PcapNgReader


def block(kind, body):
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


start = 1_700_000_000
section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
offset = struct.pack("<HHq", 14, 8, start)
interface = block(1, struct.pack("<HHI", 1, 0, 65535) + offset + bytes(4))
packet = block(6, struct.pack("<5I", 0, 0, 500_000, 60, 60) + bytes(60))
times = [float(packet.time) for packet in PcapNgReader(io.BytesIO(section + interface + packet))]
print("expected", [start + 0.5], "seen", times)
if times != [0.5]:
    raise SystemExit("the behaviour has changed")
EOF
