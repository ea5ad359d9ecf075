"""Compares what logtool reads with the JSON of the official MCAP conformance suite.

Each file of the suite has a JSON file next to it that lists its records. They are compared with
`cat`, with `info`, and with the records that the Python package mcap reads from the outputs of
`filter` and `repair`. All files are valid, so `check` may not find an error, and `--strict` no damage.

Usage: suite.py [MCAP...]
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

from mcap import records
from mcap.stream_reader import StreamReader
from tally import Tally

# The number of files that the suite has.
FILES = 416

# The indexes are not compared: a new file has its own.
COMPARED = ("Header", "Schema", "Channel", "Message", "Attachment", "Metadata")


def files():
    """The MCAP files of the suite, if they are among the samples."""
    return sorted((Path(os.environ["LOGTOOL_SAMPLES"]) / "cases/mcap-conformance").glob("*/*.mcap"))


def expected(path):
    """The records in the JSON file next to `path`: the kind, and the fields."""
    listed = json.loads(path.with_suffix(".json").read_text())["records"]
    return [(record["type"], {name: exact(value) for name, value in record["fields"]}) for record in listed]


def exact(value):
    """A value of the JSON, which writes bytes as a list of numbers, and numbers as strings."""
    if isinstance(value, list):
        return bytes(int(byte) for byte in value)
    if isinstance(value, dict):
        return {key: str(text) for key, text in value.items()}
    return str(value)


def without_repetition(listed):
    """The compared records, each declaration once: a summary may repeat them."""
    found = []
    for kind, fields in listed:
        is_new = kind not in ("Schema", "Channel") or (kind, fields) not in found
        if kind in COMPARED and is_new:
            found.append((kind, fields))
    return found


def in_file(path):
    """The records of an MCAP file as the package mcap reads them."""
    found = []
    with open(path, "rb") as file:
        for record in StreamReader(file, validate_crcs=True).records:
            fields = dict(vars(record))
            match record:
                case records.Attachment():
                    fields.pop("crc", None)
                case records.Header():
                    fields.pop("library")
                case records.Schema() | records.Channel() | records.Message() | records.Metadata():
                    pass
                case _:
                    continue
            fields = {name: plain(value) for name, value in fields.items()}
            if not fields.get("name", "").startswith("provenance."):  # the record that logtool adds to its outputs
                found.append((type(record).__name__, fields))
    return found


def plain(value):
    """A value of the package mcap as `exact` returns one."""
    return value if isinstance(value, (bytes, dict)) else str(value)


def logtool(*arguments):
    """The exit status of logtool, what it printed, and its warnings."""
    done = subprocess.run([os.environ["LOGTOOL"], *map(str, arguments)], capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def comparable(record):
    """A record as text, its fields in a fixed order."""
    kind, *rest = record
    fields = [sorted(part.items()) if isinstance(part, dict) else part for part in rest]
    return repr((kind, *fields))


def differences(ours, theirs):
    """The records that only one of two lists has."""
    ours, theirs = (Counter(map(comparable, listed)) for listed in (ours, theirs))
    yield from (f"unexpected: {record}" for record in (ours - theirs).elements())
    yield from (f"missing: {record}" for record in (theirs - ours).elements())


def compare_cat(path, wanted):
    """The messages of `cat` against those that the suite lists, in their order."""
    topics = {fields["id"]: fields["topic"] for kind, fields in wanted if kind == "Channel"}
    theirs = [
        (topics[fields["channel_id"]], int(fields["log_time"]), fields["data"].hex())
        for kind, fields in wanted
        if kind == "Message"
    ]
    status, printed, warnings = logtool("cat", path)
    lines = (json.loads(line, parse_float=Decimal) for line in printed.splitlines())
    ours = [(line["topic"], line["time"], line["data"]["payload"]) for line in lines]
    if status != 0 or "damaged" in warnings:
        yield f"exit status {status}: {warnings}"
    if ours != theirs:
        yield from differences(ours, theirs)


def compare_info(path, wanted):
    """The counts of `info`, and its channels."""
    status, printed, warnings = logtool("info", "--json", path)
    if status != 0 or warnings:
        yield f"exit status {status}: {warnings}"
    info = json.loads(printed)
    kinds = Counter(kind for kind, _ in wanted)
    if info["records"] != kinds["Message"]:
        yield f"{info['records']} messages, not {kinds['Message']}"
    if info["metadata"]["attachments"] != kinds["Attachment"]:
        yield f"{info['metadata']['attachments']} attachments, not {kinds['Attachment']}"
    schemas = {fields["id"]: fields["name"] for kind, fields in wanted if kind == "Schema"}
    channels = [
        (fields["id"], fields["topic"], schemas.get(fields["schema_id"], ""))
        for kind, fields in wanted
        if kind == "Channel"
    ]
    ours = [(str(stream["id"]), stream["topic"], stream["type"]) for stream in info["streams"]]
    yield from differences(ours, channels)


def compare_copy(command, path, wanted, folder):
    """The records of the file that `filter` or `repair` writes."""
    new = Path(folder) / f"{command}.mcap"
    status, _, warnings = logtool(command, path, "-o", new, "--force")
    if status != 0 or "damaged" in warnings:
        yield f"exit status {status}: {warnings}"
        return
    theirs = [
        (kind, {name: value for name, value in fields.items() if (kind, name) != ("Header", "library")})
        for kind, fields in wanted
    ]
    yield from differences(without_repetition(in_file(new)), theirs)


def check_file(path, folder, tally):
    wanted = without_repetition(expected(path))
    tally.check("cat", compare_cat(path, wanted))
    tally.check("info", compare_info(path, wanted))
    for command in ("filter", "repair"):
        tally.check(command, compare_copy(command, path, wanted, folder))
    for command in ("check", "cat"):
        strict = ["--strict"] if command == "cat" else []
        status, printed, warnings = logtool(command, *strict, path)
        found = [] if status == 0 else [f"exit status {status}: {printed}{warnings}"]
        tally.check(" ".join([command, *strict]), found)


def main():
    paths = [Path(path) for path in sys.argv[1:]] or files()
    if not paths:
        print("no files of the MCAP conformance suite: set LOGTOOL_SAMPLES; none are compared")
    sound = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            tally = Tally(path.name, [])
            check_file(path, folder, tally)
            sound += tally.failed == 0
            if tally.failed:
                print("\n".join(line for line in tally.lines if not line.startswith("ok")))
    print(f"MCAP conformance suite: {sound} of {len(paths)} files agree")
    is_all = len(sys.argv) > 1 or not paths or len(paths) == FILES
    sys.exit(sound < len(paths) or not is_all)


main()
