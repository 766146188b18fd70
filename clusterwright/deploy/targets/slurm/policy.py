"""The scheduling policy that a design asks for.

Quotas: a tenant's jobs run in the QOS ``TENANT-own`` up to its quota, and beyond it in ``borrow``, which anybody's own
jobs preempt; its limit stands on its account. Classes: a higher one preempts the own jobs of a lower one.
"""

from __future__ import annotations

import math

from clusterwright.deploy.codes import FINDINGS
from clusterwright.deploy.names import hostlist
from clusterwright.deploy.targets.slurm.site import OPERATIONS, Here, real_memory_mib, system_memory_mib
from clusterwright.domains.scheduling import OWN, Account, Backfill, Partition, Preemption, Qos, Weights
from clusterwright.domains.scheduling import SlurmPolicy as Policy
from clusterwright.errors import InputError
from clusterwright.spec import PRIORITIES

__all__ = ["policy_of", "shares"]

_RANK = {name: rank for rank, name in enumerate(PRIORITIES)}
_DAY, _WEEK = 1440, 7 * 1440
_INTERACTIVE_MIN, _INTERACTIVE_DEFAULT_MIN = 480, 60
_INTERACTIVE_SHARE = 0.05
"""Part of the GPUs that interactive sessions may hold together."""


def policy_of(here: Here) -> Policy:
    """The policy of one site.

    Raises:
        InputError: a tenant has a name that Slurm needs itself.
    """
    _names(here)
    return Policy(
        weights=Weights(
            qos=1_000_000,  # classes first,
            fairshare=300_000,  # then who used less than its share,
            job_size=100_000,  # then large jobs, which backfill alone would starve,
            partition=50_000,
            age=50_000,
            half_life_min=_WEEK,
            max_age_min=_WEEK,
            calc_period_min=5,
            flags=("MAX_TRES", "CALCULATE_RUNNING"),
        ),
        backfill=_backfill(here),
        preemption=Preemption("REQUEUE", 0, ("youngest_first", "send_user_signal")),
        partitions=tuple(_partitions(here)),
        qos=tuple(_qos(here)),
        accounts=tuple(_accounts(here)),
        tracked=("gres/gpu", *sorted({f"gres/gpu:{g.gpu_type}" for g in here.groups if g.gpus})),
    )


def _names(here: Here) -> None:
    for i, tenant in enumerate(here.inventory.tenants):
        if tenant.name in ("root", OPERATIONS):
            said = f"the tenant '{tenant.name}' has the name of an account that Slurm needs itself"
            raise InputError(FINDINGS["DEPLOY-NAME"].at(f"tenants[{i}].name", said, "rename it"))


def shares(here: Here) -> int:
    """Whole shares for a weight of 1: the fewest that lose nothing, where that is possible."""
    weights = [tenant.share for tenant in here.inventory.tenants]
    most = max(0, 9 - math.ceil(math.log10(max(1.0, *weights))))
    for power in range(min(most, 6) + 1):
        if all(abs(w * 10**power - round(w * 10**power)) < 1e-9 * 10**power for w in weights):
            return int(10**power)
    return int(10 ** min(most, 6))


