"""Helm values against the keys of their charts, kubeadm files against their fields, images against the registry."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from clusterwright.deploy.targets.kubernetes.check_objects import quantities
from clusterwright.deploy.targets.kubernetes.check_references import pods
from clusterwright.deploy.targets.kubernetes.reading import Reading
from clusterwright.deploy.targets.kubernetes.releases import CHARTS, RELEASES, Release
from clusterwright.deploy.targets.kubernetes.schemas import chart_keys, kinds, misfits, strange_keys
from clusterwright.deploy.text import load_yaml

__all__ = ["KUBEADM", "kueue_configuration", "run"]

_NODE = {"name": "str", "criSocket": "str", "taints": "list", "kubeletExtraArgs": "list", "imagePullPolicy": "str"}
_PART = {"extraArgs": "list", "extraVolumes": "list", "extraEnvs": "list"}
_CLAIM = {"claim": "str", "prefix": "str", "expression": "str"}
_JWT = {
    "issuer": {"url": "https", "audiences": "list", "discoveryURL": "https", "audienceMatchPolicy": "str"},
    "claimMappings": {"username": _CLAIM, "groups": _CLAIM, "uid": _CLAIM, "extra": "list"},
    "claimValidationRules": "list",
    "userValidationRules": "list",
}
_ENDPOINT = {"advertiseAddress": "str", "bindPort": "port"}
KUBEADM: Mapping[str, Mapping[str, Any]] = {
    "InitConfiguration": {
        "localAPIEndpoint": _ENDPOINT,
        "nodeRegistration": _NODE,
        "skipPhases": "list",
        "certificateKey": "str",
        "patches": "any",
        "timeouts": "any",
        "bootstrapTokens": "list",
    },
    "ClusterConfiguration": {
        "clusterName": "str",
        "kubernetesVersion": "str",
        "controlPlaneEndpoint": "str",
        "imageRepository": "str",
        "certificatesDir": "str",
        "networking": {"podSubnet": "block", "serviceSubnet": "block", "dnsDomain": "str"},
        "apiServer": {**_PART, "certSANs": "list"},
        "controllerManager": _PART,
        "scheduler": _PART,
        "etcd": {"local": {"dataDir": "str", "extraArgs": "list", "serverCertSANs": "list"}, "external": "any"},
        "dns": "any",
        "featureGates": "any",
        "encryptionAlgorithm": "str",
    },
    "JoinConfiguration": {
        "discovery": {"file": {"kubeConfigPath": "str"}, "bootstrapToken": "any", "tlsBootstrapToken": "str"},
        "nodeRegistration": _NODE,
        "controlPlane": {"localAPIEndpoint": _ENDPOINT, "certificateKey": "str"},
        "caCertPath": "str",
        "skipPhases": "list",
        "patches": "any",
        "timeouts": "any",
    },
    "KubeletConfiguration": {
        "cgroupDriver": "str",
        "cpuManagerPolicy": "str",
        "topologyManagerPolicy": "str",
        "systemReserved": "any",
        "kubeReserved": "any",
        "evictionHard": "any",
        "maxPods": "count",
        "serializeImagePulls": "bool",
        "maxParallelImagePulls": "count",
        "shutdownGracePeriod": "duration",
        "shutdownGracePeriodCriticalPods": "duration",
        "rotateCertificates": "bool",
        "readOnlyPort": "int",
        "port": "port",
    },
    "KubeProxyConfiguration": {"mode": "str", "clusterCIDR": "block"},
    "AuthenticationConfiguration": {"jwt": [_JWT], "anonymous": "any"},
    "Policy": {"omitStages": "list", "rules": "list", "omitManagedFields": "bool"},
}
"""Fields of the files that kubeadm, kubelet, kube-proxy and API server read, and what they hold (their API docs)."""
_TYPES: Mapping[str, type | tuple[type, ...]] = {"str": str, "list": list, "int": int, "bool": bool}
_API = {
    "KubeletConfiguration": "kubelet.config.k8s.io/v1beta1",
    "KubeProxyConfiguration": "kubeproxy.config.k8s.io/v1alpha1",
    "AuthenticationConfiguration": "apiserver.config.k8s.io/v1",
    "Policy": "audit.k8s.io/v1",
}
_CHOICES = {
    "cgroupDriver": ("systemd", "cgroupfs"),
    "cpuManagerPolicy": ("none", "static"),
    "topologyManagerPolicy": ("none", "best-effort", "restricted", "single-numa-node"),
    "mode": ("iptables", "ipvs", "nftables"),
    "omitStages": ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"),
}
_LEVELS = ("None", "Metadata", "Request", "RequestResponse")
_DURATION = re.compile(r"(\d+(\.\d+)?(h|m|s|ms))+")
_METRIC = re.compile(r"(DCGM_FI_[A-Z0-9_]+), (gauge|counter|histogram|label), [^,]+")


def run(reading: Reading) -> None:
    """Judge values, configuration of the control plane, and where images come from."""
    release = RELEASES.get(reading.folder.versions.get("kubernetes", ""))
    registry = str((reading.folder.inventory.get("settings") or {}).get("registry", ""))
    for site in reading.sites:
        for path in reading.folder.glob(f"kubernetes/{site}/helm/*.yaml"):
            for what in _values(path, reading.first(path), registry):
                reading.say(path, what)
        for path in reading.folder.glob(f"kubernetes/{site}/kubeadm/*.yaml"):
            for document in reading.documents.get(path, []):
                for what in _configuration(document, release):
                    reading.say(path, what)
        for path, what in _agreeing(reading, site):
            reading.say(path, what)
        for one in reading.built[site]:
            for what in _images(one.kind, one.body, list(pods(one)) if one.kind == "JobSet" else [], registry):
                reading.say(one.file, f"{one.kind} {one.name}: {what}")
    for path, what in _charts(reading):
        reading.say(path, what)


def _images(kind: str, body: Mapping[str, Any], found: list[Mapping[str, Any]], registry: str) -> Iterator[str]:
    for pod in found:
        for container in pod.get("containers") or []:
            image = str(container.get("image", ""))
            if not image.startswith(f"{registry}/") or ":" not in image.rpartition("/")[2] or image.endswith(":latest"):
                yield f"image {image[:80]} is not a tagged one of {registry}"
    if kind == "NicClusterPolicy":
        for name, part in (body.get("spec") or {}).items():
            if not isinstance(part, Mapping):
                continue
            if not str(part.get("repository", f"{registry}/")).startswith(f"{registry}/"):
                yield f"{name} comes from {part['repository']}, not from {registry}"
            if isinstance(part.get("config"), str):
                yield from _json(f"{name}.config", part["config"])


def _json(name: str, text: str) -> Iterator[str]:
    try:
        held = json.loads(text)
    except ValueError as error:
        yield f"{name} is no JSON: {error}"
        return
    for entry in held.get("configList", []):
        if set(entry) - {"resourcePrefix", "resourceName", "rdmaHcaMax", "selectors"} or "resourceName" not in entry:
            yield f"{name} has keys that the device plugin does not know: {', '.join(entry)}"


# --- Helm ---


def _values(path: str, values: Any, registry: str) -> Iterator[str]:
    name = path.rpartition("/")[2].removesuffix(".yaml")
    if name not in CHARTS:
        yield f"{name} is no chart of this bundle"
        return
    yield from strange_keys(values, chart_keys(name))
    yield from _repositories(values, "", registry)
    yield from quantities(values, "")
    if name == "amd-gpu-operator":
        schema = kinds()["amd.com/v1alpha1/DeviceConfig"]["schema"]["properties"]["spec"]
        yield from misfits((values.get("deviceConfig") or {}).get("spec"), schema, "deviceConfig.spec")
    if name == "kueue":
        yield from _kueue(kueue_configuration(values))
    if name == "gpu-operator":
        data = str(((values.get("dcgmExporter") or {}).get("config") or {}).get("data", ""))
        fields = [line for line in data.splitlines() if line.strip() and not line.startswith("#")]
        yield from (
            f"dcgmExporter.config.data: {line[:60]!r} is no metric" for line in fields if not _METRIC.fullmatch(line)
        )
        if (values.get("mig") or {}).get("strategy") not in ("none", "single", "mixed"):
            yield "mig.strategy is none, single or mixed"
        if not re.fullmatch(r"\d+\.\d+(\.\d+)?", str((values.get("driver") or {}).get("version"))):
            yield "driver.version is no version of the driver"


def _repositories(values: Any, at: str, registry: str) -> Iterator[str]:
    if not isinstance(values, Mapping):
        return
    for key, one in values.items():
        place = f"{at}.{key}" if at else str(key)
        if key == "repository" and not str(one).startswith(f"{registry}/"):
            yield f"{place} is {one}, not in {registry}"
        yield from _repositories(one, place, registry)


def kueue_configuration(values: Any) -> Mapping[str, Any]:
    """Configuration of the controller inside Kueue's values; empty when it is no YAML."""
    text = (values.get("managerConfig") or {}).get("controllerManagerConfigYaml", "")
    try:
        found = load_yaml(str(text))
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


