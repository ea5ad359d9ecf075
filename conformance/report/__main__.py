"""Opens the pages that `logtool report` writes in headless Chromium, and fails on any
message of its console, any error of a script, any request (pages load nothing), and any
label of an axis that is not the number at which its tick is drawn, or that overlaps the next one, at
several widths and zooms. No page may be wider than a phone, and each text must have the contrast that
WCAG 2.1 asks for (1.4.3), by day and by night. Also compares the values in pages of ULogs with pyulog's (values.py).

Installs Chromium's package where the machine's packages have it; says aloud if nothing is
compared. SCREENSHOTS names a folder for pictures of the pages. Needs the environment
LOGTOOL, the program, and LOGTOOL_SAMPLES, the folder of real logs.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import values
from logtool import run
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"])
#: The number of plots and the sections that each page must have.
PAGES = (
    (ROOT / "testdata/quad_flight.ulg", 5, ("Summary", "Track", "Plots", "Messages", "Parameters", "Topics")),
    (ROOT / "testdata/hostile_types.ulg", 0, ("Summary",)),
    (ROOT / "testdata/rover.bag", 3, ("Summary", "Track", "Scans", "Images", "Plots", "Topics")),
    (ROOT / "testdata/car.vel", 4, ("Summary", "Scans", "Images", "Plots")),
    (ROOT / "testdata/puck.pcap", 0, ("Summary", "Scans")),
    (SAMPLES / "rosbag/robot_localization-test1.bag", 3, ("Plots",)),
    (SAMPLES / "cases/ulog/axis_31s.ulg", 1, ("Plots",)),
    (SAMPLES / "ulog/pyulog_sample_px4_events.ulg", 30, ("Plots", "Spectra", "Messages", "Topics")),
    (
        SAMPLES / "ulog/px4ulogrs_quadrotor_local.ulg",
        35,
        ("Plots", "Spectra", "Step responses", "Console", "Performance counters", "Processes", "Devices"),
    ),
    (SAMPLES / "ulog/flightreviewrs_battery_brownout.ulg", 35, ("Plots", "Devices")),
    (SAMPLES / "ulog/pyulog_sample_appended_multiple.ulg", 10, ("Plots", "Hard faults")),
    (SAMPLES / "velodyne/vlp16_mrpt_gps_sample.pcap", 0, ("Scans",)),
)

#: Keeps every plot that the page makes in `window.charts`, and changes nothing else.
KEEP_CHARTS = """
window.charts = [];
let made;
Object.defineProperty(window, "uPlot", {
  get: () => made,
  set: (uPlot) => {
    made = new Proxy(uPlot, {
      construct(target, args) {
        const chart = new target(...args);
        window.charts.push(chart);
        return chart;
      },
    });
  },
});
"""

#: The ticks of both axes of each plot: where they are drawn, as a value, and their labels.
TICKS = """
() => window.charts.flatMap((chart) => chart.axes.map((axis, index) => ({
  scale: axis.scale,
  marks: axis._splits || [],
  labels: (axis._values || []).map(String),
})))
"""

#: Pairs of neighbouring labels of a time axis that overlap, as the browser draws them.
OVERLAPS = """
() => window.charts.flatMap((chart) => chart.axes.filter((axis) => axis.scale === "x").flatMap((axis) => {
  const { ctx } = chart;
  ctx.font = axis.font[0];
  const shown = (axis._values || []).map((text, at) => {
    const middle = chart.valToPos(axis._splits[at], "x", true);
    const half = text ? ctx.measureText(text).width / 2 : 0;
    return { text, start: middle - half, end: middle + half };
  }).filter(({ text }) => text);
  return shown.slice(1).map((after, at) => [shown[at], after])
    .filter(([before, after]) => before.end > after.start)
    .map(([before, after]) => `${before.text} and ${after.text}`);
}))
"""

#: Elements that make the page wider than the window, and texts with too little contrast to the
#: ground behind them. Elements in a box with a scroll bar of its own may be wider.
LAYOUT = """
() => {
  const told = [];
  const width = document.documentElement.clientWidth;
  const scrolled = document.documentElement.scrollWidth;
  if (scrolled > width) told.push(`the page is ${scrolled} px wide`);
  const parts = (color) => (color.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const linear = (part) => (part /= 255, part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const isDrawn = (element) => element.closest("svg") && element.tagName === "text";
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parts(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || element.closest("script, style") || !element.getClientRects().length) continue;
    const { color, fill } = getComputedStyle(element);
    const [text, behind] = [parts(isDrawn(element) ? fill : color), ground(element)].map(luminance);
    const contrast = (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
    if (contrast < 4.5) told.push(`contrast ${contrast.toFixed(1)} of "${element.textContent.trim().slice(0, 40)}"`);
  }
  return [...new Set(told)].slice(0, 3);
}
"""

#: Hooks of plots that change the state of the canvas: uPlot remembers the colours that it set, and
#: would draw its grid in those of a mark.
LEAKS = """
() => window.charts.flatMap((chart) => {
  const state = () => ["strokeStyle", "fillStyle", "lineWidth", "font"].map((name) => chart.ctx[name]).join();
  return ["drawClear", "draw"].flatMap((name) => chart.hooks[name] || []).flatMap((hook) => {
    const before = state();
    hook(chart);
    return state() === before ? [] : [`a hook leaves ${state()} after ${before}`];
  });
}).slice(0, 3)
"""

#: Boxes that can be scrolled to the right, and do not fade out there.
UNMARKED = """
() => [...document.querySelectorAll("*")].filter((box) => {
  const scrolls = ["auto", "scroll"].includes(getComputedStyle(box).overflowX);
  return scrolls && box.scrollWidth > box.clientWidth + 1 && !box.classList.contains("more");
}).map((box) => `${box.tagName} is ${box.scrollWidth} px wide and does not show it`)
"""

#: Texts of SVGs that a phone shows too small to read.
SMALL = """
() => [...document.querySelectorAll("svg text")].map((text) => {
  const { a, b } = text.getScreenCTM();
  return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b);
}).filter((size) => size < 8.5).map((size) => `a text of an SVG has ${size.toFixed(1)} px`).slice(0, 1)
"""

WIDTHS = (400, 700, 1280, 1920)
ZOOMS = (1.0, 0.5, 0.09, 0.013, 0.0007)


def seconds_of(label):
    """Returns the number in the label of an axis; for times of day, seconds since midnight; for the
    name of a state, None."""
    try:
        if ":" not in label:
            return float(label)
        hours, minutes, seconds = label.split(":")
        return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    except ValueError:
        return None


def wrong_labels(page):
    """A sentence for each tick whose label is not its value."""
    told = []
    for axis in page.evaluate(TICKS):
        marks, labels = axis["marks"], axis["labels"]
        shown = [(mark, label) for mark, label in zip(marks, labels) if mark is not None and label]
        if len(labels) != len(set(labels)):
            told.append(f"labels twice: {labels}")
        for mark, label in shown:
            if re.fullmatch(r"\d{4}-\d\d-\d\d", label):
                if mark % 86400:
                    told.append(f"{label} at {mark}")
                continue
            value = seconds_of(label)
            if value is None:
                if mark != int(mark):
                    told.append(f"{label} at {mark}")
                continue
            value_of_mark = mark % 86400 if ":" in label else mark
            step = abs(marks[1] - marks[0]) if len(marks) > 1 else 1.0
            if abs(value - value_of_mark) > 1e-6 * step + 1e-9 * abs(mark):
                told.append(f"{label} at {mark}")
    return told


def faults_of_axes(page):
    """Looks at the axes at several widths and zooms."""
    told = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(250)
        for zoom in ZOOMS:
            page.evaluate(
                """(zoom) => {
                  const { min, max } = window.charts[0].scales.x;
                  window.whole = window.whole || [min, max];
                  const [start, end] = window.whole;
                  const middle = start + (end - start) * 0.37;
                  const half = (end - start) * zoom / 2;
                  window.charts[0].setScale("x", zoom === 1 ? { min: start, max: end } : { min: middle - half, max: middle + half });
                }""",
                zoom,
            )
            page.wait_for_timeout(30)
            faults = wrong_labels(page) + [f"labels overlap: {pair}" for pair in page.evaluate(OVERLAPS)]
            told += [f"{width} px, zoom {zoom}: {fault}" for fault in faults]
    return told[:5]


def faults_of_links(page):
    """A link of a diagnosis shows its time in all plots over time."""
    told = []
    for link in page.locator("td a[data-start]").all()[:2]:
        link.click()
        page.wait_for_timeout(50)
        start, end = (float(link.get_attribute(f"data-{which}")) for which in ("start", "end"))
        shown = page.evaluate("() => [window.charts[0].scales.x.min, window.charts[0].scales.x.max]")
        target = page.evaluate("(id) => document.querySelector(id) !== null", link.get_attribute("href"))
        if not (shown[0] <= start <= end <= shown[1]) or not target:
            told.append(f"the link to {start} to {end} shows {shown}")
    return told


def faults_of_layout(page):
    """Looks at the widths and the contrasts on a phone and a desk, by day and by night."""
    told = []
    for width in (400, 1280):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(250)
            for check in (LAYOUT, UNMARKED, SMALL, LEAKS):
                told += [f"{width} px, {scheme}: {fault}" for fault in page.evaluate(check)]
    page.emulate_media(color_scheme="light")
    return told


def chromium():
    """The browser, installed if need be."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if not found and shutil.which("apt-get"):
        env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        install = "apt-get update -q && apt-get install -yq --no-install-recommends chromium"
        subprocess.run(install, shell=True, env=env, capture_output=True, check=False)
        found = next(filter(None, map(shutil.which, names)), None)
    return found


def faults(browser, page_file, plots, sections):
    """Yields a sentence for each error in a page."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.add_init_script(KEEP_CHARTS)
    told = []
    page.on("console", lambda message: told.append(f"console: {message.text}"))
    page.on("pageerror", lambda err: told.append(f"error: {err}"))
    page.on("request", lambda r: r.url.startswith(("file:", "data:")) or told.append(r.url))
    page.goto(page_file.as_uri())
    page.wait_for_function("document.documentElement.dataset.plots !== undefined", timeout=20_000)
    drawn = int(page.evaluate("document.documentElement.dataset.plots"))
    if drawn < plots or drawn != page.locator(".plot canvas").count():
        told.append(f"{drawn} plots")
    found = page.locator("h2").all_inner_texts()
    told += [f"no section {name}" for name in sections if name not in found]
    broken = "[...document.images].filter(i => !i.naturalWidth).length"
    if page.evaluate(broken):
        told.append("an image cannot be shown")
    told += faults_of_layout(page)
    page.set_viewport_size({"width": 1200, "height": 900})
    page.wait_for_timeout(250)
    if drawn:
        # Zooming one zooms all.
        box = page.locator(".plot .u-over").first.bounding_box()
        page.mouse.move(box["x"] + 100, box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + 300, box["y"] + 50)
        page.mouse.up()
        told += faults_of_axes(page)
        told += faults_of_links(page)
        page.set_viewport_size({"width": 1200, "height": 900})
        page.wait_for_timeout(250)
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{page_file.stem}.png", full_page=True)
    page.close()
    return told


def main():
    binary = chromium()
    if not binary:
        print("report: Chromium is not to be had, so that no page was opened")
        return False
    passed = failed = 0
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        for log, plots, sections in PAGES:
            if not log.exists():
                continue
            page_file = Path(folder) / f"{log.name}.html"
            run("report", log, "-o", page_file)
            told = faults(browser, page_file, plots, sections)
            size = page_file.stat().st_size
            if size > 6_000_000:
                told.append(f"{size} bytes")
            print(f"{'FAIL' if told else 'ok':8} report  {log.name} ({size} bytes)")
            print("".join(f"         {fault}\n" for fault in told), end="")
            passed, failed = passed + (not told), failed + bool(told)
        browser.close()
    for log in [ROOT / "testdata/quad_flight.ulg", *sorted((SAMPLES / "ulog").glob("*.ulg"))]:
        if "yulelog" in log.name:
            continue
        note, told = values.compare(log)
        print(f"{'FAIL' if told else 'ok':8} values  {log.name} ({note})")
        print("".join(f"         {fault}\n" for fault in told[:8]), end="")
        passed, failed = passed + (not told), failed + bool(told)
    print(f"report: {passed} passed, {failed} failed")
    return bool(failed) or not passed


if __name__ == "__main__":
    sys.exit(main())
