"""Data sets in a bucket: `batch` creates the same objects there as files on disk, also when it is
killed, when requests fail, and when several runs share the work."""

import io
import json
import os
import re
import signal
import subprocess
import tempfile
import time

import pyarrow as pa
import pyarrow.parquet as pq
from logs import logtool
from ulog_maker import ulog

#: The journal and the lock of a dataset.
STATE = "_logtool/"
#: A file that was changed recently may change again: its digest is recorded.
LONG_AGO = 1_700_000_000
#: The lock of a run on another machine.
LOCK = {"run": "0", "host": "elsewhere", "pid": 7, "machine": "another", "beat": 1}


def check(tally, store, proxy, files, folder, faults=True):
    """Runs the checks of every store, and if `faults`, those that do not depend on the store."""
    folder = folder / "datasets" / store.scheme
    sources = logs_of(folder / "logs", files)
    here = folder / "here"
    # One of the logs is damaged.
    # A killed run leaves its temporary folder.
    temporary = folder / "temporary"
    temporary.mkdir()
    tmpdir = {"TMPDIR": os.environ.get("TMPDIR", tempfile.gettempdir())}
    os.environ["TMPDIR"] = str(temporary)
    done = logtool("batch", sources, "-o", here, "-q", "--catalog", "jsonl")
    assert done.returncode == 3, done.stderr.decode()
    whole = content(here)
    again(tally, store, sources, whole)
    refused(tally, store, sources)
    killed(tally, store, sources, whole, proxy)
    second(tally, store, sources)
    shards(tally, store, sources, here)
    others(tally, store, sources, folder)
    if faults:
        stale(tally, store, sources)
        interrupted(tally, store, sources, folder, proxy)
        lost(tally, store, sources, whole, proxy)
        failing(tally, store, sources, whole, proxy)
        unconditional(tally, store, sources, here)
    os.environ |= tmpdir


def logs_of(folder, files):
    """Creates logs of three firmwares, one with another type, and a log of each format."""
    folder.mkdir(parents=True)
    for number in range(12):
        (folder / f"flight_{number:02}.ulg").write_bytes(ulog(number % 3, 30 + number, number))
    for kind in ("bag", "cut bag", "ulog", "gzip", "pcap", "big bag"):
        os.link(files[kind], folder / files[kind].name)
    for path in folder.iterdir():
        os.utime(path, (LONG_AGO, LONG_AGO))
    return folder


def content(folder):
    """Returns the bytes of each file of a local dataset except the journal."""
    files = (path for path in folder.rglob("*") if path.is_file())
    named = ((path.relative_to(folder).as_posix(), path) for path in files)
    return {name: path.read_bytes() for name, path in named if not name.startswith(STATE)}


def keys(store, prefix):
    """The names of all objects in a folder."""
    return [key.removeprefix(f"{prefix}/") for key in store.keys(f"{prefix}/")]


def objects(store, prefix):
    """Returns the bytes of each object of a dataset except the journal."""
    names = (name for name in keys(store, prefix) if not name.startswith(STATE))
    return {name: store.get(f"{prefix}/{name}") for name in names}


def batch(store, sources, prefix, *more):
    """Runs to the end, and returns the exit status and the result of each log."""
    done = logtool("batch", sources, "-o", store.url(prefix), "--json", *more)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    outcomes = {event["log"]: event["outcome"] for event in events if event["event"] == "log"}
    return done, outcomes


def differing(there, here):
    """Returns differences between the catalogs and tables."""
    odd = sorted(set(there) ^ set(here))
    odd += [name for name in here if name in there and there[name] != here[name]]
    return [f"{len(odd)} of {len(here)} differ: {odd[:4]}"] if odd else []


def locks(store, prefix):
    return [name for name in keys(store, prefix) if name.startswith(f"{STATE}lock")]