_CONFIGURATION = (
    *("apiVersion", "kind", "health", "metrics", "webhook", "leaderElection", "clientConnection", "controller"),
    *("manageJobsWithoutQueueName", "managedJobsNamespaceSelector", "waitForPodsReady", "integrations", "fairSharing"),
    *("resources", "objectRetentionPolicies", "multiKueue", "admissionFairSharing", "featureGates", "tls"),
    *("internalCertManagement", "visibilityServer", "namespace", "pprofBindAddress"),
)


def _kueue(config: Mapping[str, Any]) -> Iterator[str]:
    if config.get("apiVersion") != "config.kueue.x-k8s.io/v1beta2" or config.get("kind") != "Configuration":
        yield "controllerManagerConfigYaml is no Configuration of config.kueue.x-k8s.io/v1beta2"
        return
    for key in config:
        if key not in _CONFIGURATION:
            yield f"the configuration of Kueue has no key {key!r}"
    if not config.get("fairSharing"):
        yield "fair sharing is off, so weights of tenants mean nothing"
    if "jobset.x-k8s.io/jobset" not in (config.get("integrations") or {}).get("frameworks", []):
        yield "Kueue does not manage JobSets"
    ready = config.get("waitForPodsReady") or {}
    for key in ("timeout", "recoveryTimeout"):
        if not _DURATION.fullmatch(str(ready.get(key))):
            yield f"waitForPodsReady.{key} is {ready.get(key)}, no duration"


