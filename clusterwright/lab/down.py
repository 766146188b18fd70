"""End a lab: no process, mount, port or file stays, whatever state it is in."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from pathlib import Path

from clusterwright.errors import WorldError
from clusterwright.lab.codes import FINDINGS
from clusterwright.lab.place import Lab, labs
from clusterwright.lab.processes import end, marked

__all__ = ["down"]


def down(lab: Lab) -> int:
    """End every process, unmount and remove.

    Returns:
        how many processes were ended.

    Raises:
        WorldError: something is still there.
    """
    before = len(marked(lab.root))
    left = end(lambda: marked(lab.root))
    if left:
        names = ", ".join(f"{one.command} ({one.pid})" for one in left[:5])
        raise WorldError(FINDINGS["LAB-DOWN"].at(str(lab.root), f"still running: {names}", "kill -9 them, then again"))
    for mount in _mounts(lab.root):
        subprocess.run(["umount", "-l", mount], check=False, capture_output=True)  # noqa: S607
    shutil.rmtree(lab.root, ignore_errors=True)
    with contextlib.suppress(OSError):
        labs().rmdir()
    if lab.root.exists():
        raise WorldError(FINDINGS["LAB-DOWN"].at(str(lab.root), "the folder cannot be removed", "see what holds it"))
    return before


def _mounts(root: Path) -> list[str]:
    """Mount points under the lab, the deepest first."""
    lines = Path("/proc/self/mounts").read_text("utf-8").splitlines()
    points = [line.split()[1].replace("\\040", " ") for line in lines]
    return sorted((p for p in points if p == str(root) or p.startswith(f"{root}/")), key=len, reverse=True)
