"""The two passes of the reliability room over a frame: spares first, the runs later."""

from __future__ import annotations

import numpy as np

from clusterwright.catalog import Catalog, Fact
from clusterwright.cluster import Frame, Provenance, from_spec
from clusterwright.domains.reliability import checkpoints, rates, spares
from clusterwright.spec import Spec

__all__ = ["TIERS", "WORST", "size", "size_job", "size_spares"]

DEFAULT_AVAILABILITY = 0.99
RATE, RATE_LOW, RATE_HIGH, WORST = "llama-3-405b", "rsc-2", "opt-175b", "rsc-jobs-1024"
"""Published rates: the one that is used, the ends of its interval, and the worst."""
WHY_RATE = (
    "all causes, on 2,048 nodes of 8 H100 over 54 days, the largest published count; RSC-1 and RSC-2 together "
    "(geometric mean 3.9) and B200 (2.5 for GPUs alone, of which GPUs are 64 %) agree. Low end RSC-2, high end "
    "OPT-175B; jobs of 1,024 GPUs on RSC had 23.7"
)
TIERS = {
    "N": ("tier_1", "tier_1", "tier_2"),
    "N+1": ("tier_3", "tier_2", "tier_4"),
    "2N": ("tier_4", "tier_3", "tier_4"),
}
"""Availability of power and cooling by redundancy: the Uptime tier, and those at the ends of the interval."""
_RECOVERY = ("recovery-detect", "recovery-reschedule", "recovery-restart", "recovery-warmup")


