"""Tables: types, selections, clocks, and the libraries that read them."""

from datetime import datetime, timedelta, timezone

import duckdb
import logtool
import nanoarrow
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyulog import ULog
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore


def ulog_data(path: str, topic: str) -> dict[str, np.ndarray]:
    """Return a topic as pyulog reads it."""
    return ULog(path, [topic]).get_dataset(topic).data


def bag_messages(path: str, topic: str) -> list[tuple[int, object]]:
    """Return the times and the messages of a topic as rosbags reads them."""
    from pathlib import Path

    store = get_typestore(Stores.ROS1_NOETIC)
    with AnyReader([Path(path)], default_typestore=store) as reader:
        connections = [one for one in reader.connections if one.topic == topic]
        return [
            (time, reader.deserialize(raw, connection.msgtype))
            for connection, time, raw in reader.messages(connections)
        ]


def test_ulog_columns_are_those_of_pyulog(flight):
    want = ulog_data(flight, "vehicle_attitude")
    got = logtool.open(flight)["vehicle_attitude"].flat().to_numpy()
    assert len(got["timestamp"]) == len(want["timestamp"]) > 1000
    micros = got["timestamp"].astype("timedelta64[us]").astype("int64")
    np.testing.assert_array_equal(micros, want["timestamp"])
    for index in range(4):
        np.testing.assert_array_equal(got[f"q[{index}]"], want[f"q[{index}]"])


def test_lists_of_fixed_length_are_dimensions(flight):
    want = ulog_data(flight, "vehicle_attitude")
    quaternions = logtool.open(flight)["vehicle_attitude"].to_numpy()["q"]
    assert quaternions.shape == (len(want["q[0]"]), 4)
    np.testing.assert_array_equal(quaternions[:, 3], want["q[3]"])


def test_bag_columns_are_those_of_rosbags(rover):
    want = bag_messages(rover, "/imu/data")
    got = logtool.open(rover)["/imu/data"].to_numpy()
    assert got["time"].dtype == "datetime64[ns]"
    np.testing.assert_array_equal(got["time"].astype("int64"), [time for time, _ in want])
    rates = [message.angular_velocity.z for _, message in want]
    np.testing.assert_array_equal(got["angular_velocity.z"], rates)
    covariances = [message.orientation_covariance for _, message in want]
    np.testing.assert_array_equal(got["orientation_covariance"], covariances)
    assert got["header.frame_id"][0] == want[0][1].header.frame_id


def test_lists_of_any_length_are_arrays(rover):
    want = [message.ranges for _, message in bag_messages(rover, "/scan")]
    got = logtool.open(rover)["/scan"].to_numpy()["ranges"]
    assert len(got) == len(want)
    for one, other in zip(got, want):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("topic", ["battery_status", "vehicle_attitude", "messages"])
def test_all_libraries_read_the_same(flight, topic):
    table = records = logtool.open(flight)[topic]
    arrow = table.to_arrow()
    assert isinstance(arrow, pyarrow.Table) and arrow.num_rows > 0
    assert arrow.equals(pyarrow.table(table))
    names = arrow.column_names
    assert table.to_polars().equals(polars.from_arrow(arrow))
    pandas.testing.assert_frame_equal(
        table.to_pandas(), pandas.DataFrame.from_arrow(arrow)
    )
    assert nanoarrow.ArrayStream(table).read_all().to_pylist() == arrow.to_pylist()
    rows = duckdb.sql(f'SELECT "{names[1]}" FROM records').fetchall()
    values = [list(v) if isinstance(v, tuple) else v for (v,) in rows]
    assert values == arrow[names[1]].to_pylist()


def test_duckdb_reads_columns_twice(flight):
    battery = logtool.open(flight)["battery_status"]
    want = ulog_data(flight, "battery_status")["voltage_v"]
    assert battery.schema.names[1] == "voltage_v"
    for _ in range(2):
        ((sum_of_volts,),) = duckdb.sql("SELECT sum(voltage_v) FROM battery").fetchall()
        assert sum_of_volts == pytest.approx(float(np.sum(want, dtype=np.float64)))


