"""Checks the output of `info --json` for a bag: times, counts, connections, chunks."""

from peer import ros1
from rosbags.rosbag1.reader import decompressors


def check(tally, ours, peer):
    info = ours.info
    differences = [f"records: {info['records']}, not {peer.count}"] if info["records"] != peer.count else []
    if peer.count:
        wanted = {"start_s": peer.start, "end_s": peer.end, "duration_s": peer.end - peer.start}
        # A double cannot represent present times to the nanosecond.
        differences += [
            f"{name}: {info[name]}, not {nanos / 10**9}"
            for name, nanos in wanted.items()
            if info[name] is None or abs(info[name] - nanos / 10**9) > 1e-6
        ]
    tally.check("info", differences, f"{info['records']} records")
    tally.check("connections", connections(ours, peer), f"{len(peer.connections)}")
    tally.check("topics", topics(ours, peer), f"{len(ours.logged())}")
    tally.check("chunks", chunks(ours, peer), f"{len(peer.chunks)}")


def connections(ours, peer):
    mine = ours.connections()
    for number in sorted(set(mine) | set(peer.connections)):
        told, theirs = mine.get(number), peer.connections.get(number)
        if told is None or theirs is None:
            yield f"{number}: only of {'rosbags' if told is None else 'logtool'}"
            continue
        latching = told.get("latching")
        found = (
            told["topic"],
            told["type"],
            told["md5sum"],
            told.get("callerid"),
            None if latching in (None, "") else int(latching),
        )
        wanted = (theirs.topic, ros1(theirs.msgtype), theirs.digest, *theirs.ext)
        if found != wanted:
            yield f"{number}: {found}, not {wanted}"


def topics(ours, peer):
    """rosbags counts for each connection; ours are those of one topic and type."""
    counted = {}
    for c in peer.connections.values():
        key = (c.topic, ros1(c.msgtype), c.digest)
        messages, of_it, latched = counted.get(key, (0, 0, False))
        counted[key] = (messages + c.msgcount, of_it + 1, latched or c.ext.latching == 1)
    mine = {
        key: (t["records"], int(t["metadata"]["connections"]), t["metadata"]["latching"] == "true")
        for key, t in ours.logged().items()
    }
    for key in sorted(set(counted) | set(mine)):
        if mine.get(key) != counted.get(key):
            yield f"{key}: {mine.get(key)}, not {counted.get(key)}"


def chunks(ours, peer):
    """How the chunks are packed, and how long they are before and after."""
    names, data = {}, ours.path.read_bytes()
    name_of = {decompress: name for name, decompress in decompressors.items()}
    for size, at, decompress in peer.chunks:
        packed, name = data[at : at + size], name_of[decompress]
        count, length, unpacked = names.get(name, (0, 0, 0))
        names[name] = (count + 1, length + size, unpacked + len(decompress(packed)))
    told = ours.info["metadata"]["chunks"]
    by_compression = {
        name: (one["chunks"], one["bytes"], one["uncompressed_bytes"])
        for name, one in told.get("by_compression", {}).items()
    }
    if by_compression != names:
        yield f"{by_compression}, not {names}"
    if told["chunks"] != len(peer.chunks):
        yield f"{told['chunks']} chunks, not {len(peer.chunks)}"
