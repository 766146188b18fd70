"""Frames as the facility door receives them: servers of the catalogue, support of stated size."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from clusterwright.catalog import Catalog, load_catalog
from clusterwright.cluster import Cluster, Frame, Provenance
from clusterwright.domains import facility
from clusterwright.spec import Spec, read_spec

__all__ = ["catalog", "designed", "frame_of", "spec_of"]

_HERE = Provenance("choice", note="given by the test")
SUPPORT = {
    "fabric": {"power_w": 90e3, "units": 78.0, "weight_kg": 1200.0},
    "storage": {"power_w": 8e3, "units": 30.0, "weight_kg": 600.0},
    "management": {"power_w": 10e3, "units": 14.0, "weight_kg": 300.0},
}
"""Of a cluster of 128 nodes: 48 fabric switches and the side networks; two appliances and disks; 13 servers."""


@cache
def catalog() -> Catalog:
    """The shipped catalogue, read once."""
    return load_catalog()


def spec_of(sites: str = "{name: main, region: us-east}", **sections: str) -> Spec:
    """A spec with one training run; sites and further sections as inside of a YAML mapping."""
    more = "".join(f"{name}: {text}\n" for name, text in sections.items())
    train = "{model: llama-3-70b, tokens: 1T tokens}"
    text = f"version: 1\nname: t\nworkloads:\n  - name: w\n    train: {train}\nsites: [{sites}]\n{more}"
    return read_spec(text, "spec.yaml")


def frame_of(
    server: str,
    nodes: tuple[int, ...],
    spares: tuple[int, ...],
    nodes_per_rack: float | list[float],
    support: Mapping[str, Mapping[str, float]] = SUPPORT,
    run_s: float = 12.9 * 86400,
) -> Frame:
    """A frame with what the facility door reads; one entry of ``nodes`` and ``spares`` a site."""
    part = catalog().get("server", server)
    frame = Frame(np.size(nodes_per_rack), intervals=np.size(nodes_per_rack) == 1)

    def put(path: str, value: object) -> None:
        frame.give(path, value, _HERE)  # type: ignore[arg-type]  # numbers and lists of numbers

    put("compute.nodes_per_rack", nodes_per_rack)
    for key in ("gpus", "power_w", "units", "weight_kg"):
        put(f"server.{key}", part[key])
    put("server.system_nodes", part.get("system_nodes", 1.0))
    put("server.liquid_fraction", part.get("liquid_fraction", 0.0))
    put("server.liquid", float(part.text("cooling") in ("liquid", "hybrid")))
    put("compute.nodes", float(sum(nodes)))
    put("compute.spare_nodes", float(sum(spares)))
    put("compute.gpus", float(sum(nodes)) * part["gpus"])
    for i, (count, spare) in enumerate(zip(nodes, spares, strict=True)):
        put(f"sites[{i}].nodes", float(count))
        put(f"sites[{i}].spare_nodes", float(spare))
        for kind, content in support.items():
            for unit, value in content.items():
                put(f"sites[{i}].{kind}.{unit}", value)
    put("training[0].gpus", float(sum(nodes)) * part["gpus"])
    put("training[0].time_to_train_s", run_s)
    return frame


def designed(spec: Spec, frame: Frame) -> Cluster:
    """The facility of a frame, sized and applied."""
    cluster = Cluster(frame=frame)
    facility.size(frame, spec, catalog())
    facility.apply(cluster, spec, catalog())
    return cluster
