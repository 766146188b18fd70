"""What the target writes."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.targets.security.policy import ROLES, encryption, flows, rights, secrets
from clusterwright.deploy.text import as_csv, as_yaml, fill

__all__ = ["COLUMNS", "files"]

COLUMNS = {
    "access-matrix": ("scope", "role", "resource", "right"),
    "encryption": ("what", "state", "method", "key_holder"),
    "flows": ("from", "to", "service", "port", "protocol", "why"),
}
"""Table -> its columns."""


def files(inventory: Inventory) -> Iterator[File]:
    """The access and encryption matrices, flows, roles, secrets by reference, policies of the secrets store."""
    yield File("security/access-matrix.csv", as_csv(COLUMNS["access-matrix"], rights(inventory)))
    yield File("security/encryption.csv", as_csv(COLUMNS["encryption"], encryption(inventory)))
    yield File("security/flows.csv", as_csv(COLUMNS["flows"], flows(inventory)))
    document = {
        "roles": [{"name": name, "for": why} for name, why in ROLES.items()],
        "tenants": [{"name": t.name, "users": list(t.users)} for t in inventory.tenants],
        "secrets": [{**s._asdict(), "readers": list(s.readers)} for s in secrets(inventory)],
    }
    comment = "Roles, people and secrets by reference; no secret is in this file; rendered by clusterwright"
    yield File("security/roles-and-secrets.yaml", as_yaml(document, comment=comment))
    readers = dict.fromkeys(reader for secret in secrets(inventory) for reader in secret.readers)
    for reader in readers:
        paths = [secret.path for secret in secrets(inventory) if reader in secret.readers]
        text = fill("security/vault-policy.hcl.j2", reader=reader, paths=paths)
        yield File(
            f"security/vault/{reader}.hcl", text, after=f"vault policy write {reader} security/vault/{reader}.hcl"
        )
