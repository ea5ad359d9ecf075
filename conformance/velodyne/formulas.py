"""Computes the points of captures as velodyne_pointcloud (ROS) and VeloView compute them, with
the calibration that comes with each program, and compares them with those of `--formula`.

The formulas are written here once more, from the sources of both programs: ROS from
`rawdata.cpp`, VeloView from `vtkVelodyneLegacyPacketInterpreter.cxx` and `vtkDataPacket.h`.
Points may differ by 1 mm. Prints the number of checks; exits non-zero where something differs.
Needs the environment LOGTOOL, the program, and LOGTOOL_SAMPLES, the folder of real logs.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dpkt
import numpy as np
import pyarrow.parquet as pq
import yaml
from logtool import run
from tally import Tally

SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"])
VELODYNE = SAMPLES / "velodyne"
F = np.float32
#: The most that points may differ, in metres.
MOST = 1e-3
#: A capture, its model, and whether it holds two returns.
CAPTURES = (
    ("velodyne/vlp16_opendlv_sampleShort.pcap", "VLP-16", False),
    ("velodyne/vlp16_rustlidarutils_example_old.pcap", "VLP-16", False),
    ("velodyne/vlp16_mrpt_gps_sample.pcap", "VLP-16", False),
    ("velodyne/vlp16_nebula.pcap", "VLP-16", True),
    ("velodyne/hdl32e_rustlidarutils_example.pcap", "HDL-32E", False),
    ("velodyne/veloview_monterey-first-100-packets.pcap", "HDL-32E", False),
    ("cases/velodyne/real_vlp32c_fov290_70_scans.pcap", "VLP-32C", False),
    ("cases/velodyne/vls128_12packets.pcap", "VLS-128", False),
    ("cases/velodyne/vls128_dual.pcap", "VLS-128", True),
    ("velodyne/hdl64e_atwallshort.pcap", "HDL-64E S1", False),
    ("velodyne/sim_hdl64e_s2.pcap", "HDL-64E S2", False),
    ("velodyne/sim_hdl64e_s3_single.pcap", "HDL-64E S3", False),
    ("velodyne/sim_hdl64e_s3_dual.pcap", "HDL-64E S3", True),
)
BANKS = {0xEEFF: 0, 0xDDFF: 1, 0xCCFF: 2, 0xBBFF: 3}
#: Lasers of the VLP-16 of ROS: degrees up, and millimetres up (VLP16db.yaml).
VLP16_UP = (-15, 1, -13, 3, -11, 5, -9, 7, -7, 9, -5, 11, -3, 13, -1, 15)
VLP16_OFFSET = (11.2, -0.7, 9.7, -2.2, 8.1, -3.7, 6.6, -5.1, 5.1, -6.6, 3.7, -8.1, 2.2, -9.7, 0.7, -11.2)
#: The calibrations of HDL-64E that come with ROS.
HDL64E_OF_ROS = {
    "HDL-64E S1": "calib_vd_HDL-64E_S1-utexas.yml",
    "HDL-64E S2": "calib_vd_HDL-64E_S2.1-sztaki.yml",
    "HDL-64E S3": "calib_vd_HDL-64E_S3-xiesc.yml",
}
#: A blanked sector: neither program knows any, so packets across one are not compared.
JUMP = 500


class Lasers:
    """The corrections of all lasers: angles in radians, lengths in metres."""

    NAMES = {
        "rot_correction": "rotation",
        "vert_correction": "vertical",
        "dist_correction": "far",
        "dist_correction_x": "near_x",
        "dist_correction_y": "near_y",
        "vert_offset_correction": "up",
        "horiz_offset_correction": "left",
    }

    def __init__(self, count):
        for name in self.NAMES.values():
            setattr(self, name, np.zeros(count))

    @classmethod
    def of_yaml(cls, path):
        items = yaml.safe_load(path.read_text())["lasers"]
        lasers = cls(len(items))
        for item in items:
            for name, field in cls.NAMES.items():
                getattr(lasers, field)[item["laser_id"]] = item.get(name, 0)
        return lasers

    @classmethod
    def of_xml(cls, path, count):
        text = path.read_text()
        lasers = cls(count)
        names = {
            "rotCorrection_": ("rotation", np.pi / 180),
            "vertCorrection_": ("vertical", np.pi / 180),
            "distCorrection_": ("far", 0.01),
            "distCorrectionX_": ("near_x", 0.01),
            "distCorrectionY_": ("near_y", 0.01),
            "vertOffsetCorrection_": ("up", 0.01),
            "horizOffsetCorrection_": ("left", 0.01),
        }
        # By their order: in the file of the VLS-128, `id_` is another number than in packets, and one
        # is there twice.
        for number, laser in enumerate(re.findall(r"<px.*?</px>", text, re.S)):
            values = dict(re.findall(r"<(\w+)>([^<]*)</", laser))
            if number < count:
                for name, (field, unit) in names.items():
                    getattr(lasers, field)[number] = float(values.get(name, 0)) * unit
        return lasers


def stock(program, model):
    """The calibration that comes with a program."""
    if program == "veloview":
        files = {
            "VLP-16": ("calib_vlp16_lidarview.xml", 16),
            "HDL-32E": ("calib_hdl32e_veloview_HDL-32.xml", 32),
            "VLP-32C": ("calib_vlp32c_lidarview.xml", 32),
            "VLS-128": ("calib_vls128_lidarview.xml", 128),
            "HDL-64E S1": ("calib_hdl64e_veloview_HDL-64.xml", 64),
            "HDL-64E S2": ("calib_hdl64e_veloview_HDL-64.xml", 64),
            "HDL-64E S3": ("calib_hdl64e_veloview_HDL-64.xml", 64),
        }
        name, count = files[model]
        return Lasers.of_xml(VELODYNE / name, count)
    if model == "VLS-128":
        return Lasers.of_yaml(SAMPLES / "cases/velodyne/ros_VLS128.yaml")
    if model in HDL64E_OF_ROS:
        return Lasers.of_yaml(VELODYNE / HDL64E_OF_ROS[model])
    if model == "VLP-16":
        lasers = Lasers(16)
        lasers.vertical[:] = np.radians(VLP16_UP)
        lasers.up[:] = np.array(VLP16_OFFSET) / 1e3
        return lasers
    # The angles of ROS's 32db.yaml and VeloView-VLP-32C.yaml are those of VeloView's files.
    return stock("veloview", model)


def packets(path):
    """The data packets of a capture: bank and azimuth of blocks, distances and intensities."""
    with open(path, "rb") as file:
        for _, frame in dpkt.pcap.Reader(file):
            udp = getattr(dpkt.ethernet.Ethernet(frame).data, "data", None)
            data = bytes(getattr(udp, "data", b""))
            if len(data) == 1206:
                blocks = np.frombuffer(data[:1200], np.uint8).reshape(12, 100)
                flags, azimuths = blocks[:, :4].copy().view("<u2").T
                returns = blocks[:, 4:].reshape(12, 32, 3)
                distances = returns[:, :, :2].copy().view("<u2")[:, :, 0]
                yield flags, azimuths.astype(int), distances, returns[:, :, 2]


def turned(before, after):
    return (after - before) % 36000


def beams(lasers, azimuth, number):
    """Returns the sine and cosine of the horizontal and of the vertical angle of the lasers."""
    turn, up = np.radians(azimuth / 100) - lasers.rotation[number], lasers.vertical[number]
    return np.sin(turn), np.cos(turn), np.sin(up), np.cos(up)


class Ros:
    """The azimuth of each firing, and its point, as velodyne_pointcloud has them."""

    def __init__(self, model, is_dual):
        self.model, self.is_dual = model, is_dual
        self.lasers = stock("ros", model)

    def azimuths(self, azimuths, banks):
        if self.model == "VLP-16":
            return self.vlp16(azimuths)
        if self.model == "VLS-128":
            return self.vls128(azimuths, banks)
        return np.repeat(azimuths[:, None], 32, 1), np.ones(12, bool)

    def vlp16(self, azimuths):
        found, known = np.zeros((12, 32), int), np.ones(12, bool)
        last = 0
        offsets = [F(laser) * F(2.304) + F(firing) * F(55.296) for firing in (0, 1) for laser in range(16)]
        for block in range(12):
            by = last
            if block < 11:
                difference = azimuths[block + 1] - azimuths[block]
                by = difference % 36000
                if difference < 0:
                    if last == 0:
                        # ROS leaves the block out.
                        known[block] = False
                    else:
                        by = last
                if known[block]:
                    last = by
            for channel, offset in enumerate(offsets):
                place = F(azimuths[block]) + F(by) * offset / F(110.592)
                found[block, channel] = int(np.floor(float(place) + 0.5)) % 36000
        return found, known

    def vls128(self, azimuths, banks):
        found = np.zeros((12, 32), int)
        step = 2 if self.is_dual else 1
        azimuths = azimuths.copy()
        if self.is_dual:
            # The last four blocks are empty, and ROS takes their azimuth all the same: these
            # samples have none there.
            azimuths[8:] = azimuths[7]
        ahead, last = None, 0
        for block in range(8 if self.is_dual else 12):
            own = azimuths[0] if block == 0 else ahead
            if block < 12 - step:
                ahead = azimuths[block + step]
                last = by = turned(own, ahead)
            else:
                by = 0 if block == 11 - (4 if self.is_dual else 0) else last
            for channel in range(32):
                group = (channel + 32 * banks[block]) // 8
                part = F(2.665) / F(53.3) * F(group + group // 8)
                found[block, channel] = int(np.floor(float(F(own) + F(by) * part) + 0.5)) % 36000
        return found, np.ones(12, bool)

    def points(self, distance, azimuth, number):
        lasers = self.lasers
        sin, cos, sin_up, cos_up = beams(lasers, azimuth, number)
        up, left, far = lasers.up[number], lasers.left[number], lasers.far[number]
        distance = distance + far
        plane = lambda d: d * cos_up - up * sin_up
        xx = np.abs(plane(distance) * sin - left * cos)
        yy = np.abs(plane(distance) * cos + left * sin)
        by_x = by_y = 0
        if self.model in ("HDL-64E S2", "HDL-64E S3"):
            near_x, near_y = lasers.near_x[number], lasers.near_y[number]
            by_x = (far - near_x) * (xx - 2.4) / (25.04 - 2.4) + near_x - far
            by_y = (far - near_y) * (yy - 1.93) / (25.04 - 1.93) + near_y - far
        x = plane(distance + by_x) * sin - left * cos
        y = plane(distance + by_y) * cos + left * sin
        z = (distance + by_y) * sin_up + up * cos_up
        return np.stack([y, -x, z], 1)


class VeloView:
    """The same, as VeloView has them."""

    def __init__(self, model, is_dual):
        self.model, self.is_dual = model, is_dual
        self.lasers = stock("veloview", model)
        self.before = None

    def micros(self, block, channel):
        pair = block // 2 if self.is_dual else block
        if self.model == "VLP-16":
            return pair * 110.592 + channel % 16 * 2.304 + channel // 16 * 55.296
        if self.model == "HDL-32E":
            return pair * 46.08 + channel * 1.152
        if self.model == "VLP-32C":
            return pair * 55.296 + channel // 2 * 2.304
        if self.model == "VLS-128":
            laser = channel + 32 * (block % 4)
            sequence = block // (8 if self.is_dual else 4)
            return 2.665 * 20 * sequence + (laser // 8 + laser // 64 * 2) * 2.665
        offsets = [3.5, 4.7, 5.9, 7.2] if self.is_dual else [2.34, 3.54, 4.74, 6.0]
        blocks, period = (4, 57.6) if self.is_dual else (2, 48.0)
        left = 31 - channel
        return -((11 - block) // blocks * period + offsets[left % 4] + left // 4 * offsets[3])

    def azimuths(self, azimuths, _banks):
        steps = sorted((turned(a, b) + 18000) % 36000 - 18000 for a, b in zip(azimuths, azimuths[1:]))
        count = 1
        by = [steps[6]] * 12
        if self.model.startswith("HDL-64E"):
            count, by = 2, [steps[10]] * 12
        elif self.model == "VLS-128":
            count = 4
            by = [turned(azimuths[min(b, 7)], azimuths[min(b, 7) + 4]) for b in range(12)]
            if self.is_dual:
                by = [0 if self.before is None else turned(self.before, azimuths[0])] * 12
        self.before = azimuths[0]
        ahead = count * (2 if self.is_dual else 1)
        found = np.zeros((12, 32), int)
        for block in range(12):
            head = block // 4 * 4 if self.model == "VLS-128" else block
            this, following = self.micros(head, 0), self.micros(head + ahead, 0)
            for channel in range(32):
                part = (self.micros(block, channel) - this) / (following - this)
                by_here = np.floor(by[block] * part + 0.5)
                found[block, channel] = (azimuths[block] + int(by_here)) % 36000
        return found, np.ones(12, bool)

    def points(self, distance, azimuth, number):
        lasers = self.lasers
        sin, cos, sin_up, cos_up = beams(lasers, azimuth, number)
        distance = distance + lasers.far[number]
        plane = distance * cos_up - lasers.up[number] * sin_up
        x = plane * sin - lasers.left[number] * cos
        y = plane * cos + lasers.left[number] * sin
        z = distance * sin_up + lasers.up[number]
        # As ROS has the axes, which is how logtool writes them.
        return np.stack([y, -x, z], 1)


def is_twice(distances, intensities, model, is_dual):
    """Returns which returns are duplicates: logtool outputs one of them."""
    twice = np.zeros((12, 32), bool)
    if is_dual:
        for block in range(12):
            second = block % 4 >= 2 if model.startswith("HDL-64E") else block % 2 == 0
            if second:
                other = block - 2 if model.startswith("HDL-64E") else block + 1
                same = distances[block] == distances[other]
                twice[block] = same & (intensities[block] == intensities[other])
    return twice


def computed(path, program, model, is_dual):
    """The points, and which of them the program has."""
    step = 0.004 if model in ("VLP-32C", "VLS-128") else 0.002
    points, known = [], []
    for flags, azimuths, distances, intensities in packets(path):
        banks = np.array([BANKS.get(int(flag), 0) for flag in flags])
        used = 8 if model == "VLS-128" and is_dual else 12
        moves = [turned(a, b) for a, b in zip(azimuths[:used], azimuths[1:used])]
        places, has = program.azimuths(azimuths, banks)
        there = (distances > 0) & ~is_twice(distances, intensities, model, is_dual)
        there[used:] = False
        number = np.arange(32)[None, :] + 32 * banks[:, None]
        if model == "VLP-16":
            number = number % 16
        points.append(program.points(distances[there] * step, places[there], number[there]))
        is_known = has[:, None] & np.full((12, 32), max(moves) <= JUMP)
        known.append(is_known[there])
    return np.concatenate(points), np.concatenate(known)


def compared(log, model, is_dual, name, kind):
    tally = Tally(f"{log} {name}", [])
    wanted, known = computed(SAMPLES / log, kind(model, is_dual), model, is_dual)
    more = ()
    if model in ("HDL-64E S2", "HDL-64E S3"):
        # Its packets hold a calibration, which counts more than that of the program.
        of_ros = HDL64E_OF_ROS[model]
        path = VELODYNE / (of_ros if name == "ros" else "calib_hdl64e_veloview_HDL-64.xml")
        more = ("--calibration", path)
    with tempfile.TemporaryDirectory(prefix="conformance-") as out:
        if name == "ros" and more:
            # The copy of velodyne_decoder leaves out what ROS has in each laser.
            path = Path(out) / "ros.yaml"
            corrected = "    two_pt_correction_available: true\n    vert_correction"
            path.write_text(more[1].read_text().replace("    vert_correction", corrected))
            more = ("--calibration", path)
        run("convert", SAMPLES / log, "-t", "points", "-o", Path(out) / "t", "--format", "parquet",
            "--formula", name, *more)
        (file,) = Path(out).glob("t/*.parquet")
        table = pq.ParquetFile(file).read(["x", "y", "z"])
    ours = np.stack([table[axis].to_numpy() for axis in "xyz"], 1)
    if len(ours) != len(wanted):
        tally.check("points", [f"{len(ours)}, not {len(wanted)}"])
        return tally
    off = np.abs(ours - wanted).max(1)[known]
    wrong = [f"{(off > MOST).sum()} of {len(off)} are off, by up to {off.max():.4f} m"]
    tally.check("points", wrong if off.max() > MOST else [], f"{len(off)}, off by {off.max() * 1e3:.3f} mm")
    return tally


def main():
    programs = (("ros", Ros), ("veloview", VeloView))
    tallies = [compared(*log, *program) for log in CAPTURES for program in programs]
    for tally in tallies:
        print(*tally.lines, sep="\n")
    failed = sum(tally.failed for tally in tallies)
    passed = sum(tally.passed for tally in tallies)
    print(f"{passed + failed} checks of formulas, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
