"""Compares sums of the attributes of points in LAS, LAZ, PCD, PLY and KITTI files with those of
the clouds in bags, which rosbags and numpy read.

laspy reads LAS and LAZ; pypcd4, Open3D and a small program with the Point Cloud Library read PCD;
plyfile and Open3D read PLY; numpy reads KITTI. Open3D (`pip install open3d`) and PCL (`apt install
libpcl-dev`) are skipped, which is printed, where they are missing.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import laspy
import numpy as np
from logtool import run
from plyfile import PlyData
from pypcd4 import PointCloud
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from tally import Tally

try:
    import open3d
except ImportError:
    open3d = None

SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"])
#: The types of fields of sensor_msgs/PointField.
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
#: Seconds from Unix time to adjusted standard GPS time since 2017, and from 2009 to 2012.
GPS = ((1483228800, 18 - 1315964800), (1435708800, 17 - 1315964800), (0, 15 - 1315964800))
#: The times of points in clouds: seconds or nanoseconds after the stamp, or Unix time.
TIMES = {"t": 1e-9, "offset_time": 1e-9, "time": 1.0, "timestamp": None}


def clouds(bag):
    """The points of each topic of clouds: a dictionary of arrays by field, and the stamps."""
    found = {}
    with AnyReader([bag], default_typestore=get_typestore(Stores.ROS1_NOETIC)) as reader:
        wanted = [c for c in reader.connections if c.msgtype.endswith("/PointCloud2")]
        for connection, _, raw in reader.messages(wanted) if wanted else ():
            message = reader.deserialize(raw, connection.msgtype)
            if message.width * message.height == 0:
                continue
            order = ">" if message.is_bigendian else "<"
            fields = [f for f in message.fields if max(f.count, 1) == 1]
            kind = np.dtype(
                {
                    "names": [f.name for f in fields],
                    "formats": [order + TYPES[f.datatype] for f in fields],
                    "offsets": [f.offset for f in fields],
                    "itemsize": message.point_step,
                }
            )
            step, length = message.row_step, message.width * message.point_step
            step = step if step >= length else length
            data = bytes(message.data)
            rows = [data[row * step : row * step + length] for row in range(message.height)]
            points = np.frombuffer(b"".join(rows), kind)
            stamp = message.header.stamp.sec + message.header.stamp.nanosec / 1e9
            found.setdefault(connection.topic, []).append((stamp, points))
    return found


def column(parts, name):
    """A field of all clouds of a topic; None if a cloud lacks it."""
    if any(name not in points.dtype.names for _, points in parts):
        return None
    return np.concatenate([points[name].astype(points.dtype[name].newbyteorder("=")) for _, points in parts])


def colors(parts):
    """Red, green and blue of the points, or None."""
    for names in (("red", "green", "blue"), ("r", "g", "b")):
        channels = [column(parts, name) for name in names]
        if all(channel is not None and channel.dtype == "u1" for channel in channels):
            return np.stack(channels).astype(np.int64)
    for name in ("rgb", "rgba"):
        values = column(parts, name)
        if values is not None and values.dtype.itemsize == 4:
            bits = values.view("u4")
            return np.stack([bits >> 16 & 255, bits >> 8 & 255, bits & 255]).astype(np.int64)
    return None


def is_packed(parts):
    """Whether the colours are one field, which is the only form that readers of PCD know."""
    return any(column(parts, name) is not None for name in ("rgb", "rgba"))


def times(parts):
    """The time of each point on UTC, or None."""
    for name, unit in TIMES.items():
        values = column(parts, name)
        if values is None:
            continue
        stamps = np.concatenate([np.full(len(points), stamp) for stamp, points in parts])
        return values.astype("f8") if unit is None else stamps + values.astype("f8") * unit
    return None


def same(what, ours, theirs, tolerance=0.0):
    ours, theirs = np.asarray(ours, "f8"), np.asarray(theirs, "f8")
    if ours.shape != theirs.shape:
        yield f"{what}: {theirs.shape} in the file, {ours.shape} in the bag"
        return
    ours, theirs = np.nan_to_num(ours), np.nan_to_num(theirs)
    off = np.abs(ours - theirs).max(initial=0)
    if off > tolerance or abs(ours.sum() - theirs.sum()) > tolerance * max(ours.size, 1):
        yield f"{what}: sum {theirs.sum()!r} in the file, {ours.sum()!r} in the bag, off by {off}"


def las(path, parts):
    read = laspy.read(path)
    positions = np.stack([column(parts, name).astype("f8") for name in "xyz"])
    kept = np.isfinite(positions).all(axis=0)
    for name, axis in zip("xyz", positions, strict=True):
        yield from same(name, axis[kept], read[name], 5.1e-5)
    intensity = column(parts, "intensity")
    if intensity is not None:
        (about,) = [vlr for vlr in read.header.vlrs if vlr.user_id == "logtool"]
        scale = float(json.loads(about.record_data)["logtool.intensity_full_scale"])
        scaled = np.nan_to_num(intensity[kept].astype("f8") / scale * 65535, posinf=65535, neginf=0)
        yield from same("intensity", np.clip(np.floor(scaled + 0.5), 0, 65535), read.intensity)
        if intensity.dtype.kind == "f":
            yield from same("intensity as it is", intensity[kept], read["intensity_"])
    wanted = colors(parts)
    if wanted is not None:
        yield from same("colours", wanted[:, kept] * 257, np.stack([read.red, read.green, read.blue]))
    wanted = times(parts)
    if wanted is not None:
        shift = next(shift for start, shift in GPS if wanted[0] >= start)
        yield from same("times", wanted[kept] + shift, read.gps_time, 1e-6)
    for name in parts[0][1].dtype.names:
        if name in ("x", "y", "z", "intensity", "rgb") or column(parts, name) is None:
            continue
        if name in ("red", "green", "blue", "r", "g", "b") and colors(parts) is not None:
            continue
        there = name[:32] if name[:32] in read.point_format.dimension_names else f"{name}_"
        stored = {"ring": "point_source_id"} if column(parts, name).dtype in ("u1", "u2") else {}
        yield from same(name, column(parts, name)[kept], read[stored.get(name, there)])


def pcd(path, parts):
    cloud = PointCloud.from_path(path)
    for name in parts[0][1].dtype.names:
        values = column(parts, name)
        if values is None:
            continue
        if name in ("rgb", "rgba") and values.dtype.itemsize == 4:
            # The type in the file is another one, with the same bits.
            stored = np.ascontiguousarray(cloud.pc_data[name])
            yield from same(f"bits of {name}", values.view("u4"), stored.view("u4"))
        elif name == "time" and values.dtype == "f8":
            exact = "timestamp_" if "timestamp_" in cloud.fields else "timestamp"
            yield from same(name, values, cloud.pc_data[exact])
        else:
            yield from same(name, values, cloud.pc_data[name], 1e-3 if name == "intensity" else 0.0)
    for name, kind in (("intensity", "f4"), ("ring", "u2")):
        if name in cloud.fields and cloud.pc_data[name].dtype != kind:
            yield f"{name} is {cloud.pc_data[name].dtype}, which PCL does not read"


def ply(path, parts):
    vertex = PlyData.read(str(path))["vertex"]
    wanted = colors(parts)
    if wanted is not None:
        stored = np.stack([vertex[name] for name in ("red", "green", "blue")])
        yield from same("colours", wanted, stored.astype(np.int64))
        if stored.dtype != np.uint8:
            yield f"colours are {stored.dtype}"
    intensity = column(parts, "intensity")
    if intensity is not None:
        yield from same("intensity", intensity, vertex["intensity"])


def by_open3d(path, parts):
    read = open3d.io.read_point_cloud(str(path), remove_nan_points=False, remove_infinite_points=False)
    positions = np.stack([column(parts, name).astype("f8") for name in "xyz"])
    yield from same("positions", positions, np.asarray(read.points).T)
    wanted = colors(parts)
    if wanted is not None and (path.suffix == ".ply" or is_packed(parts)):
        yield from same("colours", wanted, np.round(np.asarray(read.colors).T * 255))


def kitti(path, parts):
    read = np.fromfile(path, "<f4").reshape(-1, 4)
    positions = np.stack([column(parts, name).astype("f8") for name in "xyz"])
    kept = np.isfinite(positions).all(axis=0)
    yield from same("positions", positions[:, kept], read[:, :3].T, 1e-3)
    intensity = column(parts, "intensity")
    if intensity is not None and read.size and np.isfinite(intensity).all():
        ratio = intensity[kept].astype("f8").clip(0).sum() / max(read[:, 3].astype("f8").sum(), 1e-30)
        if not any(abs(ratio / scale - 1) < 1e-5 for scale in (1, 255, 65535)):
            yield f"intensities are divided by {ratio}"


def pcl_program(folder):
    """The program with PCL, or None if it cannot be made."""
    headers = sorted(Path("/usr/include").glob("pcl-*"))
    if not headers or not shutil.which("g++"):
        return None
    program = folder / "sums"
    source = Path(__file__).with_name("sums.cpp")
    flags = [f"-I{headers[-1]}", "-I/usr/include/eigen3", "-lpcl_io", "-lpcl_common", "-lboost_filesystem", "-lboost_system"]
    subprocess.run(["g++", "-O0", "-std=c++17", "-w", source, "-o", program, *flags], check=True)
    return program


def by_pcl(program, path, parts):
    done = subprocess.run([program, path], capture_output=True, text=True, check=True)
    count, x, intensity, ring, time, *rgb = map(float, done.stdout.split())
    yield from same("points", [sum(len(points) for _, points in parts)], [count])
    values = {"x": x, "intensity": intensity, "ring": ring, "time": time}
    for name, total in values.items():
        wanted = column(parts, name)
        if wanted is None or name == "time" and wanted.dtype != "f4":
            continue
        finite = wanted[np.isfinite(wanted)].astype("f8")
        yield from same(f"sum of {name}", [finite.sum()], [total], 1e-6 * np.abs(finite).sum() + 1e-9)
    wanted = colors(parts)
    if wanted is not None and is_packed(parts):
        yield from same("sums of colours", wanted.sum(axis=1), rgb)


def check(bag, program):
    tally = Tally(bag.name, [])
    topics = {topic: parts for topic, parts in clouds(bag).items() if all(column(parts, n) is not None for n in "xyz")}
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        folder = Path(folder)
        for format in ("las", "laz", "pcd", "ply", "kitti"):
            run("convert", bag, "-o", folder / format, "--format", format, "--per", "log", "--topic", "*/points")
        for topic, parts in topics.items():
            stem, count = f"{topic.strip('/').replace('/', '_')}_points", sum(len(points) for _, points in parts)
            path = {name: folder / name / f"{stem}.{name}" for name in ("las", "laz", "pcd", "ply")}
            note = f"{topic}, {count} points"
            tally.check("las", las(path["las"], parts), note)
            tally.check("laz", las(path["laz"], parts), note)
            tally.check("pcd", pcd(path["pcd"], parts), note)
            tally.check("ply", ply(path["ply"], parts), note)
            tally.check("kitti", kitti(folder / "kitti" / f"{stem}.bin", parts), note)
            if open3d:
                tally.check("ply by Open3D", by_open3d(path["ply"], parts), note)
                tally.check("pcd by Open3D", by_open3d(path["pcd"], parts), note)
            if program:
                tally.check("pcd by PCL", by_pcl(program, path["pcd"], parts), note)
    return tally


def bags():
    """The bags with clouds."""
    for folder in ("cases/rosbag", "rosbag"):
        for bag in sorted((SAMPLES / folder).glob("*.bag")):
            if bag.stat().st_size < 50_000_000:
                yield bag


def main():
    if not open3d:
        print("SKIPPED  Open3D is not installed")
    tallies = []
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        program = pcl_program(Path(folder))
        if not program:
            print("SKIPPED  PCL (libpcl-dev) and g++ are not installed")
        for bag in bags():
            try:
                has_clouds = bool(clouds(bag))
            except Exception:  # bags of the samples that are damaged on purpose
                continue
            if has_clouds:
                tallies.append(check(bag, program))
    for tally in tallies:
        print("\n".join(tally.lines))
    passed, failed = sum(t.passed for t in tallies), sum(t.failed for t in tallies)
    print(f"{passed} checks passed, {failed} failed")
    sys.exit(failed > 0)


main()
