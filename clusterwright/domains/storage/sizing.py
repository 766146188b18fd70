"""The pass of the storage room over a frame: what is wanted, what is bought, how long a checkpoint takes."""

from __future__ import annotations

import numpy as np

from clusterwright.catalog import Catalog
from clusterwright.cluster import Frame, Provenance, assumed, from_spec
from clusterwright.domains.storage import demand, tiers
from clusterwright.domains.storage.systems import Wanted, pick
from clusterwright.spec import Spec

__all__ = ["BOUGHT", "size", "size_checkpoint"]

BOUGHT = ("parallel", "object", "block")
"""Tiers that stand beside the nodes."""
GUIDELINE = "better"
GUIDELINE_NODES = 128.0
_WAYS = ("read", "write")
_STANDING = ("power_w", "units", "weight_kg")
_PLANNING = {
    "allowed_write_s": "checkpoint_write_target_s",
    "allowed_read_s": "checkpoint_read_target_s",
    "fixed_s": "checkpoint_fixed_s",
    "streaming_fraction": "streaming_fraction",
    "token_bytes_stored": "token_bytes_stored",
    "scratch_fraction": "scratch_fraction",
    "raw_factor": "raw_data_factor",
    "archived_checkpoints": "archived_checkpoints",
    "system_volume_bytes": "system_volume_bytes",
    "local_copies": "checkpoint_local_copies",
}
"""Figure below ``storage.`` -> planning value of the catalogue."""


