"""Node groups: equal nodes of one site and role as one row of the table ``nodes``."""

from __future__ import annotations

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Provenance
from clusterwright.domains.compute.findings import FINDINGS
from clusterwright.spec import Spec

__all__ = ["fill_nodes"]

_FROM_FRAME = {
    "gpus": "server.gpus",
    "memory_bytes": "server.memory_bytes",
    "nics": "server.nics",
    "local_nvme_bytes": "server.nvme_bytes",
    "power_w": "server.power_w",
    "units": "server.units",
    "weight_kg": "server.weight_kg",
}
_COUNTS = ("gpus", "nics")


def fill_nodes(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Add the compute and spare groups of every site, explain the columns, and say what rounding did."""
    frame, table = cluster.frame, cluster.tables["nodes"]
    server = frame.text("compute.server", "")
    sockets = int(catalog.get("server", server).get("cpus", 2.0)) if server else 2
    node = {column: _plain(cluster.value(path), column) for column, path in _FROM_FRAME.items()}
    for i, site in enumerate(spec.sites):
        for role, path in (("compute", f"sites[{i}].nodes"), ("spare", f"sites[{i}].spare_nodes")):
            count = int(frame.get(path, 0.0)[0])
            if count:
                table.add(
                    name=f"s{i + 1}-{role}",
                    site=site.name,
                    role=role,
                    server=server,
                    accelerator=frame.text("compute.accelerator", ""),
                    cpus=sockets,
                    count=count,
                    **node,
                )
    _explain(cluster)
    _say(cluster, spec)


def _plain(value: float, column: str) -> float | int:
    return int(value) if column in _COUNTS else value


def _explain(cluster: Cluster) -> None:
    table, frame = cluster.tables["nodes"], cluster.frame
    for column, path in _FROM_FRAME.items():
        table.explain(column, frame.figure(path).provenance)
    for column in ("server", "accelerator"):
        if f"compute.{column}" in frame.texts:
            table.explain(column, frame.texts[f"compute.{column}"][1])
    table.explain("cpus", Provenance("catalog", place=f"catalogue: server/{frame.text('compute.server', '')} cpus"))
    counted = [path for path in frame if path.endswith((".nodes", ".spare_nodes")) and path.startswith("sites[")]
    table.explain("count", Provenance("law", law="compute.site_nodes", inputs={"groups": counted}))
    by_position = Provenance("choice", note="site number and role: s1-compute, s1-spare")
    for column in ("name", "site", "role"):
        table.explain(column, by_position)


def _say(cluster: Cluster, spec: Spec) -> None:
    gpus, nodes = cluster.value("compute.gpus"), cluster.value("compute.nodes")
    per_node, system = cluster.value("server.gpus"), cluster.value("server.system_nodes")
    held = nodes * per_node
    if held > gpus:
        unit = f"{system:.0f}-node systems" if system > 1 else f"servers of {per_node:.0f}"
        message = f"{nodes:,.0f} nodes hold {held:,.0f} GPUs, {held - gpus:,.0f} more than asked for, in whole {unit}"
        hint = f"ask for {held:,.0f} GPUs, or {held - per_node * system:,.0f}"
        cluster.say(FINDINGS["COMPUTE-GPUS-ROUNDED"].at("compute.gpus", message, hint))
    for i, site in enumerate(spec.sites):
        if cluster.value(f"sites[{i}].nodes") == 0:
            share = cluster.value(f"sites[{i}].share")
            message = f"site {site.name} has {share:.2%} of {nodes:,.0f} nodes, which rounds to none"
            cluster.say(FINDINGS["COMPUTE-SITE-EMPTY"].at(f"sites[{i}].nodes", message, "drop the site"))
