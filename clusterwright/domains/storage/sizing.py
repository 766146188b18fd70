"""The storage room over a frame: what is wanted, what is bought, how long a checkpoint takes."""

from __future__ import annotations

import numpy as np

from clusterwright.catalog import Catalog
from clusterwright.cluster import Frame, Provenance, assumed, from_spec
from clusterwright.domains.storage import tiers
from clusterwright.domains.storage.systems import Wanted, give_block, pick_parallel
from clusterwright.spec import Spec

__all__ = ["BOUGHT", "size"]

GUIDELINE_NODES = 128.0
BYTES_PER_TOKEN = 4.0
ALLOWED_WRITE_S = 30.0
ALLOWED_READ_S = 60.0
SCRATCH = 0.5
RAW_FACTOR = 3.0
ARCHIVED = 10.0
SYSTEM_VOLUME_BYTES = 500e9
BOUGHT = ("parallel", "object", "block")
"""Tiers that stand beside the nodes."""


def size(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Size NVMe, parallel file system, object store and block storage.

    Needs nodes, training and sites; derives ``storage.*`` and ``sites[i].storage.*``. The write time of a checkpoint
    is a criterion here (30 s), since the checkpoint interval is worked out from what is reached.
    """
    _give_wishes(frame, spec, catalog)
    _demand(frame, spec)
    wanted = Wanted(
        frame["storage.parallel.wanted_bytes"],
        frame["storage.parallel.wanted_read_bytes_s"],
        frame["storage.parallel.wanted_write_bytes_s"],
    )
    pick_parallel(frame, spec, catalog, wanted)
    _named(frame, spec, catalog)
    for tier in BOUGHT:
        _size_tier(frame, f"storage.{tier}")
    _size_nvme(frame, catalog)
    _totals(frame, spec)
    _checkpoint_times(frame, spec)


def _give_wishes(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    runs = range(len(spec.workloads))
    frame.derive("storage.checkpoint_bytes", tiers.largest, parts=[f"training[{j}].checkpoint_bytes" for j in runs])
    for name, value, why in (
        ("bytes_per_token", BYTES_PER_TOKEN, "a 32-bit token number"),
        ("allowed_write_s", ALLOWED_WRITE_S, "the stall that a checkpoint may cause"),
        ("allowed_read_s", ALLOWED_READ_S, "the wait that reading a checkpoint may cause at a restart"),
        ("scratch_fraction", SCRATCH, "room for code, logs, evaluation and intermediate data"),
        ("raw_factor", RAW_FACTOR, "raw data for each byte of training data"),
        ("archived_checkpoints", ARCHIVED, "checkpoints kept for good"),
        ("system_volume_bytes", SYSTEM_VOLUME_BYTES, "system volume of a node"),
    ):
        frame.give(f"storage.{name}", value, assumed(why))
    for way in ("read", "write"):
        key = f"superpod_better_4su_{way}_bytes_s"
        frame.give_fact(f"storage.guideline_{way}_bytes_s", catalog.planning(key), f"catalogue: planning/{key}")
        frame.give(
            f"storage.per_node_{way}_bytes_s",
            frame[f"storage.guideline_{way}_bytes_s"] / GUIDELINE_NODES,
            Provenance("catalog", place=f"catalogue: planning/{key}", note="of 128 nodes, per node"),
        )
    kept = from_spec(str(spec.place("storage.checkpoints_kept")))
    frame.give("storage.checkpoints_kept", float(spec.storage.checkpoints_kept), kept, count=True)


def _demand(frame: Frame, spec: Spec) -> None:
    """Capacity and rates that are wanted of each tier."""
    runs = range(len(spec.workloads))
    if spec.storage.dataset_bytes is not None:
        frame.give("storage.dataset_bytes", spec.storage.dataset_bytes, from_spec(str(spec.place("storage.dataset"))))
    else:
        for j, workload in enumerate(spec.workloads):
            tokens = workload.train.tokens if workload.train else 0.0
            frame.give(f"storage.tokens[{j}]", tokens, from_spec(str(spec.place(f"workloads[{j}].train.tokens"))))
        frame.derive(
            "storage.dataset_bytes",
            tiers.dataset_from_tokens,
            tokens=[f"storage.tokens[{j}]" for j in runs],
            token_bytes="storage.bytes_per_token",  # noqa: S106 - a path of the frame, no password
        )
    frame.give(
        "storage.largest_share",
        np.max([frame[f"sites[{i}].share"] for i in range(len(spec.sites))], axis=0),
        Provenance("choice", note="share of the GPUs at the largest site, where the largest job runs"),
    )
    frame.derive(
        "storage.parallel.wanted_bytes",
        tiers.hot_capacity,
        dataset_bytes="storage.dataset_bytes",
        checkpoints_kept="storage.checkpoints_kept",
        checkpoints_bytes=[f"training[{j}].checkpoint_bytes" for j in runs],
        scratch="storage.scratch_fraction",
    )
    for way in ("read", "write"):
        frame.derive(
            f"storage.parallel.wanted_{way}_bytes_s",
            tiers.wanted_rate,
            nodes="compute.nodes",
            per_node_bytes_s=f"storage.per_node_{way}_bytes_s",
            checkpoint_bytes="storage.checkpoint_bytes",
            allowed_s=f"storage.allowed_{way}_s",
            share="storage.largest_share",
        )
    frame.derive(
        "storage.object.wanted_bytes",
        tiers.object_capacity,
        dataset_bytes="storage.dataset_bytes",
        raw_factor="storage.raw_factor",
        archived="storage.archived_checkpoints",
        checkpoint_bytes="storage.checkpoint_bytes",
    )
    frame.derive(
        "storage.block.wanted_bytes", tiers.per_node, nodes="compute.nodes", each="storage.system_volume_bytes"
    )
    nothing = Provenance("assumption", note="capacity decides, not the rate")
    for tier in ("object", "block"):
        for way in ("read", "write"):
            frame.give(f"storage.{tier}.wanted_{way}_bytes_s", 0.0, nothing)


def _named(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """The object store as asked (else rented), and block storage."""
    asked = spec.storage.object
    why = from_spec(str(spec.place("storage.object")))
    if asked is None:
        why = Provenance("default", note="rented object storage unless one is named")
    give_block(frame, "storage.object", catalog.get("storage", asked or "s3-standard"), why)
    default = Provenance("default", note="one kind of block storage for system volumes")
    give_block(frame, "storage.block", catalog.get("storage", "block-array"), default)


def _size_tier(frame: Frame, tier: str) -> None:
    """Blocks of a tier, and what they hold, move, draw and weigh."""
    frame.derive(
        f"{tier}.systems",
        tiers.blocks,
        capacity_bytes=f"{tier}.wanted_bytes",
        block_bytes=f"{tier}.block_bytes",
        usable=f"{tier}.usable_fraction",
        read_bytes_s=f"{tier}.wanted_read_bytes_s",
        block_read_bytes_s=f"{tier}.block_read_bytes_s",
        write_bytes_s=f"{tier}.wanted_write_bytes_s",
        block_write_bytes_s=f"{tier}.block_write_bytes_s",
        fewest=f"{tier}.fewest",
    )
    for figure in ("read_bytes_s", "write_bytes_s", "power_w", "units", "weight_kg"):
        frame.derive(f"{tier}.{figure}", tiers.each_times, blocks=f"{tier}.systems", each=f"{tier}.block_{figure}")
    frame.derive(f"{tier}.raw_bytes", tiers.each_times, blocks=f"{tier}.systems", each=f"{tier}.block_bytes")
    frame.derive(f"{tier}.capacity_bytes", tiers.each_times, blocks=f"{tier}.raw_bytes", each=f"{tier}.usable_fraction")


def _size_nvme(frame: Frame, catalog: Catalog) -> None:
    drive = catalog.get("storage", "nvme-gen4")
    place = f"catalogue: storage/{drive.name}"
    for key in ("capacity_bytes", "read_bytes_s", "write_bytes_s"):
        frame.give_fact(f"storage.nvme.drive_{key}", drive.fact(key), f"{place} {key}")
    frame.derive("storage.nvme.capacity_bytes", tiers.per_node, nodes="compute.nodes", each="server.nvme_bytes")
    for way in ("read", "write"):
        frame.derive(
            f"storage.nvme.{way}_bytes_s",
            tiers.drive_rate,
            capacity_bytes="storage.nvme.capacity_bytes",
            drive_bytes="storage.nvme.drive_capacity_bytes",
            drive_bytes_s=f"storage.nvme.drive_{way}_bytes_s",
        )
    inside = Provenance("assumption", note="inside the servers, counted with them")
    for figure in ("power_w", "units"):
        frame.give(f"storage.nvme.{figure}", 0.0, inside)


def _totals(frame: Frame, spec: Spec) -> None:
    for figure in ("power_w", "units", "weight_kg"):
        frame.derive(f"storage.{figure}", tiers.tier_total, parts=[f"storage.{tier}.{figure}" for tier in BOUGHT])
        for i in range(len(spec.sites)):
            frame.derive(
                f"sites[{i}].storage.{figure}",
                tiers.site_share,
                total=f"storage.{figure}",
                share=f"sites[{i}].share",
            )


def _checkpoint_times(frame: Frame, spec: Spec) -> None:
    shares = [f"sites[{i}].share" for i in range(len(spec.sites))]
    for way, path in (("write", "storage.checkpoint_write_s"), ("read", "storage.restart_read_s")):
        frame.derive(
            f"storage.job_{way}_bytes_s",
            tiers.site_rate,
            rate_bytes_s=f"storage.parallel.{way}_bytes_s",
            shares=shares,
        )
        frame.derive(
            path, tiers.transfer_time, size_bytes="storage.checkpoint_bytes", rate_bytes_s=f"storage.job_{way}_bytes_s"
        )
