"""Runs logtool and parses its output."""

import csv
import io
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

# Done, and done with some of the input lost.
FINE = (0, 3)


def run(*arguments):
    """Runs logtool, and returns what it printed."""
    command = [os.environ["LOGTOOL"], "--quiet", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode not in FINE:
        raise RuntimeError(done.stderr.decode())
    return done.stdout.decode()


class Ours:
    """A log as logtool reads it."""

    def __init__(self, path):
        self.path = path
        self.refused = None
        self._folder = tempfile.TemporaryDirectory(prefix="conformance-")
        self._converted = {}
        try:
            self.info = json.loads(run("info", "--json", path))
        except RuntimeError as error:
            self.refused = str(error)

    def convert(self, to, *more):
        """The folder of the tables that `convert` writes."""
        key = (to, *more)
        if key not in self._converted:
            folder = Path(self._folder.name) / "-".join(key)
            run("convert", self.path, "-o", folder, "--format", to, *more)
            self._converted[key] = folder
        return self._converted[key]

    def rows(self):
        """How many records each topic has of which that is known, and that has some."""
        topics = self.info["topics"]
        counted = {(t["name"], t["instance"]): t["records"] for t in topics}
        return {key: count for key, count in counted.items() if count}

    def tables(self, layout="flat"):
        """The tables by the name and the instance of their topic, as their footers say."""
        paths = self.convert("parquet", "--layout", layout).glob("*.parquet")
        # Read one by one: pyarrow would take `=` in a path for a partition.
        tables = (pq.ParquetFile(path).read() for path in paths)
        return {topic(table.schema): table for table in tables}

    def parameters(self, *flags):
        """The rows of `params`, by the name of the parameter."""
        text = run("params", self.path, "--format", "csv", *flags)
        return {row["name"]: row for row in csv.DictReader(io.StringIO(text))}

    def messages(self):
        return [json.loads(line) for line in run("messages", "--json", self.path).splitlines()]


def topic(schema):
    metadata = schema.metadata
    return metadata[b"logtool.topic"].decode(), int(metadata[b"logtool.topic.instance"])


def read_arrow(path):
    with pa.ipc.open_file(path) as file:
        return file.read_all()
