"""Scheduling policy as Kueue keeps it: quotas, borrowing, shares, priorities, preemption and topology in one object.

:func:`write_policy` gives the objects of API version ``kueue.x-k8s.io/v1beta2`` and :func:`read_policy` the policy that
objects say, so that what is deployed and what is simulated are the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

__all__ = [
    "KUEUE_API",
    "PRIORITIES",
    "PRIORITY_LABEL",
    "Flavor",
    "Policy",
    "Queue",
    "amount",
    "parts",
    "read_policy",
    "write_policy",
]

KUEUE_API = "kueue.x-k8s.io/v1beta2"
PRIORITIES = {"low": 1000, "normal": 2000, "high": 3000}
"""Value of each class; a larger one preempts a smaller one."""
Object = dict[str, Any]

_QUANTITY = re.compile(r"([+-]?[0-9]+(?:\.[0-9]*)?|[+-]?\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_SUFFIX = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def amount(quantity: object) -> Fraction:
    """A Kubernetes quantity as an exact number: ``500m`` is 1/2, ``2Gi`` 2147483648.

    Raises:
        ValueError: it is none.
    """
    found = _QUANTITY.fullmatch(str(quantity))
    if found is None or isinstance(quantity, bool):
        raise ValueError(f"{str(quantity)[:40]!r} is no quantity")
    number, suffix = Fraction(found[1]), found[2] or ""
    if suffix.endswith("i"):
        return number * Fraction(1024 ** ("KMGTPE".index(suffix[0]) + 1))
    if suffix in _SUFFIX:
        return number * Fraction(10) ** _SUFFIX[suffix]
    return number * Fraction(10) ** int(suffix[1:])


def parts(total: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """A whole number split in proportion to sizes, largest remainder first, none above its size.

    Args:
        total: to split; what exceeds the sum of the sizes is left out.
        sizes: name -> size.
    """
    whole = sum(sizes.values())
    total = min(total, whole)
    made = {name: total * size // whole if whole else 0 for name, size in sizes.items()}
    rest = sorted(sizes, key=lambda name: (-(total * sizes[name] % whole if whole else 0), list(sizes).index(name)))
    for name in rest[: total - sum(made.values())]:
        made[name] += 1
    return made


@dataclass(frozen=True)
class Flavor:
    """A kind of node: GPUs of one type.

    Attributes:
        name: of the ResourceFlavor.
        labels: that its nodes carry.
        gpus: of all its nodes, spares left out.
        cpu: cores that a GPU brings; ``memory_gib`` memory in GiB.
    """

    name: str
    labels: Mapping[str, str]
    gpus: int
    cpu: int
    memory_gib: int


@dataclass(frozen=True)
class Queue:
    """What a tenant may use.

    Attributes:
        quota: flavor -> GPUs that are its own; ``limit`` flavor -> GPUs at most, borrowed ones counted.
        weight: in fair sharing of what nobody uses.
        priority: class of its jobs, a key of :data:`PRIORITIES`.
        checks: admission checks that its workloads pass; used by the queues of a fleet.
        namespace: whose workloads it takes; its own name when empty.
    """

    name: str
    quota: Mapping[str, int]
    limit: Mapping[str, int]
    weight: float
    priority: str
    checks: tuple[str, ...] = ()
    namespace: str = ""


@dataclass(frozen=True)
class Policy:
    """The policy of one cluster.

    Attributes:
        cohort: whose queues lend to each other.
        resource: name of a GPU, such as ``nvidia.com/gpu``.
        levels: node labels of the topology, the widest first; empty without one.
        shared: flavor -> GPUs that belong to nobody and that every queue may borrow.
        reclaim: which borrowers an owner may preempt (``reclaimWithinCohort``); ``within`` the same inside a queue.
        taints: keys of node taints that workloads of the flavors tolerate.
        priorities: class -> value.
    """

    cohort: str
    resource: str
    flavors: tuple[Flavor, ...]
    queues: tuple[Queue, ...]
    levels: tuple[str, ...] = ()
    shared: Mapping[str, int] = field(default_factory=dict)
    reclaim: str = "Any"
    within: str = "LowerPriority"
    taints: tuple[str, ...] = ()
    priorities: Mapping[str, int] = field(default_factory=lambda: dict(PRIORITIES))


def _object(kind: str, name: str, **body: Any) -> Object:
    return {"apiVersion": KUEUE_API, "kind": kind, "metadata": {"name": name}, **body}


def write_policy(policy: Policy) -> list[Object]:
    """The objects of a policy: topology, flavors, cohort, queues and priority classes, in the order of need."""
    made: list[Object] = []
    if policy.levels:
        levels = [{"nodeLabel": label} for label in policy.levels]
        made.append(_object("Topology", policy.cohort, spec={"levels": levels}))
    made += [_flavor(policy, flavor) for flavor in policy.flavors]
    shared = any(policy.shared.values())
    made.append(_object("Cohort", policy.cohort, spec=_groups(policy, policy.shared) if shared else {}))
    made += [_queue(policy, queue) for queue in policy.queues]
    for name, value in policy.priorities.items():
        said = f"workloads of class {name}; a larger value preempts a smaller one"
        made.append(_object("WorkloadPriorityClass", name, value=value, description=said))
    return made


def _flavor(policy: Policy, flavor: Flavor) -> Object:
    spec: Object = {"nodeLabels": dict(flavor.labels)}
    if policy.taints:
        spec["tolerations"] = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in policy.taints]
    if policy.levels:
        spec["topologyName"] = policy.cohort
    return _object("ResourceFlavor", flavor.name, spec=spec)


def _groups(policy: Policy, gpus: Mapping[str, int], limit: Mapping[str, int] | None = None) -> Object:
    """CPU and memory go with the GPUs: without a quota of theirs, Kueue would admit no pod that requests them."""
    flavors = []
    for flavor in policy.flavors:
        many = gpus.get(flavor.name, 0)
        own: Object = {"name": policy.resource, "nominalQuota": many}
        if limit is not None:
            own["borrowingLimit"] = max(limit.get(flavor.name, 0) - many, 0)
        beside = [
            {"name": "cpu", "nominalQuota": flavor.cpu * many},
            {"name": "memory", "nominalQuota": f"{flavor.memory_gib * many}Gi"},
        ]
        flavors.append({"name": flavor.name, "resources": [own, *beside]})
    return {"resourceGroups": [{"coveredResources": [policy.resource, "cpu", "memory"], "flavors": flavors}]}


def _queue(policy: Policy, queue: Queue) -> Object:
    spec: Object = {
        "cohortName": policy.cohort,
        "namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: queue.namespace or queue.name}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"reclaimWithinCohort": policy.reclaim, "withinClusterQueue": policy.within},
        "fairSharing": {"weight": _weight(queue.weight)},
        **_groups(policy, queue.quota, queue.limit),
    }
    if queue.checks:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in queue.checks]}
    made = _object("ClusterQueue", queue.name, spec=spec)
    made["metadata"]["labels"] = {PRIORITY_LABEL: queue.priority}
    return made


NAMESPACE_LABEL = "kubernetes.io/metadata.name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"


def _weight(weight: float) -> str:
    """A weight as a quantity without loss: 2 is ``2``, 0.001 ``1m``."""
    milli = Fraction(str(weight)) * 1000
    if milli.denominator == 1:
        return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"
    return f"{weight:f}".rstrip("0") if weight >= 1e-6 else f"{weight:g}"


def read_policy(objects: Iterable[Mapping[str, Any]]) -> Policy:
    """The policy that objects say; objects of other kinds are passed over.

    Raises:
        ValueError, KeyError, TypeError, AttributeError, IndexError: they are incomplete or contradict each other.
    """
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for one in objects:
        if str(one.get("apiVersion", "")).startswith("kueue.x-k8s.io/"):
            by_kind.setdefault(str(one["kind"]), []).append(one)
    queues = by_kind.get("ClusterQueue", [])
    (cohort,) = {queue["spec"]["cohortName"] for queue in queues}
    (resource,) = {queue["spec"]["resourceGroups"][0]["coveredResources"][0] for queue in queues}
    (rules,) = {tuple(sorted(queue["spec"]["preemption"].items())) for queue in queues}
    pools = {one["metadata"]["name"]: one.get("spec", {}) for one in by_kind.get("Cohort", [])}
    shared = _column(pools[cohort], resource, "nominalQuota") if "resourceGroups" in pools[cohort] else {}
    kinds = by_kind["ResourceFlavor"]
    (taints,) = {tuple(rule["key"] for rule in one["spec"].get("tolerations", [])) for one in kinds}
    return Policy(
        cohort=cohort,
        resource=resource,
        flavors=tuple(_read_flavor(one, queues, pools[cohort], resource) for one in kinds),
        queues=tuple(_read_queue(one, resource) for one in queues),
        levels=tuple(level["nodeLabel"] for one in by_kind.get("Topology", []) for level in one["spec"]["levels"]),
        shared=shared,
        reclaim=dict(rules)["reclaimWithinCohort"],
        within=dict(rules)["withinClusterQueue"],
        taints=taints,
        priorities={one["metadata"]["name"]: one["value"] for one in by_kind.get("WorkloadPriorityClass", [])},
    )


def _column(spec: Mapping[str, Any], resource: str, key: str) -> dict[str, int]:
    """Flavor -> a whole number that the resource groups say of a resource."""
    made = {}
    for group in spec["resourceGroups"]:
        for flavor in group["flavors"]:
            for line in flavor["resources"]:
                if line["name"] == resource:
                    value = amount(line[key])
                    if value.denominator != 1:
                        raise ValueError(f"{key} of {flavor['name']} is {line[key]}, no whole number")
                    made[flavor["name"]] = int(value)
    return made


def _read_flavor(
    one: Mapping[str, Any], queues: list[Mapping[str, Any]], pool: Mapping[str, Any], resource: str
) -> Flavor:
    name = one["metadata"]["name"]
    specs = [queue["spec"] for queue in queues] + ([pool] if "resourceGroups" in pool else [])
    sums = {
        what: sum(_column(spec, what, "nominalQuota").get(name, 0) for spec in specs)
        for what in (resource, "cpu", "memory")
    }
    gpus = sums[resource]
    each = (sums["cpu"] // gpus, sums["memory"] // gpus // 2**30) if gpus else (0, 0)
    return Flavor(name, dict(one["spec"]["nodeLabels"]), gpus, *each)


def _read_queue(one: Mapping[str, Any], resource: str) -> Queue:
    spec = one["spec"]
    name, namespace = one["metadata"]["name"], spec["namespaceSelector"]["matchLabels"][NAMESPACE_LABEL]
    quota = _column(spec, resource, "nominalQuota")
    borrowed = _column(spec, resource, "borrowingLimit")
    return Queue(
        name=name,
        quota=quota,
        limit={flavor: many + borrowed[flavor] for flavor, many in quota.items()},
        weight=float(amount(spec["fairSharing"]["weight"])),
        priority=one["metadata"]["labels"][PRIORITY_LABEL],
        checks=tuple(check["name"] for check in spec.get("admissionChecksStrategy", {}).get("admissionChecks", [])),
        namespace="" if namespace == name else namespace,
    )
