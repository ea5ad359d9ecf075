"""Compares `logtool flight` with NumPy and SciPy on the values that pyulog reads: statistics by
the formulas of Flight Review, spectra and spectrograms by scipy, step responses by an own
implementation of PID-Analyzer's method, and for each diagnosis the evidence in the log. Logs of
sound flights must have no diagnoses but those that are listed here with the reason.

Usage: flight.py [ULOG...]
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import scipy.signal
from logtool import run
from pyulog import ULog
from pyulog.px4 import PX4ULog
from scipy.ndimage import gaussian_filter1d
from tally import Tally

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
    metrics = [imu["accel_vibration_metric"] for imu in peer.instances("vehicle_imu_status")]
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


def median_rate(times):
    steps = np.diff(times.astype(np.int64))
    steps = np.sort(steps[steps > 0])
    return 1e6 / steps[len(steps) // 2]


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


def spectra(peer, ours):
    """2 / N |FFT| of all samples (plotting.py, DataPlotFFT)."""
    for spectrum in ours["spectra"]:
        times, values = columns(peer, spectrum["topic"], FIELDS[spectrum["topic"]])
        rate = mean_rate(times)
        yield from close("rate", spectrum["sample_rate_hz"], rate, 1e-9, 0)
        for line, value in zip(spectrum["lines"], values, strict=True):
            name = f"{spectrum['topic']} {line['name']}"
            count = len(value)
            amplitudes = 2 / count * np.abs(np.fft.rfft(value))[: count // 2]
            bins = np.arange(len(amplitudes)) * rate / count
            group = -(-len(amplitudes) // 2048)
            highest = [amplitudes[at : at + group].max() for at in range(0, len(bins), group)]
            scale = amplitudes.max()
            yield from close(name, line["amplitudes"], highest, 1e-5, 1e-6 * scale)
            step = spectrum["frequency_step_hz"]
            yield from close(f"{name} step", step, rate / count * group, 1e-9, 0)
            noise = amplitudes[bins >= 40]
            if len(noise):
                mean = line["mean_above_40_hz"]
                yield from close(f"{name} noise", mean, noise.mean(), 1e-6, 1e-9)


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


def wiener(inputs, outputs, rate):
    """PID-Analyzer's deconvolution of windows (pid_analysis.py, wiener_deconvolution)."""
    length = inputs.shape[1]
    pad = 1024 - length % 1024
    inputs, outputs = (np.pad(each, [[0, 0], [0, pad]]) for each in (inputs, outputs))
    h, g = np.fft.fft(inputs, axis=1), np.fft.fft(outputs, axis=1)
    mask = np.zeros(length + pad)
    if rate / 2 >= 25 * 1.2:
        mask[np.abs(np.fft.fftfreq(length + pad, 1 / rate)) >= 25] = 1
        mask = gaussian_filter1d(mask, np.sum(1 - mask) / 6)
        mask -= mask.min()
        mask /= mask.max()
    noise = 1 / (10 * (1 - mask + 1e-9))
    impulse = np.real(np.fft.ifft(g * np.conj(h) / (np.abs(h) ** 2 + noise), axis=1))
    return impulse[:, : round(0.5 * rate)].cumsum(axis=1)


def most_common(responses):
    """PID-Analyzer's average (pid_analysis.py, weighted_mode_avr)."""
    average, positions = [], np.linspace(-1.5, 3.5, 1000)
    for values in responses.T:
        counts, _ = np.histogram(values, bins=1000, range=(-1.5, 3.5))
        smooth = gaussian_filter1d(counts.astype(float), 7, mode="constant")
        average.append(np.average(positions, weights=smooth**2) if counts.any() else 0.0)
    return np.array(average)


def step_response(setpoint, measured, least, used):
    """The step response; the arguments are times in microseconds and values."""
    (sp_times, sp), (times, values) = (
        (t[np.isfinite(v)].astype(np.int64), v[np.isfinite(v)]) for t, v in (setpoint, measured)
    )
    rate = median_rate(times)
    step = round(1e6 / rate)
    length = round(rate)
    # Not more than 20,000 windows.
    shift = max(length // 16, -(-3 * len(times) // 20_000), 1)
    gaps = np.flatnonzero((np.diff(times) > 3 * step) | (np.diff(times) < 1))
    inputs, outputs = [], []
    for rows in np.split(np.arange(len(times)), gaps + 1):
        start, end = max(times[rows[0]], sp_times[0]), min(times[rows[-1]], sp_times[-1])
        count = (end - start) // step
        for at in range(0, count + 2 - length, shift):
            grid = start + (at + np.arange(length)) * step
            if any(a <= grid[0] and grid[-1] < b for a, b in used):
                inputs.append(np.interp(grid, sp_times, sp))
                outputs.append(np.interp(grid, times[rows], values[rows]))
    if not inputs:
        return None
    window = np.hanning(length)
    inputs, outputs = np.array(inputs) * window, np.array(outputs) * window
    strength = np.abs(inputs).max(axis=1)
    usual = (strength > least) & (strength <= 500)
    if usual.sum() < 10:
        return None
    responses = wiener(inputs[usual], outputs[usual], rate)
    return usual.sum(), most_common(responses), responses.mean(axis=0), responses.std(axis=0)


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
        windows, response, mean, deviation = theirs
        yield from close(f"{key} windows", mine["windows"], windows, 0, 0)
        # Both histograms may put a value at the edge of a bin on either side: half a bin.
        yield from close(f"{key} response", mine["response"], response, 0, 0.0025)
        yield from close(f"{key} mean", mine["mean"], mean, 1e-5, 1e-5)
        yield from close(f"{key} deviation", mine["deviation"], deviation, 1e-4, 1e-4)
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
    tally.check("spectra", spectra(peer, signals), f"{count} topics by numpy.fft")
    count = len(signals["spectrograms"])
    tally.check("spectrograms", spectrograms(peer, signals), f"{count} topics by scipy.signal")
    found = [f"{one['controller']} {one['axis']}" for one in signals["step_responses"]]
    note = ", ".join(found) or "none, as in NumPy"
    tally.check("step responses", step_responses(peer, signals, end), note)
    tally.check("correlation", correlation(peer, ours), "of thrust and field by NumPy")
    kinds = sorted({diagnosis["kind"] for diagnosis in ours["diagnoses"]})
    tally.check("diagnoses", diagnoses(path, ours), ", ".join(kinds) or "none")
    return tally


def main():
    samples = Path(os.environ["LOGTOOL_SAMPLES"]) / "ulog"
    given = [Path(argument) for argument in sys.argv[1:]]
    paths = given or sorted(path for path in samples.glob("*.ulg") if "yulelog" not in path.name)
    failed = passed = 0
    for path in paths:
        tally = compare(path)
        print("\n".join(tally.lines))
        failed, passed = failed + tally.failed, passed + tally.passed
    print(f"{len(paths)} logs: {passed} checks passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
