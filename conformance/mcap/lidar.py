"""Compares the messages that logtool makes of logs of lidars, value by value, with the
tables of the same logs, which conformance/velodyne compares with other programs;
mcap-ros2-support and rosbags read the files."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from logtool import run, topic
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag1 import Reader
from rosbags.typesys import Stores, get_typestore

TYPES = {2: "u1", 4: "<u2", 6: "<u4", 7: "<f4"}
NAMES = ["sample_real_s1.vel", "sample_sim_s2.vel", "vlp16_gadomski_position.pcap", "sim_hdl64e_s3_dual.pcap"]


def logs():
    """The logs that are looked at."""
    samples = Path(os.environ["LOGTOOL_SAMPLES"]) / "velodyne"
    return [samples / name for name in NAMES if (samples / name).exists()]


def read(path):
    """The messages of each topic."""
    topics = {}
    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        for _, channel, message, decoded in reader.iter_decoded_messages():
            topics.setdefault(channel.topic, []).append((message.log_time, decoded))
        words = {one.name: one.metadata for one in reader.iter_metadata()}
    return topics, int(words["logtool"].get("clock_offset_nanoseconds", 0))


def points(cloud):
    """The points of a cloud, by name."""
    fields = {
        "names": [field.name for field in cloud.fields],
        "formats": [TYPES[field.datatype] for field in cloud.fields],
        "offsets": [field.offset for field in cloud.fields],
        "itemsize": cloud.point_step,
    }
    return np.frombuffer(bytes(cloud.data), dtype=np.dtype(fields))


def nanoseconds(stamp):
    return stamp.sec * 10**9 + (stamp.nanosec if hasattr(stamp, "nanosec") else stamp.nsec)


def clouds(table, messages, shift):
    """Each scan is a cloud: its points, and their times."""
    columns = {name: table[name].to_numpy() for name in table.column_names if name != "time"}
    times = table["time"].cast("int64").to_numpy() + shift
    scans = np.unique(columns["scan"])
    if len(scans) != len(messages):
        yield f"{len(messages)} clouds, not {len(scans)}"
        return
    # In the order in which they end; which is that of their numbers.
    for scan, (_, cloud) in zip(scans, messages, strict=True):
        rows = columns["scan"] == scan
        ours = points(cloud)
        if cloud.width * cloud.height != rows.sum():
            yield f"scan {scan}: {cloud.width} points, not {rows.sum()}"
            continue
        for name in ours.dtype.names:
            if name in columns and not np.array_equal(ours[name], columns[name][rows], equal_nan=True):
                yield f"scan {scan}: {name} is another"
        stamp = nanoseconds(cloud.header.stamp)
        if not np.array_equal(stamp + ours["t"].astype("int64"), times[rows]):
            yield f"scan {scan}: other times"
        if not np.allclose(ours["time"], (times[rows] - stamp) / 1e9, rtol=1e-6):
            yield f"scan {scan}: other times as float32"


def rows(table, messages, shift):
    """A message each row, with its values."""
    if table.num_rows != len(messages):
        yield f"{len(messages)} messages, not {table.num_rows}"
        return
    times = table["time"].cast("int64").to_numpy() + shift
    if [time for time, _ in messages] != times.tolist():
        yield "other times"
    for name in table.column_names:
        wanted = table[name].to_pylist()
        if name == "time" or not isinstance(wanted[0], int | float):
            continue
        got = [getattr(message, name) for _, message in messages]
        pairs = zip(wanted, got, strict=True)
        if any(a != b and not (a is None or a != a) for a, b in pairs):
            yield f"{name} is another"


def check(path, tally):
    """The checks of a log."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        run("convert", path, "-o", folder / "tables", "--to", "parquet")
        run("convert", path, "-o", folder / "made.mcap", "--ros2")
        run("convert", path, "-o", folder / "made.bag")
        topics, shift = read(folder / "made.mcap")
        if "/points" in topics:
            run("convert", path, "-o", folder / "points", "--to", "parquet", "--topic", "points")
        read_in = (pq.ParquetFile(table).read() for table in folder.glob("*/*.parquet"))
        tables = {topic(table.schema)[0]: table for table in read_in}
        for name, table in tables.items():
            ours = topics.get(f"/{name}")
            if name.startswith("points"):
                count = f"{len(ours or [])} clouds, {table.num_rows} points"
                tally.check("clouds", clouds(table, ours or [], shift), count)
            elif ours and name != "image":
                tally.check(name, rows(table, ours, shift), f"{len(ours)}")
        if "gps" in tables and "/gps/fix" in topics:
            table = tables["gps"]
            known = table["quality"].to_numpy() >= 1
            latitudes = table["latitude"].to_numpy()[known]
            got = [fix.latitude for _, fix in topics["/gps/fix"]]
            tally.check("places", [] if latitudes.tolist() == got else ["other places"], f"{len(got)}")
        if "image" in tables and "/image/compressed" in topics:
            wanted = tables["image"]["data"].to_pylist()
            got = [bytes(image.data) for _, image in topics["/image/compressed"]]
            tally.check("images", [] if wanted == got else ["other images"], f"{len(got)}")
        store = get_typestore(Stores.ROS1_NOETIC)
        with Reader(folder / "made.bag") as bag:
            counts = {name: info.msgcount for name, info in bag.topics.items() if info.msgcount}
            wanted = {name: len(messages) for name, messages in topics.items()}
            tally.check("a bag", [] if counts == wanted else [f"{counts}, not {wanted}"])
            of_points = [c for c in bag.connections if c.topic == "/points"]
            messages = bag.messages(of_points) if of_points else []
            differences = [
                "other points"
                for (_, _, data), (_, cloud) in zip(messages, topics.get("/points", []), strict=True)
                if bytes(store.deserialize_ros1(data, "sensor_msgs/msg/PointCloud2").data) != bytes(cloud.data)
            ]
            tally.check("points of the bag", differences)
