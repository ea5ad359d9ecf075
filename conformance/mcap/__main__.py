"""Compares MCAP files that logtool makes of bags, ULogs and logs of lidars, bags that it makes of
ULogs, and what it reads of MCAP files, with what the Python packages mcap, mcap-protobuf-support, rosbags and pyulog say.

Usage: mcap [BAG... | ULOG... | VEL... | PCAP...]
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import foxglove
import lidar
import ros2
import ros2_names
import ros2_types
import typed
import ulog
import ulog_bag
from logtool import FINE, run
from mcap.reader import NonSeekingReader, SeekingReader
from mcap.writer import CompressionType, Writer
from rosbags.rosbag1 import Reader
from tally import Tally


def peer(path):
    """The messages of a bag as rosbags reads them, in the order of time."""
    try:
        with Reader(path) as reader:
            return [
                (connection.topic, time, bytes(data))
                for connection, time, data in reader.messages()
            ]
    except Exception:  # whatever it is that stops it
        return None


def read(path, reader=SeekingReader):
    """The messages of an MCAP file as the package mcap reads them; checksums are
    checked."""
    with open(path, "rb") as file:
        messages = reader(file, validate_crcs=True).iter_messages()
        return [
            (channel.topic, message.log_time, message.data, schema, channel, message)
            for schema, channel, message in messages
        ]


def lines(path):
    """Returns the output of `cat` for all records, in time order."""
    return run("cat", "--order", "time", path).splitlines()


def check_bag(path, tally):
    theirs = peer(path)
    if not theirs:
        return
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.mcap"
        run("convert", path, "-o", made)
        ours = read(made)
        differences = [] if sorted(m[:3] for m in ours) == sorted(theirs) else ["other messages"]
        tally.check("messages of mcap", differences, f"{len(ours)}")
        in_file = read(made, NonSeekingReader)
        differences = [] if sorted(m[:3] for m in in_file) == sorted(theirs) else ["other messages"]
        tally.check("without the index", differences, f"{len(in_file)}")
        tally.check("channels", channels(path, ours))
        with open(made, "rb") as file:
            statistics = SeekingReader(file).get_summary().statistics
        differences = [] if statistics.message_count == len(theirs) else ["another count"]
        tally.check("statistics", differences, f"{statistics.message_count}")
        if len(theirs) < 20_000:
            # `cat` also prints derived topics of a bag; these lines are not requested.
            differences = [
                f"{a[:90]} | {b[:90]}" for a, b in zip(lines(path), lines(made), strict=True) if a != b
            ]
            tally.check("cat", differences)
        for compression in ("none", "lz4"):
            again = Path(folder) / f"{compression}.mcap"
            run("filter", made, "-o", again, "--compression", compression)
            wanted = [(*m[:3], m[5].sequence, m[5].publish_time) for m in ours]
            got = [(*m[:3], m[5].sequence, m[5].publish_time) for m in read(again)]
            tally.check(f"filter {compression}", [] if got == wanted else ["other messages"])
        back = Path(folder) / "back.bag"
        run("filter", made, "-o", back)
        tally.check("and a bag again", [] if peer(back) == theirs else ["other messages"])
        tally.check("its connections", connections_again(path, back))
        ros2.check(path, folder, tally)


def connections_again(path, back):
    """The connections of a bag that was an MCAP file in between are those of before."""
    with Reader(path) as before, Reader(back) as after:
        counts = before.topics
        wanted, got = (
            sorted(
                (c.topic, c.msgtype, c.digest, c.msgdef.data.strip(), c.ext.callerid, bool(c.ext.latching))
                for c in reader.connections
                if c.topic in counts and counts[c.topic].msgcount
            )
            for reader in (before, after)
        )
    yield from (f"{a} | {b}" for a, b in zip(wanted, got, strict=False) if a != b)
    if len(wanted) != len(got):
        yield f"{len(got)} connections, not {len(wanted)}"


def channels(path, ours):
    """Returns the metadata of a channel about its connection, in the form of `mcap convert`."""
    with Reader(path) as reader:
        for connection in reader.connections:
            of_topic = [m for m in ours if m[0] == connection.topic]
            if not of_topic:
                continue
            type_name = connection.msgtype.replace("/msg/", "/")
            fits = [
                schema
                for _, _, _, schema, channel, _ in of_topic
                if schema
                and schema.name == type_name
                and schema.encoding == "ros1msg"
                and channel.message_encoding == "ros1"
                and channel.metadata.get("md5sum") == connection.digest
            ]
            if not fits and connection.msgdef.data.strip():
                yield f"{connection.topic}: no channel of {type_name}"


def made_by_mcap(folder):
    """Files of the package mcap's own writer: a name, a file, how many messages."""
    for compression in (CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD):
        for chunks in (True, False):
            for has_summary in (True, False):
                name = f"{compression.name.lower()}-{'chunks' if chunks else 'bare'}-{'summary' if has_summary else 'no'}"
                path = Path(folder) / f"{name}.mcap"
                with open(path, "wb") as file:
                    writer = Writer(
                        file,
                        chunk_size=4096,
                        compression=compression,
                        use_chunking=chunks,
                        use_statistics=has_summary,
                        repeat_channels=has_summary,
                        repeat_schemas=has_summary,
                        use_summary_offsets=has_summary,
                    )
                    writer.start("x", "conformance")
                    schema = writer.register_schema("std_msgs/UInt32", "ros1msg", b"uint32 data\n")
                    topics = [writer.register_channel(f"/t{n}", "ros1", schema) for n in range(3)]
                    writer.add_attachment(1, 2, "a.txt", "text/plain", b"attached" * 1000)
                    writer.add_metadata("words", {"k": "v"})
                    for number in range(2000):
                        data = number.to_bytes(4, "little")
                        time = 10**9 + number * 10**6
                        writer.add_message(topics[number % 3], time, data, time + 1, number)
                    writer.finish()
                yield name, path


