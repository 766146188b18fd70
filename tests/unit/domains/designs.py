"""Frames of a design as the composition gives them to the doors, from parts of the shipped catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from clusterwright.catalog import Catalog, load_catalog
from clusterwright.cluster import Cluster, Frame, Provenance, chosen
from clusterwright.domains import compute, training
from clusterwright.spec import Spec, read_spec

__all__ = ["catalog", "designed", "frame_of", "spec_of"]

_HERE = Provenance("choice", note="given by the test")


@cache
def catalog() -> Catalog:
    """The shipped catalogue, read once."""
    return load_catalog()


def spec_of(train: str, sites: Sequence[str] = ("main",)) -> Spec:
    """A spec with one training workload, written as the inside of a YAML mapping."""
    places = "".join(f"  - {{name: {name}, region: us-east}}\n" for name in sites)
    text = f"version: 1\nname: t\nworkloads:\n  - name: w\n    train: {{{train}}}\nsites:\n{places}"
    return read_spec(text, "spec.yaml")


def frame_of(
    spec: Spec,
    servers: str | Sequence[str],
    gpus: int | Sequence[int],
    fabric: str = "infiniband-ndr",
    shares: Sequence[float] = (1.0,),
) -> Frame:
    """A frame with what the doors of compute and training read; one candidate a server and GPU count."""
    names = [servers] if isinstance(servers, str) else list(servers)
    counts = [gpus] if isinstance(gpus, int) else list(gpus)
    n = max(len(names), len(counts))
    names, counts = names * (n // len(names)), counts * (n // len(counts))
    parts = [catalog().get("server", name) for name in names]
    chips = [catalog().get("accelerator", p.text("accelerator")) for p in parts]
    frame = Frame(n, intervals=n == 1)
    _put(frame, "compute.gpus", counts)
    for key in ("gpus", "nics", "power_w", "units", "weight_kg", "memory_bytes", "nvme_bytes"):
        _put(frame, f"server.{key}", [p.get(key, 0.0) for p in parts])
    _put(frame, "server.system_nodes", [p.get("system_nodes", 1.0) for p in parts])
    _put(frame, "server.nic_bandwidth_bytes_s", [p["nic_rate_bytes_s"] for p in parts])
    for key in ("memory_bytes", "memory_bandwidth_bytes_s", "scaleup_bandwidth_bytes_s", "scaleup_domain"):
        _put(frame, f"accelerator.{key}", [c.get(key, 0.0) for c in chips])
    for key in ("peak_bf16_flops", "achievable_bf16_flops", "tdp_w"):
        _put(frame, f"accelerator.{key}", [c.get(key, 0.0) for c in chips])
    for j, workload in enumerate(spec.workloads):
        assert workload.train is not None
        precision = workload.train.precision
        _put(frame, f"training[{j}].peak_flops", [c[f"peak_{precision}_flops"] for c in chips])
        best = [c.get(f"achievable_{precision}_flops", 0.0) if precision in ("bf16", "fp8") else 0.0 for c in chips]
        _put(frame, f"training[{j}].achievable_flops", best)
    _put(frame, "fabric.link_bandwidth_bytes_s", [catalog().get("fabric", fabric)["link_rate_bytes_s"]] * n)
    _put(frame, "fabric.latency_s", [catalog().get("fabric", fabric)["latency_s"]] * n)
    _put(frame, "fabric.oversubscription", [1.0] * n)
    for i, share in enumerate(shares):
        _put(frame, f"sites[{i}].share", [share] * n)
    return frame


def designed(spec: Spec, server: str, gpus: int, fabric: str = "infiniband-ndr") -> Cluster:
    """One candidate, sized and applied by compute and training."""
    frame = frame_of(spec, server, gpus, fabric)
    frame.choose("compute.server", server, chosen("by the test"))
    frame.choose("compute.accelerator", catalog().get("server", server).text("accelerator"), chosen("by the test"))
    cluster = Cluster(frame=frame)
    for door in (compute, training):
        door.size(frame, spec, catalog())
    for door in (compute, training):
        door.apply(cluster, spec, catalog())
    return cluster


def _put(frame: Frame, path: str, values: Sequence[float]) -> None:
    frame.give(path, np.array(values, dtype=np.float64), _HERE)
