"""Logs: what can be opened, descriptions, messages, damage, and exceptions."""

import gzip
import io
import json
import pickle
import struct
import subprocess
import sys
import warnings
from datetime import datetime, timedelta, timezone
from pathlib import Path

import logtool
import pytest
from pyulog import ULog
from rosbags.rosbag1 import Reader


def test_paths_bytes_and_file_objects_are_the_same_log(rover, tmp_path):
    data = Path(rover).read_bytes()
    packed = tmp_path / "rover.bag.gz"
    packed.write_bytes(gzip.compress(data))
    want = logtool.open(rover)["/imu/data"].to_arrow()
    inputs = [Path(rover), data, bytearray(data), memoryview(data), io.BytesIO(data), packed]
    for one in inputs:
        assert logtool.open(one)["/imu/data"].to_arrow().equals(want)
    with open(rover, "rb") as file:
        log = logtool.open(file)
        assert log.path == rover
        assert log["/imu/data"].to_arrow().equals(want)
        assert log["/imu/data"].to_polars().height == want.num_rows
    with open(rover, "rb", buffering=0) as file:
        assert logtool.open(file)["/imu/data"].to_arrow().equals(want)


def test_streams_that_cannot_seek_are_read_to_the_end(rover):
    class Pipe:
        def __init__(self, path):
            self.file = open(path, "rb")

        def read(self, size=-1):
            return self.file.read(size)

    assert len(logtool.open(Pipe(rover))) == len(logtool.open(rover))
    with pytest.raises(TypeError):
        logtool.open(42)
    with pytest.raises(TypeError):
        logtool.open(io.StringIO("text"))


def test_log_is_a_mapping(flight):
    log = logtool.open(flight)
    want = {(data.name, data.multi_id) for data in ULog(flight).data_list}
    names = {name if multi == 0 else f"{name}.{multi}" for name, multi in want}
    assert names <= set(log) and list(log) == log.keys()
    assert len(log) == len(log.keys()) == len(log.values()) == len(dict(log.items()))
    assert "battery_status" in log and "nothing" not in log and 3 not in log
    assert [table.topic for table in log.values()] == log.keys()


def test_topics_are_described(rover):
    topics = {topic.name: topic for topic in logtool.open(rover).topics}
    with Reader(rover) as reader:
        for name, about in reader.topics.items():
            topic = topics[name]
            assert topic.records == about.msgcount
            assert topic.type.replace("/", "/msg/") == about.msgtype
            stamps = [time for one, time, _ in reader.messages() if one.topic == name]
            assert (topic.start_ns, topic.end_ns) == (min(stamps), max(stamps))
            start = datetime.fromtimestamp(0, timezone.utc) + timedelta(
                microseconds=min(stamps) // 1000
            )
            assert topic.start == start
    assert topics["/points/points"].is_derived and not topics["/points"].is_derived
    assert topics["/imu/data"].encoding == "ros1"
    assert "float64[9] orientation_covariance" in topics["/imu/data"].definition
    assert topics["/imu/data"].schema.names[0] == "time"


def test_times_of_a_ulog_are_since_boot(flight):
    topic = next(t for t in logtool.open(flight).topics if t.name == "battery_status")
    stamps = ULog(flight).get_dataset("battery_status").data["timestamp"]
    assert topic.start == timedelta(microseconds=int(stamps[0]))
    assert topic.end == timedelta(microseconds=int(stamps[-1]))


def test_info_is_that_of_the_command(flight):
    run = [sys.executable, "-m", "logtool", "info", "--json", flight]
    printed = json.loads(subprocess.run(run, check=True, capture_output=True).stdout)
    log = logtool.open(flight)
    assert log.info == (printed[0] if isinstance(printed, list) else printed)
    assert log.metadata == log.info["metadata"]
    assert log.format == "ulog"


