"""Compares `logtool flight` with NumPy and SciPy on the values that pyulog reads: statistics by
the formulas of Flight Review, spectra and spectrograms by scipy, step responses by NumPy's least squares,
and for each diagnosis the evidence in the log. Logs of sound flights must have no diagnoses but those
that are listed here with the reason. Made logs have tones and plants that are known, at even and uneven
times, with and without dropouts.

Usage: flight.py [ULOG...]
"""

import json
import os
import struct
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.signal
import scipy.stats
from logtool import run
from pyulog import ULog
from pyulog.px4 import PX4ULog
from tally import Tally
from ulog_maker import MAGIC, message

# Diagnoses that the values of a log justify.
EXPECTED = {
    # Armed for 75 s with 0.00 to 0.13 V from a monitor without a battery; the accelerometers vibrate
    # by 9.7 m/s² and the field changes by 2 gauss, which is four times that of the earth.
    "flightreviewrs_battery_brownout.ulg": {
        "battery_brownout": 1,
        "vibration": 2,
        "compass_interference": 1,
    },
    # Three dumps of hard faults are appended.
    "pyulog_sample_appended_multiple.ulg": {"hard_fault": 1},
    # logger_status counts 2913 messages that the logger missed in 6 s.
    "pyulog_sample_log_small.ulg": {"logging_dropouts": 1},
    # The field is 0.50 ± 0.26 gauss, EKF2 rejects it for 9 s; 120 A pull 25.0 V to 20.8 V. Two of three
    # accelerometers vibrate by up to 9.97 and 10.03 m/s²; the limit of the maximum is 9.81 m/s².
    "ulogrs_sample-small.ulg": {"compass_interference": 1, "battery_sag": 1, "vibration": 2},
}


class Peer:
    """A log as pyulog reads it."""

    def __init__(self, path):
        self.log = ULog(str(path), disable_str_exceptions=True)
        self.start, self.end = int(self.log.start_timestamp), int(self.log.last_timestamp)

    def topic(self, name, instance=0):
        for data in self.log.data_list:
            if data.name == name and data.multi_id == instance:
                return data.data
        return None

    def instances(self, name):
        return [data.data for data in self.log.data_list if data.name == name]


def intervals(times, state, start, end):
    """The times in which a state is true, in seconds."""
    total, begun = 0.0, None
    for time, on in zip(times.astype(np.int64), state, strict=True):
        if on and begun is None:
            begun = max(time, start)
        elif not on and begun is not None:
            total += max(time - begun, 0)
            begun = None
    if begun is not None:
        total += max(end - begun, 0)
    return total / 1e6


