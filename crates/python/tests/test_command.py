"""The command in the package: as the program of the crate."""

import os
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points

import logtool
import logtool._command

RUN = [sys.executable, "-m", "logtool"]


def run(*arguments, **options):
    return subprocess.run([*RUN, *arguments], capture_output=True, text=True, **options)


def test_version_and_help_are_printed():
    assert run("--version").stdout == f"logtool {logtool.__version__}\n"
    help_text = run("--help")
    assert help_text.returncode == 0 and "Usage: logtool" in help_text.stdout


def test_exit_status_is_that_of_the_command(flight, damaged):
    assert run("info", flight).returncode == 0
    missing = run("info", "missing.ulg")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == "error: cannot open missing.ulg: there is no such file\n"
    assert run("inform").returncode == 2
    assert run("cat", damaged).returncode == 3


def test_closed_outputs_are_no_failure(flight):
    with subprocess.Popen([*RUN, "cat", flight], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b"{")
        process.stdout.close()
        assert process.wait(20) == 0


def test_completion_offers_commands_and_topics(flight):
    environment = os.environ | {"LOGTOOL_COMPLETE": "bash"}
    script = run(env=environment).stdout
    assert "complete" in script and "logtool" in script

    def complete(*words):
        index = {"_CLAP_COMPLETE_INDEX": str(len(words) - 1)}
        return run("--", *words, env=environment | index).stdout.split()

    assert complete("logtool", "conv") == ["convert"]
    topics = complete("logtool", "cat", flight, "--topic", "batt")
    assert topics == ["battery_status", "battery_status.1"]


def test_ctrl_c_removes_outputs(big_bag, tmp_path):
    convert = [*RUN, "convert", big_bag, "-o", str(tmp_path / "out"), "--format", "csv"]
    with subprocess.Popen(convert, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 20
        while not list(tmp_path.rglob("*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_script_is_an_entry_point():
    assert callable(logtool._command.main)
    scripts = entry_points(group="console_scripts", name="logtool")
    assert all(one.value == "logtool._command:main" for one in scripts)
