"""ROS's own reader (Debian's package python3-rosbag): messages, connections, `info -y`."""

import hashlib
import json
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

CHECKS = ("ros", "ros messages", "ros info", "filter, ros")

# The system's Python is the one that Debian's packages are for.
PYTHON = "/usr/bin/python3"


@cache
def missing():
    """Returns why ROS's reader is not available, or `None`."""
    try:
        command = [PYTHON, "-c", "import yaml; from rosbag import Bag"]
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        return str(error)
    lines = done.stderr.decode().splitlines()
    return f"apt-get install python3-rosbag; {lines[-1]}" if done.returncode else None


def read(*paths):
    """Returns its output for each bag."""
    command = [PYTHON, "-B", Path(__file__).with_name("ros_messages.py"), *paths]
    done = subprocess.run(command, capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(tally, ours):
    if missing():
        return
    [theirs] = read(ours.path)
    if "error" in theirs:
        tally.check("ros", [theirs["error"]])
        return
    found = Counter(tuple(message) for message in theirs["messages"])
    tally.check("ros messages", differences(counted(ours), found), f"{found.total()}")
    tally.check("ros info", information(ours, theirs["info"]), f"{len(theirs['info'])} keys")


def counted(ours):
    """Counts the messages of logtool, each with the metadata of its connection."""
    connections = ours.connections()
    found = Counter()
    for message in ours.messages:
        c = connections[message.connection]
        digest = hashlib.md5(message.payload).hexdigest()
        of_it = (c["topic"], c["type"], c["md5sum"], c.get("callerid"), c.get("latching"))
        found[(message.time, digest, *of_it)] += 1
    return found


def differences(mine, theirs):
    for message, count in (mine - theirs).items():
        yield f"{count} only of logtool: {message}"
    for message, count in (theirs - mine).items():
        yield f"{count} only of ROS: {message}"


def information(ours, theirs):
    info, metadata = ours.info, ours.info["metadata"]
    packed = metadata["chunks"].get("by_compression", {}).values()
    counts, types = Counter(), set()
    for topic in ours.logged().values():
        counts[topic["name"]] += topic["records"]
        types.add((topic["type_name"], topic["metadata"]["md5sum"]))
    connections = Counter(c["topic"] for c in ours.connections().values())
    mine = {
        "version": float(metadata["bag_version"]),
        "size": info["bytes"],
        "messages": info["records"],
        "indexed": metadata["indexed"],
        "uncompressed": sum(one["uncompressed_bytes"] for one in packed),
        "compressed": sum(one["bytes"] for one in packed),
        "start": info["start_s"],
        "end": info["end_s"],
        "duration": info["duration_s"],
        "types": types,
        "topics": {name: (count, connections[name]) for name, count in counts.items()},
    }
    theirs = dict(theirs)
    for key in ("types", "topics"):
        theirs.setdefault(key, [])
    theirs["types"] = {(t["type"], t["md5"]) for t in theirs["types"]}
    theirs["topics"] = {t["topic"]: (t["messages"], t.get("connections", 1)) for t in theirs["topics"]}
    for key, told in mine.items():
        # It has six digits behind the point.
        is_time = key in ("start", "end", "duration")
        if key in theirs and not (
            abs(told - theirs[key]) < 2e-6 if is_time else told == theirs[key]
        ):
            yield f"{key}: {told}, not {theirs[key]}"
    compressions = {name: one["chunks"] for name, one in metadata["chunks"].get("by_compression", {}).items()}
    if "compression" in theirs and theirs["compression"] not in compressions:
        yield f"compression: {compressions}, not {theirs['compression']}"
