"""Logs on web servers."""

import functools
import http.server
import json
import os
import subprocess
import threading
import time

from logs import logtool, tables
from plain import Plain
from server import Server

#: Transient faults: the first and the fourth request fail like this.
PASSING = ("reset", "503", "cut", "stalled", "slow", "silent")


def check(tally, files, folder):
    server = Server(folder / "logs")
    for kind, path in files.items():
        url = f"{server.url}/{path.name}?Signature=secret"
        tally.check(f"{kind}: info", same_info(path, url))
        tally.check(f"{kind}: tables", same_tables(path, url, folder / "web" / kind))
    for name, most in (("big bag", 40), ("big mcap", 8)):
        server.reset()
        logtool("info", f"{server.url}/{files[name].name}")
        tally.check(f"{name}: by its index", bounded(server, most, 3 << 20), traffic(server))
    server.reset()
    mcap = f"{server.url}/{files['big mcap'].name}"
    done = logtool("cat", mcap, "--topic", "/rare")
    texts = [] if done.returncode == 0 else [done.stderr.decode()]
    texts += bounded(server, 60, files["big mcap"].stat().st_size * 6 // 10)
    tally.check("big mcap: a topic in some of the chunks", texts, traffic(server))
    faults(tally, server, files, folder)
    changes(tally, server, files)
    no_ranges(tally, files, folder)
    plain(tally, files, folder)
    endless(tally, files, folder)


def same_info(path, url):
    here, there = (logtool("info", "--json", place) for place in (path, url))
    if b"secret" in there.stdout + there.stderr:
        yield f"the secret is told: {there.stdout} {there.stderr}"
    if here.returncode != there.returncode:
        yield f"status {there.returncode}: {there.stderr.decode()}"
        return
    here, there = (json.loads(done.stdout) for done in (here, there))
    for key in sorted(here.keys() | there.keys()):
        if here.get(key) != there.get(key) and key not in ("file", "path", "name"):
            yield f"{key}: {here.get(key)} and {there.get(key)}"


def same_tables(path, url, folder, *more):
    here, there = folder / "here", folder / "there"
    options = ("--format", "csv", "--force", "-o")
    ends = [
        logtool("convert", place, *options, out, *more)
        for place, out in ((path, here), (url, there))
    ]
    if ends[0].returncode != ends[1].returncode:
        yield f"status {ends[1].returncode}: {ends[1].stderr.decode()}"
        return
    here, there = tables(here), tables(there)
    for name in sorted(here.keys() | there.keys()):
        if here.get(name) != there.get(name):
            yield f"{name} differs"
    if not here:
        yield "there are no tables"


def bounded(server, requests, sent):
    if len(server.requests) > requests:
        yield f"{len(server.requests)} requests: {server.requests}"
    if server.sent > sent:
        yield f"{server.sent} bytes: {server.requests}"


def traffic(server):
    return f"{len(server.requests)} requests, {server.sent} bytes"


def faults(tally, server, files, folder):
    path = files["bag"]
    url = f"{server.url}/{path.name}"
    for fault in PASSING:
        server.reset()
        server.faults = [fault, None, None, fault]
        found = list(same_tables(path, url, folder / "faults" / fault, "--remote-timeout", "2"))
        tally.check(f"{fault}, and then no more", found, traffic(server))
    for fault, told in (
        ("reset", "tried 7 times"),
        ("503", "the server answers 503 Service Unavailable (tried 7 times)"),
        ("cut", "tried 7 times"),
    ):
        server.reset()
        server.always = fault
        out = folder / "never" / fault
        done = logtool("convert", url, "--format", "csv", "-o", out)
        text = done.stderr.decode()
        wrong = [f"status {done.returncode}"] * (done.returncode != 1)
        wrong += [text] * (told not in text or len(text.splitlines()) > 2)
        wrong += ["there are outputs"] * out.exists()
        tally.check(f"{fault}, always", wrong, text.strip())
    server.reset()
    done = logtool("info", f"{server.url}/none.bag")
    text = done.stderr.decode()
    fine = done.returncode == 1 and "there is no such object" in text
    tally.check("a log that is not there", [] if fine else [text], text.strip())


def changes(tally, server, files):
    """After the third request, the object is another: no mix of both is made."""
    for fault in (None, "ignore"):
        server.reset()
        url = f"{server.url}/{files['big bag'].name}"
        whole = server.answer

        def answer(handler, fault=fault, whole=whole):
            server.tag = "two" if len(server.requests) >= 3 else "one"
            server.faults = [fault]
            whole(handler)

        server.answer = answer
        done = logtool("cat", url)
        server.answer, server.tag = whole, "one"
        text = done.stderr.decode()
        fine = done.returncode == 1 and "the object was changed while" in text
        how = "and the server does not look" if fault else "and the server says so"
        tally.check(f"changed while it is read, {how}", [] if fine else [text], text.strip())


def no_ranges(tally, files, folder):
    """Python's server ignores ranges and always sends the whole file."""
    handler = functools.partial(Quiet, directory=folder / "logs")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for kind in ("bag", "ulog", "gzip"):
        url = f"http://127.0.0.1:{server.server_address[1]}/{files[kind].name}"
        found = list(same_tables(files[kind], url, folder / "whole" / kind))
        text = logtool("info", url).stderr.decode()
        if "the whole file" not in text:
            found.append(f"it is not told: {text}")
        tally.check(f"{kind}: from a server without ranges", found, text.strip())
    server.shutdown()


#: Servers that state little about a file, in the words of `Plain`.
PLAIN = (
    "chunked",
    "chunked nohead",
    "chunked gzip nohead",
    "close nohead",
    "close gzip",
    "chunked redirect nohead",
    "chunked ranges nohead",
    "close ranges",
)


def plain(tally, files, folder):
    """Each kind of log is the same from servers that state little about it."""
    for how in PLAIN:
        server = Plain(folder / "logs", how)
        name = how.replace(" ", "-")
        for kind in ("bag", "cut bag", "ulog", "pcap", "gzip", "big mcap"):
            url = f"{server.url}/{files[kind].name}?Signature=secret"
            found = list(same_info(files[kind], url))
            if kind != "big mcap":
                found += same_tables(files[kind], url, folder / "plain" / name / kind)
            tally.check(f"{kind}: from a server that is {how}", found)
        found = list(several(files, server, folder, name))
        tally.check(f"several logs: from a server that is {how}", found)
        server.http.shutdown()


def several(files, server, folder, name):
    """A dataset and a merged log of URLs are those of the files."""
    outputs = []
    for side, root in (("here", folder / "logs"), ("there", server.url)):
        out = folder / "several" / name / side
        out.mkdir(parents=True)
        logs = [f"{root}/{files[kind].name}" for kind in ("bag", "big bag")]
        for words in (
            ("batch", *logs, "--format", "csv", "-o", out / "set"),
            ("merge", *logs, "-o", out / "all.bag"),
        ):
            done = logtool(*words, "-q")
            if done.returncode:
                yield done.stderr.decode()
        outputs.append(tables(out))
    here, there = outputs
    # The state and the catalog name the logs.
    for path in sorted(here.keys() | there.keys()):
        if not path.startswith("set/_") and here.get(path) != there.get(path):
            yield f"{path} differs"
    if len(here) < 3:
        yield "there are no outputs"


def endless(tally, files, folder):
    """Answers that never end are errors, after a time that the options limit."""
    for how, told in (
        ("chunked drip", "the server sends less than 1000 bytes per second"),
        ("close drip nohead", "the server sends less than 1000 bytes per second"),
        ("chunked stall", "the response stalled after"),
        ("chunked gzip stall nohead", "the response stalled after"),
    ):
        server = Plain(folder / "logs", how)
        url = f"{server.url}/{files['ulog'].name}"
        start = time.monotonic()
        done = logtool("convert", url, "-o", folder / "endless", "--remote-timeout", "2")
        seconds = time.monotonic() - start
        text = done.stderr.decode()
        wrong = [f"status {done.returncode}: {text}"] * (done.returncode != 1 or told not in text)
        wrong += ["there are outputs"] * (folder / "endless").exists()
        # Attempts start within eight timeouts, and take up to two.
        wrong += [f"it took {seconds} s"] * (seconds > 30)
        tally.check(f"{how}: ends", wrong, f"{seconds:.0f} s: {text.strip()}")
        server.http.shutdown()
    flood(tally, files, folder)


def flood(tally, files, folder):
    """Bytes without end are an error where the files of the program are limited."""
    server = Plain(folder / "logs", "chunked flood nohead")
    url = f"{server.url}/{files['ulog'].name}"
    limited = ("sh", "-c", 'ulimit -f 100000; exec "$0" "$@"')
    command = [*limited, os.environ["LOGTOOL"], "info", url]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)
    text = done.stderr.decode()
    fine = done.returncode == 1 and "temporary file" in text and "`ulimit -f`" in text
    tally.check("chunked flood: ends at the limit", [] if fine else [text], text.strip())
    server.http.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def copyfile(self, source, outputfile):
        # A client that requested a range and receives the whole file closes the connection.
        try:
            super().copyfile(source, outputfile)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
