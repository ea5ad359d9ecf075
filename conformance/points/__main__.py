"""Compares sums of the attributes of points in LAS, LAZ, PCD, PLY and KITTI files with those of
the clouds in bags and MCAP files, which other packages read (../clouds.py), and of the points of
captures and .vel logs, which velodyne_decoder computes (sums.py; their positions are compared in ../velodyne).

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
import sums
from clouds import clouds, mcap_files
from logtool import run
from plyfile import PlyData
from pypcd4 import PointCloud
from tally import Tally

try:
    import open3d
except (ImportError, OSError):  # also if a library of the system is missing
    open3d = None

#: The formats, each with the extension of its files.
FORMATS = {"las": "las", "laz": "laz", "pcd": "pcd", "ply": "ply", "kitti": "bin"}
#: Bags whose clouds are also looked at in MCAP files of each encoding.
IN_MCAP = ("coloured_clouds.bag", "cloud_point_times.bag", "intensities.bag")
#: Captures with damage that velodyne_decoder does not see.
DAMAGED = ("cntmis.vel", "ip_header_bit.pcap")
TESTDATA = Path(__file__).resolve().parents[2] / "testdata"
SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"])
#: The times of points in clouds: seconds or nanoseconds after the stamp, or Unix time.
TIMES = {"t": 1e-9, "offset_time": 1e-9, "time": 1.0, "timestamp": None}


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
        yield f"{what}: {theirs.shape} in the file, {ours.shape} in the log"
        return
    ours, theirs = np.nan_to_num(ours), np.nan_to_num(theirs)
    off = np.abs(ours - theirs).max(initial=0)
    if off > tolerance or abs(ours.sum() - theirs.sum()) > tolerance * max(ours.size, 1):
        yield f"{what}: sum {theirs.sum()!r} in the file, {ours.sum()!r} in the log, off by {off}"


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
        yield from same("times", wanted[kept] + sums.gps_shift(wanted[0]), read.gps_time, 1e-6)
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
    for name in parts[0][1].dtype.names:
        values = column(parts, name)
        if values is not None and (wanted is None or name not in ("rgb", "rgba", "r", "g", "b")):
            yield from same(name, values, vertex[name])


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
    found = sums.by_pcl(program, path)
    yield from same("points", [sum(len(points) for _, points in parts)], [found["points"]])
    for name in ("x", "intensity", "ring", "time"):
        wanted = column(parts, name)
        if wanted is None or name == "time" and wanted.dtype != "f4":
            continue
        finite = wanted[np.isfinite(wanted)].astype("f8")
        yield from same(f"sum of {name}", [finite.sum()], [found[name]], 1e-6 * np.abs(finite).sum() + 1e-9)
    wanted = colors(parts)
    if wanted is not None and is_packed(parts):
        yield from same("sums of colours", wanted.sum(axis=1), [found[name] for name in ("red", "green", "blue")])


def convert(log, folder, topic, stem):
    """Writes the points of a log in each format, and returns the files by format."""
    for to in FORMATS:
        run("convert", log, "-o", folder / to, "--format", to, "--per", "log", "--topic", topic)
    return {to: folder / to / f"{stem}.{extension}" for to, extension in FORMATS.items()}


def check_clouds(log, topics, program):
    tally = Tally(log.name, [])
    for topic, parts in topics.items():
        note = f"{topic}, {sum(len(points) for _, points in parts)} points"
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            path = convert(log, Path(folder), f"{topic}/points", f"{topic.strip('/').replace('/', '_')}_points")
            for to, reader in {"las": las, "laz": las, "pcd": pcd, "ply": ply, "kitti": kitti}.items():
                tally.check(to, reader(path[to], parts), note)
            if open3d:
                tally.check("ply by Open3D", by_open3d(path["ply"], parts), note)
                tally.check("pcd by Open3D", by_open3d(path["pcd"], parts), note)
            if program:
                tally.check("pcd by PCL", by_pcl(program, path["pcd"], parts), note)
    return tally


def check_capture(log, wanted, program):
    tally, note = Tally(log.name, []), f"{len(wanted['time'])} points"
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        paths = convert(log, Path(folder), "*points*", "points")
        for to, path in paths.items():
            tally.check(to, sums.differences(log, wanted, sums.in_file(path)), note)
        positions = laspy.read(paths["las"]).xyz
        for to in ("ply", "pcd") if open3d else ():
            read = np.asarray(open3d.io.read_point_cloud(str(paths[to])).points)
            tally.check(f"{to} by Open3D", same("positions", positions, read, 5.1e-5), note)
        if program:
            columns = sums.in_file(paths["pcd"])
            columns["time"] = columns["time"] - columns["time"][0]
            columns["points"] = np.ones(len(columns["time"]))
            found = sums.by_pcl(program, paths["pcd"])
            ours, theirs = zip(*((column.sum(dtype="f8"), found[name]) for name, column in columns.items()), strict=True)
            tally.check("pcd by PCL", same("sums", ours, theirs, 1e-6 * found["points"]), note)
    return tally


def logs(folders, suffixes, largest=50_000_000):
    """The samples in `folders` that are not too large."""
    found = [path for folder in folders for path in sorted(folder.glob("*.*")) if path.suffix in suffixes]
    return [path for path in found if path.stat().st_size < largest]


def sources(folder):
    """The logs with clouds, each with its topics."""
    bags = logs((SAMPLES / "cases/rosbag", SAMPLES / "rosbag", TESTDATA), (".bag",))
    for log in bags + logs((SAMPLES / "cases/mcap",), (".mcap",)):
        try:
            yield log, clouds(log)
        except Exception:  # samples that are damaged on purpose
            continue
    for bag in bags:
        if bag.name in IN_MCAP:
            yield from ((path, clouds(path)) for path in mcap_files(bag, folder))


def tallies(folder, program):
    for log, topics in sources(folder):
        topics = {topic: parts for topic, parts in topics.items() if all(column(parts, n) is not None for n in "xyz")}
        if topics:
            yield check_clouds(log, topics, program)
    for log in logs((SAMPLES / "velodyne", SAMPLES / "cases/velodyne", TESTDATA), (".pcap", ".vel"), 2_000_000):
        wanted = sums.decoded(log)
        if wanted and log.name not in DAMAGED:
            yield check_capture(log, wanted, program)


def main():
    if not open3d:
        print("SKIPPED  Open3D is not installed")
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        program = pcl_program(Path(folder))
        if not program:
            print("SKIPPED  PCL (libpcl-dev) and g++ are not installed")
        for tally in tallies(Path(folder), program):
            print("\n".join(tally.lines), flush=True)
            passed, failed = passed + tally.passed, failed + tally.failed
    print(f"{passed} checks passed, {failed} failed")
    sys.exit(failed > 0)


main()
