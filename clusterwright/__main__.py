"""``python -m clusterwright``."""

import sys

from clusterwright.cli import main

if __name__ == "__main__":
    sys.exit(main())
