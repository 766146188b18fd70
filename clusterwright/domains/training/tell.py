"""What the kept plan means: table row, plan in words, plans it beat, roofline, bottleneck, findings."""

from __future__ import annotations

from typing import Any

from clusterwright.catalog import Catalog
from clusterwright.cluster import Cluster, chosen, from_spec
from clusterwright.domains.training.choice import rank
from clusterwright.domains.training.contest import PART_NAMES, contest
from clusterwright.domains.training.findings import FINDINGS
from clusterwright.domains.training.job import asked_of, calibration_for, factor_of, job_of, places_of
from clusterwright.domains.training.machine import fleet_of
from clusterwright.domains.training.memory import USABLE_FRACTION
from clusterwright.domains.training.options import BATCH_TOLERANCE, Asked
from clusterwright.domains.training.plans import RECOMPUTE
from clusterwright.domains.training.roofs import roofline_of
from clusterwright.spec import Spec, Train

__all__ = ["SHARES", "tell"]

LOW_MFU = 0.25

SHARES = {
    "compute": ("matmul_s", "attention_s"),
    "memory bandwidth": ("memory_bound_s", "optimizer_s"),
    "network": ("tp_s", "pp_s", "cp_s", "ep_s", "dp_s"),
    "pipeline bubble": ("pp_bubble_s",),
    "offloading": ("offload_s",),
    "stragglers": ("other_s",),
}
"""Parts of the step by what limits them."""


def tell(cluster: Cluster, spec: Spec, j: int, catalog: Catalog) -> None:
    """Say what workload ``j`` came to.

    Args:
        cluster: with the frame of one candidate, sized.
        spec: what is asked.
        j: position of the workload.
        catalog: its measured matrix products.
    """
    train, at, frame = spec.workloads[j].train, f"training[{j}]", cluster.frame
    assert train is not None  # noqa: S101  # the caller has looked
    calibration = calibration_for(spec)
    job = job_of(train, calibration)
    if spec.calibration is not None:
        frame.choose(f"{at}.calibration", spec.calibration, from_spec(str(spec.place("calibration"))))
    if train.framework is not None and factor_of(calibration, train.framework) is None:
        known = f"{', '.join(calibration.factors)} have one; the mean is taken"
        place = str(spec.place(f"workloads[{j}].train.framework"))
        cluster.say(FINDINGS["TRAINING-FRAMEWORK-UNSEEN"].at(place, f"{train.framework} has no factor", known))
    fleet = fleet_of(frame, j, train.precision, frame[f"{at}.available_gpus"], catalog)
    recompute = RECOMPUTE[int(cluster.value(f"{at}.recompute"))]
    level = train.plan.recompute if train.plan else "auto"
    ranked = rank(job, fleet.machines, fleet.gpus, asked_of(train), level)
    plans = cluster.answers.setdefault("plans", [])
    plans.extend([] for _ in range(j + 1 - len(plans)))
    plans[j] = contest(job, ranked, fleet.machines)
    kept = plans[j][0] if plans[j] else _PLAIN
    frame.choose(f"{at}.model", train.model, from_spec(str(spec.place(f"workloads[{j}].train.model"))))
    said = _in_words(cluster, at, recompute, kept)
    frame.choose(f"{at}.plan", said, chosen("the fastest legal plan that fits the memory"))
    frame.choose(f"{at}.recomputation", recompute, chosen("the least that fits the memory"))
    for name, why in _CHOICES.items():
        asked = spec.given(f"workloads[{j}].train.plan.{name}")
        origin = from_spec(str(spec.place(f"workloads[{j}].train.plan.{name}"))) if asked else chosen(why)
        frame.choose(f"{at}.{name}", kept[name], origin)
    _add_row(cluster, spec, j, train)
    cluster.answers.setdefault("roofline", {})[at] = roofline_of(job, frame, at, fleet.machines)
    cluster.answers.setdefault("bottleneck", {})[at] = _bottleneck(cluster, at)
    _find(cluster, spec, j, legal=bool(len(ranked.owner)))


_PLAIN = {"schedule": "none", "sharding": "zero-1", "offload": "none"}
"""What a plan has of choices where no legal one was found."""
_CHOICES = {
    "schedule": "1F1B, interleaved where that is faster",
    "sharding": "optimizer state is shared out",
    "offload": "nothing, unless no plan fits without",
}
"""Choices of a plan in words, and why one is taken where nobody asked."""


