"""What may be asked of scheduling."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clusterwright.spec.section import Section
from clusterwright.spec.words import Word

__all__ = ["SCHEDULERS", "Scheduler"]

SCHEDULERS = ("slurm", "kubernetes", "ray")
"""Schedulers that can be named."""


class Scheduler(Section):
    """Who starts the jobs."""

    kind: Annotated[str | None, Word("scheduler", SCHEDULERS)] = Field(
        None, description="The scheduler; `auto` argues one from the workloads."
    )
