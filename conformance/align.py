"""Cuts two logs of one flight, with clocks that are a known offset and drift apart and with
noise of their own, and lets `logtool align` find them. An alignment by NumPy alone, of the same
signals as pyulog reads them, has to find the same. Logs of different flights have to be refused.

Usage: align.py [ULOG...]: flights in which something moves
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from mcap.reader import make_reader
from pyulog import ULog
from tally import Tally

OFFSET, DRIFT = 2.345, 50e-6
# The tolerances, in seconds and in ppm.
NEAR, DRIFT_NEAR = 0.002, 5.0
SIGNAL = "sensor_combined.gyro_rad"
FLIGHT = "px4ulogrs_quadrotor_local.ulg"
# Other flights; the last vehicle hardly moves.
OTHERS = ["flightreviewrs_battery_brownout.ulg", "ulogrs_sample-small.ulg", "pyulog_sample.ulg"]


def cut(data, clock, span, noise, seed):
    """The log `data` between two shares of its time, with the times that `clock` makes of
    its own and with noise on its gyro: so many shares of what the gyro's numbers vary by."""
    random, out, at = np.random.default_rng(seed), bytearray(data[:16]), 16
    messages, gyro = [], None
    while at + 3 <= len(data):
        size, kind = struct.unpack_from("<HB", data, at)
        messages.append((kind, data[at : at + 3 + size]))
        if kind == ord("A") and data[at + 6 : at + 3 + size] == b"sensor_combined" and data[at + 3] == 0:
            gyro = struct.unpack_from("<H", data, at + 4)[0]
        at += 3 + size
    is_gyro = [kind == ord("D") and struct.unpack_from("<H", m, 3)[0] == gyro for kind, m in messages]
    of_gyro = [m for (_, m), own in zip(messages, is_gyro, strict=True) if own]
    rates = np.array([struct.unpack_from("<3f", m, 13) for m in of_gyro])
    times = np.array([struct.unpack_from("<Q", m, 5)[0] for m in of_gyro])
    start, end = (times[0] + share * (times[-1] - times[0]) for share in span)
    level = noise * rates.std(axis=0)
    for (kind, message), own in zip(messages, is_gyro, strict=True):
        if kind != ord("D"):
            if kind not in b"O":
                out += message
            continue
        time = struct.unpack_from("<Q", message, 5)[0]
        if not start <= time <= end:
            continue
        message = bytearray(message)
        struct.pack_into("<Q", message, 5, round(clock(time / 1e6) * 1e6))
        if own:
            rate = np.array(struct.unpack_from("<3f", message, 13)) + random.normal(0, level)
            struct.pack_into("<3f", message, 13, *rate)
        out += message
    return bytes(out)


def norms(path):
    """Returns the norm of the angular velocity, by time in seconds."""
    data = ULog(str(path), ["sensor_combined"]).data_list[0].data
    rates = np.stack([data[f"gyro_rad[{axis}]"] for axis in range(3)], -1)
    return data["timestamp"] / 1e6, np.linalg.norm(rates, axis=1)


def shift(one, other, guess, reach, step):
    """By how much the times of `other` have to be moved so that both fit best: the best of
    the steps around `guess`, and the top of a parabola through it and its neighbours."""
    times, values = other
    shifts = guess + np.arange(-reach, reach + step / 2, step)
    fits = []
    for by in shifts:
        at = times + by
        inside = (at > one[0][0]) & (at < one[0][-1])
        mine = np.interp(at[inside], *one)
        fits.append(np.corrcoef(mine, values[inside])[0, 1] if inside.sum() > 500 else -1)
    best = int(np.argmax(fits))
    if not 0 < best < len(fits) - 1:
        return shifts[best], fits[best]
    low, top, high = fits[best - 1 : best + 2]
    return shifts[best] + step * 0.5 * (low - high) / (low - 2 * top + high), top