def test_analysis_is_that_of_the_command(flight, rover):
    run = [sys.executable, "-m", "logtool", "flight", "--json", flight]
    printed = json.loads(subprocess.run(run, check=True, capture_output=True).stdout)
    log = logtool.open(flight)
    assert log.analysis() == printed
    assert {"spectra", "step_responses"} <= set(log.analysis(signals=True)["signals"])
    battery = ULog(flight).get_dataset("battery_status").data["voltage_v"]
    lowest = log.analysis()["statistics"]["min_voltage_v"]
    assert lowest == pytest.approx(float(battery.min()))
    with pytest.raises(logtool.Error, match="only ULogs record flights"):
        logtool.open(rover).analysis()


def test_parameters_are_those_of_pyulog(flight, rover):
    log = ULog(flight)
    last = log.initial_parameters | {name: value for _, name, value in log.changed_parameters}
    assert last != log.initial_parameters
    assert logtool.open(flight).params == pytest.approx(last)
    assert logtool.open(rover).params == {}


def test_messages_are_those_of_rosbags(rover):
    with Reader(rover) as reader:
        want = [(one.topic, time, data) for one, time, data in reader.messages()]
    got = [(m.topic, m.time_ns, m.payload) for m in logtool.open(rover).messages()]
    assert sorted(got) == sorted(want)
    imu = [one for one in want if one[0].startswith("/imu")]
    messages = logtool.open(rover).messages("/imu/*")
    assert [(m.topic, m.time_ns, m.payload) for m in messages] == imu
    first = next(logtool.open(rover).messages(["/imu/data"]))
    assert first.time.tzinfo is timezone.utc
    start = min(time for _, time, _ in want)
    soon = logtool.open(rover).messages("/imu/data", "1", "2")
    expected = [t for _, t, _ in imu if start + 10**9 <= t < start + 2 * 10**9]
    assert [m.time_ns for m in soon] == expected
    with pytest.raises(KeyError):
        logtool.open(rover).messages("/nothing")


def test_damage_is_reported_with_its_place(damaged):
    log = logtool.open(damaged)
    (damage,) = log.damage
    assert (damage.kind, damage.offset, damage.length) == ("garbled", 48668, 507)
    assert damage.lost_bytes == 507 and damage.is_harmful
    table = log["sensor_combined"]
    assert table.damage == []
    with pytest.warns(logtool.DamageWarning, match="bytes 48668..49175"):
        arrow = table.to_arrow()
    assert table.damage == log.damage and arrow.num_rows > 0
    with pytest.warns(logtool.DamageWarning):
        list(log.messages())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(logtool.DamageWarning):
            table.to_arrow()
        with pytest.raises(logtool.DamageWarning):
            table.to_numpy()


def test_sound_logs_give_no_warning(flight):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in logtool.open(flight).values():
            table.to_arrow()


def test_exceptions_have_kind_path_and_builtin_bases(tmp_path, rover):
    missing = str(tmp_path / "missing.bag")
    with pytest.raises(FileNotFoundError) as caught:
        logtool.open(missing)
    error = caught.value
    assert isinstance(error, logtool.NoSuchFileError)
    assert (error.kind, error.path) == ("no_such_file", missing)
    text = tmp_path / "x.txt"
    text.write_text("nothing of interest\n" * 10)
    with pytest.raises(logtool.UnrecognizedError) as caught:
        logtool.open(text)
    assert isinstance(caught.value, ValueError) and caught.value.offset == 0
    with pytest.raises(KeyError) as caught:
        logtool.open(rover)["/imu"]
    assert caught.value.kind == "not_found" and "/imu" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and str(again) == str(caught.value)
    assert again.__dict__ == caught.value.__dict__
    for wrong in ({"colour": 1}, {"axes": "left"}, {"cut": 400}, {"key": b"x"}):
        with pytest.raises((TypeError, ValueError)):
            logtool.open(rover, **wrong)
    assert issubclass(logtool.Error, Exception)


