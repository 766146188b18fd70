"""Frames of the worked example as the rooms before the cost room leave them, counts and powers rounded by hand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from clusterwright.catalog import Catalog, load_catalog
from clusterwright.cluster import Cluster, Frame, Provenance, chosen
from clusterwright.domains import cost
from clusterwright.spec import Spec, read_spec

__all__ = ["catalog", "frame_of", "sized", "spec_of", "told"]

_HERE = Provenance("choice", note="given by the test")
DAY = 86400.0
WORKED = {
    # 128 nodes of 8 H100 and 4 spares; 34 leaf, 17 spine switches of 64 x 400 Gb/s with the spares
    "compute.gpus": 1024,
    "compute.nodes": 128,
    "compute.spare_nodes": 4,
    "server.gpus": 8,
    "server.system_nodes": 1,
    "server.price_usd": 300e3,
    "accelerator.price_usd": 35e3,
    "accelerator.peak_bf16_flops": 989e12,
    "fabric.radix": 64,
    "fabric.link_bandwidth_bytes_s": 50e9,
    "fabric.switch_price_usd": 36e3,
    "fabric.cable_price_usd": 1300.0,
    "fabric.trunk_price_usd": 1800.0,
    "fabric.all.leaf_switches": 33,
    "fabric.all.spine_switches": 17,
    "fabric.all.core_switches": 0,
    "fabric.all.node_leaf_cables": 1056,
    "fabric.all.leaf_spine_cables": 1056,
    "fabric.all.spine_core_cables": 0,
    "fabric.storage.price_usd": 900e3,
    "fabric.management.price_usd": 100e3,
    "storage.parallel.systems": 2,
    "storage.parallel.block_bytes": 375e12,
    "storage.parallel.price_usd": 350e3,
    "storage.parallel.rent_usd_per_tb_month": 0,
    "storage.parallel.raw_bytes": 750e12,
    "storage.parallel.capacity_bytes": 600e12,
    "storage.object.systems": 50,
    "storage.object.block_bytes": 1e12,
    "storage.object.price_usd": 0,
    "storage.object.rent_usd_per_tb_month": 23,
    "storage.object.raw_bytes": 50e12,
    "storage.object.capacity_bytes": 50e12,
    "storage.block.systems": 1,
    "storage.block.block_bytes": 184e12,
    "storage.block.price_usd": 90e3,
    "storage.block.rent_usd_per_tb_month": 0,
    "storage.block.raw_bytes": 184e12,
    "storage.block.capacity_bytes": 130e12,
    "management.nodes": 12,
    "reliability.node_availability": 0.99,
    "facility.racks": 32,
    "facility.compute_racks": 22,
    "facility.spare_racks": 1,
    "facility.cdu_modules": 3,
    "facility.cdu_module_w": 1.35e6,
    "facility.it_power_w": 1.5e6,
    "facility.energy_j_per_year": 1.4e6 * 8766 * 3600,
    "facility.occupancy_fraction": 0.8,
    "sites[0].it_power_w": 1.5e6,
    "sites[0].average_power_w": 1.4e6,
    "sites[0].energy_usd_per_kwh": 0.09,
    "sites[0].cooling_kind": 1,
    "sites[0].compute_racks": 22,
    "sites[0].spare_racks": 1,
    "training[0].gpus": 1024,
    "training[0].time_to_train_s": 14 * DAY,
    "training[0].flop": 4.49e23,
    "training[0].tflops_per_gpu": 400,
    "training[0].ettr": 0.98,
    "cost.rent_usd_per_gpu_h": 3.0,
    "cost.reserved_usd_per_gpu_h": 2.0,
    "cost.buy": 1,
    "cost.rent": 0,
    "cost.reserved": 0,
    "cost.colocate": 0,
}


@cache
def catalog() -> Catalog:
    """The shipped catalogue, read once."""
    return load_catalog()


def spec_of(more: str = "", years: float = 4, site: str = "{name: main, region: us-east}") -> Spec:
    """A spec of one run, with further top-level sections."""
    train = "{model: llama-3-70b, tokens: 1T tokens}"
    text = f"version: 1\nname: t\nworkloads:\n  - name: w\n    train: {train}\nsites: [{site}]\n{more}\n"
    finance = "" if "finance:" in more else f"finance: {{years: {years}}}\n"
    return read_spec(text + finance, "spec.yaml")


def frame_of(changes: Mapping[str, object] | None = None, n: int = 1) -> Frame:
    """What the rooms before give, with some figures changed; a pair or triple is (value, low, high)."""
    frame = Frame(n, intervals=n == 1)
    for path, given in {**WORKED, **(changes or {})}.items():
        if isinstance(given, tuple):
            value, low, high = given
            frame.give(path, value, _HERE, low=low, high=high)
        else:
            frame.give(path, given, _HERE)  # type: ignore[arg-type]  # a number or one a candidate
    return frame


def sized(changes: Mapping[str, object] | None = None, spec: Spec | None = None, n: int = 1) -> Frame:
    """That frame, with its costs."""
    frame = frame_of(changes, n)
    cost.size(frame, spec or spec_of(), catalog())
    return frame


def told(
    changes: Mapping[str, object] | None = None, spec: Spec | None = None, parts: Mapping[str, str] | None = None
) -> Cluster:
    """The costs of that frame, told: table and findings."""
    spec = spec or spec_of()
    frame = sized(changes, spec)
    names = {
        "compute.server": "hgx-h100",
        "compute.accelerator": "h100-sxm-80gb",
        "fabric.technology": "infiniband-ndr",
        "storage.parallel.system": "ddn-ai400x2",
        "storage.object.system": "s3-standard",
        "storage.block.system": "block-array",
    }
    for path, name in {**names, **(parts or {})}.items():
        frame.choose(path, name, chosen("by the test"))
    cluster = Cluster(frame=frame)
    cost.apply(cluster, spec, catalog())
    return cluster
