"""Derived series agree with NumPy, SciPy and pandas on the values of pyulog and rosbags.

Functions that these libraries do not have are written here again, from the formulas of
docs/EXPRESSIONS.md. Every function of the language must occur in a case.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.integrate
import scipy.signal
from pyulog import ULog
from rosbags.rosbag1 import Reader
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from logtool import read_arrow, run
from tally import Tally

ROOT = Path(__file__).resolve().parents[1]
EARTH = 6_371_000.0
# Relative to the largest value of a series.
TOLERANCE = 1e-9


class Series:
    """Times in nanoseconds, sorted, and values: one column, or one for each component."""

    # Differences are compared with this if all values are smaller.
    scale = 1.0

    def __init__(self, times, values):
        order = np.argsort(np.asarray(times), kind="stable")
        self.times = np.asarray(times, dtype=np.int64)[order]
        self.values = np.asarray(values, dtype=np.float64)[order]

    @property
    def seconds(self):
        return (self.times - self.times[0]) / 1e9

    def with_values(self, values):
        return Series(self.times, values)

    def held_at(self, clock):
        place = np.searchsorted(self.times, clock.times, side="right") - 1
        values = self.values[np.maximum(place, 0)].copy()
        values[place < 0] = np.nan
        return Series(clock.times, values)


def window(series, seconds):
    """The rolling window (t - seconds, t] of pandas."""
    index = pd.to_datetime(series.times)
    finite = np.where(np.isfinite(series.values), series.values, np.nan)
    nanos = pd.Timedelta(int(round(seconds * 1e9)), unit="ns")
    return pd.Series(finite, index=index).rolling(nanos, min_periods=1)


def derivative(x):
    steps = np.diff(x.times) / 1e9
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(steps > 0, np.diff(x.values) / steps, np.nan)
    return x.with_values(np.concatenate([[np.nan], slopes]))


def low_pass(x, cutoff):
    """Irregular times: the filter of a sample depends on its interval."""
    filtered = np.empty(len(x.values))
    filtered[0] = x.values[0]
    steps = 1 - np.exp(-2 * np.pi * cutoff * np.diff(x.times) / 1e9)
    for row, step in enumerate(steps, 1):
        filtered[row] = filtered[row - 1] + step * (x.values[row] - filtered[row - 1])
    return x.with_values(filtered)


def low_pass_regular(x, cutoff, rate):
    """Regular times: a filter of SciPy."""
    step = 1 - np.exp(-2 * np.pi * cutoff / rate)
    b, a = [step], [1, step - 1]
    start = scipy.signal.lfiltic(b, a, [x.values[0]])
    start = [x.values[0] * (1 - step)] if start is None else start
    return x.with_values(scipy.signal.lfilter(b, a, x.values, zi=start)[0])


def butterworth(x, cutoff):
    steps = np.diff(x.times)
    steps = np.sort(steps[steps > 0])
    rate = 1e9 / steps[len(steps) // 2]
    b, a = scipy.signal.butter(2, cutoff, fs=rate)
    start = scipy.signal.lfilter_zi(b, a) * x.values[0]
    return x.with_values(scipy.signal.lfilter(b, a, x.values, zi=start)[0])


def remove_outliers(x, factor):
    kept = x.values.copy()
    for row in range(2, len(kept) - 1):
        step, up, down = np.diff(x.values[row - 2 : row + 2])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.float64(max(abs(up), abs(down))) / abs(step)
        if up * down < 0 and ratio > factor:
            kept[row] = np.nan
    return x.with_values(kept)


def resampled(x, rate):
    count = int(np.floor((x.times[-1] - x.times[0]) / 1e9 * rate)) + 1
    offsets = np.round(np.arange(count) / rate * 1e9).astype(np.int64)
    times = x.times[0] + offsets
    return Series(times, np.interp(times - x.times[0], x.times - x.times[0], x.values))


def interpolated(x, clock):
    first = x.times[0]
    values = np.interp(
        clock.times - first, x.times - first, x.values, left=np.nan, right=np.nan
    )
    return Series(clock.times, values)


def rotation(q):
    """The rotations of quaternions w, x, y, z."""
    return Rotation.from_quat(q.values[:, [1, 2, 3, 0]])


def euler(q):
    return q.with_values(rotation(q).as_euler("ZYX")[:, ::-1])


def rotate(q, v, inverse=False):
    v = v.held_at(q)
    return q.with_values(rotation(q).apply(v.values, inverse=inverse))


def unit_vectors(lat, lon):
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], -1)


def project(lat, lon):
    """The azimuthal equidistant projection, by vectors and bearings instead of sines of sides."""
    fixed = (lat.values != 0) | (lon.values != 0)
    phi, lam = np.radians(lat.values), np.radians(lon.values)
    first = np.argmax(fixed)
    center, points = unit_vectors(phi[first], lam[first]), unit_vectors(phi, lam)
    east = np.array([-np.sin(lam[first]), np.cos(lam[first]), 0])
    north = np.cross(center, east)
    flat = np.stack([points @ north, points @ east], -1)
    length = np.linalg.norm(flat, axis=-1)
    angle = np.arctan2(length, points @ center)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(length > 0, angle / length, 1)
    metres = flat * scale[:, None] * EARTH
    metres[~fixed] = np.nan
    return lat.with_values(metres), lat.with_values(np.where(fixed, angle * EARTH, np.nan))


def land_detector(altitude, thrust):
    thrust = thrust.held_at(altitude)
    smooth = low_pass(altitude, 20).values
    mean, landed, calm = smooth[0], True, None
    states = []
    for row, now in enumerate(altitude.seconds):
        step = now - altitude.seconds[row - 1] if row else 0
        mean += (smooth[row] - mean) * min(step, 1)
        away = abs(smooth[row] - mean)
        if landed:
            landed = not (away > 0.3 and thrust.values[row] > 0.25)
            calm = None
        elif away < 0.3 and thrust.values[row] < 0.25:
            calm = now if calm is None else calm
            landed = now - calm > 1
            calm = None if landed else calm
        else:
            calm = None
        states.append(float(landed))
    return altitude.with_values(states)


def battery_remaining(voltage, current):
    rest = voltage.with_values(voltage.values + 0.03 * np.maximum(current.values, 0))
    cell = low_pass(rest, 1).values / 4
    return voltage.with_values(100 * np.clip((cell - 3.7) / (4.0 - 3.7), 0, 1))


def simulated(setpoint, step, advance):
    """Runs the steps of a simulation; returns position, rate, acceleration and control."""
    nanos = int(round(step * 1e9))
    state = {"pos": 0.0, "rate": 0.0, "acc": 0.0, "force": 0.0, "control": 0.0}
    done, rows, rate = setpoint.times[0], [], 0.0
    for row, time in enumerate(setpoint.times):
        while row and done + nanos < time:
            done += nanos
            advance(state, setpoint.values[row - 1], rate)
        if row and time > setpoint.times[row - 1]:
            rate = (setpoint.values[row] - setpoint.values[row - 1]) / (
                (time - setpoint.times[row - 1]) / 1e9
            )
        else:
            rate = 0.0
        rows.append([state["pos"], state["rate"], state["acc"], state["control"]])
    return setpoint.with_values(rows)


def clipped(value, limit):
    return value if limit == 0 else min(max(value, -limit), limit)


def position_pid(setpoint):
    dt, integral = 0.004, 0.0

    def advance(s, wanted, wanted_rate):
        nonlocal integral
        s["force"] += (1 - np.exp(-dt / 0.03)) * (s["control"] - s["force"])
        s["acc"] = 40 * s["force"]
        s["rate"] += s["acc"] * dt
        s["pos"] += s["rate"] * dt
        u = 0.1 * (wanted - s["pos"]) + 0.1 * (wanted_rate - s["rate"])
        weight = np.exp(-(wanted_rate**2 + s["rate"] ** 2) / 2)
        integral = clipped(integral + 0.05 * u / 0.1 * dt * weight, 0.2)
        s["control"] = clipped(u + integral, 0.2)

    return simulated(setpoint, dt, advance)


def position_rate_pid(setpoint):
    dt, integral, before, late = 0.004, 0.0, 0.0, [0.0] * 3
    b, a = scipy.signal.butter(2, 30 * dt * 2)
    memory = None

    def advance(s, wanted, _):
        nonlocal integral, before, memory
        s["force"] += (1 - np.exp(-dt / 0.03)) * (s["control"] - s["force"])
        late.append(s["force"])
        s["acc"] = 50 * late.pop(0) - 0.1 * abs(s["rate"]) * s["rate"]
        s["rate"] += s["acc"] * dt
        s["pos"] += s["rate"] * dt
        memory = scipy.signal.lfilter_zi(b, a) * s["rate"] if memory is None else memory
        [filtered], memory = scipy.signal.lfilter(b, a, [s["rate"]], zi=memory)
        error = 2 * (wanted - s["pos"]) - filtered
        integral += 0.2 * error * dt
        s["control"] = 0.1 * error - 0.001 * (filtered - before) / dt + integral
        before = filtered

    return simulated(setpoint, dt, advance)


def follow_measurements(acc, q, lat, lon, north, east, advance):
    """The states of two axes at the rows that have all measurements.

    `advance(axis, dt, position, velocity, acceleration, is_new)` returns a position and a
    velocity; `is_new` states whether the GPS values are others than before.
    """
    clock = acc
    q, lat, lon, north, east = (one.held_at(clock) for one in (q, lat, lon, north, east))
    known = np.isfinite(q.values[:, 0]) & np.isfinite(lat.values) & np.isfinite(north.values)
    known &= (lat.values != 0) | (lon.values != 0)
    rows = np.full((len(clock.times), 4), np.nan)
    if not known.any():
        return clock.with_values(rows)
    turned = np.full((len(clock.times), 3), np.nan)
    turned[known] = rotation(Series(clock.times[known], q.values[known])).apply(
        acc.values[known]
    )
    keep = np.where(known)[0]
    metres, _ = project(
        Series(clock.times[keep], lat.values[keep]), Series(clock.times[keep], lon.values[keep])
    )
    last, known = None, None
    for place, row in enumerate(keep):
        dt = 0 if last is None else (clock.times[row] - clock.times[last]) / 1e9
        last = row
        raw = [one.values[row] for one in (lat, lon, north, east)]
        for axis, velocity in ((0, north.values[row]), (1, east.values[row])):
            rows[row, [axis, axis + 2]] = advance(
                axis, dt, metres.values[place, axis], velocity, turned[row, axis], raw != known
            )
        known = raw
    return clock.with_values(rows)


def position_estimate(*fields):
    state = np.zeros((2, 3))

    def advance(axis, dt, position, velocity, acceleration, _):
        p, v, a = state[axis]
        p, v = p + v * dt + a * dt * dt / 2, v + a * dt
        e = position - p
        p, v, a = p + 3 * e * dt, v + 9 * e * dt, a + 9 * e * dt
        e = velocity - v
        v, a = v + 3 * e * dt, a + 9 * e * dt
        a += 10 * (acceleration - a) * dt
        state[axis] = p, v, a
        return p, v

    return follow_measurements(*fields, advance)


def position_kalman(*fields, position_noise, velocity_noise, acceleration_noise):
    noise = np.diag([position_noise**2, velocity_noise**2])
    states = {}

    def advance(axis, dt, position, velocity, acceleration, is_new):
        measured = np.array([position, velocity])
        if axis not in states:
            states[axis] = measured, noise
            return measured
        x, covariance = states[axis]
        transition = np.array([[1, dt], [0, 1]])
        control = np.array([dt * dt / 2, dt])
        x = transition @ x + control * acceleration
        covariance = transition @ covariance @ transition.T
        covariance = covariance + np.outer(control, control) * acceleration_noise**2
        if is_new:
            gain = covariance @ np.linalg.inv(covariance + noise)
            x = x + gain @ (measured - x)
            covariance = (np.eye(2) - gain) @ covariance
        states[axis] = x, covariance
        return x

    return follow_measurements(*fields, advance)


def common_cases(x, name, y, other):
    """Cases of two single series with these names and other times."""
    v, t = x.values, x.seconds
    at = y.held_at(x).values
    center = float(np.median(v))
    yield f"derivative({name})", derivative(x)
    yield f"integral({name})", x.with_values(
        scipy.integrate.cumulative_trapezoid(v, t, initial=0)
    )
    yield f"difference({name})", x.with_values(np.diff(v, prepend=np.nan))
    yield f"interval({name})", x.with_values(np.diff(t, prepend=np.nan))
    yield f"time({name})", x.with_values(t)
    yield f"first({name})", x.with_values(np.full(len(v), v[0]))
    yield f"mean({name})", x.with_values(np.full(len(v), v.mean()))
    yield f"samples_per_second({name}, 0.5)", x.with_values(window(x, 0.5).count() / 0.5)
    yield f"low_pass({name}, 2)", low_pass(x, 2)
    regular = resampled(x, 50)
    yield f"resample({name}, 50)", regular
    yield f"low_pass(resample({name}, 50), 2)", low_pass_regular(regular, 2, 50)
    yield f"high_pass({name}, 2)", x.with_values(v - low_pass(x, 2).values)
    yield f"low_pass2({name}, 0.5)", butterworth(x, 0.5)
    yield f"low_pass2(resample({name}, 50), 5)", butterworth(regular, 5)
    for statistic, of in [
        ("average", lambda w: w.mean()),
        ("median", lambda w: w.median()),
        ("min", lambda w: w.min()),
        ("max", lambda w: w.max()),
    ]:
        yield f"moving_{statistic}({name}, 0.7)", x.with_values(of(window(x, 0.7)))
    squares = x.with_values(v * v)
    yield f"moving_rms({name}, 0.7)", x.with_values(np.sqrt(window(squares, 0.7).mean()))
    deviations = [np.std(v[(t > now - 0.7 + 1e-9) & (t <= now)]) for now in t]
    yield f"moving_std({name}, 0.7 - 1e-9)", x.with_values(deviations)
    yield f"remove_outliers({name}, 5)", remove_outliers(x, 5)
    yield f"hold({other}, {name})", y.held_at(x)
    yield f"interpolate({other}, {name})", interpolated(y, x)
    yield f"delay({name}, 0.25)", Series(x.times + 250_000_000, v)
    yield f"{name} + 2 * {other}", x.with_values(v + 2 * at)
    yield f"{name} - {other} / 3", x.with_values(v - at / 3)
    yield f"{name} * -{name} ^ 2", x.with_values(v * -(v**2))
    yield f"{name} > {center} and {name} < {center} + 1 or {name} == {center}", x.with_values(
        ((v > center) & (v < center + 1)) | (v == center)
    )
    yield f"not({name} >= {center}) + ({name} != 0) + ({name} <= 0)", x.with_values(
        1.0 * ~(v >= center) + (v != 0) + (v <= 0)
    )
    yield f"min({name}, 0.5, -{name}) + max({name}, 1)", x.with_values(
        np.minimum(np.minimum(v, 0.5), -v) + np.maximum(v, 1)
    )
    yield f"clamp({name}, -1, 1)", x.with_values(np.clip(v, -1, 1))
    yield f"where({name} > 0, {name}, -1)", x.with_values(np.where(v > 0, v, -1))
    yield f"scale({name}, 3, 2) + offset({name}, 1)", x.with_values(v * 3 + 2 + v + 1)
    yield f"abs({name}) + sign({name})", x.with_values(np.abs(v) + np.sign(v))
    yield f"floor({name} * 3) + ceil({name} * 3) + round({name} * 2)", x.with_values(
        np.floor(v * 3) + np.ceil(v * 3) + np.rint(v * 2)
    )
    yield f"mod({name} * 7, 3) + {name} % 2", x.with_values(np.mod(v * 7, 3) + np.mod(v, 2))
    yield f"sin({name}) + cos({name}) + tan(atan({name}))", x.with_values(
        np.sin(v) + np.cos(v) + v
    )
    small = v / (1 + np.abs(v))
    yield f"asin({name} / (1 + abs({name})))", x.with_values(np.arcsin(small))
    yield f"acos({name} / (1 + abs({name})))", x.with_values(np.arccos(small))
    yield f"atan2({name}, 1)", x.with_values(np.arctan2(v, 1))
    yield f"sqrt(abs({name}))", x.with_values(np.sqrt(np.abs(v)))
    yield f"exp(-abs({name}))", x.with_values(np.exp(-np.abs(v)))
    yield f"log(1 + abs({name})) + log10(1 + abs({name}))", x.with_values(
        np.log(1 + np.abs(v)) + np.log10(1 + np.abs(v))
    )
    yield f"deg({name}) + rad({name})", x.with_values(np.degrees(v) + np.radians(v))
    wrapped = (v * 5 + np.pi) % (2 * np.pi) - np.pi
    yield f"wrap({name} * 5, 2 * pi)", x.with_values(wrapped)
    yield f"unwrap(wrap({name} * 5, 2 * pi), 2 * pi)", x.with_values(np.unwrap(wrapped))
    yield f"norm(vector({name}, {other}))", x.with_values(np.hypot(v, at))


def attitude_cases(q, q_name, v, v_name):
    """Cases of a quaternion and a vector in the body frame."""
    angles = euler(q)
    for index, name in enumerate(["roll", "pitch", "yaw"]):
        yield f"{name}({q_name})", q.with_values(angles.values[:, index])
    yield f"deg(euler({q_name}))", q.with_values(np.degrees(angles.values))
    down = rotation(q).apply([0, 0, 1])[:, 2]
    yield f"cos(tilt({q_name}))", q.with_values(down)
    turned = rotate(q, v)
    yield f"rotate({q_name}, {v_name})", turned
    yield f"rotate_back({q_name}, {v_name})", rotate(q, v, inverse=True)
    yield f"norm({v_name})", v.with_values(np.linalg.norm(v.values, axis=1))
    yield f"dot({v_name}, 2 * {v_name})", v.with_values(2 * (v.values**2).sum(axis=1))
    lever = np.array([1.0, 2.0, 3.0])
    yield f"cross({v_name}, vector(1, 2, 3))", v.with_values(np.cross(v.values, lever))
    parts = f"roll({q_name}), pitch({q_name}), yaw({q_name})"
    rebuilt = Rotation.from_euler("ZYX", angles.values[:, ::-1]).apply(lever)
    yield f"rotate(quaternion({parts}), vector(1, 2, 3))", q.with_values(rebuilt)


def ulog_cases(path):
    log = ULog(str(path))
    data = {(one.name, one.multi_id): one.data for one in log.data_list}

    def field(topic, *columns):
        table = data.get((topic, 0))
        if table is None or any(column not in table for column in columns):
            return None
        values = np.stack([table[column].astype(np.float64) for column in columns], -1)
        values = values[:, 0] if len(columns) == 1 else values
        return Series(table["timestamp"].astype(np.int64) * 1000, values)

    gyro = field("sensor_combined", "gyro_rad[0]")
    vz = field("vehicle_local_position", "vz")
    yield from common_cases(
        gyro, "sensor_combined.0.gyro_rad[0]", vz, "vehicle_local_position.0.vz"
    )
    yield from common_cases(
        vz, "vehicle_local_position.0.vz", gyro, "sensor_combined.0.gyro_rad[0]"
    )
    q = field("vehicle_attitude", *(f"q[{index}]" for index in range(4)))
    acc_names = [f"accelerometer_m_s2[{index}]" for index in range(3)]
    acc = field("sensor_combined", *acc_names)
    acc_name = "sensor_combined.0.accelerometer_m_s2"
    yield from attitude_cases(q, "vehicle_attitude.0.q", acc, acc_name)
    z = field("vehicle_local_position", "z")
    thrust = field("vehicle_local_position", "vy")
    yield "land_detector(-vehicle_local_position.0.z, vehicle_local_position.0.vy)", (
        land_detector(z.with_values(-z.values), thrust)
    )
    # Steps of 4 ms in Python: only of short parts.
    name = "resample(vehicle_local_position.0.z - first(vehicle_local_position.0.z), 20)"
    setpoint = resampled(z.with_values(z.values - z.values[0]), 20)
    yield f"position_pid({name})", position_pid(setpoint)
    gains = "p=2, rate_i=0.2, rate_d=0.001, thrust_gain=50, thrust_delay=0.012, drag=0.1"
    yield f"position_rate_pid({name}, {gains}, rate_cutoff=30)", position_rate_pid(setpoint)
    voltage = field("battery_status", "voltage_v")
    current = field("battery_status", "current_a")
    if voltage is not None:
        names = "battery_status.0.voltage_v, battery_status.0.current_a"
        yield f"battery_remaining({names}, cells=4)", battery_remaining(voltage, current)
    topic = "vehicle_gps_position"
    lat, lon = field(topic, "lat"), field(topic, "lon")
    names = [f"{topic}.0.lat", f"{topic}.0.lon"]
    if lat is None:
        lat, lon = field(topic, "latitude_deg"), field(topic, "longitude_deg")
        names = [f"{topic}.0.latitude_deg", f"{topic}.0.longitude_deg"]
    else:
        lat, lon = lat.with_values(lat.values * 1e-7), lon.with_values(lon.values * 1e-7)
    if lat is None:
        return
    metres, distance = project(lat, lon)
    arguments = ", ".join(names)
    projected = [metres.with_values(metres.values[:, axis]) for axis in (0, 1)]
    for one in (*projected, distance):
        # Metres are rounded as a part of the radius of the Earth: 6371 km times 2^-52.
        one.scale = 10.0
    yield f"project_north({arguments})", projected[0]
    yield f"project_east({arguments})", projected[1]
    yield f"distance({arguments})", distance
    north, east = field(topic, "vel_n_m_s"), field(topic, "vel_e_m_s")
    velocities = f"{topic}.0.vel_n_m_s, {topic}.0.vel_e_m_s"
    yield (
        f"position_estimate({acc_name}, vehicle_attitude.0.q, {arguments}, {velocities})",
        position_estimate(acc, q, lat, lon, north, east),
    )
    noises = {"position_noise": 2.0, "velocity_noise": 0.4, "acceleration_noise": 0.7}
    named = ", ".join(f"{name}={value}" for name, value in noises.items())
    yield (
        f"position_kalman({acc_name}, vehicle_attitude.0.q, {arguments}, {velocities}, {named})",
        position_kalman(acc, q, lat, lon, north, east, **noises),
    )


def bag_cases(path, topic):
    store = get_typestore(Stores.ROS1_NOETIC)
    times, q, acc, gyro = [], [], [], []
    with Reader(path) as reader:
        connections = [one for one in reader.connections if one.topic == topic]
        for connection, time, raw in reader.messages(connections=connections):
            message = store.deserialize_ros1(raw, connection.msgtype)
            times.append(time)
            a, o, g = (
                message.linear_acceleration,
                message.orientation,
                message.angular_velocity,
            )
            acc.append([a.x, a.y, a.z])
            q.append([o.w, o.x, o.y, o.z])
            gyro.append([g.x, g.y, g.z])
    acc, q = Series(times, acc), Series(times, q)
    if np.linalg.norm(q.values, axis=1).min() > 0.5:
        yield from attitude_cases(
            q, f"{topic}.orientation", acc, f"{topic}.linear_acceleration"
        )
    x = acc.with_values(acc.values[:, 0])
    z = Series(times, np.asarray(gyro)[:, 2])
    names = f"{topic}.linear_acceleration.x", f"`{topic}.angular_velocity.z`"
    yield from common_cases(x, names[0], z, names[1])


def differences(ours, expected):
    """How a table differs from a series."""
    times = ours.column(0).cast("int64").to_numpy(zero_copy_only=False)
    if not np.array_equal(times, expected.times):
        yield f"{len(times)} times, expected {len(expected.times)}"
        return
    columns = [column.to_numpy(zero_copy_only=False) for column in ours.columns[1:]]
    wanted = expected.values.reshape(len(times), -1).T
    if len(columns) != len(wanted):
        yield f"{len(columns)} components, expected {len(wanted)}"
        return
    for index, (own, other) in enumerate(zip(columns, wanted)):
        own = np.asarray(own, dtype=np.float64)
        finite = np.abs(other[np.isfinite(other)])
        limit = TOLERANCE * max(expected.scale, finite.max(initial=0))
        is_equal = np.isclose(own, other, rtol=0, atol=limit, equal_nan=True)
        for row in np.flatnonzero(~is_equal)[:2]:
            yield f"component {index}, row {row}: {own[row]!r}, expected {other[row]!r}"


def check(path, cases):
    tally = Tally(path.name, [])
    cases = list(cases)
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        derived = [f"--derive=c{number}={text}" for number, (text, _) in enumerate(cases)]
        names = [f"--topic=c{number}" for number in range(len(cases))]
        run("convert", path, "-o", folder, "--format", "arrow", *derived, *names)
        for number, (text, expected) in enumerate(cases):
            ours = read_arrow(Path(folder) / f"c{number}_0.arrow")
            tally.check(text, differences(ours, expected), f"{ours.num_rows} rows")
    return tally, [text for text, _ in cases]


def main():
    samples = Path(os.environ["LOGTOOL_SAMPLES"])
    ulogs = [
        "mcap_test_ulog.ulg",
        "px4ulogrs_6ba1abc7.ulg",
        "px4ulogrs_esc_status_log.ulg",
        "pyulog_sample_log_small.ulg",
        "pyulog_sample_px4_events.ulg",
        "ulogrs_sample-small.ulg",
    ]
    bags = [
        ("imu_tools-ardrone_imu.bag", "/ardrone/imu"),
        ("imu_tools-sparkfun_razor.bag", "/imu/data_raw"),
        ("robot_localization-test1.bag", "/imu/data"),
    ]
    found = [(samples / "ulog" / name, ulog_cases, ()) for name in ulogs]
    found += [(samples / "rosbag" / name, bag_cases, (topic,)) for name, topic in bags]
    found = [(path, cases, more) for path, cases, more in found if path.is_file()]
    if not found:
        print(f"MISSING  no samples in {samples}")
        return 0
    failed, passed, texts = 0, 0, []
    for path, cases, more in found:
        tally, own = check(path, cases(path, *more))
        for line in tally.lines:
            if not line.startswith("ok"):
                print(line)
        print(f"{path.name}: {tally.passed} series agree, {tally.failed} differ")
        failed, passed, texts = failed + tally.failed, passed + tally.passed, texts + own
    known = re.findall(r"^  (\w+)\(", run("help", "expressions"), re.MULTILINE)
    called = set(re.findall(r"(\w+)\(", " ".join(texts)))
    missing = sorted(set(known) - called)
    if missing or len(known) < 50:
        print(f"FAILED   functions without a case: {', '.join(missing)}, of {len(known)}")
        failed += 1
    print(f"{passed} series of {len(found)} logs agree, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
