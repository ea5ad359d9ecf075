"""Makes a dataset of all samples and of generated logs, kills the making at random moments,
resumes it, and compares the outcome, file by file, with that of one run that was left alone;
counts the rows by DuckDB and Polars, and compares with `logtool info`.

Prints the number of checks; exits non-zero where something differs. Needs the environment
LOGTOOL, the program, and LOGTOOL_SAMPLES, the folder of real logs; LOGS says how many logs
are generated (1000), KILLS how often it is killed at most (30), SEED which random moments.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import duckdb
import polars as pl
import pyarrow.parquet as pq
from tally import Tally
from ulog_maker import ulog, write_logs

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"])
LOGTOOL = str(Path(os.environ["LOGTOOL"]).resolve())
LOGS = int(os.environ.get("LOGS", "1000"))
KILLS = int(os.environ.get("KILLS", "30"))
SEED = int(os.environ.get("SEED", time.time_ns() % 1_000_000))
#: Success, data lost, some logs failed: samples are damaged, and some are not logs.
ENDED = (0, 1, 3)


def main():
    tally = Tally("batch", ())
    rng = random.Random(SEED)
    print(f"SEED={SEED}")
    with tempfile.TemporaryDirectory(prefix="batch-") as folder:
        folder = Path(folder)
        generated = folder / "generated"
        write_logs(generated, LOGS)
        inputs = [str(path) for path in (SAMPLES, generated) if path.is_dir()]
        whole = folder / "whole"
        start = time.monotonic()
        end = batch(whole, *inputs)
        took = time.monotonic() - start
        print(f"one run of {end['converted']} logs, {end['rows']} rows: {took:.1f} s")
        check(tally, "some", "rows", end["rows"] > 0 and end["converted"] >= LOGS)
        odd = [name for name in end["own_tables"] if name.startswith("sensor_gps~")]
        check(tally, "types", f"only the firmware with a conflict has a separate table {odd}", len(odd) == 1)
        killed(tally, folder / "killed", whole, inputs, took, rng)
        again(tally, whole, generated, inputs)
        counts(tally, whole)
        two_at_once(tally, folder / "killed", inputs)
        shutil.rmtree(folder / "killed")
        shards(tally, folder / "shards", whole, inputs)
        index(tally, folder, whole, inputs)
        readme(tally, folder / "readme")
    print("\n".join(tally.lines))
    print(f"batch: {tally.passed} passed, {tally.failed} failed")
    sys.exit(1 if tally.failed else 0)


def check(tally, what, note, is_fine):
    tally.check(what, [] if is_fine else [note], note)


def command(out, *arguments):
    return [LOGTOOL, "--quiet", "batch", *map(str, arguments), "-o", str(out), "--json"]


def batch(out, *arguments):
    """Runs to the end, and returns the last event and the result of each log."""
    done = subprocess.run(command(out, *arguments), capture_output=True, check=False)
    if done.returncode not in ENDED:
        raise RuntimeError(f"{done.returncode}: {done.stderr.decode()}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    end = events[-1]
    end["logs"] = [event for event in events if event["event"] == "log"]
    return end


def files(folder):
    """Returns all files except the journal, by name."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith("_logtool/"):
            found[name] = path
    return found


def same(one, other):
    """Returns whether two files or two tables have the same contents."""
    if one.read_bytes() == other.read_bytes():
        return True
    if one.suffix != ".parquet":
        return False
    # Row groups may end at other rows in each run.
    one, other = (pq.ParquetFile(path).read() for path in (one, other))
    return one.equals(other)


