"""Multi-node NVLink: the DRA driver of NVIDIA, a compute domain a run, and the IMEX channel that its pods claim.

On a rack-scale system GPUs of several nodes share memory over NVLink, which the service IMEX brokers. Under Kubernetes
nobody runs it on the hosts: the driver starts a daemon of it on each node of a run and lets the pods of the run in, and
nobody else. GPUs themselves stay with the device plugin, because quotas name ``nvidia.com/gpu``.
"""

from __future__ import annotations

from clusterwright.deploy.targets.kubernetes.room import Object, Room, obj

__all__ = ["CHART", "CLAIM", "GATES", "claim", "domain", "rack_scale", "rules", "values"]

CHART = "dra-driver-nvidia-gpu"
CLAIM = "imex-channel"
"""Name of the claim inside a pod."""
_API = "resource.nvidia.com"
GATES = ("KueueDRAIntegration", "KueueDRAIntegrationExtendedResource", "KueueDRARejectWorkloadsWhenDRADisabled")
"""Gates of Kueue (0.18 and later) that are switched off: channels are no quota, GPUs are counted as extended resources,
and a claim of a class without quota would keep its workload from being admitted."""


def rack_scale(room: Room) -> bool:
    """Whether NVLink of the site reaches over several nodes."""
    return room.vendor == "NVIDIA" and room.inventory.value("server.system_nodes") > 1


def domain(name: str, namespace: str) -> Object:
    """The compute domain of a run; the controller makes the claim template of the same name.

    Zero nodes is what the driver recommends: each pod starts with its own daemon, and whoever joins is in. Nodes of one
    rack find each other; a run over several racks has a domain of IMEX in each.
    """
    spec = {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": name}, "allocationMode": "Single"}}
    return obj(f"{_API}/v1beta1", "ComputeDomain", name, namespace, spec=spec)


def claim(pod: Object, name: str) -> None:
    """Let a pod and its first container claim a channel of the domain."""
    pod["resourceClaims"] = [{"name": CLAIM, "resourceClaimTemplateName": name}]
    container = pod["containers"][0]
    container["resources"] = {**container["resources"], "claims": [{"name": CLAIM}]}


def rules(verbs: list[str]) -> list[Object]:
    """What a role may do with domains, and that it sees the claims that come of them."""
    claims = ["resourceclaims", "resourceclaimtemplates"]
    return [
        {"apiGroups": [_API], "resources": ["computedomains"], "verbs": verbs},
        {"apiGroups": ["resource.k8s.io"], "resources": claims, "verbs": ["get", "list", "watch"]},
    ]


def values(room: Room, tolerations: list[Object]) -> Object:
    """Values of the driver's chart: compute domains only, the driver of the hosts, on GPU nodes with their taints."""
    return {
        "nvidiaDriverRoot": "/",
        "image": {"repository": room.mirrored("registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu")},
        "resources": {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}},
        "controller": {"priorityClassName": "system-cluster-critical"},
        "kubeletPlugin": {"priorityClassName": "system-node-critical", "tolerations": tolerations},
    }
