"""Computes all points of a capture of one lidar with the Python package velodyne_decoder:
points_velodyne_decoder.py capture CAPTURE
points_velodyne_decoder.py alone CAPTURE PACKETS

`capture` reads the capture as the package does, one turn of the head after the other.
`alone` decodes the packets of one turn again and again, so many in all: what its decoder
takes without the reading, which is Python. Every cloud is touched.
"""

import sys

import velodyne_decoder
from velodyne_decoder.hdl64e import detect_hdl64e
from velodyne_decoder.util import iter_pcap


def main():
    job, path, *packets = sys.argv[1:]
    config = velodyne_decoder.Config()
    config.model, config.calibration = detect_hdl64e(path)
    clouds = capture(path, config) if job == "capture" else alone(path, config, int(packets[0]))
    points, total = 0, 0.0
    for cloud in clouds:
        points += len(cloud)
        total += float(cloud[:, 0].sum())
    print(f"{points} points, sum of x {total:.0f}")


def capture(path, config):
    for _, cloud in velodyne_decoder.read_pcap(path, config):
        yield cloud


def alone(path, config, packets):
    turn = velodyne_decoder.PacketVector()
    for stamp, data in iter_pcap(path):
        if len(turn) == 347:  # a tenth of a second of an HDL-64E S2
            break
        if len(data) == velodyne_decoder.PACKET_SIZE:
            turn.append(velodyne_decoder.VelodynePacket(stamp, data))
    decoder = velodyne_decoder.ScanDecoder(config)
    for _ in range(packets // len(turn)):
        yield decoder.decode(turn)[1]


if __name__ == "__main__":
    main()
