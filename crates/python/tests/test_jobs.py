"""Conversions and copies of logs, and new logs."""

import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import logtool
import mcap.reader
import pyarrow.parquet
import pytest
from pyulog import ULog
from rosbags.rosbag1 import Reader


def bag_records(path):
    """Return the messages of a bag as rosbags reads them."""
    with Reader(path) as reader:
        return [(one.topic, time, bytes(data)) for one, time, data in reader.messages()]


def test_convert_writes_tables_and_shows_progress(flight, tmp_path):
    seen = []
    report = logtool.convert(
        flight,
        tmp_path / "tables",
        topics="battery_status",
        progress=lambda *state: seen.append(state),
    )
    # Two instances have records.
    want = [d for d in ULog(flight).data_list if d.name == "battery_status"]
    assert report.tables == len(want) == len(report.files)
    assert report.rows == sum(len(one.data["timestamp"]) for one in want)
    tables = [pyarrow.parquet.read_table(path) for path in report.files]
    volts = [table["voltage_v"].to_pylist() for table in tables]
    assert volts == [one.data["voltage_v"].tolist() for one in want]
    size = Path(flight).stat().st_size
    assert seen and all(total == size and unit == "bytes" for _, total, unit in seen)
    assert [done for done, *_ in seen] == sorted(done for done, *_ in seen)


def test_convert_has_the_options_of_the_command(flight, rover, tmp_path):
    report = logtool.convert(
        flight,
        tmp_path / "one.csv",
        topics=["battery_status.0"],
        columns=["voltage_v"],
        start="10",
        end="20",
    )
    lines = (tmp_path / "one.csv").read_text().splitlines()
    assert lines[0] == "timestamp,voltage_v" and len(lines) - 1 == report.rows
    merged = logtool.convert(flight, tmp_path / "merged.parquet", rate=10)
    assert merged.tables == 1 and merged.rows > 100
    ros2 = logtool.convert(rover, tmp_path / "rover.mcap", ros2=True)
    with open(tmp_path / "rover.mcap", "rb") as file:
        reader = mcap.reader.make_reader(file)
        encodings = {c.message_encoding for c in reader.get_summary().channels.values()}
        assert encodings == {"cdr"}
        assert len(list(reader.iter_messages())) == ros2.records == len(bag_records(rover))
    with pytest.raises(FileExistsError):
        logtool.convert(rover, tmp_path / "rover.mcap")
    logtool.convert(rover, tmp_path / "rover.mcap", overwrite=True)
    with pytest.raises(ValueError, match="known values"):
        logtool.convert(flight, tmp_path / "x", layout="round")
    with pytest.raises(TypeError, match="unexpected keyword"):
        logtool.convert(flight, tmp_path / "x", colour="red")


def test_spark_layout_is_for_all_tables(flight, tmp_path):
    stamps = ULog(flight).get_dataset("battery_status").data["timestamp"]
    for name in ("x.parquet", "x.arrow", "x.csv", "x.jsonl"):
        out = tmp_path / name
        topic = "battery_status.0"
        logtool.convert(flight, out, topics=topic, layout="spark")
        if name == "x.csv":
            header, first = out.read_text().splitlines()[:2]
            row = dict(zip(header.split(","), first.split(",")))
            assert row["timestamp_ns"] == str(int(stamps[0]) * 1000)
        elif name == "x.jsonl":
            assert f'"timestamp_ns":{int(stamps[0]) * 1000}' in out.read_text()
        else:
            read = pyarrow.parquet.read_table if name == "x.parquet" else read_arrow
            table = read(out)
            assert table["timestamp_ns"].to_pylist() == (stamps * 1000).tolist()
            assert table.schema.field("cell_count").type == pyarrow.int16()


def read_arrow(path):
    with pyarrow.OSFile(str(path)) as file:
        return pyarrow.ipc.open_file(file).read_all()


def test_filter_copies_topics_and_times(rover, tmp_path):
    want = bag_records(rover)
    start = min(time for _, time, _ in want)
    out = tmp_path / "cut.bag"
    report = logtool.filter(
        rover, out, topics="/imu/data", start="1", end="2", rename={"/imu/data": "/imu"}
    )
    inside = [
        ("/imu", time, data)
        for topic, time, data in want
        if topic == "/imu/data" and start + 10**9 <= time < start + 2 * 10**9
    ]
    assert bag_records(out) == inside and report.records == len(inside)
    others = logtool.filter(rover, tmp_path / "others.bag", exclude=["/imu/*"])
    assert others.records == sum(topic != "/imu/data" for topic, *_ in want)


