#!/usr/bin/env bash
# The data section of an MCAP file may hold both: messages in chunks, and messages beside them.
#
# Version:  mcap 1.6.0 (PyPI)
# Expected: both messages, from an input that can be sought and from one that cannot
# Seen:     with a seekable input, the message beside the chunk is skipped without an error, although the
#           statistics of the same reader count two messages
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q mcap==1.6.0
"$folder/venv/bin/python" - <<'EOF'
import io
import struct

from mcap.reader import make_reader


def record(kind, body):
    return bytes([kind]) + struct.pack("<Q", len(body)) + body


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def message(time):
    return record(5, struct.pack("<HIQQ", 1, time, time, time) + b"{}")


magic = b"\x89MCAP0\r\n"
header = record(1, text("") + text("x"))
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
statistics = record(11, struct.pack("<QHIIIIQQIHQ", 2, 1, 1, 0, 0, 1, 1, 2, 10, 1, 2))
footer = record(2, struct.pack("<QQI", len(data), 0, 0))
file = data + schema + channel + statistics + chunk_index + footer + magic


class Pipe(io.BytesIO):
    def seekable(self):
        return False


def times(input):
    return [message.log_time for _, _, message in make_reader(input).iter_messages()]


count = make_reader(io.BytesIO(file)).get_summary().statistics.message_count
seen = (times(io.BytesIO(file)), times(Pipe(file)), count)
print("expected ([1, 2], [1, 2], 2), seen", seen)
if seen != ([1], [1, 2], 2):
    raise SystemExit("the behaviour has changed")
EOF
