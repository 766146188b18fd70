"""Our own reading: every role on every resource, no role with data and keys, ports as in the inventory, no secret."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import yaml

from clusterwright.deploy.bundle import Check, Fact, Folder
from clusterwright.deploy.targets.security.files import COLUMNS
from clusterwright.deploy.targets.security.policy import RIGHTS, ROLES
from clusterwright.deploy.text import load_yaml

__all__ = ["check", "facts", "secrets_in"]

JUDGE = "clusterwright security"
_NOT_OURS = {"https", "rdma", "file-system"}
_SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|AKIA[0-9A-Z]{16}|hvs\.[A-Za-z0-9]{20}|gh[pousr]_[A-Za-z0-9]{30}|glpat-[\w-]{20}"
    r"|eyJ[\w-]{20,}\.[\w-]{20,}\.|(?i:\b(?:password|passwd|storagepass|secret_key|api_key)\s*[:=]\s*[\"']?[^\s\"'${<{]{8,})"
)


def _rows(folder: Folder, path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(folder.read(path))))


def facts(folder: Folder) -> Iterator[Fact]:
    """Ports of the flows."""
    for row in _rows(folder, "security/flows.csv"):
        service, port = row.get("service") or "", row.get("port") or ""
        if service not in _NOT_OURS:
            yield Fact("service.port", service, int(port) if port.isdigit() else port, "security/flows.csv")


def check(folder: Folder) -> Iterator[Check]:
    """Judge the tables and the roles; look for secrets in every file of the bundle."""
    tables = {"access-matrix": _matrix, "encryption": _encryption, "flows": _flows}
    for name, read in tables.items():
        path = f"security/{name}.csv"
        head = folder.read(path).split("\n", 1)[0]
        wrong = [f"the columns are not {','.join(COLUMNS[name])}"] if tuple(head.split(",")) != COLUMNS[name] else []
        wrong = wrong or list(read(folder, _rows(folder, path)))
        yield _said(path, wrong, "columns, words and completeness")
    path = "security/roles-and-secrets.yaml"
    try:
        wrong = list(_roles(folder, load_yaml(folder.read(path))))
    except yaml.YAMLError as error:
        wrong = [f"is no YAML: {str(error).splitlines()[0]}"]
    yield _said(path, wrong, "tenants as in the inventory, every secret with a place and readers")
    for path in folder.glob("security/vault/*.hcl"):
        yield _said(path, list(_policy(folder, path)), "paths of secrets that this role may read")
    yield from secrets_in(folder)


def _said(path: str, wrong: list[str], what: str) -> Check:
    return Check(path, JUDGE, "", "own", not wrong, "; ".join(wrong[:3]) or what)


def _matrix(folder: Folder, rows: list[dict[str, str]]) -> Iterator[str]:
    seen: dict[tuple[str, str, str], str] = {}
    for row in rows:
        if row["role"] not in ROLES:
            yield f"{row['role']!r} is no role"
        if row["right"] not in RIGHTS:
            yield f"{row['right']!r} is no right"
        seen[row["scope"], row["role"], row["resource"]] = row["right"]
    scopes = {(row["scope"], row["resource"]) for row in rows}
    missing = [(s, role, r) for s, r in sorted(scopes) for role in ROLES if (s, role, r) not in seen]
    yield from (f"{role} on {resource} of {scope} is missing" for scope, role, resource in missing)
    tenants = {scope for scope, resource in scopes if "of the tenant" in resource}
    if tenants != set(folder.inventory.get("tenants", {})):
        yield f"rights of tenants {sorted(tenants)}, the inventory has {sorted(folder.inventory.get('tenants', {}))}"
    for role in ROLES:
        data = any(right != "none" for (_, who, what), right in seen.items() if who == role and "data" in what)
        keys = any(right != "none" for (_, who, what), right in seen.items() if who == role and "keys" in what)
        if data and keys and role != "break-glass":
            yield f"{role} holds both data and keys"


def _encryption(_: Folder, rows: list[dict[str, str]]) -> Iterator[str]:
    for row in rows:
        if row["state"] not in ("transit", "rest"):
            yield f"{row['what']}: state {row['state']!r}"
        if not row["method"]:
            yield f"{row['what']}: no method"
        if row["method"].startswith("none") and ":" not in row["method"]:
            yield f"{row['what']}: not encrypted, and no reason is given"
    for state in ("transit", "rest"):
        if not any(row["state"] == state for row in rows):
            yield f"nothing is encrypted at {state}"


def _flows(folder: Folder, rows: list[dict[str, str]]) -> Iterator[str]:
    roles = {group["role"] for group in folder.inventory.get("groups", [])}
    ends = roles | {"all", "people", "bastion", "bmc", "storage", "compute", "security", "scheduler", "observability"}
    for row in rows:
        for end in (row["from"], row["to"]):
            if end not in ends:
                yield f"{end!r} is no role of hosts"
        if row["protocol"] not in ("tcp", "udp", "any"):
            yield f"{row['service']}: protocol {row['protocol']!r}"
        if not row["port"].isdigit() or int(row["port"]) > 65535:
            yield f"{row['service']}: {row['port']!r} is no port"
        if row["from"] == "people" and row["to"] != "bastion":
            yield f"people reach {row['to']} past the bastion"
        if not row["why"]:
            yield f"{row['service']}: no reason"


def _roles(folder: Folder, document: Any) -> Iterator[str]:
    if [role["name"] for role in document["roles"]] != list(ROLES):
        yield "the roles are not those of the access matrix"
    held = {name: set(tenant["users"]) for name, tenant in folder.inventory.get("tenants", {}).items()}
    said = {tenant["name"]: set(tenant["users"]) for tenant in document["tenants"]}
    yield from (
        f"people of {name} differ from the inventory" for name in {*held, *said} if held.get(name) != said.get(name)
    )
    roles = {group["role"] for group in folder.inventory.get("groups", [])}
    for secret in document["secrets"]:
        if not str(secret["path"]).startswith("kv/"):
            yield f"secret {secret['name']}: {secret['path']!r} is no path of the secrets store"
        if not isinstance(secret["rotation_days"], int) or not 0 < secret["rotation_days"] <= 365:
            yield f"secret {secret['name']}: rotation of {secret['rotation_days']} days"
        if not secret["readers"] or (roles and set(secret["readers"]) - roles - {"scheduler", "observability"}):
            yield f"secret {secret['name']}: readers {secret['readers']} are no roles of hosts"
        if unknown := secret.keys() - {"name", "path", "readers", "rotation_days", "why"}:
            yield f"secret {secret['name']}: unknown {', '.join(sorted(unknown))}"


_PATH = re.compile(r'^path "([^"]+)" \{$', re.M)


def _policy(folder: Folder, path: str) -> Iterator[str]:
    reader = path.rpartition("/")[2].removesuffix(".hcl")
    document = load_yaml(folder.read("security/roles-and-secrets.yaml"))
    allowed = {s["path"].replace("kv/", "kv/data/", 1) for s in document["secrets"] if reader in s["readers"]}
    given = set(_PATH.findall(folder.read(path)))
    yield from (f"{one} may not be read by {reader}" for one in sorted(given - allowed))
    yield from (f"{one} is missing" for one in sorted(allowed - given))
    if re.search(r'capabilities = \[(?!"read"\])', folder.read(path)):
        yield "more than reading is allowed"


def secrets_in(folder: Folder) -> Iterator[Check]:
    """A failed check for each file of the bundle that holds what looks like a secret."""
    for path in folder.paths:
        found = _SECRET.search(folder.read(path))
        if found is not None:
            line = folder.read(path)[: found.start()].count("\n") + 1
            yield Check(path, f"{JUDGE} (secrets)", "", "own", False, f"line {line}: looks like a secret")
