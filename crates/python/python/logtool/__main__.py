"""The command ``logtool``, run by ``python -m logtool``."""

import sys

from logtool._command import main

if __name__ == "__main__":
    sys.argv[0] = "logtool"
    main()
