"""Compares `logtool geotag` with Pillow, which reads the tags of the copies, and with pyulog and NumPy,
which interpolate the positions. The logs and the photos are made here: the logs byte by byte, as
the specification of ULog says, and the photos by Pillow.

Usage: geotag.py
"""

import csv
import datetime
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import os
from PIL import Image
from PIL.ExifTags import IFD
from pyulog import ULog
from tally import Tally
from ulog_maker import MAGIC, message

FORMATS = {
    "camera_capture": "uint64_t timestamp;uint64_t timestamp_utc;double lat;double lon;uint32_t seq;"
    "float alt;float ground_distance;float[4] q;int8_t result;",
    "camera_trigger": "uint64_t timestamp;uint64_t timestamp_utc;uint32_t seq;bool feedback;",
    "vehicle_global_position": "uint64_t timestamp;double lat;double lon;float alt;",
    "vehicle_gps_position": "uint64_t timestamp;uint64_t time_utc_usec;int32_t lat;int32_t lon;"
    "int32_t alt;uint8_t fix_type;",
}
PACKED = {
    "camera_capture": "<QQddIff4fb",
    "camera_trigger": "<QQI?",
    "vehicle_global_position": "<Qddf",
    "vehicle_gps_position": "<QQiiiB",
}
BOOT_UTC = int(datetime.datetime(2024, 6, 1, 10, tzinfo=datetime.timezone.utc).timestamp() * 1e6)
#: Seconds since boot at which the camera took photos: irregular, as in a hand-flown survey.
SHOTS = [12.0, 14.31, 16.9, 21.05, 22.4, 27.77, 30.0, 33.63, 35.2, 39.9]
EXIF_DATE, EXIF_FRACTION = 0x9003, 0x9291


def ulog(records):
    """A log with records `(topic, values...)`, whose first value is the time in microseconds."""
    log = [MAGIC + struct.pack("<Q", 5_000_000), message("B", bytes(40))]
    topics = sorted({record[0] for record in records})
    log += [message("F", f"{topic}:{FORMATS[topic]}".encode()) for topic in topics]
    for index, topic in enumerate(topics):
        log.append(message("A", struct.pack("<BH", 0, index) + topic.encode()))
    for topic, *values in sorted(records, key=lambda record: record[1]):
        data = struct.pack(PACKED[topic], *values)
        log.append(message("D", struct.pack("<H", topics.index(topic)) + data))
    return b"".join(log)


def place(seconds):
    """The position at a time: a path in the south-west."""
    return -33.85 + seconds * 1e-5, -70.6 - seconds * 2e-5, 520.0 + seconds / 10


def track(topic="vehicle_global_position", start=10.0):
    times = np.arange(start, 45, 0.2)
    for seconds in times:
        latitude, longitude, altitude = place(seconds)
        micros = int(seconds * 1e6)
        if topic == "vehicle_global_position":
            yield topic, micros, latitude, longitude, altitude
        else:
            scaled = (int(latitude * 1e7), int(longitude * 1e7), int(altitude * 1e3))
            yield topic, micros, BOOT_UTC + micros, *scaled, 3


