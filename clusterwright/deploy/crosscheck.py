"""Whether the parts of a bundle agree: what each file says of a node, a rack, a tenant, a port is laid side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clusterwright.deploy.bundle import INVENTORY, Check, Fact, Folder

__all__ = ["KINDS", "cross_check", "inventory_facts"]

KINDS = {
    "node.gpus": "GPUs of a node",
    "node.address": "management address of a node",
    "node.bmc": "address of a node's management controller",
    "node.rack": "rack of a node",
    "node.unit": "scalable unit of a node",
    "node.group": "group of a node",
    "service.port": "port of a service",
    "tenant.quota": "GPUs of a tenant",
    "tenant.limit": "GPUs of a tenant at most",
    "tenant.share": "weight of a tenant",
}
"""What files can say, in words. A file that says one thing of a kind ``node.*`` says it of every compute node of the
sites whose nodes it names."""
JUDGE = "clusterwright cross-check"


def inventory_facts(folder: Folder) -> Iterator[Fact]:
    """What the inventory of a bundle says, which every other file must repeat."""
    held = folder.inventory
    groups = {group["name"]: group for group in held.get("groups", [])}
    for name, host in held.get("hosts", {}).items():
        group = groups.get(host["group"], {})
        yield Fact("node.group", name, host["group"], INVENTORY)
        yield Fact("node.address", name, host["management"], INVENTORY)
        yield Fact("node.rack", name, host["rack"], INVENTORY)
        if group.get("gpus"):
            yield Fact("node.gpus", name, group["gpus"], INVENTORY)
    for name, unit in held.get("units", {}).items():
        for host in unit["hosts"]:
            yield Fact("node.unit", host, name, INVENTORY)
    for name, tenant in held.get("tenants", {}).items():
        yield Fact("tenant.quota", name, tenant["quota_gpus"], INVENTORY)
        yield Fact("tenant.limit", name, tenant["limit_gpus"], INVENTORY)
        yield Fact("tenant.share", name, tenant["share"], INVENTORY)
    for name, port in held.get("ports", {}).items():
        yield Fact("service.port", name, port, INVENTORY)


def cross_check(folder: Folder, facts: Iterable[Fact]) -> Iterator[Check]:
    """Hold what the files say against the inventory, and count the compute nodes that each names.

    Args:
        folder: the bundle.
        facts: of every target.
    """
    try:
        nodes = _compute_nodes(folder)
        truth = {(fact.kind, fact.key): fact.value for fact in inventory_facts(folder)}
    except (KeyError, TypeError, AttributeError) as error:
        yield Check(INVENTORY, JUDGE, "", "own", False, f"cannot be used: {type(error).__name__}: {error}")
        return
    said: dict[tuple[str, str], dict[str, Any]] = {}
    for fact in facts:
        said.setdefault((fact.file, fact.kind), {})[fact.key] = fact.value
    for (file, kind), values in sorted(said.items()):
        wrong = list(_wrong(kind, values, truth, nodes))
        if wrong:
            more = f" (and {len(wrong) - 3} more)" if len(wrong) > 3 else ""
            yield Check(file, JUDGE, "", "own", False, f"{KINDS.get(kind, kind)}: {'; '.join(wrong[:3])}{more}")
        else:
            yield Check(file, JUDGE, "", "own", True, f"{KINDS.get(kind, kind)}: {len(values):,} as in the inventory")


def _wrong(
    kind: str, values: Mapping[str, Any], truth: Mapping[tuple[str, str], Any], nodes: Mapping[str, str]
) -> Iterator[str]:
    for key, value in values.items():
        expected = truth.get((kind, key))
        if expected is None:
            yield f"{key} is not in the inventory"
        elif expected != value:
            yield f"{key} is {value}, in the inventory {expected}"
    if kind.startswith("node."):
        sites = {nodes[key] for key in values if key in nodes} or set(nodes.values())
        absent = {key for key, site in nodes.items() if site in sites} - values.keys()
        if absent:
            yield f"{len(absent)} compute nodes are missing, {min(absent)} among them"


def _compute_nodes(folder: Folder) -> dict[str, str]:
    """Compute node -> its site. A file that names nodes of one site need not name those of another."""
    held = folder.inventory
    sites = {group["name"]: group["site"] for group in held.get("groups", []) if group.get("gpus")}
    return {name: sites[host["group"]] for name, host in held.get("hosts", {}).items() if host["group"] in sites}