def statistics(peer, end):
    """The statistics by the formulas of Flight Review (plotted_tables.py)."""
    found = {}
    status = peer.topic("vehicle_status")
    if status is not None:
        found["armed_s"] = intervals(
            status["timestamp"], status["arming_state"] == 2, peer.start, end
        )
    land = peer.topic("vehicle_land_detected")
    if land is not None:
        found["airborne_s"] = intervals(land["timestamp"], land["landed"] == 0, peer.start, end)
    position = peer.topic("vehicle_local_position")
    if position is not None:
        valid = (position["xy_valid"] * position["z_valid"]) > 0
        places = np.stack([position[axis].astype(np.float64) for axis in "xyz"], axis=1)
        steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
        both = valid[1:] & valid[:-1]
        if valid.any():
            found["distance_m"] = steps[both].sum()
        found["altitude_difference_m"] = float(position["z"].max()) - float(position["z"].min())
        moving = (position["v_xy_valid"] * position["v_z_valid"]) > 0
        if moving.any():
            x, y, z = (position[axis][moving].astype(np.float64) for axis in ("vx", "vy", "vz"))
            flat, speed = np.hypot(x, y), np.sqrt(x**2 + y**2 + z**2)
            found |= {
                "average_speed_m_s": speed.mean(),
                "max_speed_m_s": speed.max(),
                "average_horizontal_speed_m_s": flat.mean(),
                "max_horizontal_speed_m_s": flat.max(),
                "max_speed_up_m_s": (-z).max(),
                "max_speed_down_m_s": z.max(),
            }
    attitude = peer.topic("vehicle_attitude")
    if attitude is not None:
        PX4ULog(peer.log).add_roll_pitch_yaw(["vehicle_attitude"])
        tilt = np.arccos(np.cos(attitude["pitch"]) * np.cos(attitude["roll"]))
        found["max_tilt_deg"] = np.degrees(np.nanmax(tilt))
    rates = None
    if attitude is not None and "rollspeed" in attitude:
        rates = [attitude[name] for name in ("rollspeed", "pitchspeed", "yawspeed")]
    elif (velocity := peer.topic("vehicle_angular_velocity")) is not None:
        rates = [velocity[f"xyz[{axis}]"] for axis in range(3)]
    if rates is not None:
        norm = np.sqrt(sum(rate.astype(np.float64) ** 2 for rate in rates))
        found["max_rotation_deg_s"] = np.degrees(norm.max())
    battery = peer.topic("battery_status")
    if battery is not None:
        current = battery["current_a"].astype(np.float64)
        voltage = battery["voltage_v"].astype(np.float64)
        if current.max() > 0.1:
            found["average_current_a"], found["max_current_a"] = current.mean(), current.max()
            times = battery["timestamp"] / 1e6
            found["energy_wh"] = np.trapezoid(current * voltage, times) / 3600
        found["min_voltage_v"] = voltage.min()
        charge = battery["discharged_mah"].astype(np.float64)
        found["discharged_mah"] = charge[-1] - charge[0]
    wind = peer.topic("wind")
    wind = peer.topic("wind_estimate") if wind is None else wind
    if wind is not None:
        speed = np.hypot(wind["windspeed_north"], wind["windspeed_east"]).astype(np.float64)
        found["average_wind_m_s"], found["max_wind_m_s"] = speed.mean(), speed.max()
    # Before PX4 1.13, when another field had this name, the metric was a velocity.
    metrics = [
        imu["accel_vibration_metric"]
        for imu in peer.instances("vehicle_imu_status")
        if "gyro_coning_vibration" not in imu
    ]
    if metrics:
        metrics = np.concatenate(metrics).astype(np.float64)
        found["average_vibration_m_s2"] = np.nanmean(metrics)
        found["max_vibration_m_s2"] = np.nanmax(metrics)
    changed = {name: value for _, name, value in peer.log.changed_parameters}
    parameters = peer.log.initial_parameters | changed
    if "LND_FLIGHT_T_HI" in parameters:
        high, low = (parameters[f"LND_FLIGHT_T_{half}"] % 2**32 for half in ("HI", "LO"))
        found["vehicle_flight_s"] = ((high << 32) | low) / 1e6
    if "MAV_TYPE" in parameters:
        found["estimator"] = PX4ULog(peer.log).get_estimator()
    return found


def close(name, ours, theirs, relative, absolute):
    """Differences between two numbers, lists or texts."""
    if isinstance(theirs, str):
        return [] if ours == theirs else [f"{name}: {ours}, not {theirs}"]
    if ours is None:
        return [f"{name}: missing, not {theirs}"]
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    if ours.shape != theirs.shape:
        return [f"{name}: {ours.shape} values, not {theirs.shape}"]
    if np.allclose(ours, theirs, rtol=relative, atol=absolute, equal_nan=True):
        return []
    worst = np.abs(ours - theirs).max()
    return [f"{name}: up to {worst:.6g} apart; {ours.ravel()[:3]}, not {theirs.ravel()[:3]}"]


def mean_rate(times):
    """The mean rate without gaps, which are ten times as long as the mean interval."""
    steps = np.diff(times.astype(np.int64))
    steps = steps[steps > 0]
    return 1e6 / steps[steps <= 10 * steps.mean()].mean()