def captures(times, result=1):
    for index, seconds in enumerate(times):
        latitude, longitude, altitude = place(seconds)
        yaw = np.radians(10 * index)
        attitude = (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
        micros = int(seconds * 1e6)
        yield (
            "camera_capture", micros, BOOT_UTC + micros, latitude, longitude, index + 1, altitude,
            40.0, *attitude, result,
        )


def triggers(times, feedback=False):
    for index, seconds in enumerate(times):
        yield "camera_trigger", int(seconds * 1e6), 0, index, feedback


def photos(folder, times, ahead=7200.0, fraction=False, dates=True, camera_tags=True):
    """Photos of a camera whose clock is `ahead` seconds ahead of UTC."""
    folder.mkdir()
    for index, seconds in enumerate(times):
        image = Image.new("RGB", (16, 12), (index * 20 % 256, 90, 40))
        exif = Image.Exif()
        if camera_tags:
            exif[0x010F], exif[0x0110] = "Maker", f"Model {index}"
            exif.get_ifd(IFD.Exif)[0x927C] = b"maker note with \x00 bytes" * 9
        if dates:
            unix = BOOT_UTC / 1e6 + seconds + ahead
            date = datetime.datetime.fromtimestamp(unix, datetime.timezone.utc)
            exif.get_ifd(IFD.Exif)[EXIF_DATE] = date.strftime("%Y:%m:%d %H:%M:%S")
            if fraction:
                exif.get_ifd(IFD.Exif)[EXIF_FRACTION] = f"{date.microsecond // 10000:02}"
        # The names wrap around, as those of cameras do.
        image.save(folder / f"DSC_{(9995 + index) % 10000:04}.JPG", exif=exif)


def geotag(*arguments):
    command = [os.environ["LOGTOOL"], "geotag", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def degrees(values, reference):
    degree, minute, second = map(float, values)
    sign = -1 if reference in "SW" else 1
    return sign * (degree + minute / 60 + second / 3600)


def read_tags(path):
    """The tags of a photo as Pillow reads them: latitude, longitude, altitude, UTC, direction."""
    with Image.open(path) as image:
        image.load()
        gps = image.getexif().get_ifd(IFD.GPSInfo)
    if not gps:
        return None
    utc = None
    if 29 in gps:
        hour, minute, second = map(float, gps[7])
        day = datetime.datetime.strptime(gps[29], "%Y:%m:%d").replace(tzinfo=datetime.timezone.utc)
        utc = day.timestamp() + hour * 3600 + minute * 60 + second
    # Pillow 10 reads a byte as bytes.
    below = gps.get(5, 0)
    below = below[0] if isinstance(below, bytes) else below
    return {
        "latitude": degrees(gps[2], gps[1]),
        "longitude": degrees(gps[4], gps[3]),
        "altitude": float(gps[6]) * (-1 if below == 1 else 1),
        "utc": utc,
        "direction": float(gps[17]) if 17 in gps else None,
        "datum": gps[18],
    }


def expected(path, seconds):
    """The tags that a shot should have, by pyulog's values and NumPy's interpolation."""
    data = {one.name: one.data for one in ULog(str(path)).data_list}
    micros = int(seconds * 1e6)
    capture, direction = data.get("camera_capture"), None
    if capture is not None:
        row = int(np.flatnonzero(capture["timestamp"] == micros)[0])
        values = [float(capture[name][row]) for name in ("lat", "lon", "alt")]
        q = [float(capture[f"q[{index}]"][row]) for index in range(4)]
        yaw = np.arctan2(2 * (q[0] * q[3] + q[1] * q[2]), 1 - 2 * (q[2] ** 2 + q[3] ** 2))
        direction = np.degrees(yaw) % 360
    else:
        scale = (1, 1, 1)
        position = data.get("vehicle_global_position")
        if position is None:
            position, scale = data["vehicle_gps_position"], (1e7, 1e7, 1e3)
        times = position["timestamp"].astype(np.float64)
        values = [
            float(np.interp(micros, times, position[name].astype(np.float64) / by))
            for name, by in zip(("lat", "lon", "alt"), scale, strict=True)
        ]
    return *values, direction


def differences(log, folder, source, names, shots, has_utc=True):
    """Compares the copies in `folder` with the shots of their photos."""
    for name, seconds in zip(names, shots, strict=True):
        tags = read_tags(folder / name)
        if tags is None:
            yield f"{name}: no tags"
            continue
        latitude, longitude, altitude, direction = expected(log, seconds)
        # A millionth of a second of arc, and millimetres.
        for what, found, want, limit in (
            ("latitude", tags["latitude"], latitude, 2e-10),
            ("longitude", tags["longitude"], longitude, 2e-10),
            ("altitude", tags["altitude"], altitude, 6e-4),
            ("direction", tags["direction"], direction, 6e-3),
            ("utc", tags["utc"], BOOT_UTC / 1e6 + seconds if has_utc else None, 2e-6),
        ):
            if (found is None) != (want is None) or found is not None and abs(found - want) > limit:
                yield f"{name}: {what} is {found}, not {want}"
        with Image.open(source / name) as old, Image.open(folder / name) as new:
            if old.tobytes() != new.tobytes():
                yield f"{name}: other pixels"
            before, after = old.getexif(), new.getexif()
            same = [before.get(tag) == after.get(tag) for tag in (0x010F, 0x0110)]
            details = [exif.get_ifd(IFD.Exif) for exif in (before, after)]
            if not all(same) or dict(details[0]) != dict(details[1]):
                yield f"{name}: other tags of the camera"


def names_of(folder):
    return sorted(path.name for path in folder.glob("*.JPG"))


def in_time_order(count):
    return [f"DSC_{(9995 + index) % 10000:04}.JPG" for index in range(count)]


def check_outputs(folder, count):
    """The table and the placemarks have all photos."""
    with open(folder / "photos.csv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["status"] == "tagged"]
    if len(rows) != count:
        yield f"{len(rows)} rows, not {count}"
    root = ElementTree.parse(folder / "photos.kml").getroot()
    space = {"kml": "http://www.opengis.net/kml/2.2"}
    marks = {
        mark.find("kml:name", space).text: mark.find(".//kml:coordinates", space).text
        for mark in root.iterfind(".//kml:Placemark", space)
    }
    for row in rows:
        want = [float(row[name]) for name in ("longitude_deg", "latitude_deg", "altitude_m")]
        tags = read_tags(folder / row["photo"])
        if list(map(float, marks.get(row["photo"], "0,0,0").split(","))) != want:
            yield f"{row['photo']}: the placemark is {marks.get(row['photo'])}, not {want}"
        if abs(tags["latitude"] - want[1]) > 2e-10:
            yield f"{row['photo']}: the row has another latitude than the tag"


def main():
    tally = Tally("geotag", [])
    with tempfile.TemporaryDirectory(prefix="geotag-") as name:
        root = Path(name)
        global_track = list(track())
        logs = {
            "captures": [*captures(SHOTS), *global_track],
            "triggers": [*triggers(SHOTS), *global_track, *track("vehicle_gps_position")],
            "gps": [*triggers(SHOTS), *track("vehicle_gps_position")],
            "no_utc": [*triggers(SHOTS), *global_track],
            # The hot shoe reports each exposure 60 ms after its trigger.
            "feedback": [
                *triggers([time - 0.06 for time in SHOTS]), *triggers(SHOTS, True), *global_track,
            ],
            "failed": [*captures(SHOTS), *captures([25.0], result=0), *global_track],
        }
        for log, records in logs.items():
            (root / f"{log}.ulg").write_bytes(ulog(records))
        photos(root / "all", SHOTS)
        photos(root / "exact", SHOTS, ahead=-3.2, fraction=True)
        photos(root / "plain", SHOTS, dates=False, camera_tags=False)
        fewer = SHOTS[:3] + SHOTS[4:]
        photos(root / "fewer", fewer, ahead=5.35)
        photos(root / "more", [2.0, *SHOTS, 60.0], ahead=-100.0, fraction=True)

        order = in_time_order(len(SHOTS))
        for log in logs:
            path, out = root / f"{log}.ulg", root / f"out-{log}"
            status, text = geotag(root / "all", "-o", out, "--log", path)
            has_utc = log not in ("no_utc", "feedback")
            found = differences(path, out, root / "all", order, SHOTS, has_utc)
            tally.check(f"{log}: paired", [text] if status else found, f"{len(SHOTS)} photos")
            tally.check(f"{log}: table", [] if status else check_outputs(out, len(SHOTS)))
        cases = {
            "exact": (SHOTS, order, []),
            "plain": (SHOTS, names_of(root / "plain"), []),
            "fewer": (fewer, in_time_order(len(fewer)), []),
            "more": (SHOTS, in_time_order(12)[1:-1], ["--partial"]),
        }
        path = root / "captures.ulg"
        for case, (times, names, options) in cases.items():
            out = root / f"out-{case}"
            status, text = geotag(root / case, "-o", out, "--log", path, *options)
            wanted = 3 if options else 0
            found = differences(path, out, root / case, names, times)
            tally.check(f"photos {case}", found if status == wanted else [text])
        left = names_of(root / "out-more")
        tally.check("left out", [] if left == sorted(in_time_order(12)[1:-1]) else [str(left)])

        refused = {
            "more": [["12 photos and 10 shots in camera_capture", "more photos than shots"]],
            "fewer": [["9 photos and 10 shots", "they differ"], "--match", "sequence"],
            "all": [["no photo is within 1.000000 s of a shot"], "--offset", "12"],
        }
        for case, (words, *options) in refused.items():
            out = root / f"refused-{case}"
            status, text = geotag(root / case, "-o", out, "--log", path, *options)
            missing = [f"no {word!r} in {text}" for word in words if word not in text]
            if status != 1 or out.exists():
                missing.append(f"status {status}, {out.exists()}")
            tally.check(f"refused {case}", missing)
    print("\n".join(tally.lines))
    print(f"geotag: {tally.passed} passed, {tally.failed} failed")
    sys.exit(1 if tally.failed else 0)


main()
