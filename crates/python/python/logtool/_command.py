"""The command ``logtool``."""

import sys

from logtool._logtool import run_command


def main() -> None:
    """Run the command with the arguments of this process."""
    sys.exit(run_command(sys.argv))
