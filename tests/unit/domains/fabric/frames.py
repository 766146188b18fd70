"""A frame as the design hands it to the fabric room, with the parts of the worked example."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from clusterwright.cluster import Frame, Provenance

GIVEN = Provenance("default", note="test")
PARTS = {
    "server.nics": 8.0,
    "server.nic_bandwidth_bytes_s": 50e9,
    "server.system_nodes": 1.0,
    "compute.nodes_per_rack": 8.0,
    "fabric.link_bandwidth_bytes_s": 50e9,
    "fabric.latency_s": 5e-6,
    "fabric.radix": 64.0,
    "fabric.oversubscription": 1.0,
    "fabric.planes": 1.0,
    "fabric.provided": 0.0,
    "fabric.switch_power_w": 1720.0,
    "fabric.switch_price_usd": 37000.0,
    "fabric.switch_units": 1.0,
    "fabric.switch_weight_kg": 14.8,
    "fabric.cable_assembly_usd": 0.0,
    "fabric.cable_transceiver_usd": 650.0,
    "fabric.cable_usd_per_m": 2.5,
    "fabric.cable_end_power_w": 8.0,
    "fabric.cable_power_w": 16.0,
    "fabric.trunk_assembly_usd": 0.0,
    "fabric.trunk_transceiver_usd": 900.0,
    "fabric.trunk_usd_per_m": 1.6,
    "fabric.trunk_end_power_w": 9.0,
}


SERVERS = 8.0
"""Servers beside compute at a site."""


def spec(sites: int = 1, *, pinned: bool = False, topology: str | None = None) -> Any:
    """The few things of a spec that the fabric room reads."""
    written = {"fabric.oversubscription"} if pinned else set()
    return SimpleNamespace(
        sites=[SimpleNamespace(name=f"site{i + 1}", region="us-east") for i in range(sites)],
        fabric=SimpleNamespace(topology=topology, technology=None, oversubscription=1.0),
        given=written.__contains__,
        place=lambda path: f"spec.yaml:{path}",
    )


def frame(nodes: Any, spares: Any = 0.0, n: int = 1, intervals: bool = True, **changed: Any) -> Frame:
    """A frame of ``n`` candidates; ``nodes`` and ``spares`` may be lists of sites, ``changed`` writes __ for a dot."""
    made = Frame(n, intervals=intervals)
    for path, value in {**PARTS, **{key.replace("__", "."): value for key, value in changed.items()}}.items():
        made.give(path, value, GIVEN)
    sites = nodes if isinstance(nodes, list) else [nodes]
    extras = spares if isinstance(spares, list) else [spares] * len(sites)
    for i, (there, more) in enumerate(zip(sites, extras, strict=True)):
        made.give(f"sites[{i}].nodes", np.asarray(there, dtype=float), GIVEN, count=True)
        made.give(f"sites[{i}].spare_nodes", np.asarray(more, dtype=float), GIVEN, count=True)
        made.give(f"sites[{i}].management.nodes", np.where(np.asarray(there) > 0, SERVERS, 0.0), GIVEN, count=True)
        for role, many in (("login", 2.0), ("management", SERVERS - 2.0)):
            made.give(
                f"sites[{i}].scheduling.{role}_nodes", np.where(np.asarray(there) > 0, many, 0.0), GIVEN, count=True
            )
    return made
