"""Rerun gets the same from `rerun-importer-logtool` as from its own reader, and shows bags, ULogs,
captures and recordings of a lidar. Other files are left to others."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

IMPORTER = [sys.executable, "-c", "from logtool._rerun import main; main()"]
NOT_OURS = 66

# What Rerun must find in a recording: an entity and a type of Rerun on it.
WANTED = {
    "rosbag/robot_localization-test1.bag": ["/imu/data", "GeoPoints"],
    "ulog/px4ulogrs_quadrotor_local.ulg": ["/vehicle_attitude", "TextLog"],
    "velodyne/vlp16_mrpt_gps_sample.pcap": ["Points3D", "GeoPoints"],
    "velodyne/sample_real_s1.vel": ["Points3D"],
}


def convert(path, output):
    command = [*IMPORTER, path, "--application-id", "logtool", "--recording-id", "conformance"]
    with output.open("wb") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stderr.decode()


def printed(recording):
    command = ["rerun", "rrd", "print", "-vvv", recording]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


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
