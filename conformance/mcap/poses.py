"""Compares the poses that logtool makes of ULogs with those that pyulog and SciPy give: positions
and attitudes are turned to ROS's frames by rotations, after REP 103."""

import numpy as np
from scipy.spatial.transform import Rotation

# From north, east, down to east, north, up; and from forward, left, up to forward, right, down.
WORLD = Rotation.from_matrix([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
BODY = Rotation.from_euler("x", 180, degrees=True)

MAX_GAP_US = 500_000


def columns(data, *names):
    return np.stack([data.data[name].astype(float) for name in names], -1)


def measured(data):
    """The times of the measurements in microseconds, or else those of the records."""
    times = data.data["timestamp"].astype("int64")
    sampled = data.data.get("timestamp_sample", np.zeros(len(times))).astype("int64")
    return np.where(sampled > 0, sampled, times)


def first(log, name):
    """The first instance of a topic."""
    found = [one for one in log.data_list if one.name == name and one.multi_id == 0]
    return found[0] if found and len(found[0].data["timestamp"]) else None


def attitudes_at(times, data):
    """The attitudes at `times`, and which of them are known."""
    q = columns(data, *(f"q[{index}]" for index in range(4)))
    good = np.isfinite(q).all(1) & (np.abs(q).sum(1) > 0)
    order = np.argsort(measured(data)[good], kind="stable")
    stamps, q = measured(data)[good][order], q[good][order]
    if not len(q):
        return Rotation.identity(len(times)), np.zeros(len(times), bool)
    after = np.searchsorted(stamps, times, side="right")
    low, high = np.clip(after - 1, 0, None), np.clip(after, None, len(q) - 1)
    is_exact = (after > 0) & (stamps[low] == times)
    gap = stamps[high] - stamps[low]
    known = is_exact | (after > 0) & (after < len(q)) & (gap <= MAX_GAP_US)
    share = np.where(is_exact | (gap == 0), 0, (times - stamps[low]) / np.maximum(gap, 1))
    start, end = Rotation.from_quat(q[low], scalar_first=True), Rotation.from_quat(q[high], scalar_first=True)
    arc = (start.inv() * end).as_rotvec()
    return start * Rotation.from_rotvec(arc * share[:, None]), known


class Poses:
    """The poses of the vehicle in a log: times of records and of measurements in microseconds,
    positions and rotations."""

    def __init__(self, log):
        positions, attitudes = first(log, "vehicle_local_position"), first(log, "vehicle_attitude")
        self.records = self.stamps = np.zeros(0, "int64")
        self.positions, self.rotations = np.zeros((0, 3)), Rotation.identity(0)
        if positions is None or attitudes is None or "q[0]" not in attitudes.data:
            return
        local = columns(positions, "x", "y", "z")
        valid = (positions.data["xy_valid"] == 1) & (positions.data["z_valid"] == 1) & np.isfinite(local).all(1)
        times = measured(positions)
        turned, known = attitudes_at(times, attitudes)
        records = positions.data["timestamp"].astype("int64")
        order = np.argsort(records, kind="stable")
        order = order[(valid & known)[order]]
        self.records, self.stamps = records[order], times[order]
        if len(order):
            self.positions = WORLD.apply(local[order])
            self.rotations = WORLD * turned[order] * BODY

    def differences(self, name, times, stamps, frames, positions, quaternions, shift=0):
        """Yields what differs in messages: their times in nanoseconds, their stamps if they have
        some, their frames, their positions, and their quaternions x, y, z, w."""
        count = len(self.records)
        if len(times) != count:
            yield f"{name}: {len(times)} poses, not {count}"
            return
        if not count:
            return
        if set(frames) != {("map", "base_link")}:
            yield f"{name}: frames {set(frames)}"
        if not np.array_equal(np.asarray(times), self.records * 1000 + shift):
            yield f"{name}: other times"
        if stamps is not None and not np.array_equal(np.asarray(stamps), self.stamps * 1000 + shift):
            yield f"{name}: other stamps"
        if not np.allclose(positions, self.positions, rtol=0, atol=1e-9):
            yield f"{name}: positions differ by {np.abs(positions - self.positions).max()} m"
        quaternions = np.asarray(quaternions)
        if not np.allclose(np.linalg.norm(quaternions, axis=1), 1, rtol=0, atol=1e-6):
            yield f"{name}: quaternions of other lengths than 1"
        angles = (Rotation.from_quat(quaternions).inv() * self.rotations).magnitude()
        if angles.max() > 1e-5:
            yield f"{name}: attitudes differ by {angles.max()} rad"
