"""Compares the bags that logtool makes of ULogs, value by value, with what pyulog reads of
the logs; rosbags reads the bags. What is turned to ROS's frames is turned here by matrices,
after REP 103."""

import json
import tempfile
from pathlib import Path

import numpy as np
from logtool import run
from poses import Poses
from pyulog import ULog
from rosbags.rosbag1 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from ulog import logs, same, strings, usable

__all__ = ["check", "logs"]

# North, east, down as east, north, up; and forward, right, down as forward, left, up.
WORLD = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
BODY = np.diag([1.0, -1.0, -1.0])
LEVELS = [16, 16, 16, 8, 4, 2, 2, 1]


def flat(message, start, into):
    """Puts each value of a message under the name that pyulog has for it."""
    for name, value in vars(message).items():
        if name.startswith("__"):
            continue
        name = start + name
        if hasattr(value, "__msgtype__"):
            flat(value, name + ".", into)
        elif isinstance(value, np.ndarray):
            for index, one in enumerate(value.tolist()):
                into.setdefault(f"{name}[{index}]", []).append(one)
        elif isinstance(value, list):
            for index, one in enumerate(value):
                flat(one, f"{name}[{index}].", into)
        else:
            into.setdefault(name, []).append(value)


def read(path):
    """The messages of each topic: their times, and themselves."""
    topics, types = {}, {}
    with Reader(path) as reader:
        for connection in reader.connections:
            store = get_typestore(Stores.EMPTY)
            found = get_types_from_msg(connection.msgdef.data, connection.msgtype)
            store.register(found)
            types[connection.id] = store
        for connection, time, data in reader.messages():
            message = types[connection.id].deserialize_ros1(data, connection.msgtype)
            topics.setdefault(connection.topic, []).append((time, message))
        kinds = {connection.topic: connection.msgtype for connection in reader.connections}
    return topics, kinds


def name_of(data):
    return f"/{data.name}" + (f"_{data.multi_id}" if data.multi_id else "")


def values(log, topics, shift):
    """The differences of the values and times of all topics."""
    for data in log.data_list:
        name, count = name_of(data), len(data.data["timestamp"])
        if not count:
            continue
        messages = topics.get(name, [])
        if len(messages) != count:
            yield f"{name}: {len(messages)} messages, not {count}"
            continue
        wanted = data.data["timestamp"].astype("int64") * 1000 + shift
        known = usable(log, data)
        if not known.all():
            if not np.isin(wanted[known], [time for time, _ in messages]).all():
                yield f"{name}: other times"
            continue  # the reader sorts by time, so that the order is another
        order = np.argsort(wanted, kind="stable")
        if not np.array_equal(wanted[order], [time for time, _ in messages]):
            yield f"{name}: other times"
        ours, texts = {}, {}
        for _, message in messages:
            flat(message, "", ours)
        for field, column in data.data.items():
            if "_padding" in field:
                continue
            column, stem = column[order], field.rsplit("[", 1)[0]
            if stem in ours and isinstance(ours[stem][0], str):
                texts.setdefault(stem, []).append(column)
            elif field not in ours:
                yield f"{name}: {field} is missing"
            elif not same(column, ours[field]):
                yield f"{name}: {field} is another"
        for stem, columns in texts.items():
            for row, text in enumerate(ours[stem]):
                chars = bytes(int(column[row]) & 255 for column in columns).split(b"\0")[0]
                if chars not in (text.encode(), text.encode("latin-1", "replace")):
                    yield f"{name}: {stem} is {text!r}, not {chars!r}"


def matrix(w, x, y, z):
    """The matrices of quaternions."""
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1),
        ],
        -2,
    )


def vectors(messages, take):
    return np.array([[getattr(take(message), axis) for axis in "xyz"] for _, message in messages])


def attitudes(messages, take):
    parts = [np.array([getattr(take(message), part) for _, message in messages]) for part in "wxyz"]
    return matrix(*parts)


def columns(data, *names):
    return np.stack([data.data[name].astype(float) for name in names], -1)


def array(data, name, count):
    return columns(data, *(f"{name}[{index}]" for index in range(count)))


def near(name, what, ours, wanted):
    if ours.shape != wanted.shape:
        yield f"{name}: {len(ours)} of {what}, not {len(wanted)}"
    elif not np.allclose(ours, wanted, rtol=1e-6, atol=1e-6, equal_nan=True):
        yield f"{name}: {what} differ by {np.nanmax(np.abs(ours - wanted))}"


