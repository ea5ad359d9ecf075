"""Compares what logtool and pyulog read of the same logs, all of it."""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

from checks import check_log, check_start
from labels import check_labels

ROOT = Path(__file__).resolve().parents[2]


def logs():
    """Every log there is: real ones, edge cases, our own."""
    samples = Path(os.environ["LOGTOOL_SAMPLES"]) / "ulog"
    found = sorted(samples.glob("*.ulg")) + sorted(samples.glob("edge/*.ulg"))
    if not found:
        print(f"MISSING  no samples in {samples}: set LOGTOOL_SAMPLES; only testdata/ is checked")
    ours = ROOT / "testdata"
    return found + sorted(ours.glob("*.ulg")) + sorted(ours.glob("damaged/*.ulg"))


def cases():
    """The reported cases, of which only the times are compared. For one of them pyulog takes
    a time that doubles with each nested type."""
    folder = Path(os.environ["LOGTOOL_SAMPLES"]) / "cases" / "ulog"
    return sorted(path for path in folder.glob("*.ulg") if path.stem != "49_exponential")


def main():
    paths = [Path(name) for name in sys.argv[1:]] or logs()
    passed = failed = 0
    starts = [] if sys.argv[1:] else cases()
    with ProcessPoolExecutor() as pool:
        others = chain(pool.map(check_start, starts), [check_labels(ROOT / "testdata")])
        for tally in chain(pool.map(check_log, paths), others):
            print("\n".join(tally.lines), flush=True)
            passed, failed = passed + tally.passed, failed + tally.failed
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
