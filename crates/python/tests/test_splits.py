"""Splits, and reading in other processes."""

import json
import multiprocessing
import os
import pickle
import subprocess
import sys

import logtool
import pyarrow
import pytest


def rows(split):
    return logtool.read(split).to_arrow()


def count_all(path):
    log = logtool.open(path)
    return {topic: log[topic].to_arrow().num_rows for topic in log}


def test_splits_of_a_topic_are_its_table(rover):
    splits = logtool.plan(rover, "/imu/data", target_bytes=10_000)
    assert len(splits) > 3
    want = logtool.open(rover)["/imu/data"].to_arrow()
    assert pyarrow.concat_tables(map(rows, splits)).equals(want)
    assert sum(split.records for split in splits) == pytest.approx(want.num_rows, abs=len(splits))
    assert all(split.bytes <= 20_000 and split.topic == "/imu/data" for split in splits)
    assert all(os.path.samefile(split.path, rover) for split in splits)
    assert splits[0].time[0] < splits[0].time[1] <= splits[-1].time[1]


def test_splits_are_plain_data(rover):
    (split,) = logtool.plan(rover, "/gps/fix")
    assert pickle.loads(pickle.dumps(split)) == split
    assert logtool.Split.from_json(split.to_json()) == split
    assert hash(pickle.loads(pickle.dumps(split))) == hash(split)
    assert len(pickle.dumps(split)) < 10_000
    assert json.loads(split.to_json())["topic"] == "/gps/fix"
    with pytest.raises(ValueError):
        logtool.Split.from_json("{}")


def test_splits_are_those_of_the_command(rover):
    run = [sys.executable, "-m", "logtool", "plan", rover, "--topic", "/imu/data", "--json"]
    printed = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    (split,) = [logtool.Split.from_json(line) for line in printed.splitlines()]
    assert split == logtool.plan(rover, "/imu/data")[0]
    printed = subprocess.run([*run, "--spark"], check=True, capture_output=True, text=True)
    assert logtool.Split.from_json(printed.stdout) == logtool.plan(
        rover, "/imu/data", spark=True
    )[0]
    for extension, spaced in (("csv", ",time_ns,"), ("jsonl", '"time_ns":')):
        flat = [*run, "--spark", "--flat"]
        line = subprocess.run(flat, check=True, capture_output=True).stdout
        read = [sys.executable, "-m", "logtool", "read", "--split", "-", "--format", extension]
        text = subprocess.run(read, input=line, check=True, capture_output=True).stdout
        assert spaced in text.decode()


def test_plans_have_selections(rover, flight):
    (split,) = logtool.plan(
        rover, "/imu/data", "orientation.w", ("1", "2"), flat=True, clock="relative"
    )
    table = rows(split)
    assert table.column_names == ["time", "orientation.w"]
    assert table.schema.field("time").type == pyarrow.duration("ns")
    seconds = [time.total_seconds() for time in table["time"].to_pylist()]
    assert 1 <= min(seconds) and max(seconds) < 2
    (spark,) = logtool.plan(flight, "battery_status.0", spark=True)
    assert rows(spark).schema.field("timestamp_ns").type == pyarrow.int64()
    sub = logtool.read(split).time(end="1.5").to_arrow()
    assert 0 < sub.num_rows < table.num_rows
    with pytest.raises(KeyError):
        logtool.plan(rover, "/nothing")


def test_splits_of_messages_are_those_of_the_command(flight, capture):
    def command(path, *arguments):
        run = [sys.executable, "-m", "logtool", "plan", path, "--json", *arguments]
        printed = subprocess.run(run, check=True, capture_output=True, text=True).stdout
        return [logtool.Split.from_json(line) for line in printed.splitlines()]

    topic = "vehicle_attitude"
    splits = logtool.plan(flight, topic, messages="mcap")
    assert splits == command(flight, "--topic", topic, "--messages", "mcap")
    table = pyarrow.concat_tables(map(rows, splits))
    assert table.column_names == ["time", "payload"]
    assert table.num_rows == logtool.open(flight)[topic].to_arrow().num_rows
    ros = logtool.plan(flight, topic, messages="bag")
    assert rows(ros[0])["payload"][0] != table["payload"][0]
    foxglove = logtool.plan(capture, "points", messages="mcap", foxglove=True)
    assert foxglove == command(
        capture, "--topic", "points", "--messages", "mcap", "--foxglove"
    )
    with pytest.raises(ValueError, match="foxglove needs messages"):
        logtool.plan(capture, foxglove=True)
    with pytest.raises(ValueError, match="known values"):
        logtool.plan(capture, messages="xlsx")


def test_logs_that_cannot_be_opened_are_errors_or_listed(rover, tmp_path):
    broken = tmp_path / "broken.bag"
    broken.write_bytes(b"nothing of a bag" * 10)
    with pytest.raises(logtool.Error):
        logtool.plan([rover, broken], "/imu/data")
    failed = []
    splits = logtool.plan([rover, broken], "/imu/data", failed=failed)
    assert len(splits) == 1 and [one.path for one in failed] == [str(broken)]


def test_changed_files_are_refused(rover, tmp_path):
    copy = tmp_path / "copy.bag"
    with open(rover, "rb") as file:
        copy.write_bytes(file.read())
    (split,) = logtool.plan(copy, "/imu/data")
    copy.write_bytes(copy.read_bytes()[:-1])
    with pytest.raises(logtool.InvalidRequestError):
        logtool.read(split)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_read_in_parallel(method, rover, flight, capture):
    """The parent has used its threads before it forks: they do not exist in its children."""
    logs = [rover, flight, capture]
    want = [count_all(path) for path in logs]
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        assert pool.map_async(count_all, logs * 2).get(120) == want * 2
        splits = logtool.plan(rover, target_bytes=10_000)
        tables = pool.map_async(rows, splits).get(120)
    assert [table.num_rows for table in tables] == [rows(s).num_rows for s in splits]


def test_logs_that_are_open_can_be_read_after_fork(big_bag):
    log = logtool.open(big_bag)
    want = log["/blob"].select("data").to_arrow().num_rows
    started = log["/blob"].batches()
    next(started)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            same = log["/blob"].to_arrow().num_rows == want
            try:
                next(started)
            except logtool.InvalidRequestError:
                code = 0 if same else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert 0 < sum(len(batch) for batch in started) < want


def test_logs_on_servers_are_opened_again_after_fork(rover):
    import functools
    import http.server
    import threading

    folder, name = os.path.split(rover)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/{name}"
    log = logtool.open(url)
    want = logtool.open(rover)["/imu/data"].to_arrow()
    assert log["/imu/data"].to_arrow().equals(want)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            try:
                log["/imu/data"].to_arrow()
            except logtool.InvalidRequestError:
                same = logtool.open(url)["/imu/data"].to_arrow().equals(want)
                code = 0 if same else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    server.shutdown()
    assert os.waitstatus_to_exitcode(status) == 0