def turned_between(log, times):
    """The attitudes at `times`, in microseconds, between those that the log tells half a second
    or less apart, and where there are such: great arcs on the sphere of quaternions."""
    found = [data for data in log.data_list if data.name == "vehicle_attitude" and not data.multi_id]
    known = np.zeros(len(times), bool)
    if not found or "q[0]" not in found[0].data:
        return None, known
    data = found[0].data
    stamps = data["timestamp"].astype("int64")
    if "timestamp_sample" in data:
        sampled = data["timestamp_sample"].astype("int64")
        stamps = np.where(sampled > 0, sampled, stamps)
    q = np.stack([data[f"q[{index}]"].astype(float) for index in range(4)], -1)
    good = np.isfinite(q).all(1) & (np.abs(q).sum(1) > 0)
    order = np.argsort(stamps[good], kind="stable")
    stamps, q = stamps[good][order], q[good][order]
    q /= np.linalg.norm(q, axis=1)[:, None]
    after = np.searchsorted(stamps, times, side="right")
    exact = (after > 0) & (stamps[np.clip(after - 1, 0, None)] == times)
    low, high = np.clip(after - 1, 0, len(q) - 1), np.clip(after, 0, len(q) - 1)
    gap = stamps[high] - stamps[low]
    known = exact | ((after > 0) & (after < len(q)) & (gap <= 500_000))
    share = np.where(exact | (gap == 0), 0, (times - stamps[low]) / np.maximum(gap, 1))
    a, b = q[low], q[high]
    b = b * np.where((a * b).sum(1) < 0, -1, 1)[:, None]
    angle = np.arccos(np.clip((a * b).sum(1), -1, 1))
    sine = np.where(angle < 1e-6, 1, np.sin(angle))
    left = np.where(angle < 1e-6, 1 - share, np.sin((1 - share) * angle) / sine)
    right = np.where(angle < 1e-6, share, np.sin(share * angle) / sine)
    return a * left[:, None] + b * right[:, None], known


def with_attitudes(log, data, imu):
    """Yields differences between the attitudes in messages with rates."""
    times = data.data["timestamp"].astype("int64")
    if "timestamp_sample" in data.data:
        sampled = data.data["timestamp_sample"].astype("int64")
        times = np.where(sampled > 0, sampled, times)
    order = np.argsort(data.data["timestamp"].astype("int64"), kind="stable")
    wanted, known = turned_between(log, times[order])
    told = np.array([m.orientation_covariance[0] for _, m in imu]) == 0
    if not np.array_equal(told, known):
        yield f"{data.name}: {told.sum()} attitudes, not {known.sum()}"
    elif known.any():
        ours = attitudes(imu, lambda m: m.orientation)[known]
        yield from near(data.name, "attitudes beside rates", ours, (WORLD @ matrix(*wanted[known].T) @ BODY))


def motions(log, topics):
    """Rates, accelerations, attitudes and odometry."""
    for data in log.data_list:
        name, has = name_of(data), data.data.keys()
        imu = topics.get(f"{name}/imu", [])
        if imu and "gyro_rad[0]" in has:
            ours = vectors(imu, lambda m: m.angular_velocity)
            yield from near(name, "rates", ours, array(data, "gyro_rad", 3) @ BODY)
            ours = vectors(imu, lambda m: m.linear_acceleration)
            yield from near(name, "accelerations", ours, array(data, "accelerometer_m_s2", 3) @ BODY)
            yield from with_attitudes(log, data, imu)
        elif imu and "delta_angle[0]" in has and "delta_angle_dt" in has:
            for field, take in (
                ("delta_angle", lambda m: m.angular_velocity),
                ("delta_velocity", lambda m: m.linear_acceleration),
            ):
                wanted = array(data, field, 3) / (columns(data, f"{field}_dt") * 1e-6)
                yield from near(name, field, vectors(imu, take), wanted @ BODY)
            yield from with_attitudes(log, data, imu)
        elif imu and "q[0]" in has:
            wanted = WORLD @ matrix(*array(data, "q", 4).T) @ BODY
            yield from near(name, "attitudes", attitudes(imu, lambda m: m.orientation), wanted)
        odometry = topics.get(f"{name}/odometry", [])
        if not odometry:
            continue
        position = vectors(odometry, lambda m: m.pose.pose.position)
        velocity = vectors(odometry, lambda m: m.twist.twist.linear)
        turned = attitudes(odometry, lambda m: m.pose.pose.orientation)
        if "heading" in has or "yaw" in has:
            valid = (data.data["xy_valid"] == 1) & (data.data["z_valid"] == 1)
            heading = columns(data, "heading" if "heading" in has else "yaw")[:, 0]
            valid &= np.isfinite(heading)
            zero = np.zeros_like(heading)
            own = matrix(np.cos(heading / 2), zero, zero, np.sin(heading / 2))
            local, speed = columns(data, "x", "y", "z"), columns(data, "vx", "vy", "vz")
        else:
            own = matrix(*array(data, "q", 4).T)
            valid = np.isfinite(own).all((1, 2))
            if "pose_frame" in has:
                local, speed = array(data, "position", 3), array(data, "velocity", 3)
                valid &= data.data["pose_frame"] == 1
                is_ned = data.data["velocity_frame"] == 1
            else:
                local, speed = columns(data, "x", "y", "z"), columns(data, "vx", "vy", "vz")
                is_ned = data.data.get("velocity_frame", data.data.get("local_frame", np.zeros(len(local)))) == 0
                if "local_frame" in has:
                    valid &= data.data["local_frame"] == 0
            if not is_ned.all():
                continue
        yield from near(name, "positions", position, (local @ WORLD.T)[valid])
        yield from near(name, "attitudes", turned, (WORLD @ own @ BODY)[valid])
        wanted = np.einsum("nji,nj->ni", own, speed) @ BODY
        yield from near(name, "velocities", velocity, wanted[valid])


