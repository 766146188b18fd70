"""Helm values of what runs on the cluster, and the objects that the operators read: GPUs, network, queues, secrets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from clusterwright.deploy import dcgm
from clusterwright.deploy.bundle import File
from clusterwright.deploy.targets.kubernetes import nvlink
from clusterwright.deploy.targets.kubernetes.nodes import KUEUE
from clusterwright.deploy.targets.kubernetes.releases import CHARTS, DRIVERS
from clusterwright.deploy.targets.kubernetes.room import Object, Room, kustomization, obj, written
from clusterwright.deploy.text import Written, as_json, as_yaml

__all__ = ["charts", "fabric", "files"]

_NVIDIA = "nvcr.io/nvidia"
_NETWORK = "network-operator-v26.4.1"
DEVICES = {25e9: "101b", 50e9: "1021", 100e9: "1023"}
"""Rate of a card in bytes/s -> PCI device: ConnectX-6, ConnectX-7, ConnectX-8."""
_MELLANOX = "15b3"
_UNSLICED = ("v100", "t4", "l4", "l40s")
"""GPUs without MIG."""
_HCA_SHARES = 64
"""Pods of a node that may share its cards; whole-node gangs use one."""
METRICS = dcgm.listed()
"""Fields of the exporter; profiling fields, ECC totals and XIDs are off in the image's own list."""


def charts(room: Room) -> list[str]:
    """Charts that a site needs, by the names of their values files."""
    made = ["external-secrets", "jobset", "kueue"]
    if room.vendor == "NVIDIA":
        made.append("gpu-operator")
    elif room.vendor == "AMD":
        made.append("amd-gpu-operator")
    if room.transport in ("infiniband", "roce"):
        made.append("network-operator")
    if nvlink.rack_scale(room):
        made.append(nvlink.CHART)
    return sorted(made)


def files(room: Room, others: list[Room]) -> Iterator[File]:
    """``helm/`` with values by chart, ``fabric/`` with what the network operator reads."""
    values: dict[str, Callable[[Room], Object]] = {
        "external-secrets": _external_secrets,
        "gpu-operator": _gpu,
        "amd-gpu-operator": _amd,
        "network-operator": _network,
        nvlink.CHART: lambda r: nvlink.values(r, _tolerations(r)),
        "jobset": _jobset,
        "kueue": lambda r: _kueue(r, bool(r.first and others)),
    }
    for name in charts(room):
        chart = CHARTS[name]
        note = f"Values of the chart {chart.name} {chart.version}"
        yield written(
            f"{room.root}/helm/{name}.yaml", [values[name](room)], note, f"argocd app sync {room.site.name}-{name}"
        )
    objects = fabric(room)
    if objects:
        root = f"{room.root}/fabric"
        yield written(f"{root}/nic-policy.yaml", objects, "Network cards of the GPU nodes", f"kubectl apply -k {root}")
        yield kustomization(root, ["nic-policy.yaml"])


def _tolerations(room: Room) -> list[Object]:
    return [
        {"key": room.resource, "operator": "Exists", "effect": "NoSchedule"},
        {"key": f"{room.domain}/spare", "operator": "Exists", "effect": "NoSchedule"},
    ]


_UPPER = [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}]


def _gpu(room: Room) -> Object:
    """GPU operator: device plugin, labels, whole GPUs, metrics where Prometheus looks. The driver is the
    hosts' own; its version is named so that switching it on here would change none. The toolkit tells containerd."""
    nvidia, cloud, kit = (room.mirrored(f"{_NVIDIA}{part}") for part in ("", "/cloud-native", "/k8s"))
    port = room.inventory.ports["dcgm-exporter"]
    sliced = room.computing[0].gpu_type not in _UNSLICED
    return {
        "daemonsets": {"tolerations": _tolerations(room), "updateStrategy": "RollingUpdate"},
        "operator": {"repository": nvidia, "tolerations": _UPPER, "upgradeCRD": True},
        "validator": {"repository": nvidia},
        "mig": {"strategy": "single" if sliced else "none"},
        "migManager": {"enabled": sliced, "repository": cloud, "config": {"default": "all-disabled"}},
        "driver": {
            "enabled": False,
            "repository": nvidia,
            "version": DRIVERS["NVIDIA"],
            "kernelModuleType": "auto",
            "rdma": {"enabled": room.transport in ("infiniband", "roce"), "useHostMofed": True},
            "upgradePolicy": {
                "autoUpgrade": True,
                "maxParallelUpgrades": 1,
                "maxUnavailable": "5%",
                "waitForCompletion": {"timeoutSeconds": 0, "podSelector": "jobset.sigs.k8s.io/jobset-name"},
                "drain": {"enable": True, "force": False, "timeoutSeconds": 3600},
            },
        },
        "toolkit": {"enabled": True, "repository": kit},
        "devicePlugin": {"enabled": True, "repository": nvidia},
        "gfd": {"enabled": True, "repository": nvidia},
        "dcgm": {"enabled": False},
        "dcgmExporter": {
            "enabled": True,
            "repository": kit,
            "hostNetwork": True,
            "enablePodLabels": True,
            "podLabelAllowlistRegex": ["^kueue\\.x-k8s\\.io/.*$", "^jobset\\.sigs\\.k8s\\.io/.*$"],
            "env": [
                {"name": "DCGM_EXPORTER_LISTEN", "value": f":{port}"},
                {"name": "DCGM_EXPORTER_KUBERNETES", "value": "true"},
                {"name": "DCGM_EXPORTER_COLLECTORS", "value": "/etc/dcgm-exporter/dcgm-metrics.csv"},
            ],
            "serviceMonitor": {"enabled": False},
            "config": {"name": "dcgm-metrics", "create": True, "data": Written(METRICS)},
        },
        "vgpuDeviceManager": {"enabled": False},
        "vfioManager": {"enabled": False},
        "sandboxDevicePlugin": {"enabled": False},
        "node-feature-discovery": {"worker": {"tolerations": [*_UPPER, *_tolerations(room)]}},
    }


