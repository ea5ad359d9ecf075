"""The logs of the repository, which its generators have made."""

import os
from pathlib import Path

import logtool
import pytest

ROOT = Path(__file__).parents[3]
TESTDATA = ROOT / "testdata"
SAMPLES = Path(os.environ.get("LOGTOOL_SAMPLES", ROOT.parent / "shared" / "data"))


@pytest.fixture
def flight() -> str:
    """A ULog, whose times count from boot."""
    return str(TESTDATA / "quad_flight.ulg")


@pytest.fixture
def rover() -> str:
    """A bag, whose times count from 1970."""
    return str(TESTDATA / "rover.bag")


@pytest.fixture
def damaged() -> str:
    """A ULog in which 507 bytes are overwritten."""
    return str(TESTDATA / "damaged" / "lost_sector.ulg")


@pytest.fixture
def capture() -> str:
    """A capture of a VLP-16."""
    return str(TESTDATA / "puck.pcap")


@pytest.fixture(scope="session")
def big_bag(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A bag of 200 MB with many chunks: one topic of bytes."""
    path = tmp_path_factory.mktemp("big") / "big.bag"
    payload = (1000).to_bytes(4, "little") + bytes(range(250)) * 4
    with logtool.Writer(path) as writer:
        writer.add_topic("/blob", "test_msgs/Blob", "uint8[] data\n")
        for index in range(200_000):
            writer.write("/blob", payload, time_ns=10**18 + index * 1_000_000)
    return str(path)
