"""One watcher acts at a time: a lock that the kernel gives back however its holder ends, and a row that says who."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.operate.watch.store import Store, whoami

__all__ = ["Leader", "leading", "process_began"]


@dataclass
class Leader:
    """The lock of the state folder.

    Attributes:
        folder: of the state.
    """

    folder: Path
    handle: int = -1

    def take(self) -> bool:
        """Whether this process leads now."""
        if self.handle >= 0:
            return True
        handle = os.open(self.folder / "leader.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return False
        self.handle = handle
        return True

    def leads(self, store: Store) -> bool:
        """Whether this process leads now; where locks do not reach another machine, its fresh row counts."""
        if not self.take():
            return False
        who = leading(store)
        if who.get("host", socket.gethostname()) != socket.gethostname() and _fresh(who):
            self.give()
            return False
        return True

    def say(self, store: Store) -> None:
        """Write down who leads, and that it lives."""
        store.set_meta("leader", {"host": socket.gethostname(), "pid": os.getpid(), "by": whoami(),
                                  "began_s": process_began(), "renewed_s": time.time()})  # fmt: skip

    def end(self, store: Store) -> None:
        """Lead no more, and say so, that another machine need not wait."""
        if self.handle >= 0:
            store.set_meta("leader", {**leading(store), "renewed_s": 0.0})
        self.give()

    def give(self) -> None:
        """Let go of the lock."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


def leading(store: Store) -> dict[str, Any]:
    """Who leads, or led last."""
    found: dict[str, Any] = store.meta("leader", {})
    return found


def _fresh(who: dict[str, Any]) -> bool:
    return abs(time.time() - float(who.get("renewed_s", 0.0))) < LEASE_S


def process_began() -> float:
    """When this process was loaded, seconds since the epoch."""
    return _BEGAN


RENEW_S, LEASE_S = 5.0, 60.0
"""How often the leader says that it lives, and how long its word counts on other machines."""
_BEGAN = time.time()
