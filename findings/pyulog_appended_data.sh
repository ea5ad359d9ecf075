#!/usr/bin/env bash
# A ULog may state where data were appended to it, e.g. a crash dump after a restart. Appended messages
# are any messages of the data section, so they may belong to a subscription from before.
#
# Version:  pyulog 1.3.0 (PyPI)
# Expected: the values 1, 2, 3, 4, as from the same log that does not state where 3 and 4 were appended
# Seen:     1, 2: the subscriptions are forgotten at the place, the appended messages are dropped, and
#           the log is called corrupt
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pyulog==1.3.0
"$folder/venv/bin/python" - <<'EOF'
import io
import struct

from pyulog import ULog


def message(kind, payload):
    return struct.pack("<HB", len(payload), ord(kind)) + payload


def flags(appended_at):
    incompatible = 1 if appended_at else 0
    bits = bytes(8) + bytes([incompatible]) + bytes(7)
    return message("B", bits + struct.pack("<3Q", appended_at, 0, 0))


def values(is_stated):
    header = b"ULog\x01\x12\x35\x01" + bytes(8)
    topic = message("F", b"t:uint64_t timestamp;int32_t x;") + message("A", bytes(3) + b"t")
    data = [message("D", struct.pack("<HQi", 0, x * 1_000_000, x)) for x in range(1, 5)]
    before = topic + data[0] + data[1]
    appended_at = len(header + flags(0) + before) if is_stated else 0
    log = ULog(io.BytesIO(header + flags(appended_at) + before + data[2] + data[3]))
    return log.get_dataset("t").data["x"].tolist(), log.file_corruption


plain, stated = values(False), values(True)
print("expected", plain, "seen", stated)
if (plain, stated) != (([1, 2, 3, 4], False), ([1, 2], True)):
    raise SystemExit("the behaviour has changed")
EOF
