"""What the target writes."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.names import hostlist
from clusterwright.deploy.targets.runbook.marks import as_data, marks
from clusterwright.deploy.text import as_json, fill

__all__ = ["CHAPTERS", "SCRIPTS", "files"]

CHAPTERS = (
    "README",
    "01-provisioning",
    "02-acceptance",
    "03-operations",
    "04-incidents",
    "05-changes",
    "06-decommissioning",
)
SCRIPTS = ("node", "collectives", "pairwise", "hpl", "storage", "accept")


def files(inventory: Inventory) -> Iterator[File]:
    """Chapters, pass marks, the scripts that measure and the one that judges."""
    found = marks(inventory)
    group = next(g for g in inventory.groups if g.role == "compute")
    values = {
        "inv": inventory,
        "group": group,
        "marks": found,
        "mark": {mark.test: mark for mark in found},
        "sites": [
            {
                "name": site.name,
                "nodes": hostlist([host.name for host in inventory.at(site, "compute")]),
                "spares": hostlist([host.name for host in inventory.at(site, "spare")]) or "none",
                "units": [unit.name for unit in inventory.units if unit.site == site.name],
                "services": {name: hostlist(hosts) for name, hosts in site.services.items() if hosts},
                "racks": len([rack for rack in inventory.racks if rack.site == site.name]),
            }
            for site in inventory.sites
        ],
        "slurm": inventory.scheduler == "slurm",
        "efa": inventory.text("fabric.technology").startswith("efa"),
        "spares": sum(g.count for g in inventory.groups if g.role == "spare"),
        "interval_min": round(inventory.value("training[0].checkpoint_interval_s") / 60),
        "interruptions": round(inventory.value("training[0].expected_interruptions"), 1),
        "mtti_h": round(inventory.value("reliability.mtti_s") / 3600, 1),
        "repair_h": round(inventory.value("reliability.mean_repair_s") / 3600, 1),
    }
    for name in CHAPTERS:
        yield File(f"runbook/{name}.md", fill(f"runbook/{name}.md.j2", **values))
    yield File("runbook/pass-marks.json", as_json({"schema": "clusterwright/pass-marks/1", "marks": as_data(found)}))
    for name in SCRIPTS:
        text = fill(f"runbook/{name}.sh.j2", **values)
        yield File(f"runbook/acceptance/{name}.sh", text, executable=True)
