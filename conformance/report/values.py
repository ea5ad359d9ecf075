"""Compares the values in the pages of ULogs with those that pyulog reads, and the diagnoses and the
spectra with those that `logtool flight` prints."""

import base64
import html
import json
import re
import tempfile
from pathlib import Path

import numpy as np
from logtool import run
from pyulog import ULog

#: Lines of plots: the title, the name, the topic, the instance, the fields, and a function of the
#: values of the fields (NumPy). Fields of other releases of PX4 are other rows.
ESCS = [
    (title, f"ESC {esc}", "esc_status", 0, [f"esc[{esc}].{field}"], None)
    for title, field in (
        ("Motor speed", "esc_rpm"),
        ("ESC current", "esc_current"),
        ("ESC voltage", "esc_voltage"),
        ("ESC temperature", "esc_temperature"),
    )
    for esc in range(8)
]
OUTPUTS = [
    (title, f"output {number}", "actuator_outputs", instance, [f"output[{number}]"], None)
    for instance, title in enumerate(
        ("Actuator outputs (main)", "Actuator outputs (aux)", "Actuator outputs (extra)")
    )
    for number in range(16)
]
CHECKS = [
    ("Estimator checks", name, "estimator_status", 0, ["innovation_check_flags"], bit)
    for name, bit in (
        ("velocity rejected", lambda flags: flags.astype(int) & 1),
        ("magnetic field x rejected", lambda flags: flags.astype(int) >> 3 & 1),
        ("airspeed rejected", lambda flags: flags.astype(int) >> 7 & 1),
        ("height above ground rejected", lambda flags: flags.astype(int) >> 9 & 1),
    )
]


def norm(*values):
    return np.sqrt(sum(value**2 for value in values))


LINES = [
    *ESCS,
    *OUTPUTS,
    *CHECKS,
    ("Airspeed", "true airspeed", "airspeed_validated", 0, ["true_airspeed_m_s"], None),
    ("Airspeed", "indicated airspeed", "airspeed", 0, ["indicated_airspeed_m_s"], None),
    ("Airspeed", "ground speed, estimated", "vehicle_local_position", 0, ["vx", "vy"], norm),
    ("TECS: height rate", "height rate", "tecs_status", 0, ["height_rate"], None),
    ("TECS: height rate", "setpoint", "tecs_status", 0, ["height_rate_setpoint"], None),
    ("TECS: pitch", "setpoint", "tecs_status", 0, ["pitch_sp_rad"], np.rad2deg),
    ("Distance sensor", "distance (m)", "distance_sensor", 0, ["current_distance"], None),
    ("Raw radio control", "channel 1", "input_rc", 0, ["values[0]"], None),
    ("Raw radio control", "channel 8", "input_rc", 0, ["values[7]"], None),
    ("Temperature", "barometer", "sensor_baro", 0, ["temperature"], None),
    ("Temperature", "accel 0", "sensor_accel", 0, ["temperature"], None),
    ("Power rails", "5 V", "system_power", 0, ["voltage5v_v"], None),
    ("Power rails", "5 V", "system_power", 0, ["voltage5V_v"], None),
    ("Power rails", "3.3 V", "system_power", 0, ["sensors3v3[0]"], None),
    ("Battery", "voltage (V)", "battery_status", 0, ["voltage_v"], None),
    ("Battery", "discharged (100 mAh)", "battery_status", 0, ["discharged_mah"], lambda q: q / 100),
    ("Estimator test ratios", "height", "estimator_status", 0, ["hgt_test_ratio"], None),
    ("Roll rate", "integral (× 100)", "rate_ctrl_status", 0, ["rollspeed_integ"], lambda i: i * 100),
    ("Motor outputs", "motor 0", "actuator_motors", 0, ["control[0]"], None),
    ("Manual control", "aux 1", "manual_control_setpoint", 0, ["aux1"], None),
    ("Telemetry radio", "signal strength", "radio_status", 0, ["rssi"], None),
    ("Clipping", "accel 0, x", "vehicle_imu_status", 0, ["accel_clipping[0]"], None),
    ("CPU and RAM", "CPU", "cpuload", 0, ["load"], lambda load: load * 100),
]


