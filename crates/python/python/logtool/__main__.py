"""``python -m logtool`` is the command."""

import sys

from logtool._command import main

if __name__ == "__main__":
    sys.argv[0] = "logtool"
    main()
