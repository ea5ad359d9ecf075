"""Logs and outputs in a bucket of any store."""

import json

from logs import logtool, tables
from web import same_info, same_tables


def fill(store, files):
    for path in files.values():
        store.put(f"drives/day 1/{path.name}", path.read_bytes())


def inputs(tally, store, files, folder):
    for kind in ("bag", "ulog", "gzip", "pcap", "big mcap"):
        url = store.url(f"drives/day 1/{files[kind].name}")
        tally.check(f"{kind}: info", same_info(files[kind], url))
        tally.check(f"{kind}: tables", same_tables(files[kind], url, folder / store.scheme / kind))
    for what, url in (("object", store.url("none.bag")), ("bucket", f"{store.scheme}://none/none.bag")):
        done = logtool("info", url)
        text = done.stderr.decode()
        fine = done.returncode == 1 and "there is no such" in text
        tally.check(f"a log in no {what}", [] if fine else [text], text.strip())


def outputs(tally, store, files, folder):
    here = folder / "out" / store.scheme / "here"
    logtool("convert", files["ulog"], "--format", "parquet", "-o", here)
    done = logtool("convert", files["ulog"], "--format", "parquet", "-o", store.url("out/a"))
    there = {key.removeprefix("out/a/"): store.get(key) for key in store.keys("out/a/")}
    wrong = [done.stderr.decode()] * (done.returncode != 0)
    wrong += ["the objects are not the files"] * (there != tables(here) or not there)
    tally.check("tables as objects", wrong, f"{len(there)} objects")

    # More than one part.
    here = folder / "out" / store.scheme / "big.mcap"
    url = store.url("out/big.mcap")
    for command in ("filter", "repair"):
        logtool(command, files["big mcap"], "-o", here, "--force")
        done = logtool(command, files["big mcap"], "-o", url, "--force")
        wrong = [done.stderr.decode()] * (done.returncode != 0)
        wrong += ["the object is not the file"] * (store.get("out/big.mcap") != here.read_bytes())
        tally.check(f"{command} in parts", wrong, f"{here.stat().st_size} bytes")
    before = store.get("out/big.mcap")
    for source in ("big mcap", "bag"):
        to = ("convert", "--format", "mcap") if source == "bag" else ("filter",)
        done = logtool(to[0], files[source], *to[1:], "-o", url)
        text = done.stderr.decode()
        wrong = [text] * (done.returncode != 1 or "exists already" not in text)
        wrong += ["it is replaced"] * (store.get("out/big.mcap") != before)
        tally.check(f"{source} over what is there", wrong, text.strip())

    url = store.url("drives/day 1")
    two = [f"{url}/{files[kind].name}" for kind in ("bag", "big mcap")]
    done = logtool("merge", *two, "-o", store.url("out/merged.mcap"))
    here = folder / "out" / store.scheme / "merged.mcap"
    logtool("merge", files["bag"], files["big mcap"], "-o", here)
    wrong = [done.stderr.decode()] * (done.returncode != 0)
    # The files differ in their provenance.
    texts = [logtool("cat", log).stdout for log in (here, store.url("out/merged.mcap"))]
    wrong += ["it differs"] * (texts[0] != texts[1] or not texts[0])
    tally.check("logs merged into one there", wrong)

    # A failure leaves nothing.
    done = logtool("convert", files["cut bag"], "--strict", "-o", store.url("none"))
    wrong = [f"status {done.returncode}"] * (done.returncode != 1) + store.keys("none")
    tally.check("of what fails, nothing is there", wrong)
    tally.check("no part of an upload is left", store.unfinished())


def failing(tally, store, proxy, files, folder, faults):
    """Outputs with failing requests: short ones are sent at once, long ones in parts."""
    with proxy.between(store):
        for size, log in (("short", "bag"), ("long", "big mcap")):
            here = folder / "out" / store.scheme / f"{size}.log"
            logtool("filter", files[log], "-o", here, "--force")
            for fault in faults:
                key = f"failing/{size}-{fault}"
                proxy.fail(fault, None, fault)
                options = ("--remote-timeout", "3")
                done = logtool("filter", files[log], "-o", store.url(key), *options)
                text = done.stderr.decode()
                wrong = [text] * (done.returncode != 0) + [str(proxy.writes)] * bool(proxy.faults and size == "long")
                wrong += ["it differs"] * (not wrong and store.get(key) != here.read_bytes())
                tally.check(f"a {size} output, {fault}, and then no more", wrong)
            key = f"failing/{size}-always"
            for fault in ("reset", "503"):
                proxy.fail(always=fault)
                done = logtool("filter", files[log], "-o", store.url(key))
                text = done.stderr.decode()
                wrong = [text] * (done.returncode != 1) + ["it is there"] * (store.get(key) is not None)
                tally.check(f"a {size} output, {fault}, always", wrong, text.strip())


def folders(tally, store, files):
    """A folder stands for the logs in it, in the order of their names."""
    store.put("drives/notes.txt", b"no log")
    done = logtool("info", "--json", store.url("drives/"))
    reports = [json.loads(line) for line in done.stdout.decode().splitlines()]
    bytes_ = [report["bytes"] for report in reports if report["format"] != "ulog"]
    logs = sorted(path.name for path in files.values())
    sizes = [(files_by_name(files)[name].stat().st_size, name) for name in logs]
    wanted = [size for size, name in sizes if ".ulg" not in name]
    wrong = [done.stderr.decode()] * (len(reports) != len(logs) or bytes_ != wanted)
    tally.check("the logs in a folder", wrong, f"{len(reports)} logs")
    for prefix, told in (("none/", "the folder is empty"), ("out/a/", "none with the extension")):
        done = logtool("info", store.url(prefix))
        text = done.stderr.decode()
        fine = done.returncode == 1 and told in text
        tally.check(f"a folder without logs, {prefix}", [] if fine else [text], text.strip())


def files_by_name(files):
    return {path.name: path for path in files.values()}
