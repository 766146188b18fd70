"""JobSets: each planned training run as a gang of pods, with the plan that the design chose."""

from __future__ import annotations

import math
from collections.abc import Iterator

from clusterwright.deploy.asked import Ask
from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Group, Inventory, Tenant, Workload
from clusterwright.deploy.targets.kubernetes import nvlink, storage
from clusterwright.deploy.targets.kubernetes.foundation import PREFIX
from clusterwright.deploy.targets.kubernetes.releases import FRAMEWORK_IMAGE
from clusterwright.deploy.targets.kubernetes.room import (
    GIB,
    Object,
    Room,
    kustomization,
    obj,
    per_gpu,
    rooms,
    short,
    written,
)
from clusterwright.deploy.targets.kubernetes.tenants import ACCOUNT, QUEUE
from clusterwright.deploy.text import as_yaml
from clusterwright.domains.scheduling import PRIORITY_LABEL

__all__ = ["API", "PLAN", "RDMA", "TITLE", "files", "shape", "submitted"]

API = "jobset.x-k8s.io/v1alpha2"
TITLE = "workers"
RDMA = {"infiniband": "rdma/hca", "roce": "rdma/hca", "efa": "vpc.amazonaws.com/efa"}
"""Transport -> the resource with which a pod gets the network cards of its node."""
RENDEZVOUS_PORT = 29500
_RANK = "metadata.labels['batch.kubernetes.io/job-completion-index']"
_KUEUE = "kueue.x-k8s.io"
PLAN = "/plan"
"""Ends the annotation with the parallelism of a run: ``tp=4,pp=4,dp=64,cp=1,ep=1``."""
_SIGMAS = 4
_NAME = 63 - len(f"-{TITLE}-0-99999")


def shape(workload: Workload, group: Group) -> tuple[int, int]:
    """Pods and GPUs of each: whole nodes where the plan fills them, else the largest equal parts."""
    most = min(group.gpus, workload.gpus)
    each = next(n for n in range(most, 0, -1) if workload.gpus % n == 0)
    return workload.gpus // each, each


def files(built: list[Room]) -> Iterator[File]:
    """``training/`` of each site: a workload runs at the first site that has its GPUs."""
    placed: dict[str, list[Workload]] = {room.site.name: [] for room in built}
    for workload in built[0].inventory.workloads:
        able = [room for room in built if room.gpus >= workload.gpus] or [max(built, key=lambda r: r.gpus)]
        placed[able[0].site.name].append(workload)
    for room in built:
        listed = []
        for workload in placed[room.site.name]:
            owner = _owner(room)
            listed.append(f"{workload.name}.yaml")
            note = f"Training run {workload.name} of tenant {owner.name}; started by hand, not by Argo CD"
            path = f"{room.root}/training/{workload.name}.yaml"
            yield written(path, _objects(room, workload, owner), note, f"kubectl apply -f {path}")
        yield kustomization(f"{room.root}/training", listed)


def submitted(inventory: Inventory, site: str, workload: Workload, owner: Tenant, ask: Ask) -> str:
    """The JobSet of a job that somebody submits, as YAML.

    Args:
        inventory: of the cluster.
        site: on which it runs.
        workload: with its plan (empty for a program that has its own) and figures.
        owner: the tenant that it runs for.
        ask: what the job says beside.
    """
    room = next(one for one in rooms(inventory) if one.site.name == site)
    note = f"Job {workload.name} of tenant {owner.name}, submitted by clusterwright"
    return as_yaml(*_objects(room, workload, owner, ask), comment=note)


def _owner(room: Room) -> Tenant:
    """The tenant that runs what the spec plans: the one that may use most GPUs, of equal ones that which owns most."""
    return max(room.inventory.tenants, key=lambda t: (room.limit(t), room.quota(t)))


