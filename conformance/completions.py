"""Completes names of a log and of files in real shells on a pseudo-terminal: nothing in a name is run, and
ordinary names are completed.

Prints the number of checks; exits non-zero where something differs. Needs the environment LOGTOOL, the
program. Shells that are not installed are reported.
"""

import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tally import Tally
from ulog_maker import MAGIC, message

#: The command that starts each shell without the user's files, and the setup that completions need.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(logtool completions bash)"),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u -D; source <(logtool completions zsh)"),
    "fish": (["fish", "--no-config", "-i"], "logtool completions fish | source"),
}
#: Names that a shell would run, expand or split. `MARK` is a file that must not appear.
HOSTILE = (
    "x$(touch MARK)", "x`touch MARK`", "x;touch MARK", "x|touch MARK", "x&touch MARK", "x >MARK", "x>MARK",
    "x\ntouch MARK\n", "x'$(touch MARK)'", "x''$(touch MARK)", 'x"$(touch MARK)"', "x\\$(touch MARK)",
    "x$(touch${IFS}MARK)", "x{MARK,2}", "x(touch MARK)", "x\x16\ntouch MARK\n", "x)touch MARK", "x\t;touch MARK",
)
ORDINARY = "zebra_state"
SECONDS = 30


def log(topics):
    """The bytes of a ULog with one record of each topic."""
    parts = [MAGIC + struct.pack("<Q", 1000), message("B", bytes(40))]
    parts += [message("F", name.encode() + b":uint64_t timestamp;float x;") for name in topics]
    for number, name in enumerate(topics):
        parts.append(message("A", struct.pack("<BH", 0, number) + name.encode()))
    parts += [message("D", struct.pack("<HQf", number, 2000, 1.0)) for number in range(len(topics))]
    return b"".join(parts)


class Terminal:
    """A shell on a pseudo-terminal."""

    def __init__(self, arguments, folder, program):
        self.number = 0
        child, self.file = pty.fork()
        if child == 0:
            os.chdir(folder)
            path = f"{Path(program).parent}:{os.environ['PATH']}"
            home = {"PATH": path, "HOME": str(folder), "TERM": "xterm", "LANG": "C.UTF-8", "PS1": "> "}
            os.execvpe(arguments[0], arguments, home)
        self.child = child

    def read_until(self, pattern):
        """What is printed until `pattern`, or for some time."""
        text, end = "", time.monotonic() + SECONDS
        while not re.search(pattern, text) and time.monotonic() < end:
            if select.select([self.file], [], [], 0.1)[0]:
                try:
                    printed = os.read(self.file, 65536)
                except OSError:
                    break
                text += printed.decode(errors="replace")
                # The questions of fish about the terminal.
                if "\x1b[c" in text or "\x1b[0c" in text:
                    self.type("\x1b[?62;c")
                    text = text.replace("\x1b[c", "").replace("\x1b[0c", "")
        return text

    def type(self, text):
        os.write(self.file, text.encode())

    def quiet(self, seconds=0.6):
        """What is printed until nothing more comes."""
        text, last = "", time.monotonic()
        while time.monotonic() - last < seconds:
            if select.select([self.file], [], [], 0.05)[0]:
                try:
                    text += os.read(self.file, 65536).decode(errors="replace")
                except OSError:
                    break
                last = time.monotonic()
        return text

    def run(self, line):
        """Runs a line and waits until it has ended."""
        self.number += 1
        # The printed text differs from the typed one.
        self.type(f"{line}; echo end''-{self.number}-\n")
        return self.read_until(f"end-{self.number}-")

    def complete(self, line):
        """Types a line, completes it, and runs it."""
        self.type(line + "\t")
        typed = self.quiet(0.5)
        self.type("\n")
        return typed + self.quiet(0.5)

    def close(self):
        self.type("\x03\nexit\n")
        os.close(self.file)
        os.waitpid(self.child, 0)


def check(shell, folder, program, tally):
    arguments, setup = SHELLS[shell]
    if not shutil.which(shell):
        print(f"skipped: {shell} is not installed")
        return
    mark = folder / "MARK"
    for number, name in enumerate(HOSTILE):
        (folder / f"{number}.ulg").write_bytes(log([name]))
    (folder / "plain.ulg").write_bytes(log([ORDINARY, "battery"]))
    (folder / "my log.ulg").write_bytes(log([ORDINARY]))
    for name in HOSTILE:
        if "/" not in name:
            (folder / "files").mkdir(exist_ok=True)
            (folder / "files" / f"{name}.ulg").write_bytes(log(["a"]))
    terminal = Terminal(arguments, folder, program)
    try:
        terminal.quiet()
        terminal.run(setup)
        text = terminal.complete("logtool cat plain.ulg -t zeb")
        tally.check("an ordinary topic is completed", [] if f"{ORDINARY} " in text or '"x":1' in text else [text])
        text = terminal.complete("logtool cat my\\ log.ulg -t zeb")
        tally.check("a log with a space in its name", [] if '"x":1' in text or "x=1" in text else [text])
        text = terminal.complete("logtool info my")
        tally.check("a file with a space is completed", [] if "1 record" in text else [text])
        for number, name in enumerate(HOSTILE):
            for typed in ("x", "'x", '"x', ""):
                terminal.complete(f"logtool cat {number}.ulg -t {typed}")
                terminal.type("\x03")
                terminal.quiet(0.1)
            tally.check(f"topic {name!r} runs nothing", ["it was run"] if mark.exists() else [])
            mark.unlink(missing_ok=True)
    finally:
        terminal.close()


def main():
    program = os.environ["LOGTOOL"]
    tallies = []
    for shell in SHELLS:
        tally = Tally(shell, [])
        with tempfile.TemporaryDirectory() as folder:
            check(shell, Path(folder), program, tally)
        tallies.append(tally)
        print("\n".join(line for line in tally.lines if line.startswith("FAILED")))
    passed, failed = sum(t.passed for t in tallies), sum(t.failed for t in tallies)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
