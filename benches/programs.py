"""Builds, locates and runs the measured programs."""

import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
GENERATORS = {"make_big_ulog": "logtool-ulog", "make_big_bag": "logtool-rosbag"}


def target(folder):
    """Returns the folder of the release programs of the workspace in `folder`."""
    command = ["cargo", "metadata", "--format-version=1", "--no-deps", "--manifest-path", str(folder / "Cargo.toml")]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return pathlib.Path(metadata["target_directory"]) / "release"


def logtool():
    """Builds logtool, and returns its path."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "logtool-cli"], check=True, cwd=ROOT)
    return str(target(ROOT) / "logtool")


def generator(name):
    """Builds a program that makes large logs, and returns its path."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "logtool-cli", "-p", GENERATORS[name], "--example", name]
    subprocess.run(command, check=True, cwd=ROOT)
    return str(target(ROOT) / "examples" / name)


def peers():
    """Builds the programs of this folder, peers and equivalents that use logtool, and returns their folder."""
    subprocess.run(["cargo", "build", "--release", "--quiet"], check=True, cwd=HERE)
    folder = target(HERE)
    return {path.stem: str(folder / path.stem) for path in (HERE / "src" / "bin").glob("*.rs")}


def run(command, threads, output=subprocess.DEVNULL):
    """Runs a program with its output in `output`, and returns CPU seconds, wall seconds, and peak resident megabytes."""
    environment = dict(os.environ, RAYON_NUM_THREADS=str(threads))
    start = time.monotonic()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, env=environment)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command} failed: {errors.decode(errors='replace')}")
    wall = time.monotonic() - start
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1000
