"""Compares `logtool replay-log`, `gps-dump` and `info --show` with pyulog: the copied topics and parameters with
those of the original, the missing records with NumPy, and the bytes of receivers with those that
`ulog_extract_gps_dump` writes, and the text of each information with pyulog's.

Usage: px4_tools.py [ULOG...]
"""

import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from pyulog import ULog
from tally import Tally
from ulog_maker import MAGIC, message

#: The topics of PX4's ReplayEkf2.cpp, and those of earlier releases of its logger. True: all instances.
REPLAYED = {
    "airspeed": False,
    "airspeed_validated": False,
    "aux_global_position": True,
    "distance_sensor": True,
    "ekf2_timestamps": False,
    "ekf_gps_position": False,
    "estimator_fusion_control": False,
    "landing_target_pose": False,
    "launch_detection_status": False,
    "optical_flow": False,
    "ranging_beacon": False,
    "sensor_combined": False,
    "sensor_selection": False,
    "vehicle_air_data": False,
    "vehicle_attitude_groundtruth": False,
    "vehicle_global_position_groundtruth": False,
    "vehicle_gps_position": False,
    "vehicle_land_detected": False,
    "vehicle_local_position_groundtruth": False,
    "vehicle_magnetometer": False,
    "vehicle_optical_flow": True,
    "vehicle_status": False,
    "vehicle_vision_attitude": False,
    "vehicle_vision_position": False,
    "vehicle_visual_odometry": True,
}


