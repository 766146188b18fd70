"""The two passes of the reliability room over a frame: spares first, the runs later."""

from __future__ import annotations

import numpy as np

from clusterwright.catalog import Catalog
from clusterwright.cluster import Floats, Frame, Provenance, from_spec, law
from clusterwright.domains.reliability import checkpoints, rates, spares
from clusterwright.spec import Spec

__all__ = ["finish", "largest", "site_spares", "size", "size_spares", "smallest", "total"]

DEFAULT_AVAILABILITY = 0.99
RATE = "llama-3-405b"
RATE_LOW = "rsc-2"
RATE_HIGH = "opt-175b"
WHY_RATE = (
    "the rate of a whole machine of 2,048 H100 nodes over 54 days; low end RSC-2, high end OPT-175B: four of the five "
    "published rates lie inside, the fifth (23.7 per 1000 node-days, small jobs on RSC) beyond"
)
_RECOVERY = ("recovery-detect", "recovery-reschedule", "recovery-restart", "recovery-warmup")


@law(
    "reliability.site_spares", formula="spares x share, earlier sites first", unit="1", source="arithmetic", count=True
)
def site_spares(spares: Floats, shares: list[Floats], share: Floats, before: list[Floats]) -> Floats:
    """Spare nodes of one site when the spec fixes their number: cumulative rounding, so that the sites sum to it."""
    until = sum(before, np.zeros_like(spares)) / sum(shares)
    return np.round(spares * (until + share / sum(shares))) - np.round(spares * until)


@law("reliability.total", formula="sum", unit="1", source="arithmetic", count=True)
def total(parts: list[Floats]) -> Floats:
    """Sum over sites."""
    return np.asarray(sum(parts), dtype=np.float64)


@law("reliability.interruptions", formula="sum over the runs", unit="1", source="arithmetic")
def interruptions(parts: list[Floats]) -> Floats:
    """Interruptions of all runs."""
    return np.asarray(sum(parts), dtype=np.float64)


@law("reliability.smallest", formula="smallest over the runs", unit="SI", source="the run that suffers most decides")
def smallest(parts: list[Floats]) -> Floats:
    """The smallest of several figures."""
    return np.asarray(np.min(parts, axis=0))


@law("reliability.largest", formula="largest over the sites", unit="SI", source="arithmetic")
def largest(parts: list[Floats]) -> Floats:
    """The largest of several figures."""
    return np.asarray(np.max(parts, axis=0))


@law(
    "reliability.finish",
    formula="sum of the wall-clock times of this run and those before it",
    unit="s",
    source="runs that take the whole cluster follow one another in the order of the spec",
)
def finish(times_s: list[Floats]) -> Floats:
    """When a run is done, counted from the start of the first."""
    return np.asarray(sum(times_s), dtype=np.float64)


