"""Command line: ``python -m flambeau run script.py [args ...]``."""

import sys

from ._launcher import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
