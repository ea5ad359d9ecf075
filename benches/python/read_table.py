"""Reads one topic of a log, and prints what that took as JSON:
read_table.py LIBRARY RESULT LOG TOPIC

LIBRARY is logtool, pyulog, rosbags, mcap or velodyne_decoder, RESULT is numpy or pandas. All
libraries make the same columns: one of each number. The time starts when everything is imported. The
memory beyond the result is the peak less the memory after the imports and that of the result.
"""

import json
import pathlib
import re
import sys
import time

import numpy as np
import pandas as pd

# The columns of points that velodyne_decoder makes.
POINTS = ["x", "y", "z", "intensity", "ring", "time"]


def logtool(path, topic, to):
    # pandas reads Arrow with pyarrow.
    import logtool
    import pyarrow  # noqa: F401

    def read():
        table = logtool.open(path)[topic].flat()
        if topic == "points":
            table = table.select(POINTS)
        return table.to_numpy() if to == "numpy" else table.to_pandas()

    return read


def pyulog(path, topic, to):
    from pyulog import ULog

    def read():
        (data,) = ULog(path, [topic]).data_list
        return data.data if to == "numpy" else pd.DataFrame(data.data)

    return read


def rosbags(path, topic, to):
    from rosbags.rosbag1 import Reader
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    def read():
        with Reader(pathlib.Path(path)) as reader:
            wanted = [c for c in reader.connections if c.topic == topic]
            store = get_typestore(Stores.EMPTY)
            store.register(get_types_from_msg(wanted[0].msgdef.data, wanted[0].msgtype))
            messages = (
                (time, store.deserialize_ros1(payload, connection.msgtype))
                for connection, time, payload in reader.messages(connections=wanted)
            )
            return table(
                (
                    (m.header.seq, m.header.stamp.sec * 10**9 + m.header.stamp.nanosec, m.header.frame_id)
                    + (time, m.vector.x, m.vector.y, m.vector.z)
                    for time, m in messages
                ),
                ["header.seq", "header.stamp", "header.frame_id", "time", "vector.x", "vector.y", "vector.z"],
                to,
            )

    return read


def mcap(path, topic, to):
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    def read():
        with open(path, "rb") as file:
            reader = make_reader(file, decoder_factories=[DecoderFactory()])
            messages = ((message.log_time, m) for _, _, message, m in reader.iter_decoded_messages(topics=[topic]))
            return table(
                (
                    (m.header.stamp.sec * 10**9 + m.header.stamp.nanosec, m.header.frame_id)
                    + (time, m.vector.x, m.vector.y, m.vector.z)
                    for time, m in messages
                ),
                ["header.stamp", "header.frame_id", "time", "vector.x", "vector.y", "vector.z"],
                to,
            )

    return read


def table(rows, names, to):
    """Makes columns of rows."""
    columns = {name: np.array(column) for name, column in zip(names, zip(*rows), strict=True)}
    return columns if to == "numpy" else pd.DataFrame(columns)


def velodyne_decoder(path, topic, to):
    import velodyne_decoder
    from velodyne_decoder.hdl64e import detect_hdl64e

    config = velodyne_decoder.Config()
    config.model, config.calibration = detect_hdl64e(path)

    def read():
        scans = [cloud for _, cloud in velodyne_decoder.read_pcap(path, config)]
        points = np.concatenate(scans)
        columns = {name: points[:, index] for index, name in enumerate(POINTS)}
        return columns if to == "numpy" else pd.DataFrame(columns)

    return read


def result_bytes(result):
    if isinstance(result, pd.DataFrame):
        return int(result.memory_usage(index=True, deep=True).sum())
    # Columns of one array share its memory.
    bases = [array.base if isinstance(array.base, np.ndarray) else array for array in result.values()]
    return sum({id(base): base.nbytes for base in bases}.values())


def status(name):
    """A size in /proc/self/status, in bytes."""
    text = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)[1]) * 1024


def main():
    library, to, path, topic = sys.argv[1:]
    read = globals()[library](path, topic, to)
    imported = status("VmRSS")
    # The peak from now on.
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    start, cpu = time.perf_counter(), time.process_time()
    result = read()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak, size = status("VmHWM"), result_bytes(result)
    first = next(iter(result.values())) if isinstance(result, dict) else result
    print(
        json.dumps(
            {
                "seconds": seconds,
                "cpu": cpu,
                "peak": peak,
                "result": size,
                "beyond": peak - imported - size,
                "rows": len(first),
            }
        )
    )


main()
