#!/usr/bin/env bash
# A Simple Packet Block of pcapng holds the bytes of a packet, and no time.
#
# Version:  scapy 2.8.0 (PyPI)
# Expected: no time, as tshark 4.0.17 shows, or an error
# Seen:     the packet has the time at which the file is read: it looks like a measured one, and is
#           another one whenever the file is read
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q scapy==2.8.0
"$folder/venv/bin/python" - <<'EOF'
import io
import struct
import time

from scapy.utils import PcapNgReader


def block(kind, body):
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
interface = block(1, struct.pack("<HHI", 1, 0, 65535))
packet = block(3, struct.pack("<I", 60) + bytes(60))
file = section + interface + packet


def read():
    before = time.time()
    seen = float(next(iter(PcapNgReader(io.BytesIO(file)))).time)
    return before <= seen <= time.time(), seen


(first_is_now, first) = read()
time.sleep(0.1)
(second_is_now, second) = read()
print("expected no time, seen", first, "and then", second)
if not (first_is_now and second_is_now and first < second):
    raise SystemExit("the behaviour has changed")
EOF
