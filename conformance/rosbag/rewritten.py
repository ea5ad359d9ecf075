"""Checks that `filter` writes the same messages and connections, with several readers."""

import subprocess
import tempfile
from collections import Counter
from hashlib import md5
from pathlib import Path

import ros
from logtool import run
from ours import Bag
from peer import Peer, ros1

COMPRESSIONS = ("none", "bz2", "lz4")


def check(tally, ours):
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        paths = {name: Path(folder) / f"{name}.bag" for name in COMPRESSIONS}
        for name, path in paths.items():
            run("filter", ours.path, "-o", path, "--compression", name)
        tally.check("filter", by_logtool(ours, paths), f"{len(ours.messages)} messages, thrice")
        tally.check("filter, rosbags", by_rosbags(ours, paths))
        if not ros.missing():
            tally.check("filter, ros", by_ros(ours, paths))


def by_logtool(ours, paths):
    """Compares messages in the order of the file, and the compression."""
    wanted = [(m.topic, m.time, m.payload) for m in ours.messages]
    for name, path in paths.items():
        again = Bag(path)
        if [(m.topic, m.time, m.payload) for m in again.messages] != wanted:
            yield f"{name}: {len(again.messages)} messages, not the same {len(wanted)}"
        if ros.counted(again) != ros.counted(ours):
            yield f"{name}: messages of other connections"
        if again.is_damaged():
            yield f"{name}: is damaged"
        compressions = set(again.info["metadata"]["chunks"].get("by_compression", {}))
        if compressions - {name}:
            yield f"{name}: packed as {compressions}"
        mine, theirs = (sorted(map(connection, bag.connections().values())) for bag in (ours, again))
        if mine != theirs:
            yield f"{name}: connections {theirs}, not {mine}"


def connection(told):
    """Returns the metadata of a connection without its id."""
    keys = ("topic", "type", "md5sum", "callerid", "latching", "original_topic")
    return [str(told.get(key)) for key in keys]


def by_rosbags(ours, paths):
    wanted = Counter()
    for topic, time, digest, type_name, md5sum, caller, latching in simple(ours):
        wanted[(topic, time, digest, type_name, md5sum, caller, latching)] += 1
    for name, path in paths.items():
        peer = Peer(path)
        found = Counter()
        for message in peer.messages:
            c = peer.connections[message.connection]
            digest = md5(message.payload).digest()
            found[(c.topic, message.time, digest, ros1(c.msgtype), c.digest, *c.ext)] += 1
        if peer.error or found != wanted:
            yield f"{name}: {peer.error or 'other messages'}"


def simple(ours):
    """Our messages, with what rosbags has of their connections."""
    connections = ours.connections()
    for message in ours.messages:
        c = connections[message.connection]
        latching = c.get("latching")
        latching = int(latching) if latching and latching.lstrip("-").isdigit() else None
        of_it = (c["type"], c["md5sum"], c.get("callerid"), latching)
        yield (message.topic, message.time, md5(message.payload).digest(), *of_it)


def by_ros(ours, paths):
    wanted = ros.counted(ours)
    try:
        told = ros.read(*paths.values())
    except subprocess.CalledProcessError as error:
        yield f"{error}"
        return
    for name, theirs in zip(paths, told):
        if "error" in theirs:
            yield f"{name}: {theirs['error']}"
        elif Counter(map(tuple, theirs["messages"])) != wanted:
            yield f"{name}: other messages"