def _in_words(cluster: Cluster, at: str, recompute: str, kept: dict[str, Any]) -> str:
    degrees = {d: cluster.value(f"{at}.{d}") for d in ("tp", "pp", "cp", "ep", "dp")}
    parts = [f"{name} {degree:.0f}" for name, degree in degrees.items() if name != "ep"]
    experts = f", ep {degrees['ep']:.0f} across them" if degrees["ep"] > 1 else ""
    micro, count = cluster.value(f"{at}.micro_batch"), cluster.value(f"{at}.micro_batches")
    chunks = cluster.value(f"{at}.interleave")
    inter = f", {chunks:.0f} chunks a stage" if chunks > 1 else ""
    made = f"{' x '.join(parts)}{experts}, {count:.0f} micro-batches of {micro:.0f}{inter}, recompute {recompute}"
    zero = ", zero-bubble" if kept["schedule"] == "zero-bubble" else ""
    group = f" in groups of {kept['shard_group']}" if "shard_group" in kept else ""
    shared = f", {kept['sharding']}{group}" if kept["sharding"] != _PLAIN["sharding"] else ""
    moved = f", {_OFFLOADED[kept['offload']]}" if kept["offload"] != "none" else ""
    return made + zero + shared + moved


_OFFLOADED = {
    "optimizer": "optimizer state on the host",
    "activations": "activations on the host",
    "both": "optimizer state and activations on the host",
}
"""What is offloaded, in words."""


def _add_row(cluster: Cluster, spec: Spec, j: int, train: Train) -> None:
    at, table = f"training[{j}]", cluster.tables["workloads"]
    numbers = {d: int(cluster.value(f"{at}.{d}")) for d in ("gpus", "tp", "pp", "dp", "cp", "ep", "micro_batch")}
    figures = {f: cluster.value(f"{at}.{f}") for f in ("step_time_s", "memory_bytes", "tokens_per_s")}
    table.add(name=spec.workloads[j].name, kind="train", model=train.model, **numbers, **figures)
    for column in (*numbers, *figures):
        table.explain(column, cluster.frame.figure(f"{at}.{column}").provenance)
    for column in ("name", "kind", "model"):
        table.explain(column, from_spec(str(spec.place(f"workloads[{j}]"))))


def _bottleneck(cluster: Cluster, at: str) -> dict[str, Any]:
    """What takes the step, by kind of limit, and the largest single part beside products."""
    total = cluster.value(f"{at}.step_time_s")
    parts = {name: cluster.value(f"{at}.step.{name}") for name in PART_NAMES}
    shares = {kind: sum(parts[p] for p in names) / total for kind, names in SHARES.items()}
    name = max(shares, key=lambda kind: shares[kind])
    beside = max((p for p in parts if p != "matmul_s"), key=lambda p: parts[p])
    most = f"{PART_NAMES[beside]} ({parts[beside] / total:.0%})"
    said = f"{shares[name]:.0%} of a step is {name}; beside matrix products the most is {most}"
    return {"name": name, "shares": shares, "largest_loss": PART_NAMES[beside], "why": said}


def _find(cluster: Cluster, spec: Spec, j: int, *, legal: bool) -> None:
    at, places, train = f"training[{j}]", places_of(spec, j), spec.workloads[j].train
    assert train is not None  # noqa: S101  # the caller has looked
    if not legal:
        _find_illegal(cluster, at, places["plan"], asked_of(train).said())
    elif not cluster.value(f"{at}.fits"):
        _find_misfit(cluster, at, asked_of(train))
    elif asked_of(train).offload == "auto" and cluster.frame.text(f"{at}.offload") != "none":
        _find_offloaded(cluster, at)
    _find_batch(cluster, at, train, places["global_batch"])
    _find_waste(cluster, at)
    if train.architecture.moe_layers:
        experts = train.architecture.experts
        message = f"the {experts} experts of {train.model} are taken as evenly loaded; uneven routing costs 8 to 20 %"
        hint = "plan with the high end of the step time"
        cluster.say(FINDINGS["TRAINING-ROUTING"].at(f"{at}.step_time_s", message, hint))


