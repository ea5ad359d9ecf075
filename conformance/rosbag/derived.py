"""Compares the points, packets and images that logtool makes of messages with what numpy
and Pillow make of the same: of the samples, and of a bag that has them in every form; each as a bag, as
an MCAP file of the same messages, and as one of them in CDR.

The messages themselves are decoded by rosbags. Usage: derived.py [BAG...]
"""

import csv
import io
import os
import sys
import tempfile
from pathlib import Path

import derived_bag
import numpy as np
import pyarrow as pa
from derived_bag import KINDS
from logtool import Ours, read_arrow, run, topic
from PIL import Image
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from tally import Tally

POINTS = ("PointCloud2", "PointCloud", "LaserScan")
IMAGES = ("Image", "CompressedImage")


def check(path):
    tally = Tally(path.name, [])
    messages = {}
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.ROS1_NOETIC)) as reader:
            for connection, time, data in reader.messages():
                kind = connection.msgtype.split("/")[-1]
                if kind in (*POINTS, *IMAGES, "VelodyneScan"):
                    message = reader.deserialize(data, connection.msgtype)
                    messages.setdefault((connection.topic, kind), []).append((time, message))
    except Exception as error:  # not a bag that rosbags reads
        print(f"SKIPPED  {path.name}: {str(error)[:80]}")
        return tally
    if not messages:
        return tally
    with tempfile.TemporaryDirectory() as folder:
        compare(Ours(path), messages, tally, "")
        for form, how in (("ros1.mcap", ()), ("ros2.mcap", ("--ros2",))):
            made = Path(folder) / form
            run("convert", path, "-o", made, *how)
            compare(Ours(made), messages, tally, f" of {form}")
            compare_lidars(path, made, tally, form)
    return tally


def tables_of(ours):
    tables = [read_arrow(file) for file in ours.convert("arrow").glob("*.arrow")]
    return {topic(table.schema): table for table in tables}


def compare_lidars(bag, made, tally, form):
    """Points that are made of packets: those of bags are compared with the capture's."""
    theirs, ours = tables_of(Ours(bag)), tables_of(Ours(made))
    for key, table in theirs.items():
        if key[0].endswith("/points") and "scan" in table.column_names:
            same = key in ours and ours[key].equals(table)
            tally.check(f"{key[0]} of {form}", [] if same else ["other points"], f"{table.num_rows}")


def compare(ours, messages, tally, form):
    """Returns the derived topics of logtool for a log."""
    tables = tables_of(ours)
    for (name, kind), of_topic in sorted(messages.items()):
        if kind in POINTS:
            table = tables.get((f"{name}/points", 0))
            differences = list(points(table, kind, of_topic))
            told = f"{table.num_rows if table else 0} rows"
            tally.check(f"{name} points{form}", differences, told)
        elif kind == "VelodyneScan":
            table = tables.get((f"{name}/packets", 0))
            differences = list(packets(table, of_topic))
            told = f"{table.num_rows if table else 0} packets"
            tally.check(f"{name} packets{form}", differences, told)
    pictures = {key: value for key, value in messages.items() if key[1] in IMAGES}
    if pictures:
        folder = ours.convert("images")
        for (name, kind), of_topic in sorted(pictures.items()):
            differences = list(images(folder / name.strip("/").replace("/", "_"), kind, of_topic))
            tally.check(f"{name} images{form}", differences, f"{len(of_topic)} images")


def stamp(header):
    return header.stamp.sec * 10**9 + header.stamp.nanosec


def bits(values):
    values = np.ascontiguousarray(values)
    return np.nan_to_num(values, nan=0.5).tobytes() if values.dtype.kind == "f" else values.tobytes()