def test_keywords_of_open_have_an_effect(flight, capture, rover):
    utc = logtool.open(flight, utc_start="2020-01-01T00:00:00Z")["battery_status"]
    assert utc.clock("utc").to_arrow()["timestamp"][0].as_py().year == 2020
    ros = logtool.open(capture)["points"].to_numpy()
    manual = logtool.open(capture, axes="manual")["points"].to_numpy()
    # The manual's y is ahead, where x of ROS is.
    assert (manual["y"] == ros["x"]).all() and not (manual["x"] == ros["x"]).all()
    with pytest.raises(logtool.Error):
        logtool.open(rover, input_format="ulog")


def test_time_column_of_a_table_is_chosen_with_its_unit(tmp_path):
    path = tmp_path / "samples.csv"
    path.write_text("sent,received,value\n500,1000,1.5\n700,2000,2.5\n")
    table = logtool.open(path, time_column="received:ms")["samples"]
    times = table.to_arrow()["time"].cast("int64").to_pylist()
    assert times == [1_000_000_000, 2_000_000_000]
    with pytest.raises(logtool.Error, match="missing"):
        logtool.open(path, time_column="missing")
    with pytest.raises(ValueError):
        logtool.open(path, time_column="")


def test_encrypted_ulog_is_read_with_its_private_key(flight):
    testdata = Path(flight).parent
    encrypted = testdata / "encrypted"
    pem = (encrypted / "private_key.pem").read_bytes()
    want = logtool.open(testdata / "pasta.ulg")["kitchen_status"].to_arrow()
    for key in pem, pem.decode():
        for name in "pasta.ulge", "pasta.ulgc":
            log = logtool.open(encrypted / name, key=key)
            assert log["kitchen_status"].to_arrow().equals(want)
    with pytest.raises(logtool.NeedsKeyError):
        logtool.open(encrypted / "pasta.ulge")
    with pytest.raises(logtool.UnsupportedError, match="the key is wrong"):
        logtool.open(encrypted / "pasta.ulge", key=(encrypted / "other.pem").read_text())
    with pytest.raises(ValueError, match="public key"):
        logtool.open(encrypted / "pasta.ulge", key=(encrypted / "public.pem").read_text())


def test_broken_definitions_are_no_crash():
    for length in (0, 1, 16, 17, 64):
        data = (b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 7) + bytes(64))[:length]
        try:
            logtool.open(data)
        except logtool.Error as error:
            assert error.kind


def test_series_has_the_times_and_values_of_an_expression(flight: str, rover: str) -> None:
    log = logtool.open(flight)
    yaw = log.series("deg(yaw(vehicle_attitude.q))")
    # It starts to the east: testdata/README.md. The log starts at 5 s.
    assert yaw.values.shape == yaw.times.shape and abs(yaw.values[0] - 90) < 1e-6
    assert yaw.times.dtype == "timedelta64[ns]" and 5e9 < int(yaw.times[0]) < 6e9
    assert yaw.names == () and yaw.units == ("°",)
    part = log.series("deg(yaw(vehicle_attitude.q))", start=10, end=12, clock="relative")
    assert 98 <= len(part.times) <= 101 and 10e9 <= int(part.times[0]) < 10.1e9

    turned = logtool.open(rover).series("euler(/imu/data.orientation)")
    assert turned.times.dtype == "datetime64[ns]" and turned.values.shape[1] == 3
    assert turned.names == ("roll", "pitch", "yaw")


def test_error_in_an_expression_points_to_the_character(flight: str) -> None:
    log = logtool.open(flight)
    with pytest.raises(logtool.InvalidRequestError) as raised:
        log.series("deg(yuw(vehicle_attitude.q))")
    assert "\n  |     ^^^" in str(raised.value) and raised.value.hint == "did you mean `yaw`?"
    with pytest.raises(logtool.NotFoundError, match="no numeric field"):
        log.series("deg(yaw(vehicle_attitude.w))")
