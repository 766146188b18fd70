"""kubeadm: how the control plane is started and how nodes join, for the release of the design."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Host
from clusterwright.deploy.targets.kubernetes import nodes
from clusterwright.deploy.targets.kubernetes.room import RESERVED, Object, Room, written

__all__ = ["API_SERVER", "files"]

API_SERVER = "kubernetes"
"""Name below the site's domain that leads to every API server."""
_SOCKET = "unix:///run/containerd/containerd.sock"
_FOLDER = "/etc/kubernetes"


def files(room: Room) -> Iterator[File]:
    """``kubeadm/``: cluster.yaml, join-CLASS.yaml, authentication.yaml, audit-policy.yaml.

    The key of secrets at rest is in none of them: the playbooks write ``encryption.yaml`` on the hosts from the secrets
    store.
    """
    root = f"{room.root}/kubeadm"
    first = [_init(room), _cluster(room), _kubelet(room), _proxy(room)]
    note = "kubeadm init on the first control-plane host; the cluster's authority is signed by the site's beforehand"
    yield written(f"{root}/cluster.yaml", first, note, "kubeadm upgrade apply --config cluster.yaml")
    for name in nodes.classes(room):
        note = f"kubeadm join of the class {name}; the discovery file is fetched with a short-lived token"
        yield written(f"{root}/join-{name}.yaml", [_join(room, name)], note, "kubeadm join (new nodes only)")
    served = {
        "authentication.yaml": ([_authentication(room)], "Who people are: the identity provider says"),
        "audit-policy.yaml": ([_audit()], "What the API server writes down"),
    }
    for name, (objects, note) in served.items():
        yield written(f"{root}/{name}", objects, note, "restart kube-apiserver, one host after the other")


def _arguments(**pairs: str) -> list[Object]:
    return [{"name": name.replace("_", "-"), "value": value} for name, value in pairs.items()]


def _init(room: Room) -> Object:
    first = nodes.control_plane(room)[0]
    return {
        "apiVersion": room.release.kubeadm,
        "kind": "InitConfiguration",
        "localAPIEndpoint": {
            "advertiseAddress": room.inventory.address(first),
            "bindPort": room.inventory.ports["kubernetes-api"],
        },
        "nodeRegistration": _registration(room, next(kind for host, kind in nodes.members(room) if host == first)),
    }


def _cluster(room: Room) -> Object:
    inventory, site = room.inventory, room.site
    hosts = nodes.control_plane(room)
    port = inventory.ports["kubernetes-api"]
    mounted = [
        {
            "name": name,
            "hostPath": f"{_FOLDER}/{name}.yaml",
            "mountPath": f"{_FOLDER}/{name}.yaml",
            "readOnly": True,
            "pathType": "File",
        }
        for name in ("authentication", "audit-policy", "encryption")
    ]
    folder = "/var/log/kubernetes"
    logs = {"name": "audit-log", "hostPath": folder, "mountPath": folder, "pathType": "DirectoryOrCreate"}
    server = {
        "certSANs": [f"{API_SERVER}.{site.domain}", *(name for h in hosts for name in _names(room, h))],
        "extraArgs": _arguments(
            authentication_config=f"{_FOLDER}/authentication.yaml",
            encryption_provider_config=f"{_FOLDER}/encryption.yaml",
            audit_policy_file=f"{_FOLDER}/audit-policy.yaml",
            audit_log_path="/var/log/kubernetes/audit.log",
            audit_log_maxage="30",
            audit_log_maxsize="500",
            enable_admission_plugins="NodeRestriction",
            profiling="false",
        ),
        "extraVolumes": [*mounted, logs],
    }
    etcd = {"extraArgs": _arguments(quota_backend_bytes=str(8 * 2**30), auto_compaction_retention="8")}
    return {
        "apiVersion": room.release.kubeadm,
        "kind": "ClusterConfiguration",
        "clusterName": site.name,
        "kubernetesVersion": room.release.patch,
        "controlPlaneEndpoint": f"{API_SERVER}.{site.domain}:{port}",
        "imageRepository": room.mirrored("registry.k8s.io"),
        "networking": {
            "podSubnet": site.networks["pods"].block,
            "serviceSubnet": site.networks["services"].block,
            "dnsDomain": "cluster.local",
        },
        "apiServer": server,
        "controllerManager": {
            "extraArgs": _arguments(
                bind_address="0.0.0.0",  # noqa: S104  # metrics, with authentication
                node_cidr_mask_size=str(_node_mask(room)),
                profiling="false",
            )
        },
        "scheduler": {"extraArgs": _arguments(bind_address="0.0.0.0", profiling="false")},  # noqa: S104
        "etcd": {"local": {"dataDir": "/var/lib/etcd", **etcd}},
    }