def test_merge_sorts_by_time_and_adds_offsets(rover, tmp_path):
    want = bag_records(rover)
    imu, rest = tmp_path / "imu.bag", tmp_path / "rest.bag"
    logtool.filter(rover, imu, topics="/imu/*")
    logtool.filter(rover, rest, exclude="/imu/*")
    logtool.merge([imu, rest], tmp_path / "all.bag")
    assert sorted(bag_records(tmp_path / "all.bag")) == sorted(want)
    logtool.merge([imu, rest], tmp_path / "late.bag", offsets={rest: "1s"})
    late = [(t, time + (t != "/imu/data") * 10**9, data) for t, time, data in want]
    assert sorted(bag_records(tmp_path / "late.bag")) == sorted(late)
    with pytest.raises(ValueError, match="not an input"):
        logtool.merge([imu], tmp_path / "x.bag", offsets={"other.bag": 1})


def test_repair_keeps_what_is_readable(damaged, tmp_path):
    with pytest.warns(logtool.DamageWarning):
        report = logtool.repair(damaged, tmp_path / "fixed.ulg")
    assert [one.offset for one in report.damage] == [48668]
    assert logtool.open(tmp_path / "fixed.ulg").damage == []
    records = sum(len(d.data["timestamp"]) for d in ULog(str(tmp_path / "fixed.ulg")).data_list)
    assert 2000 < records
    with pytest.raises(logtool.DamagedError):
        logtool.repair(damaged, tmp_path / "strict.ulg", strict=True)
    assert not (tmp_path / "strict.ulg").exists()


def test_align_finds_an_offset(tmp_path):
    import random

    random.seed(7)
    signal_values = [0.0]
    for _ in range(6000):
        signal_values.append(0.95 * signal_values[-1] + random.gauss(0, 0.3))
    for name, late_us in (("a.ulg", 0), ("b.ulg", 2_500_000)):
        with logtool.Writer(tmp_path / name) as writer:
            writer.add_topic("motion", definition="uint64_t timestamp;float x;")
            for index, value in enumerate(signal_values):
                micros = 10_000_000 + index * 10_000 + late_us
                payload = struct.pack("<Qf", micros, value)
                writer.write("motion", payload, time_ns=micros * 1000)
    found = logtool.align(tmp_path / "a.ulg", tmp_path / "b.ulg", ("motion.x", "motion.x"))
    assert found.aligned and found.offset_ns == pytest.approx(-2_500_000_000, abs=5_000_000)


