"""What a submitted job says beyond a planned run; each scheduler's target writes it in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["RETRIES", "Ask"]

RETRIES = 3
"""Starts anew after failures of its own, unless a job says otherwise."""


@dataclass(frozen=True)
class Ask:
    """What a submitted job says beyond a planned run.

    Attributes:
        command: program and arguments; empty for the program that ``TRAIN`` names with the flags of the plan.
        torchrun: whether torchrun starts it, else it runs once on each node.
        processes: of torchrun on a node; 0 for one a GPU.
        checkpoints: folder; empty for one below the folder in which it is started.
        folder: in which it is started; empty for that of ``sbatch``.
        environment: variables.
        least_nodes: with which it may go on; 0 when it may not shrink.
        limit_s: of an attempt; None for the predicted time.
        retries: after failures of its own.
    """

    command: tuple[str, ...] = ()
    torchrun: bool = True
    processes: int = 0
    checkpoints: str = ""
    folder: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    least_nodes: int = 0
    limit_s: float | None = None
    retries: int = RETRIES
