"""Compares the messages that logtool makes of logs of lidars, value by value, with the
tables of the same logs, which conformance/velodyne compares with other programs;
mcap-ros2-support, mcap-protobuf-support and rosbags read the files."""

import os
import tempfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from clouds import points
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from logtool import run, topic
from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory as ProtobufFactory
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag1 import Reader
from rosbags.typesys import Stores, get_typestore

NAMES = [
    "sample_real_s1.vel",
    "sample_sim_s2.vel",
    "vlp16_gadomski_position.pcap",
    "vlp16_mrpt_gps_sample.pcap",
    "hdl32e_rustlidarutils_example.pcap",
    "sim_hdl64e_s3_dual.pcap",
]


def logs():
    """The logs that are looked at."""
    samples = Path(os.environ["LOGTOOL_SAMPLES"]) / "velodyne"
    return [samples / name for name in NAMES if (samples / name).exists()]


def read(path):
    """The messages of each topic."""
    topics = {}
    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory(), ProtobufFactory()])
        for _, channel, message, decoded in reader.iter_decoded_messages():
            topics.setdefault(channel.topic, []).append((message.log_time, decoded))
        words = {one.name.rpartition(".")[0] or one.name: one.metadata for one in reader.iter_metadata()}
    shift = words["logtool"].get("clock_offset_nanoseconds")
    return topics, None if shift is None else int(shift)


def nanoseconds(stamp):
    return stamp.sec * 10**9 + (stamp.nanosec if hasattr(stamp, "nanosec") else stamp.nsec)


def clouds(table, messages):
    """Each scan is a cloud: its points, and their times."""
    columns = {name: table[name].to_numpy() for name in table.column_names if name != "time"}
    times = table["time"].cast("int64").to_numpy()
    scans = np.unique(columns["scan"])
    if len(scans) != len(messages):
        yield f"{len(messages)} clouds, not {len(scans)}"
        return
    # In the order in which they end; which is that of their numbers.
    for scan, (log_time, cloud) in zip(scans, messages, strict=True):
        rows = columns["scan"] == scan
        ours = points(cloud)
        if len(ours) != rows.sum() or (hasattr(cloud, "width") and cloud.width * cloud.height != rows.sum()):
            yield f"scan {scan}: {len(ours)} points, not {rows.sum()}"
            continue
        for name in ours.dtype.names:
            if name in columns and not np.array_equal(ours[name], columns[name][rows], equal_nan=True):
                yield f"scan {scan}: {name} is another"
        stamp = nanoseconds(cloud.header.stamp) if hasattr(cloud, "header") else cloud.timestamp.ToNanoseconds()
        if not np.array_equal(stamp + ours["t"].astype("int64"), times[rows]):
            yield f"scan {scan}: other times"
        if log_time != times[rows].max():
            yield f"scan {scan}: at {log_time}, not at the time of its last point"
        if not np.allclose(ours["time"], (times[rows] - stamp) / 1e9, rtol=1e-6):
            yield f"scan {scan}: other times as float32"


def has(message, name):
    return not hasattr(message, "DESCRIPTOR") or message.HasField(name)


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
        # A number that is missing is one that a message of protocol buffers does not have.
        got = [getattr(message, name) if has(message, name) else None for _, message in messages]
        pairs = zip(wanted, got, strict=True)
        if any(a != b and not (a is None or a != a) for a, b in pairs):
            yield f"{name} is another"


def check(path, tally):
    """The checks of a log."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        run("convert", path, "-o", folder / "tables", "--format", "parquet")
        run("convert", path, "-o", folder / "made.mcap", "--ros2")
        run("convert", path, "-o", folder / "made.bag")
        run("convert", path, "-o", folder / "foxglove.mcap", "--foxglove")
        topics, shift = read(folder / "made.mcap")
        if "/points" in topics:
            # Points of new logs are on the best UTC that there is, as is asked of tables.
            knows_utc = shift is not None or path.suffix == ".pcap"
            utc = ["--clock", "utc"] if knows_utc else []
            run("convert", path, "-o", folder / "points", "--format", "parquet", "--topic", "points", *utc)
        read_in = (pq.ParquetFile(table).read() for table in folder.glob("*/*.parquet"))
        tables = {topic(table.schema)[0]: table for table in read_in}
        for name, table in tables.items():
            ours = topics.get(f"/{name}")
            if name.startswith("points"):
                count = f"{len(ours or [])} clouds, {table.num_rows} points"
                tally.check("clouds", clouds(table, ours or []), count)
            elif ours and name != "image":
                tally.check(name, rows(table, ours, shift or 0), f"{len(ours)}")
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
        as_foxglove(folder, tables, topics, tally)


def as_foxglove(folder, tables, topics, tally):
    """The same log in Foxglove's types: against its tables, and against the messages of ROS."""
    made, shift = read(folder / "foxglove.mcap")
    tally.check("topics of Foxglove's types", [] if made.keys() == topics.keys() else [f"{made.keys()}"])
    tally.check("their descriptors", descriptors(folder / "foxglove.mcap"))
    for name, table in tables.items():
        ours = made.get(f"/{name}", [])
        if name.startswith("points"):
            tally.check("foxglove.PointCloud", clouds(table, ours), f"{len(ours)} clouds")
            poses = [cloud.pose for _, cloud in ours]
            tally.check("their poses", [] if all(p.orientation.w == 1 and p.position.x == 0 for p in poses) else ["others"])
        elif ours and name != "image":
            tally.check(f"{name} as protobuf", rows(table, ours, shift or 0), f"{len(ours)}")
    same = {
        "/tf": lambda m: [turn(m.transforms[0].transform)] if hasattr(m, "transforms") else [turn(m)],
        "/gps/fix": lambda m: [m.latitude, m.longitude],
        "/position/fix": lambda m: [m.latitude, m.longitude],
        "/image/compressed": lambda m: [bytes(m.data), m.format],
        "/image": lambda m: [bytes(m.data), m.encoding, m.width, m.height, m.step],
    }
    for name, values in same.items():
        wanted, got = ([(time, *values(m)) for time, m in of.get(name, [])] for of in (topics, made))
        stamps = [m.timestamp.ToNanoseconds() for _, m in made.get(name, [])]
        differences = [] if wanted == got and stamps == [time for time, *_ in got] else ["other messages"]
        if wanted:
            tally.check(f"{name} of Foxglove's types", differences, f"{len(got)}")


def turn(transform):
    return [getattr(transform.rotation, name) for name in "xyzw"]


def descriptors(path):
    """Each field of Foxglove's types is one that the Python package's type has."""
    with open(path, "rb") as file:
        for schema in make_reader(file).get_summary().schemas.values():
            package, name = schema.name.split(".")
            if package != "foxglove":
                continue
            files = FileDescriptorSet.FromString(schema.data)
            for message in (m for one in files.file if one.package == "foxglove" for m in one.message_type):
                theirs = getattr(import_module(f"foxglove_schemas_protobuf.{message.name}_pb2"), message.name).DESCRIPTOR
                for field in message.field:
                    real = theirs.fields_by_name.get(field.name)
                    kinds = real and (real.number, real.type, real.is_repeated)
                    if kinds != (field.number, field.type, field.label == 3):
                        yield f"{message.name}.{field.name} is {kinds}"
                for enum in message.enum_type:
                    values = {value.name: value.number for value in enum.value}
                    if values != {v.name: v.number for v in theirs.enum_types_by_name[enum.name].values}:
                        yield f"{message.name}.{enum.name} is another"
