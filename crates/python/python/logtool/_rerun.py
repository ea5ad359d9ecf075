"""The importer ``rerun-importer-logtool``, which Rerun runs to open files it does not know.

Rerun runs all programs on ``PATH`` whose names start with ``rerun-importer-`` with the path of a
file and the identifiers of the recording, and reads the recording from their standard output.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence

import logtool

NOT_OURS = 66
"""The exit status that tells Rerun to try other importers."""


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
    # Rerun may pass more, such as the time of the data, which logs have themselves.
    known, _ = parser.parse_known_args(arguments)
    if not os.path.isfile(known.path):
        return NOT_OURS
    try:
        log = logtool.open(known.path)
        if not _needs_conversion(log):
            return NOT_OURS
        _import(known.path, known.application_id, known.recording_id)
    except logtool.UnrecognizedError:
        return NOT_OURS
    except (logtool.Error, OSError, subprocess.CalledProcessError) as error:
        print(f"rerun-importer-logtool: {error}", file=sys.stderr)
        return 1
    return 0


def _needs_conversion(log: logtool.Log) -> bool:
    """Return whether Rerun shows more of the log after a conversion."""
    # Rerun reads MCAP files itself, except for the messages of ROS 1.
    return log.format != "mcap" or any(topic.encoding == "ros1" for topic in log.topics)


def _import(path: str, application: str | None, recording: str | None) -> None:
    """Convert the log at ``path`` to a recording on standard output."""
    with tempfile.TemporaryDirectory() as folder:
        mcap, rrd = (os.path.join(folder, f"log.{kind}") for kind in ("mcap", "rrd"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", logtool.DamageWarning)
            report = logtool.convert(path, mcap, ros2=True)
        for line in [*report.damage, *report.remarks]:
            print(f"{path}: {line}", file=sys.stderr)
        command = [*_rerun(), "mcap", "convert", mcap, "--output", rrd]
        if _is_since_boot(mcap):
            command += ["--timeline-type", "duration"]
        if application is not None:
            command += ["--application-id", application]
        if recording is not None:
            command += ["--recording-id", recording]
        subprocess.run(command, check=True, stdout=sys.stderr)
        with open(rrd, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


_YEAR_NS = 365 * 86_400 * 1_000_000_000


def _is_since_boot(mcap: str) -> bool:
    """Return whether the times of the file are since the start of the vehicle, not UTC."""
    starts = [topic.start_ns for topic in logtool.open(mcap).topics]
    known = [start for start in starts if start is not None]
    return bool(known) and min(known) < _YEAR_NS


def _rerun() -> list[str]:
    """Return the command of Rerun."""
    beside = os.path.join(os.path.dirname(sys.executable), "rerun")
    found = shutil.which("rerun") or shutil.which(beside)
    if found is None:
        raise FileNotFoundError("the command rerun is not on PATH")
    return [found]
