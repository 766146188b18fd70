"""Counts: quotas against nodes, gangs against their plans, requests against nodes, limits against queues."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from clusterwright.deploy.targets.kubernetes.check_references import pods
from clusterwright.deploy.targets.kubernetes.reading import Built, Reading
from clusterwright.deploy.targets.kubernetes.training import PLAN
from clusterwright.domains.scheduling import PRIORITIES, Policy, amount, read_policy

__all__ = ["gpus_of", "policies", "rows", "run"]


def rows(reading: Reading, site: str) -> list[dict[str, str]]:
    """Lines of a site's node list; those of a damaged one as far as they go."""
    text = reading.folder.read(f"kubernetes/{site}/nodes/nodes.csv")
    return [{k: v or "" for k, v in row.items() if k} for row in csv.DictReader(io.StringIO(text))]


def gpus_of(reading: Reading, site: str, role: str = "compute") -> int:
    """GPUs of the nodes of a role, by node list and classes."""
    classes = reading.first(f"kubernetes/{site}/nodes/classes.yaml").get("classes") or {}
    roles = {
        name: next((v for k, v in held["labels"].items() if k.endswith("/role")), "") for name, held in classes.items()
    }
    return sum(int(row["gpus"]) for row in rows(reading, site) if roles.get(row["class"]) == role)


def policies(reading: Reading) -> dict[str, Policy]:
    """Site -> the policy that its queues say; what is wrong with it is noted."""
    made = {}
    for site in reading.sites:
        path = f"kubernetes/{site}/queues/policy.yaml"
        try:
            made[site] = read_policy(reading.documents.get(path, []))
        except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
            reading.say(path, f"is no policy: {type(error).__name__}: {error}"[:160])
    return made


def run(reading: Reading) -> None:
    """Judge counts of every site."""
    for site, policy in policies(reading).items():
        path = f"kubernetes/{site}/queues/policy.yaml"
        for what in _quotas(policy, gpus_of(reading, site)):
            reading.say(path, what)
        for document in reading.documents.get(path, []):
            for what in _preemption(document):
                reading.say(path, what)
        for one in reading.built[site]:
            if one.kind == "JobSet":
                for what in _gang(one, policy, reading.built[site]):
                    reading.say(one.file, f"JobSet {one.name}: {what}")
            if one.kind == "ResourceQuota":
                for what in _limit(one, policy):
                    reading.say(one.file, f"ResourceQuota of {one.namespace}: {what}")


def _quotas(policy: Policy, nodes: int) -> Iterator[str]:
    promised = sum(sum(queue.quota.values()) for queue in policy.queues) + sum(policy.shared.values())
    if promised != nodes:
        yield f"quotas add up to {promised} GPUs, the compute nodes have {nodes}"
    for queue in policy.queues:
        for flavor, limit in queue.limit.items():
            if limit > sum(f.gpus for f in policy.flavors if f.name == flavor):
                yield f"{queue.name} may borrow up to {limit} of {flavor}, more than there are"
        if queue.weight <= 0:
            yield f"{queue.name} has no weight in fair sharing"
        if queue.priority not in policy.priorities:
            yield f"{queue.name} is of class {queue.priority!r}, which is not there"
    if policy.priorities != PRIORITIES:
        yield f"priority classes are {policy.priorities}, not {PRIORITIES}"


def _preemption(document: Any) -> Iterator[str]:
    """Kueue refuses to borrow by preemption while fair sharing is on."""
    spec = document.get("spec") if isinstance(document, Mapping) else None
    if isinstance(spec, Mapping) and "borrowWithinCohort" in (spec.get("preemption") or {}):
        name = document["metadata"]["name"]
        yield f"{name}: borrowWithinCohort cannot be set together with fair sharing"


def _limit(one: Built, policy: Policy) -> Iterator[str]:
    queue = next((q for q in policy.queues if (q.namespace or q.name) == one.namespace), None)
    said = (one.spec.get("hard") or {}).get(f"requests.{policy.resource}")
    if queue is None or said is None:
        yield f"no limit of {policy.resource}, or no queue"
    elif amount(said) != sum(queue.limit.values()):
        yield f"{said} GPUs at most, its queue allows {sum(queue.limit.values())}"


