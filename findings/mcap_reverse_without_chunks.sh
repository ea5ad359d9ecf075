#!/usr/bin/env bash
# An MCAP file needs no chunks: its messages may lie directly in the data section, and its summary has
# no chunk indexes.
#
# Version:  mcap 1.6.0 (Python, PyPI)
# Expected: the times 3, 2, 1 if the messages are read with `reverse=True`, as from a file with chunks
# Seen:     1, 2, 3: the option is ignored without an error, so the first message read is the oldest one
#           and not the latest
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q mcap==1.6.0
"$folder/venv/bin/python" - <<'EOF'
import io

from mcap.reader import make_reader
from mcap.writer import Writer


def latest_first(use_chunking):
    file = io.BytesIO()
    writer = Writer(file, use_chunking=use_chunking)
    writer.start()
    channel = writer.register_channel("/t", "json", 0)
    for time in (1, 2, 3):
        writer.add_message(channel, time, b"{}", time)
    writer.finish()
    reader = make_reader(io.BytesIO(file.getvalue()))
    return [message.log_time for _, _, message in reader.iter_messages(reverse=True)]


expected, seen = latest_first(True), latest_first(False)
print("expected", expected, "seen", seen)
if (expected, seen) != ([3, 2, 1], [1, 2, 3]):
    raise SystemExit("the behaviour has changed")
EOF
