"""fio reads the job files of storage acceptance."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges.programs import Program, run

__all__ = ["FIO", "judge_jobs"]

FIO = Program("fio", "apt install fio")


def judge_jobs(folder: Folder, pattern: str) -> Iterator[Check]:
    """Parse each job file; nothing is read from or written to a disk."""
    if FIO.path is None:
        return
    for path in folder.glob(pattern):
        said = run([FIO.path, "--parse-only", "--warnings-fatal", str((folder.root / path).resolve())], seconds=20)
        wrong = " ".join(said.text.split())[:200] if said.code else "parsed"
        yield Check(path, "fio", FIO.version, "tool", said.code == 0, wrong)