def _gang(one: Built, policy: Policy, beside: list[Built]) -> Iterator[str]:
    total = 0
    for part, pod in zip(one.spec.get("replicatedJobs") or [], pods(one), strict=False):
        job = part["template"]["spec"]
        count = int(part.get("replicas", 1)) * int(job["parallelism"])
        if job["parallelism"] != job["completions"]:
            yield f"parallelism {job['parallelism']} and completions {job['completions']} differ"
        each = sum(int(amount(c["resources"]["limits"].get(policy.resource, 0))) for c in pod["containers"])
        total += count * each
        yield from _launch(pod["containers"][0].get("args") or [], count, each)
        yield from _fits(pod, policy, each)
        yield from _placed(job["template"].get("metadata", {}).get("annotations") or {}, policy, count)
        keys = {rule.get("key") for rule in pod.get("tolerations") or []}
        yield from (f"its pods do not tolerate the taint {key}" for key in policy.taints if key not in keys)
        for budget in beside:
            if (
                budget.kind == "PodDisruptionBudget"
                and budget.file == one.file
                and budget.spec.get("minAvailable") != count
            ):
                yield f"its disruption budget keeps {budget.spec.get('minAvailable')} of {count} pods"
    for key, text in (one.body["metadata"].get("annotations") or {}).items():
        if key.endswith(PLAN):
            plan = dict(pair.split("=") for pair in text.split(","))
            needed = prod(int(plan[axis]) for axis in ("tp", "pp", "dp", "cp"))
            if needed != total:
                yield f"its pods have {total} GPUs, its plan needs {needed}"
    if not any(key.endswith(PLAN) for key in one.body["metadata"].get("annotations") or {}):
        yield "no plan is noted"


def _launch(arguments: list[str], count: int, each: int) -> Iterator[str]:
    said = dict(argument.removeprefix("--").partition("=")[::2] for argument in arguments)
    for key, number in (("nnodes", count), ("nproc-per-node", each)):
        if said.get(key) != str(number):
            yield f"--{key} is {said.get(key)}, it has {number}"
    for key in ("tensor-model-parallel-size", "pipeline-model-parallel-size", "save-interval", "train-iters"):
        if key in said and not re.fullmatch(r"[1-9]\d*", said[key]):
            yield f"--{key} is {said[key]!r}"


def _fits(pod: Mapping[str, Any], policy: Policy, each: int) -> Iterator[str]:
    """A pod asks for no more than its GPUs bring, else the quota of CPU or memory would hold it back."""
    for container in pod["containers"]:
        asked, limits = container["resources"]["requests"], container["resources"]["limits"]
        for name, quantity in asked.items():
            if amount(limits.get(name, quantity)) < amount(quantity):
                yield f"requests {quantity} of {name}, above its limit"
            if "/" in name and amount(limits.get(name, 0)) != amount(quantity):
                yield f"requests {quantity} of {name}, its limit is {limits.get(name)}; devices are not shared"
        for name in (policy.resource, "cpu", "memory"):
            if name not in asked:
                yield f"does not request {name}"
        most_cpu = max(f.cpu for f in policy.flavors) * each
        most_memory = max(f.memory_gib for f in policy.flavors) * each * 2**30
        if amount(asked.get("cpu", 0)) > most_cpu or amount(asked.get("memory", 0)) > most_memory:
            yield f"asks for more CPU or memory than {each} GPUs bring"


def _placed(annotations: Mapping[str, str], policy: Policy, count: int) -> Iterator[str]:
    levels = [value for key, value in annotations.items() if key.endswith("-topology")]
    if policy.levels and not levels:
        yield "asks for no place in the topology"
    yield from (
        f"asks for the level {level}, which the topology does not have"
        for level in levels
        if level not in policy.levels
    )
    size = next((value for key, value in annotations.items() if key.endswith("/podset-slice-size")), None)
    if size is not None and (not size.isdigit() or not int(size) or count % int(size)):
        yield f"{count} pods are not whole slices of {size}"