def _amd(room: Room) -> Object:
    """AMD GPU operator: device plugin, labels, metrics; the driver is the hosts' own."""
    tolerations = _tolerations(room)
    return {
        "node-feature-discovery": {"worker": {"tolerations": tolerations}},
        "deviceConfig": {
            "spec": {
                "driver": {
                    "enable": False,
                    "image": room.mirrored("rocm/amdgpu-driver"),
                    "version": DRIVERS["AMD"],
                    "tolerations": tolerations,
                    "upgradePolicy": {"enable": True, "maxParallelUpgrades": 1, "maxUnavailableNodes": "5%"},
                },
                "devicePlugin": {
                    "enableDevicePlugin": True,
                    "devicePluginTolerations": tolerations,
                    "enableNodeLabeller": True,
                    "nodeLabellerTolerations": tolerations,
                },
                "metricsExporter": {
                    "enable": True,
                    "hostNetwork": True,
                    "port": room.inventory.ports["dcgm-exporter"],
                    "serviceType": "ClusterIP",
                    "tolerations": tolerations,
                },
            }
        },
    }


def _network(room: Room) -> Object:
    """Network operator; what it does with the cards is in ``fabric/``. Node features come from the GPU operator."""
    repository = room.mirrored(f"{_NVIDIA}/mellanox")
    own = room.vendor != "NVIDIA"
    made: Object = {
        "nfd": {"enabled": own, "deployNodeFeatureRules": True},
        "upgradeCRDs": True,
        "sriovNetworkOperator": {"enabled": False},
        "maintenanceOperator": {"enabled": False},
        "operator": {"repository": repository, "tolerations": _UPPER},
    }
    if own:
        made["node-feature-discovery"] = {"worker": {"tolerations": [*_UPPER, *_tolerations(room)]}}
    return made


def fabric(room: Room) -> list[Object]:
    """NicClusterPolicy: the RDMA resource that pods ask for; the driver of the cards is the hosts' own.

    One resource stands for all cards of the compute network of a node: pods of a gang have whole nodes, and NCCL
    chooses the rail of each GPU by itself. Storage cards are left out by their rate or their link type.
    """
    if room.transport not in ("infiniband", "roce"):
        return []
    repository = room.mirrored(f"{_NVIDIA}/mellanox")
    group = room.computing[0]
    link = "infiniband" if room.transport == "infiniband" else "ether"
    chosen: Object = {"vendors": [_MELLANOX], "linkTypes": [link]}
    if group.nic_bytes_s in DEVICES:
        chosen["deviceIDs"] = [DEVICES[group.nic_bytes_s]]
    config = {
        "configList": [
            {"resourcePrefix": "rdma", "resourceName": "hca", "rdmaHcaMax": _HCA_SHARES, "selectors": chosen}
        ]
    }
    spec: Object = {
        "rdmaSharedDevicePlugin": {
            "image": "k8s-rdma-shared-dev-plugin",
            "repository": repository,
            "version": _NETWORK,
            "config": Written(as_json(config)),
        },
        "tolerations": _tolerations(room),
    }
    return [obj("mellanox.com/v1alpha1", "NicClusterPolicy", "nic-cluster-policy", spec=spec)]


# --- queues, gangs, secrets ---


