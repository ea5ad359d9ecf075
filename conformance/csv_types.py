"""Compares the types of columns that Polars, DuckDB, pandas and Spark infer from CSV files with those that they read
from Parquet files of the same tables: integer, float, boolean, text, time. Spark reads what `--layout spark` makes.

Spark is that of ../conformance/python, in the folder PYTHON_VENV; without it, it is skipped, which is printed.

CSV has no types, so that these columns may be of another kind:
- A column without values is of any kind.
- Times are integers, or dates with `--clock utc`, which pandas leaves as text.
- Lists, structures and bytes in one cell are text, and texts that look like numbers are numbers (none in these logs).
- DuckDB takes a column whose first value is an infinity for dates or text.

Usage: csv_types.py [LOG...]
"""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from logtool import run
from tally import Tally

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"])
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
SPARK = Path(os.environ.get("PYTHON_VENV", CACHE / "logtool/engines")) / "bin/python"
#: Each with more options.
LOGS = (
    (ROOT / "testdata/quad_flight.ulg",),
    (ROOT / "testdata/quad_flight.ulg", "--clock", "utc"),
    (ROOT / "testdata/hostile_types.ulg",),
    (ROOT / "testdata/rover.bag",),
    (ROOT / "testdata/car.vel",),
    (ROOT / "testdata/puck.pcap",),
    (SAMPLES / "cases/ulog/specials.ulg",),
    (SAMPLES / "cases/mcap/rosout_ros2.mcap",),
    (SAMPLES / "cases/mcap/slow_and_fast.mcap",),
    (SAMPLES / "ulog/px4ulogrs_esc_status_log.ulg", "--topic", "vehicle_l*", "--topic", "esc_status"),
    (SAMPLES / "rosbag/example.bag",),
)
KINDS = (
    ("text", r"list|array|struct|map|str|utf8|varchar|object|categorical|dictionary|binary|blob|enum|\[\]"),
    ("time", r"time|date|duration|interval"),
    ("boolean", r"bool"),
    ("integer", r"u?int|long|short|byte|decimal\(\d+,0\)"),
    ("float", r"float|double|decimal"),
)


def kind(name):
    """The kind of a type, by its name in one of the engines."""
    return next(kind for kind, pattern in KINDS if re.search(pattern, str(name).lower()))


def of_polars(path):
    frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema_length=None, try_parse_dates=True)
    return dict(frame.schema)


def of_duckdb(path):
    call = f"read_parquet('{path}')" if path.suffix == ".parquet" else f"read_csv('{path}', sample_size=-1)"
    return {name: kind for name, kind, *_ in duckdb.sql(f"DESCRIBE SELECT * FROM {call}").fetchall()}


def of_pandas(path):
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return dict(frame.dtypes)


def with_spark(paths):
    """Prints the columns of each file and their types as JSON. Runs in the Python of Spark."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    # Quotes as in RFC 4180.
    reader = session.read.options(header=True, inferSchema=True, multiLine=True, escape='"')
    for path in paths:
        frame = reader.parquet(path) if path.endswith(".parquet") else reader.csv(path)
        print(json.dumps(dict(flat(frame.schema))), flush=True)
    session.stop()


def flat(kind, name=""):
    """The columns of a type of Spark: fields of structures as `a.b`, and elements of lists as `a[]`."""
    if hasattr(kind, "fields"):
        for field in kind.fields:
            yield from flat(field.dataType, f"{name}.{field.name}".lstrip("."))
        return
    yield name, kind.simpleString()
    if hasattr(kind, "elementType"):
        yield from flat(kind.elementType, f"{name}[]")


def other_kinds(column, engine):
    """The kinds besides that of Parquet that a column of CSV with these values may have."""
    if pa.types.is_nested(column.type):
        return set()
    values = [value for value in column.to_pylist() if value not in (None, "", b"")]
    if not values:
        return {name for name, _ in KINDS}
    if kind(column.type) == "time":
        return {"integer", "text"} if engine == "pandas" else {"integer"}
    if engine == "duckdb" and isinstance(values[0], float) and math.isinf(values[0]):
        return {"time", "text"}
    return set()


def differences(engine, csv, parquet, values):
    """Compares the columns of a CSV file, by name, with those of Parquet."""
    for name, found in csv.items():
        wanted = parquet.get(name) or parquet.get(re.sub(r"\[\d+\]", "[]", name))
        others = other_kinds(values[name], engine) if name in values else set()
        if not wanted:
            yield f"{name} is not in the Parquet file"
        elif kind(found) not in {kind(wanted)} | others:
            yield f"{name}: {found}, not {wanted}"
    # Spark has one column for all elements of a list.
    missing = [] if engine == "spark" else parquet.keys() - csv.keys()
    yield from (f"{name} is not in the CSV file" for name in missing)


def check_spark(tables):
    if not SPARK.exists() or not shutil.which("java"):
        print("SKIPPED  Spark (../conformance/python) and Java are not installed")
        return
    paths = [path for _, *paths, _ in tables for path in paths]
    done = subprocess.run([SPARK, "-B", __file__, "spark", *paths], capture_output=True, text=True, check=True)
    schemas = map(json.loads, done.stdout.splitlines())
    for tally, csv, _, values in tables:
        tally.check(f"{csv.stem} in spark", differences("spark", next(schemas), next(schemas), values))


def convert(log, options, folder):
    """The CSV and Parquet files of each table, and those of Spark."""
    made = {}
    for layout, of_csv, of_parquet in (("", (), ("--flat",)), ("spark", ("--layout", "spark"), ("--layout", "spark"))):
        for to, more in (("csv", of_csv), ("parquet", of_parquet)):
            run("convert", log, "-o", folder / f"{to}{layout}", "--format", to, *more, *options)
            for path in sorted((folder / f"{to}{layout}").glob(f"*.{to}")):
                # CSV files of a ULog have its name first, as those of ulog2csv.
                table = path.stem.removeprefix(f"{log.stem}_")
                made.setdefault((layout, table), []).append(path)
    return made


def columns(path):
    table = pq.ParquetFile(path).read()
    return dict(zip(table.column_names, table.columns, strict=True))


def main():
    logs = [(Path(name),) for name in sys.argv[1:]] or LOGS
    tallies, for_spark = [], []
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        for number, (log, *options) in enumerate(logs):
            tally = Tally(" ".join([log.name, *options]), [])
            tallies.append(tally)
            made = convert(log, options, Path(folder) / str(number))
            tally.check("tables", [f"{key}: only in one format" for key, paths in made.items() if len(paths) != 2])
            made = {key: paths for key, paths in made.items() if len(paths) == 2}
            tables = {stem: columns(paths[1]) for (layout, stem), paths in made.items() if not layout}
            for (layout, stem), (csv, parquet) in made.items():
                if layout:
                    for_spark.append((tally, csv, parquet, tables[stem]))
                    continue
                for engine in (of_polars, of_duckdb, of_pandas):
                    name = engine.__name__[3:]
                    found = differences(name, engine(csv), engine(parquet), tables[stem])
                    tally.check(f"{stem} in {name}", found, f"{len(tables[stem])} columns")
        check_spark(for_spark)
    for tally in tallies:
        print("\n".join(tally.lines))
    passed, failed = sum(t.passed for t in tallies), sum(t.failed for t in tallies)
    print(f"{passed} checks passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    with_spark(sys.argv[2:]) if sys.argv[1:2] == ["spark"] else main()
