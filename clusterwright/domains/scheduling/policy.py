"""The policy of a batch scheduler as one object: weights, backfill, preemption, partitions, QOS, accounts.

The same object is written into slurm.conf and the script of accounts, read back from them, and simulated.
Units: seconds and minutes as named; shares are weights; GPUs are trackable resources ``gres/gpu``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["OWN", "Account", "Backfill", "Partition", "Policy", "Preemption", "Qos", "Weights"]

OWN = "-own"
"""Ending of the QOS of a tenant's own quota."""


@dataclass(frozen=True)
class Weights:
    """Factors of the priority of a waiting job, each times a figure between 0 and 1.

    Attributes:
        half_life_min: after which past use counts half.
        max_age_min: after which waiting counts in full.
        calc_period_min: between two decays.
    """

    age: int
    fairshare: int
    job_size: int
    partition: int
    qos: int
    half_life_min: int
    max_age_min: int
    calc_period_min: int
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Backfill:
    """How far and how finely the backfill scheduler plans.

    Attributes:
        interval_s: between two rounds.
        resolution_s: of its plan.
        window_min: that it plans ahead; at least the longest time limit.
        max_jobs: looked at in a round, ``max_jobs_user`` of one user in it (0: any number).
        max_time_s: of a round.
        queue_depth: jobs that the main scheduler looks at when a job ends.
        more: further words of SchedulerParameters, as they are.
    """

    interval_s: int
    resolution_s: int
    window_min: int
    max_jobs: int
    max_jobs_user: int
    max_time_s: int
    queue_depth: int
    more: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preemption:
    """By QOS; what becomes of the preempted, and how long a job is safe from it."""

    mode: str
    exempt_s: int
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Partition:
    """A queue.

    Attributes:
        nodes: a host list.
        max_time_min: 0 is no limit.
        max_nodes: of a job; 0 is no limit.
        job_factor: of its jobs in the priority; ``tier`` orders partitions that share nodes.
        billing: trackable resource -> weight; a job is billed for the one of which it holds most.
        more: further keys, as they are.
    """

    name: str
    nodes: str
    max_time_min: int
    default_time_min: int
    default: bool = False
    max_nodes: int = 0
    tier: int = 1
    job_factor: int = 1
    qos: str = ""
    allow_qos: tuple[str, ...] = ()
    deny_qos: tuple[str, ...] = ()
    allow_accounts: tuple[str, ...] = ()
    billing: tuple[tuple[str, float], ...] = ()
    more: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Qos:
    """A class of jobs.

    Attributes:
        preempts: names of QOS whose jobs make room for it.
        mode: what becomes of its own jobs when they are preempted: requeue, cancel; empty: as the cluster says.
        grace_s: a preempted job has to write a checkpoint.
        gpus: that its jobs hold together; ``gpus_per_user`` those of a user; -1 is no limit.
        max_time_min: 0 is no limit. ``max_jobs_per_user`` that run; 0 is no limit.
    """

    name: str
    priority: int
    preempts: tuple[str, ...] = ()
    mode: str = ""
    grace_s: int = 0
    gpus: int = -1
    gpus_per_user: int = -1
    max_time_min: int = 0
    max_jobs_per_user: int = 0
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Account:
    """A tenant in the accounting.

    Attributes:
        share: its weight in fair sharing.
        gpus: that its jobs hold together, whatever their QOS; -1 is no limit.
        qos: that it may use, the default first.
    """

    name: str
    parent: str
    share: float
    gpus: int
    qos: tuple[str, ...]
    users: tuple[str, ...] = ()


@dataclass(frozen=True)
class Policy:
    """All that decides which job runs when and where.

    Attributes:
        tracked: trackable resources beside the standard ones.
        enforce: what accounting enforces.
    """

    weights: Weights
    backfill: Backfill
    preemption: Preemption
    partitions: tuple[Partition, ...]
    qos: tuple[Qos, ...]
    accounts: tuple[Account, ...]
    tracked: tuple[str, ...] = ("gres/gpu",)
    enforce: tuple[str, ...] = ("associations", "limits", "qos", "safe")
    select: tuple[str, ...] = ("CR_Core_Memory",)
    mode_flags: tuple[str, ...] = field(default=())

    def partition(self, name: str) -> Partition:
        """A partition by its name."""
        return next(one for one in self.partitions if one.name == name)
