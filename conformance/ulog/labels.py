"""Names of values, in every kind of table, beside the constants of a `.msg` file."""

import csv
import re
import tempfile
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyulog import ULog

from logtool import read_arrow, run
from tally import Tally

TOPIC, FIELD = "kitchen_status", "pasta_menu"


def check_labels(testdata):
    tally = Tally("pasta.ulg", [])
    definition = (testdata / "msg" / "KitchenStatus.msg").read_text()
    names = re.findall(r"^uint8 (PASTA_MENU_\w+) = (\d+)", definition, re.MULTILINE)
    name_of = {int(value): name for name, value in names}
    log = ULog(str(testdata / "pasta.ulg"))
    expected = [name_of.get(value) for value in log.get_dataset(TOPIC).data[FIELD].tolist()]
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        for to, *more in (
            ("csv",),
            ("jsonl",),
            ("parquet",),
            ("arrow",),
            ("arrow", "--merge", "asof", "--rate", "1"),
        ):
            out = Path(folder) / "-".join((to, *more))
            msg_dir = ("--msg-dir", testdata / "msg", "--topic", TOPIC)
            run("convert", testdata / "pasta.ulg", "-o", out, "--format", to, *msg_dir, *more)
            # Beside it may lie where it is from.
            (path,) = (path for path in out.glob("*.*") if path.name != "provenance.json")
            check_file(tally, " ".join((to, *more)), path, expected, set(name_of.values()))
    return tally


def check_file(tally, what, path, expected, names):
    differences = []
    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as lines:
            told = [row[f"{FIELD}_label"] or None for row in csv.DictReader(lines)]
    elif path.suffix == ".jsonl":
        told = pl.read_ndjson(path)[f"{FIELD}_label"].to_list()
    else:
        is_arrow = path.suffix == ".arrow"
        table = read_arrow(path) if is_arrow else pq.read_table(path)
        name = next(name for name in table.column_names if name.endswith("_label"))
        told = table.column(name).to_pylist()
        if not pa.types.is_dictionary(table.schema.field(name).type):
            differences.append(f"a column of {table.schema.field(name).type}")
        in_polars = (pl.read_ipc if is_arrow else pl.read_parquet)(path)[name]
        if in_polars.cast(pl.String).to_list() != told:
            differences.append("Polars reads other names")
    if "asof" in what:
        # One row for each second; another check compares the times.
        differences += [f"{name!r} is no name" for name in set(told) - names - {None}]
        told, expected = set(told), set(expected)
    if told != expected:
        differences.append(f"{told}, not {expected}")
    tally.check(f"labels in {what}", differences, f"{len(told)} names")
