"""A slow node: a job's processes run a part of the time. ``python -m clusterwright.lab.throttle ROOT NODE PART``."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from clusterwright.lab.processes import marked

__all__ = ["throttle"]

_PERIOD_S = 0.2


def throttle(root: Path, node: str, part: float) -> None:
    """Stop and let go in turns, until it is ended; then all runs."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    pids: list[int] = []
    looked = 0.0
    try:
        while root.is_dir():
            if time.monotonic() - looked > 1:
                pids, looked = [one.pid for one in marked(root, node) if one.task], time.monotonic()
            _send(pids, signal.SIGSTOP)
            time.sleep(_PERIOD_S * (1 - part))
            _send(pids, signal.SIGCONT)
            time.sleep(_PERIOD_S * part)
    finally:
        _send(pids, signal.SIGCONT)


def _send(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


if __name__ == "__main__":
    throttle(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
