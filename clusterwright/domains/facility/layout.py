"""The tables of sites and racks: groups of equal racks, named by site, pod and place in the pod."""

from __future__ import annotations

import math

from clusterwright.cluster import Cluster, Provenance
from clusterwright.domains.facility.cooling import KINDS
from clusterwright.domains.facility.sizing import SUPPORT
from clusterwright.spec import Spec

__all__ = ["fill_racks", "fill_sites"]

_CONTENT = {"network": "fabric", "storage": "storage", "management": "management"}


def fill_sites(cluster: Cluster, spec: Spec) -> None:
    """One row a site; the kind of cooling in words."""
    table = cluster.tables["sites"]
    for i, site in enumerate(spec.sites):
        at = f"sites[{i}]"
        cooling = KINDS[int(cluster.value(f"{at}.cooling_kind"))]
        cluster.frame.choose(f"{at}.cooling", cooling, cluster.frame.figure(f"{at}.cooling_kind").provenance)
        table.add(
            name=site.name,
            region=site.region,
            nodes=int(cluster.value(f"{at}.nodes") + cluster.value(f"{at}.spare_nodes")),
            power_limit_w=math.inf if site.power_w is None else site.power_w,
            pue=cluster.value(f"{at}.pue"),
            energy_usd_per_kwh=cluster.value(f"{at}.energy_usd_per_kwh"),
            carbon_g_per_kwh=cluster.value(f"{at}.carbon_g_per_kwh"),
            redundancy=spec.reliability.redundancy,
            cooling=cooling,
        )
    figures = ("pue", "energy_usd_per_kwh", "carbon_g_per_kwh")
    for column, path in {**{name: name for name in figures}, "cooling": "cooling_kind"}.items():
        table.explain(column, cluster.frame.figure(f"sites[0].{path}").provenance)
    inputs = [f"sites[{i}].{name}" for i in range(len(spec.sites)) for name in ("nodes", "spare_nodes")]
    table.explain("nodes", Provenance("law", law="facility.count", inputs={"parts": inputs}))
    for column, key in {"name": "name", "region": "region", "power_limit_w": "power"}.items():
        table.explain(column, Provenance("spec", place=str(spec.place(f"sites[0].{key}"))))
    table.explain("redundancy", cluster.frame.figure("facility.redundancy_factor").provenance)


def fill_racks(cluster: Cluster, spec: Spec) -> None:
    """Groups of equal racks of every site: full pods, the last pod, a last rack that is not full, support racks."""
    for i, site in enumerate(spec.sites):
        next_pod = _compute_groups(cluster, i, site.name)
        _support_groups(cluster, i, site.name, next_pod)
    frame, table = cluster.frame, cluster.tables["racks"]
    for column, path in {
        "power_w": "compute_rack_power_w",
        "weight_kg": "compute_rack_weight_kg",
        "units": "rack_height",
        "nodes": "nodes_in_rack",
        "count": "compute_racks",
        "cooling": "cooling_kind",
        "floor_m2": "floor_m2",
    }.items():
        table.explain(column, frame.figure(f"sites[0].{path}").provenance)
    where = "site, pod and rack by number: s1-p01-r01; numbers count on through the pod, then through the next pods"
    for column in ("name", "site", "pod", "kind"):
        table.explain(column, Provenance("choice", note=where))


def _compute_groups(cluster: Cluster, i: int, site: str) -> int:
    """Racks with compute or spare nodes; returns the number of the pod after them."""
    at = f"sites[{i}]"
    nodes, spares = int(cluster.value(f"{at}.nodes")), int(cluster.value(f"{at}.spare_nodes"))
    dense, pod_racks = int(cluster.value(f"{at}.nodes_in_rack")), int(cluster.value("facility.pod_racks"))
    pod, place = 1, 1
    for count, inside in _fillings(nodes + spares, dense):
        left = count
        while left:
            full_pods = left // pod_racks if place == 1 else 0
            take = full_pods * pod_racks or min(left, pod_racks - place + 1)
            _add_compute(cluster, i, site, (pod, place), take, inside)
            left -= take
            passed = place - 1 + take
            pod, place = pod + passed // pod_racks, passed % pod_racks + 1
    return pod + (place > 1)


def _fillings(nodes: int, dense: int) -> list[tuple[int, int]]:
    """Racks and the nodes in each: the full ones, then the last when it is not full."""
    if not dense:
        return []
    full, rest = divmod(nodes, dense)
    return [(count, inside) for count, inside in ((full, dense), (1 if rest else 0, rest)) if count]


def _add_compute(cluster: Cluster, i: int, site: str, place: tuple[int, int], count: int, inside: int) -> None:
    at, value = f"sites[{i}]", cluster.value
    whole = value("server.system_nodes") > 1
    cluster.tables["racks"].add(
        name=_name(i, *place),
        site=site,
        pod=place[0],
        kind="compute",
        power_w=inside * value("server.power_w") + (0.0 if whole else value("facility.rack_overhead_w")),
        cooling=cluster.frame.text(f"{at}.cooling"),
        units=round(inside * value("server.units"), 2) + (0.0 if whole else 2.0),
        weight_kg=inside * value("server.weight_kg") + (0.0 if whole else value("facility.empty_rack_kg")),
        floor_m2=value("facility.rack_area_m2"),
        nodes=inside,
        count=count,
    )


def _support_groups(cluster: Cluster, i: int, site: str, pod: int) -> None:
    """Network, storage and management racks, in a pod of their own; content spread evenly."""
    at, place = f"sites[{i}]", 1
    counts = {kind: int(cluster.value(f"{at}.{kind}_racks")) for kind in SUPPORT}
    shared = counts["management"] > 0 and not counts["network"] and not counts["storage"]
    for kind, count in counts.items():
        if not count:
            continue
        kinds = SUPPORT if shared else (kind,)
        content = {
            unit: sum(cluster.value(f"{at}.{_CONTENT[k]}.{unit}") for k in kinds)
            for unit in ("power_w", "units", "weight_kg")
        }
        cluster.tables["racks"].add(
            name=_name(i, pod, place),
            site=site,
            pod=pod,
            kind=kind,
            power_w=content["power_w"] / count + cluster.value("facility.rack_overhead_w"),
            cooling="air",
            units=content["units"] / count,
            weight_kg=content["weight_kg"] / count + cluster.value("facility.empty_rack_kg"),
            floor_m2=cluster.value("facility.rack_area_m2"),
            nodes=0,
            count=count,
        )
        place += count


def _name(i: int, pod: int, rack: int) -> str:
    return f"s{i + 1}-p{pod:02d}-r{rack:02d}"