def again(tally, store, sources, whole):
    """The objects equal local files; a second run does nothing; later runs process only changes."""
    done, outcomes = batch(store, sources, "set/one", "--catalog", "jsonl")
    text = done.stderr.decode()
    wrong = [text] * (done.returncode != 3) + differing(objects(store, "set/one"), whole)
    wrong += [f"a lock is left: {locks(store, 'set/one')}"] * bool(locks(store, "set/one"))
    tally.check("a dataset there is as one here", wrong, f"{len(whole)} objects")
    notes = keys(store, f"set/one/{STATE}journal")
    done, outcomes = batch(store, sources, "set/one", "--catalog", "jsonl")
    wrong = [str(outcomes)] * (set(outcomes.values()) != {"done_before"} or done.returncode != 3)
    wrong += differing(objects(store, "set/one"), whole)
    wrong += ["something is noted"] * (keys(store, f"set/one/{STATE}journal") != notes)
    tally.check("and once more: nothing is done", wrong)

    changed = sources / "flight_04.ulg"
    before = changed.read_bytes()
    # Its firmware changed: the table that contained it has no rows of it any more.
    changed.write_bytes(ulog(2, 77, 4))
    stale = [name for name in whole if "log=flight_04/" in name and name.startswith("sensor_gps/")]
    done, outcomes = batch(store, sources, "set/one")
    names = keys(store, "set/one")
    converted = [log for log, outcome in outcomes.items() if outcome == "converted"]
    wrong = [str(converted)] * (converted != ["flight_04"])
    wrong += ["it was in no table"] * (len(stale) != 1)
    wrong += ["it is there still"] * any(name in names for name in stale)
    own = [name for name in names if re.match(r"sensor_gps~\w+/log=flight_04/", name)]
    wrong += ["it is not in the other table"] * (len(own) != 1)
    tally.check("a log that changed has no objects of before", wrong, f"{stale} → {own}")
    changed.write_bytes(before)
    os.utime(changed, (LONG_AGO, LONG_AGO))
    batch(store, sources, "set/one", "--catalog", "jsonl")
    wrong = differing(objects(store, "set/one"), whole)
    tally.check("and as it was before, all is as it was", wrong)

    gone = next(name for name in whole if name.startswith("battery_status/"))
    store.remove(f"set/one/{gone}")
    done, outcomes = batch(store, sources, "set/one")
    wrong = [str(outcomes)] * (list(outcomes.values()).count("converted") != 1)
    wrong += ["it is not"] * (gone not in keys(store, "set/one"))
    tally.check("an object that is missing is made again", wrong)
    done, outcomes = batch(store, sources / "flight_05.ulg", "set/one", "--topic", "battery_status")
    left = [name.split("/")[0] for name in keys(store, "set/one") if "log=flight_05/" in name]
    tally.check("other options make other objects", [str(left)] * (left != ["battery_status"]))


def refused(tally, store, sources):
    """Invalid requests are reported before anything is written."""
    store.put("theirs/notes.txt", b"x")
    cases = [
        (store.url("theirs"), 2, "is not a dataset of `logtool batch`: it contains notes.txt"),
        ("http://127.0.0.1:9/set", 2, "a web server cannot be written to"),
        (f"{store.scheme}://no-such-bucket/set", 1, "no-such-bucket"),
    ]
    for url, status, told in cases:
        done = logtool("batch", sources, "-o", url)
        text = done.stderr.decode()
        wrong = [text] * (done.returncode != status or told not in text)
        tally.check(f"no dataset in {url.split('/')[-2]}", wrong, text.strip())
    tally.check("what others have stays", [] if keys(store, "theirs") == ["notes.txt"] else ["changed"])


