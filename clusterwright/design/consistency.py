"""Whether the degrees of a plan can be meant together, and the nearest plans that can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from clusterwright.catalog import ModelArchitecture
from clusterwright.design.codes import FINDINGS
from clusterwright.domains.training import Job, legal_plans, shape_of
from clusterwright.findings import Finding
from clusterwright.spec import Spec

__all__ = ["inconsistencies", "nearest_plans"]

SHOWN = 3
_DIMENSIONS = ("tp", "pp", "cp", "ep", "dp")
_ACROSS = ("tp", "pp", "cp", "dp")
"""Degrees whose product is the number of GPUs; expert parallelism lies across them."""


def inconsistencies(spec: Spec, degrees: Mapping[str, int], domain: int, *, rounds: bool = False) -> list[Finding]:
    """Everything that contradicts in the degrees of a run's plan, with the nearest valid plans as hint.

    Args:
        spec: of the run; its own plan may be left out.
        degrees: those that are fixed, of ``tp pp cp ep dp``.
        domain: accelerators in a scale-up domain.
        rounds: let the batch be rounded to whole micro-batches.
    """
    train = spec.workloads[0].train
    gpus = train.gpus if train is not None else None
    if train is None or gpus is None or not degrees:
        return []
    said = [
        *_product(degrees, gpus),
        *_tensor(degrees, train.architecture, domain),
        *_pipeline(degrees, train.architecture),
        *_experts(degrees, train.architecture, gpus),
        *_context(degrees, train.sequence),
        *(() if rounds else _feeding(spec, degrees, gpus)),
    ]
    if not said:
        return []
    job = Job(shape_of(train.architecture), int(train.sequence), float(train.global_batch_sequences))
    near = nearest_plans(job, gpus, domain, degrees)
    hint = f"nearest valid plans on {gpus:,} GPUs: {'; '.join(near)}" if near else "no plan is valid on so many GPUs"
    made = [FINDINGS["ESTIMATE-PLAN-INCONSISTENT"].at(place, message, "") for place, message in said]
    last = made[-1]
    return [*made[:-1], FINDINGS[last.code].at(last.place, last.message, hint)]


_Said = Iterator[tuple[str, str]]


def _product(degrees: Mapping[str, int], gpus: int) -> _Said:
    given = {name: degrees[name] for name in _ACROSS if name in degrees}
    if not given:
        return
    product, words = prod(given.values()), " x ".join(f"{name} {degree:,}" for name, degree in given.items())
    words += f" = {product:,}" if len(given) > 1 else ""
    place = f"--{next(reversed(given))}"
    if len(given) == len(_ACROSS) and product != gpus:
        yield place, f"{words} is not the {gpus:,} GPUs"
    elif product > gpus:
        yield place, f"{words} is more than the {gpus:,} GPUs"
    elif gpus % product:
        yield place, f"{words} does not divide the {gpus:,} GPUs"


def _tensor(degrees: Mapping[str, int], model: ModelArchitecture, domain: int) -> _Said:
    tp = degrees.get("tp", 1)
    if model.heads % tp:
        yield "--tp", f"tp {tp:,} does not divide the {model.heads:,} heads of {model.name}"
    elif not model.is_latent and model.kv_heads % tp and tp % model.kv_heads:
        yield "--tp", f"tp {tp:,} and the {model.kv_heads:,} key-value heads of {model.name} do not divide each other"
    if tp > domain:
        yield "--tp", f"tp {tp:,} leaves the scale-up domain of {domain:,} GPUs"


def _pipeline(degrees: Mapping[str, int], model: ModelArchitecture) -> _Said:
    pp = degrees.get("pp", 1)
    if pp > model.layers:
        yield "--pp", f"pp {pp:,} is more than the {model.layers:,} layers of {model.name}"


def _experts(degrees: Mapping[str, int], model: ModelArchitecture, gpus: int) -> _Said:
    ep = degrees.get("ep", 1)
    if ep == 1:
        return
    if not model.moe_layers:
        yield "--ep", f"ep {ep:,} for {model.name}, which has no experts"
    elif model.experts % ep:
        yield "--ep", f"ep {ep:,} does not divide the {model.experts:,} experts of {model.name}"
    stage = gpus // degrees.get("pp", 1)
    if model.moe_layers and stage % ep:
        yield "--ep", f"ep {ep:,} does not divide the {stage:,} GPUs of a pipeline stage"


def _context(degrees: Mapping[str, int], sequence: int) -> _Said:
    cp = degrees.get("cp", 1)
    if cp > 1 and sequence % (2 * cp):
        yield "--cp", f"cp {cp:,} cuts a sequence in 2 x {cp:,} pieces, which {sequence:,} tokens do not divide into"


def _feeding(spec: Spec, degrees: Mapping[str, int], gpus: int) -> _Said:
    """Whether every data-parallel rank gets whole micro-batches, where all of it is fixed."""
    train = spec.workloads[0].train
    batch = train.asked_batch if train is not None else None
    if train is None or train.plan is None or train.plan.micro_batch is None or batch is None:
        return
    across = [degrees.get(name) for name in ("tp", "pp", "cp")]
    dp = degrees.get("dp") or (gpus // prod(d or 1 for d in across) if None not in across else 0)
    sequences = batch.sequences(train.sequence)
    if dp and batch.unit == "sequences" and sequences % (dp * train.plan.micro_batch):
        each = f"dp {dp:,} x micro-batch {train.plan.micro_batch:,}"
        yield (
            "--global-batch",
            f"{each} = {dp * train.plan.micro_batch:,} does not divide the {sequences:,.0f} sequences",
        )


def nearest_plans(job: Job, gpus: int, domain: int, degrees: Mapping[str, int], most: int = SHOWN) -> list[str]:
    """The valid values of the degrees asked for that are nearest to them, in words; the others stay to be searched.

    Distance is the sum of the doublings between. Only plans that use all GPUs count, if there are any; among equals
    come those that change the fewest degrees, then those with the batch nearest to the one asked for.
    """
    plans = legal_plans(job, gpus, domain)
    if np.any(plans.gpus == gpus):
        plans = plans.take(plans.gpus == gpus)
    if not len(plans):
        return []
    away, changed = np.zeros(len(plans)), np.zeros(len(plans))
    for name, degree in degrees.items():
        away += np.abs(np.log2(getattr(plans, name) / degree))
        changed += getattr(plans, name) != degree
    feeds = np.abs(plans.batch / job.batch - 1.0)
    order = np.lexsort((plans.cp, np.round(feeds, 2), changed, np.round(away, 6)))
    shown = [name for name in _DIMENSIONS if name in degrees]
    rows = np.stack([getattr(plans, name)[order] for name in shown], axis=1)
    words = [" x ".join(f"{n} {int(v):,}" for n, v in zip(shown, row, strict=True)) for row in rows]
    return list(dict.fromkeys(words))[:most]
