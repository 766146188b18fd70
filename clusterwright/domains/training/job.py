"""From a workload of the spec to what the plan search needs."""

from __future__ import annotations

from clusterwright.domains.training.options import Asked, Job
from clusterwright.domains.training.shape import shape_of
from clusterwright.spec import Spec, Train

__all__ = ["asked_of", "job_of", "places_of"]


def job_of(train: Train) -> Job:
    """The model, sequence and wished batch."""
    return Job(shape_of(train.architecture), int(train.sequence), float(train.global_batch_sequences))


def asked_of(train: Train) -> Asked:
    """The dimensions that the spec fixes."""
    plan = train.plan
    if plan is None:
        return Asked()
    degrees = plan.tp, plan.pp, plan.cp, plan.ep, plan.dp, plan.micro_batch, plan.interleave
    return Asked(*degrees, plan.schedule, plan.sharding, plan.shard_group, plan.offload)


def places_of(spec: Spec, j: int) -> dict[str, str]:
    """Where the spec says what it says of workload ``j``."""
    return {key: str(spec.place(f"workloads[{j}].train.{key}")) for key in ("tokens", "gpus", "plan", "global_batch")}
