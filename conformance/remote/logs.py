"""The logs that are served, and how logtool is run on them."""

import gzip
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
from mcap.writer import CompressionType, Writer as McapWriter
from rosbags.rosbag1 import Writer as BagWriter

ROOT = Path(__file__).resolve().parents[2]


def collect(folder):
    """The logs, by what they are, in `folder`."""
    folder.mkdir()
    samples = Path(os.environ["LOGTOOL_SAMPLES"])
    files = {
        "bag": samples / "rosbag/embag-test.bag",
        "cut bag": samples / "rosbag/embag-test-truncated.bag",
        "ulog": samples / "ulog/pyulog_sample.ulg",
        "pcap": ROOT / "testdata/puck.pcap",
    }
    for kind, path in files.items():
        files[kind] = shutil.copy(path, folder / path.name)
    files["gzip"] = folder / "packed.ulg.gz"
    files["gzip"].write_bytes(gzip.compress(Path(files["ulog"]).read_bytes()))
    files["big bag"] = big_bag(folder / "big.bag")
    files["big mcap"] = big_mcap(folder / "big.mcap")
    return {kind: Path(path) for kind, path in files.items()}


def payloads(count, size):
    """Numbers of time, and messages of std_msgs/String with noise that does not pack."""
    noise = np.random.default_rng(7)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz012345", dtype=np.uint8)
    for at in range(count):
        text = letters[noise.integers(0, 32, size)].tobytes()
        yield at * 10_000_000, len(text).to_bytes(4, "little") + text


def big_bag(path):
    """48 MB in some 60 chunks, and a small topic in all of them."""
    with BagWriter(path) as bag:
        kind = "std_msgs/msg/String"
        big = bag.add_connection("/big", kind, msgdef="string data\n", md5sum="992ce8a1687cec8c8bd883ec73ca41d1")
        small = bag.add_connection("/small", kind, msgdef="string data\n", md5sum="992ce8a1687cec8c8bd883ec73ca41d1")
        for time, payload in payloads(480, 100_000):
            bag.write(big, 1_600_000_000_000_000_000 + time, payload)
            if time % 100_000_000 == 0:
                bag.write(small, 1_600_000_000_000_000_000 + time, b"\x02\x00\x00\x00hi")
    return path


def big_mcap(path):
    """48 MB; a chunk in four has the topic /rare."""
    with open(path, "wb") as file:
        mcap = McapWriter(file, chunk_size=1 << 20, compression=CompressionType.ZSTD)
        mcap.start(profile="ros1")
        schema = mcap.register_schema("std_msgs/String", "ros1msg", b"string data\n")
        big = mcap.register_channel("/big", "ros1", schema)
        rare = mcap.register_channel("/rare", "ros1", schema)
        for count, (time, payload) in enumerate(payloads(480, 100_000)):
            time += 1_600_000_000_000_000_000
            channel = rare if count % 40 == 0 else big
            mcap.add_message(channel, log_time=time, publish_time=time, data=payload)
        mcap.finish()
    return path


def logtool(*arguments, env=None):
    """Runs logtool, and returns the exit status and the output."""
    command = [os.environ["LOGTOOL"], *map(str, arguments)]
    environment = os.environ | (env or {})
    return subprocess.run(command, capture_output=True, check=False, env=environment, timeout=300)


def tables(folder):
    """Returns the bytes of each file in a folder, without digests: remote inputs have none."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): content(path) for path in files}


def content(path):
    data = path.read_bytes()
    is_told = path.name == "provenance.json"
    return re.sub(rb'"digest": ?"[^"]*"', b"", data) if is_told else data