def fixes(log, topics):
    """A place for each fix of a receiver."""
    for data in log.data_list:
        messages, has = topics.get(f"{name_of(data)}/fix", []), data.data.keys()
        if not messages or "fix_type" not in has:
            continue
        known = data.data["fix_type"] >= 3
        scale, fields = (1e-7, ("lat", "lon")) if "lat" in has else (1.0, ("latitude_deg", "longitude_deg"))
        ours = np.array([[m.latitude, m.longitude] for _, m in messages])
        wanted = (columns(data, *fields) * scale)[known]
        if ours.shape != wanted.shape or not np.allclose(ours, wanted, rtol=0, atol=1e-9):
            yield f"{data.name}: other places"
        heights = [("alt_ellipsoid", 1e-3), ("altitude_ellipsoid_m", 1.0)]
        for field, scale in heights:
            if field in has:
                wanted = (data.data[field] * scale)[known]
                if not np.allclose([m.altitude for _, m in messages], wanted, rtol=0, atol=1e-6):
                    yield f"{data.name}: other heights"


def poses(log, topics, kinds, shift):
    """Transforms and poses of the vehicle."""
    wanted = Poses(log)
    transforms = topics.get("/tf", [])
    if any(len(message.transforms) != 1 for _, message in transforms):
        yield "/tf: not one transform in each message"
        return
    transforms = [(time, message.transforms[0]) for time, message in transforms]
    stamped = topics.get("/vehicle_local_position/pose", [])
    for name, kind, messages, child, position, rotation in (
        (
            "/tf", "tf2_msgs/msg/TFMessage", transforms, lambda m: m.child_frame_id,
            lambda m: m.transform.translation, lambda m: m.transform.rotation,
        ),
        (
            "/vehicle_local_position/pose", "geometry_msgs/msg/PoseStamped", stamped, lambda m: "base_link",
            lambda m: m.pose.position, lambda m: m.pose.orientation,
        ),
    ):  # fmt: skip
        if messages and kinds[name] != kind:
            yield f"{name}: {kinds[name]}"
        stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for _, m in messages]
        frames = [(m.header.frame_id, child(m)) for _, m in messages]
        quaternions = [[getattr(rotation(m), axis) for axis in "xyzw"] for _, m in messages]
        yield from wanted.differences(
            name, [time for time, _ in messages], stamps, frames, vectors(messages, position), quaternions, shift
        )


def said(log, topics, shift):
    """Logged strings are messages."""
    wanted = strings(log, shift, LEVELS)
    lines = topics.get("/rosout", [])
    got = [(time, m.level, m.msg) for time, m in lines if m.name == "string"]
    if sorted(got) != sorted(wanted):
        yield f"{len(got)} lines, not these {len(wanted)}"


def check(path, tally):
    """The checks of a log."""
    try:
        log = ULog(str(path))
    except Exception:  # whatever it is that stops it
        return
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.bag"
        run("convert", path, "-o", made)
        topics, kinds = read(made)
        clock = json.loads(run("info", "--json", path))["clock"]
        shift = (clock["to_unix"] or {}).get("offset_ns", 0)
        count = sum(len(messages) for messages in topics.values())
        tally.check("values in bags", values(log, topics, shift), f"{count} messages")
        tally.check("motions in bags", motions(log, topics), f"{len(kinds)} topics")
        tally.check("places in bags", fixes(log, topics))
        tally.check("poses in bags", poses(log, topics, kinds, shift), f"{len(topics.get('/tf', []))}")
        tally.check("messages in bags", said(log, topics, shift))
