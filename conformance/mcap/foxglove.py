"""Clouds and images of Foxglove's own types, written with the Python packages
foxglove-schemas-protobuf and mcap-protobuf-support, as logtool reads them."""

import base64
import io
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from foxglove_schemas_protobuf.CompressedImage_pb2 import CompressedImage
from foxglove_schemas_protobuf.PackedElementField_pb2 import PackedElementField
from foxglove_schemas_protobuf.PointCloud_pb2 import PointCloud
from foxglove_schemas_protobuf.RawImage_pb2 import RawImage
from logtool import run
from mcap.writer import Writer as McapWriter
from mcap_protobuf.writer import Writer
from PIL import Image

KINDS = {
    "uint8": PackedElementField.UINT8, "int8": PackedElementField.INT8,
    "uint16": PackedElementField.UINT16, "int16": PackedElementField.INT16,
    "uint32": PackedElementField.UINT32, "int32": PackedElementField.INT32,
    "float32": PackedElementField.FLOAT32, "float64": PackedElementField.FLOAT64,
}  # fmt: skip


def points(count, seed):
    """Points of a field of each type, with a gap in each."""
    names = ["x", "y", "z", *KINDS]
    formats = ["<f4"] * 3 + [np.dtype(name).newbyteorder("<") for name in KINDS]
    offsets = np.cumsum([0, *(np.dtype(kind).itemsize for kind in formats)]) + 3
    types = np.dtype({"names": names, "formats": formats, "offsets": offsets[:-1], "itemsize": int(offsets[-1]) + 5})
    random = np.random.default_rng(seed)
    made = np.frombuffer(random.bytes(count * types.itemsize), dtype=types).copy()
    for name in ("x", "y", "z", "float32", "float64"):
        made[name] = random.normal(size=count)
    return made


def cloud(made, nanos):
    message = PointCloud(frame_id="map", point_stride=made.dtype.itemsize, data=made.tobytes())
    message.timestamp.FromNanoseconds(nanos)
    for name in made.dtype.names:
        kind, offset = made.dtype.fields[name][:2]
        message.fields.add(name=name, offset=offset, type=KINDS[kind.name])
    return message


def image(kind, **fields):
    message = kind(frame_id="cam", **fields)
    message.timestamp.FromNanoseconds(1_500_000_000)
    return message


def check(folder, tally):
    path = Path(folder) / "foxglove.mcap"
    clouds = [points(count, count) for count in (7, 0, 1, 500)]
    pixels = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(4, 5, 3)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    with open(path, "wb") as out:
        writer = Writer(out)
        for n, made in enumerate(clouds):
            writer.write_message("/cloud", cloud(made, 10**18 + n), log_time=n + 1, publish_time=n + 1)
        png = image(CompressedImage, data=file.getvalue(), format="png")
        writer.write_message("/png", png, log_time=9, publish_time=9)
        raw = image(RawImage, width=5, height=4, encoding="rgb8", step=15, data=pixels.tobytes())
        writer.write_message("/raw", raw, log_time=9, publish_time=9)
        writer.finish()

    check_points(path, clouds, folder, tally)
    check_images(path, file.getvalue(), pixels, folder, tally)

    json_path = Path(folder) / "foxglove_json.mcap"
    with open(json_path, "wb") as out:
        writer = McapWriter(out)
        writer.start()
        for topic, messages in {"/cloud": [cloud(made, 10**18 + n) for n, made in enumerate(clouds)], "/png": [png]}.items():
            name = messages[0].DESCRIPTOR.full_name
            schema = writer.register_schema(name, "jsonschema", json_schema(type(messages[0])))
            channel = writer.register_channel(topic, "json", schema)
            for n, message in enumerate(messages):
                writer.add_message(channel, n + 1, json.dumps(in_json(message)).encode(), n + 1)
        writer.finish()
    folder = Path(folder) / "of_json"
    check_points(json_path, clouds, folder, tally, "in JSON")
    check_images(json_path, file.getvalue(), None, folder, tally, "in JSON")


def json_schema(kind):
    """The schema of a message in JSON, with the names of its fields."""
    fields = {field.name: {} for field in kind.DESCRIPTOR.fields}
    return json.dumps({"type": "object", "properties": fields}).encode()


def in_json(message):
    """A message as Foxglove has it in JSON: moments as `sec` and `nsec`, bytes in base64."""
    if hasattr(message, "nanos"):
        return {"sec": message.seconds, "nsec": message.nanos}
    made = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.type == field.TYPE_BYTES:
            value = base64.b64encode(value).decode()
        elif field.type == field.TYPE_MESSAGE:
            # A repeated one has a length.
            value = [in_json(one) for one in value] if hasattr(value, "__len__") else in_json(value)
        made[field.name] = value
    return made


def check_points(path, clouds, folder, tally, how="in protobuf"):
    run("convert", path, "-o", Path(folder) / "points", "--format", "parquet", "--topic", "/cloud/points")
    table = pq.ParquetFile(next((Path(folder) / "points").glob("*.parquet"))).read()
    wanted, differences = np.concatenate(clouds), []
    for name in wanted.dtype.names:
        got = table[name].to_numpy()
        if got.dtype != wanted[name].dtype.newbyteorder("=") or not np.array_equal(got, wanted[name]):
            differences.append(f"{name}: {got.dtype} {got[:3]} | {wanted[name][:3]}")
    stamps = np.repeat([10**18 + n for n in range(len(clouds))], [len(made) for made in clouds])
    if table["stamp"].cast("int64").to_pylist() != stamps.tolist():
        differences.append("stamps")
    tally.check(f"points of foxglove.PointCloud {how}", differences, f"{len(wanted)} points")


def check_images(path, png, pixels, folder, tally, how="in protobuf"):
    run("convert", path, "-o", Path(folder) / "images", "--format", "images")
    differences = []
    if (Path(folder) / "images/png/1.500000000.png").read_bytes() != png:
        differences.append("foxglove.CompressedImage")
    if pixels is not None and not np.array_equal(np.asarray(Image.open(Path(folder) / "images/raw/1.500000000.png")), pixels):
        differences.append("foxglove.RawImage")
    tally.check(f"images of foxglove's types {how}", differences)
