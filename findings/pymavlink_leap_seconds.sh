#!/usr/bin/env bash
# A DataFlash log of ArduPilot has the GPS week and the milliseconds in it. GPS time has no leap seconds:
# it was 16 s ahead of UTC from July 2012, 17 s from July 2015, and is 18 s ahead since 2017.
#
# Version:  pymavlink 2.4.50 (PyPI)
# Expected: 2014-07-01 12:00:00 and 2020-07-01 12:00:00, the times of reception in UTC
# Seen:     2014-07-01 11:59:58: 18 s are subtracted whatever the year, so a flight before 2017 does not
#           match the times of its photos
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pymavlink==2.4.50
"$folder/venv/bin/python" - "$folder" <<'EOF'
import struct
import sys
from datetime import datetime, timezone

from pymavlink import mavutil

LAYOUT, COLUMNS = b"QBIHBcLLefff", b"TimeUS,Status,GMS,GWk,NSats,HDop,Lat,Lng,Alt,Spd,GCrs,VZ"


def definition(kind, length, name, layout, columns):
    return b"\xa3\x95\x80" + struct.pack("<BB4s16s64s", kind, length, name, layout, columns)


def fix(micros, week, millis):
    values = (micros, 3, millis, week, 10, 100, 0, 0, 0, 0.0, 0.0, 0.0)
    return b"\xa3\x95\x82" + struct.pack("<QBIHBhiiifff", *values)


def first_time(utc, leap_seconds):
    seconds = int((utc - datetime(1980, 1, 6, tzinfo=timezone.utc)).total_seconds()) + leap_seconds
    week, rest = divmod(seconds, 7 * 86_400)
    fixes = [fix(1_000_000 + 200_000 * i, week, rest * 1_000 + 200 * i) for i in range(3)]
    log = definition(0x80, 89, b"FMT", b"BBnNZ", b"Type,Length,Name,Format,Columns")
    log += definition(0x82, len(fixes[0]), b"GPS", LAYOUT, COLUMNS) + b"".join(fixes)
    path = f"{sys.argv[1]}/{utc.year}.bin"
    with open(path, "wb") as file:
        file.write(log)
    message = mavutil.mavlink_connection(path).recv_match(type="GPS")
    return datetime.fromtimestamp(message._timestamp, timezone.utc)


old = datetime(2014, 7, 1, 12, tzinfo=timezone.utc)
new = datetime(2020, 7, 1, 12, tzinfo=timezone.utc)
seen_old, seen_new = first_time(old, 16), first_time(new, 18)
print("expected", old, new, "seen", seen_old, seen_new)
if (old - seen_old).total_seconds() != 2 or seen_new != new:
    raise SystemExit("the behaviour has changed")
EOF
