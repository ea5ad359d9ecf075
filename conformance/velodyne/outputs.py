"""Reads files of points of logtool with independent programs, and compares them
with the points in its Arrow tables, which velodyne_decoder and VeloView vouch for, and with
the clouds that rosbags and numpy find in bags; calibrations and pictures likewise.

PCD is read by pypcd4, PLY by plyfile, LAS and LAZ by laspy with lazrs, KITTI by numpy.
Prints the number of checks; exits non-zero where something differs. Needs the environment
LOGTOOL, the program, and LOGTOOL_SAMPLES, the folder of real logs.
"""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import laspy
import numpy as np
import yaml
from logtool import read_arrow, run
from PIL import Image
from plyfile import PlyData
from pypcd4 import PointCloud
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from tally import Tally

SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"])
VELODYNE = SAMPLES / "velodyne"
#: Each with more options, and whether its times are Unix time.
LIDAR_LOGS = (
    ("hdl64e_atwallshort.pcap", ("--calibration", VELODYNE / "calib_hdl64e_ajaayc_db.xml"), True),
    ("sim_hdl64e_s2.pcap", (), True),
    ("sim_hdl64e_s3_dual.pcap", (), True),
    ("sample_sim_s2.vel", (), False),
    ("sample_real_s1.vel", ("--axes", "manual", "--cut", "90"), False),
    ("sim_hdl64e_s2_bz2.bag", ("--formula", "ros"), True),
)
#: A bag and a capture of the very same packets.
TWINS = (("hdl64e_s1_atwall.bag", "hdl64e_atwallshort.pcap"),)
CLOUDS = ("bag-reader-java-PointCloud2.bag", "ros_numpy-test.bag")
#: Unix time to GPS time since 2017, before (2009 to 2012): leap seconds.
LEAPS = ((1483228800, 18), (1435708800, 17), (1341100800, 16), (1230768000, 15), (0, 14))
#: The columns that logs of lidars have, beside the time.
COLUMNS = (
    "x y z intensity intensity_calibrated laser ring azimuth distance return_type scan".split()
)


def convert(log, folder, to, *more):
    run("convert", log, "-o", folder, "--format", to, *more)
    return folder


