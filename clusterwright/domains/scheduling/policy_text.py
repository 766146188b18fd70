"""The scheduling policy as text: lines of slurm.conf and of the script of accounts, written and read back.

Formats: slurm.conf(5); lines ``qos NAME key=value ...``, ``account NAME ...``, ``users ACCOUNT a,b`` of the script,
whose keys are those of sacctmgr(1). ``read_policy`` of what ``conf_lines`` and ``account_lines`` wrote is the same.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from clusterwright.domains.scheduling.policy import (
    Account,
    Backfill,
    Partition,
    Policy,
    Preemption,
    Qos,
    Weights,
)
from clusterwright.domains.scheduling.slurm_text import Line, duration, minutes, parse

__all__ = ["account_lines", "account_words", "conf_lines", "read_policy"]

_GPU = "gres/gpu"
_SCHEDULER = {
    "bf_interval": "interval_s",
    "bf_resolution": "resolution_s",
    "bf_window": "window_min",
    "bf_max_job_test": "max_jobs",
    "bf_max_job_user": "max_jobs_user",
    "bf_max_time": "max_time_s",
    "default_queue_depth": "queue_depth",
}
"""Words of SchedulerParameters with a number -> fields of Backfill."""
_UNIT = {"Mem": "G"}
"""Memory is weighed by the GiB."""
_OLD = "preempt_"
"""Before PreemptParameters its words stood in SchedulerParameters and SlurmctldParameters with this prefix."""


# --- slurm.conf ---


def conf_lines(policy: Policy, preempt_parameters: bool = True) -> list[str]:
    """Lines of slurm.conf.

    Args:
        policy: to write.
        preempt_parameters: whether the release knows the parameter ``PreemptParameters``; before, its words are
            ``preempt_...`` among SchedulerParameters, but for ``send_user_signal``, which is a word of
            SlurmctldParameters and so not written here.
    """
    return [f"{key}={value}" for key, value in _settings(policy, preempt_parameters)] + [
        " ".join(f"{key}={value}" for key, value in partition_pairs(one)) for one in policy.partitions
    ]


def _settings(policy: Policy, preempt_parameters: bool) -> Iterable[tuple[str, str]]:
    w, b, p = policy.weights, policy.backfill, policy.preemption
    words = [f"{word}={getattr(b, name)}" for word, name in _SCHEDULER.items()] + list(b.more)
    old = [] if preempt_parameters else [f"{_OLD}{word}" for word in p.parameters if word != "send_user_signal"]
    yield "SchedulerType", "sched/backfill"
    yield "SchedulerParameters", ",".join(words + old)
    yield "SelectType", "select/cons_tres"
    yield "SelectTypeParameters", ",".join(policy.select)
    yield "PreemptType", "preempt/qos"
    yield "PreemptMode", ",".join((p.mode, *policy.mode_flags))
    yield "PreemptExemptTime", _clock(p.exempt_s)
    if preempt_parameters and p.parameters:
        yield "PreemptParameters", ",".join(p.parameters)
    yield "PriorityType", "priority/multifactor"
    if w.flags:
        yield "PriorityFlags", ",".join(w.flags)
    yield "PriorityDecayHalfLife", duration(w.half_life_min)
    yield "PriorityCalcPeriod", duration(w.calc_period_min)
    yield "PriorityMaxAge", duration(w.max_age_min)
    for key, value in _weights(w).items():
        yield f"PriorityWeight{key}", str(value)
    yield "AccountingStorageEnforce", ",".join(policy.enforce)
    yield "AccountingStorageTRES", ",".join(policy.tracked)


def _weights(w: Weights) -> dict[str, int]:
    return {
        "QOS": w.qos,
        "Fairshare": w.fairshare,
        "JobSize": w.job_size,
        "Partition": w.partition,
        "Age": w.age,
    }


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def partition_pairs(one: Partition) -> list[tuple[str, str]]:
    """Keys and values of a line ``PartitionName=``."""
    billing = ",".join(f"{name}={weight:.6g}{_UNIT.get(name, '')}" for name, weight in one.billing)
    pairs = [
        ("PartitionName", one.name),
        ("Nodes", one.nodes),
        ("Default", "YES" if one.default else "NO"),
        ("MaxTime", duration(one.max_time_min)),
        ("DefaultTime", duration(one.default_time_min)),
        ("MaxNodes", str(one.max_nodes) if one.max_nodes else "UNLIMITED"),
        ("PriorityTier", str(one.tier)),
        ("PriorityJobFactor", str(one.job_factor)),
        ("QOS", one.qos),
        ("AllowQos", ",".join(one.allow_qos)),
        ("DenyQos", ",".join(one.deny_qos)),
        ("AllowAccounts", ",".join(one.allow_accounts)),
        ("TRESBillingWeights", billing),
    ]
    return [(key, value) for key, value in (*pairs, *one.more) if value]


# --- the script of accounts ---


def account_lines(policy: Policy, scale: int = 1) -> dict[str, list[str]]:
    """Lines of the script, by what they make: ``qos``, ``account``, ``users``.

    Args:
        policy: to write; QOS come before those that preempt them.
        scale: whole shares of a weight of 1.
    """
    return {
        "qos": [f"qos {one.name} {_words(_qos(one))}" for one in policy.qos],
        "account": [f"account {one.name} {_words(_account(one, scale))}" for one in policy.accounts],
        "users": [f"users {one.name} {','.join(one.users)}" for one in policy.accounts if one.users],
    }


def _words(pairs: Mapping[str, object]) -> str:
    return " ".join(f"{key}={value}" for key, value in pairs.items())


def _qos(one: Qos) -> dict[str, object]:
    """Every limit is written, -1 for none, so that one that is dropped from the policy is taken back.

    An empty ``Preempt=`` is left out: slurmdbd 22.05 takes it for the QOS number 0 and finds a loop later.
    """
    return {
        "Priority": one.priority,
        **({"Preempt": ",".join(one.preempts)} if one.preempts else {}),
        "PreemptMode": one.mode or "cluster",
        "GraceTime": one.grace_s,
        "GrpTRES": f"{_GPU}={one.gpus}",
        "MaxTRESPerUser": f"{_GPU}={one.gpus_per_user}",
        "MaxWall": duration(one.max_time_min) if one.max_time_min else -1,
        "MaxJobsPerUser": one.max_jobs_per_user or -1,
        "Flags": ",".join(one.flags) or -1,
    }


def _account(one: Account, scale: int) -> dict[str, object]:
    return {
        "parent": one.parent,
        "fairshare": max(1, round(one.share * scale)),
        "GrpTRES": f"{_GPU}={one.gpus}",
        "QOS": ",".join(one.qos),
        "DefaultQOS": one.qos[0],
    }


def account_words(text: str) -> list[tuple[int, str, str, dict[str, str]]]:
    """Calls of the script: number of the line, ``qos``, ``account`` or ``users``, the name, keys and values.

    The users of a line ``users`` are the value of the key ``users``.
    """
    made = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if len(words) < 3 or words[0] not in ("qos", "account", "users"):
            continue
        words = shlex.split(line)
        if words[0] == "users":
            made.append((number, words[0], words[1], {"users": words[2]}))
        else:
            pairs = (word.partition("=") for word in words[2:])
            made.append((number, words[0], words[1], {key: value for key, _, value in pairs}))
    return made


# --- back ---


def read_policy(conf: str, accounts: str, scale: int = 1) -> Policy:
    """The policy that a slurm.conf and a script of accounts describe.

    Args:
        conf: text of slurm.conf.
        accounts: text of the script.
        scale: whole shares of a weight of 1.

    Raises:
        ValueError, KeyError: a value is missing or cannot be read.
    """
    lines = [line for line in parse(conf) if line.pairs]
    said = {line.key: line.value for line in lines if len(line.pairs) == 1}
    calls = account_words(accounts)
    users = {name: tuple(keys["users"].split(",")) for _, kind, name, keys in calls if kind == "users"}
    mode, *flags = said["PreemptMode"].split(",")
    return Policy(
        weights=_read_weights(said),
        backfill=_read_backfill(said["SchedulerParameters"].split(",")),
        preemption=Preemption(mode, _seconds(said["PreemptExemptTime"]), tuple(_preempt_words(said))),
        partitions=tuple(_read_partition(line) for line in lines if line.key == "PartitionName"),
        qos=tuple(_read_qos(name, keys) for _, kind, name, keys in calls if kind == "qos"),
        accounts=tuple(
            _read_account(name, keys, users.get(name, ()), scale) for _, kind, name, keys in calls if kind == "account"
        ),
        tracked=tuple(said["AccountingStorageTRES"].split(",")),
        enforce=tuple(said["AccountingStorageEnforce"].split(",")),
        select=tuple(said["SelectTypeParameters"].split(",")),
        mode_flags=tuple(flags),
    )


def _seconds(clock: str) -> int:
    hours, rest, seconds = (int(part) for part in clock.split(":"))
    return hours * 3600 + rest * 60 + seconds


def _preempt_words(said: Mapping[str, str]) -> Iterable[str]:
    if "PreemptParameters" in said:
        yield from said["PreemptParameters"].split(",")
        return
    for key in ("SchedulerParameters", "SlurmctldParameters"):
        for word in said.get(key, "").split(","):
            if word.startswith(_OLD):
                yield word.removeprefix(_OLD)


def _read_weights(said: Mapping[str, str]) -> Weights:
    weight = {key: int(said[f"PriorityWeight{key}"]) for key in ("QOS", "Fairshare", "JobSize", "Partition", "Age")}
    return Weights(
        age=weight["Age"],
        fairshare=weight["Fairshare"],
        job_size=weight["JobSize"],
        partition=weight["Partition"],
        qos=weight["QOS"],
        half_life_min=minutes(said["PriorityDecayHalfLife"]),
        max_age_min=minutes(said["PriorityMaxAge"]),
        calc_period_min=minutes(said["PriorityCalcPeriod"]),
        flags=_list(said.get("PriorityFlags", "")),
    )


def _read_backfill(words: list[str]) -> Backfill:
    numbers, more = {}, []
    for word in words:
        key, _, value = word.partition("=")
        if key in _SCHEDULER:
            numbers[_SCHEDULER[key]] = int(value)
        elif not key.startswith(_OLD):
            more.append(word)
    return Backfill(**numbers, more=tuple(more))


def _list(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


_PARTITION = {
    "partitionname", "nodes", "default", "maxtime", "defaulttime", "maxnodes", "prioritytier", "priorityjobfactor",
    "qos", "allowqos", "denyqos", "allowaccounts", "tresbillingweights",
}  # fmt: skip


def _read_partition(line: Line) -> Partition:
    most = line.get("MaxNodes", "UNLIMITED")
    billing = (pair.rpartition("=") for pair in _list(line.get("TRESBillingWeights")))
    return Partition(
        name=line.value,
        nodes=line.get("Nodes"),
        max_time_min=minutes(line.get("MaxTime", "UNLIMITED")),
        default_time_min=minutes(line.get("DefaultTime", "UNLIMITED")),
        default=line.get("Default").upper() == "YES",
        max_nodes=int(most) if most.isdigit() else 0,
        tier=int(line.get("PriorityTier", "1")),
        job_factor=int(line.get("PriorityJobFactor", "1")),
        qos=line.get("QOS"),
        allow_qos=_list(line.get("AllowQos")),
        deny_qos=_list(line.get("DenyQos")),
        allow_accounts=_list(line.get("AllowAccounts")),
        billing=tuple((name, float(weight.rstrip("G"))) for name, _, weight in billing),
        more=tuple((key, value) for key, value in line.pairs if key.lower() not in _PARTITION),
    )


def _gpus(text: str) -> int:
    found = next((part for part in text.split(",") if part.startswith(f"{_GPU}=")), f"{_GPU}=-1")
    return int(found.rpartition("=")[2])


def _read_qos(name: str, keys: Mapping[str, str]) -> Qos:
    mode, wall, jobs = keys.get("PreemptMode", "cluster"), keys.get("MaxWall", "-1"), keys.get("MaxJobsPerUser", "-1")
    return Qos(
        name=name,
        priority=int(keys["Priority"]),
        preempts=_list(keys.get("Preempt", "")),
        mode="" if mode == "cluster" else mode,
        grace_s=int(keys.get("GraceTime", "0")),
        gpus=_gpus(keys.get("GrpTRES", "")),
        gpus_per_user=_gpus(keys.get("MaxTRESPerUser", "")),
        max_time_min=minutes(wall),
        max_jobs_per_user=max(int(jobs), 0),
        flags=tuple(flag for flag in _list(keys.get("Flags", "")) if flag != "-1"),
    )


def _read_account(name: str, keys: Mapping[str, str], users: tuple[str, ...], scale: int) -> Account:
    return Account(
        name=name,
        parent=keys["parent"],
        share=int(keys["fairshare"]) / scale,
        gpus=_gpus(keys.get("GrpTRES", "")),
        qos=_list(keys["QOS"]),
        users=users,
    )
