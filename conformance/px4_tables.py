"""Compares the tables of PX4's names and fields with those of the research, made from PX4's messages:
every name of a value, flight modes among them, and every field, for each release from 1.13 to 1.18 and
the development branch.

The research (px4-constants.tsv, px4-fields.tsv) lies beside the samples. Without it, nothing is compared,
and a line says so.
"""

import os
import sys
from functools import cache
from pathlib import Path

TABLES = Path(__file__).parent.parent / "crates/ulog/src/labels/px4"
sys.path.insert(0, str(TABLES))
sys.dont_write_bytecode = True

import make_fields  # noqa: E402
import make_table  # noqa: E402


@cache
def table_of_fields():
    """The releases, as minor numbers, by topic and field of fields.txt."""
    table, topics = {}, []
    for line in make_table.read_lines(TABLES / "fields.txt"):
        if line.endswith(":"):
            topics = line[:-1].split()
            continue
        field, *words = line.split()
        bounds = [word.split("-") for word in words if "-" in word]
        minor = lambda text, default: int(text.split(".")[1]) if text else default  # noqa: E731
        ranges = [(minor(since, 0), minor(before, 99)) for since, before in bounds] or [(0, 99)]
        releases = {release for a, b in ranges for release in range(a, b)}
        for topic in topics:
            table.setdefault((topic, field), set()).update(releases)
    return table


def field_releases(topic, field):
    """The minor numbers of the releases in which `topic` has `field`."""
    return table_of_fields().get((topic, field), set())


def main():
    folder = Path(os.environ["LOGTOOL_SAMPLES"]).parent / "research"
    constants, fields = folder / "px4-constants.tsv", folder / "px4-fields.tsv"
    if not (constants.exists() and fields.exists()):
        print(f"MISSING  {constants.name}, {fields.name}: the tables of PX4 are not compared")
        return 0
    read = make_table.read_constants(constants)
    checks = {
        "names of values": (make_table.check(read), sum(len(own) for own in read.values())),
        "fields": (
            make_fields.check(changes := make_fields.read_changes(fields)),
            len(changes),
        ),
    }
    for name, (differences, count) in checks.items():
        for difference in differences[:20]:
            print(f"         {difference}")
        print(f"{'FAILED' if differences else 'ok':8} {name}: {len(differences)} differences; {count} lines")
    modes = [line for line in (TABLES / "names.txt").read_text().splitlines() if "nav_state" in line]
    if not any(line.startswith("vehicle_status:") for line in modes):
        print("FAILED   the table has no flight modes")
        return 1
    return int(any(differences for differences, _ in checks.values()))


if __name__ == "__main__":
    sys.exit(main())
