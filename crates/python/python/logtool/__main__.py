"""``python -m logtool`` is the command."""

import sys

from logtool._command import main

sys.argv[0] = "logtool"
main()
