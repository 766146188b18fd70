"""A faster clock for Slurm: one shared clock of libfaketime for slurmctld and every slurmd.

A process of its own keeps the clock; daemons join it through the environment that it was given, so that a slurmd that
is started later lives in the same time. munge, MariaDB and slurmdbd stay on the true clock.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from clusterwright.deploy import Program
from clusterwright.errors import WorldError
from clusterwright.lab.codes import FINDINGS
from clusterwright.lab.place import Lab
from clusterwright.lab.processes import start, wait_for

__all__ = ["FAKETIME", "Clock"]

FAKETIME = Program("faketime", "apt install faketime")
_SHARED = ("LD_PRELOAD", "FAKETIME", "FAKETIME_SHARED", "NO_FAKE_STAT", "FAKETIME_DONT_FAKE_MONOTONIC")


class Clock:
    """The clock of one lab.

    Attributes:
        rate: seconds of Slurm in a true second.
        environment: of processes that live in its time.
    """

    def __init__(self, lab: Lab, rate: float) -> None:
        self.lab, self.rate = lab, rate
        self.environment: dict[str, str] = {}

    def start(self) -> None:
        """Start it, unless it is the true clock.

        Raises:
            WorldError: faketime is not installed or does not start.
        """
        if self.rate == 1.0:
            return
        if FAKETIME.path is None:
            raise WorldError(
                FINDINGS["LAB-PROGRAM-MISSING"].at("faketime", "faketime is not installed", FAKETIME.install)
            )
        words = ["faketime", "-m", "-f", f"+0 x{self.rate:g}", "sleep", "1000000d"]
        started = start(self.lab, "clock", words, {"NO_FAKE_STAT": "1"})

        def ready() -> bool:
            for child in _children(started.pid):
                with contextlib.suppress(OSError):
                    text = Path(f"/proc/{child}/environ").read_bytes().decode("utf-8", "replace")
                    held = dict(one.split("=", 1) for one in text.split("\0") if "=" in one)
                    if "FAKETIME_SHARED" in held and _name(child) == "sleep":
                        self.environment = {key: held[key] for key in _SHARED if key in held}
                        return True
            return False

        wait_for(self.lab, "clock", started, ready, 10)


def _children(pid: int) -> list[int]:
    try:
        return [pid, *(int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split())]
    except OSError:
        return [pid]


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text("utf-8").strip()
