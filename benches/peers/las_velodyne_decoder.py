"""Writes the points of a capture of one lidar as LAS or LAZ with the Python packages
velodyne_decoder and laspy: las_velodyne_decoder.py CAPTURE OUT

The columns that LAS has no fields for are extra bytes. Each turn of the head is written when it is
complete, so that the points of the capture need not fit into memory.
"""

import sys

import laspy
import numpy as np
import velodyne_decoder
from velodyne_decoder.hdl64e import detect_hdl64e

EXTRA = {"column": "u2", "ring": "u1", "return_type": "u1", "time": "f4"}


def main():
    path, out = sys.argv[1:]
    config = velodyne_decoder.Config()
    try:
        config.model, config.calibration = detect_hdl64e(path)
    except Exception:  # another model, which the package detects itself
        config = velodyne_decoder.Config()
    header = laspy.LasHeader(version="1.2", point_format=1)
    header.scales = np.full(3, 1e-4)
    header.add_extra_dims([laspy.ExtraBytesParams(f"{name}_", kind) for name, kind in EXTRA.items()])
    with laspy.open(out, mode="w", header=header) as writer:
        for stamp, cloud in velodyne_decoder.read_pcap(path, config, as_pcl_structs=True):
            record = laspy.ScaleAwarePointRecord.zeros(len(cloud), header=header)
            record.x, record.y, record.z = cloud["x"], cloud["y"], cloud["z"]
            record.intensity = cloud["intensity"] * 257
            record.gps_time = stamp.host + cloud["time"].astype("f8")
            for name in EXTRA:
                record[f"{name}_"] = cloud[name]
            writer.write_points(record)


if __name__ == "__main__":
    main()
