"""What the laws say of a job on a cluster that is there: its plan, its step, its checkpoints."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Provenance
from clusterwright.design import Estimated, estimate, flags_of
from clusterwright.domains import reliability, storage
from clusterwright.errors import InputError
from clusterwright.findings import Finding
from clusterwright.spec import Job

__all__ = ["Worked", "least_that_fit", "legal_gpus", "run_of", "work_out"]

_RUN = "workloads[0].train"
_AXES = ("tp", "pp", "dp", "cp", "ep", "micro_batch")


@dataclass(frozen=True)
class Worked:
    """What came of it.

    Attributes:
        figures: by last name: ``step_time_s``, ``checkpoint_interval_s``, ``mtti_s``, ``ettr`` ...
        plan: degrees and micro-batch; empty for a program that has its own.
        launch: framework -> project, arguments and notes.
        fits: whether the model fits the memory.
    """

    figures: Mapping[str, float]
    plan: Mapping[str, int]
    launch: Mapping[str, Any]
    fits: bool = True


def run_of(job: Job, cluster: Cluster, catalog: Catalog, gpus: int) -> Estimated:
    """The training run of a job on so many GPUs of a cluster.

    Raises:
        InputError: the plan that is asked for cannot be; each finding at its place in the job.
    """
    text = cluster.frame.text
    asked = {"gpu": text("compute.accelerator"), "gpus": str(gpus), "fabric": text("fabric.technology")}
    sets = [f"compute.server={text('compute.server')}"]
    for key, value in job.tree["train"].items():
        if key == "model":
            asked["model"] = _flow(value)
        elif key not in ("gpus", "deadline"):
            sets.append(f"{_RUN}.{key}={_flow(value)}")
    try:
        return estimate(asked, catalog, sets, quick=True)
    except InputError as error:
        raise InputError([_in_job(finding, job) for finding in error.findings]) from None


def _flow(value: Any) -> str:
    """A value as one line of YAML; JSON is such a line."""
    return value if isinstance(value, str) else json.dumps(value)


def _in_job(finding: Finding, job: Job) -> Finding:
    place = str(finding.place)
    key = place.removeprefix("--set ").removeprefix(f"{_RUN}.") if place.startswith(f"--set {_RUN}.") else ""
    option = place.removeprefix("--").replace("-", "_") if place.startswith("--") and not key else ""
    for path in (f"train.{key}", f"train.{option}", f"train.plan.{option}"):
        if (key or option) and job.given(path):
            return replace(finding, place=job.place(path))
    return replace(finding, place=job.place("train"))


def least_that_fit(job: Job, cluster: Cluster, catalog: Catalog, above: int, most: int, step: int) -> int | None:
    """The fewest GPUs above a number, in whole nodes and doubling, on which the model fits; None up to ``most``."""
    gpus = max(above * 2, step)
    while gpus <= most:
        try:
            if run_of(job, cluster, catalog, gpus).fits:
                return gpus
        except InputError:
            pass
        gpus *= 2
    return None


def legal_gpus(run: Estimated, gpus: int) -> bool:
    """Whether the same plan runs on so many GPUs with fewer data-parallel ranks, at the same global batch."""
    plan = run.plan
    ranks, rest = divmod(gpus, plan["tp"] * plan["pp"] * plan["cp"])
    return bool(ranks > 0 and rest == 0 and plan["batch_sequences"] % (ranks * plan["micro_batch"]) == 0)


def work_out(job: Job, cluster: Cluster, catalog: Catalog, nodes: int) -> tuple[Worked, Estimated | None]:
    """The figures of a job, by the laws that the design was made with; they are put below ``job`` in its frame.

    Raises:
        InputError: the plan that is asked for cannot be.
    """
    frame, run = cluster.frame, None
    said = Provenance("spec", place=str(job.place("")))
    if job.train is not None:
        run = run_of(job, cluster, catalog, job.gpus.most)
        frame.give("job.checkpoint_bytes", run.value("checkpoint_bytes"), said)
        storage.size_checkpoint(frame, "job")
    else:  # what it keeps is not known: as much as the largest planned run
        for name in ("checkpoint_write_s", "restart_read_s"):
            frame.give(f"job.{name}", frame[f"storage.{name}"], said)
    if job.checkpoint.write_s is not None:
        frame.give("job.checkpoint_write_s", job.checkpoint.write_s, said)
    frame.give("job.nodes", float(nodes), said, count=True)
    reliability.size_job(frame, "job", "job.nodes", "job")
    figures = {path.removeprefix("job."): cluster.value(path) for path in frame if path.startswith("job.")}
    if job.checkpoint.interval_s is not None:
        figures["checkpoint_interval_s"] = job.checkpoint.interval_s
    if run is None:
        return Worked(figures | {"step_time_s": 0.0, "time_to_train_s": job.time_limit_s or 0.0}, {}, {}), None
    for name in ("step_time_s", "compute_time_s", "tokens_per_s", "mfu", "steps", "memory_bytes"):
        figures[name] = run.value(name)
    figures["micro_batches"] = float(run.plan.get("micro_batches", 0))
    figures["time_to_train_s"] = figures["compute_time_s"] / max(figures["ettr"], 1e-3)
    if not run.fits or not run.plans:
        return Worked(figures, {}, {}, fits=False), run
    plan = {axis: int(run.plan[axis]) for axis in _AXES}
    return Worked(figures, plan, flags_of(run)), run


def whole_nodes(gpus: int, per_node: int) -> int:
    """Nodes for so many GPUs."""
    return math.ceil(gpus / per_node)
