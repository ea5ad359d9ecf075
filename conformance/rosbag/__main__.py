"""Compares what logtool, rosbags and ROS itself read of the same bags, all of it."""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import counts
import ros
from checks import check_bag

ROOT = Path(__file__).resolve().parents[2]


def bags():
    """Every bag there is: real ones, edge cases, our own."""
    samples = Path(os.environ["LOGTOOL_SAMPLES"]) / "rosbag"
    found = [*samples.glob("*.bag"), *samples.glob("*.bag.active"), *samples.glob("edge/*.bag")]
    if not found:
        print(f"MISSING  no samples in {samples}: set LOGTOOL_SAMPLES; only testdata/ is checked")
    ours = ROOT / "testdata"
    found += [*ours.glob("*.bag"), *ours.glob("damaged/*.bag")]
    # The longest first, so that no core waits for one at the end.
    return sorted(found, key=lambda path: (-path.stat().st_size, path))


def main():
    paths = [Path(name) for name in sys.argv[1:]] or bags()
    passed = failed = 0
    if ros.missing():
        print(f"MISSING  ROS's own reader is not compared: {ros.missing()}")
    with ProcessPoolExecutor() as pool:
        for tally in pool.map(check_bag, paths):
            for line in tally.lines:
                print(line, flush=True)
            passed, failed = passed + tally.passed, failed + tally.failed
    left = counts.not_there(paths) if len(sys.argv) == 1 else []
    for name in left:
        print(f"FAILED   {name} is in EXPECT.tsv, and not among the samples")
    print(f"rosbag: {passed} passed, {failed + len(left)} failed")
    sys.exit(1 if failed or left else 0)


if __name__ == "__main__":
    main()
