"""From an inventory to the files of a bundle, written whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clusterwright import __version__
from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, dumps, write_run
from clusterwright.deploy.bundle import INVENTORY, SCHEMA, File
from clusterwright.deploy.codes import FINDINGS
from clusterwright.deploy.expand import expand
from clusterwright.deploy.inventory import Inventory
from clusterwright.deploy.targets import TARGETS, target
from clusterwright.deploy.text import as_json
from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.spec import KUBERNETES_VERSIONS, SLURM_VERSIONS

__all__ = ["Bundle", "render"]

VERSIONS: Mapping[str, Sequence[str]] = {"slurm": SLURM_VERSIONS, "kubernetes": KUBERNETES_VERSIONS}
"""Targets that are written for a release, and the releases."""


class Bundle:
    """The files of one cluster.

    Attributes:
        inventory: that they were written from.
        targets: names of the targets, in order.
        files: by path.
    """

    def __init__(self, inventory: Inventory, targets: Sequence[str]) -> None:
        self.inventory = inventory
        self.targets = list(targets)
        self.files: dict[str, File] = {}
        self._versions: dict[str, str] = {}
        for name in self.targets:
            loaded = target(name)
            if said := loaded.version(inventory):
                self._versions[name] = said
            for file in loaded.files(inventory):
                if not file.path.startswith(f"{name}/") or file.path in self.files:
                    raise ValueError(f"target {name} writes {file.path} twice or outside its folder")
                self.files[file.path] = file
        self.files[INVENTORY] = File(INVENTORY, as_json(_plain(inventory)))

    @property
    def about(self) -> dict[str, Any]:
        """What the manifest says beside the files."""
        cluster = self.inventory.cluster
        return {
            "schema": SCHEMA,
            "version": __version__,
            "name": self.inventory.name,
            "design_sha256": hashlib.sha256(dumps(cluster).encode()).hexdigest(),
            "spec_sha256": cluster.head.get("spec_sha256", ""),
            "targets": self.targets,
            "versions": self._versions,
            "programs": sorted(f.path for f in self.files.values() if f.executable),
            "after": {f.path: f.after for f in sorted(self.files.values()) if f.after},
        }

    def write(self, folder: Path) -> None:
        """Write the bundle; a folder that somebody edited is left alone.

        Raises:
            InputError: the folder is there and was edited, or is no folder that can be replaced.
            WorldError: it cannot be written; then nothing was changed.
        """
        about = self.about
        write_run(folder, {f.path: f.text.encode() for f in self.files.values()}, about, about["programs"])


def render(
    cluster: Cluster, catalog: Catalog, targets: Sequence[str] = (), versions: Mapping[str, str] | None = None
) -> Bundle:
    """Render a design.

    Args:
        cluster: a feasible design.
        catalog: that names its parts.
        targets: names; what the design needs when none is named.
        versions: target -> release, in place of what the spec's section ``deploy`` says.

    Raises:
        InputError: it is infeasible, a target or version is unknown, a name cannot stand in files.
    """
    wrong = [*_wrong(cluster), *_unknown(targets, versions or {})]
    if wrong:
        raise InputError(wrong)
    if versions:
        cluster.answers["deploy"] = {**cluster.answers["deploy"], **versions}
    inventory = expand(cluster, catalog)
    named = [name for name in TARGETS if name in targets]
    return Bundle(inventory, named or [name for name, entry in TARGETS.items() if entry.wanted(inventory)])


def _wrong(cluster: Cluster) -> list[Finding]:
    found = []
    if cluster.verdict != "feasible":
        said = f"the design '{cluster.name}' is {cluster.verdict or 'without a verdict'}"
        hint = "mend the spec by one of the ways out that 'clusterwright design' names"
        found.append(FINDINGS["DEPLOY-INFEASIBLE"].at("verdict", said, hint))
    if not isinstance(cluster.answers.get("deploy"), dict):
        said = "the design says nothing of its deployment"
        found.append(FINDINGS["DEPLOY-DESIGN"].at("cluster.json", said, "design the spec anew with this version"))
    return found


def _unknown(targets: Sequence[str], versions: Mapping[str, str]) -> list[Finding]:
    from difflib import get_close_matches

    found = []
    for name in targets:
        if name not in TARGETS:
            close = get_close_matches(name, TARGETS, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"one of {', '.join(TARGETS)}"
            found.append(FINDINGS["DEPLOY-TARGET"].at("--target", f"'{name}' is no target", hint))
    for name, release in versions.items():
        known = VERSIONS.get(name)
        if known is None:
            hint = f"one of {', '.join(VERSIONS)}, such as slurm=25.05"
            found.append(FINDINGS["DEPLOY-VERSION"].at("--release", f"'{name}' has no releases to choose", hint))
        elif release not in known:
            said = f"no configuration is written for {name} {release}"
            found.append(FINDINGS["DEPLOY-VERSION"].at("--release", said, f"one of {', '.join(known)}"))
    return found


def _plain(inventory: Inventory) -> dict[str, Any]:
    """The inventory as plain data: what the parts of the bundle must agree with."""
    return {
        "schema": "clusterwright/inventory/1",
        "name": inventory.name,
        "settings": vars(inventory.settings),
        "scheduler": inventory.scheduler,
        "sites": [
            {
                "name": site.name,
                "key": site.key,
                "region": site.region,
                "domain": site.domain,
                "networks": {n.name: {"block": n.block, "vlan": n.vlan, "mtu": n.mtu} for n in site.networks.values()},
                "services": {name: list(hosts) for name, hosts in site.services.items()},
            }
            for site in inventory.sites
        ],
        "groups": [vars(group) for group in inventory.groups],
        "hosts": {
            host.name: {
                "group": host.group,
                "rack": host.rack,
                "unit": host.unit,
                "number": host.number,
                "management": inventory.address(host),
                "bmc": inventory.address(host, "bmc"),
            }
            for host in inventory.hosts
        },
        "racks": {rack.name: {"site": rack.site, "kind": rack.kind} for rack in inventory.racks},
        "units": {unit.name: {"hosts": list(unit.hosts), "leaves": list(unit.leaves)} for unit in inventory.units},
        "tenants": {tenant.name: tenant._asdict() for tenant in inventory.tenants},
        "ports": dict(inventory.ports),
    }
