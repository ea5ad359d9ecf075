"""Runs the examples of the guide, and compares the stubs with the module."""

import re
import shutil
import subprocess
import sys

import conftest
import pytest


def examples(path):
    """Return the blocks of Python in a file of Markdown."""
    return re.findall(r"^```python\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S)


@pytest.mark.parametrize("name", ["docs/python.md"])
def test_examples_of_the_guide_run(name, tmp_path):
    blocks = examples(conftest.ROOT / name)
    assert len(blocks) > 8
    shutil.copytree(conftest.TESTDATA, tmp_path / "testdata")
    script = tmp_path / "guide.py"
    script.write_text("\n".join(blocks), "utf-8")
    run = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "out.svg").read_text("utf-8").startswith("<svg")


def test_example_of_the_readme_of_the_package_is_valid():
    (block,) = examples(conftest.ROOT / "crates/python/README.md")
    compile(block, "README.md", "exec")


def test_stubs_are_those_of_the_module():
    run = [sys.executable, "-m", "mypy.stubtest", "logtool._logtool"]
    config = ["--mypy-config-file", str(conftest.ROOT / "pyproject.toml")]
    done = subprocess.run(run + config, capture_output=True, text=True, cwd=conftest.ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
