"""Runs the commands of all console blocks of the documentation, and compares what they print.

How much a conversion wrote and how long it took may differ; a line `…` stands for any
lines.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOK = re.compile(r"(?<=pieces, )[\d.]+ kB$|([\d.]+ k?B )?in [\d.]+ m?s( \([\d.]+ MB/s\))?$", re.MULTILINE)


def main():
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    blocks = [
        (document.name, block)
        for document in documents
        for block in re.findall(
            r"^```console\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        )
    ]
    failed = passed = 0
    with tempfile.TemporaryDirectory(prefix="readme-") as folder:
        shutil.copytree(ROOT / "testdata", Path(folder) / "testdata")
        logtool = Path(os.environ["LOGTOOL"]).resolve()
        bin_folder = Path(folder) / "bin"
        bin_folder.mkdir()
        (bin_folder / "logtool").symlink_to(logtool)
        env = os.environ | {"PATH": f"{bin_folder}:{os.environ['PATH']}"}
        for name, block in blocks:
            for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, expected = example.split("\n", 1)
                done = subprocess.run(
                    command,
                    shell=True,
                    cwd=folder,
                    env=env,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    check=False,
                )
                printed = TOOK.sub("some", done.stdout.decode())
                pattern = re.escape(TOOK.sub("some", expected)).replace("…\\\n", "(?:.*\n)*")
                if re.fullmatch(pattern, printed):
                    passed += 1
                    print(f"ok       {name}  {command}")
                else:
                    failed += 1
                    print(f"FAILED   {name}  {command}\n{printed}")
    print(f"documentation: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
