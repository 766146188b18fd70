"""What each network is made of: the switch, the cable to the nodes, the cable between switches."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster

__all__ = ["Parts", "parts_of"]


@dataclass(frozen=True)
class Parts:
    """What a network is made of; ``long`` is the cable between switches."""

    network: str
    switch: str
    cable: str
    long: str
    ports: int
    rate_bytes_s: float
    port_latency_s: float
    switch_power_w: float
    switch_units: float
    cable_power_w: float
    long_power_w: float
    cable_price_usd: float
    long_price_usd: float
    cable_m: float
    long_m: float


def parts_of(cluster: Cluster, catalog: Catalog) -> tuple[Parts, Parts, Parts]:
    """The parts of the compute, storage and management networks."""
    value = cluster.value
    technology = cluster.frame.text("fabric.technology", "")
    made = catalog.get("fabric", technology) if technology else None
    switch = made.text("switch") if made is not None and "switch" in made else ""
    latency = catalog.get("switch", switch).get("latency_s", 0.0) if switch else 0.0
    compute = Parts(
        "compute",
        switch,
        made.text("cable_medium") if made is not None and "cable_medium" in made else "",
        made.text("cable_long") if made is not None and "cable_long" in made else "",
        int(value("fabric.radix")),
        value("fabric.link_bandwidth_bytes_s"),
        latency,
        value("fabric.switch_power_w"),
        value("fabric.switch_units"),
        value("fabric.cable_power_w"),
        2.0 * value("fabric.trunk_end_power_w"),
        value("fabric.cable_price_usd"),
        value("fabric.trunk_price_usd"),
        value("fabric.cable_length_m"),
        value("fabric.trunk_length_m"),
    )
    return compute, _side(cluster, catalog, "storage"), _side(cluster, catalog, "management")


def _side(cluster: Cluster, catalog: Catalog, network: str) -> Parts:
    frame = cluster.frame
    own, run = f"fabric.{network}", "trunk" if network == "storage" else "cable"
    length = cluster.value(f"fabric.{run}_length_m")
    names = {kind: frame.text(f"{own}.{kind}") for kind in ("switch", "cable")}
    price = float(
        frame.get(f"{own}.cable_price_usd", 0.0)[0]
        + 2.0 * frame.get(f"{own}.cable_transceiver_price_usd", 0.0)[0]
        + length * frame.get(f"{own}.cable_price_usd_per_m", 0.0)[0]
    )
    power = 2.0 * cluster.value(f"{own}.cable_power_per_end_w")
    return Parts(
        network,
        names["switch"],
        names["cable"],
        names["cable"],
        int(cluster.value(f"{own}.switch_ports")),
        cluster.value(f"{own}.switch_port_rate_bytes_s"),
        catalog.get("switch", names["switch"]).get("latency_s", 0.0),
        cluster.value(f"{own}.switch_power_w"),
        cluster.value(f"{own}.switch_units"),
        power,
        power,
        price,
        price,
        length,
        length,
    )