def start(store, sources, prefix, *more):
    command = [os.environ["LOGTOOL"], "batch", str(sources), "-o", store.url(prefix), "--json", *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def killed(tally, store, sources, whole, proxy):
    """Killed repeatedly during uploads: objects are complete, and logs that were reported as done
    are not processed again. The lock of a dead process is taken over at once."""
    halves, told, twice, kills = [], set(), [], 0
    with proxy.between(store):
        for after in (9, 30, 52, 75):
            proxy.fail()
            process = start(store, sources, "set/killed", "--catalog", "jsonl")
            while len(proxy.writes) < after and process.poll() is None:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            out, _ = process.communicate()
            kills += process.returncode == -signal.SIGKILL
            lines = [line for line in out.splitlines(keepends=True) if line.endswith(b"\n")]
            for event in map(json.loads, lines):
                if event.get("outcome") == "converted":
                    twice += [event["log"]] * (event["log"] in told)
                    told.add(event["log"])
            there = objects(store, "set/killed")
            halves += [name for name in there if there[name] != whole.get(name)]
    done, outcomes = batch(store, sources, "set/killed", "--catalog", "jsonl")
    twice += [log for log in told if outcomes[log] == "converted"]
    wrong = [f"half: {halves[:3]}"] * bool(halves) + [f"twice: {twice}"] * bool(twice)
    wrong += [done.stderr.decode()] * (done.returncode != 3)
    wrong += differing(objects(store, "set/killed"), whole)
    note = f"{kills} times, {len(told)} logs done by then"
    tally.check("killed and resumed, a dataset is as one here", wrong, note)


def second(tally, store, sources):
    """Another machine holds the lock, and keeps renewing it."""
    key = f"set/killed/{STATE}lock"
    store.put(key, json.dumps(LOCK).encode())
    process = start(store, sources, "set/killed", "--catalog", "jsonl")
    time.sleep(3)
    store.put(key, json.dumps(LOCK | {"beat": 2}).encode())
    _, text = process.communicate(timeout=60)
    text = text.decode()
    fine = process.returncode == 1 and "another run is writing the dataset" in text
    tally.check("of two runs, the second is refused", [] if fine and "process 7 of elsewhere" in text else [text], text.strip())
    store.remove(key)


def stale(tally, store, sources):
    """The lock has expired, because it was not renewed."""
    store.put(f"set/killed/{STATE}lock", json.dumps(LOCK).encode())
    start_time = time.monotonic()
    done, outcomes = batch(store, sources, "set/killed", "--catalog", "jsonl")
    took = time.monotonic() - start_time
    wrong = [done.stderr.decode()] * (done.returncode != 3) + [f"{took:.0f} s"] * (not 40 < took < 90)
    wrong += locks(store, "set/killed")
    tally.check("a lock that nobody writes any more is taken", wrong, f"after {took:.0f} s")


def interrupted(tally, store, sources, folder, proxy):
    """SIGTERM: nothing is left on this machine."""
    temporary = folder / "interrupted"
    temporary.mkdir()
    before, os.environ["TMPDIR"] = os.environ["TMPDIR"], str(temporary)
    try:
        with proxy.between(store):
            process = start(store, sources, "set/interrupted")
            while len(proxy.writes) < 25 and process.poll() is None:
                time.sleep(0.005)
            process.terminate()
            process.communicate()
    finally:
        os.environ["TMPDIR"] = before
    left = [str(path) for path in temporary.rglob("*")]
    wrong = [f"status {process.returncode}"] * (process.returncode != 130) + left
    tally.check("of what was interrupted, nothing is left here", wrong)


def lost(tally, store, sources, whole, proxy):
    """A run ends if another run has taken over its expired lock."""
    prefix = "set/lost"
    with proxy.between(store):
        proxy.fail(*[None] * 20, *["silent"] * 4, spared="lock")
        process = start(store, sources, prefix)
        while len(proxy.writes) < 22 and process.poll() is None:
            time.sleep(0.01)
        key = f"{prefix}/{STATE}lock"
        store.put(key, json.dumps(LOCK).encode())
        _, text = process.communicate(timeout=120)
    text = text.decode()
    wrong = [text] * (process.returncode != 1 or "another run has taken over the dataset" not in text)
    there = objects(store, prefix)
    wrong += [name for name in there if there[name] != whole.get(name)]
    wrong += ["it removed the other's lock"] * (locks(store, prefix) != [f"{STATE}lock"])
    tally.check("a run whose lock was taken ends", wrong, f"{len(there)} objects")
    store.remove(key)
    done, _ = batch(store, sources, prefix, "--catalog", "jsonl")
    wrong = [done.stderr.decode()] * (done.returncode != 3)
    tally.check("and the next goes on", wrong + differing(objects(store, prefix), whole))


def failing(tally, store, sources, whole, proxy):
    """Failed requests are retried, then reported, and no partial object is left."""
    with proxy.between(store):
        for fault in ("reset", "503", "lost"):
            faults = [None, None, fault, None, None, fault] + [None, None, None, fault] * 8
            proxy.fail(*faults)
            done, _ = batch(store, sources, f"set/{fault}", "--catalog", "jsonl")
            wrong = [done.stderr.decode()] * (done.returncode != 3)
            wrong += differing(objects(store, f"set/{fault}"), whole)
            tally.check(f"a dataset, {fault} now and then", wrong)
        for writes in (0, 40):
            prefix = f"set/broken-{writes}"
            proxy.fail(*[None] * writes, always="503")
            started = time.monotonic()
            done, outcomes = batch(store, sources, prefix, "--catalog", "jsonl")
            took = time.monotonic() - started
            text = done.stderr.decode()
            wrong = [text] * (done.returncode != 1 or "503" not in text)
            there = objects(store, prefix)
            wrong += [name for name in there if there[name] != whole.get(name)]
            note = f"{took:.0f} s, {len(there)} objects: {text.strip().splitlines()[0]}"
            tally.check(f"a dataset, 503 always, after {writes} writes", wrong, note)
            proxy.fail()
            done, _ = batch(store, sources, prefix, "--catalog", "jsonl")
            wrong = [done.stderr.decode()] * (done.returncode != 3)
            wrong += differing(objects(store, prefix), whole)
            tally.check(f"and then no more, after {writes} writes", wrong)


def shards(tally, store, sources, here):
    """Three simultaneous runs have the same result as one, and agree on the types of tables."""
    runs = [start(store, sources, "set/shards", "--shard", f"{index}/3") for index in range(3)]
    texts = [run.communicate()[1].decode() for run in runs]
    wrong = [text for run, text in zip(runs, texts) if run.returncode not in (0, 3)]
    there, whole = objects(store, "set/shards"), content(here)
    catalogs = sorted(name for name in there if name.startswith("_catalog"))
    wrong += [str(catalogs)] * (catalogs != [f"_catalog-{index}-of-3.parquet" for index in range(3)])
    # The type of the first table is that of the run that creates it first.
    plain = lambda name: re.sub(r"^(sensor_gps)~\w+/", r"\1/", name)
    there = {plain(name): len(data) for name, data in there.items() if name not in catalogs}
    whole = {plain(name): len(data) for name, data in whole.items() if not name.startswith("_catalog")}
    odd = sorted(set(there) ^ set(whole)) + [name for name in whole if there.get(name) != whole[name]]
    wrong += [f"differ: {odd[:4]}"] * bool(odd)
    tally.check("three shards at once do what one run does", wrong, f"{len(there)} objects")
    wrong = tables_of_one_type(store, "set/shards")
    tally.check("and no table has two types", wrong)
    done, outcomes = batch(store, sources, "set/shards", "--shard", "1/3")
    wrong = [done.stderr.decode()] * (set(outcomes.values()) != {"done_before"})
    tally.check("a shard once more: nothing is done", wrong)
    batch(store, sources, "set/shards", "--shard", "1/2")
    logs = {json.loads(line)["source"] for line in (here / "_catalog.jsonl").read_text().splitlines()}
    catalogs = catalogs_of(store, "set/shards")
    wrong = [f"{log}: {catalogs.get(log)}" for log in logs if len(catalogs.get(log, [])) != 1]
    tally.check("with another number of shards each log is in one catalog", wrong, f"{len(logs)} logs")
    done, outcomes = batch(store, sources, "set/shards")
    catalogs = [name for name in keys(store, "set/shards") if name.startswith("_catalog")]
    wrong = [str(outcomes)] * (set(outcomes.values()) != {"done_before"})
    wrong += [str(catalogs)] * (catalogs != ["_catalog.parquet"])
    tally.check("one run takes over from shards", wrong)


def catalogs_of(store, prefix):
    """Returns, for each log, the catalogs that list it."""
    found = {}
    for name, data in objects(store, prefix).items():
        if name.startswith("_catalog"):
            for log in set(pq.read_table(io.BytesIO(data), columns=["source"])["source"].to_pylist()):
                found.setdefault(log, []).append(name)
    return found


def unconditional(tally, store, sources, here):
    """A store without conditional writes."""
    environment = {"AWS_CONDITIONAL_PUT": "disabled"}
    one = ("batch", sources, "-o", store.url("set/plain"))
    done = logtool(*one, "--shard", "0/2", env=environment)
    text = done.stderr.decode()
    fine = done.returncode == 2 and "runs cannot share the work" in text and not keys(store, "set/plain")
    tally.check("a store without conditions has no shards", [] if fine else [text], text.strip())
    done = logtool(*one, env=environment)
    text = done.stderr.decode()
    there = {name: data for name, data in objects(store, "set/plain").items()}
    wrong = [text] * ("cannot be locked" not in text)
    here_all = {name: data for name, data in content(here).items() if name != "_catalog.jsonl"}
    tally.check("but a run without", wrong + differing(there, here_all))


def tables_of_one_type(store, prefix):
    """Reads the footers of all tables: the columns that are numbers in one file of a table
    and something else in another."""

    def kind(of):
        is_number = pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_boolean(of)
        return "number" if is_number else str(of)

    types, wrong = {}, []
    for name, data in objects(store, prefix).items():
        if name.startswith("_catalog"):
            continue
        for field in pq.read_schema(io.BytesIO(data)):
            known = types.setdefault((name.split("/")[0], field.name), kind(field.type))
            if known != kind(field.type):
                wrong.append(f"{name}: {field}")
    return wrong


def others(tally, store, sources, folder):
    """Logs of logs, and a bucket that is read and written."""
    here = folder / "mcaps"
    logtool("batch", sources / "flight_00.ulg", sources / "flight_01.ulg", "-o", here, "--format", "mcap", "-q")
    for path in ("flight_00.ulg", "flight_01.ulg"):
        store.put(f"both/{path}", (sources / path).read_bytes())
    time.sleep(3)  # what was changed just now may be changed again
    first = logtool("batch", store.url("both/"), "-o", store.url("both/set"), "--format", "mcap", "--json")
    second = logtool("batch", store.url("both/"), "-o", store.url("both/set"), "--format", "mcap", "--json")
    names = [name for name in keys(store, "both/set") if not name.startswith(STATE)]
    wanted = sorted(path.name for path in here.iterdir() if path.is_file())
    end = json.loads(second.stdout.splitlines()[-1])
    wrong = [first.stderr.decode()] * (first.returncode != 0) + [str(names)] * (sorted(names) != wanted)
    wrong += [str(end)] * (end["converted"] != 0 or end["done_before"] != 2 or end["no_logs"] != 0)
    tally.check("logs of logs, beside those that they are of", wrong, str(names))