def _names(room: Room, host: Host) -> tuple[str, str]:
    return f"{host.name}.{room.site.domain}", room.inventory.address(host)


def _node_mask(room: Room) -> int:
    """Prefix of the pod network of a node: the largest that gives every node a block, 256 addresses at most."""
    many = sum(group.count for group in room.inventory.groups if group.site == room.site.name)
    whole = int(room.site.networks["pods"].block.partition("/")[2])
    return min(max(24, whole + many.bit_length()), 28)


def _registration(room: Room, name: str) -> Object:
    found = nodes.classes(room)[name]
    labels = ",".join(f"{key}={value}" for key, value in found["labels"].items())
    return {
        "criSocket": _SOCKET,
        "taints": found["taints"],
        "kubeletExtraArgs": _arguments(node_labels=labels),
    }


def _join(room: Room, name: str) -> Object:
    made: Object = {
        "apiVersion": room.release.kubeadm,
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": f"{_FOLDER}/discovery.conf"}},
        "nodeRegistration": _registration(room, name),
    }
    if name.startswith("control-plane"):
        made["controlPlane"] = {"localAPIEndpoint": {"bindPort": room.inventory.ports["kubernetes-api"]}}
    return made


def _kubelet(room: Room) -> Object:
    """Whole cores for training pods, the system's part kept free, time to write a checkpoint at shutdown."""
    grace = max((w.figures.get("checkpoint_write_s", 0.0) for w in room.inventory.workloads), default=0.0)
    seconds = max(60, int(2 * grace) + 1)
    mask = _node_mask(room)
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
        "cpuManagerPolicy": "static",
        "topologyManagerPolicy": "best-effort",
        "systemReserved": {"cpu": str(RESERVED["cpu"]), "memory": f"{RESERVED['memory_gib']}Gi"},
        "evictionHard": {"memory.available": "2Gi", "nodefs.available": "10%", "imagefs.available": "15%"},
        "maxPods": min(110, 2 ** (32 - mask) - 3),
        "serializeImagePulls": False,
        "maxParallelImagePulls": 4,
        "shutdownGracePeriod": f"{seconds + 30}s",
        "shutdownGracePeriodCriticalPods": "30s",
        "rotateCertificates": True,
        "readOnlyPort": 0,
        "port": room.inventory.ports["kubelet"],
    }


def _proxy(room: Room) -> Object:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": room.site.networks["pods"].block,
    }


def _authentication(room: Room) -> Object:
    hosts = room.site.services.get("identity provider (LDAP, OIDC)", ()) or ("identity",)
    claims = {
        "username": {"claim": "preferred_username", "prefix": "oidc:"},
        "groups": {"claim": "groups", "prefix": "oidc:"},
    }
    issuer = {"url": f"https://{hosts[0]}.{room.site.domain}", "audiences": [f"kubernetes-{room.site.name}"]}
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "jwt": [{"issuer": issuer, "claimMappings": claims}],
    }


def _audit() -> Object:
    """Never the content of secrets; changes with what was asked; reads of everything else as one line."""
    secrets = [{"group": "", "resources": ["secrets", "configmaps"]}, {"group": "authentication.k8s.io"}]
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Metadata", "resources": secrets},
            {"level": "None", "users": ["system:kube-proxy"], "verbs": ["watch"]},
            {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/metrics"]},
            {"level": "Request", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
            {"level": "Metadata"},
        ],
    }