class PageData:
    """A page, and the data of its plots."""

    def __init__(self, page):
        self.text = page
        data = re.search(r'<script type="application/json" id="plots">(.*?)</script>', page, re.DOTALL)
        data = json.loads(data.group(1))
        self.plots = {plot["title"]: plot for plot in data["plots"]}
        self.backgrounds = data["backgrounds"]

    def line(self, title, name):
        lines = self.plots.get(title, {}).get("lines", [])
        return next((line for line in lines if line["name"] == name), None)


def topic(log, name, instance):
    found = (data.data for data in log.data_list if (data.name, data.multi_id) == (name, instance))
    return next(found, None)


def differences_of_line(line, plot, seconds, values):
    """Each point is a sample of the log, and the extremes of the log are points. The page has
    seconds with four decimals and values with seven digits."""
    points = [(x, y) for x, y in zip(line["x"], line["y"], strict=True) if y is not None]
    start, end = plot["range"]
    if line["held"] and points and points[-1][0] == end:
        points.pop()
    shown = np.isfinite(values) & (seconds >= start - 1e-4) & (seconds <= end + 1e-4)
    seconds, values = seconds[shown], values[shown]
    if not len(values) or not points:
        return [f"{len(points)} points of {len(values)} samples"]
    differences = []
    for x, y in points[:: max(1, len(points) // 200)]:
        near = values[np.abs(seconds - x) < 1e-4]
        if not len(near) or np.abs(near - y).min() > 1e-6 * max(1, abs(y)):
            differences.append(f"{y} at {x}, not {near[:3]}")
    ours = [y for _, y in points]
    for which in (min, max):
        if abs(which(ours) - which(values)) > 1e-6 * max(1, abs(which(values))):
            differences.append(f"{which.__name__} {which(ours)}, not {which(values)}")
    return differences


def lines(page, log, first):
    """Yields the differences of the lines that both have, and their number."""
    count, differences = 0, []
    for title, name, topic_name, instance, fields, function in LINES:
        line, data = page.line(title, name), topic(log, topic_name, instance)
        if line is None or data is None or not all(field in data for field in fields):
            continue
        values = [data[field].astype(np.float64) for field in fields]
        values = function(*values) if function else values[0]
        seconds = (data["timestamp"].astype(np.float64) - first) / 1e6
        found = differences_of_line(line, page.plots[title], seconds, values)
        differences += [f"{title}, {name}: {difference}" for difference in found]
        count += 1
    return count, differences


def intervals(page, log, first):
    line = page.line("Sampling regularity", "interval of sensor_combined")
    data = topic(log, "sensor_combined", 0)
    if line is None or data is None:
        return 0, []
    times = data["timestamp"].astype(np.float64)
    plot = page.plots["Sampling regularity"]
    return 1, differences_of_line(line, plot, (times[1:] - first) / 1e6, np.diff(times))


def flags(page, log, first):
    """Yields the differences of flags: each that was set in the log is a row, and no other."""
    plot, differences, count = page.plots.get("Failsafe flags"), [], 0
    data = topic(log, "failsafe_flags", 0)
    if data is None:
        return 0, []
    types = next(d.field_data for d in log.data_list if d.name == "failsafe_flags")
    names = [field.field_name for field in types if field.type_str == "bool"]
    # Values from before the header's start count as well: flags hold.
    was_set = {name for name in names if data[name].any()}
    shown = {line["name"] for line in plot["lines"]} if plot else set()
    if was_set != shown & set(names):
        differences.append(f"shown {sorted(shown & set(names))}, not {sorted(was_set)}")
    for name in was_set & shown:
        seconds = (data["timestamp"].astype(np.float64) - first) / 1e6
        found = differences_of_line(page.line("Failsafe flags", name), plot, seconds, data[name])
        differences += [f"{name}: {difference}" for difference in found]
        count += 1
    return count, differences


def diagnoses(page, flight):
    """The first table has the diagnoses that `logtool flight` prints: of each kind, the worst."""
    section = page.text.split("<h2>Summary", 1)[1].split("</section>", 1)[0]
    rows = re.findall(r"<tr[^>]*><td>(critical|warning)</td><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>", section)
    differences = []
    kinds = {}
    for one in flight["diagnoses"]:
        kinds.setdefault(one["kind"], []).append(one)
    if len(rows) != len(kinds):
        differences.append(f"{len(rows)} diagnoses, not {len(kinds)}")
    for severity, _, text, evidence in rows:
        text, evidence = html.unescape(text), html.unescape(evidence)
        shown = [one for own in kinds.values() for one in own if text.endswith(one["summary"])]
        if not shown:
            differences.append(f"{severity} {text}: there is no such diagnosis")
            continue
        theirs = shown[0]
        has_warnings_only = "critical" not in [one["severity"] for one in kinds[theirs["kind"]]]
        if severity != ("warning" if has_warnings_only else "critical"):
            differences.append(f"{text} is {severity}")
        names = [one["name"] for one in theirs["evidence"]]
        differences += [f"{text}: no evidence of {name}" for name in names if name not in evidence]
    return differences


def signals(page, flight):
    """The spectra and the heat maps have the numbers that `logtool flight` prints."""
    differences = []
    for spectrum in flight["signals"]["spectra"]:
        plot = page.plots[f"Spectrum of {spectrum['title']}"]
        for curve, line in zip(plot["curves"], spectrum["lines"], strict=True):
            group = -(-len(line["amplitudes"]) // 1024)
            amplitudes = line["amplitudes"]
            highest = [max(amplitudes[at : at + group]) for at in range(0, len(amplitudes), group)]
            if not np.allclose(curve["y"], highest, rtol=1e-3, atol=0):
                differences.append(f"{plot['title']}, {line['name']}")
    for spectrogram in flight["signals"]["spectrograms"]:
        plot = page.plots[f"Spectrogram of {spectrogram['title']}"]
        density = np.array(spectrogram["density"])
        group = -(-len(density) // 512)
        density = np.array([density[at : at + group].mean(axis=0) for at in range(0, len(density), group)])
        with np.errstate(divide="ignore", invalid="ignore"):
            levels = 255 * np.clip(1 + 10 * np.log10(density / density.max()) / 60, 0, 1)
        levels = np.nan_to_num(levels)
        ours = np.frombuffer(base64.b64decode(plot["levels"]), dtype=np.uint8)
        if ours.size != levels.size or np.abs(ours - levels.ravel()).max() > 0.6:
            differences.append(plot["title"])
    return differences


def marks(page, log):
    """Each parameter that changed is in a mark, unless marks are so close that they are one. Plots have one of
    several backgrounds, all with the same marks."""
    differences = []
    for background in page.backgrounds:
        kinds = [mark[3] for mark in background["marks"]]
        for kind, theirs in (("parameter change", log.changed_parameters), ("dropout", log.dropouts)):
            count = kinds.count(kind)
            if bool(count) != bool(theirs) or count > len(theirs):
                differences.append(f"{count} marks of {kind}, not {len(theirs)}")
    return differences


def compare(path):
    """Returns what was compared of a log, and the differences."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "page.html"
        run("report", path, "-o", out)
        page = PageData(out.read_text(encoding="utf-8"))
    flight = json.loads(run("flight", "--signals", "--json", path))
    log = ULog(str(path), disable_str_exceptions=True)
    first = flight["start_ns"] / 1000
    differences, counts = [], []
    for check in (lines, intervals, flags):
        count, found = check(page, log, first)
        counts.append(count)
        differences += found
    differences += diagnoses(page, flight) + signals(page, flight) + marks(page, log)
    count = len(flight["diagnoses"])
    return f"{sum(counts)} lines, {len(page.plots)} plots, {count} diagnoses", differences