def by_numpy(one, other):
    """The shift at the middles of windows: a line through them tells offset and drift."""
    rough, _ = shift(one, other, 0.0, 10.0, 0.01)
    times, values = other
    middles, found = [], []
    for start in np.arange(times[0], times[-1] - 20, 10):
        inside = (times >= start) & (times < start + 20)
        if np.interp(start + rough, one[0], one[0]) == start + rough:
            by, fit = shift(one, (times[inside], values[inside]), rough, 0.03, 0.002)
            if fit > 0.5:
                middles.append(start + 10)
                found.append(by)
    middles, found = np.array(middles), np.array(found)
    for _ in range(3):  # what is far off the line is left out
        drift, offset = np.polyfit(middles, found, 1)
        off = np.abs(found - (offset + drift * middles))
        keep = off <= max(3 * np.median(off), 1e-4)
        middles, found = middles[keep], found[keep]
    return lambda time: time + offset + drift * time


def align(one, other):
    """Returns the output of `align`, and its exit status."""
    command = [os.environ["LOGTOOL"], "align", "--json", one, other, "--signal", SIGNAL, SIGNAL]
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else {}


def differences(found, truth, numpy, times):
    for time in times:
        since = time - found["reference_s"]
        ours = time + found["offset_s"] + found["drift_ppm"] * 1e-6 * since
        if abs(ours - truth(time)) > NEAR:
            yield f"{time} s of B are {ours} s of A, not {truth(time)}"
        if abs(ours - numpy(time)) > 2 * NEAR:
            yield f"{time} s of B are {ours} s of A, by NumPy {numpy(time)}"
    if abs(found["drift_ppm"] - DRIFT * 1e6) > DRIFT_NEAR:
        yield f"a drift of {found['drift_ppm']}, not {DRIFT * 1e6}"


def check(path, tally, folder):
    data = path.read_bytes()
    one, other = folder / f"{path.stem}_a.ulg", folder / f"{path.stem}_b.ulg"
    one.write_bytes(cut(data, lambda time: time, (0.0, 0.85), 0.05, 1))
    # A drifting clock is slow or fast: B shows this time when A shows `t`.
    other.write_bytes(cut(data, lambda time: (time - OFFSET) / (1 + DRIFT), (0.1, 1.0), 0.05, 2))
    status, found = align(one, other)
    if status != 0 or not found.get("aligned"):
        tally.check("aligned", [f"status {status}, {found}"])
        return one
    signals = norms(one), norms(other)
    numpy = by_numpy(*signals)
    times = np.linspace(signals[1][0][0], signals[0][0][-1], 5)
    wrong = differences(found, lambda time: time * (1 + DRIFT) + OFFSET, numpy, times)
    note = f"{found['offset_s']} s at {found['reference_s']} s, {found['drift_ppm']} ppm"
    tally.check("aligned", wrong, note)
    tally.check("merged", merged(one, other, found, folder))
    return one


def merged(one, other, found, folder):
    """Yields differences from the true times after `merge` has applied the alignment."""
    fit, made = folder / "fit.json", folder / "made.mcap"
    fit.write_text(json.dumps(found))
    command = [os.environ["LOGTOOL"], "merge", "--quiet", one, other, "-o", made, "--force", "--align", fit]
    subprocess.run([str(word) for word in command], check=True)
    times = {}
    with made.open("rb") as file:
        for _, channel, message in make_reader(file).iter_messages():
            if channel.topic.endswith("/sensor_combined"):
                times.setdefault(channel.topic, []).append(message.log_time / 1e9)
    own, theirs = sorted((np.array(of) for of in times.values()), key=lambda of: of[0])
    inside = theirs[(theirs > own[0]) & (theirs < own[-1])]
    near = np.searchsorted(own, inside)
    off = np.minimum(np.abs(own[near] - inside), np.abs(own[near - 1] - inside))
    # Those of A were logged at the same moments.
    if not len(inside) or off.max() > NEAR:
        yield f"{len(inside)} records, off by up to {off.max(initial=0)} s"


def main():
    samples = Path(os.environ["LOGTOOL_SAMPLES"]) / "ulog"
    paths = [Path(path) for path in sys.argv[1:]] or [samples / FLIGHT]
    others = [samples / name for name in OTHERS]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in filter(Path.exists, paths):
            tally = Tally(path.name, [])
            made = check(path, tally, Path(folder))
            for other in filter(Path.exists, others):
                status, found = align(made, other)
                is_refused = status == 1 and found.get("aligned") is False
                tally.check(f"{other.name} refused", [] if is_refused else [f"status {status}, {found}"])
            print("\n".join(tally.lines))
            failed += tally.failed
    sys.exit(failed > 0)


main()