def _objects(room: Room, workload: Workload, owner: Tenant, ask: Ask | None = None) -> list[Object]:
    pods, _ = shape(workload, room.computing[0])
    name = short(workload.name, _NAME)
    labels = {f"{_KUEUE}/queue-name": QUEUE, PRIORITY_LABEL: owner.priority}
    noted = {}
    if workload.plan:
        plan = ",".join(f"{axis}={workload.plan[axis]}" for axis in ("tp", "pp", "dp", "cp", "ep"))
        noted = {f"{room.domain}{PLAN}": plan, f"{room.domain}/model": workload.model}
    spec = _spec(room, workload, owner, name, ask)
    made = [obj(API, "JobSet", name, owner.name, labels=labels, annotations=noted, spec=spec)]
    selector = {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": name}}
    budget = {"minAvailable": pods, "selector": selector, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
    made.append(obj("policy/v1", "PodDisruptionBudget", short(f"{name}-gang", 63), owner.name, spec=budget))
    return [nvlink.domain(name, owner.name), *made] if nvlink.rack_scale(room) else made


def _spec(room: Room, workload: Workload, owner: Tenant, name: str, ask: Ask | None) -> Object:
    pods, _ = shape(workload, room.computing[0])
    disrupted = {"type": "DisruptionTarget", "status": "True"}
    job = {
        "parallelism": pods,
        "completions": pods,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "podFailurePolicy": {"rules": [{"action": "FailJob", "onPodConditions": [disrupted]}]},
        "template": {
            "metadata": {"annotations": _topology(room, pods)},
            "spec": _pod(room, workload, owner, name, ask),
        },
    }
    if ask is not None and ask.limit_s is not None:
        job["activeDeadlineSeconds"] = math.ceil(ask.limit_s)
    return {
        "failurePolicy": {
            "maxRestarts": _restarts(workload) if ask is None else ask.retries,
            "restartStrategy": "BlockingRecreate",
            "rules": [
                {
                    "name": "drained",
                    "action": "RestartJobSetAndIgnoreMaxRestarts",
                    "onJobFailureReasons": ["PodFailurePolicy"],
                }
            ],
        },
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "successPolicy": {"operator": "All"},
        "ttlSecondsAfterFinished": 7 * 86400,
        "replicatedJobs": [{"name": TITLE, "replicas": 1, "template": {"spec": job}}],
    }


def _restarts(workload: Workload) -> int:
    """Restarts that a healthy run needs at most: interruptions that the design expects and four standard deviations
    of a Poisson count; more means that something else is wrong."""
    expected = workload.figures.get("expected_interruptions", 0.0)
    return math.ceil(expected + _SIGMAS * math.sqrt(expected)) + 3


def _topology(room: Room, pods: int) -> dict[str, str]:
    """As close as possible: below the same leaf switches where the gang fits there. A scale-up domain of several nodes
    is asked for in whole domains, which are racks."""
    sizes = [len(unit.hosts) for unit in room.inventory.units if unit.site == room.site.name]
    rack, block = room.policy.levels[-2], room.policy.levels[0]
    level = block if sizes else rack
    made = {f"{_KUEUE}/podset-preferred-topology": level}
    nodes = (
        int(room.inventory.value("server.system_nodes")) if "server.system_nodes" in room.inventory.cluster.frame else 1
    )
    if nodes > 1 and pods % nodes == 0:
        made |= {f"{_KUEUE}/podset-slice-required-topology": rack, f"{_KUEUE}/podset-slice-size": str(nodes)}
    return made


def _pod(room: Room, workload: Workload, owner: Tenant, name: str, ask: Ask | None) -> Object:
    group = room.computing[0]
    _, gpus = shape(workload, group)
    cpu, memory = per_gpu(group)
    resources = {"cpu": str(cpu * gpus), "memory": f"{memory * gpus}Gi", room.resource: str(gpus)}
    if room.transport in RDMA:
        resources[RDMA[room.transport]] = str(group.nics) if room.transport == "efa" else "1"
    claim = storage.shared_claim(room)
    volumes: list[Object] = [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{max(memory * gpus // 8, 1)}Gi"}},
        {"name": claim, "persistentVolumeClaim": {"claimName": claim}},
    ]
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}, {"name": claim, "mountPath": "/workspace"}]  # noqa: S108
    local = storage.scratch_class(room)
    if local and claim != "scratch":
        volumes.append({"name": "cache", "ephemeral": {"volumeClaimTemplate": {"spec": _cache(group, gpus, local)}}})
        mounts.append({"name": "cache", "mountPath": "/cache"})
    container = {
        "name": "trainer",
        "image": f"{room.inventory.settings.registry}/{FRAMEWORK_IMAGE}",
        **_program(room, workload, name, ask),
        "env": _environment(room) + _exported(workload, ask),
        "ports": [{"name": "rendezvous", "containerPort": RENDEZVOUS_PORT}],
        "resources": {"requests": resources, "limits": resources},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": mounts,
    }
    made: Object = {
        "restartPolicy": "Never",
        "serviceAccountName": ACCOUNT,
        "priorityClassName": f"{PREFIX}{owner.priority}",
        "terminationGracePeriodSeconds": _grace(workload),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "fsGroup": 1000,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "tolerations": [{"key": room.resource, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [container],
        "volumes": volumes,
    }
    if nvlink.rack_scale(room):
        nvlink.claim(made, name)
    if room.transport in ("roce", "other"):
        made |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    return made


def _cache(group: Group, gpus: int, storage_class: str) -> Object:
    """Most of the drives, by the part of the node that the pod has."""
    size = max(int(group.nvme_bytes * 0.8 * gpus / group.gpus / GIB), 1)
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": f"{size}Gi"}},
    }


def _grace(workload: Workload) -> int:
    """Time to write a checkpoint when the node is drained, twice what the design expects."""
    return max(60, math.ceil(2 * workload.figures.get("checkpoint_write_s", 0.0)))


def _program(room: Room, workload: Workload, name: str, ask: Ask | None) -> Object:
    """Command and arguments; in those of a job ``$(`` is written ``$$(``, or the kubelet would fill it in."""
    if ask is None or not ask.command:
        return {"command": ["torchrun"], "args": _arguments(room, workload, name)}
    words = [word.replace("$(", "$$(") for word in ask.command]
    if not ask.torchrun:
        return {"command": words}
    pods, gpus = shape(workload, room.computing[0])
    return {"command": ["torchrun"], "args": [*_rendezvous(pods, ask.processes or gpus, name), *words]}


def _exported(workload: Workload, ask: Ask | None) -> list[Object]:
    """What the batch script of Slurm exports, too."""
    if ask is None:
        return []
    made = {"CHECKPOINTS": ask.checkpoints, **ask.environment}
    made["CHECKPOINT_INTERVAL_S"] = str(max(1, round(workload.figures["checkpoint_interval_s"])))
    return [{"name": key, "value": value.replace("$(", "$$(")} for key, value in made.items()]


def _environment(room: Room) -> list[Object]:
    made: list[Object] = [
        {"name": "NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": _RANK}}},
        {"name": "OMP_NUM_THREADS", "value": "8"},
        {"name": "NCCL_DEBUG", "value": "WARN"},
    ]
    if room.transport == "roce":
        made.append({"name": "NCCL_IB_GID_INDEX", "value": "3"})
    if room.transport == "efa":
        # By this name NCCL takes aws-ofi-nccl or fails; without it, it would fall back to sockets silently.
        made += [{"name": "FI_PROVIDER", "value": "efa"}, {"name": "NCCL_NET", "value": "AWS Libfabric"}]
    return made


def _rendezvous(pods: int, processes: int, name: str) -> list[str]:
    return [
        f"--nnodes={pods}",
        f"--nproc-per-node={processes}",
        "--node-rank=$(NODE_RANK)",
        f"--master-addr={name}-{TITLE}-0-0.{name}",
        f"--master-port={RENDEZVOUS_PORT}",
    ]


def _arguments(room: Room, workload: Workload, name: str) -> list[str]:
    """Of torchrun, then of the framework: the chosen plan and the interval between checkpoints, in steps."""
    pods, gpus = shape(workload, room.computing[0])
    plan, figures = workload.plan, workload.figures
    step = figures.get("step_time_s", 0.0)
    interval = max(1, round(figures.get("checkpoint_interval_s", 0.0) / step)) if step else 1
    folder = f"/workspace/checkpoints/{name}"
    made = [
        *_rendezvous(pods, gpus, name),
        "pretrain_gpt.py",
        f"--tensor-model-parallel-size={plan['tp']}",
        f"--pipeline-model-parallel-size={plan['pp']}",
        f"--context-parallel-size={plan['cp']}",
        f"--expert-model-parallel-size={plan['ep']}",
        f"--micro-batch-size={plan['micro_batch']}",
    ]
    if figures.get("micro_batches"):
        made.append(f"--global-batch-size={round(plan['micro_batch'] * plan['dp'] * figures['micro_batches'])}")
    if figures.get("steps"):
        made.append(f"--train-iters={round(figures['steps'])}")
    return [*made, f"--save={folder}", f"--load={folder}", f"--save-interval={interval}"]