def size(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Size NVMe, parallel file system, object store and block storage of every site.

    The time that a checkpoint may take is a criterion here (planning/checkpoint_write_target_s), since the checkpoint
    interval is worked out later from the time that is reached.

    Args:
        frame: needs ``compute.nodes``, ``sites[i].nodes``, ``server.nvme_bytes`` and
            ``training[j].{checkpoint_bytes,tokens_per_s}``.
        spec: systems and data asked for; its sites and runs.
        catalog: storage systems and planning values.
    """
    _give(frame, spec, catalog)
    _demand(frame, spec)
    _size_nvme(frame, catalog)
    sites = [f"sites[{i}].storage" for i in range(len(spec.sites))]
    for tier in BOUGHT:
        pick(frame, spec, catalog, tier, _most_wanted(frame, sites, tier))
        for at in sites:
            _size_tier(frame, at, tier)
        _total_tier(frame, sites, tier)
    _totals(frame, sites)
    _checkpoint_times(frame, spec, sites)


def _give(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Planning values, the guideline per node, and the wishes of the spec."""
    for path, name in _PLANNING.items():
        frame.give_fact(f"storage.{path}", catalog.planning(name), f"catalogue: planning/{name}")
    for way in _WAYS:
        key = f"superpod_{GUIDELINE}_4su_{way}_bytes_s"
        fact = catalog.planning(key)
        origin = Provenance(
            "catalog",
            place=f"catalogue: planning/{key}",
            source=f"{fact.source.title} ({fact.source.date})",
            status=fact.status,
            note=f"guideline '{GUIDELINE}' for 128 nodes, per node",
        )
        frame.give(f"storage.per_node_{way}_bytes_s", fact.value / GUIDELINE_NODES, origin)
    asked = spec.given("storage.checkpoints_kept")
    kept = from_spec(str(spec.place("storage.checkpoints_kept"))) if asked else Provenance("default", note="kept")
    frame.give("storage.checkpoints_kept", float(spec.storage.checkpoints_kept), kept, count=True)
    for path, name in (("parallel", "storage_in_nodes_most"), ("block", "block_storage_from_nodes")):
        below = catalog.planning(name).value - (1.0 if path == "block" else 0.0)
        named = path == "parallel" and spec.storage.parallel is not None
        why = "the spec names a parallel file system" if named else f"catalogue: planning/{name}"
        frame.give(f"storage.{path}.most_without", 0.0 if named else below, assumed(why), count=True)
    frame.give("storage.object.most_without", 0.0, assumed("raw data and archives are kept at any size"), count=True)


def _demand(frame: Frame, spec: Spec) -> None:
    """Capacity and rates that are wanted of each tier, site by site."""
    runs = [f"training[{j}]" for j, workload in enumerate(spec.workloads) if workload.train is not None]
    checkpoints = [f"{run}.checkpoint_bytes" for run in runs]
    frame.derive("storage.checkpoint_bytes", demand.largest, parts=checkpoints)
    _give_dataset(frame, spec, runs)
    frame.derive(
        "storage.training_read_bytes_s",
        demand.token_rate,
        tokens_per_s=[f"{run}.tokens_per_s" for run in runs],
        each_bytes="storage.token_bytes_stored",
    )
    for i in range(len(spec.sites)):
        _demand_of_site(frame, i, checkpoints)
    nothing = assumed("capacity decides, not the rate")
    for i in range(len(spec.sites)):
        for tier in ("object", "block"):
            for way in _WAYS:
                frame.give(f"sites[{i}].storage.{tier}.wanted_{way}_bytes_s", 0.0, nothing)


def _give_dataset(frame: Frame, spec: Spec, runs: list[str]) -> None:
    if spec.storage.dataset_bytes is not None:
        place = from_spec(str(spec.place("storage.dataset")))
        frame.give("storage.dataset_bytes", spec.storage.dataset_bytes, place)
        return
    for j, workload in enumerate(spec.workloads):
        if workload.train is not None:
            place = from_spec(str(spec.place(f"workloads[{j}].train.tokens")))
            frame.give(f"storage.tokens[{j}]", workload.train.tokens, place)
    tokens = [f"storage.tokens[{run.removeprefix('training[')}" for run in runs]
    frame.derive(
        "storage.dataset_bytes", demand.dataset_from_tokens, tokens=tokens, each_bytes="storage.token_bytes_stored"
    )


def _demand_of_site(frame: Frame, i: int, checkpoints: list[str]) -> None:
    at, nodes = f"sites[{i}].storage", f"sites[{i}].nodes"
    frame.derive(
        f"{at}.parallel.wanted_bytes",
        demand.hot_capacity,
        dataset_bytes="storage.dataset_bytes",
        kept="storage.checkpoints_kept",
        checkpoints_bytes=checkpoints,
        scratch="storage.scratch_fraction",
        nodes=nodes,
    )
    rate = {"nodes": nodes, "checkpoint_bytes": "storage.checkpoint_bytes", "streaming": "storage.streaming_fraction"}
    frame.derive(
        f"{at}.parallel.wanted_read_bytes_s",
        demand.read_rate,
        per_node_bytes_s="storage.per_node_read_bytes_s",
        allowed_s="storage.allowed_read_s",
        training_bytes_s="storage.training_read_bytes_s",
        **rate,
    )
    frame.derive(
        f"{at}.parallel.wanted_write_bytes_s",
        demand.write_rate,
        per_node_bytes_s="storage.per_node_write_bytes_s",
        allowed_s="storage.allowed_write_s",
        **rate,
    )
    frame.derive(f"{at}.block.wanted_bytes", demand.site_volumes, nodes=nodes, each_bytes="storage.system_volume_bytes")
    if i == 0:
        frame.derive(
            "storage.object.whole_bytes",
            demand.object_capacity,
            dataset_bytes="storage.dataset_bytes",
            raw_factor="storage.raw_factor",
            archived="storage.archived_checkpoints",
            checkpoints_bytes=checkpoints,
        )
    frame.give(f"{at}.object.here", float(i == 0), assumed("the object store stands at the first site"), count=True)
    frame.derive(
        f"{at}.object.wanted_bytes",
        demand.stands_here,
        figure="storage.object.whole_bytes",
        here=f"{at}.object.here",
    )


def _most_wanted(frame: Frame, sites: list[str], tier: str) -> Wanted:
    """What the largest site wants of a tier; it decides which system is the cheapest."""
    capacity, read, write = (
        np.max([frame[f"{at}.{tier}.wanted_{figure}"] for at in sites], axis=0)
        for figure in ("bytes", "read_bytes_s", "write_bytes_s")
    )
    return Wanted(capacity, read, write)


def _size_tier(frame: Frame, at: str, tier: str) -> None:
    """Blocks of a tier at one site, and what they hold, move, draw and weigh."""
    own, block = f"{at}.{tier}", f"storage.{tier}"
    frame.derive(f"{own}.serves", demand.serves, nodes="compute.nodes", most_without=f"storage.{tier}.most_without")
    frame.derive(
        f"{own}.systems",
        tiers.blocks,
        capacity_bytes=f"{own}.wanted_bytes",
        block_bytes=f"{block}.block_bytes",
        usable=f"{block}.usable_fraction",
        read_bytes_s=f"{own}.wanted_read_bytes_s",
        block_read_bytes_s=f"{block}.block_read_bytes_s",
        write_bytes_s=f"{own}.wanted_write_bytes_s",
        block_write_bytes_s=f"{block}.block_write_bytes_s",
        fewest=f"{block}.fewest",
        serves=f"{own}.serves",
    )
    for figure in ("read_bytes_s", "write_bytes_s", *_STANDING):
        frame.derive(f"{own}.{figure}", tiers.each_times, blocks=f"{own}.systems", each=f"{block}.block_{figure}")


def _total_tier(frame: Frame, sites: list[str], tier: str) -> None:
    own = f"storage.{tier}"
    frame.derive(f"{own}.systems", tiers.count, parts=[f"{at}.{tier}.systems" for at in sites])
    for figure in ("read_bytes_s", "write_bytes_s", *_STANDING):
        frame.derive(f"{own}.{figure}", tiers.tier_total, parts=[f"{at}.{tier}.{figure}" for at in sites])
    for figure in ("wanted_bytes", "wanted_read_bytes_s", "wanted_write_bytes_s"):
        frame.derive(f"{own}.{figure}", tiers.tier_total, parts=[f"{at}.{tier}.{figure}" for at in sites])
    frame.derive(f"{own}.raw_bytes", tiers.each_times, blocks=f"{own}.systems", each=f"{own}.block_bytes")
    frame.derive(f"{own}.capacity_bytes", tiers.each_times, blocks=f"{own}.raw_bytes", each=f"{own}.usable_fraction")


def _size_nvme(frame: Frame, catalog: Catalog) -> None:
    drive = catalog.get("storage", "nvme-gen4")
    for key in ("capacity_bytes", "read_bytes_s", "write_bytes_s"):
        frame.give_fact(f"storage.nvme.drive_{key}", drive.fact(key), f"catalogue: storage/{drive.name} {key}")
    frame.derive("storage.nvme.capacity_bytes", tiers.each_times, blocks="compute.nodes", each="server.nvme_bytes")
    for way in _WAYS:
        frame.derive(
            f"storage.nvme.{way}_bytes_s",
            tiers.drive_rate,
            capacity_bytes="storage.nvme.capacity_bytes",
            drive_bytes="storage.nvme.drive_capacity_bytes",
            drive_bytes_s=f"storage.nvme.drive_{way}_bytes_s",
        )
    for figure in _STANDING:
        frame.give(f"storage.nvme.{figure}", 0.0, assumed("inside the servers, counted with them"))
    frame.derive(
        "storage.nvme.checkpoint_fraction",
        tiers.in_nodes,
        copies="storage.local_copies",
        checkpoint_bytes="storage.checkpoint_bytes",
        nodes="compute.nodes",
        node_bytes="server.nvme_bytes",
    )


def _totals(frame: Frame, sites: list[str]) -> None:
    for figure in _STANDING:
        for at in sites:
            frame.derive(f"{at}.{figure}", tiers.tier_total, parts=[f"{at}.{tier}.{figure}" for tier in BOUGHT])
        frame.derive(f"storage.{figure}", tiers.tier_total, parts=[f"{at}.{figure}" for at in sites])


def _checkpoint_times(frame: Frame, spec: Spec, sites: list[str]) -> None:
    """Time to write and to read the checkpoint of each run; the largest of them for the cluster."""
    runs = [f"training[{j}]" for j, workload in enumerate(spec.workloads) if workload.train is not None]
    for way in _WAYS:
        frame.derive(
            f"storage.job_{way}_bytes_s",
            tiers.job_rate,
            sites_bytes_s=[f"{at}.parallel.{way}_bytes_s" for at in sites],
            drives_bytes_s=f"storage.nvme.{way}_bytes_s",
        )
    for run in [*runs, "storage"]:
        size_checkpoint(frame, run)


def size_checkpoint(frame: Frame, run: str) -> None:
    """Derive ``checkpoint_write_s`` and ``restart_read_s`` below ``run`` from its ``checkpoint_bytes``."""
    for way, figure in (("write", "checkpoint_write_s"), ("read", "restart_read_s")):
        frame.derive(
            f"{run}.{figure}",
            tiers.transfer_time,
            fixed_s="storage.fixed_s",
            size_bytes=f"{run}.checkpoint_bytes",
            rate_bytes_s=f"storage.job_{way}_bytes_s",
            streaming="storage.streaming_fraction",
        )
