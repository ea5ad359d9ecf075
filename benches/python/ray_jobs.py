"""Reads the points of a capture and converts a folder of logs, and prints the seconds as JSON:
ray_jobs.py logtool|Ray WORKERS FOLDER OUT

With Ray, the time starts when the workers have imported what they need.
"""

import json
import os
import sys
import time
from pathlib import Path

READ = "read 17 million points"
CONVERT = "convert 8 ULogs of 500 MB"
SPLIT_BYTES = 4_000_000


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def with_ray(workers, folder, out):
    import ray
    import ray.data

    import logtool.ray

    # In a folder of its own, which other clusters of this machine do not use.
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="error", _temp_dir=out)
    ray.data.DataContext.get_current().enable_progress_bars = False
    capture = folder / "points.pcap"
    logtool.ray.read(capture, "points", time=("0", "0.1"), target_bytes=SPLIT_BYTES).materialize()

    def read():
        logtool.ray.read(capture, "points", target_bytes=SPLIT_BYTES).materialize()

    def convert():
        logtool.ray.convert(folder / "logs", Path(out) / "tables")

    return {READ: seconds(read), CONVERT: seconds(convert)}


def alone(folder, out):
    """The command, with as many threads as RAYON_NUM_THREADS."""
    import subprocess

    import logtool
    import pyarrow  # noqa: F401

    def read():
        logtool.open(folder / "points.pcap")["points"].to_arrow()

    def convert():
        command = [sys.executable, "-m", "logtool", "--quiet", "--threads", os.environ["RAYON_NUM_THREADS"]]
        subprocess.run([*command, "batch", folder / "logs", "--out", Path(out) / "tables"], check=True)

    return {READ: seconds(read), CONVERT: seconds(convert)}


def main():
    who, workers, folder, out = sys.argv[1:]
    figures = with_ray(int(workers), Path(folder), out) if who == "Ray" else alone(Path(folder), out)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
