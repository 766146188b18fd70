"""What the facility room finds worth saying: limits, cooling that the density forces, phases, redundancy."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.cluster import Cluster, from_spec
from clusterwright.domains.facility.cooling import KINDS
from clusterwright.domains.facility.findings import FINDINGS
from clusterwright.domains.facility.power import margin
from clusterwright.spec import Spec
from clusterwright.units import human

__all__ = ["say", "set_margins"]

_LIMITS = {
    "power_w": ("meter_power_w", "power", "FACILITY-POWER-SHORT"),
    "rack_power_w": ("rack_power_w", "rack_power", "FACILITY-RACK-TOO-DENSE"),
    "rack_weight_kg": ("rack_weight_kg", "rack_weight", "FACILITY-WEIGHT"),
    "floor_m2": ("floor_m2", "floor", "FACILITY-FLOOR"),
    "racks": ("racks", "racks", "FACILITY-RACKS"),
}
"""Attribute of a site or of the limits -> the figure it bounds, its key in the spec, the finding."""
_WORDS = {
    "meter_power_w": ("the meter shows up to", "use fewer or cooler GPUs, a better PUE, or contract more power"),
    "rack_power_w": ("a full rack draws up to", "place fewer nodes in a rack"),
    "rack_weight_kg": ("the heaviest rack weighs", "place fewer nodes in a rack, or stand the racks on a slab"),
    "floor_m2": ("the racks with aisles need", "place more nodes in a rack, where cooling allows it"),
    "racks": ("the design holds this many racks:", "place more nodes in a rack, where cooling allows it"),
}


def set_margins(cluster: Cluster, spec: Spec) -> None:
    """Put ``facility.margin.*`` and ``sites[i].margin.*``: the share of each limit that is left."""
    for at, limited, prefix in _limited(spec):
        for attribute, (figure, key, _) in _LIMITS.items():
            bound = getattr(limited, attribute)
            if bound is not None:
                place = from_spec(str(spec.place(f"{at}.{key}")))
                cluster.frame.give(f"{prefix}.limit.{attribute}", float(bound), place, count=attribute == "racks")
                cluster.frame.derive(
                    f"{prefix}.margin.{attribute.rpartition('_')[0] or attribute}",
                    margin,
                    value=f"{prefix}.{figure}",
                    limit=f"{prefix}.limit.{attribute}",
                )


def _limited(spec: Spec) -> Iterator[tuple[str, object, str]]:
    """Where limits stand in the spec, the section that holds them, and whose figures they bound."""
    yield "limits", spec.limits, "facility"
    for i, site in enumerate(spec.sites):
        yield f"sites[{i}]", site, f"sites[{i}]"


def say(cluster: Cluster, spec: Spec) -> None:
    """Add the findings of the facility."""
    if _rented(cluster):
        return
    for at, limited, prefix in _limited(spec):
        for attribute, (figure, key, code) in _LIMITS.items():
            bound = getattr(limited, attribute)
            if bound is not None and cluster.value(f"{prefix}.{figure}") > bound * (1.0 + 1e-9):
                said, hint = _WORDS[figure]
                value = human(figure, cluster.value(f"{prefix}.{figure}"))
                message = f"{said} {value}, and {human(figure, float(bound))} is the limit"
                cluster.say(FINDINGS[code].at(spec.place(f"{at}.{key}"), message, hint))
    for i in range(len(spec.sites)):
        if cluster.value(f"sites[{i}].nodes"):
            _say_cooling(cluster, spec, i)
            _say_phases(cluster, spec, i)
    _say_height(cluster)
    if spec.reliability.redundancy == "N":
        units = ", ".join(
            f"{cluster.value(f'facility.{kind}_modules'):,.0f} {words}"
            for kind, words in (("ups", "UPS modules"), ("genset", "generators"), ("cdu", "coolant units"))
            if cluster.value(f"facility.{kind}_modules")
        )
        message = f"{units} carry the load and none is spare"
        hint = "ask for redundancy N+1: one module more of each kind"
        cluster.say(FINDINGS["FACILITY-NO-REDUNDANCY"].at("facility.ups_modules", message, hint))


def _rented(cluster: Cluster) -> bool:
    """Whether the building is somebody else's, so that its limits do not bind."""
    return bool(cluster.frame.get("cost.rent", 0.0)[0] + cluster.frame.get("cost.reserved", 0.0)[0] > 0)


def _say_cooling(cluster: Cluster, spec: Spec, i: int) -> None:
    at, site = f"sites[{i}]", spec.sites[i]
    kind = KINDS[int(cluster.value(f"{at}.cooling_kind"))]
    rack, most = cluster.value(f"{at}.compute_rack_power_w"), cluster.value(f"{at}.cooling_limit_w")
    liquid = cluster.value("server.liquid") > 0
    place = spec.place(f"{at}.cooling") if site.cooling else f"{at}.cooling"
    if not cluster.value(f"{at}.cooling_fits"):
        if liquid:
            message = f"site {site.name} cools with {kind}, and {_server(cluster)} needs liquid"
        else:
            message = f"a rack of {human('x_w', rack)} at {site.name} is beyond {kind} ({human('x_w', most)})"
        code = "FACILITY-AIR-IMPOSSIBLE" if liquid or kind == "air" else "FACILITY-RACK-TOO-DENSE"
        hint = "plan direct liquid cooling at this site" if liquid else "place fewer nodes in a rack, or plan liquid"
        cluster.say(FINDINGS[code].at(place, message, hint))
    elif kind == "air" and rack > cluster.value("facility.limit_air_w"):
        message = f"a rack of {human('x_w', rack)} at {site.name} is above the usual end of air cooling, "
        message += human("x_w", cluster.value("facility.limit_air_w"))
        hint = "have the hall's airflow confirmed, or plan rear doors"
        cluster.say(FINDINGS["FACILITY-AIR-MARGINAL"].at(place, message, hint))
    elif site.cooling is None and kind != "air":
        why = f"{_server(cluster)} needs liquid" if liquid else f"a rack draws {human('x_w', rack)}, too much for air"
        message = f"{kind} cooling at {site.name}: {why}"
        hint = "fewer nodes in a rack come back to air" if not liquid else ""
        cluster.say(FINDINGS["FACILITY-COOLING-FORCED"].at(place, message, hint))


def _server(cluster: Cluster) -> str:
    return cluster.frame.text("compute.server", "the server")


def _say_phases(cluster: Cluster, spec: Spec, i: int) -> None:
    blocks, meter = cluster.value(f"sites[{i}].power_blocks"), cluster.value(f"sites[{i}].meter_power_w")
    if blocks > 1:
        block = cluster.value("facility.power_block_w")
        message = f"site {spec.sites[i].name} draws {human('x_w', meter)}, about {blocks:.0f} phases of "
        message += f"{human('x_w', block)}; a substation takes about two years, a transformer or generator about one"
        hint = "order GPUs phase by phase with the power, and agree the schedule with the utility first"
        cluster.say(FINDINGS["FACILITY-POWER-PHASED"].at(f"sites[{i}].power_blocks", message, hint))


def _say_height(cluster: Cluster) -> None:
    if not cluster.value("facility.rack_fits"):
        height, rack = cluster.value("facility.rack_height"), cluster.value("facility.rack_units")
        message = f"{cluster.value('compute.nodes_per_rack'):.0f} nodes need {height:.0f} of {rack:.0f} height units"
        hint = "place fewer nodes in a rack, or choose a flatter server"
        cluster.say(FINDINGS["FACILITY-RACK-TOO-TALL"].at("compute.nodes_per_rack", message, hint))