def points(table, kind, messages):
    """Yields differences between a table of points and the messages."""
    of_kind = {"PointCloud2": of_cloud2, "PointCloud": of_cloud, "LaserScan": of_scan}[kind]
    made = [of_kind(message) for _, message in messages]
    counts = [len(next(iter(columns.values()))) if columns else 0 for columns in made]
    if table is None:
        if sum(counts):
            yield "no table"
        return
    if table.num_rows != sum(counts):
        yield f"{table.num_rows} rows, not {sum(counts)}"
        return
    times = np.repeat([time for time, _ in messages], counts)
    stamps = np.repeat([stamp(message.header) for _, message in messages], counts)
    index = np.concatenate([np.arange(count) for count in counts])
    columns = {"time": times, "stamp": stamps, "index": index}
    if kind == "PointCloud2" and any(m.height > 1 for _, m in messages if m.width):
        widths = np.repeat([message.width for _, message in messages], counts)
        columns |= {"row": index // widths, "column": index % widths}
    full = [(part, len(next(iter(part.values())))) for part in made if part]
    for name in dict.fromkeys(name for part, _ in full for name in part):
        there = [part[name] for part, _ in full if name in part]
        kind_of_all, shape = np.result_type(*there), there[0].shape[1:]
        lacking = lambda count: np.ma.masked_all((count, *shape), kind_of_all)
        parts = [part[name] if name in part else lacking(count) for part, count in full]
        columns[name] = np.ma.concatenate(parts).astype(kind_of_all)
    if table.column_names != list(columns):
        yield f"columns {table.column_names}, not {list(columns)}"
        return
    for name, values in columns.items():
        array = table.column(name).combine_chunks()
        if pa.types.is_temporal(array.type):
            array = array.cast(pa.int64())
        if pa.types.is_fixed_size_list(array.type):
            array = array.flatten()
        nulls = np.ma.getmaskarray(values).ravel()
        if not np.array_equal(np.asarray(array.is_null()), nulls):
            yield f"{name}: other values are null"
            continue
        mine = np.asarray(array.drop_null())
        theirs = np.ma.getdata(values).ravel()[~nulls]
        theirs = theirs.astype(theirs.dtype.newbyteorder("="))
        if name in ("x", "y", "angle") and kind == "LaserScan":
            if not np.allclose(mine, theirs, rtol=1e-6, atol=1e-6):
                yield f"{name}: other values"
        elif name in ("time", "stamp", "index", "row", "column", "beam_time"):
            if not np.array_equal(mine.astype(np.int64), theirs):
                yield f"{name}: other values"
        elif mine.dtype != theirs.dtype or bits(mine) != bits(theirs):
            yield f"{name}: other values, {mine.dtype} and {theirs.dtype}"


def unique(name, names):
    while name in names:
        name += "_"
    return name


def of_cloud2(message):
    order = ">" if message.is_bigendian else "<"
    names = {"time", "stamp", "index"} | ({"row", "column"} if message.height > 1 else set())
    fields = {}
    for field in message.fields:
        name = unique(field.name, names | set(fields))
        kind = order + KINDS[field.datatype - 1]
        kind = (kind, (field.count,)) if field.count > 1 else kind
        fields[name] = (kind, field.offset)
    dtype = np.dtype({
        "names": list(fields),
        "formats": [kind for kind, _ in fields.values()],
        "offsets": [offset for _, offset in fields.values()],
        "itemsize": message.point_step,
    })
    data = message.data.tobytes()
    rows = [
        np.frombuffer(data, dtype, message.width, row * message.row_step)
        for row in range(message.height if message.width else 0)
    ]
    if not rows:
        return {}
    return {name: np.concatenate([row[name] for row in rows]) for name in fields}


def of_cloud(message):
    if not message.points:
        return {}
    columns = {axis: np.array([getattr(p, axis) for p in message.points], np.float32) for axis in "xyz"}
    for channel in message.channels:
        name = unique(channel.name, {"time", "stamp", "index"} | set(columns))
        columns[name] = np.asarray(channel.values, np.float32)
    return columns


def of_scan(message):
    ranges = np.asarray(message.ranges, np.float32)
    if not len(ranges):
        return {}
    beams = np.arange(len(ranges))
    low, high = np.float32(message.range_min), np.float32(message.range_max)
    is_point = np.isfinite(ranges) & (ranges >= low) & (ranges <= high)
    angle = float(np.float32(message.angle_min)) + beams * float(np.float32(message.angle_increment))
    far = np.where(is_point, ranges, 0).astype(float)
    delay = np.round(beams * (float(np.float32(message.time_increment)) * 1e9)).astype(np.int64)
    intensities = np.asarray(message.intensities, np.float32)
    missing = not len(intensities)

    def some(values):
        return np.ma.array(values.astype(np.float32), mask=~is_point)

    return {
        "range": ranges,
        "intensity": np.ma.array(np.zeros_like(ranges) if missing else intensities, mask=missing),
        "angle": angle.astype(np.float32),
        "x": some(far * np.cos(angle)),
        "y": some(far * np.sin(angle)),
        "z": some(far * 0),
        "beam_time": stamp(message.header) + delay,
    }


def packets(table, messages):
    """Yields differences between a table of packets and the messages."""
    found = [(time, packet) for time, message in messages for packet in message.packets]
    if table is None:
        yield "no table"
        return
    theirs = [bytes(packet.data) for _, packet in found]
    if table.column("payload").to_pylist() != theirs:
        yield "other packets"
    stamps = [packet.stamp.sec * 10**9 + packet.stamp.nanosec for _, packet in found]
    near = [at if abs(at - time) <= 10**9 else time for (time, _), at in zip(found, stamps)]
    if table.column("time").cast(pa.int64()).to_pylist() != near:
        yield "other times"


def images(folder, kind, messages):
    """Yields differences between the files of a folder and the messages."""
    with (folder / "index.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    if len(rows) != len(messages):
        yield f"{len(rows)} rows, not {len(messages)}"
        return
    if len(list(folder.iterdir())) != len(rows) + 1:
        yield "other files"
    for row, (time, message) in zip(rows, messages):
        at = stamp(message.header)
        encoding = message.encoding if kind == "Image" else message.format
        told = (row["time"], row["stamp"], row["encoding"], row["frame_id"])
        if told != (str(time), str(at), encoding, message.header.frame_id):
            yield f"{row['file']}: {told}"
        named = at or time
        if not row["file"].startswith(f"{named // 10**9}.{named % 10**9:09d}"):
            yield f"{row['file']}: not called after {named}"
        file = (folder / row["file"]).read_bytes()
        picture = Image.open(io.BytesIO(file))
        if (row["width"], row["height"]) != tuple(map(str, picture.size)):
            yield f"{row['file']}: {row['width']} × {row['height']}, not {picture.size}"
        if kind == "CompressedImage":
            data = message.data.tobytes()
            start = 12 if "compressedDepth" in message.format else 0
            if file != data[start:]:
                yield f"{row['file']}: other bytes"
            continue
        tolerance, theirs = pixels(message)
        mine = samples(file, picture)
        if mine.shape != theirs.shape:
            yield f"{row['file']}: {mine.shape}, not {theirs.shape}"
        elif np.abs(mine.astype(np.int64) - theirs.astype(np.int64)).max() > tolerance:
            yield f"{row['file']}: other pixels ({encoding})"


def samples(file, picture):
    """The samples of a PNG. Pillow halves colours of 16 bits: those are read by hand."""
    depth, color = file[24], file[25]
    if depth == 16 and color != 0:
        return wide_png(file, picture.size, {2: 3, 6: 4}[color])
    return np.asarray(picture)


def wide_png(file, size, channels):
    """The samples of a PNG of 16 bits: https://www.w3.org/TR/png-3/#9Filters."""
    import zlib

    at, packed = 8, b""
    while at < len(file):
        length = int.from_bytes(file[at : at + 4], "big")
        if file[at + 4 : at + 8] == b"IDAT":
            packed += file[at + 8 : at + 8 + length]
        at += length + 12
    raw, width = zlib.decompress(packed), size[0] * channels * 2
    step, rows = channels * 2, []
    last = bytes(width)
    for y in range(size[1]):
        kind, row = raw[y * (width + 1)], bytearray(raw[y * (width + 1) + 1 : (y + 1) * (width + 1)])
        for x in range(width):
            left = row[x - step] if x >= step else 0
            up, corner = last[x], last[x - step] if x >= step else 0
            row[x] = (row[x] + predicted(kind, left, up, corner)) & 255
        rows.append(bytes(row))
        last = rows[-1]
    return np.frombuffer(b"".join(rows), ">u2").reshape(size[1], size[0], channels)


def predicted(kind, left, up, corner):
    if kind == 4:
        guess = left + up - corner
        return min((left, up, corner), key=lambda value: abs(guess - value))
    return (0, left, up, (left + up) // 2)[kind]


def pixels(message):
    """The samples that an image is to have, and how far off they may be."""
    encoding, height, width = message.encoding, message.height, message.width
    order = ">" if message.is_bigendian else "<"
    rows = message.data.reshape(height, message.step)
    known = derived_bag.IMAGES.get(encoding)
    if encoding in ("8UC3", "16UC3"):
        known, encoding = (3, "u1" if encoding[0] == "8" else "u2"), "bgr"
    channels, kind = known
    size = np.dtype(kind).itemsize
    rows = np.ascontiguousarray(rows[:, : width * channels * size])
    values = rows.view(order + kind).reshape(height, width, channels)
    if encoding.startswith("bayer"):
        return 1, bayer(values[:, :, 0].astype(float), encoding[6:10])
    if encoding.startswith("yuv"):
        return 1, yuv(values, encoding == "yuv422")
    if kind[0] == "f":
        metres = values[:, :, 0].astype(float)
        return 0, np.clip(np.round(np.where(np.isfinite(metres), metres, 0) * 1000), 0, 65535)
    if encoding.startswith("bgr"):
        values = values[:, :, [2, 1, 0, 3][:channels]]
    return 0, values[:, :, 0] if channels == 1 else values


def yuv(values, is_uyvy):
    """BT.601, by its definition: Kr = 0.299, Kb = 0.114, 219 and 224 steps."""
    light, colour = (1, 0) if is_uyvy else (0, 1)
    y = (values[:, :, light].astype(float) - 16) / 219
    u = np.repeat((values[:, 0::2, colour].astype(float) - 128) / 224, 2, axis=1)
    v = np.repeat((values[:, 1::2, colour].astype(float) - 128) / 224, 2, axis=1)
    red, blue = y + 1.402 * v, y + 1.772 * u
    green = (y - 0.299 * red - 0.114 * blue) / 0.587
    return np.clip(np.round(np.stack([red, green, blue], axis=2) * 255), 0, 255)


def bayer(values, pattern):
    """Each colour is the mean of those of it among a pixel and its neighbours."""
    height, width = values.shape
    colours = np.array(["rgb".index(letter) for letter in pattern]).reshape(2, 2)
    of_pixel = np.tile(colours, (height // 2 + 1, width // 2 + 1))[:height, :width]
    planes = []
    for colour in range(3):
        mask = np.pad((of_pixel == colour).astype(float), 1)
        held = np.pad(values, 1) * mask
        around = [
            (slice(dy, dy + height), slice(dx, dx + width)) for dy in range(3) for dx in range(3)
        ]
        mean = sum(held[at] for at in around) / sum(mask[at] for at in around)
        planes.append(np.where(of_pixel == colour, values, np.round(mean)))
    return np.stack(planes, axis=2)


def main():
    bags = [Path(name) for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory(prefix="derived-") as folder:
        if not bags:
            made = Path(folder) / "every_form.bag"
            derived_bag.write(made)
            samples = Path(os.environ["LOGTOOL_SAMPLES"]) / "rosbag"
            bags = [made, *sorted(samples.glob("*.bag"))]
        tallies = [check(path) for path in bags]
    for tally in tallies:
        if tally.lines:
            print("\n".join(tally.lines))
    passed, failed = sum(t.passed for t in tallies), sum(t.failed for t in tallies)
    print(f"derived: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