def size_spares(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Spare nodes of each site, before the fabric is sized.

    Derives ``compute.spare_nodes``, ``sites[i].spare_nodes``, ``reliability.node_availability`` and what they need.
    """
    _give_rates(frame, catalog)
    frame.derive(
        "reliability.node_failure_rate_per_s",
        rates.node_failure_rate,
        published_per_1000_node_days="reliability.published_per_1000_node_days",
        server_gpus="server.gpus",
        note=WHY_RATE,
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
        rate_per_s="reliability.node_failure_rate_per_s",
        repair_s="reliability.mean_repair_s",
    )
    asked = spec.reliability.availability
    place = from_spec(str(spec.place("reliability.availability")))
    frame.give(
        "reliability.availability_target",
        DEFAULT_AVAILABILITY if asked is None else asked,
        Provenance("default", note="share of time in which all nodes asked for are up") if asked is None else place,
    )
    _spares_of_sites(frame, spec)


def _spares_of_sites(frame: Frame, spec: Spec) -> None:
    held = [f"sites[{i}].spare_nodes" for i in range(len(spec.sites))]
    fixed = spec.reliability.spares
    if fixed is not None:
        place = from_spec(str(spec.place("reliability.spares")))
        frame.give("reliability.spares_asked", float(fixed), place, count=True)
    shares = [f"sites[{i}].share" for i in range(len(spec.sites))]
    for i, path in enumerate(held):
        if fixed is None:
            frame.derive(
                path,
                spares.spare_nodes,
                nodes=f"sites[{i}].nodes",
                availability="reliability.node_availability",
                target="reliability.availability_target",
                system_nodes="server.system_nodes",
            )
        else:
            frame.derive(
                path,
                site_spares,
                spares="reliability.spares_asked",
                shares=shares,
                share=shares[i],
                before=shares[:i],
            )
    frame.derive("compute.spare_nodes", total, parts=held)


def _give_rates(frame: Frame, catalog: Catalog) -> None:
    key = "interruptions_per_1000_node_days"
    middle = catalog.get("reliability", RATE).fact(key)
    low, high = catalog.get("reliability", RATE_LOW)[key], catalog.get("reliability", RATE_HIGH)[key]
    source = f"{middle.source.title} ({middle.source.date}), {middle.source.url}"
    origin = Provenance(
        "catalog", place=f"catalogue: reliability/{RATE}", source=source, status=middle.status, note=WHY_RATE
    )
    frame.give("reliability.published_per_1000_node_days", middle.value, origin, low=low, high=high)
    for path, part, field in (
        ("reliability.replaced_share", "crusoe-h200", "share_fraction"),
        ("reliability.replacement_s", "gpu", "repair_s"),
        ("reliability.node_restart_s", "node", "repair_s"),
    ):
        frame.give_fact(path, catalog.get("reliability", part).fact(field), f"catalogue: reliability/{part} {field}")
    for name in _RECOVERY:
        path = f"reliability.{name.replace('-', '_')}_s"
        frame.give_fact(path, catalog.get("reliability", name).fact("duration_s"), f"catalogue: reliability/{name}")


def size(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Interruptions, checkpoint interval, effective training time and wall clock of each run.

    Needs the training and storage figures; derives the ``reliability.*`` and ``training[j].*`` figures of time.
    """
    recovery = [f"reliability.{name.replace('-', '_')}_s" for name in _RECOVERY]
    frame.derive(
        "reliability.restart_overhead_s", checkpoints.restart_overhead, parts_s=[*recovery, "storage.restart_read_s"]
    )
    runs = [f"training[{j}]" for j in range(len(spec.workloads))]
    for j, run in enumerate(runs):
        _size_run(frame, run)
        together = all(w.train is not None and w.train.gpus for w in spec.workloads) and _side_by_side(frame, runs)
        earlier = [run] if together else runs[: j + 1]
        frame.derive(f"{run}.finish_s", finish, times_s=[f"{r}.time_to_train_s" for r in earlier])
    for figure, law_of in (
        ("mtti_s", smallest),
        ("checkpoint_interval_s", smallest),
        ("young_interval_s", smallest),
        ("ettr", smallest),
        ("expected_interruptions", interruptions),
    ):
        frame.derive(f"reliability.{figure}", law_of, parts=[f"{run}.{figure}" for run in runs])
    for i in range(len(spec.sites)):
        frame.derive(
            f"sites[{i}].availability",
            spares.enough_nodes_up,
            nodes=f"sites[{i}].nodes",
            spares=f"sites[{i}].spare_nodes",
            availability="reliability.node_availability",
        )
    frame.derive(
        "reliability.availability", smallest, parts=[f"sites[{i}].availability" for i in range(len(spec.sites))]
    )


def _side_by_side(frame: Frame, runs: list[str]) -> bool:
    """Whether all runs fit beside each other on the GPUs, whichever candidate is taken."""
    return bool(np.all(sum(frame[f"{run}.gpus"] for run in runs) <= frame["compute.gpus"]))


def _size_run(frame: Frame, run: str) -> None:
    frame.derive(f"{run}.nodes", rates.job_nodes, gpus=f"{run}.gpus", server_gpus="server.gpus")
    frame.derive(f"{run}.mtti_s", rates.mtti, nodes=f"{run}.nodes", rate_per_s="reliability.node_failure_rate_per_s")
    for name, law_of in (
        ("young_interval_s", checkpoints.young_interval),
        ("checkpoint_interval_s", checkpoints.daly_interval),
    ):
        frame.derive(f"{run}.{name}", law_of, checkpoint_s="storage.checkpoint_write_s", mtti_s=f"{run}.mtti_s")
    frame.derive(
        f"{run}.ettr",
        checkpoints.ettr,
        interval_s=f"{run}.checkpoint_interval_s",
        checkpoint_s="storage.checkpoint_write_s",
        restart_s="reliability.restart_overhead_s",
        mtti_s=f"{run}.mtti_s",
    )
    frame.derive(
        f"{run}.time_to_train_s", checkpoints.time_to_train, compute_time_s=f"{run}.compute_time_s", ettr=f"{run}.ettr"
    )
    frame.derive(
        f"{run}.expected_interruptions",
        rates.expected_interruptions,
        time_s=f"{run}.time_to_train_s",
        mtti_s=f"{run}.mtti_s",
    )
