"""The importer ``rerun-importer-logtool``, which Rerun runs to open files it does not know.

Rerun runs all programs on ``PATH`` whose names start with ``rerun-importer-`` with the path of a
file and the identifiers of the recording, and reads the recording from their standard output.

Logs are converted to messages of ROS 2 in an MCAP file, which Rerun reads. The vehicle of a ULog is
in 3D: ``/tf`` has its transform from ``map`` to ``base_link``, and is drawn as axes, and
``/vehicle_local_position/track`` is the line of its positions.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections.abc import Sequence
from typing import Any

import logtool

TRY_OTHER_IMPORTERS = 66
"""The exit status that makes Rerun try other importers."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the recording of a log to standard output, and end the process."""
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(
        prog="rerun-importer-logtool",
        description="Import a log of a robot into Rerun. Rerun runs this program.",
    )
    parser.add_argument("path")
    parser.add_argument("--application-id")
    parser.add_argument("--opened-application-id")
    parser.add_argument("--recording-id")
    # Rerun may pass other options, such as the time of the data. Logs have their own times.
    options, _ = parser.parse_known_args(arguments)
    if not os.path.isfile(options.path):
        return TRY_OTHER_IMPORTERS
    try:
        log = logtool.open(options.path)
        if not _needs_conversion(log):
            return TRY_OTHER_IMPORTERS
        application = options.application_id or os.path.basename(options.path)
        recording = options.recording_id or str(uuid.uuid4())
        _import(log, application, recording)
    except logtool.UnrecognizedError:
        return TRY_OTHER_IMPORTERS
    except (logtool.Error, OSError, subprocess.CalledProcessError) as error:
        print(f"rerun-importer-logtool: {error}", file=sys.stderr)
        return 1
    return 0


def _needs_conversion(log: logtool.Log) -> bool:
    """Return whether Rerun shows more of the log after a conversion."""
    # Rerun reads MCAP files itself, except for the messages of ROS 1.
    return log.format != "mcap" or any(topic.encoding == "ros1" for topic in log.topics)


def _import(log: logtool.Log, application: str, recording: str) -> None:
    """Convert ``log`` to a recording on standard output."""
    with tempfile.TemporaryDirectory() as folder:
        names = ("log.mcap", "log.rrd", "track.rrd", "all.rrd")
        mcap, rrd, track, merged = (os.path.join(folder, name) for name in names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", logtool.DamageWarning)
            report = logtool.convert(log.path, mcap, ros2=True)
        for line in [*report.damage, *report.remarks]:
            print(f"{log.path}: {line}", file=sys.stderr)
        command = ["mcap", "convert", mcap, "--output", rrd]
        command += ["--application-id", application, "--recording-id", recording]
        if _is_since_boot(mcap):
            command += ["--timeline-type", "duration"]
        _run_rerun(command)
        if log.format == "ulog" and _write_track(mcap, track, application, recording):
            _run_rerun(["rrd", "merge", rrd, track, "--output", merged])
            rrd = merged
        with open(rrd, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


_POSES = "/vehicle_local_position/pose"

_TRACK = "/vehicle_local_position/track"

_AXES_METRES = 1.0
"""The length of the axes of the vehicle."""

_MAX_GAP_NS = 5_000_000_000
"""The longest time between two positions that the line of the track connects."""


def _write_track(mcap: str, path: str, application: str, recording: str) -> bool:
    """Write the axes of the vehicle and the line of its positions to the recording at ``path``.

    Both are in the frame of the map. Return False if the file has no poses, or if the Python
    package of Rerun is not installed.
    """
    log = logtool.open(mcap)
    if _POSES not in log:
        return False
    try:
        import numpy
        import rerun
    except ImportError:
        reason = "the track is not drawn: it needs the Python package rerun-sdk"
        print(f"rerun-importer-logtool: {reason}", file=sys.stderr)
        return False
    poses = log[_POSES].to_numpy()
    if len(poses["time"]) == 0:
        return False
    positions = numpy.stack([poses[f"pose.position.{axis}"] for axis in "xyz"], axis=-1)
    gaps = numpy.diff(poses["time"].astype("int64")) > _MAX_GAP_NS
    lines: list[Any] = numpy.split(positions, numpy.flatnonzero(gaps) + 1)
    stream = rerun.RecordingStream(application, recording_id=recording)
    stream.save(path)
    frame, axes = rerun.CoordinateFrame("map"), rerun.TransformAxes3D(_AXES_METRES)
    # A view of all entities is in the frame of the root entity.
    stream.log("/", frame, rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    stream.log("/tf", axes, static=True)
    stream.log(_TRACK, rerun.LineStrips3D(lines), frame, static=True)
    stream.flush()
    stream.disconnect()
    return True


_YEAR_NS = 365 * 86_400 * 1_000_000_000


def _is_since_boot(mcap: str) -> bool:
    """Return whether the times of the file are since the start of the vehicle, not UTC."""
    starts = [topic.start_ns for topic in logtool.open(mcap).topics]
    known = [start for start in starts if start is not None]
    return bool(known) and min(known) < _YEAR_NS


def _run_rerun(arguments: list[str]) -> None:
    """Run the command of Rerun. Its output goes to standard error."""
    in_environment = os.path.join(os.path.dirname(sys.executable), "rerun")
    program = shutil.which("rerun") or shutil.which(in_environment)
    if program is None:
        raise FileNotFoundError("the command rerun is not on PATH")
    subprocess.run([program, *arguments], check=True, stdout=sys.stderr)
