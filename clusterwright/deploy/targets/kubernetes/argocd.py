"""Argo CD: one project, one application for each chart and each folder of each site, in waves."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.targets.kubernetes import operators
from clusterwright.deploy.targets.kubernetes.releases import CHARTS, Chart
from clusterwright.deploy.targets.kubernetes.room import SYSTEM, Object, Room, kustomization, obj, short, written
from clusterwright.deploy.text import Written

__all__ = ["API", "FOLDERS", "ROOT", "files"]

API = "argoproj.io/v1alpha1"
ROOT = "kubernetes/argocd"
NAMESPACE = "argocd"
_WAVE = "argocd.argoproj.io/sync-wave"
_HERE = "https://kubernetes.default.svc"
FOLDERS = {"base": -40, "storage": -15, "fabric": -15, "queues": 0, "monitoring": 0, "tenants": 10, "training": 20}
"""Folder of a site -> wave: what defines comes before what uses it."""
_BY_HAND = ("training",)
"""Folders that are not synchronised by themselves: a run starts when somebody says so."""
MONITORS = ("https://github.com/prometheus-operator/prometheus-operator", "v0.93.0", "example/prometheus-operator-crd")
"""Where the kinds ServiceMonitor and PodMonitor are defined: repository, tag, folder."""
_HEALTH = """\
local hs = {status = "Progressing", message = "waiting for the first status"}
if obj.spec.syncPolicy == nil or obj.spec.syncPolicy.automated == nil then
  return {status = "Healthy", message = "synchronised by hand"}
end
if obj.status ~= nil and obj.status.health ~= nil then
  hs.status = obj.status.health.status
  hs.message = obj.status.health.message or ""
end
return hs
"""
"""Health of an application, in Lua. Argo CD does not judge it by itself, and without it waves of applications do not
wait for each other."""


def files(rooms: list[Room]) -> Iterator[File]:
    """``argocd/``: the project and the applications; apply it once, it keeps itself."""
    after = f"kubectl apply -k {ROOT}"
    yield written(f"{ROOT}/project.yaml", [_project(rooms)], "What Argo CD may write, and where", after)
    for room in rooms:
        made = [_monitor_kinds(room), *(_chart(room, name) for name in operators.charts(room))]
        made += [
            _folder(room, name, wave) for name, wave in FOLDERS.items() if name != "fabric" or operators.fabric(room)
        ]
        note = f"Applications of the site {room.site.name}: charts with values of this bundle, then its folders"
        yield written(f"{ROOT}/{room.site.name}.yaml", made, note, after)
    yield written(f"{ROOT}/root.yaml", [_root(rooms[0])], "The application of all applications", after)
    health = {"resource.customizations.health.argoproj.io_Application": Written(_HEALTH)}
    labels = {"app.kubernetes.io/name": "argocd-cm", "app.kubernetes.io/part-of": "argocd"}
    settings = obj("v1", "ConfigMap", "argocd-cm", NAMESPACE, labels=labels, data=health)
    yield written(f"{ROOT}/settings.yaml", [settings], "Settings of Argo CD that the waves need", after)
    listed = ["project.yaml", "settings.yaml", "root.yaml", *(f"{room.site.name}.yaml" for room in rooms)]
    yield kustomization(ROOT, listed, namespace=NAMESPACE)


def _destination(room: Room, namespace: str) -> Object:
    """Argo CD runs at the first site; the others are registered by the names of their sites."""
    here = {"server": _HERE} if room.first else {"name": room.site.name}
    return {**here, "namespace": namespace}


def _project(rooms: list[Room]) -> Object:
    inventory = rooms[0].inventory
    sources = [
        inventory.settings.repository,
        MONITORS[0],
        *dict.fromkeys(CHARTS[n].repository for r in rooms for n in operators.charts(r)),
    ]
    names = [*SYSTEM, "kube-system", NAMESPACE, *(tenant.name for tenant in inventory.tenants)]
    clusters = [{"server": _HERE} if room.first else {"name": room.site.name} for room in rooms]
    spec = {
        "description": f"Cluster {inventory.name}, as designed",
        "sourceRepos": sources,
        "destinations": [{**cluster, "namespace": name} for cluster in clusters for name in names],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        "orphanedResources": {"warn": True},
    }
    return obj(API, "AppProject", _project_name(rooms[0]), NAMESPACE, spec=spec)


def _project_name(room: Room) -> str:
    return room.inventory.name


def _application(room: Room, name: str, wave: int, source: Object, namespace: str, by_hand: bool = False) -> Object:
    options = ["ServerSideApply=true", "ApplyOutOfSyncOnly=true"]
    retry = {"limit": 5, "backoff": {"duration": "30s", "factor": 2, "maxDuration": "10m"}}
    policy: Object = {"syncOptions": options, "retry": retry}
    if not by_hand:
        policy = {"automated": {"prune": False, "selfHeal": True}, **policy}
    spec: Object = {
        "project": _project_name(room),
        **source,
        "destination": _destination(room, namespace),
        "syncPolicy": policy,
    }
    full = short(f"{room.site.name}-{name}", 63)
    return obj(API, "Application", full, NAMESPACE, annotations={_WAVE: str(wave)}, spec=spec)


def _monitor_kinds(room: Room) -> Object:
    repository, tag, path = MONITORS
    wanted = "{monitoring.coreos.com_servicemonitors.yaml,monitoring.coreos.com_podmonitors.yaml}"
    source = {"repoURL": repository, "targetRevision": tag, "path": path, "directory": {"include": wanted}}
    return _application(room, "monitor-kinds", -30, {"source": source}, "monitoring")


def _chart(room: Room, name: str) -> Object:
    chart: Chart = CHARTS[name]
    values = f"$bundle/{room.root}/helm/{name}.yaml"
    sources = [
        {
            "repoURL": chart.repository,
            "chart": chart.name,
            "targetRevision": chart.version,
            "helm": {"releaseName": name, "valueFiles": [values]},
        },
        {"repoURL": room.inventory.settings.repository, "targetRevision": "HEAD", "ref": "bundle"},
    ]
    return _application(room, name, chart.wave, {"sources": sources}, chart.namespace)


def _folder(room: Room, name: str, wave: int) -> Object:
    source = {
        "repoURL": room.inventory.settings.repository,
        "targetRevision": "HEAD",
        "path": f"{room.root}/{name}",
    }
    return _application(room, name, wave, {"source": source}, "kube-system", name in _BY_HAND)


def _root(room: Room) -> Object:
    source = {"repoURL": room.inventory.settings.repository, "targetRevision": "HEAD", "path": ROOT}
    spec = {
        "project": _project_name(room),
        "source": source,
        "destination": {"server": _HERE, "namespace": NAMESPACE},
        "syncPolicy": {"automated": {"prune": False, "selfHeal": True}, "syncOptions": ["ServerSideApply=true"]},
    }
    return obj(API, "Application", short(f"{room.inventory.name}-root", 63), NAMESPACE, spec=spec)
