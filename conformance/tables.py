"""Compares tables as inputs: CSV files that pandas writes and Parquet files that pyarrow and Polars write
with the tables that logtool reads from them, and ULogs with those that come back from their tables, read by
pyulog.

Usage: tables.py
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
from pyulog import ULog
from tally import Tally

ROWS = 5_000
START = 1_717_200_000_000_000_000


def run(*arguments):
    command = [os.environ["LOGTOOL"], *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def frame():
    """A table of each type, with missing values, quotes and lines in texts."""
    rng = np.random.default_rng(7)
    rows = np.arange(ROWS)
    texts = np.array(['plain', 'a,b', 'say "x"', "two\nlines", "Süd €", "", "#"], dtype=object)
    return pd.DataFrame(
        {
            "time": START + rows * 10_000_000 + rng.integers(0, 1000, ROWS),
            "float": rng.normal(size=ROWS) * 10.0 ** rng.integers(-300, 300, ROWS),
            "holes": np.where(rows % 3 == 0, np.nan, rng.normal(size=ROWS)),
            "whole": rng.integers(-(2**63), 2**63, ROWS),
            "large": rng.integers(2**63, 2**64, ROWS, dtype=np.uint64),
            "flag": rows % 5 == 0,
            "text": texts[rows % len(texts)],
        }
    )


def is_equal(want, found):
    """Compares two columns, whose missing values and empty strings are the same."""
    if pd.api.types.is_float_dtype(want):
        return np.array_equal(want.to_numpy(float), found.to_numpy(float), equal_nan=True)
    if pd.api.types.is_numeric_dtype(want) or pd.api.types.is_bool_dtype(want):
        return [int(value) for value in want] == [int(value) for value in found]
    fill = lambda column: ["" if pd.isna(value) else value for value in column]
    return fill(want) == fill(found)


def differences(want, found):
    if len(want) != len(found):
        yield f"{len(found)} rows, not {len(want)}"
        return
    times = found["time"].astype("datetime64[ns]").astype("int64")
    if not (want["time"].to_numpy() == times.to_numpy()).all():
        yield "times"
    for name in want.columns.drop("time"):
        if name not in found or not is_equal(want[name], found[name]):
            yield f"the column {name}"


def read_back(table, folder, *options):
    """The table that logtool makes of a file, as pyarrow reads it."""
    out = folder / "out.parquet"
    status, stderr = run("convert", table, "-o", out, "--force", *options)
    return (None, [f"status {status}: {stderr}"]) if status else (pq.read_table(out).to_pandas(), [])


def of_pandas(folder, tally):
    want = frame()
    for name, options in [
        ("comma.csv", {}),
        ("semicolon.csv", {"sep": ";"}),
        ("tab.csv", {"sep": "\t"}),
        ("windows.csv", {"lineterminator": "\r\n", "encoding": "utf-8-sig"}),
        ("quoted.csv", {"quoting": 1}),
        ("packed.csv.gz", {}),
    ]:
        path = folder / name
        want.to_csv(path, index=False, **options)
        found, faults = read_back(path, folder)
        tally.check(name, faults or list(differences(want, found)), f"{ROWS} rows")
    dates = want.assign(time=pd.to_datetime(want["time"])).set_index("time")
    dates.index.name = None
    dates.to_csv(folder / "dates.csv")
    found, faults = read_back(folder / "dates.csv", folder)
    tally.check("an index of dates", faults or list(differences(want, found)))
    seconds = want.assign(time=[f"{time // 10**9}.{time % 10**9:09}" for time in want["time"]])
    seconds = seconds.rename(columns={"time": "my time"})
    seconds.to_csv(folder / "seconds.csv", index=False)
    found, faults = read_back(folder / "seconds.csv", folder, "--time-column", "my time:s")
    tally.check("seconds", faults or list(differences(want, found)))
    status, stderr = run("info", folder / "seconds.csv")
    tally.check("no time column", [] if status == 1 and "my time" in stderr else [stderr])


def of_parquet(folder, tally):
    want = frame()
    table = pa.Table.from_pandas(want, preserve_index=False)
    path = folder / "table.parquet"
    for name, options in [
        ("snappy", {"compression": "snappy"}),
        ("gzip", {"compression": "gzip"}),
        ("lz4", {"compression": "lz4"}),
        ("zstd", {"compression": "zstd", "row_group_size": 333}),
        ("none", {"compression": "none", "use_dictionary": False}),
        ("pages 2", {"data_page_version": "2.0", "data_page_size": 1000}),
        ("split", {"use_dictionary": False, "column_encoding": {"float": "BYTE_STREAM_SPLIT", "time": "DELTA_BINARY_PACKED"}}),
    ]:
        pq.write_table(table, path, **options)
        found, faults = read_back(path, folder)
        tally.check(f"pyarrow, {name}", faults or list(differences(want, found)), f"{ROWS} rows")
    zoned = table.set_column(0, "when", table["time"].cast(pa.timestamp("ns", "Europe/Berlin")))
    words = zoned["text"].dictionary_encode()
    zoned = zoned.set_column(6, "text", words)
    pq.write_table(zoned, path)
    found, faults = read_back(path, folder)
    tally.check("pyarrow, time zone and dictionary", faults or list(differences(want, found)))
    polars.from_pandas(want).write_parquet(path)
    found, faults = read_back(path, folder)
    tally.check("Polars", faults or list(differences(want, found)))
    pq.write_table(table, path)
    path.write_bytes(path.read_bytes()[:-10])
    status, stderr = run("info", path)
    tally.check("no footer", [] if status == 1 and "cannot be recovered" in stderr else [stderr])


def same_ulog(first, second):
    """Compares a table of two ULogs. A CSV file has no types, so that floats are compared as such."""
    if first.keys() != second.keys():
        yield f"columns {sorted(first.keys() ^ second.keys())}"
    for column in first.keys() & second.keys():
        one, other = first[column], second[column]
        if not np.array_equal(one, other.astype(one.dtype), equal_nan=one.dtype.kind == "f"):
            yield column


def field(name):
    """The name of a field in a new ULog: `esc_0_rpm` of `esc[0].rpm`, and elements of arrays as they are."""
    base, element = re.fullmatch(r"(.*?)(\[\d+\])?", name).groups()
    return "_".join(re.findall(r"[A-Za-z0-9]+", base)) + (element or "")


def round_trips(root, folder, tally):
    log = ULog(str(root / "testdata/quad_flight.ulg"))
    for kind in ("parquet", "csv"):
        faults, tables = [], 0
        for data in log.data_list:
            name = f"{data.name}.{data.multi_id}"
            table, back = folder / f"{data.name}.{kind}", folder / "back.ulg"
            run("convert", log_path(root), "-t", name, "-o", table, "--force")
            status, stderr = run("convert", table, "-o", back, "--force")
            if status:
                faults.append(f"{name}: status {status}: {stderr}")
                continue
            found = ULog(str(back)).data_list[0].data
            want = {field(key): value for key, value in data.data.items() if "_padding" not in key}
            tables += 1
            faults += [f"{name}: {fault}" for fault in same_ulog(want, found)]
            if kind == "parquet":
                types = [column for column in want if want[column].dtype != found[column].dtype]
                faults += [f"{name}: the type of {column}" for column in types]
        tally.check(f"ULog to {kind} to ULog", faults, f"{tables} tables")


def log_path(root):
    return root / "testdata/quad_flight.ulg"


def main():
    root = Path(__file__).resolve().parents[1]
    tally = Tally("tables", [])
    with tempfile.TemporaryDirectory(prefix="tables-") as name:
        folder = Path(name)
        of_pandas(folder, tally)
        of_parquet(folder, tally)
        round_trips(root, folder, tally)
    print("\n".join(tally.lines))
    print(f"tables: {tally.passed} passed, {tally.failed} failed")
    sys.exit(1 if tally.failed else 0)


main()