def _charts(reading: Reading) -> Iterator[tuple[str, str]]:
    """Versions that Argo CD installs are those whose keys were checked."""
    pinned = {(chart.repository, chart.name): chart.version for chart in CHARTS.values()}
    for path in reading.folder.glob("kubernetes/argocd/*.yaml"):
        for body in reading.documents.get(path, []):
            for source in (body.get("spec") or {}).get("sources") or []:
                chart = source.get("chart")
                if chart and pinned.get((source.get("repoURL"), chart)) != source.get("targetRevision"):
                    said = f"chart {chart} {source.get('targetRevision')} is not the one whose keys were checked"
                    yield path, said


# --- the control plane ---


def _configuration(held: Any, release: Release | None) -> Iterator[str]:
    kind = str(held.get("kind")) if isinstance(held, Mapping) else ""
    if kind not in KUBEADM:
        yield f"{kind or 'a document'} is nothing that kubeadm or the API server reads"
        return
    wanted = _API.get(kind, release.kubeadm if release else "")
    if held.get("apiVersion") != wanted:
        yield f"{kind} is of {held.get('apiVersion')}, this release reads {wanted}"
    body = {key: value for key, value in held.items() if key not in ("apiVersion", "kind")}
    yield from (f"{kind}: {what}" for what in _fields(body, KUBEADM[kind], ""))
    if kind == "ClusterConfiguration" and release and held.get("kubernetesVersion") != release.patch:
        yield f"kubernetesVersion is {held.get('kubernetesVersion')}, the release is {release.patch}"
    if kind == "Policy":
        for rule in held.get("rules") or []:
            if rule.get("level") not in _LEVELS:
                yield f"audit level {rule.get('level')!r} is not one of {', '.join(_LEVELS)}"