def test_batch_converts_new_logs_only(flight, rover, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.ulg").write_bytes(Path(flight).read_bytes())
    (logs / "b.bag").write_bytes(b"not a bag" * 100)
    (logs / "c.bag").write_bytes(Path(rover).read_bytes())
    first = logtool.batch(logs, tmp_path / "out", topics=["battery_status", "/imu/data"])
    assert (first.new_logs, first.unchanged_logs) == (2, 0)
    again = logtool.batch(logs, tmp_path / "out", topics=["battery_status", "/imu/data"])
    assert (again.new_logs, again.unchanged_logs) == (0, 2)
    catalog = pyarrow.parquet.read_table(tmp_path / "out" / "_catalog.parquet")
    assert catalog.num_rows > 0


def test_index_describes_topics(flight, rover, tmp_path):
    report = logtool.index([flight, rover], tmp_path / "catalog.parquet")
    assert report.new_logs == 2 and report.failed == {}
    rows = pyarrow.parquet.read_table(tmp_path / "catalog.parquet").to_pylist()
    topics = {row["topic"] for row in rows}
    assert {"/imu/data", "battery_status"} <= topics
    missing = str(tmp_path / "missing.bag")
    report = logtool.index([flight, missing], tmp_path / "x.parquet")
    assert report.new_logs == 1
    assert [type(error) for error in report.failed.values()] == [logtool.NoSuchFileError]


def test_index_has_the_analysis_of_flights(flight, rover, tmp_path):
    out = tmp_path / "catalog.parquet"
    logtool.index([flight, rover], out, analysis=True)
    rows = pyarrow.parquet.read_table(out).to_pylist()
    seconds = {row["format"]: row["gps_interference_s"] for row in rows}
    assert seconds == {"ulog": 0.0, "rosbag": None}
    logtool.index([flight, rover], out)
    assert "gps_interference_s" not in pyarrow.parquet.read_table(out).column_names


def test_an_exception_in_progress_ends_the_job(big_bag, tmp_path):
    class Enough(Exception):
        pass

    def progress(*state):
        raise Enough

    with pytest.raises(Enough):
        logtool.convert(big_bag, tmp_path / "out" / "x.csv", format="csv", progress=progress)
    assert list((tmp_path / "out").glob("**/*")) == []


def test_ulog_that_pyulog_reads(tmp_path):
    path = tmp_path / "new.ulg"
    with logtool.Writer(path, start_ns=5_000_000_000) as writer:
        writer.add_info("sys_name", "PX4")
        writer.add_info("ver_hw_num", 7)
        writer.add_parameter("MPC_XY_VEL", 2.5)
        writer.add_parameter("SYS_ID", 3)
        writer.add_type("point", "float x;float y;")
        writer.add_topic("track", definition="uint64_t timestamp;point here;")
        writer.add_topic("track", instance=1)
        for index in range(3):
            micros = 6_000_000 + index
            payload = struct.pack("<Qff", micros, index, -index)
            writer.write("track", payload, time_ns=micros * 1000)
        writer.write("track.1", struct.pack("<Qff", 7_000_000, 1.5, 2.5), 7_000_000_000)
        writer.log_message(4, "low battery", 8_000_000_000)
        assert not path.exists()
    log = ULog(str(path))
    assert log.msg_info_dict == {"sys_name": "PX4", "ver_hw_num": 7}
    assert log.initial_parameters == {"MPC_XY_VEL": 2.5, "SYS_ID": 3}
    assert log.get_dataset("track").data["timestamp"].tolist() == [6_000_000, 6_000_001, 6_000_002]
    assert log.get_dataset("track").data["here.y"].tolist() == [0.0, -1.0, -2.0]
    assert log.get_dataset("track", 1).data["here.x"].tolist() == [1.5]
    assert [(m.timestamp, m.message) for m in log.logged_messages] == [(8_000_000, "low battery")]


@pytest.mark.parametrize("compression", ["none", "bz2", "lz4"])
def test_bag_that_rosbags_reads(tmp_path, compression):
    path = tmp_path / "new.bag"
    with logtool.Writer(path, compression=compression) as writer:
        writer.add_topic("/chatter", "std_msgs/String", "string data\n", latched=True)
        for index in range(10):
            writer.write("/chatter", b"\5\0\0\0hello", time_ns=10**18 + index)
    want = [("/chatter", 10**18 + index, b"\5\0\0\0hello") for index in range(10)]
    assert bag_records(path) == want


@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
def test_mcap_that_mcap_reads(tmp_path, compression):
    path = tmp_path / "new.mcap"
    with logtool.Writer(path, compression=compression, profile="x") as writer:
        writer.add_topic("/j", "thing", b'{"type": "object"}', encoding="json")
        writer.add_metadata("about", {"robot": "r2"})
        writer.write("/j", b'{"a": 1}', time_ns=7)
    with open(path, "rb") as file:
        reader = mcap.reader.make_reader(file)
        ((schema, channel, message),) = reader.iter_messages()
        assert (schema.name, schema.encoding, schema.data) == (
            "thing",
            "jsonschema",
            b'{"type": "object"}',
        )
        assert (channel.topic, channel.message_encoding) == ("/j", "json")
        assert (message.log_time, message.data) == (7, b'{"a": 1}')
        assert reader.get_header().profile == "x"
        assert [dict(one.metadata) for one in reader.iter_metadata()] == [{"robot": "r2"}]


def test_writer_refuses_what_is_wrong(tmp_path):
    with pytest.raises(ValueError):
        logtool.Writer(tmp_path / "x.txt")
    with pytest.raises(ValueError):
        logtool.Writer(tmp_path / "x.bag", compression="zstd")
    path = tmp_path / "x.bag"
    with pytest.raises(RuntimeError), logtool.Writer(path) as writer:
        writer.add_topic("/a", "std_msgs/Empty", "")
        with pytest.raises(KeyError):
            writer.write("/b", b"", time_ns=0)
        with pytest.raises(logtool.Error):
            writer.add_info("a", "b")
        raise RuntimeError
    assert not path.exists() and list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="closed"):
        writer.write("/a", b"", time_ns=0)
    path.write_bytes(b"")
    with pytest.raises(FileExistsError):
        logtool.Writer(path)


def test_ctrl_c_ends_long_calls(big_bag, tmp_path):
    """Each call is ended soon, and leaves no outputs."""
    script = """
import sys, logtool, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
call, path, out = sys.argv[1:]
print("started", flush=True)
while True:
    try:
        if call == "convert":
            logtool.convert(path, out, format="csv", overwrite=True)
        elif call == "arrow":
            logtool.open(path)["/blob"].to_arrow()
        elif call == "numpy":
            logtool.open(path)["/blob"].to_numpy()
        else:
            for _ in logtool.open(path).messages():
                pass
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(0)
"""
    for call in ("convert", "arrow", "numpy", "messages"):
        out = tmp_path / call
        run = [sys.executable, "-c", script, call, big_bag, str(out)]
        with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "started\n"
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            begin = time.monotonic()
            assert process.stdout.readline() == "interrupted\n", call
            assert time.monotonic() - begin < 15, call
            assert process.wait(10) == 0, call
        assert not [path for path in tmp_path.rglob("*") if ".tmp" in path.name], call


def test_other_threads_run_while_rust_works(big_bag):
    """The GIL is released: a thread of Python counts on."""
    counts, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counts[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    begin = time.monotonic()
    logtool.open(big_bag)["/blob"].to_numpy()
    seconds = time.monotonic() - begin
    counted = counts[0]
    stop.set()
    thread.join()
    # Nothing would be counted for as long as the GIL is held.
    assert counted > seconds * 100