def logtool(*arguments):
    command = [os.environ["LOGTOOL"], *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def tables(log, wanted=lambda data: True):
    return {(data.name, data.multi_id): data.data for data in log.data_list if wanted(data)}


def is_replayed(data):
    return data.name in REPLAYED and (REPLAYED[data.name] or data.multi_id == 0)


def replay_differences(old, new):
    before, after = tables(old, is_replayed), tables(new)
    if before.keys() != after.keys():
        yield f"topics: {sorted(before.keys() ^ after.keys())}"
    for key in before.keys() & after.keys():
        for name, values in before[key].items():
            if not np.array_equal(values, after[key][name], equal_nan=values.dtype.kind == "f"):
                yield f"{key}: {name} differs"
    if old.initial_parameters != new.initial_parameters:
        yield "initial parameters"
    # pyulog gives a change the time of the record before it, which may be of another topic.
    changes = [[change[1:] for change in log.changed_parameters] for log in (old, new)]
    if changes[0] != changes[1]:
        yield "changed parameters"
    if old.get_default_parameters(0) != new.get_default_parameters(0):
        yield "default parameters"
    spans = [[(drop.timestamp, drop.duration) for drop in log.dropouts] for log in (old, new)]
    if len(spans[0]) != len(spans[1]):
        yield f"dropouts: {spans}"
    if new.logged_messages:
        yield "logged strings"


def lost_records(log):
    """For each topic, the records that EKF2 used and that are not in the log, and how many it used."""
    data = tables(log)
    used = data.get(("ekf2_timestamps", 0))
    found = {}
    if used is None:
        return found
    times = used["timestamp"].astype(np.int64)
    wanted = {"sensor_combined": np.unique(times)}
    for name, values in used.items():
        if name.endswith("_timestamp_rel"):
            valid = values != 32767
            topic = name.removesuffix("_timestamp_rel")
            names = {"visual_odometry": "vehicle_visual_odometry", "gps": "vehicle_gps_position"}
            topic = names.get(topic, topic)
            wanted[topic] = np.unique(times[valid] + 100 * values[valid].astype(np.int64))
    for topic, needed in wanted.items():
        logged = [table["timestamp"] for key, table in data.items() if key == (topic, 0)]
        logged = logged[0].astype(np.int64) if logged else np.zeros(0, np.int64)
        lost = sum(not (np.abs(logged - time) <= 150).any() for time in needed)
        if lost > 1 + len(needed) // 100:
            found[topic] = (lost, len(needed))
    return found


def check_replay(tally, path, folder):
    old = ULog(str(path), disable_str_exceptions=True)
    out = folder / "replay.ulg"
    status, text = logtool("replay-log", path, "-o", out, "--force")
    if ("sensor_combined", 0) not in tables(old):
        wrong = [] if status == 1 and "no records of sensor_combined" in text else [text]
        tally.check("refused", wrong, "no IMU")
        return
    new = ULog(str(out), disable_str_exceptions=True)
    found = list(replay_differences(old, new)) if status == 0 else [text]
    tally.check("replay-log", found, f"{len(new.data_list)} topics")
    lines = re.findall(r"(\w+): ([\d,]+) of ([\d,]+) records that EKF2 used", text)
    number = lambda digits: int(digits.replace(",", ""))
    ours = {topic: (number(lost), number(used)) for topic, lost, used in lines}
    theirs = lost_records(old)
    tally.check("lost", [] if ours == theirs else [f"{ours}, not {theirs}"], f"{len(theirs)} topics")


def information_differences(path, log):
    """Compares each information that is text, or a number."""
    wanted = {
        name: value if isinstance(value, str) else str(value)
        for name, value in log.msg_info_dict.items()
        if isinstance(value, str | int)
    }
    for name, values in log.msg_info_multiple_dict.items():
        if all(isinstance(part, str) for parts in values for part in parts):
            # PX4's logger writes these line by line, without ends of lines: `configured_plots.py` of
            # Flight Review joins them with line feeds.
            separator = "\n" if name.startswith(("perf_counter_", "perf_top_")) else ""
            texts = (separator.join(parts) for parts in values)
            wanted[name] = "".join(text if text.endswith("\n") else text + "\n" for text in texts)
    for name, text in wanted.items():
        command = [os.environ["LOGTOOL"], "--quiet", "info", "--show", name, path]
        done = subprocess.run(command, capture_output=True, check=False)
        # pyulog leaves out bytes that are not UTF-8 if it may.
        found = done.stdout.decode()
        if done.returncode not in (0, 3) or found.rstrip("\n") != text.rstrip("\n"):
            yield f"{name}: {found[:80]!r}, not {text[:80]!r}"


def gps_dump_log(with_instance):
    """A log of two receivers, byte by byte: `GpsDump.msg`."""
    instance = "uint8_t instance;" if with_instance else ""
    fields = f"uint64_t timestamp;{instance}uint8_t len;uint8_t[79] data;"
    log = [MAGIC + struct.pack("<Q", 1_000_000), message("B", bytes(40))]
    log.append(message("F", f"gps_dump:{fields}".encode()))
    log.append(message("A", struct.pack("<BH", 0, 0) + b"gps_dump"))
    random = np.random.default_rng(7)
    for row in range(700):
        size = int(random.integers(0, 80))
        data = random.bytes(79)
        to_device = 0x80 if random.random() < 0.2 else 0
        head = struct.pack("<HQ", 0, 1_000_000 + row * 1_500)
        if with_instance:
            head += bytes([row % 2])
        log.append(message("D", head + bytes([size | to_device]) + data))
    return b"".join(log)


def check_gps_dump(tally, folder):
    for with_instance, instances in ((True, (0, 1)), (False, (0,))):
        path = folder / f"dump{with_instance:d}.ulg"
        path.write_bytes(gps_dump_log(with_instance))
        ours, theirs = folder / f"ours{with_instance:d}", folder / f"theirs{with_instance:d}"
        theirs.mkdir()
        status, text = logtool("gps-dump", path, "-o", ours)
        extract = Path(sys.executable).parent / "ulog_extract_gps_dump"
        for instance in instances:
            command = [extract, path, "-o", theirs, "-i", str(instance)]
            subprocess.run(command, check=True, capture_output=True)
        want = {file.name: file.read_bytes() for file in theirs.iterdir()}
        found = {file.name: file.read_bytes() for file in ours.iterdir()} if status == 0 else {}
        same = found == want and all(want.values())
        size = sum(map(len, want.values()))
        tally.check("gps-dump", [] if same else [text], f"{len(want)} files, {size} bytes")


def main():
    samples = Path(os.environ["LOGTOOL_SAMPLES"]) / "ulog"
    paths = [Path(path) for path in sys.argv[1:]] or sorted(samples.glob("*.ulg"))
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="px4-tools-") as name:
        folder = Path(name)
        tallies = []
        for path in paths:
            tallies.append(Tally(path.name, []))
            check_replay(tallies[-1], path, folder)
            log = ULog(str(path), disable_str_exceptions=True)
            count = len(log.msg_info_dict) + len(log.msg_info_multiple_dict)
            tallies[-1].check("info --show", information_differences(path, log), f"{count} names")
        tallies.append(Tally("receivers", []))
        check_gps_dump(tallies[-1], folder)
    for tally in tallies:
        print("\n".join(tally.lines))
        passed, failed = passed + tally.passed, failed + tally.failed
    print(f"PX4 tools: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