def _fields(value: Any, known: Mapping[str, Any], at: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{at or 'it'} is no mapping"
        return
    for key, one in value.items():
        place = f"{at}.{key}" if at else str(key)
        wanted = known.get(key)
        if wanted is None:
            yield f"no field {place}"
        elif isinstance(wanted, Mapping):
            yield from _fields(one, wanted, place)
        elif isinstance(wanted, list):
            if not isinstance(one, list):
                yield f"{place} is no list"
                continue
            for i, entry in enumerate(one):
                yield from _fields(entry, wanted[0], f"{place}[{i}]")
        else:
            yield from _field(one, str(wanted), place, str(key))


def _field(value: Any, wanted: str, place: str, key: str) -> Iterator[str]:
    if wanted in _TYPES and (not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted == "int")):
        yield f"{place} is {value!r}, not of type {wanted}"
    elif key in _CHOICES and not set(value if isinstance(value, list) else [value]) <= set(_CHOICES[key]):
        yield f"{place} is {value!r}, not one of {', '.join(_CHOICES[key])}"
    elif wanted == "https" and not str(value).startswith("https://"):
        yield f"{place} is {value!r}, no address over TLS"
    elif wanted == "port" and not (isinstance(value, int) and 0 < value < 65536):
        yield f"{place} is {value!r}, no port"
    elif wanted == "count" and not (isinstance(value, int) and value > 0):
        yield f"{place} is {value!r}, no count"
    elif wanted == "duration" and not _DURATION.fullmatch(str(value)):
        yield f"{place} is {value!r}, no duration"
    elif wanted == "block":
        try:
            ipaddress.IPv4Network(str(value))
        except ValueError as error:
            yield f"{place}: {error}"
    elif key in ("extraArgs", "kubeletExtraArgs"):
        for entry in value:
            if not isinstance(entry, Mapping) or set(entry) != {"name", "value"} or not isinstance(entry["value"], str):
                yield f"{place} has {entry!r}, not a name and a value as text"


def _agreeing(reading: Reading, site: str) -> Iterator[tuple[str, str]]:
    """Networks of kubeadm are those of the inventory, and nodes join with labels and taints of their class."""
    path = f"kubernetes/{site}/kubeadm/cluster.yaml"
    held = {str(d.get("kind")): d for d in reading.documents.get(path, []) if isinstance(d, Mapping)}
    for kind in ("InitConfiguration", "ClusterConfiguration", "KubeletConfiguration"):
        if kind not in held:
            yield path, f"{kind} is missing"
    sites = {str(entry.get("name")): entry for entry in reading.folder.inventory.get("sites", [])}
    networks = (sites.get(site) or {}).get("networks") or {}
    said = (held.get("ClusterConfiguration") or {}).get("networking") or {}
    for key, name in (("podSubnet", "pods"), ("serviceSubnet", "services")):
        wanted = (networks.get(name) or {}).get("block")
        if said.get(key) != wanted:
            yield path, f"{key} is {said.get(key)}, the inventory's network {name} is {wanted}"
    proxy = (held.get("KubeProxyConfiguration") or {}).get("clusterCIDR")
    if proxy != said.get("podSubnet"):
        yield path, f"clusterCIDR is {proxy}, podSubnet {said.get('podSubnet')}"
    classes = reading.first(f"kubernetes/{site}/nodes/classes.yaml").get("classes") or {}
    for name, entry in classes.items():
        joined = f"kubernetes/{site}/kubeadm/join-{name}.yaml"
        node = reading.first(joined).get("nodeRegistration") or {}
        labels = ",".join(f"{k}={v}" for k, v in entry["labels"].items())
        given = next((a.get("value") for a in node.get("kubeletExtraArgs") or [] if a.get("name") == "node-labels"), "")
        if given != labels:
            yield joined, f"labels are {given}, those of the class {labels}"
        if node.get("taints") != entry["taints"]:
            yield joined, f"taints are not those of the class {name}"
