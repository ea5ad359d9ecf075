"""Reads the captures that logtool writes with dpkt and velodyne_decoder, and the scans in bags
with rosbags, and compares them with the captures that they were made of, or that the .vel logs
were packed from.

Prints the number of checks; exits non-zero where something differs. Needs the environment
LOGTOOL, the program, and LOGTOOL_SAMPLES, the folder of real logs.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dpkt
import numpy as np
import velodyne_decoder as vd
from logtool import run
from rosbags.rosbag1 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from tally import Tally

VELODYNE = Path(os.environ["LOGTOOL_SAMPLES"]) / "velodyne"
#: A log, the capture that has the same packets, and whether it has their times too.
LOGS = (
    ("hdl64e_atwallshort.pcap", "hdl64e_atwallshort.pcap", True),
    ("vlp16_mrpt_gps_sample.pcap", "vlp16_mrpt_gps_sample.pcap", True),
    ("hdl32e_rustlidarutils_example.pcap", "hdl32e_rustlidarutils_example.pcap", True),
    ("pcap_variants/std.pcapng", "pcap_variants/ns.pcap", True),
    ("pcap_variants/ipfrag.pcap", "pcap_variants/ns.pcap", True),
    ("sample_real_s1.vel", "hdl64e_atwallshort.pcap", False),
    ("sample_sim_s2.vel", "sim_hdl64e_s2.pcap", False),
)
#: Captures that velodyne_decoder reads, each with the lidar that sent them.
DECODED = (
    ("sim_hdl64e_s3_single.pcap", vd.Model.HDL64E_S3, "calib_vd_HDL-64E_S3-VeloView.yml"),
    ("vlp16_nebula.pcap", vd.Model.VLP16, None),
)


#: The types of the ROS package velodyne_msgs, and the MD5 sum that ROS has for the second.
PACKET = "time stamp\nuint8[1206] data\n"
SCAN = "std_msgs/Header header\nvelodyne_msgs/VelodynePacket[] packets\n"
SCAN_SUM = "50804fc9533a0e579e6322c04ae70566"


def frames(path):
    """The time in nanoseconds and the frame of each packet of a lidar, as dpkt reads them."""
    found = []
    with open(path, "rb") as file:
        reader = dpkt.pcap.Reader(file)
        unit = 1 if reader._divisor > 1e6 else 1000
        for seconds, frame in reader:
            # A Decimal of nine digits, or of six.
            nanos = round(float(seconds % 1) * 1e9 / unit) * unit + int(seconds) * 10**9
            ethernet = dpkt.ethernet.Ethernet(frame)
            udp = getattr(ethernet.data, "data", None)
            if isinstance(udp, dpkt.udp.UDP) and len(udp.data) in (1206, 512):
                found.append((nanos, ethernet))
    return found


def checksums(packets):
    """Yields wrong checksums; dpkt computes the correct ones."""
    for number, (_, ethernet) in enumerate(packets):
        ip, udp = ethernet.data, ethernet.data.data
        sums = ip.sum, udp.sum
        ip.sum = udp.sum = 0
        again = dpkt.ip.IP(bytes(ip))
        if sums != (again.sum, again.data.sum):
            yield f"frame {number}: {sums}, not {(again.sum, again.data.sum)}"


def written(log, twin, has_times):
    tally = Tally(log, [])
    with tempfile.TemporaryDirectory(prefix="conformance-") as out:
        path = Path(out) / "new.pcap"
        run("convert", VELODYNE / log, "-o", path)
        ours, theirs = frames(path), frames(VELODYNE / twin)
        tally.check("checksums", checksums(ours), f"{len(ours)} frames")
        payloads = [[bytes(e.data.data.data) for _, e in found] for found in (ours, theirs)]
        tally.check("packets", [] if payloads[0] == payloads[1] else ["they differ"])
        if has_times:
            off = [a - b for (a, _), (b, _) in zip(ours, theirs, strict=True) if a != b]
            tally.check("times", [f"{len(off)} differ, by {off[0]} ns"] if off else [])
        # And as a .vel log, and back.
        if log.endswith(".pcap"):
            run("convert", path, "-o", Path(out) / "new.vel", "--topic", "velodyne_packets")
            run("convert", Path(out) / "new.vel", "-o", Path(out) / "again.pcap")
            again = frames(Path(out) / "again.pcap")
            data = [(t, bytes(e.data.data.data)) for t, e in ours if len(e.data.data.data) == 1206]
            again = [(t, bytes(e.data.data.data)) for t, e in again]
            tally.check("by way of .vel", [] if data == again else ["they differ"])
    return tally


def decoded(log, model, calibration):
    tally = Tally(log, [])
    config = vd.Config(model=model)
    if calibration:
        config.calibration = vd.Calibration.read(str(VELODYNE / calibration))
    with tempfile.TemporaryDirectory(prefix="conformance-") as out:
        path = Path(out) / "new.pcap"
        run("convert", VELODYNE / log, "-o", path)
        clouds = []
        for capture in (path, VELODYNE / log):
            scans = [points for _, points in vd.read_pcap(str(capture), config)]
            clouds.append(np.concatenate(scans))
        same = clouds[0].shape == clouds[1].shape and np.array_equal(
            clouds[0][:, :4], clouds[1][:, :4]
        )
        tally.check("velodyne_decoder", [] if same else ["points differ"], f"{len(clouds[0])} points")
    return tally


def scans(log, twin, has_times):
    """Scans in a bag: the packets of the log, a message each turn, as ROS's driver sends them."""
    tally = Tally(log, [])
    store = get_typestore(Stores.ROS1_NOETIC)
    store.register(get_types_from_msg(PACKET, "velodyne_msgs/msg/VelodynePacket"))
    store.register(get_types_from_msg(SCAN, "velodyne_msgs/msg/VelodyneScan"))
    nanos = lambda stamp: stamp.sec * 10**9 + stamp.nanosec
    azimuth = lambda packet: int.from_bytes(bytes(packet.data[2:4]), "little")
    found, wrong = [], []
    with tempfile.TemporaryDirectory(prefix="conformance-") as out:
        path = Path(out) / "new.bag"
        run("convert", VELODYNE / log, "-o", path, "--topic", "velodyne_packets")
        with Reader(path) as bag:
            wrong += [c.digest for c in bag.connections if c.digest != SCAN_SUM]
            for connection, time, data in bag.messages():
                scan = store.deserialize_ros1(data, connection.msgtype)
                stamps = [nanos(packet.stamp) for packet in scan.packets]
                if not time == nanos(scan.header.stamp) == stamps[-1]:
                    wrong.append(f"the message at {time} has the stamps {stamps[-1]}")
                # Only the last packet is past the cut.
                azimuths = [azimuth(packet) for packet in scan.packets[:-1]]
                if any(b + 18000 < a for a, b in zip(azimuths, azimuths[1:])):
                    wrong.append(f"the message at {time} holds more than a turn")
                data = [bytes(packet.data) for packet in scan.packets]
                found += zip(stamps, data, strict=True)
        tally.check("scans", wrong)
    packets = [(t, bytes(e.data.data.data)) for t, e in frames(VELODYNE / twin)]
    packets = [packet for packet in packets if len(packet[1]) == 1206]
    same = [data for _, data in found] == [data for _, data in packets]
    tally.check("their packets", [] if same else ["they differ"], f"{len(found)}")
    # All times differ by one offset if UTC is known from GPS.
    later = {ours - theirs for (ours, _), (theirs, _) in zip(found, packets)}
    if has_times:
        tally.check("their times", [] if len(later) == 1 else [f"{len(later)} offsets"])
    return tally


def main():
    tallies = [written(*log) for log in LOGS] + [decoded(*log) for log in DECODED]
    tallies += [scans(*log) for log in LOGS]
    for tally in tallies:
        print(*tally.lines, sep="\n")
    failed = sum(tally.failed for tally in tallies)
    passed = sum(tally.passed for tally in tallies)
    print(f"{passed + failed} checks of captures, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
