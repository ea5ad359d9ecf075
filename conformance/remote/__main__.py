"""Reads logs from servers on loopback, and writes outputs to them. The results must be those of
the same file on disk, also when requests fail. The servers are a web server of this repository
that fails on demand; Python's, which does not support ranges; moto, which emulates S3; Azurite,
Microsoft's emulator of Azure; and for Google's cloud, which has no writable emulator, moto with a
translation in front of it (`gs.py` describes what this proves).

Needs the environment LOGTOOL, the program, and LOGTOOL_SAMPLES, the folder of real logs.
"""

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import az
import gs
import logs
import s3
import web

from tally import Tally


def main():
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        files = logs.collect(Path(folder) / "logs")
        tally = Tally("remote", [])
        for part in (web, s3, gs, az):
            part.check(tally, files, Path(folder))
    print("\n".join(tally.lines))
    print(f"{tally.passed} checks passed, {tally.failed} failed")
    sys.exit(1 if tally.failed else 0)


main()
