"""Every cable of a site by network, and the names of the ports at its ends."""

from __future__ import annotations

from typing import NamedTuple

from clusterwright.cluster import Cable, cables
from clusterwright.deploy.inventory import Inventory, Site

__all__ = ["CABLED", "Wiring", "port_name", "wiring"]

CABLED = ("compute", "storage", "management")
"""Networks with cables."""


class Wiring(NamedTuple):
    """Every cable of a site by network, with the medium and rate of its bundle."""

    cables: dict[str, list[Cable]]
    medium: dict[str, str]
    rate: dict[str, float]


def wiring(inventory: Inventory, site: Site) -> Wiring:
    """The cables of a site."""
    rows = [row for row in inventory.cluster.tables["links"].rows() if row["site"] == _written(inventory, site)]
    found = {network: list(cables(inventory.cluster, network, _written(inventory, site))) for network in CABLED}
    medium = {row["name"]: str(row["medium"]) for row in rows}
    return Wiring(found, medium, {row["name"]: float(row["bandwidth_bytes_s"]) for row in rows})


def _written(inventory: Inventory, site: Site) -> str:
    """The site's name as the spec writes it, which the tables hold."""
    names = list(inventory.cluster.tables["sites"]["name"])
    return str(names[int(site.key[1:]) - 1])


def port_name(network: str, port: int) -> str:
    """The interface of a host: ``rail-1``, ``storage-1``, ``mgmt``, ``bmc``."""
    if network == "management":
        return {1: "mgmt", 2: "bmc"}.get(port, f"mgmt-{port}")
    return f"{'rail' if network == 'compute' else network}-{port}"