def _find_misfit(cluster: Cluster, at: str, asked: Asked) -> None:
    """What the leanest plan needs, and what would fit."""
    need, has = cluster.value(f"{at}.memory_bytes") / 1e9, cluster.value("accelerator.memory_bytes") / 1e9
    room = f"{USABLE_FRACTION * has:.0f} of {has:.0f} GB can be filled"
    fixed = asked.said()
    least = f"with {fixed} the least" if fixed else "the least"
    hint = "more GPUs, GPUs with more memory, or a shorter sequence"
    if asked.offload not in ("auto", "both"):
        hint += "; or 'offload: auto', which also tries the memory of the host"
    if asked.fixed():
        hint += "; or fewer fixed dimensions"
    message = f"{least} that a plan needs is {need:.0f} GB a GPU, on {cluster.value(f'{at}.gpus'):,.0f}; {room}"
    cluster.say(FINDINGS["TRAINING-DOES-NOT-FIT"].at(f"{at}.memory_bytes", message, hint))


def _find_offloaded(cluster: Cluster, at: str) -> None:
    """Nothing fits without the memory of the host."""
    moved, host = cluster.frame.text(f"{at}.offload"), cluster.value(f"{at}.host_bytes") / 1e9
    what = {"both": "optimizer state and activations", "optimizer": "optimizer state"}.get(moved, moved)
    share = cluster.value(f"{at}.step.offload_s") / cluster.value(f"{at}.step_time_s")
    message = (
        f"nothing fits without {what} in the memory of the host, {host:.0f} GB a GPU; {share:.0%} of a step goes there"
    )
    hint = "more GPUs fit without; 'offload: none' in the plan refuses it"
    cluster.say(FINDINGS["TRAINING-OFFLOADED"].at(f"{at}.offload", message, hint))


def _find_waste(cluster: Cluster, at: str) -> None:
    """Idle GPUs, and GPUs that are busy with little."""
    given, used = cluster.value(f"{at}.available_gpus"), cluster.value(f"{at}.gpus")
    if used < given:
        message = f"the plan uses {used:,.0f} of {given:,.0f} GPUs; {given - used:,.0f} stay idle"
        hint = f"no plan is faster on more: give the job {used:,.0f} GPUs, or a larger global batch"
        cluster.say(FINDINGS["TRAINING-GPUS-IDLE"].at(f"{at}.gpus", message, hint))
    mfu = cluster.value(f"{at}.mfu")
    if mfu < LOW_MFU and cluster.value(f"{at}.fits"):
        message = f"MFU is {mfu:.0%}; {cluster.answers['bottleneck'][at]['why']}"
        hint = "fewer GPUs or a larger batch raise it"
        cluster.say(FINDINGS["TRAINING-LOW-UTILISATION"].at(f"{at}.mfu", message, hint))


def _find_illegal(cluster: Cluster, at: str, place: str, wished: str) -> None:
    given = cluster.value(f"{at}.available_gpus")
    if not wished:
        message = f"no plan of this model is legal on {given:,.0f} GPUs"
        cluster.say(FINDINGS["TRAINING-NO-PLAN"].at(f"{at}.gpus", message, "use more GPUs"))
        return
    nearest = cluster.frame.text(f"{at}.plan")
    message = f"{wished} is no legal plan of this model on {given:,.0f} GPUs"
    cluster.say(FINDINGS["TRAINING-PLAN-INCONSISTENT"].at(place, message, f"nearest: {nearest}"))


def _find_batch(cluster: Cluster, at: str, train: Train, place: str) -> None:
    wished = train.global_batch_sequences
    batch = cluster.value(f"{at}.batch_tokens") / train.sequence
    away = abs(batch / wished - 1.0)
    if away > 1e-9:
        code = "TRAINING-BATCH-ROUNDED" if away <= BATCH_TOLERANCE else "TRAINING-BATCH-FAR"
        said = f"{batch:,.0f} sequences ({batch * train.sequence / 1e6:.2f}M tokens)"
        message = f"a step takes {said} instead of {wished:,.1f} sequences"
        cluster.say(FINDINGS[code].at(place, message, f"ask for {batch:,.0f} sequences"))