def killed(tally, out, whole, inputs, took, rng):
    """Kills the run repeatedly: files with their final names must be complete."""
    expected, kills, halves, compared = files(whole), 0, [], {}
    while True:
        process = subprocess.Popen(
            command(out, *inputs), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            after = took * rng.uniform(0.02, 0.3) if kills < KILLS else None
            code = process.wait(after)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
            for name, path in files(out).items():
                version = path.stat().st_ino, path.stat().st_mtime_ns
                if name.startswith("_catalog") or compared.get(name) == version:
                    continue
                compared[name] = version
                if not (name in expected and same(path, expected[name])):
                    halves.append(name)
    error = process.stderr.read().decode()
    check(tally, "killed", f"{kills} times, and ended by itself with {code} {error}", code in ENDED)
    check(tally, "killed", f"no half file had a final name {halves[:3]}", not halves)
    found = files(out)
    missing = sorted(set(expected) ^ set(found))
    check(tally, "killed", f"the same files {missing[:5]}", not missing)
    differ = [name for name in expected if name in found and not same(found[name], expected[name])]
    check(tally, "killed", f"{len(expected)} files hold the same {differ[:5]}", not differ)
    left = [path.name for path in out.rglob("*.part")] + list((out / "_logtool").glob("unfinished*"))
    check(tally, "killed", f"nothing is left over {left[:3]}", not left)


def again(tally, whole, generated, inputs):
    """A second run only processes new and changed logs."""
    end = batch(whole, *inputs)
    check(tally, "again", "nothing is converted twice", end["converted"] == 0)
    logs = sorted(generated.rglob("*.ulg"))
    touched, changed, gone = logs[0], logs[1], logs[2]
    os.utime(touched)
    changed.write_bytes(ulog(0, 33, 7))
    new = generated / "new.ulg"
    new.write_bytes(ulog(1, 44, 8))
    end = batch(whole, *inputs)
    done = {event["source"] for event in end["logs"] if event["outcome"] == "converted"}
    check(tally, "again", f"only what changed {done}", done == {str(changed), str(new)})
    stale = next((whole / "battery_status").glob("**/part-0.parquet"))
    stale.unlink()
    end = batch(whole, *inputs)
    check(tally, "again", "what is missing is made again", end["converted"] == 1 and stale.exists())
    options = batch(whole, gone, "--topic", "battery_status")
    name = next(event["log"] for event in options["logs"])
    left = [path.relative_to(whole).parts[0] for path in whole.glob(f"*/log={name}/**/*.parquet")]
    check(tally, "again", f"other options make other files {left}", left == ["battery_status"])
    batch(whole, *inputs)


def info(paths):
    """Returns the output of `logtool info` for each log, by its full path."""
    said = {}
    for start in range(0, len(paths), 200):
        done = subprocess.run(
            [LOGTOOL, "--quiet", "info", "--json", *paths[start : start + 200]],
            capture_output=True,
            check=False,
        )
        for line in done.stdout.splitlines():
            log = json.loads(line)
            said[os.path.realpath(log["file"])] = log
    return said


def counts(tally, whole):
    """Compares the rows of each table (one glob each) with the records in `logtool info`."""
    columns = ["log", "source", "topic", "instance", "origin", "table", "error"]
    columns += ["topic_records", "topic_rows", "damages"]
    rows = pq.read_table(whole / "_catalog.parquet", columns=columns).to_pylist()
    sources = sorted({row["source"] for row in rows if row["error"] is None})
    said = info(sources)
    wrong, tables, checked = [], {}, 0
    for row in rows:
        log = said.get(row["source"])
        if row["error"] is not None or row["topic"] is None:
            continue
        label = row["topic"] + (f".{row['instance']}" if row["instance"] else "")
        topic = next(topic for topic in log["topics"] if topic["topic"] == label)
        checked += 1
        if topic["records"] != row["topic_records"]:
            wrong.append((row["log"], label, "records"))
        if row["table"] is not None:
            # A message of lidar packets is several rows; damaged records may have no row.
            is_row = row["origin"] == "logged" and row["topic"] != "velodyne_packets"
            is_sound = row["damages"] == 0 and topic["records"] is not None
            if is_row and is_sound and row["topic_rows"] != topic["records"]:
                wrong.append((row["log"], label, row["topic_rows"], topic["records"]))
            table = tables.setdefault(row["table"], {})
            # All instances are in one table.
            table[row["log"]] = table.get(row["log"], 0) + row["topic_rows"]
    check(tally, "counts", f"{checked} rows of the catalog are as info has them {wrong[:4]}", not wrong)
    wrong = []
    for table, expected in tables.items():
        glob = f"{whole}/{table}/**/*.parquet"
        found = duckdb.sql(
            f"SELECT log, count(*) FROM read_parquet('{glob}', union_by_name = true, "
            "hive_partitioning = true, hive_types_autocast = false) GROUP BY log"
        ).fetchall()
        if dict(found) != expected:
            wrong.append(("DuckDB", table))
        # As the README has it: Polars widens the types of frames, but not those of files.
        files = sorted((whole / table).glob("**/*.parquet"))
        keys = {"log": pl.String} | ({"instance": pl.UInt32} if "instance=" in str(files[0]) else {})
        frames = [pl.scan_parquet(file, hive_partitioning=True, hive_schema=keys) for file in files]
        frame = pl.concat(frames, how="diagonal_relaxed")
        found = frame.group_by("log").len().collect().rows()
        if dict(found) != expected:
            wrong.append(("Polars", table))
    check(tally, "counts", f"{len(tables)} tables by DuckDB and Polars {wrong[:5]}", not wrong)
    told = sum(row["topic_rows"] or 0 for row in rows)
    all_rows = sum(count for table in tables.values() for count in table.values())
    check(tally, "counts", f"{told} rows in all", told == all_rows)


def two_at_once(tally, out, inputs):
    first = subprocess.Popen(
        command(out, *inputs, "--force"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    first.stdout.readline()  # it has begun
    second = subprocess.run(command(out, *inputs), capture_output=True, check=False)
    refused = b"another run is writing" in second.stderr
    check(tally, "two runs", f"the second is refused {second.stderr.decode()}", refused and second.returncode == 1)
    first.kill()
    first.wait()
    done = subprocess.run(command(out, *inputs), capture_output=True, check=False)
    check(tally, "two runs", "a killed one leaves no lock", done.returncode in ENDED)


def shards(tally, out, whole, inputs):
    """Three simultaneous runs have the same result as one."""
    runs = [
        subprocess.Popen(command(out, *inputs, "--shard", f"{index}/3"), stdout=subprocess.PIPE)
        for index in range(3)
    ]
    ends = [json.loads(run.communicate()[0].splitlines()[-1]) for run in runs]
    bytes_each = [end["bytes"] for end in ends]
    balanced = max(bytes_each) - min(bytes_each) < 8 << 20
    check(tally, "shards", f"about as much each: {bytes_each}", balanced)

    def logs(catalog):
        columns = "log, source, digest, topic, instance, topic_records, topic_rows, damages, error"
        return duckdb.sql(f"SELECT {columns} FROM '{catalog}' ORDER BY ALL").fetchall()

    one, three = logs(f"{whole}/_catalog.parquet"), logs(f"{out}/_catalog*.parquet")
    check(tally, "shards", f"{len(one)} rows of their catalogs", one == three)
    end = batch(out, *inputs)
    catalogs = sorted(path.name for path in out.glob("_catalog*"))
    fine = end["converted"] == 0 and catalogs == ["_catalog.parquet"]
    check(tally, "shards", f"one run takes over {catalogs}", fine)


def index(tally, folder, whole, inputs):
    """A catalog without tables has the same contents."""
    out = folder / "index.parquet"

    def run(*more):
        done = subprocess.run(
            [LOGTOOL, "--quiet", "index", *inputs, "-o", str(out), "--json", *more],
            capture_output=True,
            check=False,
        )
        return json.loads(done.stdout.splitlines()[-1])

    run()
    columns = "source, digest, format, clock, start_utc::VARCHAR, topic, instance, topic_records"
    query = f"SELECT {columns}, rate_hz FROM '{{}}' WHERE error IS NULL ORDER BY ALL"
    one = duckdb.sql(query.format(whole / "_catalog.parquet")).fetchall()
    known = {row[0] for row in one}
    two = [row for row in duckdb.sql(query.format(out)).fetchall() if row[0] in known]
    # Reading a log yields rates that are not in its index.
    alike = len(one) == len(two) and all(
        mine[:-1] == other[:-1] and other[-1] in (mine[-1], None)
        for mine, other in zip(one, two)
    )
    check(tally, "index", f"{len(one)} rows as batch has them", alike)
    before = pq.read_table(out)
    end = run()
    fine = end["converted"] <= 1 and end["done_before"] > 0
    check(tally, "index", "what is known is not looked into again", fine)
    polars = pl.read_parquet(out)
    check(tally, "index", "Polars reads it", polars.height == len(pq.read_table(out)) > 0)
    check(tally, "index", "and it is the same as before", before.equals(pq.read_table(out)))


def readme(tally, folder):
    """The examples of questions to datasets in the guide give answers."""
    section = (ROOT / "docs/guides/datasets.md").read_text(encoding="utf-8")
    (folder / "logs").mkdir(parents=True)
    for number, firmware, rows in ((1, 1, 900), (2, 1, 50), (3, 0, 900), (4, 2, 900)):
        (folder / "logs" / f"flight_{number}.ulg").write_bytes(ulog(firmware, rows, number))
    (folder / "logs" / "flight_5.ulg").write_bytes(ulog(2, 900, 5)[:-3])
    batch(folder / "dataset", folder / "logs", "--analysis")
    before = Path.cwd()
    os.chdir(folder)
    try:
        blocks = re.findall(r"^```(sql|python)\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
        for language, code in blocks:
            for part in code.split(";") if language == "sql" else [code]:
                if not part.strip():
                    continue
                if language == "sql":
                    answer = duckdb.sql(part).fetchall()
                else:
                    names = {}
                    exec(part, names)
                    answer = names["found"].rows()
                # Flight 1 is jammed for a second, and the end of flight 5 is missing.
                if "gps_interference" in part or "motor_failure" in part:
                    expected = set()
                else:
                    expected = {"flight_1" if "jamming" in part else "flight_5"}
                found = {row[0] for row in answer}
                check(tally, "README", f"{language}: {answer}", found == expected)
        query = "SELECT DISTINCT log FROM '{}' WHERE gps_interference_s BETWEEN 0.8 AND 1.1"
        answer = duckdb.sql(query.format("dataset/_catalog*.parquet")).fetchall()
        check(tally, "README", f"the seconds of jamming: {answer}", answer == [("flight_1",)])
        check(tally, "README", "has examples", len(blocks) >= 2)
    finally:
        os.chdir(before)


main()
