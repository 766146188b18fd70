"""Whether everything that an object names is there: namespaces, accounts, claims, classes, secrets, queues, roles."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from clusterwright.deploy.targets.kubernetes.reading import Built, Reading
from clusterwright.domains.scheduling import PRIORITY_LABEL

__all__ = ["run"]

_GIVEN = ("kube-system", "argocd", "default")
_ROLES = ("cluster-admin", "admin", "edit", "view")
_KUEUE = "kueue.x-k8s.io"
_NAMED = "kubernetes.io/metadata.name"


@dataclass(frozen=True)
class Site:
    """The objects of a site, by kind and name."""

    objects: list[Built]

    @cached_property
    def names(self) -> set[tuple[str, str, str]]:
        """Kind, namespace and name of each."""
        made = {(one.kind, one.namespace, one.name) for one in self.objects}
        made |= {(one.kind, "", one.name) for one in self.objects if one.kind in _CLUSTER_WIDE}
        made |= {("Namespace", "", name) for name in _GIVEN}
        made |= {("ClusterRole", "", name) for name in _ROLES}
        for one in self.objects:
            if one.kind == "ExternalSecret":
                made.add(("Secret", one.namespace, str(_at(one.spec, "target", "name") or one.name)))
        return made

    def has(self, kind: str, name: object, namespace: str = "") -> bool:
        """Whether an object of that kind and name is there."""
        return (kind, namespace, str(name)) in self.names


_CLUSTER_WIDE = (
    *("Namespace", "ClusterRole", "StorageClass", "PersistentVolume", "PriorityClass", "ClusterQueue", "Cohort"),
    *("ResourceFlavor", "Topology", "WorkloadPriorityClass", "AdmissionCheck", "MultiKueueConfig", "MultiKueueCluster"),
    *("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"),
)
Wanted = tuple[str, Any, str]
"""Kind, name, namespace of what an object names."""


def run(reading: Reading) -> None:
    """Judge the references of every site, and those of Argo CD to folders, values and the project."""
    for objects in reading.built.values():
        site = Site(objects)
        for one in objects:
            for kind, name, namespace in _wanted(one):
                if name and not site.has(kind, name, namespace):
                    where = f" in {namespace}" if namespace else ""
                    reading.say(one.file, f"{one.kind} {one.name} names the {kind} {name!r}, which is not there{where}")
            for what in _inside(one, site):
                reading.say(one.file, f"{one.kind} {one.name}: {what}")
    for path, what in _argocd(reading):
        reading.say(path, what)


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _wanted(one: Built) -> Iterator[Wanted]:
    if one.namespace:
        yield "Namespace", one.namespace, ""
    found = _BY_KIND.get(one.kind)
    if found:
        yield from found(one)


def _binding(one: Built) -> Iterator[Wanted]:
    ref = _at(one.body, "roleRef")
    yield str(_at(ref, "kind")), _at(ref, "name"), one.namespace if _at(ref, "kind") == "Role" else ""
    for subject in _list(one.body.get("subjects")):
        if _at(subject, "kind") == "ServiceAccount":
            yield "ServiceAccount", _at(subject, "name"), str(_at(subject, "namespace"))


def _account(one: Built) -> Iterator[Wanted]:
    for pull in _list(one.body.get("imagePullSecrets")):
        yield "Secret", _at(pull, "name"), one.namespace


def _claim(one: Built) -> Iterator[Wanted]:
    yield "StorageClass", one.spec.get("storageClassName"), ""
    yield "PersistentVolume", one.spec.get("volumeName"), ""


def _volume(one: Built) -> Iterator[Wanted]:
    yield "StorageClass", one.spec.get("storageClassName"), ""
    claim = one.spec.get("claimRef")
    if claim:
        yield "PersistentVolumeClaim", _at(claim, "name"), str(_at(claim, "namespace"))


def _storage_class(one: Built) -> Iterator[Wanted]:
    parameters = one.body.get("parameters") or {}
    for key, value in parameters.items():
        if key.endswith("-secret-name"):
            yield "Secret", value, str(parameters.get(key.removesuffix("name") + "namespace", ""))


def _store(one: Built) -> Iterator[Wanted]:
    kubernetes = _at(one.spec, "provider", "vault", "auth", "kubernetes")
    yield "ServiceAccount", _at(kubernetes, "serviceAccountRef", "name"), one.namespace


def _external(one: Built) -> Iterator[Wanted]:
    ref = one.spec.get("secretStoreRef")
    yield str(_at(ref, "kind")), _at(ref, "name"), one.namespace


def _local_queue(one: Built) -> Iterator[Wanted]:
    yield "ClusterQueue", one.spec.get("clusterQueue"), ""


def _cluster_queue(one: Built) -> Iterator[Wanted]:
    yield "Cohort", one.spec.get("cohortName"), ""
    for group in _list(one.spec.get("resourceGroups")):
        for flavor in _list(_at(group, "flavors")):
            yield "ResourceFlavor", _at(flavor, "name"), ""
    for check in _list(_at(one.spec, "admissionChecksStrategy", "admissionChecks")):
        yield "AdmissionCheck", _at(check, "name"), ""
    yield "Namespace", _at(one.spec, "namespaceSelector", "matchLabels", _NAMED), ""


def _cohort(one: Built) -> Iterator[Wanted]:
    yield "Cohort", one.spec.get("parentName"), ""
    for group in _list(one.spec.get("resourceGroups")):
        for flavor in _list(_at(group, "flavors")):
            yield "ResourceFlavor", _at(flavor, "name"), ""


def _flavor(one: Built) -> Iterator[Wanted]:
    yield "Topology", one.spec.get("topologyName"), ""


def _admission_check(one: Built) -> Iterator[Wanted]:
    parameters = one.spec.get("parameters")
    yield str(_at(parameters, "kind")), _at(parameters, "name"), ""


def _multi_config(one: Built) -> Iterator[Wanted]:
    for name in _list(one.spec.get("clusters")):
        yield "MultiKueueCluster", name, ""


def _multi_cluster(one: Built) -> Iterator[Wanted]:
    yield "Secret", _at(one.spec, "clusterSource", "kubeConfig", "location"), "kueue-system"


def _policy_binding(one: Built) -> Iterator[Wanted]:
    yield one.kind.removesuffix("Binding"), one.spec.get("policyName"), ""


def _monitor(one: Built) -> Iterator[Wanted]:
    for name in _list(_at(one.spec, "namespaceSelector", "matchNames")):
        yield "Namespace", name, ""


def _network(one: Built) -> Iterator[Wanted]:
    for rules in (one.spec.get("ingress"), one.spec.get("egress")):
        for rule in _list(rules):
            for peer in (*_list(_at(rule, "from")), *_list(_at(rule, "to"))):
                yield "Namespace", _at(peer, "namespaceSelector", "matchLabels", _NAMED), ""


def _budget(one: Built) -> Iterator[Wanted]:
    yield "JobSet", _at(one.spec, "selector", "matchLabels", "jobset.sigs.k8s.io/jobset-name"), one.namespace


def _jobset(one: Built) -> Iterator[Wanted]:
    labels = _at(one.body, "metadata", "labels")
    yield "LocalQueue", _at(labels, f"{_KUEUE}/queue-name") or "(none)", one.namespace
    yield "WorkloadPriorityClass", _at(labels, PRIORITY_LABEL), ""
    for pod in pods(one):
        yield "ServiceAccount", _at(pod, "serviceAccountName"), one.namespace
        yield "PriorityClass", _at(pod, "priorityClassName"), ""
        for volume in _list(_at(pod, "volumes")):
            yield "PersistentVolumeClaim", _at(volume, "persistentVolumeClaim", "claimName"), one.namespace
            yield "StorageClass", _at(volume, "ephemeral", "volumeClaimTemplate", "spec", "storageClassName"), ""
        for claim in _list(_at(pod, "resourceClaims")):
            yield "ComputeDomain", _at(claim, "resourceClaimTemplateName"), one.namespace


_BY_KIND = {
    "RoleBinding": _binding,
    "ClusterRoleBinding": _binding,
    "ServiceAccount": _account,
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "StorageClass": _storage_class,
    "SecretStore": _store,
    "ExternalSecret": _external,
    "LocalQueue": _local_queue,
    "ClusterQueue": _cluster_queue,
    "Cohort": _cohort,
    "ResourceFlavor": _flavor,
    "AdmissionCheck": _admission_check,
    "MultiKueueConfig": _multi_config,
    "MultiKueueCluster": _multi_cluster,
    "ValidatingAdmissionPolicyBinding": _policy_binding,
    "MutatingAdmissionPolicyBinding": _policy_binding,
    "ServiceMonitor": _monitor,
    "NetworkPolicy": _network,
    "PodDisruptionBudget": _budget,
    "JobSet": _jobset,
}


def pods(one: Built) -> Iterator[Mapping[str, Any]]:
    """Pod specs of a JobSet."""
    for part in _list(one.spec.get("replicatedJobs")):
        found = _at(part, "template", "spec", "template", "spec")
        if isinstance(found, Mapping):
            yield found


# --- inside an object ---


def _inside(one: Built, site: Site) -> Iterator[str]:
    if one.kind == "ExternalSecret":
        given = {str(_at(entry, "secretKey")) for entry in _list(one.spec.get("data"))}
        for key, text in (_at(one.spec, "target", "template", "data") or {}).items():
            for used in re.findall(r"\.([A-Za-z0-9_]+)", str(text)):
                if used not in given:
                    yield f"its template key {key} uses {used!r}, which it does not fetch"
    if one.kind == "JobSet":
        yield from _gang(one)
    if one.kind == "ComputeDomain":
        made = _at(one.spec, "channel", "resourceClaimTemplate", "name")
        if made != one.name:
            yield f"makes the claim template {made!r}, pods claim that of its own name"
    if one.kind == "RoleBinding" and not _list(one.body.get("subjects")):
        yield "binds nobody"
    if one.kind == "NetworkPolicy":
        for direction in ("ingress", "egress"):
            if one.spec.get(direction) and direction.capitalize() not in _list(one.spec.get("policyTypes")):
                yield f"has rules of {direction} but not its type"
    if one.kind == "ClusterQueue":
        yield from _topologies(one, site)


def _topologies(one: Built, site: Site) -> Iterator[str]:
    wanted = [str(name) for kind, name, _ in _cluster_queue(one) if kind == "ResourceFlavor"]
    held = {flavor.name: flavor.spec.get("topologyName") for flavor in site.objects if flavor.kind == "ResourceFlavor"}
    if len({held.get(name) for name in wanted}) > 1:
        yield "its flavors have different topologies"


def _gang(one: Built) -> Iterator[str]:
    """Names that only agree by being spelt alike: volumes and mounts, the host that every rank dials."""
    parts = [str(_at(part, "name")) for part in _list(one.spec.get("replicatedJobs"))]
    hosts = {f"{one.name}-{part}-0-0.{one.name}" for part in parts}
    for pod in pods(one):
        volumes = [str(_at(volume, "name")) for volume in _list(_at(pod, "volumes"))]
        for container in _list(_at(pod, "containers")):
            for mount in _list(_at(container, "volumeMounts")):
                if _at(mount, "name") not in volumes:
                    yield f"mounts {_at(mount, 'name')!r}, which is no volume of the pod"
            taken = {str(_at(claim, "name")) for claim in _list(_at(container, "resources", "claims"))}
            for name in sorted(taken ^ {str(_at(claim, "name")) for claim in _list(_at(pod, "resourceClaims"))}):
                yield f"the claim {name!r} is not both of the pod and of its container"
            environment = {str(_at(entry, "name")) for entry in _list(_at(container, "env"))}
            for argument in map(str, _list(_at(container, "args"))):
                for used in re.findall(r"\$\((\w+)\)", argument):
                    if used not in environment:
                        yield f"{argument} uses {used}, which is not in the environment"
                if argument.startswith("--master-addr=") and argument.partition("=")[2] not in hosts:
                    yield f"{argument} is no pod of it; {min(hosts, default='')} is"


# --- Argo CD ---


def _argocd(reading: Reading) -> Iterator[tuple[str, str]]:
    made = [
        (path, body)
        for path, bodies in reading.documents.items()
        if path.startswith("kubernetes/argocd/")
        for body in bodies
        if isinstance(body, Mapping)
    ]
    projects = {str(_at(body, "metadata", "name")): body for _, body in made if body.get("kind") == "AppProject"}
    for path, body in made:
        if body.get("kind") != "Application":
            continue
        title = f"Application {_at(body, 'metadata', 'name')}"
        project = projects.get(str(_at(body, "spec", "project")))
        if project is None:
            yield path, f"{title} names the project {_at(body, 'spec', 'project')!r}, which is not there"
            continue
        for what in (*_sources(reading, body, project), *_destination(body, project)):
            yield path, f"{title}: {what}"
        wave = _at(body, "metadata", "annotations", "argocd.argoproj.io/sync-wave")
        if wave is not None and not re.fullmatch(r"-?\d+", str(wave)):
            yield path, f"{title}: sync wave {wave!r} is no number"


def _sources(reading: Reading, body: Mapping[str, Any], project: Mapping[str, Any]) -> Iterator[str]:
    sources = _list(_at(body, "spec", "sources")) or [_at(body, "spec", "source")]
    allowed = _list(_at(project, "spec", "sourceRepos"))
    repository = _at(reading.folder.inventory, "settings", "repository")
    refs = {str(_at(source, "ref")) for source in sources if _at(source, "ref")}
    for source in sources:
        if _at(source, "repoURL") not in allowed:
            yield f"the project does not allow {_at(source, 'repoURL')}"
        path = _at(source, "path")
        ours = _at(source, "repoURL") == repository
        if path and ours and not reading.folder.has(f"{posixpath.normpath(str(path))}/kustomization.yaml"):
            yield f"{path} has no kustomization"
        for values in _list(_at(source, "helm", "valueFiles")):
            ref, _, file = str(values).removeprefix("$").partition("/")
            if ref not in refs:
                yield f"{values} is of the source {ref!r}, which is not there"
            elif not reading.folder.has(file):
                yield f"{file} is not there"


def _destination(body: Mapping[str, Any], project: Mapping[str, Any]) -> Iterator[str]:
    wanted = _at(body, "spec", "destination") or {}
    if dict(wanted) not in [
        dict(one) for one in _list(_at(project, "spec", "destinations")) if isinstance(one, Mapping)
    ]:
        yield f"the project does not allow the destination {dict(wanted)}"
