"""The counts of EXPECT.tsv: how many messages each edge case has, read as well as can be."""

import csv
import os
from pathlib import Path

# Bags with more readable messages than the table states, or intentionally fewer.
OTHERWISE = {
    # The last chunk lacks only its checksum.
    "active_unterminated_bz2.bag": 100,
    # One message is broken; the next, number 38, is as it was.
    "corrupt_chunk2_none.bag": 99,
    # Only the length of a chunk is wrong: its messages are there.
    "data_len_huge.bag": 100,
    # A message of 300 MB exceeds the limit for decompression.
    "bz2_bomb.bag": 0,
}


def expected():
    path = Path(os.environ["LOGTOOL_SAMPLES"]) / "rosbag" / "edge" / "EXPECT.tsv"
    if not path.exists():
        return {}
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["file"]: int(row["recoverable_msgs"]) for row in rows}


def check(tally, ours):
    """Returns the output of `cat`, including messages that cannot be decoded."""
    if ours.path.parent.name != "edge":
        if ours.refused:
            tally.check("refused", [ours.refused.splitlines()[0]])
        return
    wanted = OTHERWISE.get(ours.path.name, expected().get(ours.path.name))
    if wanted is None:
        return
    found = len(ours.lines)
    differences = [] if found == wanted else [f"{found} messages, not {wanted}"]
    tally.check("EXPECT.tsv", differences, f"{found}")


def not_there(paths):
    """Returns the rows of EXPECT.tsv without a bag."""
    return sorted(set(expected()) - {path.name for path in paths})
