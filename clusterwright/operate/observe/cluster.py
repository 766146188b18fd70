"""What was observed as the cluster object, so that it can be laid beside a design: only what was seen is in it."""

from __future__ import annotations

from clusterwright.cluster import SCHEMA_NAME, Cluster, Provenance
from clusterwright.operate.observe.found import Node
from clusterwright.operate.observe.groups import Group
from clusterwright.operate.observe.write import Observation

__all__ = ["cluster_of"]

_UNSEEN = float("nan")


def cluster_of(seen: Observation) -> Cluster:
    """Groups of nodes, tenants, counts, with the file and line that each was read from.

    What Slurm does not know is not a number there: power, units and weight are nan, network cards 0.
    """
    made = Cluster(head={"schema": SCHEMA_NAME, "name": seen.spec.get("name", seen.name), "observed": True})
    table = made.tables["nodes"]
    for one in seen.groups:
        known = one is seen.group
        for role, nodes in (("compute", one.nodes), ("spare", one.spares)):
            if nodes:
                _add(made, one, role, nodes, seen if known else None)
    for column in table.columns:
        table.explain(column, _from(str(seen.group.nodes[0].place), "of the first node"))
    for tenant in seen.tenants:
        all_gpus = seen.group.all_gpus
        made.tables["tenants"].add(
            name=tenant.account.name,
            share=tenant.share,
            quota_gpus=_UNSEEN if tenant.quota is None else tenant.quota,
            limit_gpus=all_gpus if tenant.limit is None else tenant.limit,
            priority=tenant.priority,
            users=" ".join(tenant.users),
        )
    if seen.tenants:
        for column in made.tables["tenants"].columns:
            made.tables["tenants"].explain(column, _from(str(seen.tenants[0].account.place), "of the first account"))
    made.answers["leaves"] = [
        {"name": one.name, "nodes": len(one.nodes), "place": str(one.place)} for one in seen.leaves
    ]
    _counts(made, seen)
    made.say(*seen.findings)
    return made


def _add(made: Cluster, one: Group, role: str, nodes: tuple[Node, ...], seen: Observation | None) -> None:
    made.tables["nodes"].add(
        name=f"{one.name}-{role}",
        site="",
        role=role,
        server=seen.server if seen else "",
        accelerator=seen.accelerator if seen else "",
        gpus=one.gpus,
        cpus=one.sockets,
        memory_bytes=float(one.memory_mib << 20),
        nics=0,
        local_nvme_bytes=_UNSEEN,
        power_w=_UNSEEN,
        units=_UNSEEN,
        weight_kg=_UNSEEN,
        count=len(nodes),
    )


def _counts(made: Cluster, seen: Observation) -> None:
    group = seen.group
    origin = _from(str(group.nodes[0].place), f"nodes of group {group.name}, spares left out")
    made.frame.give("compute.gpus", group.all_gpus, origin, count=True)
    made.frame.give("compute.nodes", len(group.nodes), origin, count=True)
    spares = _from(str((group.spares or group.nodes)[0].place), ", ".join(group.spare_why) or "no node says it is one")
    made.frame.give("compute.spare_nodes", len(group.spares), spares, count=True)


def _from(place: str, note: str) -> Provenance:
    return Provenance("observed", place=place, note=note)
