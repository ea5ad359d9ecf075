"""Compares the tracks that logtool writes with the positions that pyulog and rosbags find
in the same logs, and the flight modes with those of pyulog.

KML and GPX are read by xml.etree, GeoJSON by json. Prints the number of checks; exits
non-zero where something differs. Needs the environment LOGTOOL, the program, and
LOGTOOL_SAMPLES, the folder of real logs.
"""

import json
import math
import os
import sys
import tempfile
import xml.etree.ElementTree as ET
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from logtool import run
from pyulog import ULog
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from tally import Tally

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"])
KML = {"k": "http://www.opengis.net/kml/2.2"}
GPX = {"g": "http://www.topografix.com/GPX/1/1"}
#: Latitude, longitude, altitude and fix, as PX4 has called them.
FIELDS = (
    ("lat", "lon", "alt", "fix_type"),
    ("latitude_deg", "longitude_deg", "altitude_msl_m", "fix_type"),
    ("receiver.latitude", "receiver.longitude", "receiver.altitude_msl", "receiver.fix_type"),
)


def ulog_tracks(path):
    """By the file that it should be: the fixes (lon, lat, alt, mode, nothing) in order."""
    log = ULog(str(path))
    modes = []
    try:
        modes = log.get_dataset("vehicle_status").list_value_changes("nav_state")
    except (KeyError, IndexError, ValueError):
        pass
    tracks = {}
    for data in log.data_list:
        columns = data.data
        found = [names for names in FIELDS if names[0] in columns and names[1] in columns]
        if not found:
            continue
        lat, lon, alt, fix = found[0]
        is_whole = columns[lat].dtype == np.int32
        fixes = []
        for row in range(len(columns[lat])):
            place = [columns[lon][row], columns[lat][row]]
            height = columns[alt][row] if alt in columns else None
            if is_whole:
                place = [int(value) / 1e7 for value in place]
                height = None if height is None else int(height) / 1e3
            place = [float(value) for value in place]
            known = columns[fix][row] >= 3 if fix in columns else True
            known = known and columns.get("lat_lon_valid", [1] * (row + 1))[row]
            if not known or not math.isfinite(sum(place)) or place == [0, 0]:
                continue
            if abs(place[0]) > 180 or abs(place[1]) > 90:
                continue
            if height is not None and not math.isfinite(height):
                height = None
            if height is not None and not is_whole:
                height = float(str(height))  # a float32 by its shortest text
            now = int(columns["timestamp"][row])
            at = [state for time, state in modes if time <= now] or [s for _, s in modes[:1]]
            fixes.append((*place, height, int(at[-1]) if at else None, None))
        if fixes:
            tail = f"_{data.multi_id}" if data.multi_id else ""
            tracks[data.name + tail] = fixes
    return tracks


def bag_tracks(path):
    """The same of a bag, with times in nanoseconds."""
    tracks = {}
    with AnyReader([path], default_typestore=get_typestore(Stores.ROS1_NOETIC)) as reader:
        wanted = [c for c in reader.connections if c.msgtype == "sensor_msgs/msg/NavSatFix"]
        for connection, time, raw in reader.messages(connections=wanted) if wanted else ():
            fix = reader.deserialize(raw, connection.msgtype)
            if fix.status.status < 0:
                continue
            height = fix.altitude if math.isfinite(fix.altitude) else None
            name = connection.topic.lstrip("/").replace("/", "_")
            entry = (fix.longitude, fix.latitude, height, None, time)
            tracks.setdefault(name, []).append(entry)
    return tracks


def number(text):
    return None if text is None else float(text)


def nanos(text):
    whole, part = text.removesuffix("Z").split(".")
    seconds = datetime.fromisoformat(whole).replace(tzinfo=timezone.utc).timestamp()
    return int(seconds) * 10**9 + int(part.ljust(9, "0"))


def position(values):
    lon, lat, *alt = [float(value) for value in values]
    return lon, lat, alt[0] if alt else None


