"""Secrets by reference: which key of the secrets store becomes which Secret. No value is ever in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.deploy.targets.kubernetes.room import Object, Room, obj

__all__ = ["API", "READER", "STORE", "external", "store"]

API = "external-secrets.io/v1"
STORE = "vault"
READER = "secrets-reader"
"""Service account whose token the secrets store trusts."""


def store(room: Room, namespace: str, role: str) -> list[Object]:
    """Service account and SecretStore of a namespace, which may read only what ``role`` allows.

    The store's certificate is checked against ``kube-root-ca.crt``, which Kubernetes publishes in every namespace: the
    cluster's own authority is signed by the site's, so its chain holds both.
    """
    hosts = room.site.services.get("secrets store", ()) or (f"{STORE}",)
    vault = {
        "server": f"https://{hosts[0]}.{room.site.domain}:{room.inventory.ports['vault']}",
        "path": "secret",
        "version": "v2",
        "caProvider": {"type": "ConfigMap", "name": "kube-root-ca.crt", "key": "ca.crt"},
        "auth": {
            "kubernetes": {
                "mountPath": f"kubernetes-{room.site.name}",
                "role": role,
                "serviceAccountRef": {"name": READER},
            }
        },
    }
    return [
        obj("v1", "ServiceAccount", READER, namespace, automountServiceAccountToken=False),
        obj(API, "SecretStore", STORE, namespace, spec={"provider": {"vault": vault}}),
    ]


def external(
    name: str, namespace: str, keys: Mapping[str, tuple[str, str]], template: Mapping[str, Any] | None = None
) -> Object:
    """An ExternalSecret.

    Args:
        name: of the Secret that it makes.
        namespace: of both.
        keys: key of the Secret -> key and property in the secrets store.
        template: of the Secret: type and data with references to the keys.
    """
    target: Object = {"name": name, "creationPolicy": "Owner"}
    if template:
        target["template"] = dict(template)
    data = [{"secretKey": key, "remoteRef": {"key": path, "property": part}} for key, (path, part) in keys.items()]
    spec = {
        "refreshInterval": "1h0m0s",
        "secretStoreRef": {"kind": "SecretStore", "name": STORE},
        "target": target,
        "data": data,
    }
    return obj(API, "ExternalSecret", name, namespace, spec=spec)
