"""Reads logs from servers on loopback, and writes outputs to one: what comes has to be what
comes of the same file on disk, also when the way there fails. The servers are a web server
of our own that fails on demand, Python's, which gives no ranges, moto, which speaks as S3
does, Azurite, Microsoft's emulator of Azure, and for Google's cloud, of which there is none
that is written to as it is, moto behind a translation of ours (`gs.py` says what that shows).

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
