"""The clouds in bags and MCAP files as arrays of points, which the Python packages rosbags, mcap, mcap-ros2-support,
mcap-protobuf-support and numpy read; and MCAP files with the clouds of a bag, which these packages write."""

import base64
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from mcap.reader import make_reader
from mcap.writer import Writer
from mcap_protobuf.decoder import DecoderFactory as ProtobufFactory
from mcap_protobuf.schema import build_file_descriptor_set
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

sys.path.append(str(Path(__file__).with_name("mcap")))

from foxglove import PointCloud, cloud, in_json, json_schema

POINT_CLOUD2 = "sensor_msgs/msg/PointCloud2"
ROS1 = get_typestore(Stores.ROS1_NOETIC)
#: The types of fields of sensor_msgs/PointField, and of foxglove.PackedElementField.
TYPES = dict(enumerate(("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8"), 1))
FOXGLOVE_TYPES = dict(enumerate(("u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"), 1))


def points(message):
    """The points of a cloud of either kind, with the fields that have one value."""
    if hasattr(message, "point_stride"):
        fields = [(f.name, "<" + FOXGLOVE_TYPES[f.type], f.offset) for f in message.fields]
        size, data = message.point_stride, bytes(message.data)
    else:
        order = ">" if message.is_bigendian else "<"
        fields = [(f.name, order + TYPES[f.datatype], f.offset) for f in message.fields if max(f.count, 1) == 1]
        size, length, data = message.point_step, message.width * message.point_step, bytes(message.data)
        step = max(message.row_step, length)
        data = b"".join(data[row * step : row * step + length] for row in range(message.height))
    names, formats, offsets = zip(*fields, strict=True)
    kind = {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}
    return np.frombuffer(data, np.dtype(kind))


def posed(made, pose):
    """The points in the frame of their cloud, of which `pose` is the origin."""
    turn = [getattr(pose.orientation, name) for name in "xyzw"]
    if not any(turn):
        return made
    places = np.stack([made[name] for name in "xyz"], 1)
    places = Rotation.from_quat(turn).apply(places) + [getattr(pose.position, name) for name in "xyz"]
    made = made.copy()
    for name, axis in zip("xyz", places.T, strict=True):
        made[name] = axis
    return made


def raw_of_bag(bag):
    """The topic, the definition, the time and the bytes of each cloud in a bag."""
    with AnyReader([bag], default_typestore=ROS1) as reader:
        wanted = [c for c in reader.connections if c.msgtype == POINT_CLOUD2]
        for connection, time, data in reader.messages(wanted) if wanted else ():
            yield connection.topic, connection.msgdef.data, time, data


def messages_of_mcap(path):
    """The topic of each cloud in an MCAP file, and the cloud."""
    factories = ProtobufFactory(), DecoderFactory()
    with open(path, "rb") as file:
        for schema, channel, message in make_reader(file).iter_messages():
            if schema is None or schema.name.split("/")[-1] not in ("PointCloud2", "foxglove.PointCloud"):
                continue
            if channel.message_encoding == "ros1":
                yield channel.topic, ROS1.deserialize_ros1(message.data, POINT_CLOUD2)
            elif channel.message_encoding == "json":
                found = json.loads(message.data, object_hook=lambda fields: SimpleNamespace(**fields))
                found.data = base64.b64decode(found.data)
                yield channel.topic, found
            else:
                decoders = (factory.decoder_for(channel.message_encoding, schema) for factory in factories)
                yield channel.topic, next(filter(None, decoders))(message.data)


def clouds(log):
    """The clouds of each topic of a bag or an MCAP file that have points: their stamps in seconds, and their points."""
    found = {}
    if log.suffix == ".mcap":
        messages = messages_of_mcap(log)
    else:
        messages = ((topic, ROS1.deserialize_ros1(raw, POINT_CLOUD2)) for topic, _, _, raw in raw_of_bag(log))
    for topic, message in messages:
        made = points(message)
        if hasattr(message, "point_stride"):
            made = posed(made, message.pose)
            # In protocol buffers, ROS 2 and JSON.
        stamp = message.timestamp if hasattr(message, "timestamp") else message.header.stamp
        seconds, nanos = (
            next(getattr(stamp, name) for name in names if hasattr(stamp, name))
            for names in (("sec", "seconds"), ("nanosec", "nsec", "nanos"))
        )
        if len(made):
            found.setdefault(topic, []).append((seconds + nanos / 1e9, made))
    return found


def mcap_files(bag, folder):
    """Writes the clouds of a bag as an MCAP file in each encoding that clouds have."""
    ros2 = get_typestore(Stores.ROS2_HUMBLE)
    kinds = {
        "ros1": ("sensor_msgs/PointCloud2", "ros1msg", lambda raw, _: bytes(raw)),
        "cdr": (POINT_CLOUD2, "ros2msg", lambda raw, _: bytes(ros2.ros1_to_cdr(raw, POINT_CLOUD2))),
        "protobuf": ("foxglove.PointCloud", "protobuf", lambda _, made: made.SerializeToString()),
        "json": ("foxglove.PointCloud", "jsonschema", lambda _, made: json.dumps(in_json(made)).encode()),
    }
    schemas = {
        "cdr": ros2.generate_msgdef(POINT_CLOUD2, ros_version=2)[0].encode(),
        "protobuf": build_file_descriptor_set(PointCloud).SerializeToString(),
        "json": json_schema(PointCloud),
    }
    for encoding, (name, schema_encoding, encode) in kinds.items():
        path = Path(folder) / f"{bag.stem}_{encoding}.mcap"
        with open(path, "wb") as file:
            writer = Writer(file)
            writer.start()
            channels = {}
            for topic, definition, time, raw in raw_of_bag(bag):
                if topic not in channels:
                    schema = schemas.get(encoding, definition.encode())
                    schema = writer.register_schema(name, schema_encoding, schema)
                    channels[topic] = writer.register_channel(topic, encoding, schema)
                message = ROS1.deserialize_ros1(raw, POINT_CLOUD2)
                stamp = message.header.stamp
                made = cloud(points(message), stamp.sec * 10**9 + stamp.nanosec)
                writer.add_message(channels[topic], time, encode(raw, made), time)
            writer.finish()
        yield path