def differ(what, ours, theirs):
    """A sentence if the arrays are not equal, NaN being itself."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape:
        yield f"{what}: {theirs.shape} read, {ours.shape} written"
    elif not np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f"):
        at = int(np.flatnonzero(ours != theirs)[0])
        yield f"{what}: {theirs[at]!r} read, {ours[at]!r} written, point {at}"


def numbers(table):
    """The columns of a table, times in nanoseconds."""
    columns = {}
    for name in table.column_names:
        column = table[name]
        kind = str(column.type)
        if kind.startswith("timestamp"):
            column = column.cast("int64")
        columns[name] = column.to_numpy()
    return columns


def scans(folder, table):
    """The files of a folder in the order of their scans, each with its rows of the table, and
    what is wrong with index.csv."""
    wrong = []
    with open(folder / "index.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    found = sorted(path.name for path in folder.iterdir() if path.name != "index.csv")
    if found != sorted(row["file"] for row in rows):
        wrong.append(f"index.csv lists {len(rows)} files of {len(found)}")
    pairs = []
    for row in rows:
        if "scan" in table:
            wanted = np.flatnonzero(table["scan"] == int(row["scan"]))
        else:
            message = np.cumsum(table["index"] == 0) - 1
            wanted = np.flatnonzero(message == int(row["scan"]))
        part = {name: column[wanted] for name, column in table.items()}
        wrong += differ("points", [len(wanted)], [int(row["points"])])
        if len(wanted):
            span = [int(row["time"]), int(row["end"])]
            wrong += differ("time", [part["time"].min(), part["time"].max()], span)
        pairs.append((folder / row["file"], part))
    if sum(int(row["points"]) for row in rows) != len(table["x"]):
        wrong.append("some points are in no scan")
    return pairs, wrong


def pcd(path, table):
    cloud = PointCloud.from_path(path)
    fields = {name: cloud.pc_data[name] for name in cloud.fields}
    if list(fields)[:3] != ["x", "y", "z"]:
        yield f"fields {list(fields)}"
    # PCL reads the time in seconds, the intensity, and the ring in these types only.
    seconds = ((table["time"] - table["time"][0]) / 1e9).astype(np.float32)
    yield from differ("time", seconds, fields["time"])
    types = {"intensity": np.float32, "ring": np.uint16}
    for name, column in table.items():
        column = column.astype(types.get(name, column.dtype))
        plain = "timestamp" if name == "time" else name.replace("[", "_").replace("]", "")
        if plain not in fields:
            yield f"no field {plain}"
            continue
        if fields[plain].dtype != column.dtype:
            yield f"{name} is {fields[plain].dtype}, not {column.dtype}"
        yield from differ(name, column, fields[plain])


def ply(path, table):
    data = PlyData.read(str(path))
    vertex = data["vertex"]
    for name, column in table.items():
        read = np.asarray(vertex[name])
        if name in ("time", "stamp"):
            origin = next(c for c in data.comments if c.startswith(f"origin of {name}: "))
            seconds, nanos = origin.split(": ")[1].removesuffix(" s").split(".")
            nanos = int(seconds) * 10**9 + int(nanos)
            read = np.round(read * 1e9).astype(np.int64) + nanos
        elif read.dtype != column.dtype:
            yield f"{name} is {read.dtype}, not {column.dtype}"
        yield from differ(name, column, read)


def kitti(path, table):
    read = np.fromfile(path, "<f4").reshape(-1, 4)
    for at, name in enumerate("xyz"):
        yield from differ(name, table[name], read[:, at])
    wanted = (table["intensity"].astype(np.float64) / 255).astype(np.float32)
    yield from differ("intensity", wanted, read[:, 3])


def las(path, table, is_unix):
    read = laspy.read(path)
    if read.header.version != laspy.header.Version(1, 2) or read.point_format.id != 1:
        yield f"version {read.header.version}, point format {read.point_format.id}"
    for name in "xyz":
        off = np.abs(np.asarray(read[name]) - table[name])
        if len(off) != len(table[name]) or off.max() > 5.1e-5:
            yield f"{name}: {len(off)} points, off by {off.max()} m"
    bounds = [table[name].astype(np.float64).max() for name in "xyz"]
    if np.abs(read.header.maxs - bounds).max() > 1e-4:
        yield f"bounds {read.header.maxs}, not {bounds}"
    yield from differ("intensity", table["intensity"].astype(np.uint16) * 257, read.intensity)
    yield from differ("point source", table["laser"].astype(np.uint16), read.point_source_id)
    yield from differ("user data", table["ring"], read.user_data)
    kinds = table["return_type"]
    # A firing of a laser that came back twice: both of its returns are there.
    # One number for both, because sorting pairs takes minutes for a million points.
    since_start = table["time"].astype(np.int64) - table["time"].min().astype(np.int64)
    _, which = np.unique(since_start * 256 + table["laser"], return_inverse=True)
    seen = np.zeros(which.max() + 1, np.int64)
    np.bitwise_or.at(seen, which, kinds.astype(np.int64))
    is_dual = seen[which] == 3
    wanted = np.where((kinds == 2) & is_dual, 2, 1)
    yield from differ("return number", wanted, np.asarray(read.return_number))
    wanted = np.where((kinds != 3) & is_dual, 2, 1)
    yield from differ("number of returns", wanted, np.asarray(read.number_of_returns))
    for name in ("scan", "intensity_calibrated", "azimuth", "distance", "return_type"):
        yield from differ(name, table[name], np.asarray(read[name]))
    seconds, nanos = np.divmod(table["time"], 10**9)
    offset = 0
    if is_unix:
        leaps = next(leaps for start, leaps in LEAPS if seconds[0] >= start)
        offset = leaps - 315964800 - 10**9
    if read.header.global_encoding.gps_time_type.value != int(is_unix):
        yield f"type of time {read.header.global_encoding.gps_time_type}"
    off = np.abs((np.asarray(read.gps_time) - (seconds + offset)) - nanos / 1e9)
    if off.max() > 1.3e-7:
        yield f"time: off by {off.max()} s"
    about = [vlr for vlr in read.header.vlrs if vlr.user_id == "logtool"]
    if not about or "logtool.topic.metadata.formula" not in json.loads(about[0].record_data):
        yield "the provenance of the points is missing"


def lidar_log(name, more, is_unix):
    tally, log = Tally(name, []), VELODYNE / name
    with tempfile.TemporaryDirectory(prefix="conformance-") as out:
        out = Path(out)
        tables = convert(log, out / "arrow", "arrow", "--topic", "*points", *more)
        (table,) = [numbers(read_arrow(path)) for path in tables.glob("*.arrow")]
        if list(table) != ["time", *COLUMNS]:
            tally.check("columns", [str(list(table))])
        wanted = {
            "pcd": (pcd, "pcd"),
            "pcd ascii": (pcd, "pcd", "--encoding", "ascii"),
            "pcd compressed": (pcd, "pcd", "--encoding", "compressed"),
            "ply": (ply, "ply"),
            "ply ascii": (ply, "ply", "--encoding", "ascii"),
            "kitti": (kitti, "kitti"),
            "las of scans": (lambda *a: las(*a, is_unix), "las", "--per", "scan"),
        }
        for what, (read, to, *options) in wanted.items():
            folder = convert(log, out / what, to, *options, *more)
            (folder,) = (path for path in folder.iterdir() if path.is_dir())
            pairs, wrong = scans(folder, table)
            for path, part in pairs:
                wrong += [f"{path.name}: {text}" for text in read(path, part)]
            tally.check(what, wrong, f"{len(pairs)} scans")
        whole = {
            "pcd of the log": (pcd, "pcd"),
            "pcd of the log, compressed": (pcd, "pcd", "--encoding", "compressed"),
            "ply of the log": (ply, "ply"),
            "kitti of the log": (kitti, "kitti"),
            "las": (lambda *a: las(*a, is_unix), "las"),
            "laz": (lambda *a: las(*a, is_unix), "laz"),
        }
        for what, (read, to, *options) in whole.items():
            folder = convert(log, out / what, to, "--per", "log", *options, *more)
            (path,) = made(folder)
            tally.check(what, read(path, table), f"{len(table['x'])} points")
    return tally


def made(folder):
    """Returns the files of a folder except the provenance file."""
    return [path for path in folder.iterdir() if path.name != "provenance.json"]


def twins(bag, capture):
    """A bag and a capture of the same packets have the same points but for their times."""
    tally = Tally(bag, [])
    with tempfile.TemporaryDirectory(prefix="conformance-") as out:
        clouds = []
        for log in (bag, capture):
            folder = convert(VELODYNE / log, Path(out) / log, "kitti", "--per", "log")
            (path,) = made(folder)
            clouds.append(np.fromfile(path, "<f4"))
        tally.check(f"points as in {capture}", differ("points", *clouds), f"{len(clouds[0]) // 4}")
    return tally


def clouds(name):
    """Compares the clouds of a bag with those that rosbags and numpy read."""
    tally, log = Tally(name, []), SAMPLES / "rosbag" / name
    with tempfile.TemporaryDirectory(prefix="conformance-") as out:
        folder = convert(log, Path(out), "pcd", "--topic", "*/points")
        files = {}
        for path in sorted(folder.glob("*/*.pcd")):
            files.setdefault(path.parent.name, []).append(path)
        with AnyReader([log], default_typestore=get_typestore(Stores.ROS1_NOETIC)) as reader:
            for connection in reader.connections:
                if connection.msgtype.split("/")[-1] != "PointCloud2":
                    continue
                folder = f"{connection.topic.strip('/').replace('/', '_')}_points"
                wrong, number = [], 0
                # An empty cloud is no file.
                raw = (r for _, _, r in reader.messages([connection]))
                messages = (reader.deserialize(r, connection.msgtype) for r in raw)
                messages = [m for m in messages if m.width * m.height]
                read = files.get(folder, [])
                wrong += differ("files", [len(messages)], [len(read)])
                for message, path in zip(messages, read, strict=False):
                    number += 1
                    data = np.asarray(message.data)
                    cloud = PointCloud.from_path(path)
                    for field in message.fields:
                        if field.name not in "xyz" or field.datatype != 7:
                            continue
                        rows = data.reshape(message.height, message.row_step)
                        rows = rows[:, : message.width * message.point_step]
                        points = rows.reshape(-1, message.point_step)
                        values = points[:, field.offset : field.offset + 4].copy()
                        order = ">f4" if message.is_bigendian else "<f4"
                        values = values.view(order)[:, 0].astype("<f4")
                        wrong += differ(field.name, values, cloud.pc_data[field.name])
                tally.check(f"{connection.topic}", wrong, f"{number} clouds")
    return tally


def calibrations():
    """Calibrations written by one command and read by ElementTree and yaml, and back."""
    import xml.etree.ElementTree as ElementTree

    tally = Tally("calibrations", [])
    with tempfile.TemporaryDirectory(prefix="conformance-") as out:
        out = Path(out)
        source = VELODYNE / "calib_hdl64e_ajaayc_db.xml"
        run("calibration", source, "-o", out / "a.yaml")
        run("calibration", out / "a.yaml", "-o", out / "a.xml")
        lasers = yaml.safe_load((out / "a.yaml").read_text())["lasers"]
        lasers = {laser["laser_id"]: laser for laser in lasers}
        text = source.read_text()
        wrong = []
        for px in ElementTree.fromstring(text[text.index("<boost") :]).iter("px"):
            value = {child.tag: child.text for child in px}
            laser = lasers[int(float(value["id_"]))]
            pairs = (
                ("rotCorrection_", np.degrees(laser["rot_correction"])),
                ("vertCorrection_", np.degrees(laser["vert_correction"])),
                ("distCorrection_", laser["dist_correction"] * 100),
                ("vertOffsetCorrection_", laser["vert_offset_correction"] * 100),
                ("horizOffsetCorrection_", laser["horiz_offset_correction"] * 100),
            )
            for key, ours in pairs:
                if key in value and abs(float(value[key]) - ours) > 1e-6:
                    wrong.append(f"laser {value['id_']} {key}: {ours}, not {value[key]}")
        tally.check("db.xml to YAML", wrong, f"{len(lasers)} lasers")
        again = ElementTree.parse(out / "a.xml").iter("px")
        tally.check("YAML to db.xml", differ("lasers", [len(lasers)], [len(list(again))]))
        for log in ("sample_sim_s2.vel", "sim_hdl64e_s3_single.pcap", "sim_hdl64e_s2_bz2.bag"):
            run("calibration", VELODYNE / log, "-o", out / f"{log}.yaml")
            sent = yaml.safe_load((out / f"{log}.yaml").read_text())["lasers"]
            tally.check(f"of {log}", differ("lasers", [64], [len(sent)]))
        refused = subprocess.run(
            [os.environ["LOGTOOL"], "calibration", VELODYNE / "sample_real_s1.vel"]
            + ["-o", out / "none.xml"],
            capture_output=True,
            check=False,
        )
        wrong = [] if refused.returncode == 1 and not (out / "none.xml").exists() else ["written"]
        tally.check("an HDL-64E S1 sends none", wrong)
    return tally


def pictures(name):
    """The JPEGs of a .vel log: those that its table has, readable, called by their times."""
    tally, log = Tally(name, []), VELODYNE / name
    with tempfile.TemporaryDirectory(prefix="conformance-") as out:
        out = Path(out)
        tables = convert(log, out / "arrow", "arrow", "--topic", "image")
        (table,) = (read_arrow(path) for path in tables.glob("*.arrow"))
        folder = convert(log, out / "images", "images") / "image"
        wrong = []
        with open(folder / "index.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        wrong += differ("rows", [table.num_rows], [len(rows)])
        times = table["time"].cast("int64").to_pylist()
        for row, time, data in zip(rows, times, table["data"].to_pylist(), strict=False):
            path = folder / row["file"]
            if path.read_bytes() != data:
                wrong.append(f"{path.name} is other bytes")
            if Image.open(io.BytesIO(data)).size != (int(row["width"]), int(row["height"])):
                wrong.append(f"{path.name} is of another size")
            if path.suffix != ".jpg" or not path.stem.startswith(f"{time // 10**9}.{time % 10**9:09}"):
                wrong.append(f"{path.name} is not called by its time, {time}")
        tally.check("images", wrong, f"{len(rows)} images")
    return tally


def main():
    tallies = [lidar_log(*log) for log in LIDAR_LOGS]
    tallies += [twins(*pair) for pair in TWINS]
    tallies += [clouds(name) for name in CLOUDS]
    tallies += [calibrations(), pictures("sample_real_s1.vel")]
    for tally in tallies:
        print(*tally.lines, sep="\n")
    failed = sum(tally.failed for tally in tallies)
    passed = sum(tally.passed for tally in tallies)
    print(f"{passed + failed} checks of files of points, calibrations and images, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
