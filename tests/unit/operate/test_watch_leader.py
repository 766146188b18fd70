"""One watcher acts: on one machine by the lock, across machines by the row."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from clusterwright.operate.watch import Leader, Store, leading


def test_the_lock_of_a_killed_watcher_is_free_at_once(tmp_path: Path) -> None:
    program = ("import sys, time; from pathlib import Path; from clusterwright.operate.watch import Leader\n"
               "one = Leader(Path(sys.argv[1])); print(one.take(), flush=True); time.sleep(60)")  # fmt: skip
    store = Store(tmp_path)
    path = os.pathsep.join(p for p in sys.path if p)
    other = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "PYTHONPATH": path})  # fmt: skip
    assert other.stdout is not None and other.stdout.readline() == "True\n"
    mine = Leader(tmp_path)
    assert not mine.leads(store)
    other.send_signal(signal.SIGKILL)
    other.wait(5)
    other.stdout.close()
    assert mine.leads(store)
    mine.end(store)


def test_a_fresh_row_of_another_machine_counts_and_an_old_one_does_not(tmp_path: Path) -> None:
    store, one = Store(tmp_path), Leader(tmp_path)
    store.set_meta("leader", {"host": "elsewhere", "pid": 1, "renewed_s": time.time()})
    assert not one.leads(store) and one.handle == -1
    store.set_meta("leader", {"host": "elsewhere", "pid": 1, "renewed_s": time.time() - 61})
    assert one.leads(store)
    one.say(store)
    assert leading(store)["pid"] == os.getpid()
    one.end(store)
    assert leading(store)["renewed_s"] == 0.0