def _backfill(here: Here) -> Backfill:
    """Rounds get longer and coarser with the cluster: a round looks at every job, and each looks at every node."""
    nodes = here.nodes + here.spares
    window = here.max_time_min
    interval = 30 if nodes <= 1024 else 60 if nodes <= 4096 else 120
    return Backfill(
        interval_s=interval,
        resolution_s=max(60, window * 60 // 500 // 60 * 60),  # a plan of about 500 slots
        window_min=window,
        max_jobs=min(500 + 2 * nodes, 5000),
        max_jobs_user=50,
        max_time_s=3 * interval,
        queue_depth=min(100 + nodes, 1000),
        more=("bf_continue", "bf_busy_nodes", "assoc_limit_stop", f"max_rpc_cnt={150 if nodes <= 1024 else 256}",
              "nohold_on_prolog_fail"),
    )  # fmt: skip


# --- partitions ---


def _partitions(here: Here) -> list[Partition]:
    compute, spare = here.named("compute"), here.named("spare")
    billing = _billing(here)
    per_gpu = _per_gpu(here)
    made = [
        Partition(
            name="train",
            nodes=hostlist(compute),
            max_time_min=here.max_time_min,
            default_time_min=_INTERACTIVE_DEFAULT_MIN,
            default=True,
            deny_qos=("interactive",),
            billing=billing,
            more=per_gpu,
        ),
        Partition(
            name="interactive",
            nodes=hostlist(compute),
            max_time_min=_INTERACTIVE_MIN,
            default_time_min=_INTERACTIVE_DEFAULT_MIN,
            max_nodes=2,
            job_factor=10,
            allow_qos=("interactive",),
            billing=billing,
            more=per_gpu,
        ),
    ]
    if spare:
        made.append(
            Partition(
                name="spare",
                nodes=hostlist(spare),
                max_time_min=_DAY,
                default_time_min=_INTERACTIVE_DEFAULT_MIN,
                allow_accounts=(OPERATIONS,),
                billing=billing,
                more=(*per_gpu, ("Hidden", "YES")),
            )
        )
    return made


def _billing(here: Here) -> tuple[tuple[str, float], ...]:
    """A whole node is billed as its GPUs, whichever resource a job holds most of; a CPU here is a thread."""
    group = here.groups[0]
    gib = (real_memory_mib(group) - system_memory_mib(group)) / 1024
    if not group.gpus:
        return (("CPU", 1.0),)
    cpu, memory = _rounded(group.gpus / group.threads), _rounded(group.gpus / gib)
    return (("CPU", cpu), ("Mem", memory), ("GRES/gpu", 1.0))


def _rounded(weight: float) -> float:
    return float(f"{weight:.4g}")


def _per_gpu(here: Here) -> tuple[tuple[str, str], ...]:
    """What a GPU brings with it when a job asks for nothing else: its part of the node."""
    least = min(here.groups, key=lambda g: g.threads)
    if not least.gpus:
        return ()
    memory = (real_memory_mib(least) - system_memory_mib(least)) // least.gpus
    return (("DefCpuPerGPU", str(least.threads // least.gpus)), ("DefMemPerGPU", str(memory)))


# --- classes and accounts ---


def _qos(here: Here) -> list[Qos]:
    """Lowest first, so that each is there before one that preempts it is made."""
    tenants = sorted(here.tenants, key=lambda t: _RANK[t.priority])
    interactive = max(here.node_gpus, int(here.gpus * _INTERACTIVE_SHARE) // here.node_gpus * here.node_gpus)
    made = [
        Qos(OPERATIONS, 0, mode="cancel"),
        Qos("borrow", 10, (OPERATIONS,), "requeue", here.grace_s),
        Qos(
            "interactive",
            2000,
            (OPERATIONS, "borrow"),
            gpus=interactive,
            gpus_per_user=here.node_gpus,
            max_time_min=_INTERACTIVE_MIN,
            max_jobs_per_user=2,
            flags=("DenyOnLimit",),
        ),
    ]
    for tenant in tenants:
        below = [f"{t.name}{OWN}" for t in tenants if _RANK[t.priority] < _RANK[tenant.priority]]
        rank = _RANK[tenant.priority]
        made.append(
            Qos(
                f"{tenant.name}{OWN}",
                100 * 3**rank,
                (OPERATIONS, "borrow", *below),
                "requeue",
                here.grace_s,
                gpus=tenant.quota_gpus,
                flags=("DenyOnLimit",),
            )
        )
    return made


def _accounts(here: Here) -> list[Account]:
    made = [
        Account(
            tenant.name,
            "root",
            tenant.share,
            tenant.limit_gpus,
            (f"{tenant.name}{OWN}", "borrow", "interactive"),
            tenant.users,
        )
        for tenant in here.tenants
    ]
    return [*made, Account(OPERATIONS, "root", min((t.share for t in here.tenants), default=1.0), -1, (OPERATIONS,))]
