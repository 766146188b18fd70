"""The scheduler's policy of a site, read back into the object that renders and simulates it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clusterwright.domains.scheduling import SlurmPolicy, hosts, read_slurm_policy
from clusterwright.findings import Finding
from clusterwright.operate.observe.codes import FINDINGS
from clusterwright.operate.observe.found import Dump
from clusterwright.operate.observe.nodes import plain
from clusterwright.source import Place

__all__ = ["lost", "policy_of"]

_USUAL = {
    "PreemptMode": "OFF",
    "PreemptExemptTime": "00:00:00",
    "PriorityDecayHalfLife": "7-00:00:00",
    "PriorityCalcPeriod": "00:05:00",
    "PriorityMaxAge": "7-00:00:00",
    "PriorityWeightQOS": "0",
    "PriorityWeightFairshare": "0",
    "PriorityWeightJobSize": "0",
    "PriorityWeightPartition": "0",
    "PriorityWeightAge": "0",
    "AccountingStorageEnforce": "none",
    "AccountingStorageTRES": "cpu,mem,energy,node,billing,fs/disk,vmem,pages",
    "SelectTypeParameters": "CR_Core_Memory",
}
"""Keys that a policy is made of, and what Slurm takes where a site is silent."""
_SCHEDULER = {
    "bf_interval": "30", "bf_resolution": "60", "bf_window": "1440", "bf_max_job_test": "500", "bf_max_job_user": "0",
    "bf_max_time": "30", "default_queue_depth": "100",
}  # fmt: skip
"""Words of SchedulerParameters, and what Slurm takes without them (slurm.conf(5))."""
_OURS = ("train", "interactive", "spare")
"""Partitions that a design writes."""


def policy_of(dump: Dump) -> tuple[SlurmPolicy | None, list[Finding]]:
    """The policy; None when no file tells of the configuration, or it is none that can be read."""
    if not dump.config or dump.qos is None:
        hint = "scontrol show config, sacctmgr -P show qos"
        return None, [FINDINGS["OBSERVE-UNKNOWN"].at("scheduler", "no file tells of the scheduler's policy", hint)]
    try:
        return read_slurm_policy("\n".join(_conf(dump)), "\n".join(_script(dump))), []
    except (ValueError, KeyError) as error:
        place = dump.config.get("schedulerparameters", next(iter(dump.config.values())))[2]
        said = f"the policy cannot be read: {plain(str(error), 120)}"
        return None, [FINDINGS["OBSERVE-LEFT-OUT"].at(place, said)]


def _conf(dump: Dump) -> Iterator[str]:
    for key, usual in _USUAL.items():
        yield f"{key}={(dump.setting(key) or usual).partition(' ')[0]}"
    for key in ("PriorityFlags", "PreemptParameters"):
        if dump.setting(key):
            yield f"{key}={dump.setting(key)}"
    words = [word for word in dump.setting("SchedulerParameters").split(",") if word]
    there = {word.partition("=")[0] for word in words}
    yield "SchedulerParameters=" + ",".join([*words, *(f"{k}={v}" for k, v in _SCHEDULER.items() if k not in there)])
    for queue in dump.queues.values():
        pairs = [(key, value) for key, value in queue.pairs if not set(value) & set(' \t"#') and value]
        yield f"PartitionName={queue.name} Nodes={queue.nodes} " + " ".join(f"{k}={v}" for k, v in pairs)


def _script(dump: Dump) -> Iterator[str]:
    for name, (words, _) in (dump.qos or {}).items():
        if name and not set(name) & set(" '\"$`\\"):
            yield f"qos {name} " + " ".join(f"{k}={v}" for k, v in words.items() if not set(v) & set(" '\"\\"))
    for one in dump.accounts or ():
        if one.user or one.name == "root" or set(one.name) & set(" '\"$`\\"):
            continue
        share = one.share if one.share.isdigit() else "1"
        qos = ",".join(dict.fromkeys(filter(None, (one.default_qos, *one.qos))))
        told = f"parent={one.parent or 'root'} fairshare={share} GrpTRES=gres/gpu={one.gpus} QOS={qos}"
        yield f"account {one.name} {told}"


def lost(dump: Dump, policy: SlurmPolicy | None, known_qos: set[str]) -> Iterator[Finding]:
    """Parts of the policy that a spec cannot hold.

    Args:
        dump: where it was read.
        policy: that was read.
        known_qos: QOS that became quotas of tenants, or that a design writes itself.
    """
    for queue in dump.queues.values():
        limit, nodes = queue.get("MaxTime", "UNLIMITED"), len(hosts(queue.nodes))
        if queue.name not in _OURS:
            said = f"partition '{plain(queue.name)}' of {nodes} nodes, jobs up to {limit}"
            hint = "a design writes the partitions train, interactive and spare"
            yield FINDINGS["OBSERVE-LEFT-OUT"].at(queue.place, said, hint)
    for name, (words, place) in (dump.qos or {}).items():
        if name in known_qos or name == "normal":
            continue
        limits = ", ".join(f"{k}={v}" for k, v in words.items() if v and not v.endswith("-1") and v != "cluster")
        yield FINDINGS["OBSERVE-LEFT-OUT"].at(place, f"QOS '{plain(name)}': {plain(limits, 160)}")
    if policy is None:
        return
    weights = policy.weights
    told: dict[str, Any] = {
        "qos": weights.qos, "fairshare": weights.fairshare, "job size": weights.job_size,
        "partition": weights.partition, "age": weights.age,
    }  # fmt: skip
    said = "weights of priorities: " + ", ".join(f"{key} {value:,}" for key, value in told.items())
    place = next((dump.config[key][2] for key in dump.config if key.startswith("priorityweight")), Place("scheduler"))
    yield FINDINGS["OBSERVE-LEFT-OUT"].at(place, said, "a design writes weights of its own; -o json has these")
