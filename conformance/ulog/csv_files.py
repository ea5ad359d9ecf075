"""The CSV files, against those of ulog2csv: names, headers, values.

ulog2csv quotes nothing, has the numbers 0 and 1 where logtool has `false` and `true`,
and shows the padding inside nested types, which logtool does not.
"""

import csv
import tempfile
from pathlib import Path

import numpy as np

from values import MORE

BOOL = {"true", "false"}


def check(tally, ours, peer):
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        stopped = peer.write_csv(Path(folder))
        differences = [f"ulog2csv: {stopped}"] if stopped else []
        mine = {path.name: path for path in ours.convert("csv").glob("*.csv")}
        theirs = {path.name: path for path in Path(folder).glob("*.csv")}
        more = MORE | set(peer.left_out)
        for name in sorted(set(mine) | set(theirs)):
            if name not in mine:
                differences.append(f"{name}: only of ulog2csv")
            elif name in theirs:
                differences += [f"{name}: {text}" for text in compare(mine[name], theirs[name])]
            elif not any(f"_{topic}_" in name for topic in more):
                differences.append(f"{name}: only of logtool")
    tally.check("csv", differences, f"{len(theirs)} files")


def compare(mine, theirs):
    """Yields differences between two files."""
    with open(mine, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    their_header, *their_rows = theirs.read_text(encoding="utf-8").split("\n")[:-1]
    names = their_header.split(",")
    shown = [index for index, name in enumerate(names) if not is_padding(name)]
    expected = [names[index] for index in shown]
    if header == ["time", *expected]:
        yield "time: only of logtool"
        header, rows = header[1:], [row[1:] for row in rows]
    if header != expected:
        yield f"header {header}, not {expected}"
        return
    if len(rows) != len(their_rows):
        yield f"{len(rows)} rows, not {len(their_rows)}"
        return
    for number, (row, their_row) in enumerate(zip(rows, their_rows)):
        theirs = their_row.split(",")
        theirs = [theirs[i] for i in shown] if len(shown) < len(theirs) else theirs
        if len(theirs) != len(row):
            yield f"row {number}: {row}, not {their_row}"
            return
        for name, a, b in zip(header, row, theirs):
            if a != b and not same(a, b):
                yield f"{name}: row {number}: {a}, not {b}"
                return


def is_padding(name):
    return name.split(".")[-1].startswith("_padding")


def same(a, b):
    """Whether two texts are the same number, of whatever width; or the same truth."""
    if a in BOOL:
        return (a == "true") == (int(b) != 0)
    try:
        # Integers would have been the same text.
        is_integer = not set(a + b) & set(".eEnN")
        x, y = float(a), float(b)
    except ValueError:
        return False
    if is_integer:
        return False
    return (x == y and np.signbit(x) == np.signbit(y)) or (np.isnan(x) and np.isnan(y))
