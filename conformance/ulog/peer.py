"""Reads logs with pyulog."""

import contextlib
import io
import re

import numpy as np
from pyulog import ULog
from pyulog.px4_events import PX4Events
from pyulog.ulog2csv import convert_ulog2csv

ARRAY = re.compile(r"(.*)\[(\d+)\]")


class Peer:
    """A log as pyulog reads it; some topics may be left out."""

    def __init__(self, path, left_out=()):
        self.path = path
        self.left_out = left_out
        self.error = self.log = None
        try:
            self.log = read(path, self._others())
        except Exception as error:  # whatever it is that stops it
            self.error = f"{type(error).__name__}: {error}"

    def _others(self):
        """The topics to read, where some are left out: pyulog takes a list of those."""
        if not self.left_out:
            return None
        return sorted(subscribed(self.path) - set(self.left_out))

    def not_needed(self, ours):
        """Checks that pyulog cannot read the topics that are left out."""
        try:
            rows = {(d.name, d.multi_id): row_count(d) for d in read(self.path).data_list}
        except Exception:
            return []
        logged = {t["name"] for t in ours.info["topics"] if t["origin"] == "logged"}
        expected = {key: count for key, count in ours.rows().items() if key[0] in logged}
        return ["pyulog reads everything: take it off the list"] if rows == expected else []

    def topics(self):
        """Its topics by name and instance; the columns by their name, in order."""
        return {(d.name, d.multi_id): columns(d) for d in self.log.data_list}

    def write_csv(self, folder):
        """Writes its CSV files, and returns the error that ended it, or `None`."""
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                topics = ",".join(self._others() or [])
                convert_ulog2csv(str(self.path), topics, str(folder), ",", None, None, True)
            except Exception as error:
                return f"{type(error).__name__}: {error}"
        return None

    def events(self):
        """The events in words: (microseconds, level, text)."""
        events = PX4Events()
        # Without definitions in the log pyulog would fetch some from the network.
        events.set_default_json_definitions_cb(lambda _: None)
        with contextlib.redirect_stdout(io.StringIO()):
            return events.get_logged_events(self.log)


def read(path, topics=None):
    with contextlib.redirect_stdout(io.StringIO()):
        return ULog(str(path), topics)


def decoded(text):
    """Bytes as a text: UTF-8, or else Latin-1."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1")


def row_count(data):
    return len(next(iter(data.data.values())))


def subscribed(path):
    """The names in the subscriptions of a sound log."""
    log, at, names = path.read_bytes(), 16, set()
    while at + 3 <= len(log):
        size = int.from_bytes(log[at : at + 2], "little")
        if log[at + 2] == ord("A"):
            names.add(log[at + 6 : at + 3 + size].decode())
        at += 3 + size
    return names


def columns(data):
    """The columns that a table of `data` should have: arrays of numbers, lists of texts.

    Fields in the order of the log but for the timestamp, which comes first; `char` is
    text up to the first NUL, `bool` is whether the byte is not 0.
    """
    found, texts = {}, {}
    for field in data.field_data:
        name, values = field.field_name, data.data[field.field_name]
        if name.split(".")[-1].startswith("_padding"):
            continue
        if field.type_str == "char":
            array = ARRAY.fullmatch(name)
            name = array.group(1) if array else name
            texts.setdefault(name, []).append(values.view(np.uint8))
            found[name] = None
        elif field.type_str == "bool":
            found[name] = values != 0
        else:
            found[name] = values
    for name, characters in texts.items():
        rows = np.stack(characters, axis=1)
        cut = (row.tobytes().split(b"\0")[0] for row in rows)
        found[name] = [decoded(text) for text in cut]
    if "timestamp" in found:
        found = {"timestamp": found.pop("timestamp"), **found}
    return found
