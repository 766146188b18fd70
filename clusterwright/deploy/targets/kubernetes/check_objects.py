"""Each object by itself: kind, name, namespace, keys and values, images, secrets; each kustomization."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.deploy.targets.kubernetes.reading import Built, Reading, built
from clusterwright.deploy.targets.kubernetes.releases import RELEASES
from clusterwright.deploy.targets.kubernetes.schemas import kinds, misfits
from clusterwright.domains.scheduling import amount

__all__ = ["quantities", "run"]

_NAME = 253
_LABEL = 63
_SHORT = ("Namespace", "JobSet", "Service", "LocalQueue")
"""Kinds whose names become labels or host names."""
_KUSTOMIZE = {
    "apiVersion": str,
    "kind": str,
    "namespace": str,
    "resources": list,
    "components": list,
}


def run(reading: Reading) -> None:
    """Judge every object and kustomization."""
    release = reading.folder.versions.get("kubernetes", "")
    if release not in RELEASES:
        for site in reading.sites:
            reading.say(
                f"kubernetes/{site}/kustomization.yaml", f"the manifest names no release that is known: {release!r}"
            )
    for path, objects in reading.documents.items():
        if path.endswith("/kustomization.yaml"):
            for what in _kustomization(objects):
                reading.say(path, what)
    for path, what in reading.unlisted():
        reading.say(path, what)
    argocd = [
        built(path, body, "argocd")
        for path, bodies in reading.documents.items()
        if path.startswith("kubernetes/argocd/") and not path.endswith("/kustomization.yaml")
        for body in bodies
        if isinstance(body, dict)
    ]
    for objects in (*reading.built.values(), argocd):
        for one in objects:
            for what in _object(one, release):
                reading.say(one.file, what)
        counted = Counter((one.body.get("apiVersion"), one.kind, one.namespace, one.name) for one in objects)
        for one in objects:
            if counted[one.body.get("apiVersion"), one.kind, one.namespace, one.name] > 1:
                reading.say(one.file, f"{one.kind} {one.name} is there twice")


def _kustomization(objects: list[Any]) -> Iterator[str]:
    for held in objects:
        if not isinstance(held, dict) or held.get("kind") not in ("Kustomization", "Component"):
            yield "is no kustomization"
            continue
        version = "v1alpha1" if held["kind"] == "Component" else "v1beta1"
        if held.get("apiVersion") != f"kustomize.config.k8s.io/{version}":
            yield f"apiVersion of a {held['kind']} is kustomize.config.k8s.io/{version}"
        for key, value in held.items():
            if key not in _KUSTOMIZE:
                yield f"a kustomization has no key {key!r}"
            elif not isinstance(value, _KUSTOMIZE[key]):
                yield f"{key} is not a {_KUSTOMIZE[key].__name__}"


def _object(one: Built, release: str) -> Iterator[str]:
    api = str(one.body.get("apiVersion", ""))
    known = kinds().get(f"{api}/{one.kind}")
    title = f"{one.kind or 'object'} {one.name or '?'}"
    if not one.name:
        yield f"{title} has no name"
    elif len(one.name) > (_LABEL if one.kind in _SHORT else _NAME):
        yield f"{title}: the name is too long"
    if known is None:
        yield f"{title}: {api}/{one.kind} is no kind that this bundle writes"
        return
    found = RELEASES.get(release)
    if found and (api in found.gone or (one.kind.startswith("Mutating") and api != found.mutating_policy)):
        yield f"{title}: Kubernetes {release} does not serve {one.kind} of {api}"
    if known["namespaced"] and not one.namespace:
        yield f"{title} has no namespace"
    elif not known["namespaced"] and one.body.get("metadata", {}).get("namespace"):
        yield f"{title} lives in no namespace"
    body = {key: value for key, value in one.body.items() if key not in ("apiVersion", "kind", "metadata")}
    yield from (f"{title}: {what}" for what in misfits(body, known["schema"], ""))
    yield from (f"{title}: {what}" for what in _metadata(one.body.get("metadata")))
    yield from (f"{title}: {what}" for what in quantities(one.body, ""))
    if one.kind != "ConfigMap":
        yield from (f"{title}: {what}" for what in _choices(body, ""))
    if one.kind == "Secret" or _literal(one):
        yield f"{title} holds a secret; only references may be written"


def _metadata(metadata: Any) -> Iterator[str]:
    if not isinstance(metadata, dict):
        yield "metadata is missing"
        return
    for key, value in metadata.items():
        if key in ("labels", "annotations"):
            if not isinstance(value, dict) or not all(isinstance(x, str) for pair in value.items() for x in pair):
                yield f"metadata.{key} must be texts"
            elif key == "labels":
                yield from (f"label {k} is too long" for k, v in value.items() if len(v) > _LABEL)
        elif key not in ("name", "namespace"):
            yield f"metadata has no key {key!r}"


def quantities(value: Any, at: str) -> Iterator[str]:
    """Resource lists wherever they are: requests, limits, hard, capacity, default, max."""
    if isinstance(value, list):
        for i, one in enumerate(value):
            yield from quantities(one, f"{at}[{i}]")
    if not isinstance(value, dict):
        return
    for key, one in value.items():
        place = f"{at}.{key}" if at else str(key)
        if key in _LISTS and isinstance(one, dict) and all(not isinstance(v, dict | list) for v in one.values()):
            for name, quantity in one.items():
                try:
                    if amount(quantity) < 0:
                        yield f"{place}.{name} is negative"
                except ValueError as error:
                    yield f"{place}.{name}: {error}"
        else:
            yield from quantities(one, place)


def _choices(value: Any, at: str) -> Iterator[str]:
    """Texts of which the API server knows a few, wherever they are; the schemas of built-in kinds do not list them."""
    if isinstance(value, list):
        for i, one in enumerate(value):
            yield from _choices(one, f"{at}[{i}]")
    if not isinstance(value, dict):
        return
    for key, one in value.items():
        place = f"{at}.{key}" if at else str(key)
        known = CHOICES.get(str(key))
        if known is None:
            yield from _choices(one, place)
        else:
            said = one if isinstance(one, list) else [] if isinstance(one, dict) else [one]
            yield from (f"{place} is {text!r}, not one of {', '.join(known)}" for text in said if text not in known)


CHOICES = {
    "failurePolicy": ("Fail", "Ignore"),
    "validationActions": ("Deny", "Warn", "Audit"),
    "reinvocationPolicy": ("Never", "IfNeeded"),
    "operations": ("CREATE", "UPDATE", "DELETE", "CONNECT", "*"),
    "policyTypes": ("Ingress", "Egress"),
    "protocol": ("TCP", "UDP", "SCTP"),
    "accessModes": ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"),
    "reclaimPolicy": ("Delete", "Retain"),
    "persistentVolumeReclaimPolicy": ("Delete", "Retain"),
    "volumeBindingMode": ("Immediate", "WaitForFirstConsumer"),
    "preemptionPolicy": ("Never", "PreemptLowerPriority"),
    "unhealthyPodEvictionPolicy": ("IfHealthyBudget", "AlwaysAllow"),
    "completionMode": ("Indexed", "NonIndexed"),
    "restartPolicy": ("Never", "OnFailure"),
    "dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "medium": ("", "Memory"),
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
}
"""Key -> what may stand there; failurePolicy of a JobSet is a mapping and is left to its schema."""
_LISTS = ("requests", "limits", "hard", "capacity", "default", "defaultRequest", "max")


def _literal(one: Built) -> bool:
    """An ExternalSecret whose template has anything but references."""
    template = one.spec.get("target", {}) if one.kind == "ExternalSecret" else {}
    data = template.get("template", {}).get("data", {}) if isinstance(template, Mapping) else {}
    return any("{{" not in str(value) for value in data.values())
