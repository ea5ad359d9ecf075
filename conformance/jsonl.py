"""Five readers take every table that is written as JSON Lines.

Polars, pyarrow, DuckDB, pandas and jq read each table of each sample, and find as many rows
as there are lines. Python's `json`, which refuses nothing, sees that no constant is in it
that JSON does not have.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.json as pj

from logtool import run
from tally import Tally

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"])
# Larger logs have no other cases, and take long.
LARGEST = 3_000_000
FORMATS = (".ulg", ".bag", ".mcap", ".vel", ".pcap", ".pcapng")
# The longest line that readers get a buffer for.
LONGEST = 1 << 28


def logs():
    found = (ROOT / "testdata").rglob("*.*")
    more = [path for path in SAMPLES.rglob("*.*")]
    if not more:
        print(f"MISSING  no samples in {SAMPLES}: only testdata/ is read")
    paths = sorted(found) + sorted(more)
    is_wanted = lambda path: path.suffix in FORMATS and path.stat().st_size < LARGEST
    # The files of MCAP's own suite hold a message each, and are alike.
    return [path for path in paths if is_wanted(path) and "mcap-conformance" not in path.parts]


def of_polars(path):
    return len(pl.read_ndjson(path, infer_schema_length=None))


def of_pyarrow(path):
    return len(pj.read_json(path, read_options=pj.ReadOptions(block_size=LONGEST)))


def of_duckdb(path):
    table = duckdb.read_json(
        str(path), format="newline_delimited", sample_size=-1, maximum_object_size=LONGEST
    )
    # To count would not read the columns.
    return len(table.fetchall())


def of_pandas(path):
    return len(pd.read_json(path, lines=True, dtype=False))


def of_jq(path):
    done = subprocess.run(["jq", "-c", "1", path], capture_output=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr.decode())
    return done.stdout.count(b"\n")


READERS = {
    "Polars": of_polars,
    "pyarrow": of_pyarrow,
    "DuckDB": of_duckdb,
    "pandas": of_pandas,
    "jq": of_jq,
}


def refuse(constant):
    raise ValueError(f"the constant {constant}")


def strict_lines(path):
    """Returns the number of lines; each must be JSON without infinities."""

    def finite(text):
        number = float(text)
        return number if abs(number) < float("inf") else refuse(text)

    lines = path.read_text().splitlines()
    for line in lines:
        json.loads(line, parse_constant=refuse, parse_float=finite)
    return len(lines)


def check_table(tally, path):
    name = path.name
    try:
        lines = strict_lines(path)
    except ValueError as error:
        tally.check(name, [f"not JSON: {error}"])
        return
    for reader, read in READERS.items():
        try:
            rows = read(path)
        except Exception as error:  # whatever a reader raises is what is looked for
            tally.check(name, [f"{reader}: {str(error).splitlines()[0]}"])
        else:
            tally.check(name, [] if rows == lines else [f"{reader}: {rows} rows of {lines}"])


def check_log(path):
    tally = Tally(path.name, [])
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        try:
            run("convert", path, "-o", folder, "--format", "jsonl")
        except RuntimeError as error:
            tally.check("refused", [], str(error).splitlines()[0])
            return tally
        for table in sorted(Path(folder).glob("*.jsonl")):
            # Readers report that an empty file has no table.
            if table.stat().st_size:
                check_table(tally, table)
    return tally


def main():
    passed = failed = 0
    for path in [Path(name) for name in sys.argv[1:]] or logs():
        tally = check_log(path)
        bad = [line for line in tally.lines if not line.startswith("ok")]
        print("\n".join([*bad, f"ok       {path.name}  {tally.passed} checks"]), flush=True)
        passed, failed = passed + tally.passed, failed + tally.failed
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