def test_arrays_of_one_batch_share_its_memory(flight):
    batch = next(logtool.open(flight)["battery_status"].batches())
    arrow = pyarrow.record_batch(batch)
    address = arrow.column("voltage_v").buffers()[1].address
    assert batch.to_numpy()["voltage_v"].ctypes.data == address


def test_times_are_durations_or_utc_and_never_1970(flight, rover):
    log, bag = logtool.open(flight), logtool.open(rover)
    first = log["battery_status"].schema.types[0]
    assert first == "Duration(ns)"
    utc = pyarrow.timestamp("ns", "UTC")
    assert bag["/imu/data"].to_arrow().schema.field("time").type == utc
    boot = log["battery_status"].to_numpy()["timestamp"]
    table = log["battery_status"].clock("utc")
    assert table.to_arrow().schema.field("timestamp").type == utc
    assert table.to_arrow()["timestamp"][0].as_py().year == 2024
    gaps = np.diff(table.to_numpy()["timestamp"])
    np.testing.assert_array_equal(gaps, np.diff(boot))
    relative = log["battery_status"].clock("relative").to_numpy()["timestamp"]
    assert relative[0] < boot[0]
    with pytest.raises(logtool.InvalidRequestError):
        bag["/imu/data"].clock("boot")


def test_times_are_selected_by_texts_dates_and_spans(rover):
    table = logtool.open(rover)["/imu/data"]
    stamps = [time for time, _ in bag_messages(rover, "/imu/data")]
    log_start = min(topic.start_ns for topic in logtool.open(rover).topics)
    start, end = log_start + 1_000_000_000, log_start + 2_500_000_000
    want = sum(start <= time < end for time in stamps)
    assert 0 < want < len(stamps)

    def count(selected):
        return selected.to_arrow().num_rows

    # A datetime has microseconds, rounded down here.
    micros = timedelta(microseconds=start // 1000)
    date = datetime.fromtimestamp(0, timezone.utc) + micros
    assert count(table.time("1", "2.5")) == want
    assert count(table["1s":"2500ms"]) == want
    assert count(table[1.0:2.5]) == want
    assert count(table.time(timedelta(seconds=1), timedelta(seconds=2.5))) == want
    dated = sum(start // 1000 <= time / 1000 < end // 1000 for time in stamps)
    assert count(table.time(date, date + timedelta(seconds=1.5))) == dated
    moments = np.datetime64(start, "ns"), np.datetime64(end, "ns")
    assert count(table.time(*moments)) == want
    assert count(table.time(np.timedelta64(1, "s")).time(end="2.5")) == want
    assert count(table.time(f"boot:{start // 10**9}.{start % 10**9:09}").time("0", "2.5")) == want


def test_wrong_times_are_refused(rover):
    table = logtool.open(rover)["/imu/data"]
    with pytest.raises(ValueError):
        table.time("yesterday")
    with pytest.raises(ValueError, match="time zone"):
        table.time(datetime(2024, 6, 1))
    with pytest.raises(TypeError):
        table.time(object())
    with pytest.raises(ValueError, match="not after its start"):
        table.time("2", "1")


def test_columns_are_selected(flight, rover):
    table = logtool.open(flight)["battery_status"]
    assert table.select("volt*").schema.names == ["timestamp", "voltage_v", "voltage_cell_v"]
    assert table[["id", "warning"]].schema.names == ["timestamp", "id", "warning"]
    flat = table.flat().select("voltage_cell_v").schema.names
    assert flat == ["timestamp", *(f"voltage_cell_v[{index}]" for index in range(4))]
    with pytest.raises(KeyError, match="no selected topic has a field"):
        table.select("nothing")
    imu = logtool.open(rover)["/imu/data"].flat().select("orientation.w")
    assert imu.schema.names == ["time", "orientation.w"]


def test_spark_has_only_types_of_spark(flight, rover):
    known = {"Int16", "Int32", "Int64", "Float32", "Float64", "Boolean", "Utf8"}
    table = logtool.open(flight)["battery_status"].spark()
    names = dict(zip(table.schema.names, table.schema.types))
    assert names.pop("voltage_cell_v") == "List(non-null Float32)"
    assert set(names.values()) <= known
    assert names["timestamp_ns"] == "Int64" and names["cell_count"] == "Int16"
    want = ulog_data(flight, "battery_status")
    got = table.to_arrow()
    nanos = (want["timestamp"] * 1000).tolist()
    assert got["timestamp_ns"].to_pylist() == nanos
    assert got["cell_count"].to_pylist() == want["cell_count"].tolist()
    bag = logtool.open(rover)["/imu/data"].spark().to_arrow()
    assert bag.schema.field("time").type == pyarrow.timestamp("us", "UTC")
    stamps = [time for time, _ in bag_messages(rover, "/imu/data")]
    assert bag["time_ns"].to_pylist() == stamps


def test_schema_and_stream_are_those_of_arrow(flight):
    table = logtool.open(flight)["battery_status"]
    schema = pyarrow.schema(table.schema)
    assert schema == table.to_arrow().schema
    assert pyarrow.RecordBatchReader.from_stream(table).schema == schema
    assert len(table.schema) == len(schema.names)


def test_pandas_gets_the_same_from_arrays_as_from_arrow(flight, rover, capture):
    for path in (flight, rover, capture):
        for table in logtool.open(path).values():
            for view in (table, table.flat(), table.spark()):
                want = pandas.DataFrame.from_arrow(view)
                pandas.testing.assert_frame_equal(view.to_pandas(), want)
    empty = logtool.open(flight)["vehicle_attitude"].time(end=0)
    assert empty.to_pandas().dtypes.equals(pandas.DataFrame.from_arrow(empty).dtypes)


def test_records_that_cannot_be_decoded_have_their_bytes_in_payloads(tmp_path):
    path = tmp_path / "broken.bag"
    with logtool.Writer(path) as writer:
        writer.add_topic("/depth", "test_msgs/Depth", "float64 metres\n")
        for index, payload in enumerate([b"\0" * 6 + b"\xf0\x3f", b"cut", b"\0" * 8]):
            writer.write("/depth", payload, time_ns=10**18 + index)
    table = logtool.open(path)["/depth"]
    with pytest.warns(logtool.DamageWarning):
        assert table.to_arrow()["metres"].to_pylist() == [1.0, 0.0]
    whole = table.payloads().payloads()
    assert whole.schema.names == ["time", "metres", "payload"]
    with pytest.warns(logtool.DamageWarning):
        rows = whole.to_arrow()
    assert rows["metres"].to_pylist() == [1.0, None, 0.0]
    assert rows["payload"].to_pylist() == [None, b"cut", None]
    assert rows["time"].cast("int64").to_pylist() == [10**18, 10**18 + 1, 10**18 + 2]
    assert [damage.count for damage in whole.damage] == [1]
    with pytest.warns(logtool.DamageWarning):
        assert whole.select("payload").flat().to_numpy()["payload"].tolist() == [
            None,
            b"cut",
            None,
        ]


def test_topics_of_unknown_type_have_one_payload(tmp_path):
    path = tmp_path / "unknown.mcap"
    with logtool.Writer(path) as writer:
        writer.add_topic("/raw", encoding="secret")
        writer.write("/raw", b"bytes", time_ns=10**18)
    table = logtool.open(path)["/raw"]
    assert table.schema.names == table.payloads().schema.names == ["time", "payload"]
    assert table.payloads().to_arrow()["payload"].to_pylist() == [b"bytes"]


def test_merged_table_has_the_last_values(flight):
    log = logtool.open(flight)
    merged = logtool.merge_asof(log, ["battery_status", "vehicle_attitude"], rate=5)
    got = merged.to_numpy()
    want = ulog_data(flight, "battery_status")
    times = got["timestamp"].astype("int64") // 1000
    assert np.all(np.diff(times) == 200_000)
    last = np.searchsorted(want["timestamp"], times, side="right") - 1
    known = last >= 0
    volts = got["battery_status.voltage_v"]
    np.testing.assert_array_equal(volts[known], want["voltage_v"][last[known]])
    assert np.isnan(volts[~known]).all()
    assert merged.to_arrow().num_rows == len(times) == merged.to_polars().height
    with pytest.raises(ValueError):
        logtool.merge_asof(log, rate=0)


def test_scans_have_all_points(capture):
    table = logtool.open(capture)["points"]
    scans = list(table.scans())
    want = table.to_numpy()
    assert len(scans) == len(np.unique(want["scan"])) > 1
    for name in ("x", "y", "z", "intensity"):
        joined = np.concatenate([scan[name] for scan in scans])
        np.testing.assert_array_equal(joined, want[name])
    assert all(len(np.unique(scan["scan"])) == 1 for scan in scans)


def test_scans_of_messages_are_messages(rover):
    clouds = [message for _, message in bag_messages(rover, "/points")]
    scans = list(logtool.open(rover)["/points/points"].scans())
    counts = [cloud.width * cloud.height for cloud in clouds]
    assert [len(scan["x"]) for scan in scans] == counts


def test_images_have_the_pixels_of_the_messages(rover):
    want = [message for _, message in bag_messages(rover, "/camera/image_raw")]
    got = list(logtool.open(rover).images("/camera/image_raw"))
    assert len(got) == len(want) > 0
    for image, message in zip(got, want):
        assert image.encoding == message.encoding
        assert image.data.shape[:2] == (message.height, message.width)
        np.testing.assert_array_equal(image.data.ravel(), message.data)


def test_compressed_images_are_bytes(tmp_path):
    data = bytes(range(200)) * 2
    definition = "std_msgs/Header header\nstring format\nuint8[] data\n" + "=" * 80
    definition += "\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"
    header = bytes(16)
    payload = header + b"\4\0\0\0jpeg" + len(data).to_bytes(4, "little") + data
    with logtool.Writer(tmp_path / "x.bag") as writer:
        writer.add_topic("/camera", "sensor_msgs/CompressedImage", definition)
        writer.write("/camera", payload, time_ns=1_700_000_000_000_000_000)
    (image,) = logtool.open(tmp_path / "x.bag").images("/camera")
    assert (image.encoding, image.data) == ("jpeg", data)


def test_notebooks_show_logs_tables_and_plots(flight):
    log = logtool.open(flight)
    assert "<td>battery_status</td>" in log._repr_html_()
    assert "voltage_v" in log["battery_status"]._repr_html_()
    plot = log.plot("battery_status.voltage_v")
    assert plot.lines == ["battery_status.voltage_v"]
    assert plot._repr_svg_() == plot.svg and plot.svg.startswith("<svg")
    assert plot.png().startswith(b"\x89PNG")


def test_notebooks_escape_text_that_changes_its_direction(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("time,name\n1,\u202egpj.exe\n2,b\u2066c\n", encoding="utf-8")
    log = logtool.open(path)
    shown = log[log.topics[0].name]._repr_html_()
    assert "\\u{202e}gpj.exe" in shown and "b\\u{2066}c" in shown
    assert not {"\u202e", "\u2066"} & set(shown)
    with pytest.raises(KeyError):
        log.plot("battery_status.nothing")


def test_plots_have_panels_axes_and_a_title(flight):
    log = logtool.open(flight)
    power = ["battery_status.voltage_v", "battery_status.current_a"]
    track = ["vehicle_local_position.y", "vehicle_local_position.x"]
    plot = log.plot(panels=[power], xy=[track], title="Power", limits=[(0, 20), None, (-1, 1)])
    assert plot.lines == [*power, "vehicle_local_position.x"]
    assert "Power" in plot.svg and "battery_status.current_a (right)" in plot.svg
    assert plot.pdf().startswith(b"%PDF")
    with pytest.raises(ValueError, match="not below"):
        log.plot(*power, limits=[(2, 1)])
    with pytest.raises(ValueError, match="1 limit more than the plot has axes"):
        log.plot(power[0], limits=[None, None])
    with pytest.raises(ValueError, match="three units"):
        log.plot(panels=[[*power, "vehicle_local_position.x"]])
