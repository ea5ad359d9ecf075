"""Every output states its provenance: it is read with independent readers, and the digest is
compared with that of the package blake3."""

import json
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

import laspy
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
from blake3 import blake3
from logtool import run
from mcap.reader import make_reader
from PIL import Image
from plyfile import PlyData
from tally import Tally

ROOT = Path(__file__).resolve().parent.parent
FLIGHT = ROOT / "testdata" / "quad_flight.ulg"
ROVER = ROOT / "testdata" / "rover.bag"
PUCK = ROOT / "testdata" / "puck.pcap"


def first(folder, pattern):
    """Returns the first file in a folder that matches a pattern."""
    return sorted(folder.glob(pattern))[0]


def parquet(out):
    return pq.read_metadata(first(out, "*.parquet")).metadata[b"logtool.provenance"]


def arrow(out):
    with pa.ipc.open_file(first(out, "*.arrow")) as file:
        return file.schema.metadata[b"logtool.provenance"]


def npz(out):
    return json.loads(str(np.load(first(out, "*.npz"))["logtool.metadata"]))["logtool.provenance"]


def mat(out):
    about = scipy.io.loadmat(first(out, "*.mat"))["logtool"]
    return json.loads(str(np.ravel(about)[0]))["log"]["logtool.provenance"]


def sidecar(out):
    told = json.loads((out / "provenance.json").read_text())
    found = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert set(told.pop("files")) == found - {"provenance.json"}
    return json.dumps(told)


def pcd(out):
    lines = first(out, "*/*.pcd").read_bytes().split(b"\n")
    (line,) = [line for line in lines if line.startswith(b"# logtool.provenance: ")]
    return line.split(b": ", 1)[1]


def ply(out):
    comments = PlyData.read(str(first(out, "*/*.ply"))).comments
    (line,) = [line for line in comments if line.startswith("logtool.provenance: ")]
    return line.split(": ", 1)[1]


def las(out):
    vlrs = laspy.read(first(out, "*.la[sz]")).vlrs
    (vlr,) = [vlr for vlr in vlrs if vlr.user_id == "logtool"]
    return json.loads(vlr.record_data_bytes())["logtool.provenance"]


def png(file):
    return Image.open(file).text["logtool.provenance"]


def svg(file):
    return ET.parse(file).find("{http://www.w3.org/2000/svg}metadata").text


def gpx(file):
    space = "{http://www.topografix.com/GPX/1/1}"
    return ET.parse(file).find(f"{space}metadata/{space}desc").text


def kml(file):
    space = "{http://www.opengis.net/kml/2.2}"
    data = ET.parse(file).find(f".//{space}ExtendedData/{space}Data[@name='provenance']")
    return data.find(f"{space}value").text


def geojson(file):
    return json.dumps(json.loads(file.read_text())["provenance"])


def mcap(file):
    with file.open("rb") as stream:
        told = [one.metadata for one in make_reader(stream).iter_metadata() if one.name.startswith("provenance.")]
    source = {key: told[-1][f"sources[0].{key}"] for key in ("name", "bytes", "digest")}
    source["bytes"] = int(source["bytes"])
    return json.dumps({"sources": [source], "tool": told[-1]["tool"], "command": told[-1]["command"]})


OUTPUTS = [
    (FLIGHT, "parquet", ["convert", "--format", "parquet"], parquet),
    (FLIGHT, "px4", ["convert", "--format", "parquet", "--layout", "px4"], parquet),
    (FLIGHT, "spark", ["convert", "--format", "parquet", "--layout", "spark"], parquet),
    (FLIGHT, "arrow", ["convert", "--format", "arrow"], arrow),
    (FLIGHT, "npz", ["convert", "--format", "npz"], npz),
    (FLIGHT, "mat", ["convert", "--format", "mat"], mat),
    (FLIGHT, "csv", ["convert", "--format", "csv"], sidecar),
    (FLIGHT, "jsonl", ["convert", "--format", "jsonl", "--topic", "battery*"], sidecar),
    (ROVER, "images", ["convert", "--format", "images"], sidecar),
    (PUCK, "kitti", ["convert", "--format", "kitti"], sidecar),
    (PUCK, "pcd", ["convert", "--format", "pcd"], pcd),
    (PUCK, "ply", ["convert", "--format", "ply"], ply),
    (PUCK, "las", ["convert", "--format", "las"], las),
    (PUCK, "laz", ["convert", "--format", "laz"], las),
    (PUCK, "png", ["convert", "--format", "png"], lambda out: png(first(out, "*/*.png"))),
    (FLIGHT, "track.gpx", ["convert"], gpx),
    (FLIGHT, "track.kml", ["convert"], kml),
    (FLIGHT, "track.geojson", ["convert"], geojson),
    (FLIGHT, "plot.svg", ["plot", "battery_status.voltage_v"], svg),
    (FLIGHT, "plot.png", ["plot", "battery_status.voltage_v"], png),
    (FLIGHT, "flight.mcap", ["convert"], mcap),
    (ROVER, "rover.mcap", ["convert", "--ros2"], mcap),
    (PUCK, "puck.mcap", ["convert"], mcap),
]


def outputs(tally):
    """Checks the provenance of each output, and that a second run has the same bytes."""
    version = run("--version").strip()
    for log, name, command, read in OUTPUTS:
        source = {"name": log.name, "bytes": log.stat().st_size}
        source["digest"] = "blake3:" + blake3(log.read_bytes()).hexdigest()
        quoted = " ".join(f"'{word}'" if "*" in word else word for word in command)
        wanted = {"sources": [source], "tool": version, "command": quoted}
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            one, two = Path(folder) / name, Path(folder) / "again" / name
            for out in (one, two):
                out.parent.mkdir(exist_ok=True)
                run(command[0], log, *command[1:], "-o", out)
            told = json.loads(read(one))
            differences = [] if told == wanted else [f"{told}, not {wanted}"]
            files = [one] if one.is_file() else sorted(p for p in one.rglob("*") if p.is_file())
            for file in files:
                other = two / file.relative_to(one) if one.is_dir() else two
                if file.read_bytes() != other.read_bytes():
                    differences.append(f"{file.name} is another when made again")
            tally.check(name, differences, f"{len(files)} files")


def main():
    tally = Tally("provenance", ())
    outputs(tally)
    print("\n".join(tally.lines))
    print(f"provenance: {tally.passed} checks passed, {tally.failed} failed")
    return bool(tally.failed) or not tally.passed


if __name__ == "__main__":
    sys.exit(main())