def check_made(folder, tally):
    for name, path in made_by_mcap(folder):
        told = [json.loads(line) for line in lines(path)]
        wanted = [(f"/t{n % 3}", n) for n in range(2000)]
        got = [(line["topic"], line["data"]["data"]) for line in told]
        tally.check(f"{name} cat", [] if got == wanted else ["other records"], f"{len(got)}")
        info = json.loads(run("info", "--json", path))
        differences = [] if info["records"] == 2000 else [f"{info['records']} records"]
        tally.check(f"{name} info", differences)
        cut = path.with_suffix(".cut.mcap")
        cut.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
        done = subprocess.run([os.environ["LOGTOOL"], "-q", "cat", cut], capture_output=True, check=False)
        got = [json.loads(line)["data"]["data"] for line in done.stdout.splitlines()]
        is_start = got == list(range(len(got))) and len(got) > 200
        differences = [] if is_start and done.returncode in FINE else [f"{len(got)} records"]
        tally.check(f"{name} cut", differences, f"{len(got)} records")


def main():
    samples = Path(os.environ["LOGTOOL_SAMPLES"]) / "rosbag"
    bags = [Path(path) for path in sys.argv[1:]] or sorted(samples.glob("*.bag")) + ulog.logs() + lidar.logs()
    if not bags:
        print(f"no bags in {samples}: set LOGTOOL_SAMPLES; none are compared")
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in [*bags, None]:
            tally = Tally(path.name if path else "of the package mcap", [])
            if path and path.suffix == ".ulg":
                ulog.check(path, tally)
                ros2_names.check_log(path, tally)
                ulog_bag.check(path, tally)
            elif path and path.suffix in (".vel", ".pcap"):
                lidar.check(path, tally)
                ros2_names.check_log(path, tally)
            elif path:
                check_bag(path, tally)
            else:
                check_made(folder, tally)
                typed.check(folder, tally)
                foxglove.check(folder, tally)
                ros2_types.check(folder, tally)
                ros2_names.check(folder, tally)
            print("\n".join(tally.lines))
            passed, failed = passed + tally.passed, failed + tally.failed
    print(f"MCAP: {passed} checks passed, {failed} failed")
    sys.exit(failed > 0)


main()
