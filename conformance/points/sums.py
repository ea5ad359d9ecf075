"""Sums of the attributes of the points in captures and .vel logs, as velodyne_decoder computes them packet by packet,
and in files, as independent programs read them."""

import re
import struct
import subprocess
import sys
from pathlib import Path

import laspy
import numpy as np
import velodyne_decoder as vd
from plyfile import PlyData
from pypcd4 import PointCloud

sys.path.append(str(Path(__file__).resolve().parents[1] / "velodyne"))

from outputs import LEAPS, VELODYNE

#: The type of a message with packets in a .vel log.
LIDAR = struct.pack("<I", 0x3112B)
#: Columns for which velodyne_decoder or dpkt is no source, by the start of the name of the log.
UNLIKE = {
    # The lidar has no clock, and one message has many packets.
    "sample_real_s1.vel": ("time",),
    "sample_real_s1_trunc_noindex.vel": ("time",),
    # The head turns on over a blanked sector inside a packet, which velodyne_decoder does not know.
    "fov": ("time",),
    "hdl32e_fov": ("time",),
    "real_vlp32c_fov": ("time",),
    # velodyne_decoder has a firing cycle of 57.8 us for the VLS-128; the manual has 53.3 us.
    "vls128": ("time",),
    # dpkt reads microseconds, by the magic number.
    "us_magic_ns_fraction": ("time",),
    # The packets name another model than their data have.
    "vlp16_rustlidarutils.pcap": ("time", "ring"),
}
#: Microseconds after which the clock of a lidar starts again.
HOUR = 3_600_000_000


def packets(log):
    """The seconds and the bytes of each data packet of a capture or of a .vel log."""
    if log.suffix == ".vel":
        yield from packets_of_vel(log.read_bytes())
    else:
        found = vd.util.iter_pcap(str(log))
        yield from ((float(seconds), bytes(data)) for seconds, data in found if len(data) == vd.PACKET_SIZE)


def packets_of_vel(data):
    """The packets of valid messages. The message has the time of its last packet, and the others come before it by the
    clock of the lidar."""
    for match in re.finditer(re.escape(LIDAR), data):
        size, valid = struct.unpack_from("<IB", data, match.start() - 5)
        _, millis, count = struct.unpack_from("<idI", data, match.end())
        if valid == 0x49 and size - 4 - vd.PACKET_SIZE * count in (17, 21):
            start = match.end() + 16
            ends = range(start + vd.PACKET_SIZE, min(start + size, len(data)) + 1, vd.PACKET_SIZE)
            found = [data[end - vd.PACKET_SIZE : end] for end in ends][:count]
            micros = [struct.unpack_from("<I", packet, 1200)[0] for packet in found]
            for micro, packet in zip(micros, found, strict=True):
                yield millis / 1e3 - (micros[-1] - micro) % HOUR / 1e6, packet


def decoded(log):
    """The times, intensities and rings of the points of a log; None if it has no packets."""
    config, clouds = vd.Config(min_range=0, max_range=1000), []
    found, delay = list(packets(log)), 0.0
    if len({data[-2:] for _, data in found[:5]}) > 1:
        # An HDL-64E. This calibration leaves the intensities as they are sent.
        config.calibration = vd.Calibration.read(str(VELODYNE / "calib_vd_HDL-64E_S1-utexas.yml"))
        is_first = "s1" in log.name or "atwall" in log.name
        config.model = vd.Model.HDL64E_S1 if is_first else vd.Model.HDL64E_S2
        # By the manual of the S2, the time of a packet is that of its end: six cycles of 48 us.
        delay = 0.0 if is_first else 288e-6
    decoder = vd.ScanDecoder(config)
    for seconds, data in found:
        packet = vd.PacketVector([vd.VelodynePacket(seconds, data)])
        clouds.append((seconds - delay, decoder.decode(packet, as_pcl_structs=True)[1]))
    if not found:
        return None
    times = np.concatenate([seconds + cloud["time"].astype("f8") for seconds, cloud in clouds])
    return {"time": times, **{name: np.concatenate([cloud[name] for _, cloud in clouds]) for name in ("intensity", "ring")}}


def gps_shift(unix):
    """Seconds from Unix time to adjusted standard GPS time."""
    return next(leaps for start, leaps in LEAPS if unix >= start) - 315964800 - 10**9


def in_file(path):
    """The same columns of the points in a file; KITTI has intensities only."""
    if path.suffix in (".las", ".laz"):
        read = laspy.read(path)
        times = np.array(read.gps_time)
        if read.header.global_encoding.gps_time_type.value:
            times = times - gps_shift(times[0] + 315964800 + 10**9)
        return {"time": times, "intensity": read.intensity / 257, "ring": np.array(read.user_data)}
    if path.suffix == ".pcd":
        data = PointCloud.from_path(path).pc_data
        return {"time": data["timestamp"] / 1e9, **{name: data[name] for name in ("intensity", "ring")}}
    if path.suffix == ".ply":
        data = PlyData.read(str(path))
        origin = next(comment for comment in data.comments if comment.startswith("origin of time: "))
        columns = {name: np.array(data["vertex"][name]) for name in ("time", "intensity", "ring")}
        return {**columns, "time": columns["time"] + float(origin.split(": ")[1].removesuffix(" s"))}
    return {"intensity": np.fromfile(path, "<f4").reshape(-1, 4)[:, 3] * 255}


def by_pcl(program, path):
    """The number of points, and the sums of their attributes, as PCL reads them."""
    done = subprocess.run([program, path], capture_output=True, text=True, check=True)
    names = ("points", "x", "intensity", "ring", "time", "red", "green", "blue")
    return dict(zip(names, map(float, done.stdout.split()), strict=True))


def differences(log, wanted, found):
    """Compares sums of columns. Times count from the first one: float64 is too coarse for sums of Unix times."""
    left_out = next((columns for start, columns in UNLIKE.items() if log.name.startswith(start)), ())
    start = wanted["time"].min()
    for name in found.keys() - set(left_out):
        shift, per_point = (start, 1e-6) if name == "time" else (0.0, 1e-5)
        ours, theirs = ((column[name].astype("f8") - shift).sum() for column in (wanted, found))
        count = len(wanted[name])
        if len(found[name]) != count or abs(ours - theirs) > count * per_point:
            yield f"{name}: sum {theirs} of {len(found[name])} points in the file, {ours} of {count} in the log"