def size_spares(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Derive the availability of a node and the spare nodes of each site, before the fabric is sized.

    Args:
        frame: needs ``server.{gpus,system_nodes}`` and ``sites[i].{nodes,share}``.
        spec: availability or number of spares asked for; its sites.
        catalog: published failure rates and repair times.
    """
    _give_rates(frame, catalog)
    frame.derive(
        "reliability.failure_rate_per_s",
        rates.node_failure_rate,
        published_per_1000_node_days="reliability.published_per_1000_node_days",
        server_gpus="server.gpus",
    )
    frame.derive(
        "reliability.mean_repair_s",
        rates.mean_repair,
        replaced_share="reliability.replaced_share",
        replacement_s="reliability.replacement_s",
        restart_s="reliability.node_restart_s",
    )
    frame.derive(
        "reliability.node_availability",
        rates.node_availability,
        rate_per_s="reliability.failure_rate_per_s",
        repair_s="reliability.mean_repair_s",
    )
    asked = spec.reliability.availability
    place = from_spec(str(spec.place("reliability.availability")))
    silent = Provenance("default", note="share of time in which all nodes asked for are up")
    target = DEFAULT_AVAILABILITY if asked is None else asked
    frame.give("reliability.availability_target", target, silent if asked is None else place)
    _spares_of_sites(frame, spec)


def _give_replacement(frame: Frame, catalog: Catalog) -> None:
    """Time until new hardware serves: the return of a part, or the swap of a tray of a rack-scale system."""
    part, tray = catalog.get("reliability", "gpu").fact("repair_s"), catalog.planning("tray_swap_s")
    swapped = frame["server.system_nodes"] > 1
    if swapped.all():
        frame.give_fact("reliability.replacement_s", tray, "catalogue: planning/tray_swap_s")
    elif not swapped.any():
        frame.give_fact("reliability.replacement_s", part, "catalogue: reliability/gpu repair_s")
    else:
        each = Provenance("catalog", place="catalogue: reliability/gpu repair_s, planning/tray_swap_s")
        frame.give("reliability.replacement_s", np.where(swapped, tray.value, part.value), each)


def _spares_of_sites(frame: Frame, spec: Spec) -> None:
    held = [f"sites[{i}].spare_nodes" for i in range(len(spec.sites))]
    shares = [f"sites[{i}].share" for i in range(len(spec.sites))]
    if spec.reliability.spares is not None:
        place = from_spec(str(spec.place("reliability.spares")))
        frame.give("reliability.spares_asked", float(spec.reliability.spares), place, count=True)
        for i, path in enumerate(held):
            asked = "reliability.spares_asked"
            frame.derive(path, spares.site_spares, spares=asked, shares=shares, share=shares[i], before=shares[:i])
    else:
        for i, path in enumerate(held):
            frame.derive(
                path,
                spares.spare_nodes,
                nodes=f"sites[{i}].nodes",
                availability="reliability.node_availability",
                target="reliability.availability_target",
                system_nodes="server.system_nodes",
            )
    frame.derive("compute.spare_nodes", spares.all_spares, parts=held)


def _give_rates(frame: Frame, catalog: Catalog) -> None:
    key = "interruptions_per_1000_node_days"
    low, high = (catalog.get("reliability", name)[key] for name in (RATE_LOW, RATE_HIGH))
    middle = catalog.get("reliability", RATE).fact(key)
    origin = _catalogued(middle, f"reliability/{RATE} {key}", WHY_RATE)
    frame.give("reliability.published_per_1000_node_days", middle.value, origin, low=low, high=high)
    for path, part, field in (
        ("replaced_share", "crusoe-h200", "share_fraction"),
        ("node_restart_s", "node", "repair_s"),
        *((f"{name.replace('-', '_')}_s", name, "duration_s") for name in _RECOVERY),
    ):
        fact = catalog.get("reliability", part).fact(field)
        frame.give_fact(f"reliability.{path}", fact, f"catalogue: reliability/{part} {field}")
    _give_replacement(frame, catalog)


def _catalogued(fact: Fact, place: str, note: str) -> Provenance:
    source = f"{fact.source.title} ({fact.source.date})" + (f", {fact.source.url}" if fact.source.url else "")
    return Provenance("catalog", place=f"catalogue: {place}", source=source, status=fact.status, note=note)


def size(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Derive interruptions, checkpoint interval, effective training time and wall clock of each run; availability.

    Args:
        frame: needs what :func:`size_spares` derived, ``training[j].{gpus,compute_time_s}``, and of each run
            ``checkpoint_write_s`` and ``restart_read_s``, also below ``storage.``.
        spec: its runs, sites and redundancy.
        catalog: planning values.
    """
    stretch = catalog.planning("restart_stretch")
    frame.give_fact("reliability.restart_stretch", stretch, "catalogue: planning/restart_stretch")
    runs = [f"training[{j}]" for j, workload in enumerate(spec.workloads) if workload.train is not None]
    for j, run in enumerate(runs):
        frame.derive(f"{run}.nodes", rates.job_nodes, gpus=f"{run}.gpus", server_gpus="server.gpus")
        size_job(frame, run, f"{run}.nodes", run)
        _size_run(frame, run)
        frame.derive(
            f"{run}.finish_s",
            checkpoints.finish,
            times_s=[f"{earlier}.time_to_train_s" for earlier in runs[: j + 1]],
            gpus=[f"{other}.gpus" for other in runs],
            all_gpus="compute.gpus",
        )
    frame.derive("reliability.job_nodes", rates.largest_run, nodes=[f"{run}.nodes" for run in runs])
    size_job(frame, "reliability", "reliability.job_nodes", "storage")
    frame.derive(
        "reliability.expected_interruptions",
        rates.all_interruptions,
        parts=[f"{run}.expected_interruptions" for run in runs],
    )
    _size_machine(frame)
    _size_availability(frame, spec, catalog)


def size_job(frame: Frame, own: str, nodes: str, checkpoint: str) -> None:
    """Derive MTTI, checkpoint interval and effective training time of a job.

    Args:
        frame: needs what :func:`size_spares` derived.
        own: path below which the figures are put.
        nodes: path of its nodes.
        checkpoint: path below which ``checkpoint_write_s`` and ``restart_read_s`` stand.
    """
    write, derive = f"{checkpoint}.checkpoint_write_s", frame.derive
    derive(f"{own}.mtti_s", rates.mtti, nodes=nodes, rate_per_s="reliability.failure_rate_per_s")
    save = {"checkpoint_s": write, "mtti_s": f"{own}.mtti_s"}
    derive(f"{own}.young_interval_s", checkpoints.young_interval, **save)
    derive(f"{own}.checkpoint_interval_s", checkpoints.daly_interval, **save)
    derive(
        f"{own}.restart_overhead_s",
        checkpoints.restart_overhead,
        parts_s=[f"reliability.{name.replace('-', '_')}_s" for name in _RECOVERY],
        stretch="reliability.restart_stretch",
        read_s=f"{checkpoint}.restart_read_s",
    )
    lost = {"interval_s": f"{own}.checkpoint_interval_s", "restart_s": f"{own}.restart_overhead_s"}
    derive(f"{own}.ettr", checkpoints.ettr, **lost, **save)
    derive(f"{own}.ettr_first_order", checkpoints.ettr_first_order, **lost, **save)
    derive(f"{own}.first_order_loss", checkpoints.first_order_loss, mtti_s=f"{own}.mtti_s", **lost)


def _size_run(frame: Frame, run: str) -> None:
    """Wall clock and interruptions of a run."""
    frame.derive(
        f"{run}.time_to_train_s", checkpoints.time_to_train, compute_time_s=f"{run}.compute_time_s", ettr=f"{run}.ettr"
    )
    frame.derive(
        f"{run}.expected_interruptions",
        rates.expected_interruptions,
        time_s=f"{run}.time_to_train_s",
        mtti_s=f"{run}.mtti_s",
    )


def _size_machine(frame: Frame) -> None:
    """How often some node of the whole machine fails."""
    nodes = "reliability.machine_nodes"
    frame.derive(nodes, rates.machine_nodes, nodes="compute.nodes", spares="compute.spare_nodes")
    frame.derive("reliability.machine_mtti_s", rates.mtti, nodes=nodes, rate_per_s="reliability.failure_rate_per_s")


def _size_availability(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Availability of the nodes of a job, and of the chain of nodes, power, storage and scheduler."""
    sites = range(len(spec.sites))
    for i in sites:
        _enough(frame, f"sites[{i}].availability", [i])
    _enough(frame, "reliability.job_availability", list(sites))
    value, low, high = (
        catalog.planning(f"{tier}_availability_fraction") for tier in TIERS[spec.reliability.redundancy]
    )
    note = f"redundancy {spec.reliability.redundancy} taken as this Uptime tier; the interval reaches to the next ones"
    origin = _catalogued(value, f"planning/{TIERS[spec.reliability.redundancy][0]}_availability_fraction", note)
    frame.give("reliability.power_availability", value.value, origin, low=low.value, high=high.value)
    for name in ("storage", "control"):
        key = f"{name}_availability_fraction"
        frame.give_fact(f"reliability.{name}_availability", catalog.planning(key), f"catalogue: planning/{key}")
    links = ("job", "power", "storage", "control")
    frame.derive("reliability.availability", spares.chain, parts=[f"reliability.{link}_availability" for link in links])


def _enough(frame: Frame, path: str, sites: list[int]) -> None:
    frame.derive(
        path,
        spares.enough_nodes_up,
        nodes=[f"sites[{i}].nodes" for i in sites],
        spares=[f"sites[{i}].spare_nodes" for i in sites],
        availability="reliability.node_availability",
        system_nodes="server.system_nodes",
    )
