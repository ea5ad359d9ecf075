"""Rerun gets the same from `rerun-importer-logtool` as from its own reader, and shows bags, ULogs,
captures and recordings of a lidar. Other files are left to others.

The vehicle of a ULog moves in 3D as pyulog, NumPy and SciPy say, also in MCAP files that Rerun
reads itself."""

import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from pyulog import ULog
from rerun.chunk import RrdReader

import logtool

sys.path.append(str(Path(__file__).parents[1] / "mcap"))
from poses import Poses  # noqa: E402

IMPORTER = [sys.executable, "-c", "from logtool._rerun import main; main()"]
NOT_OURS = 66

# What Rerun must find in a recording: an entity and a type of Rerun on it.
WANTED = {
    "rosbag/robot_localization-test1.bag": ["/imu/data", "GeoPoints"],
    "ulog/px4ulogrs_quadrotor_local.ulg": ["/vehicle_attitude", "TextLog"],
    "velodyne/vlp16_mrpt_gps_sample.pcap": ["Points3D", "GeoPoints"],
    "velodyne/sample_real_s1.vel": ["Points3D"],
}

# ULogs with positions, and one of the repository.
FLIGHTS = [
    "ulog/flightreviewrs_battery_brownout.ulg",
    "ulog/mcap_test_ulog.ulg",
    "ulog/px4ulogrs_esc_status_log.ulg",
    "ulog/pyulog_sample_px4_events.ulg",
    Path(__file__).parents[2] / "testdata/quad_flight.ulg",
]
POSE = "/vehicle_local_position/pose"
TRACK = "/vehicle_local_position/track"
MAX_GAP_NS = 5_000_000_000


def convert(path, output):
    command = [*IMPORTER, path, "--application-id", "logtool", "--recording-id", "conformance"]
    with output.open("wb") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stderr.decode()


def printed(recording):
    command = ["rerun", "rrd", "print", "-vvv", recording]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def rows(recording, entity, column):
    """The rows of an entity that have a column, in the order of their times in nanoseconds."""
    found, times = {}, []
    for chunk in RrdReader(recording).stream():
        batch = chunk.to_record_batch()
        if chunk.entity_path != entity or column not in batch.schema.names:
            continue
        if not chunk.is_static:
            times.append(batch["message_log_time"].cast("int64").to_numpy())
        for name in batch.schema.names:
            found.setdefault(name, []).extend(batch[name].to_pylist())
    times = np.concatenate(times or [np.zeros(0, "int64")])
    order = np.argsort(times, kind="stable")
    return times[order], {name: [values[n] for n in order] for name, values in found.items() if len(times)} or found


def only(lists):
    """The only element of each list."""
    return [one for (one,) in lists]


def moved(path, recording, shift, is_imported):
    """The differences of the transforms and poses in a recording."""
    wanted = Poses(ULog(str(path)))
    if not len(wanted.records):
        yield "there are no poses to compare"
    times, found = rows(recording, "/tf", "Transform3D:translation")
    if not found:
        yield "there are no transforms"
        return
    frames = zip(only(found["Transform3D:parent_frame"]), only(found["Transform3D:child_frame"]), strict=True)
    positions, quaternions = only(found["Transform3D:translation"]), only(found["Transform3D:quaternion"])
    yield from wanted.differences("/tf", times, None, frames, positions, quaternions, shift)
    times, found = rows(recording, POSE, "InstancePoses3D:translations")
    frames = [(one, "base_link") for one in only(found["CoordinateFrame:frame"])]
    positions, quaternions = only(found["InstancePoses3D:translations"]), only(found["InstancePoses3D:quaternions"])
    yield from wanted.differences(POSE, times, None, frames, positions, quaternions, shift)
    if not is_imported:
        return
    _, found = rows(recording, TRACK, "LineStrips3D:strips")
    if only(found["CoordinateFrame:frame"]) != ["map"]:
        yield f"the track is in the frame {found['CoordinateFrame:frame']}"
    (lines,) = found["LineStrips3D:strips"]
    drawn = np.concatenate(lines)
    if drawn.shape != wanted.positions.shape or not np.allclose(drawn, wanted.positions, rtol=0, atol=1e-9):
        yield "the track has other positions"
    gaps = np.flatnonzero(np.diff(wanted.records * 1000) > MAX_GAP_NS) + 1
    if np.cumsum([len(line) for line in lines])[:-1].tolist() != gaps.tolist():
        yield f"the track has {len(lines)} lines, not {len(gaps) + 1}"
    for entity, column in (("/tf", "TransformAxes3D:axis_length"), ("/", "ViewCoordinates:xyz")):
        if not rows(recording, entity, column)[1]:
            yield f"{entity} has no {column}"


def flights(samples, folder):
    """The differences of the vehicles in all flights, by the importer and by Rerun's own reader."""
    recording, mcap = Path(folder) / "flight.rrd", Path(folder) / "flight.mcap"
    for name in FLIGHTS:
        path = samples / name
        clock = logtool.open(path).info["clock"]
        shift = (clock["to_unix"] or {}).get("offset_ns", 0)
        status, errors = convert(path, recording)
        if status != 0:
            yield f"{name}: {status} {errors}"
            continue
        yield from (f"{name}: {text}" for text in moved(path, recording, shift, True))
        for options in ({}, {"ros2": True}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                logtool.convert(path, mcap, overwrite=True, **options)
            command = ["rerun", "mcap", "convert", mcap, "--output", recording]
            subprocess.run(command, capture_output=True, check=True)
            differences = moved(path, recording, shift, False)
            yield from (f"{name} {options}: {text}" for text in differences)
        print(f"{path.name}: {len(Poses(ULog(str(path))).records)} poses")


def main():
    samples, failures = Path(os.environ["LOGTOOL_SAMPLES"]), []
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "log.rrd"
        for name, wanted in WANTED.items():
            status, errors = convert(samples / name, recording)
            if status != 0:
                failures.append(f"{name}: {status} {errors}")
                continue
            text = printed(recording)
            missing = [word for word in wanted if not re.search(rf"{word}\b", text)]
            if missing or '"conformance"' not in text:
                failures.append(f"{name}: Rerun does not show {missing}")
            print(f"{name}: {recording.stat().st_size} bytes")
        failures.extend(flights(samples, folder))
        # Rerun opens MCAP files of ROS 2 itself.
        others = [samples / "cases/mcap/rosout_ros2.mcap", Path(__file__), Path(folder)]
        for path in others:
            status, _ = convert(path, recording)
            if status != NOT_OURS or recording.stat().st_size > 0:
                failures.append(f"{path}: {status} instead of {NOT_OURS}")
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