def columns(peer, topic, fields):
    data = peer.topic(topic)
    return data["timestamp"], [data[field].astype(np.float64) for field in fields]


FIELDS = {
    "vehicle_torque_setpoint": [f"xyz[{axis}]" for axis in range(3)],
    "actuator_controls_0": [f"control[{axis}]" for axis in range(3)],
    "vehicle_angular_velocity": [f"xyz[{axis}]" for axis in range(3)],
    "vehicle_angular_acceleration": [f"xyz[{axis}]" for axis in range(3)],
    "sensor_combined": [f"accelerometer_m_s2[{axis}]" for axis in range(3)],
}


def transform(times, values, frequencies):
    """The sums of values times exp(-i 2 pi f t), by definition, a part at a time."""
    seconds = (times.astype(np.int64) - int(times[0])) / 1e6
    parts = np.array_split(frequencies, max(1, len(frequencies) * len(times) // 10_000_000))
    return np.concatenate(
        [np.exp(-2j * np.pi * np.outer(part, seconds)) @ values for part in parts]
    )


def lomb_scargle(times, values, frequencies):
    """The frequency at which SciPy's Lomb-Scargle periodogram is highest."""
    seconds = (times.astype(np.int64) - int(times[0])) / 1e6
    power = scipy.signal.lombscargle(seconds, values - values.mean(), 2 * np.pi * frequencies)
    return frequencies[np.argmax(power)]


def spectra(peer, ours):
    """2 / N times the absolute Fourier transform of all samples at their times, and the strongest
    frequency by SciPy's Lomb-Scargle, within one bin."""
    for spectrum in ours["spectra"]:
        times, values = columns(peer, spectrum["topic"], FIELDS[spectrum["topic"]])
        rate = mean_rate(times)
        yield from close("rate", spectrum["sample_rate_hz"], rate, 1e-9, 0)
        for line, value in zip(spectrum["lines"], values, strict=True):
            name = f"{spectrum['topic']} {line['name']}"
            count = len(value)
            bins = np.arange(count // 2) * rate / count
            amplitudes = 2 / count * np.abs(transform(times, value - value.mean(), bins))
            amplitudes[0] = 2 * abs(value.mean())
            group = -(-len(amplitudes) // 2048)
            highest = [amplitudes[at : at + group].max() for at in range(0, len(bins), group)]
            # The grid of the fast transform has an error of a millionth of the values.
            scale = np.abs(value).mean()
            yield from close(name, line["amplitudes"], highest, 1e-5, 4e-6 * scale)
            step = spectrum["frequency_step_hz"]
            yield from close(f"{name} step", step, rate / count * group, 1e-9, 0)
            noise = amplitudes[bins >= 40]
            if len(noise):
                mean = line["mean_above_40_hz"]
                yield from close(f"{name} noise", mean, noise.mean(), 1e-4, 4e-6 * scale)
            if len(highest) > 2 and np.ptp(value) > 0:
                strongest = (1 + np.argmax(line["amplitudes"][1:])) * step
                expected = lomb_scargle(times, value, bins[group:])
                if abs(strongest - expected) > step:
                    yield f"{name}: strongest at {strongest:.3f} Hz, by Lomb-Scargle {expected:.3f} Hz"


def spectrograms(peer, ours):
    """scipy.signal.spectrogram, summed over the axes (plotting.py, DataPlotSpec)."""
    for spectrogram in ours["spectrograms"]:
        topic = spectrogram["topic"]
        times, values = columns(peer, topic, FIELDS[topic])
        total = 0
        for value in values:
            frequencies, _, density = scipy.signal.spectrogram(
                value, fs=mean_rate(times), window="hann", nperseg=256, noverlap=128
            )
            total = total + density
        group = spectrogram["windows_per_column"]
        total = [total[:, at : at + group].mean(axis=1) for at in range(0, total.shape[1], group)]
        scale = np.max(total)
        yield from close(topic, spectrogram["density"], total, 1e-4, 1e-7 * scale)
        step = spectrogram["frequency_step_hz"]
        yield from close(f"{topic} step", step, frequencies[1], 1e-9, 0)


def flying(peer, end):
    """The times in the air, or else armed, in microseconds."""
    land, status = peer.topic("vehicle_land_detected"), peer.topic("vehicle_status")
    if land is not None:
        times, state = land["timestamp"], land["landed"] == 0
    else:
        times, state = status["timestamp"], status["arming_state"] == 2
    found, begun = [], None
    for time, on in zip(times.astype(np.int64), state, strict=True):
        if on and begun is None:
            begun = max(int(time), peer.start)
        elif not on and begun is not None:
            found.append((begun, int(time)))
            begun = None
    return found + ([(begun, end)] if begun is not None else [])


def step_response(setpoint, measured, least, used):
    """The step response by least squares, and its standard deviation by leaving out each of five
    parts; the arguments are times in microseconds and values. The equations of all windows are solved
    at once, with those of the smoothness as further rows. None if the deviation exceeds 0.1."""
    (sp_times, sp), (times, values) = (
        (t[np.isfinite(v)].astype(np.int64), v[np.isfinite(v)]) for t, v in (setpoint, measured)
    )
    interval = 1e6 / mean_rate(times)
    step = max(interval, 1e4)
    length, early = round(5e5 / step), 2
    count = round(1e6 / step)
    side = min(max(int(np.ceil(step / interval)), 4), 10)
    points = np.arange(1 - side, side)
    weights = (side - np.abs(points)) / side**2

    def smoothed(own_times, own_values, grid):
        near = grid[:, None] + points * step / side
        return np.interp(near, own_times, own_values) @ weights

    gaps = np.flatnonzero((np.diff(times) > 3 * interval) | (np.diff(times) < 1))
    total = length + count + early
    shift = max(int(count * step / 2), int((sp_times[-1] - sp_times[0]) / 5_000))
    rows, right = [], []
    for own in np.split(np.arange(len(times)), gaps + 1):
        start, end = max(times[own[0]], sp_times[0]), min(times[own[-1]], sp_times[-1])
        while start + int(total * step) <= end:
            if any(a <= start and start + int(total * step) < b for a, b in used):
                grid = start + np.arange(total) * step
                inputs = smoothed(sp_times, sp, grid)
                if least < np.abs(inputs).max() <= 500:
                    outputs = smoothed(times[own], values[own], grid[length : length + count])
                    at = np.arange(length, length + count)[:, None]
                    delayed = inputs[at - np.arange(-early, length)]
                    rows.append(delayed - delayed.mean(axis=0))
                    right.append(outputs - outputs.mean())
            start += shift
    if len(rows) < 4:
        return None

    def response(used):
        used_rows, used_right = np.concatenate(rows[used]), np.concatenate(right[used])
        weight = np.sqrt(1e-3 * (used_rows**2).mean() * len(used_rows))
        smooth = weight * np.diff(np.eye(length + early), axis=0)
        used_right = np.concatenate([used_right, np.zeros(len(smooth))])
        impulse = np.linalg.lstsq(np.concatenate([used_rows, smooth]), used_right)[0]
        return (np.cumsum(impulse) - impulse / 2)[early:]

    rows, right = np.array(rows), np.array(right)
    parts = np.arange(len(rows)) // 2 % 5
    partial = np.array([response(parts != part) for part in np.unique(parts)])
    student = scipy.stats.t.ppf(0.5 + 0.6827 / 2, len(partial) - 1)
    deviation = student * np.sqrt(len(partial) - 1) * partial.std(axis=0)
    if np.sqrt((deviation**2).mean()) > 0.1:
        return None
    return len(rows), response(parts >= 0), deviation


def quaternion_angle(data, field, axis):
    w, x, y, z = (data[f"{field}[{at}]"].astype(np.float64) for at in range(4))
    if axis == "roll":
        return np.degrees(np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)))
    return np.degrees(np.arcsin(np.clip(2 * (w * y - z * x), -1, 1)))


def step_responses(peer, ours, end):
    used = flying(peer, end)
    found = {(one["controller"], one["axis"]): one for one in ours["step_responses"]}
    velocity, attitude = peer.topic("vehicle_angular_velocity"), peer.topic("vehicle_attitude")
    rates_sp, attitude_sp = (
        peer.topic("vehicle_rates_setpoint"),
        peer.topic("vehicle_attitude_setpoint"),
    )
    cases = []
    for axis, name in enumerate(["roll", "pitch", "yaw"]):
        if rates_sp is None:
            break
        if velocity is not None:
            measured = (velocity["timestamp"], np.degrees(velocity[f"xyz[{axis}]"].astype(float)))
        else:
            measured = (attitude["timestamp"], np.degrees(attitude[f"{name}speed"].astype(float)))
        setpoint = (rates_sp["timestamp"], np.degrees(rates_sp[name].astype(float)))
        cases.append((("rate", name), setpoint, measured, 20))
    if attitude is not None and attitude_sp is not None:
        for name in ("roll", "pitch"):
            angle = quaternion_angle(attitude_sp, "q_d", name)
            measured = (attitude["timestamp"], quaternion_angle(attitude, "q", name))
            cases.append((("attitude", name), (attitude_sp["timestamp"], angle), measured, 5))
    for key, setpoint, measured, least in cases:
        theirs, mine = step_response(setpoint, measured, least, used), found.pop(key, None)
        if theirs is None or mine is None:
            if theirs is not mine:
                yield f"{key}: {'none' if mine is None else 'one'}, unlike NumPy"
            continue
        windows, response, deviation = theirs
        yield from close(f"{key} windows", mine["windows"], windows, 0, 0)
        yield from close(f"{key} response", mine["response"], response, 1e-3, 1e-3)
        yield from close(f"{key} deviation", mine["deviation"], deviation, 1e-3, 1e-3)
    yield from (f"{key}: only ours" for key in found)


def diagnoses(path, ours):
    """Only justified diagnoses, with their numbers."""
    counts = {}
    for diagnosis in ours["diagnoses"]:
        counts[diagnosis["kind"]] = counts.get(diagnosis["kind"], 0) + 1
    expected = EXPECTED.get(path.name, {})
    for kind in sorted(set(counts) | set(expected)):
        got, want = counts.get(kind, 0), expected.get(kind, 0)
        if (got > 0) != (want > 0) or got < want:
            yield f"{kind}: {got}, not {want}"


def correlation(peer, ours):
    """Thrust and field (numpy.corrcoef, numpy.polyfit)."""
    mag = peer.topic("vehicle_magnetometer")
    thrust = peer.topic("vehicle_thrust_setpoint")
    if mag is None:
        return
    if thrust is not None:
        value = np.sqrt(sum(thrust[f"xyz[{axis}]"].astype(float) ** 2 for axis in range(3)))
    elif (thrust := peer.topic("actuator_controls_0")) is not None:
        value = thrust["control[3]"].astype(float)
    else:
        return
    field = np.sqrt(sum(mag[f"magnetometer_ga[{axis}]"].astype(float) ** 2 for axis in range(3)))
    known = np.isfinite(value)
    known_times = thrust["timestamp"][known].astype(np.int64)
    times = mag["timestamp"].astype(np.int64)
    inside = (times >= known_times[0]) & (times <= known_times[-1]) & np.isfinite(field)
    at = np.interp(times[inside], known_times, value[known])
    field = field[inside]
    found = ours["thrust_and_field"]
    if len(at) < 50 or at.std() == 0 or field.std() == 0:
        yield from [] if found is None else ["a correlation of nothing"]
        return
    expected = np.corrcoef(at, field)[0, 1]
    yield from close("coefficient", found["coefficient"], expected, 1e-6, 1e-9)
    yield from close("slope", found["slope_ga"], np.polyfit(at, field, 1)[0], 1e-6, 1e-9)


def compare(path):
    tally = Tally(path.name, [])
    peer = Peer(path)
    ours = json.loads(run("flight", "--signals", "--json", path))
    # Both agree on the end, or the log has impossible times, which only pyulog includes.
    end = ours["start_ns"] // 1000 + round(ours["statistics"]["log_s"] * 1e6)
    theirs = statistics(peer, end)
    different = []
    for name, value in theirs.items():
        ours_value = ours["statistics"][name]
        # NumPy computes with the 32 bits of the log.
        near = {"armed_s": 2e-3, "airborne_s": 2e-3, "max_tilt_deg": 1e-3}.get(name, 1e-4)
        different += close(name, ours_value, value, 1e-5, near)
    tally.check("statistics", different, f"{len(theirs)} values by Flight Review's formulas")
    signals = ours["signals"]
    count = len(signals["spectra"])
    tally.check("spectra", spectra(peer, signals), f"{count} topics by definition, and by Lomb-Scargle")
    count = len(signals["spectrograms"])
    tally.check("spectrograms", spectrograms(peer, signals), f"{count} topics by scipy.signal")
    found = [f"{one['controller']} {one['axis']}" for one in signals["step_responses"]]
    note = ", ".join(found) or "none, as in NumPy"
    tally.check("step responses", step_responses(peer, signals, end), note)
    tally.check("correlation", correlation(peer, ours), "of thrust and field by NumPy")
    kinds = sorted({diagnosis["kind"] for diagnosis in ours["diagnoses"]})
    tally.check("diagnoses", diagnoses(path, ours), ", ".join(kinds) or "none")
    return tally


#: The intervals of made logs in milliseconds, which repeat, and the time in seconds of a dropout.
MADE_TIMES = {
    "100 Hz": ([10], None),
    "250 Hz": ([4], None),
    "100 Hz, uneven": ([8, 8, 14], None),
    "100 Hz, with a dropout": ([10], (9.0, 12.3)),
    "100 Hz, uneven, with a dropout": ([8, 8, 14], (9.0, 12.3)),
    "100 Hz, with lost records": ([10, 10, 20, 10], (15.0, 15.2)),
}
#: The time constants of made plants in seconds.
CONSTANTS = (0.03, 0.06, 0.1)
#: The durations of made logs of plants in seconds, with the greatest overshoot in percent.
DURATIONS = {60: 1, 6: 3}


def made_times(intervals, dropout):
    steps = np.tile(intervals, 60_000 // sum(intervals))
    times = np.concatenate([[0], np.cumsum(steps)]) / 1e3
    if dropout:
        times = times[(times < dropout[0]) | (times >= dropout[1])]
    return times


def made_log(path, topics):
    """Writes a log of topics: a name with the times and the three columns."""
    log = [MAGIC + struct.pack("<Q", 1_000_000), message("B", bytes(40))]
    fields = {"vehicle_rates_setpoint": "float roll;float pitch;float yaw;"}
    records = []
    for index, (name, (times, values)) in enumerate(topics.items()):
        layout = fields.get(name, "float[3] xyz;")
        log.append(message("F", f"{name}:uint64_t timestamp;{layout}".encode()))
        log.append(message("A", struct.pack("<BH", 0, index) + name.encode()))
        for time, row in zip(times, values, strict=True):
            micros = 1_000_000 + round(time * 1e6)
            records.append((micros, struct.pack("<HQ3f", index, micros, *row)))
    log += [message("D", data) for _, data in sorted(records, key=lambda record: record[0])]
    path.write_bytes(b"".join(log))


def made_tones(folder):
    """A tone in noise, and a trend: the strongest frequency is that of the tone, and SciPy's."""
    noise = np.random.default_rng(1)
    for name, (intervals, dropout) in MADE_TIMES.items():
        times = made_times(intervals, dropout)
        times = times[times < 20]
        tones = (20.0, 7.3, 31.7)
        values = np.stack([np.sin(2 * np.pi * tone * times) for tone in tones], axis=1)
        values += 0.3 * noise.standard_normal(values.shape)
        path = folder / "tone.ulg"
        made_log(path, {"vehicle_angular_velocity": (times, values)})
        signals = json.loads(run("flight", "--signals", "--json", path))["signals"]
        different = list(spectra(Peer(path), signals))
        spectrum = signals["spectra"][0]
        step = spectrum["frequency_step_hz"]
        for line, tone in zip(spectrum["lines"], tones, strict=True):
            strongest = (1 + np.argmax(line["amplitudes"][1:])) * step
            if abs(strongest - tone) > step:
                different.append(f"{strongest:.3f} Hz, not {tone} Hz")
        yield f"tones, {name}", different


def made_plants(folder):
    """Plants of the first order, simulated by SciPy: their final value, no overshoot."""
    random = np.random.default_rng(2)
    fine = np.arange(0, 60.5, 1e-3)
    cases = [(*case, seconds) for case in MADE_TIMES.items() for seconds in DURATIONS]
    for name, (intervals, dropout), seconds in cases:
        if dropout and dropout[1] > seconds:
            continue
        times = made_times(intervals, dropout)
        times = times[times <= seconds]
        setpoints, outputs = [], []
        for constant in CONSTANTS:
            changes = np.cumsum(random.uniform(0.3, 0.8, 200))
            levels = random.uniform(-2, 2, 201)
            setpoint = levels[np.searchsorted(changes, fine, side="right")]
            _, output, _ = scipy.signal.lsim(([1], [constant, 1]), setpoint, fine, interp=False)
            setpoints.append(np.interp(times, fine, setpoint))
            outputs.append(np.interp(times, fine, output))
        path = folder / "plant.ulg"
        made_log(
            path,
            {
                "vehicle_rates_setpoint": (times, np.stack(setpoints, axis=1)),
                "vehicle_angular_velocity": (times, np.stack(outputs, axis=1)),
            },
        )
        responses = json.loads(run("flight", "--signals", "--json", path))["signals"]["step_responses"]
        different = [] if len(responses) == 3 else [f"{len(responses)} responses"]
        for response, constant in zip(responses, CONSTANTS, strict=False):
            end, metrics = response["response"][-1], response["metrics"]
            if abs(end - 1) > 0.02 or metrics["overshoot_percent"] > DURATIONS[seconds]:
                different.append(f"{constant} s: ends at {end:.3f}, {metrics}")
            at = np.arange(len(response["response"])) * response["time_step_s"]
            error = np.abs(response["response"] - (1 - np.exp(-at / constant)))
            # The first two values share the step with the time between two samples.
            if error[2:].max() > 0.05:
                different.append(f"{constant} s: {error[2:].max():.3f} from the response of the plant")
        yield f"plants, {name}, {seconds} s", different


def main():
    samples = Path(os.environ["LOGTOOL_SAMPLES"]) / "ulog"
    given = [Path(argument) for argument in sys.argv[1:]]
    paths = given or sorted(path for path in samples.glob("*.ulg") if "yulelog" not in path.name)
    failed = passed = 0
    for path in paths:
        tally = compare(path)
        print("\n".join(tally.lines))
        failed, passed = failed + tally.failed, passed + tally.passed
    if not given:
        tally = Tally("made", [])
        with tempfile.TemporaryDirectory() as folder:
            for made in (made_tones, made_plants):
                for name, different in made(Path(folder)):
                    tally.check(name, different)
        print("\n".join(tally.lines))
        failed, passed = failed + tally.failed, passed + tally.passed
    print(f"{len(paths)} logs: {passed} checks passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