def joined(stretches):
    """The fixes of stretches (mode, fixes), without those that only join two."""
    fixes = []
    for mode, line in stretches:
        if fixes and line[0][0] == fixes[-1][0] and fixes[-1][2] != mode:
            fixes.pop()
        fixes += [(place, time, mode) for place, time in line]
    return fixes


def kml(path):
    stretches = []
    for mark in ET.parse(path).getroot().iterfind("k:Document/k:Placemark", KML):
        shape = mark.find("k:LineString", KML)
        shape = mark.find("k:Point", KML) if shape is None else shape
        places = [position(t.split(",")) for t in shape.find("k:coordinates", KML).text.split()]
        heights = [place[2] is not None for place in places]
        assert (shape.find("k:altitudeMode", KML).text == "absolute") == all(heights)
        name = mark.find("k:name", KML).text
        color = mark.find(".//k:color", KML).text
        stretches.append(((name, color), [(place, None) for place in places]))
    return joined(stretches)


def gpx(path):
    fixes, mode = [], None
    for point in ET.parse(path).getroot().iterfind("g:trk/g:trkseg/g:trkpt", GPX):
        find = lambda name, point=point: point.findtext(f"g:{name}", None, GPX)
        mode = find("name") or mode
        time = find("time")
        place = (float(point.get("lon")), float(point.get("lat")), number(find("ele")))
        fixes.append((place, time and nanos(time), mode))
    return fixes


def geojson(path):
    stretches = []
    for feature in json.loads(path.read_text())["features"]:
        shape, about = feature["geometry"], feature["properties"]
        lines = shape["coordinates"]
        lines = [lines] if shape["type"] == "Point" else lines
        assert shape["type"] == "Point" or len(lines) >= 2
        times = about.get("coordTimes", [None] * len(lines))
        assert len(times) == len(lines)
        line = [(position(p), t and nanos(t)) for p, t in zip(lines, times)]
        stretches.append((about.get("mode"), line))
    return joined(stretches)


def compare(found, expected):
    """A sentence for each difference."""
    if len(found) != len(expected):
        yield f"{len(found)} positions, and {len(expected)} there"
    for at, ((place, time, _), (*there, _, then)) in enumerate(zip(found, expected)):
        if place != tuple(there):
            yield f"position {at}: {place}, and {there} there"
        if time is not None and then is not None and time != then:
            yield f"time {at}: {time}, and {then} there"
    # One mode of ours has to be one of theirs, and the other way round.
    ours, theirs = {}, {}
    for at, ((_, _, mode), (*_, state, _)) in enumerate(zip(found, expected)):
        if ours.setdefault(mode, state) != state or theirs.setdefault(state, mode) != mode:
            yield f"mode {at}: {mode} is {state} there"


def check(path, expected, tally):
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        for end, read in (("kml", kml), ("gpx", gpx), ("geojson", geojson)):
            out = Path(folder) / end
            run("convert", path, "-o", out, "--format", end)
            found = {file.stem: read(file) for file in sorted(out.iterdir())}
            tally.check(f"{end} files", sorted(found.keys() ^ expected.keys()))
            for name in sorted(found.keys() & expected.keys()):
                fixes = expected[name]
                tally.check(f"{end} {name}", compare(found[name], fixes), f"{len(fixes)}")


def main():
    readers = [(path, ulog_tracks) for path in sorted((SAMPLES / "ulog").glob("*.ulg"))]
    readers += [(ROOT / "testdata/quad_flight.ulg", ulog_tracks)]
    readers += [(ROOT / "testdata/rover.bag", bag_tracks)]
    bags = ("tilt_laser.bag", "robot_localization-test1.bag")
    readers += [(SAMPLES / "rosbag" / name, bag_tracks) for name in bags]
    passed = failed = 0
    for path, read in readers:
        expected = read(path)
        tally = Tally(path.name, ())
        if not expected:
            continue
        check(path, expected, tally)
        passed, failed = passed + tally.passed, failed + tally.failed
        print("\n".join(tally.lines))
    print(f"tracks: {passed} checks passed, {failed} failed")
    return bool(failed) or not passed


if __name__ == "__main__":
    sys.exit(main())
