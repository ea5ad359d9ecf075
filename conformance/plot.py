"""Plots: a PDF shows what the PNG shows, and lines of values against others are those of pyulog.

PDFium renders the PDF. The lines are read from the SVG.
"""

import io
import os
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pypdfium2
from PIL import Image
from pyulog import ULog

from logtool import run
from tally import Tally

LOGS = Path(os.environ["LOGTOOL_SAMPLES"]) / "ulog"
NAMES = ["px4ulogrs_quadrotor_local.ulg", "pyulog_sample_px4_events.ulg"]
POWER = "battery_status.voltage_v; battery_status.current_a"
TRACK = "vehicle_local_position.y; vehicle_local_position.x"
# Inches have 96 pixels in CSS, and 72 points in a PDF.
POINTS_OF_PIXEL = 72 / 96
# The share of pixels that may differ: both programs smooth the edges of lines and letters.
DIFFERENT = 0.02


def plot(log, out, *arguments):
    run("plot", log, "-o", out, "--force", "--size", "1000x900", "--scale", "1", *arguments)
    return out.read_bytes()


def expect(tally, what, condition, note=""):
    tally.check(what, [] if condition else [f"differs {note}"], note)


def pixels(image):
    return np.asarray(image.convert("RGB"), dtype=float)


def compare_pdf(tally, log, folder):
    arguments = ["--panel", POWER, "--xy", TRACK, "--title", "Übersicht"]
    png = pixels(Image.open(io.BytesIO(plot(log, folder / "x.png", *arguments))))
    document = pypdfium2.PdfDocument(plot(log, folder / "x.pdf", *arguments))
    page = document[0]
    size = tuple(length * POINTS_OF_PIXEL for length in (1000, 900))
    expect(tally, "one page of the size", len(document) == 1 and page.get_size() == size)
    expect(tally, "the title", document.get_metadata_dict()["Title"] == "Übersicht")
    shown = pixels(page.render(scale=1 / POINTS_OF_PIXEL).to_pil())
    different = np.abs(shown - png).max(axis=2) > 128
    expect(tally, "the PDF looks like the PNG", different.mean() < DIFFERENT, f"{different.mean():.4f}")
    # Otherwise a white page would pass.
    dark = png.min(axis=2) < 128
    expect(tally, "the PNG has lines", dark.mean() > 5 * different.mean() and dark.sum() > 5000)


def compare_track(tally, log, folder):
    svg = plot(log, folder / "x.svg", "--xy", TRACK).decode()
    found = re.findall(r'stroke-width="24" points="([^"]*)"', svg)
    drawn = np.array([point.split(",") for line in found for point in line.split()], dtype=float)
    data = ULog(str(log)).get_dataset("vehicle_local_position").data
    sent = np.column_stack([data["y"], data["x"]]).astype(float)
    sent = sent[np.isfinite(sent).all(axis=1)]

    def normalize(points):
        low, high = points.min(axis=0), points.max(axis=0)
        return (points - low) / (high - low)

    # Values grow to the right and upwards, and coordinates of SVG grow downwards.
    drawn, sent = normalize(drawn * [1, -1]), normalize(sent)
    nearest = np.array([np.abs(sent - point).max(axis=1).min() for point in drawn])
    # A canvas has 20 units for each pixel, and the track takes at least 100 pixels.
    expect(tally, "positions of the track", nearest.max() < 1 / 1000, f"{nearest.max():.5f}")
    # And nothing is far from the line through them.
    step = max(1, len(sent) // 500)
    starts, ends = drawn[:-1], drawn[1:]
    along = ends - starts
    length = np.maximum((along**2).sum(axis=1), 1e-12)
    worst = 0
    for point in sent[::step]:
        share = np.clip(((point - starts) * along).sum(axis=1) / length, 0, 1)
        nearest = starts + share[:, None] * along
        worst = max(worst, np.sqrt(((point - nearest) ** 2).sum(axis=1)).min())
    expect(tally, "the whole track is drawn", worst < 1 / 200, f"{worst:.5f}")
    # Both axes have the same scale.
    points = np.array([point.split(",") for line in found for point in line.split()], dtype=float)
    ratio = np.ptp(points[:, 0]) / np.ptp(points[:, 1])
    wide, high = np.ptp(data["y"][np.isfinite(data["y"])]), np.ptp(data["x"][np.isfinite(data["x"])])
    expect(tally, "the same scale", abs(ratio / (wide / high) - 1) < 0.02)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            tally = Tally(name, [])
            compare_pdf(tally, LOGS / name, Path(folder))
            compare_track(tally, LOGS / name, Path(folder))
            print("\n".join(tally.lines))
            passed, failed = passed + tally.passed, failed + tally.failed
    print(f"{len(NAMES)} logs: {passed} checks passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
