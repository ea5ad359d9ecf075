"""Windows for PyTorch: the same with any number of workers and splits, and the values are those of
the tables."""

import os
import sys
from pathlib import Path

import numpy
from torch.utils.data import DataLoader

import logtool
from logtool.torch import WindowDataset

BAG = Path(os.environ["LOGTOOL_SAMPLES"]) / "rosbag/robot_localization-test1.bag"
SIGNALS = {"/imu/data": ["angular_velocity.z", "orientation.w"], "/fix": ["latitude"]}
WINDOW = 50


def windows(workers, target_bytes, **options):
    data = WindowDataset(BAG, SIGNALS, window=WINDOW, target_bytes=target_bytes, **options)
    loader = DataLoader(data, batch_size=None, num_workers=workers)
    found = [(sample["time"].numpy(), sample["values"].numpy()) for sample in loader]
    return sorted(found, key=lambda pair: pair[0][0])


def expected(topic, column, times):
    """The last value of `column` at each of `times`, one by one."""
    arrays = logtool.open(BAG)[topic].flat().select([column]).to_numpy()
    known, values = arrays["time"].astype("int64"), arrays[column]
    order = numpy.argsort(known, kind="stable")
    index = numpy.searchsorted(known[order], times, side="right") - 1
    return values[order][index].astype("float32")


def check(name, is_right, *details):
    print(f"{'ok' if is_right else 'WRONG'}: {name}", *details)
    if not is_right:
        sys.exit(1)


def main():
    for options in ({"rate": 100.0}, {"rate": 40.0, "stride": 10}):
        one, several = windows(0, None, **options), windows(2, 200_000, **options)
        same = len(one) == len(several) > 100 and all(
            numpy.array_equal(a[0], b[0]) and numpy.array_equal(a[1], b[1])
            for a, b in zip(one, several, strict=True)
        )
        check(f"two workers make the same windows, {options}", same, len(one))
        period = round(1e9 / options["rate"])
        check("rows have the rate", all((numpy.diff(t) == period).all() for t, _ in one))
        times, values = (numpy.concatenate(part) for part in zip(*one, strict=True))
        names = [(topic, column) for topic in SIGNALS for column in SIGNALS[topic]]
        for index, (topic, column) in enumerate(names):
            right = expected(topic, column, times)
            check(f"the values of {column}", numpy.array_equal(values[:, index], right))
    # Without a rate, the rows are the messages of the first topic.
    found = windows(2, 200_000)
    known = logtool.open(BAG)["/imu/data"].to_numpy()["time"].astype("int64")
    rows = numpy.concatenate([times for times, _ in found])
    check("rows are messages", numpy.isin(rows, known).all(), len(found))


if __name__ == "__main__":
    main()
