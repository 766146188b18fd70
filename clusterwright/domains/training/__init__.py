"""Training: the fastest parallel plan that fits the memory, and what it makes of step time, MFU and run time.

The law is analytic: roofline of the matrix products, attention and element-wise work, collectives over the links of the
design, the pipeline bubble. Nothing in it is fitted to a model; its few constants are in :data:`PHYSICS`.
"""

from __future__ import annotations

import numpy as np

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, Frame, Provenance, from_spec, laws
from clusterwright.domains.training import performance as _laws
from clusterwright.domains.training.choice import choose, nearest, rank
from clusterwright.domains.training.findings import FINDINGS
from clusterwright.domains.training.job import asked_of, calibration_for, job_of, places_of, read_calibration
from clusterwright.domains.training.machine import (
    BRIDGE_BYTES_S,
    BYTES_PER_ELEMENT,
    Measured,
    best_products,
    fleet_of,
    job_gpus,
    measured_parts,
)
from clusterwright.domains.training.memory import (
    EAGER_GRADIENT_BYTES,
    EAGER_RESERVE_BYTES,
    GRADIENT_BYTES,
    RESERVE_BYTES,
    USABLE_FRACTION,
    WEIGHT_BYTES,
    Memory,
    fits,
    impossible,
    memory_of,
)
from clusterwright.domains.training.options import Asked, Job, legal_plans
from clusterwright.domains.training.physics import CALIBRATION, PHYSICS, PRIOR, Calibration, Physics, calibration_of
from clusterwright.domains.training.plans import RECOMPUTE, Machines, Plans, Runs
from clusterwright.domains.training.record import Record, Scale, put_model
from clusterwright.domains.training.scaling import scale_of
from clusterwright.domains.training.shape import ModelShape, shape_of, stacked_shapes
from clusterwright.domains.training.software import MODERN, Software
from clusterwright.domains.training.step import Step, step_of
from clusterwright.domains.training.tell import tell
from clusterwright.spec import Spec

__all__ = [
    "BRIDGE_BYTES_S",
    "BYTES_PER_ELEMENT",
    "CALIBRATION",
    "EAGER_GRADIENT_BYTES",
    "EAGER_RESERVE_BYTES",
    "FINDINGS",
    "GRADIENT_BYTES",
    "LAWS",
    "MODERN",
    "PHYSICS",
    "PRIOR",
    "RECOMPUTE",
    "RESERVE_BYTES",
    "USABLE_FRACTION",
    "WEIGHT_BYTES",
    "Asked",
    "Calibration",
    "Job",
    "Machines",
    "Measured",
    "Memory",
    "ModelShape",
    "Physics",
    "Plans",
    "Runs",
    "Software",
    "Step",
    "apply",
    "best_products",
    "calibration_for",
    "calibration_of",
    "choose",
    "fits",
    "impossible",
    "legal_plans",
    "measured_parts",
    "memory_of",
    "rank",
    "read_calibration",
    "shape_of",
    "size",
    "stacked_shapes",
    "step_of",
]

LAWS = laws(
    _laws.flop_per_token,
    _laws.rate_bound_s,
    _laws.communication_s,
    _laws.offload_s,
    _laws.step_time_s,
    _laws.moe_step_time_s,
    _laws.mfu,
    _laws.tflops_per_gpu,
    _laws.cluster_tflops,
    _laws.tokens_per_s,
    _laws.steps,
    _laws.compute_time_s,
    _laws.run_flop,
    _laws.memory_bytes,
    _laws.memory_fraction,
    _laws.weights_bytes,
    _laws.checkpoint_bytes,
    _laws.scaling_efficiency,
)


def size(frame: Frame, spec: Spec, catalog: Catalog) -> None:
    """Work out every training workload: ``training[j].*``.

    Args:
        frame: needs ``accelerator.*``, ``server.*``, ``fabric.*`` links, ``training[j].peak_flops``, ``sites[i].gpus``;
            takes ``accelerator.achievable_bf16_flops`` (0: unknown) if given.
        spec: its workloads.
        catalog: its measured matrix products.
    """
    for j, workload in enumerate(spec.workloads):
        if workload.train is not None:
            _size(frame, spec, j, catalog)


def _size(frame: Frame, spec: Spec, j: int, catalog: Catalog) -> None:
    train, at = spec.workloads[j].train, f"training[{j}]"
    assert train is not None  # noqa: S101  # the caller has looked
    job, asked = job_of(train, calibration_for(spec), frame.text("compute.accelerator", "")), asked_of(train)
    level = train.plan.recompute if train.plan else "auto"
    places = places_of(spec, j)
    model = Provenance("catalog", place=f"catalogue: model/{train.model}", note="counted from the dimensions")
    put_model(frame, at, job, train.tokens, {"model": model, "tokens": from_spec(places["tokens"])})
    gpus = job_gpus(frame, j, len(spec.sites), train.gpus, places["gpus"])
    fleet = fleet_of(frame, j, train.precision, gpus, catalog)
    kept = choose(rank(job, fleet.machines, fleet.gpus, asked, level), len(fleet.gpus))
    if not np.all(kept.legal) and asked.said():
        free = nearest(rank(job, fleet.machines, fleet.gpus, recompute=level), asked)
        kept = kept.or_else(choose(free, len(fleet.gpus)))
    record = Record(frame, at, job, fleet, kept)
    record.put_plan()
    own = Scale(fleet.gpus, np.where(kept.fits, record.speed(), 0.0))
    record.put_figures(scale_of(job, fleet, own, asked, level))


def apply(cluster: Cluster, spec: Spec, catalog: Catalog) -> None:
    """Fill the table ``workloads``, list the plans, name the bottleneck, draw the roofline, say what is worth saying.

    ``answers['plans'][j]``, ``answers['bottleneck']['training[j]']`` and ``answers['roofline']['training[j]']`` are
    filled here.
    """
    for j, workload in enumerate(spec.workloads):
        if workload.train is not None:
            tell(cluster, spec, j, catalog)
