"""From the cluster object to the inventory: groups become single hosts, racks and switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Pattern, ends, member
from clusterwright.deploy.addresses import cut, numbers
from clusterwright.deploy.codes import FINDINGS
from clusterwright.deploy.inventory import (
    Group,
    Host,
    Inventory,
    Rack,
    Settings,
    Site,
    Switch,
    Tenant,
    Tier,
    Unit,
    Workload,
)
from clusterwright.deploy.names import fits, label
from clusterwright.errors import InputError
from clusterwright.findings import Finding

__all__ = ["expand"]

_SMT = 2
"""Hardware threads of a core, as servers are delivered."""
_FIRST_UNIT = 1
Row = Mapping[str, Any]


def expand(cluster: Cluster, catalog: Catalog) -> Inventory:
    """Work the inventory out.

    Args:
        cluster: a design, feasible or not.
        catalog: that names its servers and accelerators.

    Raises:
        InputError: a name cannot stand in files, the address block is too small, or the design lacks something.
    """
    try:
        return _expand(cluster, catalog)
    except (KeyError, ValueError, IndexError, TypeError) as error:
        said = f"the design lacks or garbles something that files need: {type(error).__name__}: {error}"[:200]
        raise InputError(FINDINGS["DEPLOY-DESIGN"].at("cluster.json", said, "design the spec anew")) from error


def _expand(cluster: Cluster, catalog: Catalog) -> Inventory:
    labels = _Labels()
    tables = {name: list(table.rows()) for name, table in cluster.tables.items()}
    named = {row["name"]: labels.of("site", row["name"], f"sites[{i}].name") for i, row in enumerate(tables["sites"])}
    tenants = tuple(_tenant(row, labels, i) for i, row in enumerate(tables["tenants"]))
    workloads = tuple(_workload(cluster, row, labels, j) for j, row in enumerate(tables["workloads"]))
    name = labels.of("cluster", cluster.name, "name")
    labels.check(*(row["name"] for table in ("nodes", "racks", "switches") for row in tables[table]))
    labels.settle()
    racks = tuple(_racks(cluster, named, tables["racks"]))
    groups = _groups(cluster, catalog, named, tables["nodes"])
    rented = any(group.provider for group in groups)
    switches = () if rented else tuple(_switches(named, tables["switches"], racks))
    hosts = tuple(_hosts(groups, racks, tables["racks"], named))
    settings = Settings(**cluster.answers["deploy"])
    return Inventory(
        name=name,
        settings=settings,
        scheduler=cluster.frame.text("scheduling.scheduler"),
        sites=_sites(cluster, settings, named, hosts, switches, groups),
        groups=groups,
        hosts=hosts,
        racks=racks,
        switches=switches,
        units=() if rented else tuple(_units(named, tables["links"], groups, switches)),
        tenants=tenants,
        workloads=workloads,
        tiers=tuple(Tier(*(row[key] for key in Tier._fields)) for row in tables["storage"]),
        cluster=cluster,
    )


class _Labels:
    """Names made into labels; everything that is wrong with them is said at once."""

    def __init__(self) -> None:
        self.taken: dict[tuple[str, str], str] = {}
        self.wrong: list[Finding] = []

    def of(self, kind: str, name: str, place: str) -> str:
        """The label of a name."""
        hint = "use letters, digits and '-', at most 63"
        try:
            made = label(str(name))
        except ValueError:
            self.wrong.append(FINDINGS["DEPLOY-NAME"].at(place, f"the {kind} {str(name)[:80]!r} is no name", hint))
            return "wrong"
        other = self.taken.setdefault((kind, made), name)
        if other != name:
            said = f"the {kind}s {other!r} and {name!r} both become {made!r}"
            self.wrong.append(FINDINGS["DEPLOY-NAME"].at(place, said, "rename one"))
        return made

    def check(self, *names: str) -> None:
        """Names that the design made; a cluster.json that was edited may hold others."""
        for name in names:
            if not fits(str(name)):
                said = f"{str(name)[:80]!r} is no name of a group"
                self.wrong.append(FINDINGS["DEPLOY-NAME"].at("cluster.json", said, "design the spec anew"))

    def settle(self) -> None:
        """Raise what was found."""
        if self.wrong:
            raise InputError(self.wrong)


def _tenant(row: Row, labels: _Labels, i: int) -> Tenant:
    place = f"tenants[{i}]"
    users = tuple(str(row["users"]).split())
    for user in users:
        labels.of("user", user, f"{place}.users")
    made = labels.of("tenant", row["name"], f"{place}.name")
    return Tenant(
        made, row["name"], float(row["share"]), int(row["quota_gpus"]), int(row["limit_gpus"]), row["priority"], users
    )


def _workload(cluster: Cluster, row: Row, labels: _Labels, j: int) -> Workload:
    at = f"training[{j}]."
    figures = {path[len(at) :]: cluster.value(path) for path in cluster.frame if path.startswith(at)}
    launches = cluster.answers.get("launch", [])
    per_node = int(cluster.value("server.gpus"))
    return Workload(
        name=labels.of("workload", row["name"], f"workloads[{j}].name"),
        title=row["name"],
        model=row["model"],
        gpus=int(row["gpus"]),
        nodes=-(-int(row["gpus"]) // per_node),
        plan={key: int(row[key]) for key in ("tp", "pp", "dp", "cp", "ep", "micro_batch")},
        launch=launches[j] if j < len(launches) else {},
        figures=figures,
    )


# --- racks and switches ---


def _racks(cluster: Cluster, named: Mapping[str, str], rows: Sequence[Row]) -> list[Rack]:
    pod_racks = int(cluster.value("facility.pod_racks"))
    made = []
    for row in rows:
        stem, _, number = row["name"].rpartition("-r")
        key = stem.rpartition("-p")[0]
        for k in range(int(row["count"])):
            pod, place = int(row["pod"]), int(number) + k
            if row["kind"] == "compute" and pod_racks:
                pod, place = pod + (place - 1) // pod_racks, (place - 1) % pod_racks + 1
            name = f"{key}-p{pod:02d}-r{place:02d}"
            site = named[row["site"]]
            made.append(
                Rack(name, site, pod, row["kind"], row["cooling"], float(row["power_w"]), float(row["weight_kg"]))
            )
    return made


def _switches(named: Mapping[str, str], rows: Sequence[Row], racks: tuple[Rack, ...]) -> list[Switch]:
    """Network racks are filled evenly, in the order of the switches; without one they stand in the last rack."""
    counted: dict[str, int] = {}
    for row in rows:
        counted[row["site"]] = counted.get(row["site"], 0) + int(row["count"])
    homes: dict[str, list[str]] = {}
    for site in named.values():
        here = [rack for rack in racks if rack.site == site]
        homes[site] = [rack.name for rack in here if rack.kind == "network"] or [rack.name for rack in here[-1:]]
    made, place = [], {site: count() for site in counted}
    for row in rows:
        site = named[row["site"]]
        for k in range(int(row["count"])):
            i = next(place[row["site"]])
            rack = homes[site][i * len(homes[site]) // counted[row["site"]]] if homes[site] else ""
            made.append(
                Switch(
                    member(row["name"], k),
                    row["name"],
                    site,
                    row["network"],
                    row["tier"],
                    row["model"],
                    int(row["ports"]),
                    float(row["port_bandwidth_bytes_s"]),
                    rack,
                    i + 16,
                )
            )
    return made


# --- hosts ---


def _groups(cluster: Cluster, catalog: Catalog, named: Mapping[str, str], rows: Sequence[Row]) -> tuple[Group, ...]:
    made: list[Group] = []
    for site in dict.fromkeys(row["site"] for row in rows):
        here = [row for row in rows if row["site"] == site]
        total = sum(int(row["count"]) for row in here)
        firsts = numbers([(row["role"], int(row["count"])) for row in here], total)
        made += [_group(cluster, catalog, named[site], row, first) for row, first in zip(here, firsts, strict=True)]
    return tuple(made)


def _group(cluster: Cluster, catalog: Catalog, site: str, row: Row, first: int) -> Group:
    server = catalog.get("server", row["server"]) if row["accelerator"] else None
    gpu = catalog.get("accelerator", row["accelerator"]) if row["accelerator"] else None
    cores = int(server.get("cores", server.get("vcpus", 0.0) / _SMT)) if server is not None else 0
    sockets = int(row["cpus"])
    cores = cores or 32 * sockets
    return Group(
        name=row["name"],
        site=site,
        role=row["role"],
        server=row["server"],
        title=server.title if server is not None else "management server",
        provider=server.text("provider") if server is not None and "provider" in server else "",
        accelerator=row["accelerator"],
        gpu_type=str(row["accelerator"]).split("-")[0],
        gpu_vendor=gpu.text("vendor") if gpu is not None else "",
        gpu_memory_bytes=gpu["memory_bytes"] if gpu is not None else 0.0,
        gpus=int(row["gpus"]),
        sockets=sockets,
        cores=cores,
        threads=cores * _SMT,
        memory_bytes=float(row["memory_bytes"]),
        nics=int(row["nics"]),
        nic_bytes_s=cluster.value("server.nic_bandwidth_bytes_s") if row["nics"] else 0.0,
        storage_nics=int(cluster.value("fabric.storage.links_per_node")),
        nvme_bytes=float(row["local_nvme_bytes"]),
        power_w=float(row["power_w"]),
        units=float(row["units"]),
        count=int(row["count"]),
        first=first,
    )


def _hosts(
    groups: tuple[Group, ...], racks: tuple[Rack, ...], rows: Sequence[Row], named: Mapping[str, str]
) -> list[Host]:
    """Compute racks take compute nodes, then spares; management racks take the others evenly."""
    made: list[Host] = []
    for site in named.values():
        here = [rack for rack in racks if rack.site == site]
        dense = max((int(row["nodes"]) for row in rows if named[row["site"]] == site), default=0)
        compute = [rack.name for rack in here if rack.kind == "compute"]
        others = [rack.name for rack in here if rack.kind == "management"] or [rack.name for rack in here[-1:]]
        computing, beside = 0, 0
        many = sum(group.count for group in groups if group.site == site and not group.gpus)
        filled: dict[str, float] = {}
        for group in (group for group in groups if group.site == site):
            for k in range(group.count):
                if group.gpus:
                    rack = compute[computing // dense] if dense else ""
                    computing += 1
                else:
                    rack = others[beside * len(others) // many] if others else ""
                    beside += 1
                unit = filled.get(rack, _FIRST_UNIT)
                filled[rack] = unit + group.units
                name = member(group.name, k)
                made.append(Host(name, group.name, site, group.role, rack, int(unit), group.first + k, group.gpus))
    return made


def _units(
    named: Mapping[str, str], links: Sequence[Row], groups: tuple[Group, ...], switches: tuple[Switch, ...]
) -> list[Unit]:
    """Scalable units from the bundles between nodes and leaves: nodes of one rail group are a unit."""
    sized = {group.name: group.count for group in groups}
    leaves_of = {name: sum(s.group == name for s in switches) for name in {s.group for s in switches}}
    made: list[Unit] = []
    for i, (written, site) in enumerate(named.items()):
        below: dict[int, dict[str, None]] = {}
        above: dict[int, dict[str, None]] = {}
        for row in links:
            if row["site"] != written or row["network"] != "compute" or row["source"] not in sized:
                continue
            pattern = Pattern.read(row["pattern"])
            found = ends(pattern, leaves_of[row["target"]])
            unit = (found.target + pattern["base"]) // pattern["rails"] if pattern.kind == "rail" else found.target
            for j, node in sorted({*zip(unit.tolist(), found.source.tolist(), strict=True)}):
                below.setdefault(j, {})[member(row["source"], node)] = None
            for j, leaf in sorted({*zip(unit.tolist(), found.target.tolist(), strict=True)}):
                above.setdefault(j, {})[member(row["target"], leaf)] = None
        for j, members in sorted(below.items()):
            made.append(Unit(f"s{i + 1}-su{j + 1:03d}", site, tuple(members), tuple(above[j])))
    return made


# --- sites ---


def _sites(
    cluster: Cluster,
    settings: Settings,
    named: Mapping[str, str],
    hosts: tuple[Host, ...],
    switches: tuple[Switch, ...],
    groups: tuple[Group, ...],
) -> tuple[Site, ...]:
    rows = list(cluster.tables["sites"].rows())
    efa = cluster.frame.text("fabric.technology").startswith("efa")  # no addresses of ours: it is no IP network
    rails = 0 if efa else int(cluster.value("server.nics"))
    sized = [
        (sum(h.site == named[row["name"]] for h in hosts), sum(s.site == named[row["name"]] for s in switches), rails)
        for row in rows
    ]
    networks = cut(settings.network, sized)
    services = list(cluster.tables["services"].rows())
    made = []
    for i, (row, nets) in enumerate(zip(rows, networks, strict=True)):
        site = named[row["name"]]
        made.append(
            Site(
                name=site,
                key=f"s{i + 1}",
                region=row["region"],
                domain=f"{site}.{settings.domain}",
                pue=float(row["pue"]),
                energy_usd_per_kwh=float(row["energy_usd_per_kwh"]),
                carbon_g_per_kwh=float(row["carbon_g_per_kwh"]),
                networks=nets,
                services=_placed(services, [h for h in hosts if h.site == site], len(rows)),
            )
        )
    return tuple(made)


def _placed(services: Sequence[Row], hosts: list[Host], sites: int) -> dict[str, tuple[str, ...]]:
    """Which hosts of a site run which component: dealt round, so that the first server does not carry everything."""
    by_role: dict[str, list[str]] = {}
    for host in hosts:
        by_role.setdefault(host.role, []).append(host.name)
    turn: dict[str, int] = {}
    made: dict[str, tuple[str, ...]] = {}
    for row in services:
        role = str(row["role"])
        if role == "compute":
            made[row["name"]] = ()
            continue
        able = by_role.get(role) or by_role.get("management") or by_role.get("login") or []
        many = min(-(-int(row["nodes"]) // sites), len(able))
        start = turn.get(role, 0)
        made[row["name"]] = tuple(able[(start + k) % len(able)] for k in range(many))
        turn[role] = start + many
    return made
