"""Reads a bag with the Python package rosbags:
bag_rosbags.py info|read|topic|columns BAG [TOPIC]

It gives messages in the order of time. Every payload is copied out of its chunk, so that
every byte is touched. `columns` makes numpy arrays of all the fields of an Imu.
"""

import sys
from pathlib import Path

import numpy as np
from rosbags.rosbag1 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore


def main():
    job, path, *topic = sys.argv[1:]
    with Reader(Path(path)) as reader:
        if job == "info":
            print(reader.message_count, reader.start_time, reader.end_time)
            return
        wanted = [c for c in reader.connections if not topic or c.topic == topic[0]]
        if job == "columns":
            columns(reader, wanted)
            return
        count = size = 0
        for _, _, payload in reader.messages(connections=wanted):
            count, size = count + 1, size + len(payload)
        print(f"{count} messages, {size} bytes")


def columns(reader, wanted):
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(wanted[0].msgdef.data, wanted[0].msgtype))
    rows, frames = [], []
    for connection, time, payload in reader.messages(connections=wanted):
        imu = store.deserialize_ros1(payload, connection.msgtype)
        stamp, frame = imu.header.stamp, imu.header.frame_id
        o, w, a = imu.orientation, imu.angular_velocity, imu.linear_acceleration
        frames.append(frame)
        numbers = (time, imu.header.seq, stamp.sec, stamp.nanosec, o.x, o.y, o.z, o.w)
        covariances = (imu.orientation_covariance, imu.angular_velocity_covariance)
        rows.append(
            (*numbers, w.x, w.y, w.z, a.x, a.y, a.z, *covariances, imu.linear_acceleration_covariance)
        )
    table = [np.array(column) for column in zip(*rows)]
    print(f"{len(rows)} rows, sum {sum(column.sum() for column in table):e}, {len(frames)}")


main()
