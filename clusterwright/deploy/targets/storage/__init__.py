"""Storage: the tiers and who may fill how much of them, life cycles of objects, and the acceptance job of fio."""

from __future__ import annotations

from clusterwright.deploy.judges import fio, s3, shell
from clusterwright.deploy.targets import Target
from clusterwright.deploy.targets.storage.check import check, facts
from clusterwright.deploy.targets.storage.files import files

__all__ = ["TARGET"]

TARGET = Target(
    files=files,
    facts=facts,
    check=check,
    judges=(
        lambda folder: fio.judge_jobs(folder, "storage/*.fio"),
        lambda folder: s3.judge_lifecycles(folder, "storage/*lifecycle.json"),
        lambda folder: shell.judge_scripts(folder, "storage/*.sh"),
    ),
    programs=lambda: (fio.FIO, shell.SHELLCHECK),
)
