"""Reads bags with logtool."""

import os
import subprocess
from functools import cached_property
from typing import NamedTuple

from logtool import FINE, Ours

PACKED = {"none", "bz2", "lz4"}


class Message(NamedTuple):
    connection: int
    topic: str
    time: int  # nanoseconds
    payload: bytes


class Bag(Ours):
    """A bag as logtool reads it."""

    @cached_property
    def messages(self):
        """All messages in the order of the file, by the crate's example of that name."""
        return list(read_messages(self.path))

    @cached_property
    def lines(self):
        """Returns the output of `cat`: records that cannot be decoded as their payload, and
        infinities, which JSON does not have, as 1e999."""
        command = [os.environ["LOGTOOL"], "cat", "--json", "--keep-infinities", str(self.path)]
        done = subprocess.run(command, capture_output=True, check=False)
        return done.stdout.decode().splitlines() if done.returncode in FINE else []

    def is_damaged(self):
        return bool(self.info["damage"]) or not self.info["metadata"].get("indexed", False)

    def is_locked(self):
        """Returns whether it is encrypted, or has an unknown compression."""
        metadata = self.info["metadata"]
        packed = metadata.get("chunks", {}).get("by_compression", {})
        return bool(metadata.get("encryption")) or bool(set(packed) - PACKED)

    def logged(self):
        """The topics that are in the bag, as `info` has them, by what they are called,
        the type and its MD5 sum."""
        topics = self.info["topics"]
        return {
            (t["name"], t["type_name"], t["metadata"]["md5sum"]): t
            for t in topics
            if t["origin"] == "logged"
        }

    def connections(self):
        """The connections as `info` has them, by their number."""
        return {c["id"]: c for c in self.info.get("streams", [])}


def read_messages(path):
    done = subprocess.run([os.environ["MESSAGES"], str(path)], capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    for line in done.stdout.splitlines():
        time, connection, rest = line.split(b" ", 2)
        topic, payload = rest.rsplit(b" ", 1)
        yield Message(int(connection), topic.decode(), int(time), bytes.fromhex(payload.decode()))