def _kueue(room: Room, manager: bool) -> Object:
    """Kueue: two controllers, fair sharing, gangs that start whole or not at all.

    They run in the network of the hosts that the design names, where Prometheus outside the cluster reaches them,
    unless kube-state-metrics has the port of their probes on the same host.
    """
    services = room.site.services
    outside = not set(services.get("Kueue", ())) & set(services.get("kube-state-metrics", ()))
    restart = max((w.figures.get("restart_overhead_s", 0.0) for w in room.inventory.workloads), default=0.0)
    minutes = max(10, math.ceil(2 * restart / 60))
    excluded = ["rdma/", "ephemeral-storage", "vpc.amazonaws.com/"]
    config: Object = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {
            "bindAddress": f":{room.inventory.ports['kueue-metrics']}",
            "enableClusterQueueResources": True,
        },
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "clientConnection": {"qps": 300, "burst": 500},
        "manageJobsWithoutQueueName": True,
        "managedJobsNamespaceSelector": {"matchExpressions": [{"key": f"{room.domain}/tenant", "operator": "Exists"}]},
        "waitForPodsReady": {
            "timeout": f"{minutes}m0s",
            "recoveryTimeout": f"{minutes}m0s",
            "blockAdmission": False,
            "requeuingStrategy": {"timestamp": "Eviction", "backoffBaseSeconds": 60, "backoffMaxSeconds": 3600},
        },
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "pod", "deployment", "statefulset"]},
        "fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]},
        "resources": {"excludeResourcePrefixes": excluded},
        "objectRetentionPolicies": {"workloads": {"afterFinished": "168h0m0s"}},
    }
    if manager:
        origin = {"gcInterval": "1m0s", "origin": f"{room.site.name}-manager", "workerLostTimeout": "15m0s"}
        config["multiKueue"] = origin
    return {
        "enablePrometheus": False,
        "enableMutatingAdmissionPolicy": bool(manager and room.release.mutating_policy),
        "controllerManager": {
            **_gates(room),
            "replicas": 2,
            "manager": {
                "image": {
                    "repository": room.mirrored("registry.k8s.io/kueue/kueue"),
                    "tag": f"v{CHARTS['kueue'].version}",
                    "pullPolicy": "IfNotPresent",
                },
                "priorityClassName": "system-cluster-critical",
                "resources": _sized(room),
            },
            "hostNetwork": outside,
            "dnsPolicy": "ClusterFirstWithHostNet" if outside else "ClusterFirst",
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "nodeSelector": {f"{room.domain}/{KUEUE}": "true"},
            "tolerations": _UPPER,
            "podDisruptionBudget": {"enabled": True, "minAvailable": 1},
        },
        "managerConfig": {"controllerManagerConfigYaml": Written(as_yaml(config))},
    }


def _gates(room: Room) -> Object:
    """What jobs that claim channels of NVLink need."""
    off = [{"name": name, "enabled": False} for name in nvlink.GATES]
    return {"featureGates": off} if nvlink.rack_scale(room) else {}


def _sized(room: Room) -> Object:
    """The controllers cache every node and pod: 512 MiB and 1 MiB for each 4 nodes."""
    nodes = sum(group.count for group in room.groups)
    memory = f"{512 + nodes // 4}Mi"
    return {"requests": {"cpu": "1", "memory": memory}, "limits": {"cpu": "4", "memory": memory}}


def _jobset(room: Room) -> Object:
    return {
        "image": {
            "repository": room.mirrored("registry.k8s.io/jobset/jobset"),
            "tag": f"v{CHARTS['jobset'].version}",
            "pullPolicy": "IfNotPresent",
        },
        "controller": {
            "replicas": 2,
            "leaderElection": {"enable": True},
            "resources": _sized(room),
            "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
            "tolerations": _UPPER,
            "podDisruptionBudget": {"enabled": True, "minAvailable": 1},
        },
        "prometheus": {"enable": False},
    }


def _external_secrets(room: Room) -> Object:
    image = {"repository": room.mirrored("ghcr.io/external-secrets/external-secrets")}
    beside = {"image": image, "tolerations": _UPPER, "nodeSelector": {"node-role.kubernetes.io/control-plane": ""}}
    budget = {"enabled": True, "minAvailable": 1}
    return {
        "installCRDs": True,
        "replicaCount": 2,
        "leaderElect": True,
        **beside,
        "podDisruptionBudget": budget,
        "processClusterStore": False,
        "processClusterExternalSecret": False,
        "webhook": {"replicaCount": 2, **beside, "podDisruptionBudget": budget},
        "certController": {"replicaCount": 1, **beside},
        "serviceMonitor": {"enabled": False},
    }
