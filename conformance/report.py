"""Opens the pages that `logtool report` writes in headless Chromium, and fails on any
message of its console, any error of a script, and any request: pages load nothing.

Installs Chromium's package where the machine's packages have it; says aloud if nothing is
compared. SCREENSHOTS names a folder for pictures of the pages. Needs the environment
LOGTOOL, the program, and LOGTOOL_SAMPLES, the folder of real logs.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from logtool import run
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"])
#: The page of each has to have so many plots, and these sections.
PAGES = (
    (ROOT / "testdata/quad_flight.ulg", 5, ("Summary", "Track", "Plots", "Messages", "Parameters", "Topics")),
    (ROOT / "testdata/hostile_types.ulg", 0, ("Summary",)),
    (ROOT / "testdata/rover.bag", 3, ("Summary", "Track", "Scans", "Images", "Plots", "Topics")),
    (ROOT / "testdata/car.vel", 4, ("Summary", "Scans", "Images", "Plots")),
    (ROOT / "testdata/puck.pcap", 0, ("Summary", "Scans")),
    (SAMPLES / "rosbag/robot_localization-test1.bag", 3, ("Plots",)),
    (SAMPLES / "ulog/pyulog_sample_px4_events.ulg", 5, ("Plots", "Messages", "Topics")),
    (SAMPLES / "velodyne/vlp16_mrpt_gps_sample.pcap", 0, ("Scans",)),
)


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
    """A sentence for each thing that is wrong with a page."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
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
    if drawn:
        # Zooming one zooms all.
        box = page.locator(".plot .u-over").first.bounding_box()
        page.mouse.move(box["x"] + 100, box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + 300, box["y"] + 50)
        page.mouse.up()
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
    print(f"report: {passed} passed, {failed} failed")
    return bool(failed) or not passed


if __name__ == "__main__":
    sys.exit(main())
